"""Policies as heat maps: where the colour goes, for the boards of all games."""

import numpy as np
import pytest

from agents.alphahex.heat import heat_map, legal_shares
from hexenv import connect4_v0, gomoku_v0, hex_v0, tictactoe_v0
from hexenv.games import base, notation
from hexenv.render.rgb import cell_at, render_rgb

GAMES = {
    "hex": (hex_v0.env(board_size=5).unwrapped.game, "c3 b2"),
    "connect4": (connect4_v0.env().unwrapped.game, "4453"),
    "tictactoe": (tictactoe_v0.env().unwrapped.game, "51"),
    "gomoku": (gomoku_v0.env(board_size=9).unwrapped.game, "e5 d4"),
}
SWAP = hex_v0.env(board_size=5, swap=True).unwrapped.game


def after(game, moves):
    return notation.play(game, notation.parse_moves(game, moves))


def changes(game, state, policy, size=32, **options):
    """By how much the pixels of each cell differ from the plain picture, and those beyond."""
    plain = render_rgb(game, state, cell_size=size).astype(int)
    difference = np.abs(heat_map(game, state, policy, cell_size=size, **options) - plain).sum(2)
    found = np.zeros(game.rows * game.columns + 1)
    for y, x in zip(*np.nonzero(difference), strict=True):
        cell = cell_at(game, x + 0.5, y + 0.5, size)
        found[-1 if cell is None else cell] += difference[y, x]
    return found


@pytest.mark.parametrize("name", GAMES)
def test_the_likelier_the_darker(name):
    game, moves = GAMES[name]
    state = after(game, moves)
    actions = base.legal_actions(game, state)
    policy = np.zeros(game.num_actions())
    policy[actions[:4]] = 0.1, 0.5, 0.15, 0.25
    found = changes(game, state, policy, labelled=False)
    cells = [game.cell_of(state, action) for action in actions[:4]]
    order = np.argsort(-found)[:4].tolist()
    assert order == [cells[1], cells[3], cells[2], cells[0]]
    assert np.delete(found, cells).sum() == 0  # nothing else is touched, nor beyond the board


@pytest.mark.parametrize("name", GAMES)
def test_the_best_cell_changes_most_with_its_figure(name):
    game, moves = GAMES[name]
    state = after(game, moves)
    actions = base.legal_actions(game, state)
    policy = np.full(game.num_actions(), 1.0)  # illegal actions as well
    policy[actions[-1]] = 30.0
    assert changes(game, state, policy).argmax() == game.cell_of(state, actions[-1])


def test_a_figure_is_written_where_it_says_something():
    game, moves = GAMES["tictactoe"]
    state = after(game, moves)
    policy = np.array([0, 0.996, 0.004, 0, 0, 0, 0, 0, 0])
    plain, labelled = (
        heat_map(game, state, policy, cell_size=48, labelled=labelled) for labelled in (False, True)
    )
    cells = {
        cell_at(game, x + 0.5, y + 0.5, 48)
        for y, x in zip(*np.nonzero((plain != labelled).any(axis=2)), strict=True)
    }
    assert cells == {1}  # 0.4 % would be a zero


def test_a_disc_falls_to_where_the_stone_would():
    game, _ = GAMES["connect4"]
    state = after(game, "444")
    found = changes(game, state, [0, 0, 0, 1, 0, 0, 0])
    assert np.flatnonzero(found).tolist() == [2 * 7 + 3]


def test_what_a_full_column_is_given_does_not_count():
    game, _ = GAMES["connect4"]
    state = after(game, "444444")
    with_it = heat_map(game, state, [1, 0, 0, 50, 0, 0, 3])
    assert np.array_equal(with_it, heat_map(game, state, [1, 0, 0, 0, 0, 0, 3]))
    assert legal_shares(game, state, [1, 0, 0, 50, 0, 0, 3]).tolist() == [0.25, 0, 0, 0, 0, 0, 0.75]


def test_a_swap_is_shown_on_the_stone_that_it_takes():
    state = after(SWAP, "d2")
    policy = np.zeros(SWAP.num_actions())
    policy[-1] = 1.0
    assert np.flatnonzero(changes(SWAP, state, policy)).tolist() == [1 * 5 + 3]


def test_visits_and_their_shares_look_alike():
    game, moves = GAMES["hex"]
    state = after(game, moves)
    visits = np.arange(25)
    one, other = (heat_map(game, state, policy) for policy in (visits, visits / visits.sum()))
    assert np.array_equal(one, other)
    assert one.shape == render_rgb(game, state).shape
    assert one.dtype == np.uint8


def test_at_the_end_of_a_game_there_is_nothing_to_show():
    game, _ = GAMES["tictactoe"]
    state = after(game, "14253")
    shown = heat_map(game, state, np.ones(9), cell_size=24)
    assert np.array_equal(shown, render_rgb(game, state, cell_size=24))


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (np.ones(8), r"expected a policy of shape \(9,\), got \(8,\)"),
        ([-0.1, 1, 0, 0, 0, 0, 0, 0, 0], "expected a policy of numbers from 0, got"),
        ([np.nan, 1, 0, 0, 0, 0, 0, 0, 0], "expected a policy of numbers from 0, got"),
        ([1, 0, 0, 0, 1, 0, 0, 0, 0], "expected a policy with something for a legal action"),
    ],
)
def test_what_is_no_policy_is_refused(policy, message):
    game, _ = GAMES["tictactoe"]
    with pytest.raises(ValueError, match=message):
        heat_map(game, after(game, "51"), policy)
