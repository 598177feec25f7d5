"""First moves of Hex with the swap: the table, and the agents that use it."""

import json

import numpy as np
import pytest

from agents import Hexpert
from agents.knowledge.hex.openings import (
    TABLE,
    Board,
    first_move,
    known_openings,
    load_openings,
    should_swap,
)
from agents.knowledge.hex.solver import HexSolver
from agents.solvers.questions import Clock
from hexenv import hex_v0
from hexenv.games import base, hex


def test_the_table_turns_with_the_board():
    for size, board in known_openings().items():
        assert board.size == size
        for moves in (board.estimates, board.wins):
            assert list(moves) == list(moves)[::-1]


@pytest.mark.parametrize("size", [3, 4])
def test_solved_boards_agree_with_the_solver(size):
    game = hex.Hex(size, size)
    solver, state = HexSolver(game, compiles=False), base.new_state(game)
    game.initial(state)
    values = solver.values(state, Clock())
    wins = known_openings()[size].wins
    assert [values[cell] > 0 for cell in range(size * size)] == [one == "1" for one in wins]


def test_first_moves_are_the_fairest():
    board = Board(3, "", [0.1, 0.2, 0.85, 0.45, 1.0, 0.45, 0.85, 0.2, 0.1])
    rng = np.random.default_rng(0)
    assert {first_move(board, rng) for _ in range(99)} == {0, 1, 2, 3, 5, 6, 7, 8}
    equal = Board(4, "", [0.5] * 16)
    assert {first_move(equal, rng) for _ in range(999)} == set(range(16))
    for known in known_openings().values():
        unfairness = np.sort(np.abs(np.array(known.estimates) - 0.5))
        picks = [first_move(known, rng) for _ in range(50)]
        assert max(abs(known.estimates[pick] - 0.5) for pick in picks) <= unfairness[7] + 1e-9
    assert [should_swap(board, cell) for cell in range(5)] == [False, False, True, False, True]
    solved = Board(3, "", board.estimates, "000111000")
    assert [should_swap(solved, cell) for cell in range(5)] == [False, False, False, True, True]


def test_agents_swap_good_stones_and_play_on_against_bad_ones():
    env = hex_v0.env(board_size=4, swap=True)
    agent = Hexpert(simulations=10, seed=1, route="interpreted")
    env.reset()
    first = agent.act(env)
    assert first < 16
    for cell, is_taken in ((9, True), (0, False)):
        env.reset()
        env.step(cell)
        assert (agent.act(env) == 16) == is_taken


def test_without_a_table_the_search_decides():
    env = hex_v0.env(board_size=2, swap=True)
    env.reset()
    agent = Hexpert(simulations=10, seed=1, route="interpreted")
    agent.act(env)
    assert agent.statistics.simulations == 10


def test_damaged_tables_are_refused(tmp_path):
    path, table = tmp_path / "table.json", json.loads(TABLE.read_text())
    board = table["boards"][0]
    for broken in (
        {**table, "version": 2},
        {**table, "boards": [{**board, "estimates": [0.5]}]},
        {**table, "boards": [{**board, "wins": "1"}]},
        {**table, "boards": [{**board, "estimates": [2.0] * len(board["estimates"])}]},
    ):
        path.write_text(json.dumps(broken))
        with pytest.raises(ValueError, match="expected"):
            load_openings(path)
