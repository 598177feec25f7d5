"""The exact Hex solver: against solved positions, brute force, and itself in plain Python."""

import functools
import json
from pathlib import Path

import numpy as np
import pytest
from environments import JIT

from agents.knowledge.hex import solver
from agents.solvers.questions import Clock
from hexenv.games import base, hex

needs_compiler = pytest.mark.compiled(only=True)
DATA = Path(__file__).parents[1] / "agents" / "arena" / "positions"
OPENINGS = json.loads((Path(__file__).parent / "data" / "hex_openings.json").read_text())


def position(game, moves):
    state = base.new_state(game)
    for move in moves:
        game.step(state, game.parse_action(move))
    return state


def winning_moves(game, state):
    values = solver.solve(game, state)
    assert list(values) == base.legal_actions(game, state)
    assert set(values.values()) <= {-1, 1}
    return [game.action_text(action) for action, value in values.items() if value == 1]


def solved_positions(size, step=1):
    with (DATA / f"hex_{size}x{size}.jsonl").open() as lines:
        return [json.loads(line) for line in lines][::step]


def check_solved_positions(size, positions):
    game = hex.new(size)
    for known in positions:
        state = position(game, known["moves"])
        assert sorted(winning_moves(game, state)) == sorted(known["winning"]), known


@needs_compiler
@pytest.mark.parametrize(("size", "step"), [(4, 1), (5, 1), (6, 4)])
def test_finds_exactly_the_winning_moves_of_solved_positions(size, step):
    check_solved_positions(size, solved_positions(size, step))


@needs_compiler
def test_finds_exactly_the_winning_moves_of_solved_endgames_on_7x7():
    endgames = [known for known in solved_positions(7) if known["empties"] <= 30]
    check_solved_positions(7, endgames)


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize(("size", "empties"), [(6, 36), (7, 42)])  # emptier ones take minutes each
def test_finds_exactly_the_winning_moves_of_large_solved_positions(size, empties):
    found = [known for known in solved_positions(size) if known["empties"] <= empties]
    assert len(found) > 50
    check_solved_positions(size, found)


def test_finds_the_winning_moves_of_some_solved_positions_in_plain_python_too():
    check_solved_positions(4, solved_positions(4, 10))


@pytest.mark.parametrize(
    "size",
    [
        *[2, 3, 4],
        pytest.param(5, marks=needs_compiler),
        pytest.param(6, marks=[needs_compiler, pytest.mark.slow]),
    ],
)
def test_finds_exactly_the_winning_first_moves(size):
    game = hex.new(size)
    known = OPENINGS[f"{size}x{size}"]
    assert winning_moves(game, position(game, [])) == [m for m in known if known[m] == "black"]
    assert solver.winner(game, position(game, [])) == 0


def brute_force(rows, columns):
    """A function that tells who wins a position: stones of both players and the mover, as bits."""
    game = hex.new((rows, columns))

    @functools.cache
    def has_joined(player, stones):
        state = base.new_state(game)
        for cell in range(rows * columns):
            if stones >> cell & 1:
                game.place(state, cell, player)
        return game.has_joined(state, player)

    @functools.cache
    def winner(first, second, mover):
        for player, stones in enumerate((first, second)):
            if has_joined(player, stones):
                return player
        for cell in range(rows * columns):
            if not (first | second) >> cell & 1:
                move = 1 << cell
                child = (first, second | move) if mover else (first | move, second)
                if winner(*child, 1 - mover) == mover:
                    return mover
        return 1 - mover

    return winner


def all_positions(cells):
    """All positions in which player 0 has as many stones or one more, won ones too."""
    for code in range(3**cells):
        owners = [code // 3**cell % 3 for cell in range(cells)]
        first = sum(1 << cell for cell in range(cells) if owners[cell] == 1)
        second = sum(1 << cell for cell in range(cells) if owners[cell] == 2)
        mover = first.bit_count() - second.bit_count()
        if mover in (0, 1):
            yield first, second, mover


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("rows", "columns"),
    [
        *[(2, 2), (2, 3), (3, 2), (2, 4), (4, 2)],
        *(pytest.param(*size, marks=needs_compiler) for size in [(3, 3), (2, 5), (5, 2)]),
    ],
)
def test_agrees_with_brute_force_on_every_position(rows, columns):
    winner = brute_force(rows, columns)
    tool = solver.HexSolver(rows, columns, entries=1 << 12)
    count = 0
    for first, second, mover in all_positions(rows * columns):
        won, carrier = tool.solve(first, second, mover, Clock())
        assert won == winner(first, second, mover), (first, second, mover)
        assert carrier & (first | second) == 0
        count += 1
    assert count > rows * columns


@needs_compiler
@pytest.mark.parametrize(("rows", "columns"), [(3, 3), (2, 4), (4, 2)])
def test_a_carrier_is_enough_to_win_on(rows, columns):
    winner = brute_force(rows, columns)
    tool = solver.HexSolver(rows, columns, entries=1 << 12)
    for first, second, mover in all_positions(rows * columns):
        won, carrier = tool.solve(first, second, mover, Clock())
        stones = [first, second]
        rest = (1 << rows * columns) - 1 & ~(first | second | carrier)
        stones[1 - won] |= rest  # all else is the loser's
        assert winner(*stones, mover) == won, (first, second, mover, carrier)


@needs_compiler
@pytest.mark.parametrize(("rows", "columns"), [(3, 4), (4, 3)])
def test_agrees_with_brute_force_on_boards_of_twelve_cells(rows, columns):
    winner = brute_force(rows, columns)
    tool = solver.HexSolver(rows, columns)
    rng = np.random.default_rng(1)
    for _ in range(2_000):
        cells = rng.permutation(rows * columns)[: int(rng.integers(rows * columns))]
        first = sum(1 << int(cell) for cell in cells[::2])
        second = sum(1 << int(cell) for cell in cells[1::2])
        mover = len(cells) & 1
        assert tool.solve(first, second, mover, Clock())[0] == winner(first, second, mover)


@pytest.mark.parametrize(("rows", "columns"), [(7, 8), (8, 7), (6, 10), (10, 6), (2, 19), (19, 2)])
def test_agrees_with_brute_force_on_large_boards_that_are_nearly_full(rows, columns):
    winner = brute_force(rows, columns)
    tool = solver.HexSolver(rows, columns, entries=1 << 12)
    rng = np.random.default_rng(3)
    for _ in range(20):
        cells = [int(cell) for cell in rng.permutation(rows * columns)[8:]]
        first = sum(1 << cell for cell in cells[::2])
        second = sum(1 << cell for cell in cells[1::2])
        mover = len(cells) & 1
        assert tool.solve(first, second, mover, Clock())[0] == winner(first, second, mover)


def brute_force_value(game, state):
    if game.is_terminal(state):
        return game.outcome(state, game.to_play(state))
    return max(brute_force_values(game, state).values())


def brute_force_values(game, state):
    values = {}
    for action in base.legal_actions(game, state):
        child = base.clone(game, state)
        game.step(child, action)
        values[action] = -brute_force_value(game, child)
    return values


def test_knows_what_the_swap_is_worth_on_2x2():
    game = hex.new(2, swap=True)
    states = [position(game, [])]
    states += [position(game, [move]) for move in ("a1", "b1", "a2", "b2")]
    states += [position(game, [move, "swap"]) for move in ("a1", "b1")]
    for state in states:
        values = brute_force_values(game, state)
        assert solver.solve(game, state) == values
        player = game.to_play(state)
        assert solver.winner(game, state) == (player if 1 in values.values() else 1 - player)


@needs_compiler
@pytest.mark.parametrize("size", [3, 4, 5])
def test_the_swap_wins_exactly_where_the_first_stone_would_have_won(size):
    game = hex.new(size, swap=True)
    swap = size * size
    assert solver.winner(game, position(game, [])) == 1
    assert set(solver.solve(game, position(game, [])).values()) == {-1}
    for move, winner in OPENINGS[f"{size}x{size}"].items():
        values = solver.solve(game, position(game, [move]))
        assert values[swap] == (1 if winner == "black" else -1)
        assert (max(values[cell] for cell in list(values)[:-1]) == 1) == (winner == "white")
        # The stone is at the mirror cell and white's, black moves: colours and edges are exchanged.
        assert solver.winner(game, position(game, [move, "swap"])) == (winner == "black")


def test_a_finished_game_has_a_winner_and_no_actions():
    game = hex.new(2)
    state = position(game, ["a1", "b1", "a2"])
    assert solver.winner(game, state) == 0
    assert solver.solve(game, state) == {}


def test_leaves_the_position_as_it_was():
    game = hex.new(4, swap=True)
    state = position(game, ["b2"])
    before = state.tobytes()
    solver.solve(game, state)
    assert state.tobytes() == before


@needs_compiler
def test_the_order_of_calls_makes_no_difference():
    positions = [known["moves"] for known in solved_positions(5, 20)]
    game = hex.new(5)
    shared = [winning_moves(game, position(game, moves)) for moves in positions]
    alone = []
    for moves in reversed(positions):
        solver.shared_solver.cache_clear()
        alone.append(winning_moves(game, position(game, moves)))
    assert alone[::-1] == shared


@needs_compiler
@pytest.mark.parametrize(("rows", "columns"), [(3, 3), (2, 4), (4, 3)])
def test_machine_code_and_plain_python_search_the_same(rows, columns):
    compiled = solver.HexSolver(rows, columns, entries=1 << 10)
    plain = solver.HexSolver(rows, columns, entries=1 << 10, compiles=False)
    rng = np.random.default_rng(2)
    clocks = Clock(), Clock()
    for _ in range(60):
        cells = rng.permutation(rows * columns)[: int(rng.integers(rows * columns - 2))]
        first = sum(1 << int(cell) for cell in cells[::2])
        second = sum(1 << int(cell) for cell in cells[1::2])
        arguments = first, second, len(cells) & 1
        assert compiled.solve(*arguments, clocks[0]) == plain.solve(*arguments, clocks[1])
    assert clocks[0].nodes == clocks[1].nodes > 0


@needs_compiler
def test_a_small_table_changes_nothing_but_the_time():
    game = hex.new(5)
    tiny = solver.HexSolver(5, 5, entries=4)
    for known in solved_positions(5, 25):
        state = position(game, known["moves"])
        values = solver.action_values(game, state, tiny, Clock())
        wins = [game.action_text(action) for action, value in values.items() if value == 1]
        assert sorted(wins) == sorted(known["winning"])


@pytest.mark.compiled
def test_gives_up_when_the_time_is_over_and_can_go_on():
    game = hex.new(7)
    state = position(game, ["g1"] if JIT else [])
    for ask in (solver.solve, solver.winner):
        with pytest.raises(TimeoutError, match=r"expected to solve the position within 0\.05 s"):
            ask(game, state, seconds=0.05)
    small = hex.new(3)
    assert "b2" in winning_moves(small, position(small, []))


def test_refuses_a_board_that_is_too_large():
    game = hex.new(8)
    for ask in (solver.solve, solver.winner):
        with pytest.raises(ValueError, match="at most 61 cells, got 8 x 8"):
            ask(game, position(game, []))
