"""A trial of an environment of which nothing is known: is something hidden, or left to chance?

Some games of a few random moves are played on copies, from the position and from fresh starts,
with other seeds of every random generator that can be found, and with another move here and there.
In a game of perfect information without chance, what the agent to move has seen decides what both
agents are shown, and, with its action, all that follows. Where two games disagree on that,
something is hidden or random.

That is no proof: what a few moves do not touch is not seen.
"""

import warnings
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, Final, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from agents.search.chance import generators_in, seeded, shared_generators
from agents.search.environment import (
    digest_of,
    independent_copy,
    layers_of,
    legal_actions,
    silent_clone,
    snapshot,
)

PLIES: Final = 30
"""How long a game of the trial is, at most."""


class Course(NamedTuple):
    """How a game of the trial is played."""

    is_fresh: bool
    """Whether it begins with a reset."""
    seed: int
    """Of all chance."""
    turn: int
    """The ply at which another move is played than in the games beside it; -1: at none."""
    line: int = 0
    """Which random moves are played besides."""


COURSES: Final = (
    *(Course(False, seed, -1) for seed in range(4)),
    *(Course(False, 0, turn) for turn in range(4)),
    *(Course(False, 0, turn, line=1) for turn in range(-1, 4)),
    *(Course(True, seed, -1) for seed in range(12)),
    *(Course(True, 0, turn, line=1) for turn in range(-1, 4)),
)
"""The games: by chance, by one move, and by what was dealt they differ from others."""


def tried_faults(env: Any) -> tuple[str, ...]:
    """What planning by clone and step lacks in an environment, as far as some games show.

    Args:
        env: An environment in play. It is only cloned; global generators stay as they are.
    """
    trial = Trial(env)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for course in COURSES:
            with suppress(Exception):  # whatever a foreign object raises: this game tells no more
                trial.play(course)
        return trial.faults()


class Trial:
    """The games of a trial, and how they disagree.

    Args:
        env: The environment.
    """

    def __init__(self, env: Any) -> None:
        self._env = env
        self._agents: list[Any] = list(env.possible_agents)
        self._draws = np.random.default_rng(0).random((2, PLIES)).tolist()
        self._shown: dict[Any, bytes] = {}
        self._follows: dict[Any, tuple[bytes, Any]] = {}
        self._deals: list[list[tuple[Any, Any]]] = [[], []]
        self._shows_apart = False
        self._goes_apart = False
        self._is_random = False

    def faults(self) -> tuple[str, ...]:
        """What was found, in words."""
        by_what_follows = self._goes_apart and not self._is_random  # which may be the reason
        is_hidden = self._shows_apart or by_what_follows or self._deals_apart()
        found = {"hidden information": is_hidden, "chance between moves": self._is_random}
        return tuple(word for word, is_so in found.items() if is_so)

    def play(self, course: Course) -> None:
        """Play a game and compare it with those before."""
        env = independent_copy(self._env) if course.is_fresh else silent_clone(self._env)
        if env is None:
            return
        with seeded([*shared_generators(layers_of(env)), *generators_in(env)], course.seed):
            if course.is_fresh:
                env.reset(seed=course.seed)
            self._compare(env, course)

    def _compare(self, env: Any, course: Course) -> None:
        known: dict[Any, tuple[Any, ...]] = dict.fromkeys(self._agents, (course.is_fresh,))
        for ply, draw in enumerate(self._draws[course.line]):
            legal = legal_actions(env)
            if len(legal) == 0:
                return
            mover = env.agent_selection
            views = {agent: env.observe(agent) for agent in self._agents}
            if course.is_fresh and not course.line and ply < len(self._deals):
                other = next(agent for agent in self._agents if agent != mover)
                self._deals[ply].append((views[mover], views[other]))
            for agent, view in views.items():
                known[agent] += (digest_of(view),)
            before = mover, known[mover], legal.tobytes()
            others = digest_of([known[agent][-1] for agent in self._agents])
            self._shows_apart |= self._shown.setdefault(before, others) != others
            action = int(legal[(int(draw * len(legal)) + (ply == course.turn)) % len(legal)])
            everything = tuple(known.values())
            known[mover] += (action,)
            env.step(action)
            follows = digest_of(snapshot(env))
            earlier, as_known = self._follows.setdefault((*before, action), (follows, everything))
            if earlier != follows and as_known == everything:
                self._is_random = True  # nobody could have known
            elif earlier != follows:
                self._goes_apart = True

    def _deals_apart(self) -> bool:
        """Whether fresh starts differ, and the agent to move does not see all of that.

        Hands of many cards never come twice, so that there are no two games to compare. But of what
        both agents know, each number that one is shown is shown to the other as well, wherever it
        stands, and in whatever units or code.
        """
        for deals in self._deals:
            of_mover, of_other = (changes([deal[side] for deal in deals]) for side in range(2))
            if of_mover is not None and of_other is not None and not of_other <= of_mover:
                return True
        return False


def changes(views: Iterable[Any]) -> set[bytes] | None:
    """The numbers in observations that are not always the same, each as what it tells of them.

    Args:
        views: Observations of one agent. Their action masks are passed over.

    Returns:
        None if their sizes differ.
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
        if 2 * len(values) <= len(column):  # a code: which are the same is all that it tells
            told: NDArray[Any] = first[which]
        else:  # a quantity, in some unit
            moved = column - column[0]
            told = (moved / moved[np.flatnonzero(moved)[0]]).round(9) + 0.0  # no -0
        found.add(told.tobytes())
    return found


def numbers_in(view: Any) -> list[NDArray[np.float64]]:
    """What an observation holds as numbers; what is none counts by its hash."""
    if isinstance(view, Mapping):
        items = cast("Mapping[Any, Any]", view)
        return [part for key in items if key != "action_mask" for part in numbers_in(items[key])]
    if isinstance(view, (list, tuple)):
        return [part for value in cast("list[Any]", view) for part in numbers_in(value)]
    array = np.asarray(view)
    if array.dtype.kind in "biuf":
        return [array.reshape(-1).astype(np.float64)]
    return [np.frombuffer(digest_of(view), np.uint32)[:1].astype(np.float64)]
