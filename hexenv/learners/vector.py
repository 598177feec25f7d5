"""The games as Gymnasium vector environments: many boards stepped by compiled code.

Examples:
    >>> import gymnasium, hexenv
    >>> envs = gymnasium.make_vec("hexenv/Hex-v0", num_envs=1024, board_size=5)
    >>> observations, infos = envs.reset(seed=1)
    >>> observations["action_mask"].shape
    (1024, 25)
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import wait
from html import escape
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeVar, cast

import numpy as np
from gymnasium import spaces
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from hexenv.common.messages import check_whole_seed, not_one_of
from hexenv.common.options import AtLeastOne, Within, checks_options
from hexenv.compiled.cpus import Threads, usable_cpus
from hexenv.envs.aec import AGENTS, BoardEnv
from hexenv.envs.observation import Observation
from hexenv.games.base import NO_ACTION
from hexenv.games.table import Which
from hexenv.learners.boards import NO_BOARDS, Boards, StepResult
from hexenv.learners.kernels import Actions, Flags
from hexenv.learners.lineup import Masks
from hexenv.learners.members import Tally
from hexenv.learners.options import LearnerOptions, action_array, take_options
from hexenv.learners.pool import OpponentPool, PoolRoster
from hexenv.render.display import PICTURE_MODES, board_image, check_render_mode, render_picture

CELLS_PER_THREAD: Final = 200_000
"""Cells of all boards per thread: below, the transfer to another thread (about a fifth of a
millisecond) costs more than it saves."""

MOST_BOARDS: Final = 1 << 24
"""Of one environment: their states and observations take gigabytes of memory."""

SHOWN_BOARDS: Final = 4
"""Of an environment in a notebook."""

Infos = dict[str, Any]
T = TypeVar("T")


def seeds_of_boards(seed: int | Sequence[int | None] | None, count: int) -> list[int | None]:
    """The seed of each board; a number is the seed of the first, its successors of the others."""
    if seed is None:
        return [None] * count
    if isinstance(seed, (int, np.integer)):
        check_whole_seed(seed)
        return [int(seed) + board for board in range(count)]
    if isinstance(seed, str) or not isinstance(seed, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"expected a seed as a whole number, or {count} of them, got {seed!r}")
    if len(seed) != count:
        raise ValueError(f"expected a seed or {count} of them, got {len(seed)}")
    for one in seed:
        check_whole_seed(one)
    return [None if one is None else int(one) for one in seed]


class Part(NamedTuple):
    """The boards that one thread steps, and their place among all boards."""

    boards: Boards
    place: slice


class ThreadedBoards:
    """Boards in parts of equal size, each stepped by a thread of its own.

    `masks`, ``(count, num_actions) int8``, are the learner's legal actions on all boards.
    """

    def __init__(
        self,
        env: BoardEnv,
        count: int,
        roster: PoolRoster | None,
        threads: int | None,
        options: LearnerOptions,
    ) -> None:
        self.masks = np.ones((count, env.game.num_actions()), np.int8)
        of_opponents = threads
        if threads is None:
            useful = count * env.game.rows * env.game.columns // CELLS_PER_THREAD
            threads = max(1, min(usable_cpus(), useful))
        if roster is not None and not all(one.is_compiled for one in roster.opponents):
            threads = 1
        borders = np.linspace(0, count, min(threads, count) + 1).astype(int)
        self._parts: list[Part] = []
        for start, stop in zip(borders[:-1].tolist(), borders[1:].tolist(), strict=True):
            boards = Boards(env, stop - start, options, start if count > 1 else None)
            boards.threads = of_opponents
            if roster is not None:
                boards.set_opponents(roster)
            self._parts.append(Part(boards, slice(start, stop)))
        self._threads = Threads(len(self._parts) - 1)
        self._share_masks()

    def _share_masks(self) -> None:
        """Make the masks of every part a view of those of all boards."""
        for part in self._parts:
            part.boards.masks = self.masks[part.place]

    def __iter__(self) -> Iterator[Part]:
        return iter(self._parts)

    def each(self, step: Callable[[Part], T]) -> list[T]:
        """Call a function on every part, in threads if all opponents are compiled."""
        if len(self._parts) == 1:
            return [step(self._parts[0])]
        if not all(part.boards.is_compiled for part in self._parts):
            try:
                return [step(part) for part in self._parts]
            except BaseException:
                for part in self._parts:  # the opponent's error ends all episodes
                    part.boards.idle[:] = True
                raise
        rest = [self._threads.submit(step, part) for part in self._parts[1:]]
        try:
            first = step(self._parts[0])
        finally:
            wait(rest)  # after an error, too, no thread may write once this returns
        return [first] + [one.result() for one in rest]

    def new_planes(self) -> NDArray[Any]:
        return self._parts[0].boards.new_planes(len(self.masks))

    def __setstate__(self, attributes: dict[str, Any]) -> None:
        self.__dict__.update(attributes)
        self._share_masks()  # copied views are independent arrays

    def close(self) -> None:
        self._threads.close()


# ---- the environment -----------------------------------------------------------------------------


class FinalObservations(NamedTuple):
    """The last observations of episodes whose boards began new ones in the same step."""

    numbers: Which
    planes: NDArray[Any]
    masks: Masks
    opponents: NDArray[Any]  # their titles


class BoardVectorEnv(VectorEnv[Observation, NDArray[Any], NDArray[Any]]):
    """Many boards of one game, each like a `hexenv.learners.single.SingleEnv`, in compiled code.

    With ``opponent=None`` every step plays for the player to move. The observation is then from the
    view of the player to move, and the reward is for the player who has just moved.

    With several opponents or an `OpponentPool`, ``infos["opponent"]`` has the title of each board's
    opponent. Where a board begins a new episode in the step that ends one,
    ``infos["final_info"]["opponent"]`` has that of the ended one.

    Arrays are fresh in each step. Board ``i`` of ``reset(seed=s)`` plays the same episodes as a
    `SingleEnv` after ``reset(seed=s + i)``.

    Examples:
        >>> envs = gymnasium.make_vec("hexenv/Connect4-v0", num_envs=8, opponent="random")
        >>> observations, infos = envs.reset(seed=1)
        >>> observations["observation"].shape, observations["action_mask"].shape
        ((8, 6, 7, 2), (8, 7))
        >>> observations, rewards, ended, cut, infos = envs.step(np.full(8, 3))
        >>> rewards.shape
        (8,)

    Args:
        game: A function that makes the PettingZoo environment, or its name.
        num_envs: The number of boards.
        opponent: As of a `SingleEnv`, or None; a function is called for many boards at once,
            ``f(observations, masks) -> actions`` with arrays over the boards on which it is to
            move.
        autoreset_mode: When a board begins a new episode after the end of one: with the next step,
            whose action is ignored (default); in the same step, with the last observation in
            ``infos["final_obs"]``; or (``AutoresetMode.DISABLED``) with
            ``reset(options={"reset_mask": mask})``.
        threads: The number of threads; by default chosen by the size of all boards, and by the
            time that searching opponents take. Other opponents that are not compiled play in one.
            (If such are set later, a function is called for the boards of each thread in turn.)
        max_episode_steps: Only None is allowed: games end.
        **options: As of a `SingleEnv`.

    Attributes:
        raw_env: A PettingZoo environment of the same game and options; its position is unrelated.
        autoreset_mode: When a board begins a new episode, as ``metadata`` says too: Gymnasium's own
            vector environments have both, and TorchRL reads this one.

    Raises:
        TypeError: If the game does not have one of the options.
        ValueError: If an option is out of its range.
    """

    closed = True  # until `__init__` succeeds: Gymnasium may close a half-made environment

    @checks_options
    def __init__(
        self,
        game: str | Callable[..., BoardEnv],
        num_envs: Annotated[int, Within(1, MOST_BOARDS)] = 1,
        opponent: Any = "random",
        autoreset_mode: AutoresetMode | Literal["NextStep", "SameStep", "Disabled"] = "NextStep",
        threads: AtLeastOne | None = None,
        max_episode_steps: int | None = None,
        **options: Any,
    ) -> None:
        if max_episode_steps is not None:
            raise ValueError(f"expected no max_episode_steps: games end, got {max_episode_steps}")
        self.num_envs = int(num_envs)  # also of a flag
        try:
            self.autoreset_mode = AutoresetMode(autoreset_mode)
        except ValueError:
            known = [mode.value for mode in AutoresetMode]
            raise ValueError(not_one_of("an autoreset_mode", known, autoreset_mode)) from None
        also = "num_envs", "autoreset_mode", "threads"
        self.raw_env, of_learner = take_options(game, options, also)
        self._plays_both = opponent is None
        if self._plays_both and "side" in options:
            raise ValueError("expected no side without an opponent: the learner plays both")
        self.render_mode = self.raw_env.render_mode
        check_render_mode(self.render_mode, PICTURE_MODES)
        self.metadata = {
            "render_modes": list(PICTURE_MODES),
            "render_fps": 2,
            "autoreset_mode": self.autoreset_mode,
        }
        self.single_observation_space: spaces.Space[Any] = self.raw_env.observation_space(AGENTS[0])
        self.single_action_space = self.raw_env.action_space(AGENTS[0])
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._every = np.ones(num_envs, np.bool_)
        self._no_actions = np.full(num_envs, NO_ACTION, np.int64)
        self._generators: list[np.random.Generator] | None = None
        self._seeds: list[int] = []
        roster = None if opponent is None else self._new_roster(opponent)
        self._roster_of = [] if roster is None else [roster] * num_envs
        self._rosters = self._roster_of[:1]
        self._counts_results = roster is not None and roster.is_counted
        self._parts = ThreadedBoards(self.raw_env, num_envs, roster, threads, of_learner)
        self.closed = False

    # ---- opponents -------------------------------------------------------------------------------

    def _new_roster(self, opponent: Any) -> PoolRoster:
        return PoolRoster(opponent, batched=True, boards=self.num_envs)

    def set_opponent(self, opponent: Any, boards: Sequence[int] | None = None) -> None:
        """Set the opponent of new episodes; running episodes keep theirs.

        An environment made without an opponent gets none, and the other way round: ValueError.

        Args:
            opponent: As of the class.
            boards: The numbers of the boards that get it; None: all.
        """
        if (opponent is None) != self._plays_both:
            raise ValueError(
                f"expected {'no opponent' if self._plays_both else 'an opponent'} in an "
                f"environment made with{'out' if self._plays_both else ''} one, got {opponent!r}"
            )
        if opponent is not None:
            chosen = np.zeros(self.num_envs, np.bool_)
            chosen[slice(None) if boards is None else self._checked_numbers(boards)] = True
            roster = self._new_roster(opponent)
            for part in self._parts:
                part.boards.set_opponents(roster, chosen[part.place].nonzero()[0])
            for board in chosen.nonzero()[0].tolist():
                self._roster_of[board] = roster
            self._rosters = list(dict.fromkeys(self._roster_of))  # the first board's first
            if roster.is_counted or len(self._rosters) > 1:
                self._counts_results = True  # from now on: running episodes keep their opponents

    def _checked_numbers(self, boards: Sequence[int]) -> Which:
        numbers = np.asarray(boards)
        is_number = numbers.ndim == 1 and numbers.size > 0 and numbers.dtype.kind in "iu"
        if not is_number or numbers.min() < 0 or numbers.max() >= self.num_envs:
            raise ValueError(f"expected numbers of boards, 0 to {self.num_envs - 1}, got {boards}")
        return numbers

    @property
    def pool(self) -> OpponentPool | None:
        """The opponents, with the results against each; None for one that is not in a pool.

        If boards have different ones, those of the first board.
        """
        pools = [one.pool for one in self._roster_of[:1] if one.is_counted]
        return pools[0] if pools else None

    def take_results(self) -> dict[str, Tally]:
        """See `hexenv.learners.pool.OpponentPool.take_results`; of all opponents here."""
        found: dict[str, Tally] = {}
        for pool in dict.fromkeys(one.pool for one in self._rosters):
            for title, tally in pool.take_results().items():
                found.setdefault(title, Tally()).add(tally.wins, tally.draws, tally.losses)
        return found

    @property
    def opponents(self) -> tuple[str, ...]:
        """The name of the opponent on each board; empty texts without opponents."""
        found = [p.boards.opponent_of(i) for p in self._parts for i in range(p.boards.count)]
        return tuple(one.name if one is not None else "" for one in found)

    # ---- the games -------------------------------------------------------------------------------

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Observation, Infos]:
        """Begin episodes on all boards, or on those of ``options["reset_mask"]``.

        Args:
            seed: The seed of the first board, whose successors are those of the others, or a list.
            options: ``"reset_mask"``, ``(num_envs,) bool``, and the starting position, as for
                `hexenv.envs.aec.BoardEnv.reset`.
        """
        if not isinstance(options or {}, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(f"expected options of reset as a dict, got {options!r}")
        options = dict(options or {})
        which = self._checked_reset_mask(options.pop("reset_mask", None))
        seeds = seeds_of_boards(seed, self.num_envs)
        starts = self.raw_env.starting_positions(options)
        self._seed(which, seeds)
        for roster in self._rosters:
            if seed is None:
                roster.refresh()
            else:
                roster.seed(self._seeds[0])
        for part in self._parts:
            part.boards.start(starts)
        try:
            for part in self._parts:
                part.boards.restart(np.flatnonzero(which[part.place]))
        finally:
            for part in self._parts:  # for later episodes
                part.boards.start(self.raw_env.starting_positions({}))
        planes = self._parts.new_planes()
        for part in self._parts:
            part.boards.show_all(planes[part.place], self._no_actions[part.place])
        return self._seen(planes, which)

    def _checked_reset_mask(self, mask: Any) -> Flags:
        if mask is None:
            return self._every.copy()
        if getattr(mask, "dtype", None) != np.bool_:
            raise TypeError(f"expected reset_mask as an array of bool, got {mask!r}")
        if mask.shape != (self.num_envs,) or not mask.any():
            raise ValueError(
                f"expected reset_mask of shape ({self.num_envs},) with a True in it, got {mask!r}"
            )
        if self._generators is None and not mask.all():
            raise ValueError("expected a reset of all boards first, got one of some of them")
        return cast("Flags", mask.copy())

    def _seed(self, which: Flags, seeds: list[int | None]) -> None:
        """Seed the random streams of boards, as a single environment does."""
        made = {  # all before anything changes: a seed may be invalid
            board: seeding.np_random(seeds[board])
            for board in np.flatnonzero(which).tolist()
            if self._generators is None or seeds[board] is not None
        }
        if self._generators is None:
            self._generators = [generator for generator, _ in made.values()]
            self._seeds = [seed for _, seed in made.values()]
        for part in self._parts:
            for board in range(part.place.start, part.place.stop):
                if board in made:
                    self._generators[board], self._seeds[board] = made[board]
                    part.boards.seed(board - part.place.start, self._generators[board])

    @property
    def np_random(self) -> tuple[np.random.Generator, ...]:  # type: ignore[override]
        """The generators that seeded the boards' streams."""
        return tuple(self._generators or ())

    @property
    def np_random_seed(self) -> tuple[int, ...]:  # type: ignore[override]
        """The seeds of the boards."""
        return tuple(self._seeds)

    def step(
        self, actions: Any
    ) -> tuple[Observation, NDArray[Any], NDArray[Any], NDArray[Any], Infos]:
        """Play an action on every board: ``(num_envs,)`` integers.

        Returns:
            Observations, rewards ``(num_envs,) float64``, terminations and truncations
            ``(num_envs,) bool``, and infos.

        Raises:
            IllegalActionError: With ``illegal="raise"``; nothing has changed.
            ValueError: If the actions are not integers, or have another shape; before the first
                reset; or if an episode is over and its board was not reset (autoreset disabled).
        """
        actions = action_array(actions, (self.num_envs,), self.raw_env.game)
        if self._generators is None:
            raise ValueError("expected reset before the first step")
        if self.autoreset_mode != AutoresetMode.NEXT_STEP:
            over = np.flatnonzero(self.idle)
            if over.size:
                raise ValueError(
                    f"expected a reset of the boards that are over, {over.tolist()}, got step"
                )
        for part in self._parts:  # before any of them plays
            part.boards.refuse_illegal(actions[part.place])
        if self._counts_results:
            for roster in self._rosters:
                roster.refresh()
        planes = self._parts.new_planes()
        stepped = self._parts.each(lambda part: self._step(part, actions, planes))
        if self._counts_results:
            for part in self._parts:
                part.boards.hand_in()
        observations, infos = self._seen(planes)
        self._add_final(infos, [final for _, final in stepped if final is not None])
        result = stepped[0][0]
        if len(stepped) > 1:
            arrays = zip(*[result for result, _ in stepped], strict=True)
            result = StepResult(*map(np.concatenate, arrays))
        return observations, result.rewards, result.terminations, result.truncations, infos

    def _step(
        self, part: Part, actions: Actions, planes: NDArray[Any]
    ) -> tuple[StepResult, FinalObservations | None]:
        """Step the boards of a part, and write their planes and masks."""
        boards, final = part.boards, None
        next_step = self.autoreset_mode == AutoresetMode.NEXT_STEP
        begin = boards.idle.nonzero()[0] if next_step else NO_BOARDS
        result = boards.play(actions[part.place], begin)
        over = result.terminations | result.truncations
        numbers = over.nonzero()[0]
        if self._counts_results and numbers.size:  # before these boards get other opponents
            boards.note_ended(numbers, result)
        if self.autoreset_mode == AutoresetMode.SAME_STEP:
            if numbers.size:
                titles = boards.opponent_titles()[numbers] if self._counts_results else numbers
                final = FinalObservations(numbers + part.place.start, *boards.show(numbers), titles)
            boards.restart(numbers)
        else:
            boards.idle |= over
        boards.show_all(planes[part.place], actions[part.place])
        return result, final

    # ---- observations ----------------------------------------------------------------------------

    def _seen(self, planes: NDArray[Any], which: Flags | None = None) -> tuple[Observation, Infos]:
        """The observations of all boards, and the infos of some or (default) all."""
        infos: Infos = {}
        if self.raw_env.mask_in != "observation":
            masks = self._parts.masks.copy()
            if which is None:
                which = self._every.copy()
            else:
                masks[~which] = 0  # Gymnasium's value for entries without info
            infos = {"action_mask": masks, "_action_mask": which}
        if self._counts_results:
            titles = np.concatenate([part.boards.opponent_titles() for part in self._parts])
            if which is not None:
                titles[~which] = None
            infos |= {
                "opponent": titles,
                "_opponent": (self._every if which is None else which).copy(),
            }
        return self.raw_env.pack_observation(planes, self._parts.masks.copy()), infos

    def _add_final(self, infos: Infos, parts: list[FinalObservations]) -> None:
        """Add the last observations and infos, in Gymnasium's form."""
        if not parts:
            return
        final_obs = np.empty(self.num_envs, dtype=object)  # of None
        opponents = np.empty(self.num_envs, dtype=object)
        masks = np.zeros_like(self._parts.masks)
        has_ended = np.zeros(self.num_envs, np.bool_)
        for final in parts:
            for number, *seen in zip(final.numbers, final.planes, final.masks, strict=True):
                final_obs[number] = self.raw_env.pack_observation(*seen)
            masks[final.numbers] = final.masks
            opponents[final.numbers] = final.opponents
            has_ended[final.numbers] = True
        final_info: Infos = {}
        if self._counts_results:
            final_info = {"opponent": opponents, "_opponent": has_ended.copy()}
        if self.raw_env.mask_in != "observation":
            final_info |= {"action_mask": masks, "_action_mask": has_ended.copy()}
        infos |= {
            "final_obs": final_obs,
            "_final_obs": has_ended,
            "final_info": final_info,
            "_final_info": has_ended.copy(),
        }

    def action_masks(self) -> Flags:
        """``(num_envs, num_actions)``: the legal actions; all True on boards that are over."""
        return self._parts.masks.astype(np.bool_)

    @property
    def idle(self) -> Flags:
        """``(num_envs,)``: the boards whose episode is over."""
        return np.concatenate([part.boards.idle for part in self._parts])

    @property
    def states(self) -> NDArray[Any]:
        """``(num_envs,)`` positions, a copy."""
        states = np.zeros(self.num_envs, np.dtype((np.record, self.raw_env.game.state_dtype)))
        for part in self._parts:  # concatenate would make plain void of records
            states[part.place] = part.boards.table.states
        return states

    @property
    def sides(self) -> NDArray[np.int8]:
        """``(num_envs,)``: the learner's player, 0 or 1; without opponents, the player to move."""
        found = [part.boards.to_play() for part in self._parts]
        if not self._plays_both:
            found = [part.boards.players for part in self._parts]
        return np.concatenate(found)

    @property
    def illegal_actions(self) -> int:
        """The number of illegal actions that the learner has chosen in all episodes."""
        return sum(part.boards.illegal_actions for part in self._parts)

    def render(self) -> tuple[Any, ...] | None:
        """The picture of each board, as `render_mode` says: strings, RGB frames or documents."""
        if self.render_mode is None:
            return None
        game, mode, look = self.raw_env.game, self.render_mode, self.raw_env.look
        return tuple(render_picture(game, state, mode, look) for state in self.states)

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, game={self.raw_env.game!r})"

    def _repr_html_(self) -> str:
        """The first boards."""
        game, look = self.raw_env.game, self.raw_env.look
        shown = self.states[:SHOWN_BOARDS]
        boards = [board_image(game, state, look) for state in shown]
        more = " ..." * (self.num_envs > SHOWN_BOARDS)
        return f"<div>{escape(repr(self))}</div>{' '.join(boards)}{more}"

    def close_extras(self, **kwargs: Any) -> None:
        self._parts.close()
