"""`check_game`: all that the contract claims, on random games."""

import math
import re
import time

import numpy as np

from hexenv.common.messages import check_seed
from hexenv.common.options import AtLeastOne, checks_options
from hexenv.compiled import COMPILE_ERRORS, is_compiled
from hexenv.games import base, notation
from hexenv.games.base import STATE_FIELDS, Game, State
from hexenv.testing.compilable import check_source
from hexenv.testing.definition import check_names, check_symmetry_group
from hexenv.testing.log import GameLog, Played, fail, fail_after, record_game, same_record
from hexenv.testing.planning import (
    check_compiled_moves,
    check_moves,
    check_playouts,
    compiled_playouts,
    random_playouts,
    winners_of_playouts,
)
from hexenv.testing.plies import (
    check_actions,
    check_changes,
    check_copies,
    check_ends,
    check_illegal_actions,
    check_images,
    check_rebuilt,
    check_stones,
    check_texts,
)


@checks_options
def check_game(game: Game, *, games: AtLeastOne = 20, seed: int = 0) -> None:
    """Check on random games that a game fulfils its contract, `hexenv.games.base.Game`.

    Args:
        game: The game. If it is under `@compiled` (and numba is on) its machine code is compared
            with its Python, value by value.
        games: How many random games to play, at least 1.
        seed: Of the random games.

    Raises:
        TypeError: If it is no game.
        ValueError: If it has too many actions or plies, or the number of games or the seed is none.
        AssertionError: At the first claim that does not hold, with the moves that lead there.
    """
    base.expect_game(game)
    check_seed(seed)
    check_names(game)
    check_symmetry_group(game)
    if is_compiled(game):
        check_source(game)
    rng = np.random.default_rng(seed)
    seen = _SeenPositions(game)
    for number in range(games):
        actions: list[int] = []
        try:
            play_random_game(game, rng, actions, crowded=number % 2 == 1)
            log = _check_played_game(game, actions, seed + number)
        except AssertionError:
            raise
        except COMPILE_ERRORS as error:
            claim = "machine code, where Python has passed"
            raise AssertionError(f"{game}: {claim}: expected none of {in_short(error)}") from error
        except Exception as error:
            moves = notation.moves_text(game, actions)
            claim = f"{game}: expected no error, got {error!r}; in the game {moves} ({actions})"
            raise AssertionError(claim) from error
        seen.add(actions, log)


def play_random_game(
    game: Game,
    rng: np.random.Generator,
    actions: list[int],
    crowded: bool,
    until: float = math.inf,
) -> bool:
    """Play a random game, of which only its end is certain so far.

    A crowded one prefers the last of the legal actions, where what is special often is, and where
    stones come to lie together.

    Args:
        game: The game.
        rng: The stream of random numbers.
        actions: Receives the actions.
        crowded: Whether it is a crowded one.
        until: By `time.thread_time`, when to give up.

    Returns:
        Whether it came to its end before.
    """
    state = base.new_state(game)
    if game.is_terminal(state):
        fail(game, "is_terminal", "a game that goes on at the start", "one that is over")
    while not game.is_terminal(state):
        if time.thread_time() > until:
            return False
        legal = base.legal_actions(game, state)
        if not legal:
            fail_after(game, actions, "legal_actions", "one at least before the end", "none")
        if len(actions) == game.max_plies():
            fail_after(game, actions, "max_plies", "the end by then", "a game that goes on")
        to_the_end = crowded and rng.random() < 0.5
        actions.append(legal[-1 if to_the_end else int(rng.random() * len(legal))])
        if not 0 <= actions[-1] < game.num_actions():
            expected = f"0 to {game.num_actions() - 1}"
            fail_after(game, actions[:-1], "legal_actions", expected, actions[-1])
        game.step(state, actions[-1])
    return True


def _check_played_game(game: Game, actions: list[int], seed: int) -> GameLog:
    played = Played(game, actions, record_game(game, actions, interpreted=True))
    for check in (
        check_initial, check_actions, check_ends, check_stones, check_changes, check_copies,
        check_moves, check_rebuilt, check_texts, check_illegal_actions, check_images,
    ):  # fmt: skip
        check(played)
    check_playouts(played, seed)
    if is_compiled(game):
        _check_machine_code(played, seed)
    return played.log


def check_initial(played: Played) -> None:
    """A state that was in use before becomes the start, as a new one does."""
    game, begun = played.game, base.new_state(played.game)
    if not notation.has_stones(game) and not same_record(played.log.states[0], begun):
        names = [n for n in begun.dtype.names or () if (played.log.states[0][n] != begun[n]).any()]
        played.fail(0, "initial", "every field to be written", f"{', '.join(names)} left in parts")
    played.expect_position(0, "initial, against a new state", begun)


def _check_machine_code(played: Played, seed: int) -> None:
    """Compiled, the game says what it says interpreted, at every ply and bit for bit."""
    game, actions, log = played
    fast = record_game(game, actions)
    for name in GameLog._fields[1:]:
        played.expect(
            f"{name} of machine code against Python", getattr(log, name), getattr(fast, name)
        )
    for ply, (slow_state, fast_state) in enumerate(zip(log.states, fast.states, strict=True)):
        if not same_record(slow_state, fast_state):
            played.fail(ply, "state of machine code against Python", slow_state, fast_state)
    check_compiled_moves(played)
    played.expect(
        "winner after random_playout of machine code against Python",
        winners_of_playouts(game, log.states, seed, random_playouts),
        winners_of_playouts(game, log.states, seed, compiled_playouts),
    )


def in_short(error: Exception) -> str:
    """What numba says of source that does not compile, without its report of all it has tried."""
    lines = [re.sub(r"\x1b\[\d*m", "", line).strip() for line in str(error).splitlines()]
    words = ("Untyped", "Unknown attribute", "nsupported", "Cannot", "No implementation")
    said = [[n for n, line in enumerate(lines) if word in line] for word in words]
    last = next(filter(None, said), [0])[-1]  # the innermost, which stands last
    place = next((line for line in lines[last:] if line.startswith("File ")), "")
    return f"{lines[last]} {place}".strip().rstrip(":")


class _SeenPositions:
    """All positions of all games by their hashes: equal positions, and only they, share one.

    What tells positions apart are stones, player and legal actions: `from_cells` mostly needs no
    more. In a game that is not of stones the states may hold more, and then more hashes are right.
    """

    def __init__(self, game: Game) -> None:
        self.game = game
        self.position_of: dict[int, bytes] = {}
        self.hash_of: dict[bytes, int] = {}

    def add(self, actions: list[int], log: GameLog) -> None:
        for ply, value in enumerate(log.hashes.tolist()):
            position = log.owners[ply].tobytes() + log.players[ply].tobytes()
            position += log.masks[ply].tobytes()
            known = position + self._more_of(log.states[ply])
            expected = self.hash_of.setdefault(known, value)
            if value != expected:
                claim = "position_hash, seen before by another way"
                fail_after(self.game, actions[:ply], claim, expected, value)
            if self.position_of.setdefault(value, position) != position:
                claim = "position_hash"
                fail_after(self.game, actions[:ply], claim, "one not seen at another", value)

    def _more_of(self, state: State) -> bytes:
        """What the state of a game that is not of stones holds beside the shared fields."""
        if notation.has_stones(self.game):
            return b""
        shared = dict(STATE_FIELDS)
        own = (name for name in state.dtype.names or () if name not in shared)
        return b"".join(np.asarray(state[name]).tobytes() for name in own)
