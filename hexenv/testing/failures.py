"""How a claim about a game fails: what was expected, what came, and after which moves."""

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from hexenv.games import base, notation
from hexenv.games.base import Game, State
from hexenv.testing.log import GameLog


def fail(game: Game, claim: str, expected: object, got: object) -> NoReturn:
    """A claim about the game as such does not hold."""
    raise AssertionError(f"{game}: {claim}: expected {expected}, got {got}")


def fail_after(
    game: Game, actions: Sequence[int], claim: str, expected: object, got: object
) -> NoReturn:
    """A claim does not hold after these actions."""
    moves = notation.moves_text(game, list(actions)) or "no moves"
    raise AssertionError(
        f"{game}: {claim}: expected {expected}, got {got}; after {len(actions)} plies: {moves} "
        f"(actions {list(actions)})"
    )


def expect_everywhere(
    game: Game, actions: Sequence[int], claim: str, expected: Any, got: Any
) -> None:
    """Compare two arrays whose first axis is the ply."""
    for ply in range(len(actions) + 1):
        if not np.array_equal(expected[ply], got[ply]):
            fail_after(game, actions[:ply], claim, expected[ply], got[ply])


def expect_same_position(
    game: Game, actions: list[int], claim: str, log: GameLog, state: State
) -> None:
    """Compare a state with the one of the log after these actions."""
    ply = len(actions)
    legal = base.legal_actions(game, state)
    expected = log.states[ply]
    for what, right, got in (
        ("ply", expected.ply, state.ply),
        ("winner", expected.winner, state.winner),
        ("player to move", log.players[ply], game.to_play(state)),
        ("hash", log.hashes[ply], game.position_hash(state)),
        ("legal actions", log.legal[ply, : log.counts[ply]].tolist(), legal),
        ("owners", log.owners[ply].tolist(), base.cell_owners(game, state).ravel().tolist()),
    ):
        if right != got:
            fail_after(game, actions, f"{what} of {claim}", right, got)


def same_record(first: State, second: State) -> bool:
    """Whether two states are the same, field by field."""
    return all(np.array_equal(first[name], second[name]) for name in first.dtype.names or ())
