"""A pool of opponents: of whom a learner meets which, how often, and with what results.

Examples:
    >>> import gymnasium
    >>> from hexenv.learners.pool import OpponentPool
    >>> pool = OpponentPool(["random", ("greedy", 0.5)], sampling="pfsp", most=16)
    >>> envs = gymnasium.make_vec("hexenv/TicTacToe-v0", num_envs=8, opponent=pool)
    >>> pool.add(lambda observations, masks: masks.argmax(axis=1), title="first cell")
    'first cell'
    >>> pool.titles
    ('random', 'greedy', 'first cell')
"""

import math
import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Final, cast

import numpy as np

from hexenv.common.messages import not_one_of
from hexenv.common.options import AtLeastOne, Within, checks_options
from hexenv.learners.lineup import ALL_ALIKE, Opponent, Shares
from hexenv.learners.members import Drop, Member, Sampling, Tally
from hexenv.learners.opponents import (
    POLICIES,
    as_player,
    expect_player,
    make_agent,
    name_of,
    pool_files,
    resolve_opponent,
)

EPISODES_OF_A_DRAW: Final = 4
"""Episodes of each board, on average, until the members in play are drawn anew."""


class OpponentPool:
    r"""Opponents of a learner, to which training adds snapshots; for ``opponent=`` everywhere.

    Environments share the pool that they are given: what is added plays from the next episodes
    on, and their results are in `results`. An environment in another process (`SubprocVecEnv`,
    `AsyncVectorEnv`) gets a copy of it: see `take_results`.

    Examples:
        >>> pool = OpponentPool(["random", ("greedy", 3)], sampling="pfsp", most=8)
        >>> env = gymnasium.make("hexenv/TicTacToe-v0", opponent=pool)
        >>> pool.add(lambda observations, masks: masks.argmax(axis=1), title="first cell")
        'first cell'
        >>> [round(chance, 2) for chance in pool.probabilities()]
        [0.2, 0.6, 0.2]

    Formula:
        $$P(i) \propto w_i\,f(p_i), \quad f(p) = (1 - p)^k \text{ or } p\,(1 - p)$$

        $w_i$ is a member's weight, $p_i$ the learner's score against it as of late (`Tally.rate`),
        $k$ the `power`: prioritised fictitious self-play (Vinyals et al. 2019, Grandmaster level in
        StarCraft II using multi-agent reinforcement learning).

    Args:
        members: An opponent, a pair of one and its weight, or a list of these: names, paths of
            ``.zip`` files of Stable-Baselines3 and ``.safetensors`` files of ``hexenv train``,
            agents, functions. They are anchors: they stay.
        sampling: ``"uniform"``: in proportion to the weights. ``"pfsp"``: times $(1 - p)^k$, so
            that the learner meets those who beat it. ``"pfsp-variance"``: times $p (1 - p)$, those
            of its own strength. ``"latest"``: a share of `newest` for the member that was added
            last, the others in proportion to the weights.
        power: The $k$ of ``"pfsp"``.
        newest: The share of ``"latest"``, in [0, 1].
        at_once: The most members of which a vector environment draws at the same time, so that
            each plays on many boards at once. They are drawn as `sampling` says, and anew after
            four episodes of each board, on average: every member gets its share in the long run.
            None: all. A single environment draws of all.
        most: The most members that are not anchors; None: any number.
        drop: Who leaves then: ``"oldest"``, or ``"easiest"``, the one against whom the learner's
            rate is highest. The newest stays.

    Raises:
        ValueError: If there is no such agent, or a parameter is out of its range.
        TypeError: If a member cannot play.
    """

    @checks_options
    def __init__(
        self,
        members: Any = (),
        *,
        sampling: Sampling = "uniform",
        power: Annotated[float, Within()] = 2.0,
        newest: Annotated[float, Within(0.0, 1.0)] = 0.5,
        at_once: AtLeastOne | None = 4,
        most: AtLeastOne | None = None,
        drop: Drop = "oldest",
    ) -> None:
        self.sampling: Sampling = sampling
        self.power = power
        self.newest = newest
        self.at_once = at_once
        self.most = most
        self.drop: Drop = drop
        self.version = 0
        """Another number whenever the members are others."""
        self._members: tuple[Member, ...] = ()
        self._tallies: dict[str, Tally] = {}
        self._fresh: dict[str, Tally] = {}
        self._is_copy = False
        self.count = 0
        """How many members it has got so far."""
        self._made: dict[int, Any] = {}
        self._lock = threading.Lock()
        for player, weight in weighted(members):
            self._append(player, name_of(player), weight, anchor=True)

    # ---- members ---------------------------------------------------------------------------------

    def add(
        self,
        opponent: Any,
        title: str | None = None,
        weight: float = 1.0,
        anchor: bool = False,
        temperature: float = 1.0,
    ) -> str:
        """Add a member, which plays from the next episodes on.

        Args:
            opponent: As in `members` of the class; or a model of Stable-Baselines3, of which a copy
                is taken as it is now. (Of a PyTorch module give
                ``PolicyAgent.from_torch(module, frozen=True)``.)
            title: What `titles`, infos and results call it; by default the opponent's own title or
                name, with a number if there is one like it.
            weight: Above 0.
            anchor: Whether it stays, however many members are added.
            temperature: Of a model's copy: see `agents.PolicyAgent`.

        Returns:
            The title.

        Raises:
            ValueError: If a member has the title; or as the class.
        """
        if title is not None and title in self.titles:
            raise ValueError(f"expected a new title, got {title!r}, which a member has")
        player = as_player(opponent, temperature)
        title = title or self.new_title(name_of(player))
        self._append(player, title, weight, anchor)
        return title

    def _append(self, player: Any, title: str, weight: float, anchor: bool) -> None:
        if not (math.isfinite(weight) and weight > 0.0):
            raise ValueError(f"expected a weight above 0 for {title}, got {weight}")
        made = checked(player)
        with self._lock:
            member = Member(player, title, float(weight), self.count, anchor)
            self._made[self.count] = made
            self.count += 1
            self._members = self._kept((*self._members, member))
            self._tallies.setdefault(title, Tally())
            self.version += 1

    def _kept(self, members: tuple[Member, ...]) -> tuple[Member, ...]:
        """The members, without those that leave for the newest."""
        passing = [one for one in members if not one.anchor]
        while self.most is not None and len(passing) > self.most:
            leaves = passing[0]
            if self.drop == "easiest" and len(passing) > 1:
                leaves = max(passing[:-1], key=lambda one: self._tallies[one.title].rate)
            passing.remove(leaves)
            self._made.pop(leaves.number, None)
        return tuple(one for one in members if one.anchor or one in passing)

    def new_title(self, title: str) -> str:
        """A title that no member has or has had: this one, or with a number after it."""
        found, number = title, self.count
        while found in self._tallies:
            found, number = f"{title} {number}", number + 1
        return found

    def remove(self, title: str) -> None:
        """Take a member out; its results stay. ValueError if there is none, or no other one."""
        self._expect_member(title)
        with self._lock:
            left = tuple(one for one in self._members if one.title != title)
            if not left:
                raise ValueError(f"expected to leave a member, got the last one, {title!r}")
            self._members = left
            self.version += 1

    def _expect_member(self, title: str) -> None:
        if title not in self.titles:
            raise ValueError(not_one_of("a member", self.titles, title))

    @property
    def members(self) -> tuple[Member, ...]:
        return self._members

    @property
    def titles(self) -> tuple[str, ...]:
        return tuple(one.title for one in self._members)

    def __len__(self) -> int:
        return len(self._members)

    def __repr__(self) -> str:
        return f"OpponentPool({list(self.titles)}, sampling={self.sampling!r})"

    # ---- who is drawn ----------------------------------------------------------------------------

    def probabilities(self) -> list[float]:
        """With which each member is drawn for an episode, as results are now."""
        return probabilities_of(self, self._members)

    # ---- results ---------------------------------------------------------------------------------

    @property
    def results(self) -> dict[str, Tally]:
        """The learner's results by the title of the member, of those who have left as well."""
        with self._lock:
            return {title: replace(tally) for title, tally in self._tallies.items()}

    def record(self, title: str, wins: int = 0, draws: int = 0, losses: int = 0) -> None:
        """Count games of the learner; environments that share the pool do so by themselves."""
        with self._lock:
            tally = self._tallies.get(title)
            if tally is None:
                tally = self._tallies[title] = Tally()
            tally.add(wins, draws, losses)
            if self._is_copy:
                self._fresh.setdefault(title, Tally()).add(wins, draws, losses)

    def take_results(self) -> dict[str, Tally]:
        """Of a pool that is a copy: its results since it was copied, or since the last call.

        Those of other pools are all in `results` already: there are none here.
        """
        with self._lock:
            fresh, self._fresh = self._fresh, {}
        return fresh

    def merge(self, results: Iterable[Mapping[str, Tally]]) -> None:
        """Count what copies of the pool have found: ``envs.env_method("take_results")``."""
        for found in results:
            for title, tally in found.items():
                self.record(title, tally.wins, tally.draws, tally.losses)

    # ---- copies and files ------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            tallies = {title: replace(tally) for title, tally in self._tallies.items()}
            state = {**self.__dict__, "_tallies": tallies}  # read when the lock is free again
        del state["_lock"]
        return {**state, "_made": {}, "_fresh": {}, "_is_copy": True}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()

    def made_agent(self, member: Member) -> Any:
        """The agent that was made to check a member's name; once, else None."""
        return self._made.pop(member.number, None)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the pool into a folder: ``pool.json``, and a file for each snapshot.

        Of Stable-Baselines3 a snapshot is the file that the library itself writes of a policy, of
        PyTorch its weights. An agent or function that is not a `PolicyAgent` of these, and a name
        that may run code (``gomocup:command=...``, ``mymodule.Agent``), is noted by its title
        alone. Files of an earlier `save` that are no longer needed are removed.
        """
        pool_files().save_pool(self, folder)

    @classmethod
    def load(
        cls,
        folder: str | os.PathLike[str],
        given: Mapping[str, Any] | None = None,
        module: Any = None,
    ) -> "OpponentPool":
        """Read a pool that `save` has written.

        Nothing in ``pool.json`` is executed. Snapshots of Stable-Baselines3 are read by the
        library, with pickle, which may run code: open none that you do not trust.

        Args:
            folder: Where it is.
            given: By title, the agents, functions and names that are not in files; others are
                replaced.
            module: A PyTorch module like those whose weights are in files; each snapshot gets a
                copy of it.

        Raises:
            OSError: If a file cannot be read.
            ValueError: If a file is damaged, or a member is neither in a file nor given.
        """
        return cast("OpponentPool", pool_files().load_pool(cls, folder, given or {}, module))

    def restore(self, members: Sequence[Member], tallies: Mapping[str, Tally], count: int) -> None:
        """Take the members and the results of a pool that was saved."""
        made = {one.number: checked(one.player) for one in members}
        with self._lock:
            self._members, self.count, self._made = tuple(members), count, made
            self._tallies = {one.title: Tally() for one in members} | dict(tallies)
            self.version += 1


def checked(player: Any) -> Any:
    """The agent of a name, for its first use; None if it needs none.

    TypeError or ValueError if this is no player.
    """
    expect_player(player)
    return make_agent(player) if isinstance(player, str) and player not in POLICIES else None


def weighted(members: Any) -> list[tuple[Any, float]]:
    """Players and their weights, of what a user gives as opponents."""
    if is_pair(members):
        inner, factor = members
        return [(player, one * float(factor)) for player, one in weighted(inner)]
    if isinstance(members, (list, tuple)):
        given = cast("Iterable[Any]", members)
        return [pair for one in given for pair in weighted(one)]
    return [(as_player(members), 1.0)]


def is_pair(member: Any) -> bool:
    """Whether it is a tuple of an opponent and a weight."""
    if not isinstance(member, tuple):
        return False
    pair = cast("tuple[Any, ...]", member)
    return len(pair) == 2 and isinstance(pair[1], (int, float)) and not isinstance(pair[1], bool)


def as_pool(opponent: Any) -> OpponentPool:
    """The pool that a user gives, or one of the opponents that they give.

    Of these all may play at once.
    """
    pool = opponent if isinstance(opponent, OpponentPool) else OpponentPool(opponent, at_once=None)
    if not pool.members:
        kind = "pool" if pool is opponent else "list"
        raise ValueError(f"expected at least one opponent, got an empty {kind}")
    return pool


def probabilities_of(pool: OpponentPool, members: Sequence[Member]) -> list[float]:
    """With which each of some members is drawn."""
    weights = [one.weight for one in members]
    if pool.sampling in ("pfsp", "pfsp-variance"):
        results = pool.results
        rates = [results[one.title].rate for one in members]
        if pool.sampling == "pfsp":
            lowest = min(rates)  # divided by, as a high power of a small number is 0
            of_rates = [((1.0 - rate) / (1.0 - lowest)) ** pool.power for rate in rates]
        else:
            of_rates = [rate * (1.0 - rate) for rate in rates]
        weights = [weight * one for weight, one in zip(weights, of_rates, strict=True)]
    elif pool.sampling == "latest" and len(members) > 1:
        last = max(range(len(members)), key=lambda place: members[place].number)
        others = sum(weights) - weights[last]
        weights = [(1.0 - pool.newest) * weight / others for weight in weights]
        weights[last] = pool.newest
    return [weight / sum(weights) for weight in weights]


# ---- in one environment --------------------------------------------------------------------------


class PoolRoster:
    """The opponents of a pool as one environment meets them: a `hexenv.learners.lineup.Roster`.

    Its owner calls `refresh` between steps; nothing changes while boards play.

    Attributes:
        is_counted: Whether somebody may ask for the results: False of one opponent that was not
            given as a pool, so that steps need no time for it.

    Args:
        given: A pool, or what a user gives as opponents.
        batched: Whether functions get many boards at once.
        boards: Their number; with 1, members are drawn of all.
    """

    def __init__(self, given: Any, batched: bool, boards: int = 1) -> None:
        self.pool = as_pool(given)
        self.is_counted = self.pool is given or len(self.pool) > 1
        self.opponents: tuple[Opponent, ...] = ()
        self.shares: Shares = ALL_ALIKE
        self._batched = batched
        self._boards = boards
        self._members: tuple[Member, ...] = ()
        self._seen = -1
        self._rng = np.random.default_rng(0)
        self.counted = 0
        self._has_changed = True
        self._by_number: dict[int, Opponent] = {}
        self.refresh()

    def seed(self, seed: int) -> None:
        """Begin the stream that draws who is in play at once anew."""
        self._rng = np.random.default_rng(seed)
        self.counted, self._has_changed = 0, True
        self.refresh()

    def refresh(self) -> None:
        """Take in what has changed in the pool."""
        pool = self.pool
        if pool.version == self._seen and not self._has_changed and self._few is None:
            return
        if pool.version != self._seen:
            self._seen, self._members = pool.version, pool.members
            self._by_number = {one.number: self._opponent_of(one) for one in self._members}
            self.opponents = tuple(self._by_number.values())
            self._has_changed = True
            is_more = pool.at_once is not None and pool.at_once < len(self._members)
            self._few = pool.at_once if is_more and self._boards > 1 else None
        if self._few is not None:
            if self._has_changed or self.counted >= EPISODES_OF_A_DRAW * self._boards:
                self._draw_those_in_play(self._few)
                self.counted = 0
        elif self._has_changed:
            self.shares = shares_of(probabilities_of(pool, self._members))
        self._has_changed = False

    def _opponent_of(self, member: Member) -> Opponent:
        known = self._by_number.get(member.number)
        if known is not None:
            return known
        made = self.pool.made_agent(member)
        return resolve_opponent(member.player, self._batched, member.title, made)

    def _draw_those_in_play(self, few: int) -> None:
        """Draw places of equal shares, each for a member with the member's probability.

        They are drawn by equally distant points (systematic sampling), so that a member gets as
        many as its probability says, rounded up or down.
        """
        sums = np.cumsum(probabilities_of(self.pool, self._members))
        points = (np.arange(few) + self._rng.random()) / few
        numbers = np.minimum(np.searchsorted(sums, points, side="right"), len(sums) - 1)
        places = np.bincount(numbers, minlength=len(sums))
        self.shares = shares_of((places / few).tolist())

    def count(self, opponent: Opponent, wins: int, draws: int, losses: int) -> None:
        self.pool.record(opponent.name, wins, draws, losses)
        self.counted += wins + draws + losses
        if self._few is None and self.pool.sampling in ("pfsp", "pfsp-variance"):
            self._has_changed = True


def shares_of(probabilities: Sequence[float]) -> Shares:
    """Sums of probabilities, none if all are equal."""
    if max(probabilities) == min(probabilities):
        return ALL_ALIKE  # the draws are the same, bit for bit, as those of a list
    sums = np.cumsum(probabilities)
    sums[np.flatnonzero(probabilities)[-1] :] = 1.0  # whatever was rounded away
    return sums
