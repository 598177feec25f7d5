"""The first use of a game that is not one of `hexenv`: it plays a few games, as plain Python.

A mistake in a game's rules would come out later, in the middle of a search or of a training. The
cheap part of `check_game` finds the most usual ones in less than half a second. Later processes
skip it, until the game's source changes.
"""

import ctypes
import functools
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import Any, Final

import numpy as np

from hexenv.common.messages import shortened
from hexenv.compiled.cache import mark_of
from hexenv.compiled.callees import CLASSES, register_class
from hexenv.games import base
from hexenv.games.base import IN_PLAY, Game
from hexenv.games.promises import keep_promises
from hexenv.testing.conformance import check_initial, play_random_game
from hexenv.testing.log import Played, fail_after, record_game
from hexenv.testing.planning import check_moves
from hexenv.testing.plies import check_actions, check_ends

GAMES: Final = 3
SECONDS: Final = 0.3
"""Of processor time, after which no further game is begun, and none goes on."""
CHECKS_TAKE: Final = 10
"""About how many times as long as a game its checks take."""
LONGEST: Final = 5.0
"""Seconds of processor time after which a method is taken to be one that never ends."""

_tried: Final[set[tuple[type, str]]] = set()


def try_game(game: Game) -> None:
    """Look at a game that is not one of `hexenv`, once for its class and parameters.

    From then on its verbs look at what it promises, see `hexenv.games.promises`.

    Raises:
        ValueError: If it breaks its contract.
    """
    kind, parameters = type(game), repr(base.parameters(game))
    if (kind, parameters) in _tried:
        return
    keep_promises(kind)
    if kind in CLASSES:
        register_class(kind)
    mark = mark_of(kind, "played", parameters)
    if mark is None or not mark.exists():
        with _told_as_value_errors(game), limited(LONGEST):
            _play_games(game, time.thread_time() + SECONDS)
        if mark is not None:
            with suppress(OSError):
                mark.parent.mkdir(parents=True, exist_ok=True)
                mark.touch()
    _tried.add((kind, parameters))


def _play_games(game: Game, until: float) -> None:
    rng = np.random.default_rng(0)
    for number in range(GAMES):
        begun = time.thread_time()
        actions: list[int] = []
        if not play_random_game(game, rng, actions, number % 2 == 1, until):
            return
        _check_playout(game, [], rng)
        ended = time.thread_time()
        if ended + CHECKS_TAKE * (ended - begun) < until:
            _check_playout(game, actions[: len(actions) // 2], rng)
            played = Played(game, actions, record_game(game, actions, interpreted=True))
            for check in (check_initial, check_actions, check_ends, check_moves):
                check(played)


def _check_playout(game: Game, actions: list[int], rng: np.random.Generator) -> None:
    """A playout from the position after some actions comes to an end."""
    state = base.new_state(game)
    for action in actions:
        game.step(state, action)
    game.random_playout(state, rng, np.empty(game.num_actions(), np.int32))
    if state.winner == IN_PLAY:
        fail_after(game, actions, "winner after random_playout", "an end", "a game that goes on")


@contextmanager
def _told_as_value_errors(game: Game) -> Generator[None, None, None]:
    """What a game's methods raise, and what does not hold of them, as an error in the input."""
    try:
        yield
    except Exception as error:
        in_words = isinstance(error, (AssertionError, ValueError, EndlessError))
        said = str(error) if in_words else repr(error)
        raise ValueError(
            f"expected a game that keeps the contract, got {shortened(game)}: {said} "
            "(hexenv.testing.check_game checks all of it)"
        ) from error


class EndlessError(RuntimeError):
    """Raised in the middle of a method that does not come to an end."""

    def __str__(self) -> str:
        return f"a method that has not ended after {LONGEST:.0f} seconds"


@contextmanager
def limited(seconds: float) -> Generator[None, None, None]:
    """End what runs in the body, as plain Python, with an `EndlessError` after so much work.

    Time in which other processes have the processor does not count, where a thread has a clock.
    """
    thread, has_ended, lock = threading.get_ident(), threading.Event(), threading.Lock()
    clock: Callable[[], float] = time.monotonic
    if hasattr(time, "pthread_getcpuclockid"):
        clock = functools.partial(time.clock_gettime, time.pthread_getcpuclockid(thread))
    end = clock() + seconds

    def throw(error: Any) -> None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), error)

    def watch() -> None:
        left = seconds
        while not has_ended.wait(max(left, seconds / 10)):
            with lock:
                if has_ended.is_set():  # then the thread and its clock may be gone
                    return
                left = end - clock()
                if left <= 0:
                    throw(ctypes.py_object(EndlessError))
                    return

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        with lock:
            has_ended.set()
        throw(None)  # one that has not come yet
