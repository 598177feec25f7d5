"""What planning by clone and step needs of an environment, and where it has it.

A clone holds all there is: the cards of both players, and what the dice will show. A search over
clones is fair only where two agents act in turn, what the agent to move has seen decides what both
are shown, and nothing is left to chance between the moves.

An environment declares this, or is known by its name, or OpenSpiel says it. For any other, a
*trial* finds out: some games of a few random moves are played on copies, from the position and from
fresh starts, with other seeds of every random generator that can be found, and with another move
here and there. Where two games disagree on what the agent to move has seen decides, and, with its
action, on what follows, something is hidden or random. That is no proof: what a few moves do not
touch is not seen.
"""

import gc
import random
import re
import sys
import threading
import warnings
from collections.abc import Generator, Iterable, Mapping
from contextlib import ExitStack, contextmanager, suppress
from types import FunctionType, ModuleType
from typing import Any, Final, NamedTuple, cast
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from agents.planning.clones import independent_copy, silent_clone
from agents.planning.environment import (
    PERFECT_INFORMATION,
    TRANSPARENT,
    UnfitEnvironmentError,
    class_name,
    is_over,
    layers_of,
    legal_actions,
    names_of,
)
from agents.planning.foreign import (
    digest_of,
    same,
    snapshot,
)


class Traits(NamedTuple):
    """Properties of an environment; its `metadata` may declare them under these names."""

    is_turn_based: bool  # and each agent knows what the other did
    has_perfect_information: bool
    is_deterministic: bool  # once it has been reset

    def faults(self) -> tuple[str, ...]:
        """What the environment lacks for planning by clone and step."""
        words = ("simultaneous moves", "hidden information", "chance between moves")
        return tuple(word for word, is_so in zip(words, self, strict=True) if not is_so)


FIT: Final = Traits(True, True, True)
CARDS: Final = Traits(True, False, False)

CLASSIC: Final = {
    "backgammon": Traits(True, True, False),
    "checkers": FIT,
    "chess": FIT,
    "connect_four": FIT,
    "dou_dizhu": CARDS,
    "gin_rummy": CARDS,
    "go": FIT,
    "hanabi": CARDS,
    "leduc_holdem": CARDS,
    "mahjong": CARDS,
    "rps": Traits(False, True, True),
    "texas_holdem": CARDS,
    "texas_holdem_no_limit": CARDS,
    "tictactoe": FIT,
    "uno": CARDS,
}
"""PettingZoo's classic environments, of all its versions, by name without a version."""

OWN: Final = "hexenv.envs.aec.BoardEnv"
"""Our class: each of its instances declares the properties of its game."""


def known_traits(env: Any) -> Traits | None:
    """The properties of an environment that are known without playing in it; None if none are.

    A property that it lacks is missing under any wrapper. One that it has could be lost in a
    subclass or a wrapper: it counts only for the class that declares it, and under wrappers that
    change nothing.
    """
    raw: Any = env.unwrapped
    layers = layers_of(env)
    wrappers = layers[: next((i for i, each in enumerate(layers) if each is raw), len(layers))]
    is_bare = TRANSPARENT.issuperset(map(class_name, map(type, wrappers)))
    about: Any = getattr(raw, "metadata", None)
    metadata = cast("Mapping[str, Any]", about if isinstance(about, Mapping) else {})
    name = class_name(raw.__class__)
    by_class: Any = metadata if name == OWN else raw.__class__.__dict__.get("metadata")
    family = re.sub(r"_v\d+$", "", str(metadata.get("name", "")))
    for found, is_its_own in (
        (_of_openspiel(getattr(raw, "game_type", None)), True),
        (_declared(metadata), by_class is metadata),
        (CLASSIC.get(family), name.startswith("pettingzoo.classic.")),
    ):
        if found is not None and (found.faults() or (is_its_own and is_bare)):
            return found
    return None


def _declared(metadata: Mapping[str, Any]) -> Traits | None:
    """The properties in `metadata`; None if they are incomplete, and none is denied."""
    said = [metadata.get(name) for name in Traits._fields]
    found = Traits(*(value is not False for value in said))
    return found if found.faults() or None not in said else None


def _of_openspiel(game_type: Any) -> Traits | None:
    """The properties in a ``pyspiel.GameType``: `game_type` of Shimmy's environments."""
    kinds = [getattr(game_type, name, None) for name in ("dynamics", "information", "chance_mode")]
    if None in kinds:
        return None
    dynamics, information, chance = (getattr(kind, "name", str(kind)) for kind in kinds)
    return Traits(
        dynamics == "SEQUENTIAL", information == "PERFECT_INFORMATION", chance == "DETERMINISTIC"
    )


# ---- refusing ------------------------------------------------------------------------------------


_tried: Final[dict[int, tuple[str, ...]]] = {}
"""The results of trials, by `id`: an environment may have no hash, or be equal to another."""
_lock: Final = threading.RLock()


def check_planning(env: Any, assume: str | None = None) -> str | None:
    """Refuse an environment in which a search over clones would know more than its player.

    An environment of which nothing is known is tried out once, when it is first seen, on clones.

    Returns:
        What is assumed although it is not so, if `assume` allows it; None where nothing has to be.

    Raises:
        UnfitEnvironmentError: If agents do not act in turn, something is hidden from a player or
            left to chance, or a clone is no faithful copy.
    """
    traits = known_traits(env)
    faults = () if traits is None else traits.faults()
    if faults and assume is None:
        raise _unfit(env, faults)
    if is_over(env):
        return assume if faults else None
    check_clone(env)
    if traits is None:
        faults = _tried_once(env)
        if faults and assume is None:
            raise _unfit(env, faults)
    return assume if faults else None


def _tried_once(env: Any) -> tuple[str, ...]:
    """The result of a trial, which takes place once for each environment."""
    with _lock:
        if id(env) not in _tried:
            _tried[id(env)] = tried_faults(env)
            finalize(env, _tried.pop, id(env))
        return _tried[id(env)]


def _unfit(env: Any, faults: tuple[str, ...]) -> UnfitEnvironmentError:
    return UnfitEnvironmentError(
        "expected a game in turn, of perfect information and without chance, to plan over clones, "
        f"got {env.unwrapped}, which has {' and '.join(faults)} (an agent with "
        f"assume={PERFECT_INFORMATION!r} plans all the same, if there is an action mask, and knows "
        "what its player cannot know)"
    )


def check_clone(env: Any) -> None:
    """Play one action on a clone, twice: the same must follow, and nothing in the original."""
    try:
        before = snapshot(env)
    except Exception as error:
        raise UnfitEnvironmentError(
            "expected an environment that shows every agent something at any time, "
            f"got {names_of(env)}, which raised {error!r}"
        ) from error
    action = int(legal_actions(env)[0])
    shared = shared_generators(layers_of(env))  # seeded below, as no clone can hold them
    try:
        twins = silent_clone(env), silent_clone(env)
        copied = all(same(snapshot(twin), before) for twin in twins)
        for twin in twins:
            with seeded(shared, 0):
                twin.step(action)
        after = [snapshot(twin) for twin in twins]
    except Exception as error:
        raise _cannot_clone(env, f"a clone raised {error!r}") from error
    if not copied:
        raise _cannot_clone(env, "a clone does not show the same position")
    if not same(*after):
        reason = "by what they share, or by chance that cannot be seeded"
        raise _cannot_clone(env, f"one action leads two clones to two positions, {reason}")
    if not same(snapshot(env), before):
        raise _cannot_clone(env, "a step of a clone changed the original")


def _cannot_clone(env: Any, reason: str) -> UnfitEnvironmentError:
    return UnfitEnvironmentError(
        f"expected an environment that can be cloned, got {names_of(env)} "
        f"(give its class a method clone() that returns an independent copy): {reason}"
    )


# ---- the trial -----------------------------------------------------------------------------------

PLIES: Final = 30
"""How long a game of the trial is, at most."""


class TrialGame(NamedTuple):
    """How a game of the trial is played."""

    is_fresh: bool  # whether it begins with a reset
    seed: int  # of all random generators
    deviation: int  # the ply at which another move is played than in the other games; -1: at none
    line: int = 0  # which random moves are played at all other plies


TRIAL_GAMES: Final = (
    *(TrialGame(False, seed, -1) for seed in range(4)),
    *(TrialGame(False, 0, turn) for turn in range(4)),
    *(TrialGame(False, 0, turn, line=1) for turn in range(-1, 4)),
    *(TrialGame(True, seed, -1) for seed in range(12)),
    *(TrialGame(True, 0, turn, line=1) for turn in range(-1, 4)),
)
"""The games. They differ by chance, by one move, and by what was dealt at the start."""


def tried_faults(env: Any) -> tuple[str, ...]:
    """What an environment in play lacks for planning by clone and step, as far as games show."""
    trial = Trial(env)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for game in TRIAL_GAMES:
            with suppress(Exception):  # whatever a foreign object raises: go on with the next game
                trial.play(game)
        return trial.faults()


class Trial:
    """The games of a trial, and where they disagree."""

    def __init__(self, env: Any) -> None:
        self._env = env
        self._agents: list[Any] = list(env.possible_agents)
        self._draws = np.random.default_rng(0).random((2, PLIES)).tolist()
        self._shown: dict[Any, bytes] = {}
        self._follows: dict[Any, tuple[bytes, Any]] = {}
        self._deals: list[list[tuple[Any, Any]]] = [[], []]
        self._shown_differs = False
        self._next_differs = False
        self._is_random = False

    def faults(self) -> tuple[str, ...]:
        """What was found, in words."""
        by_what_follows = self._next_differs and not self._is_random  # chance may be the reason
        is_hidden = self._shown_differs or by_what_follows or self._deals_differ()
        found = {"hidden information": is_hidden, "chance between moves": self._is_random}
        return tuple(word for word, is_so in found.items() if is_so)

    def play(self, game: TrialGame) -> None:
        env = independent_copy(self._env) if game.is_fresh else silent_clone(self._env)
        if env is None:
            return
        with seeded([*shared_generators(layers_of(env)), *generators_in(env)], game.seed):
            if game.is_fresh:
                env.reset(seed=game.seed)
            self._compare(env, game)

    def _compare(self, env: Any, game: TrialGame) -> None:
        known: dict[Any, tuple[Any, ...]] = dict.fromkeys(self._agents, (game.is_fresh,))
        for ply, draw in enumerate(self._draws[game.line]):
            legal = legal_actions(env)
            if len(legal) == 0:
                return
            mover = env.agent_selection
            views = {agent: env.observe(agent) for agent in self._agents}
            if game.is_fresh and not game.line and ply < len(self._deals):
                other = next(agent for agent in self._agents if agent != mover)
                self._deals[ply].append((views[mover], views[other]))
            for agent, view in views.items():
                known[agent] += (digest_of(view),)
            before = mover, known[mover], legal.tobytes()
            others = digest_of([known[agent][-1] for agent in self._agents])
            self._shown_differs |= self._shown.setdefault(before, others) != others
            action = int(legal[(int(draw * len(legal)) + (ply == game.deviation)) % len(legal)])
            everything = tuple(known.values())
            known[mover] += (action,)
            env.step(action)
            follows = digest_of(snapshot(env))
            earlier, as_known = self._follows.setdefault((*before, action), (follows, everything))
            if earlier != follows and as_known == everything:
                self._is_random = True  # no agent could have known
            elif earlier != follows:
                self._next_differs = True

    def _deals_differ(self) -> bool:
        """Whether fresh starts differ in something that the agent to move does not see.

        Hands of many cards never come twice, so there are no two equal games to compare. But a
        number that both agents know is in the observations of both, in some place, unit or code.
        """
        for deals in self._deals:
            of_mover, of_other = (changes([deal[side] for deal in deals]) for side in range(2))
            if of_mover is not None and of_other is not None and not of_other <= of_mover:
                return True
        return False


def changes(views: Iterable[Any]) -> set[bytes] | None:
    """The information in the numbers of one agent's observations that are not always the same.

    None if their sizes differ. Action masks are passed over.
    """
    rows = [np.concatenate([np.zeros(0), *numbers_in(view)]) for view in views]
    if not rows or len({len(row) for row in rows}) > 1:
        return None
    columns: NDArray[np.float64] = np.stack(rows, axis=1)
    found: set[bytes] = set()
    for column in columns[(columns != columns[:, :1]).any(axis=1)]:
        values, first, which = np.unique(column, return_index=True, return_inverse=True)
        if len(values) == 1:  # always NaN
            continue
        if 2 * len(values) <= len(column):  # a code: only which ones are equal counts
            information: NDArray[Any] = first[which]
        else:  # a quantity, in some unit
            moved = column - column[0]
            information = (moved / moved[np.flatnonzero(moved)[0]]).round(9) + 0.0  # no -0
        found.add(information.tobytes())
    return found


def numbers_in(view: Any) -> list[NDArray[np.float64]]:
    """The numbers in an observation; anything else counts by its hash."""
    if isinstance(view, Mapping):
        items = cast("Mapping[Any, Any]", view)
        return [part for key in items if key != "action_mask" for part in numbers_in(items[key])]
    if isinstance(view, (list, tuple)):
        return [part for value in cast("list[Any]", view) for part in numbers_in(value)]
    array = np.asarray(view)
    if array.dtype.kind in "biuf":
        return [array.reshape(-1).astype(np.float64)]
    return [np.frombuffer(digest_of(view), np.uint32)[:1].astype(np.float64)]


# ---- random generators ---------------------------------------------------------------------------

MOST_OBJECTS: Final = 10_000
"""How many parts of an environment are searched for generators."""
KINDS: Final = (np.random.Generator, np.random.RandomState, random.Random)
GLOBAL: Final[tuple[Any, ...]] = (random, np.random)  # modules with the functions of generators

_seeding: Final = threading.RLock()


def generators_in(env: Any) -> list[Any]:
    """The random generators in an environment, and in all objects that it holds."""
    found: list[Any] = []
    seen: set[int] = set()
    waiting: list[Any] = [env]
    while waiting and len(seen) < MOST_OBJECTS:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        kind = cast("type[Any]", type(value))  # not its __class__, which a proxy may fail to give
        if issubclass(kind, KINDS):
            found.append(value)
        elif not issubclass(kind, (type, ModuleType, FunctionType)):
            waiting += filter(gc.is_tracked, gc.get_referents(value))  # numbers hold nothing
    return found


def shared_generators(layers: Iterable[Any]) -> list[Any]:
    """The generators that no clone can hold: global ones, those of classes and of their modules."""
    classes = dict.fromkeys(each for layer in layers for each in type(layer).__mro__)
    modules = dict.fromkeys(sys.modules.get(each.__module__) for each in classes)
    spaces = [vars(each) for each in (*classes, *modules) if each is not None]
    found = [value for space in spaces for value in list(space.values())]
    return [*GLOBAL, *(value for value in found if issubclass(type(value), KINDS))]


@contextmanager
def seeded(generators: Iterable[Any], seed: int) -> Generator[None]:
    """Seed generators, and restore them afterwards. What cannot be restored is left alone."""
    with _seeding, ExitStack() as afterwards:
        for generator in generators:
            with suppress(Exception):  # such as of random.SystemRandom
                _seed(generator, seed, afterwards)
        yield


def _seed(generator: Any, seed: int, afterwards: ExitStack) -> None:
    if isinstance(generator, np.random.Generator):
        bits = generator.bit_generator
        afterwards.callback(setattr, bits, "state", bits.state)
        bits.state = type(bits)(seed).state
        return
    if hasattr(generator, "get_state"):
        afterwards.callback(generator.set_state, generator.get_state(legacy=False))
    else:
        afterwards.callback(generator.setstate, generator.getstate())
    generator.seed(seed)
