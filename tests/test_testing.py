"""The conformance test itself: it passes good games and finds every kind of fault."""

from typing import NamedTuple

import numpy as np
import pytest

from hexenv import testing
from hexenv.compiled import compiled
from hexenv.games import base, connect4, gomoku, hex, tictactoe
from hexenv.games.base import DRAW, EMPTY, IN_PLAY
from hexenv.games.tictactoe import TicTacToe


def broken(**faults):
    """TicTacToe, in plain Python, with some of its methods replaced."""
    return type("Broken", (TicTacToe,), faults)(3, 3)


def test_a_game_in_plain_python_is_checked():
    testing.check_game(broken(), games=4)


# ---- faults that are found -----------------------------------------------------------------------


def legal_actions_descending(self, state, out):
    count = TicTacToe.legal_actions(self, state, out)
    out[:count] = out[:count][::-1].copy()
    return count


def legal_actions_beyond_their_count(self, state, out):
    count = TicTacToe.legal_actions(self, state, out)
    out[count:] = 0
    return count


def legal_actions_out_of_range(self, state, out):
    TicTacToe.legal_actions(self, state, out)
    out[0] = 9
    return 1


def legal_actions_none_at_ply_3(self, state, out):
    return 0 if state.ply == 3 else TicTacToe.legal_actions(self, state, out)


def legal_actions_at_the_end(self, state, out):
    out[0] = 0
    return max(1, TicTacToe.legal_actions(self, state, out))


def legal_mask_not_written(self, state, owners, out):
    out[:5] = 1


def step_that_forgets_the_ply(self, state, action):
    TicTacToe.step(self, state, action)
    state.ply -= state.ply == 4


def step_that_forgets_the_action(self, state, action):
    TicTacToe.step(self, state, action)
    state.last_action = 0


def step_without_draws(self, state, action):
    TicTacToe.step(self, state, action)
    if state.winner == DRAW:
        state.winner = 0


def step_that_ends_early(self, state, action):
    TicTacToe.step(self, state, action)
    if state.ply == 3:
        state.winner = 0


def outcome_without_losses(self, state, player):
    return max(0, TicTacToe.outcome(self, state, player))


def initial_that_forgets_a_field(self, state):
    state.stones[0] = 0
    state.ply = 0
    state.last_action = -1
    state.winner = IN_PLAY


def copy_that_forgets_a_field(self, source, into):
    stones = int(into.stones[1])
    base.copy(self, source, into)
    into.stones[1] = stones


def copy_that_changes_its_source(self, source, into):
    base.copy(self, source, into)
    source.stones[0] |= 1 << 8


def owner_of_the_mirror_cell(self, state, cell):
    return TicTacToe.owner(self, state, 8 - cell)


def owners_not_written(self, state, out):
    pass


def observe_without_perspective(self, state, player, owners, out):
    base.observe(self, state, 0, owners, out)


def observe_that_writes_beyond(self, state, player, owners, out):
    base.observe(self, state, player, owners, out)
    out[0, 2] = 1


def observe_that_leaves_the_rest(self, state, player, owners, out):
    base.observe(self, state, player, owners, out[:, :2])


def playout_that_stops(self, state, rng, buffer):
    pass


def playout_that_fails(self, state, rng, buffer):
    buffer[9] = 0


def playout_that_never_draws(self, state, rng, buffer):
    TicTacToe.random_playout(self, state, rng, buffer)
    state.winner = state.winner if state.winner != DRAW else 0


def hash_of_one_side(self, state):
    return int(state.stones[0])


def hash_of_the_last_action(self, state):
    return TicTacToe.position_hash(self, state) | int(state.last_action + 1) << 18


def place_that_forgets_the_hash(self, state, cell, player):
    state.stones[player] |= 1 << 0


def completes_always(self, state, cell):
    return True


def completes_never(self, state, cell):
    return False


def winning_cells_of_nobody(self, state):
    return []


def winning_cells_of_all(self, state):
    return [cell for cell in range(9) if self.owner(state, cell) != EMPTY]


def count_plies_of_one_side(self, owners, to_play):
    return int(np.count_nonzero(owners == 0))


def last_cell_always_0(self, state):
    return 0


def rotations_without_one(self):
    return TicTacToe.symmetries(self)[:3]


def symmetries_without_identity(self):
    return TicTacToe.symmetries(self)[1:]


def symmetries_that_do_not_permute(self):
    return np.zeros((1, 9), np.int32)


def symmetries_of_no_square(self):
    images = TicTacToe.symmetries(self)[:2].copy()
    images[1] = [1, 0, 2, 3, 4, 5, 6, 7, 8]
    return images


def next_actions_that_keep_all(self, state, actions, count, played):
    return count


def cell_of_the_mirror(self, state, action):
    return 8 - action


def cell_of_all_one(self, state, action):
    return 3


def wins_at_nothing(self, state, player, action):
    return False


def no_winning_action(self, state, player, near, actions, count):
    return -1


def always(self, state):
    return True


def random_action_that_is_taken(self, state, rng, buffer):
    return 4


def final_score_beyond_1(self, state, player):
    return 2.0 * self.outcome(state, player)


def final_score_of_the_loser(self, state, player):
    return -0.5 * self.outcome(state, player)


FAULTS = {
    final_score_beyond_1: ("final_score", r"expected two opposite ones from -1 to 1, got \("),
    final_score_of_the_loser: ("final_score", "expected one of ., who won, above 0, got"),
    next_actions_that_keep_all: ("next_actions", "next_actions: expected .* got .*; after 1 plies"),
    cell_of_the_mirror: ("cell_of", "cell_of: expected . got .; after 1 plies|cell_of: expected ."),
    cell_of_all_one: ("cell_of", "cell_of: expected different ones from 0 to 8, got .3, 3"),
    wins_at_nothing: ("wins_at", "wins_at of .: expected True|winning_action: expected"),
    no_winning_action: ("winning_action", r"winning_action: expected \[.*\], got -1"),
    random_action_that_is_taken: ("random_action", r"random_action: expected .*, got .4, 4"),
    legal_actions_descending: ("legal_actions", "expected ascending ones"),
    legal_actions_beyond_their_count: ("legal_actions", "legal_actions: expected . written"),
    legal_actions_out_of_range: (
        "legal_actions",
        "expected 0 to 8, got 9; after 0 plies: no moves",
    ),
    legal_actions_none_at_ply_3: ("legal_actions", r"got none; after 3 plies: \d\d\d \(actions"),
    legal_actions_at_the_end: ("legal_actions", "expected some before the end, none there, got 1"),
    legal_mask_not_written: ("legal_mask", r"legal_mask: expected \[1 1 1 1 1 1 1 1 1\]"),
    step_that_forgets_the_ply: ("step", "max_plies|ply: expected 4, got 3; after 4 plies"),
    step_that_forgets_the_action: ("step", "last_action: expected"),
    step_without_draws: ("step", "random_playout: expected one of .0.*., got 2; after . plies"),
    step_that_ends_early: (
        "step",
        "winning_cells: expected different cells, got .*; after 3 plies",
    ),
    outcome_without_losses: ("outcome", r"outcome: expected .*-1.*, got \[[01] [01]\]"),
    initial_that_forgets_a_field: ("initial", "initial, against a new state: expected"),
    copy_that_forgets_a_field: ("copy", "copy: expected"),
    copy_that_changes_its_source: ("copy", "hash of initial, against a new state: expected 256"),
    owner_of_the_mirror_cell: ("owner", "owners: expected"),
    owners_not_written: ("owners", "owners of initial, against a new state"),
    observe_without_perspective: ("observe", "plane 0 of observe for 1"),
    observe_that_writes_beyond: ("observe", "plane -1 of observe for 0"),
    observe_that_leaves_the_rest: ("observe", "plane -1 of observe for 0"),
    playout_that_stops: ("random_playout", "winner after random_playout: expected one of"),
    playout_that_fails: ("random_playout", r"got IndexError.*; in the game \d+ "),
    playout_that_never_draws: ("random_playout", "random_playout: expected one of .2., got 0"),
    hash_of_one_side: ("position_hash", "position_hash: expected one not seen at another"),
    hash_of_the_last_action: ("position_hash", "hash of from_cells: expected"),
    place_that_forgets_the_hash: ("place", "owners: expected"),
    completes_always: ("completes", "completes: expected no stone before a win"),
    completes_never: ("completes", "completes for cell .: expected True, got False"),
    winning_cells_of_nobody: ("winning_cells", "winning_cells: expected different cells, got ..;"),
    winning_cells_of_all: ("winning_cells", "winning_cells: expected none before a win"),
    count_plies_of_one_side: ("count_plies", "ply of from_cells: expected"),
    last_cell_always_0: ("last_cell", "last_cell: expected -1, got 0"),
    rotations_without_one: ("symmetries", "symmetries: expected .* among them"),
    symmetries_without_identity: ("symmetries", "symmetries: expected the identity first"),
    symmetries_that_do_not_permute: ("symmetries", "expected permutations of the actions"),
    symmetries_of_no_square: ("symmetries", "legal_mask under symmetry 1: expected"),
}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_fault_is_found(fault):
    method, message = FAULTS[fault]
    with pytest.raises(AssertionError, match=message):
        testing.check_game(broken(**{method: fault}))


@pytest.mark.parametrize(
    "game", [hex.new(4, swap=True), gomoku.new(7, rule="renju"), connect4.new()]
)
def test_more_changes_than_two_stones_are_found(game):
    claims_too_much = compiled(
        type("Claims", (type(game),), {"adds_stones": always, "__slots__": ()})
    )
    with pytest.raises(AssertionError, match="adds_stones: expected False, got True"):
        testing.check_game(claims_too_much(*game))


@pytest.mark.parametrize(
    ("faults", "message"),
    [
        ({"name": "Tic Tac Toe"}, "name: expected an identifier in lower case"),
        ({"style": "triangles"}, "style: expected one of squares, points, holes, hexagons"),
        ({"state_dtype": np.dtype([("ply", np.int16)])}, "expected a field 'last_action' of int16"),
        ({"labels": lambda self: (["a", "b"], [])}, "labels of the columns: expected 3"),
        ({"labels": lambda self: ([], ["a", "a", "b"])}, "labels of the rows: expected 3"),
        ({"planes": lambda self: ("own",)}, "planes: expected own, opponent"),
        ({"action_text": lambda self, action: "5"}, r"parse_action\('5'\): expected 0, got 4"),
        ({"action_text": lambda self, action: f"A{action}"}, "expected lower case without blanks"),
        ({"parse_action": lambda self, text: 0}, r"parse_action\('2'\): expected 1, got 0"),
        (
            {"parse_action": lambda self, text: int(text) - 1 if text.isdecimal() else 0},
            r"parse_action\(''\): expected a ValueError, got 0",
        ),
        ({"max_plies": lambda self: 6}, "max_plies: expected the end by then"),
        ({"is_terminal": lambda self, state: True}, "expected a game that goes on at the start"),
        ({"to_play": lambda self, state: 1 + (state.ply & 1)}, "to_play"),
        ({"why_illegal": lambda self, state, action: ""}, "why_illegal: expected a reason"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_fault_of_description_is_found(faults, message):
    with pytest.raises(AssertionError, match=message):
        testing.check_game(broken(**faults))


@compiled
class TicTacToeThatDiffersCompiled(NamedTuple):
    """Its hash shifts by 64 bits: zero in Python, the number itself in machine code."""

    rows: int = 3
    columns: int = 3
    bits: int = 64

    for _name in sorted(set(dir(base.StoneGame)) - {"rows", "columns", "position_hash"}):
        if not _name.startswith("_"):
            vars()[_name] = getattr(TicTacToe, _name)

    def position_hash(self, state):
        stones = int(state.stones[0]) | int(state.stones[1]) << 9
        return stones + (stones >> self.bits)


@pytest.mark.compiled(only=True)
def test_machine_code_that_differs_is_found():
    with pytest.raises(AssertionError, match="hashes of machine code against Python: expected"):
        testing.check_game(TicTacToeThatDiffersCompiled())
    testing.check_game(TicTacToeThatDiffersCompiled(bits=63), games=2)


# ---- logs and counts -----------------------------------------------------------------------------


def test_a_log_has_a_row_for_every_position():
    log = testing.record_game(connect4.new(), [3, 3, 0])
    assert log.counts.tolist() == [7, 7, 7, 7]
    assert log.masks.tolist() == [[1] * 7] * 4
    assert log.legal.tolist() == [[0, 1, 2, 3, 4, 5, 6]] * 4
    assert log.players.tolist() == [0, 1, 0, 1]
    assert log.ended.tolist() == [False] * 4
    assert log.last_cells.tolist() == [base.NO_ACTION, 38, 31, 35]
    assert np.flatnonzero(log.owners[3] == 0).tolist() == [35, 38]
    assert np.flatnonzero(log.planes[3, 1, :, 0]).tolist() == [31]
    assert log.states.ply.tolist() == [0, 1, 2, 3]


def test_perft_counts_by_move_add_up():
    game = connect4.new(2, 3, 3)
    assert testing.perft(game, 0) == 1
    for depth in range(1, 8):
        by_move = testing.perft_by_move(game, depth)
        assert list(by_move) == ["1", "2", "3"]
        assert sum(by_move.values()) == testing.perft(game, depth)


def test_perft_does_not_count_games_that_ended_before():
    game = hex.new(2)
    assert [testing.perft(game, depth) for depth in range(6)] == [1, 4, 12, 24, 12, 0]
    assert testing.perft_by_move(game, 3) == {"a1": 6, "b1": 6, "a2": 6, "b2": 6}


def test_perft_of_a_game_in_plain_python():
    assert [testing.perft(broken(), depth) for depth in range(6)] == [1, 9, 72, 504, 3024, 15120]


def test_perft_refuses_a_negative_depth():
    with pytest.raises(ValueError, match="expected depth of at least 0, got -1"):
        testing.perft(tictactoe.new(), -1)
    with pytest.raises(ValueError, match="expected depth of at least 1, got 0"):
        testing.perft_by_move(tictactoe.new(), 0)
