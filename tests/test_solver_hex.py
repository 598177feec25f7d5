"""The exact Hex solver: against solved positions, brute force, and itself in plain Python."""

import json
from pathlib import Path

import numpy as np
import pytest
from environments import JIT
from hex_oracles import all_positions, brute_force, random_bits, wins_on

from agents.knowledge.hex.solver import HexSolver
from agents.solvers.questions import Clock
from hexenv.games import base, hex, notation

needs_compiler = pytest.mark.compiled(only=True)
DATA = Path(__file__).parents[1] / "agents" / "arena" / "positions"
OPENINGS = json.loads((Path(__file__).parent / "data" / "hex_openings.json").read_text())


def position(game, moves):
    return notation.play(game, [game.parse_action(move) for move in moves])


def solver_of(rows, columns=None, swap=False, entries=1 << 12, compiles=JIT):
    return HexSolver(hex.new((rows, columns or rows), swap), entries, bool(compiles))


def winning_moves(tool, moves):
    state = position(tool.game, moves)
    before = state.tobytes()
    values = tool.values(state, Clock())
    assert state.tobytes() == before
    assert list(values) == base.legal_actions(tool.game, state)
    assert set(values.values()) <= {-1, 1}
    return sorted(tool.game.action_text(action) for action, value in values.items() if value == 1)


def winner_at(tool, moves):
    """The player who wins after some moves."""
    state = position(tool.game, moves)
    return tool.winner_of(state, Clock())[0]


def solved_positions(size, step=1):
    with (DATA / f"hex_{size}x{size}.jsonl").open() as lines:
        return [json.loads(line) for line in lines][::step]


def check_solved_positions(size, positions, entries=1 << 20):
    tool = solver_of(size, entries=entries)
    for known in positions:
        assert winning_moves(tool, known["moves"]) == sorted(known["winning"]), known


@needs_compiler
@pytest.mark.parametrize(("size", "step"), [(4, 1), (5, 1), (6, 4)])
def test_finds_exactly_the_winning_moves_of_solved_positions(size, step):
    check_solved_positions(size, solved_positions(size, step))


@needs_compiler
@pytest.mark.parametrize(
    ("size", "empties"),
    [(7, 30), *(pytest.param(*each, marks=pytest.mark.slow) for each in [(6, 36), (7, 43)])],
)
def test_finds_exactly_the_winning_moves_of_large_solved_positions(size, empties):
    """Emptier ones take minutes each."""
    found = [known for known in solved_positions(size) if known["empties"] <= empties]
    assert len(found) > 20
    check_solved_positions(size, found)


def test_finds_the_winning_moves_of_some_solved_positions_in_plain_python_too():
    check_solved_positions(4, solved_positions(4, 25))


@needs_compiler
def test_a_small_table_changes_nothing_but_the_time():
    check_solved_positions(5, solved_positions(5, 25), entries=8)


@pytest.mark.parametrize(
    "size",
    [
        *[2, 3, 4],
        pytest.param(5, marks=needs_compiler),
        pytest.param(6, marks=[needs_compiler, pytest.mark.slow]),
    ],
)
def test_finds_exactly_the_winning_first_moves(size):
    tool, known = solver_of(size, entries=1 << 20), OPENINGS[f"{size}x{size}"]
    assert winning_moves(tool, []) == sorted(move for move in known if known[move] == "black")
    assert winner_at(tool, []) == 0


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("rows", "columns"),
    [
        *[(2, 2), (2, 3), (3, 2), (2, 4), (4, 2)],
        *(pytest.param(*size, marks=needs_compiler) for size in [(3, 3), (2, 5), (5, 2)]),
    ],
)
def test_agrees_with_brute_force_on_every_position(rows, columns):
    """And the carrier is enough to win on: all else may be the loser's."""
    winner, tool = brute_force(rows, columns), solver_of(rows, columns)
    count = 0
    for first, second, mover in all_positions(rows * columns):
        won, carrier = tool.solve(first, second, mover, Clock())
        assert won == winner(first, second, mover), (first, second, mover)
        assert carrier & (first | second) == 0
        if rows * columns < 10:
            assert wins_on(winner, (first, second), won, carrier, rows * columns, mover)
        count += 1
    assert count > rows * columns


LARGE = [(7, 8), (8, 7), (6, 10), (10, 6), (2, 19), (19, 2)]


@pytest.mark.parametrize(
    ("rows", "columns", "empty", "count"),
    [
        *(pytest.param(*size, 12, 2_000, marks=needs_compiler) for size in [(3, 4), (4, 3)]),
        *((*size, 8, 4) for size in LARGE),  # nearly full
    ],
)
def test_agrees_with_brute_force_on_random_positions(rows, columns, empty, count):
    winner, tool = brute_force(rows, columns), solver_of(rows, columns)
    rng = np.random.default_rng(1)
    for _ in range(count):
        bits = random_bits(rng, rows * columns, min(empty, 8) if count < 100 else 1, empty)
        assert tool.solve(*bits, Clock())[0] == winner(*bits)


def brute_force_values(game, state):
    """The value of each action, by trying all games."""
    values = {}
    for action in base.legal_actions(game, state):
        child = base.clone(game, state)
        game.step(child, action)
        over = {-1: game.outcome(child, game.to_play(child))} if game.is_terminal(child) else None
        values[action] = -max((over or brute_force_values(game, child)).values())
    return values


def test_knows_what_the_swap_is_worth_on_2x2():
    tool = solver_of(2, swap=True)
    starts = [[], *([move] for move in ("a1", "b1", "a2", "b2")), ["a1", "swap"], ["b1", "swap"]]
    for moves in starts:
        state = position(tool.game, moves)
        values = brute_force_values(tool.game, state)
        assert tool.values(state, Clock()) == values
        assert tool.value(state, Clock()) == max(values.values())


@needs_compiler
@pytest.mark.parametrize("size", [3, 4, 5])
def test_the_swap_wins_exactly_where_the_first_stone_would_have_won(size):
    tool, swap = solver_of(size, swap=True), size * size
    assert winner_at(tool, []) == 1
    assert winning_moves(tool, []) == []
    for move, winner in OPENINGS[f"{size}x{size}"].items():
        values = tool.values(position(tool.game, [move]), Clock())
        assert values[swap] == (1 if winner == "black" else -1)
        assert (max(values[cell] for cell in list(values)[:-1]) == 1) == (winner == "white")
        # The stone is at the mirror cell and white's, black moves: colours and edges are exchanged.
        assert winner_at(tool, [move, "swap"]) == (winner == "black")


def test_a_finished_game_has_a_winner_and_no_actions():
    tool, moves = solver_of(2), ["a1", "b1", "a2"]
    assert winner_at(tool, moves) == 0
    assert winning_moves(tool, moves) == []


@needs_compiler
def test_the_order_of_calls_makes_no_difference():
    positions = [known["moves"] for known in solved_positions(5, 20)]
    shared = solver_of(5)
    together = [winning_moves(shared, moves) for moves in positions]
    assert [winning_moves(solver_of(5), moves) for moves in positions] == together


@needs_compiler
@pytest.mark.parametrize(("rows", "columns"), [(3, 3), (2, 4), (4, 3)])
def test_machine_code_and_plain_python_search_the_same(rows, columns):
    tools = [solver_of(rows, columns, entries=1 << 10, compiles=each) for each in (True, False)]
    rng, clocks = np.random.default_rng(2), (Clock(), Clock())
    for _ in range(60):
        bits = random_bits(rng, rows * columns, 3)
        assert tools[0].solve(*bits, clocks[0]) == tools[1].solve(*bits, clocks[1])
    assert clocks[0].nodes == clocks[1].nodes > 0


@pytest.mark.compiled
def test_gives_up_when_the_time_is_over_and_can_go_on():
    tool = solver_of(7)
    state = position(tool.game, ["g1"] if JIT else [])
    for ask in (tool.value, tool.values):
        with pytest.raises(TimeoutError, match=r"within 0\.05 s"):
            ask(state, Clock(0.05))
    nearly_over = ["d1", "a1", "d2", "a2", "d3", "a3", "d4", "a4", "d5", "a5", "d6", "a6"]
    assert tool.value(position(tool.game, nearly_over), Clock()) == 1


def test_refuses_a_board_that_is_too_large():
    with pytest.raises(ValueError, match="169 cells, got 196"):
        solver_of(14)
