"""What a game says of itself at every ply of a game that is played, and how claims of it fail."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from hexenv.compiled import CompiledFunction
from hexenv.games import base, notation
from hexenv.games.base import EMPTY, Game, State

UNTOUCHED: Final = -9
"""What the arrays hold that a game is asked to write into."""


class GameLog(NamedTuple):
    """What the verbs of a game say at every position of one game; the first axis is the ply.

    Examples:
        >>> from hexenv.games import tictactoe
        >>> from hexenv.testing import record_game
        >>> log = record_game(tictactoe.new(), [4, 0, 8], interpreted=True)
        >>> log.counts.tolist(), log.players.tolist()
        ([9, 8, 7, 6], [0, 1, 0, 1])
    """

    states: Any
    """The positions: ``(plies + 1,)`` records."""
    legal: NDArray[np.int32]
    """``(plies + 1, num_actions())``: the legal actions, then `UNTOUCHED`."""
    counts: NDArray[np.int64]
    """How many actions are legal."""
    masks: NDArray[np.int8]
    """``(plies + 1, num_actions())``: the legal mask."""
    players: NDArray[np.int64]
    """The player to move."""
    ended: NDArray[np.bool_]
    """Whether the game is over."""
    outcomes: NDArray[np.int64]
    """``(plies + 1, 2)``: the outcome for either player."""
    hashes: NDArray[np.int64]
    """The position's hash."""
    owners: NDArray[np.int8]
    """``(plies + 1, rows * columns)``: whose stone is on a cell."""
    single_owners: NDArray[np.int64]
    """``(plies + 1, rows * columns)``: the same, asked cell by cell."""
    planes: NDArray[np.int8]
    """``(plies + 1, 2, cells, n)``: the views of 0 and 1; the last plane is not theirs."""
    last_cells: NDArray[np.int64]
    """The cell of the stone that was placed or moved last."""
    scores: NDArray[np.float64]
    """``(plies + 1, 2)``: at the end, the score of either player; before it zeros."""
    completing: NDArray[np.bool_]
    """``(plies + 1, rows * columns)``: whether the stone on a cell is part of what wins; in a game
    of stones that are placed."""


def record_game(game: Game, actions: Sequence[int], *, interpreted: bool = False) -> GameLog:
    """Play actions, which are not checked, and note what the verbs say at every position.

    `interpreted`: as plain Python, and not as machine code where the game compiles.
    """
    log = _empty_log(game, len(actions) + 1)
    run = _compiled_replay.fitting(game, not interpreted)
    run(game, used_state(game), np.array(actions, np.int32), tuple(log[:-1]))
    if notation.has_stones(game):
        find = _compiled_completing.fitting(game, not interpreted)
        find(game, log.states, log.single_owners, log.completing)
    return log


def replay(game: Any, state: Any, actions: Any, log: Any) -> None:
    """Kernel: play `actions` and fill a `GameLog` but for its end, given as a plain tuple."""
    states, legal, counts, masks, players, ended, outcomes, hashes = log[:8]
    owners, single_owners, planes, last_cells, scores = log[8:]
    game.initial(state)
    for ply in range(len(actions) + 1):
        if ply > 0:
            game.step(state, int(actions[ply - 1]))
        game.copy(state, states[ply])
        counts[ply] = game.legal_actions(state, legal[ply])
        game.owners(state, owners[ply])
        game.legal_mask(state, owners[ply], masks[ply])
        players[ply] = game.to_play(state)
        ended[ply] = game.is_terminal(state)
        hashes[ply] = game.position_hash(state)
        last_cells[ply] = game.last_cell(state)
        for player in range(2):
            outcomes[ply, player] = game.outcome(state, player)
            if ended[ply]:
                scores[ply, player] = base.score_of(game, state, player)
            game.observe(state, player, owners[ply], planes[ply, player])
        for cell in range(game.rows * game.columns):
            single_owners[ply, cell] = game.owner(state, cell)


def find_completing(game: Any, states: Any, owners: Any, completing: Any) -> None:
    """Kernel: `GameLog.completing` of the stones that there are."""
    for ply in range(len(states)):
        for cell in range(owners.shape[1]):
            if owners[ply, cell] != EMPTY:
                completing[ply, cell] = game.completes(states[ply], cell)


def _empty_log(game: Game, positions: int) -> GameLog:
    actions, cells, planes = game.num_actions(), game.rows * game.columns, len(game.planes()) + 1
    return GameLog(
        states=np.zeros(positions, game.state_dtype).view(np.recarray),
        legal=np.full((positions, actions), UNTOUCHED, np.int32),
        counts=np.zeros(positions, np.int64),
        masks=np.full((positions, actions), UNTOUCHED, np.int8),
        players=np.zeros(positions, np.int64),
        ended=np.zeros(positions, np.bool_),
        outcomes=np.zeros((positions, 2), np.int64),
        hashes=np.zeros(positions, np.int64),
        owners=np.full((positions, cells), UNTOUCHED, np.int8),
        single_owners=np.zeros((positions, cells), np.int64),
        planes=np.full((positions, 2, cells, planes), UNTOUCHED, np.int8),
        last_cells=np.zeros(positions, np.int64),
        scores=np.zeros((positions, 2), np.float64),
        completing=np.zeros((positions, cells), np.bool_),
    )


def used_state(game: Game) -> State:
    """A state that was in use before: whatever `Game.initial` forgets to write is not zero."""
    ones = np.ones(game.state_dtype.itemsize, np.uint8)
    return ones.view(game.state_dtype).view(np.recarray)[0]


_compiled_replay = CompiledFunction(replay, "the tests")
_compiled_completing = CompiledFunction(find_completing, "the tests")


def fail(game: Game, claim: str, expected: object, got: object) -> NoReturn:
    """A claim about the game as such does not hold."""
    raise AssertionError(f"{game}: {claim}: expected {expected}, got {got}")


def fail_after(
    game: Game, actions: Sequence[int], claim: str, expected: object, got: object
) -> NoReturn:
    """A claim does not hold after these actions."""
    moves = notation.moves_text(game, list(actions)) or "no moves"
    where = f"after {len(actions)} plies: {moves} (actions {list(actions)})"
    fail(game, claim, expected, f"{got}; {where}")


def same_record(first: State, second: State) -> bool:
    """Whether two states are the same, field by field."""
    return all(np.array_equal(first[name], second[name]) for name in first.dtype.names or ())


class Played(NamedTuple):
    """A game that was played, and what its verbs have said on the way."""

    game: Game
    actions: list[int]
    log: GameLog

    def fail(self, ply: int, claim: str, expected: object, got: object) -> NoReturn:
        """A claim does not hold at this ply."""
        fail_after(self.game, self.actions[:ply], claim, expected, got)

    def expect(self, claim: str, expected: Any, got: Any) -> None:
        """Compare two arrays whose first axis is the ply."""
        for ply in range(len(self.actions) + 1):
            if not np.array_equal(expected[ply], got[ply]):
                self.fail(ply, claim, expected[ply], got[ply])

    def expect_position(self, ply: int, claim: str, state: State) -> None:
        """Compare a state with the one of the log at this ply."""
        game, log = self.game, self.log
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
                self.fail(ply, f"{what} of {claim}", right, got)
