"""The games against OpenSpiel's: the same legal actions at every ply, the same end and winner."""

from pathlib import Path

import numpy as np
import pytest
from environments import JIT

from agents import RandomAgent
from agents.arena import play_match, summarise
from hexenv import connect4_v0, gomoku_v0, hex_v0, tictactoe_v0
from hexenv.games import connect4, gomoku, hex, notation, tictactoe
from hexenv.testing import record_game

pyspiel = pytest.importorskip("pyspiel", reason="OpenSpiel is not installed")


SMALL = [
    (tictactoe.new(), "tic_tac_toe"),
    (hex.new(2), "hex(board_size=2)"),
    (hex.new(2, swap=True), "hex(board_size=2,swap=true)"),
    (hex.new(3), "hex(board_size=3)"),
    (hex.new(3, swap=True), "hex(board_size=3,swap=true)"),
    (hex.new(5), "hex(board_size=5)"),
    (hex.new(5, swap=True), "hex(board_size=5,swap=true)"),
    (hex.new((3, 5)), "hex(num_rows=3,num_cols=5)"),
    (connect4.new(), "connect_four"),
    (connect4.new(5, 6, 4), "connect_four(rows=5,columns=6,x_in_row=4)"),
    (connect4.new(4, 8, 3), "connect_four(rows=4,columns=8,x_in_row=3)"),
    (gomoku.new(5, 4), "gomoku(size=5,connect=4)"),
]
LARGE = [
    (hex.new(11), "hex(board_size=11)"),
    (hex.new(11, swap=True), "hex(board_size=11,swap=true)"),
    (gomoku.new(), "gomoku(size=15,connect=5)"),
]


def play_random_game(their_game, rng):
    """The actions of a random game by OpenSpiel, and its masks, players and returns.

    Every other time the second action is the last legal one: the swap, where there is one.
    """
    state = their_game.new_initial_state()
    width = their_game.num_distinct_actions()
    actions, masks, players = [], [], []
    swaps = rng.random() < 0.5
    while not state.is_terminal():
        legal = state.legal_actions()
        masks.append(np.zeros(width, np.int8))
        masks[-1][legal] = 1
        players.append(state.current_player())
        last = swaps and len(actions) == 1
        actions.append(legal[-1 if last else int(rng.random() * len(legal))])
        state.apply_action(actions[-1])
    masks.append(np.zeros(width, np.int8))
    return actions, np.array(masks), players, state.returns()


def compare_random_games(game, their_name, games):
    their_game = pyspiel.load_game(their_name)
    assert their_game.num_distinct_actions() == game.num_actions()
    rng = np.random.default_rng(2026)
    results = set()
    for number in range(games):
        actions, masks, players, returns = play_random_game(their_game, rng)
        log = record_game(game, actions)
        where = f"game {number}: {actions}"
        assert np.array_equal(log.masks, masks), where
        assert np.array_equal(log.players[:-1], players), where
        assert log.ended.tolist() == [False] * len(actions) + [True], where
        assert log.outcomes[-1].tolist() == returns, where
        assert not log.outcomes[:-1].any(), where
        results.add(returns[0])
    return results


@pytest.mark.compiled
@pytest.mark.parametrize(("game", "their_name"), SMALL + LARGE, ids=str)
def test_random_games_against_openspiel(game, their_name):
    interpreted = 6 if game.num_actions() > 100 else 30  # a large game takes a second then
    results = compare_random_games(game, their_name, 300 if JIT else interpreted)
    assert {1, -1} <= results


def test_the_swap_goes_to_the_cell_where_openspiel_has_it():
    game = hex.new(11, swap=True)
    their_game = pyspiel.load_game("hex(board_size=11,swap=true)")
    for first in range(121):
        state = their_game.new_initial_state()
        state.apply_action(first)
        state.apply_action(121)
        taken = set(range(121)) - set(state.legal_actions())
        log = record_game(game, [first, 121])
        assert {int(log.last_cells[-1])} == taken
        assert log.owners[-1, log.last_cells[-1]] == 1
        if first == 34:
            assert taken == {14}


def test_openspiel_too_plays_a_ply_more_than_cells_after_a_swap():
    game = hex.new(3, swap=True)
    actions = notation.parse_moves(game, "a2 swap a2 c1 c3 b3 c2 a3 b2 a1")
    state = pyspiel.load_game("hex(board_size=3,swap=true)").new_initial_state()
    for action in actions:
        assert not state.is_terminal()
        state.apply_action(action)
    assert state.is_terminal()
    assert len(actions) == game.max_plies() == 10
    assert record_game(game, actions).outcomes[-1].tolist() == state.returns()


@pytest.mark.parametrize(
    ("module", "options"),
    [
        (hex_v0, {"board_size": 5}),
        (hex_v0, {"board_size": 4, "swap": True}),
        (gomoku_v0, {"board_size": 6, "connect": 4}),
        (connect4_v0, {"rows": 5}),
        (tictactoe_v0, {}),
    ],
)
def test_a_bot_of_the_example_plays_our_games(module, options, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "examples"))
    from openspiel_bots import MCTS

    if module is gomoku_v0 and "gomoku" not in pyspiel.registered_names():
        pytest.skip("this OpenSpiel has no Gomoku")
    first, again = (
        summarise(
            list(play_match(module.env(**options), [MCTS(200), RandomAgent()], games=4, seed=3))
        )
        for _ in range(2)
    )
    assert first.score >= 0.75
    assert first.illegal_moves == (0, 0)
    assert (first.wins, first.plies) == (again.wins, again.plies)  # one seed, the same games
