"""What is laid over a position: where the colour goes, for the boards of all games."""

import numpy as np
import pytest
from recorded import random_actions

from hexenv import connect4_v0, gomoku_v0, hex_v0, tictactoe_v0
from hexenv.games import base, notation
from hexenv.render.geometry import cell_at, cell_centers
from hexenv.render.look import Look
from hexenv.render.overlay import (
    Overlay,
    legal_shares,
    move_numbers,
    overlay_of_shares,
    overlay_of_values,
)
from hexenv.render.rgb import render_rgb

GAMES = {
    "hex": (hex_v0.env(board_size=5).unwrapped.game, "c3 b2"),
    "connect4": (connect4_v0.env().unwrapped.game, "4453"),
    "tictactoe": (tictactoe_v0.env().unwrapped.game, "51"),
    "gomoku": (gomoku_v0.env(board_size=9).unwrapped.game, "e5 d4"),
}
SWAP = hex_v0.env(board_size=5, swap=True).unwrapped.game


def after(game, moves):
    return notation.play(game, notation.parse_moves(game, moves))


def heat_map(game, state, policy, size=48, **options):
    overlay = overlay_of_shares(game, state, policy, **options)
    return render_rgb(game, state, look=Look(cell_size=size), overlay=overlay)


def cells_changed(game, frame, plain):
    places = np.argwhere((frame != plain).any(axis=2))
    return {cell_at(game, x + 0.5, y + 0.5) for y, x in places}


def changes(game, state, policy, size=32, **options):
    """By how much the pixels of each cell differ from the plain picture, and those beyond."""
    plain = render_rgb(game, state, look=Look(cell_size=size)).astype(int)
    difference = np.abs(heat_map(game, state, policy, size, **options) - plain).sum(2)
    found = np.zeros(game.rows * game.columns + 1)
    for y, x in zip(*np.nonzero(difference), strict=True):
        cell = cell_at(game, x + 0.5, y + 0.5, Look(cell_size=size))
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


def test_shares_are_of_the_legal_actions_and_labelled_where_they_say_something():
    game, _ = GAMES["tictactoe"]
    state = after(game, "51")
    policy = np.array([50, 0.996, 0.004, 0, 9, 0, 0, 0, 0])
    discs = overlay_of_shares(game, state, policy).discs(game)
    assert [(disc.cell, disc.label) for disc in discs] == [(1, "100"), (2, "")]
    one, other = (heat_map(game, state, scale * policy) for scale in (1, 7))
    assert np.array_equal(one, other)
    assert legal_shares(game, state, policy).tolist() == [0, 0.996, 0.004, 0, 0, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("game", "moves", "action", "cell"),
    [(GAMES["connect4"][0], "444", 3, 2 * 7 + 3), (SWAP, "d2", 25, 1 * 5 + 3)],
    ids=["where the stone falls", "on the stone that a swap takes"],
)
def test_a_disc_of_an_action_is_on_one_cell(game, moves, action, cell):
    policy = np.zeros(game.num_actions())
    policy[action] = 1.0
    assert np.flatnonzero(changes(game, after(game, moves), policy)).tolist() == [cell]


def test_at_the_end_of_a_game_there_is_nothing_to_show():
    game, _ = GAMES["tictactoe"]
    assert overlay_of_shares(game, after(game, "14253"), np.ones(9)).discs(game) == []


@pytest.mark.parametrize(
    ("make", "numbers", "message"),
    [
        (overlay_of_shares, np.ones(8), r"\(9,\), got \(8,\)"),
        (overlay_of_shares, [-0.1, 1, 0, 0, 0, 0, 0, 0, 0], "numbers from 0"),
        (overlay_of_shares, [np.nan, 1, 0, 0, 0, 0, 0, 0, 0], "numbers from 0"),
        (overlay_of_shares, [1, 0, 0, 0, 1, 0, 0, 0, 0], "legal action"),
        (overlay_of_values, np.full(9, 1.5), "from -1 to 1"),
    ],
)
def test_wrong_numbers_of_actions_are_refused(make, numbers, message):
    game, _ = GAMES["tictactoe"]
    with pytest.raises(ValueError, match=message):
        make(game, after(game, "51"), numbers)


# ---- values --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GAMES)
def test_values_have_a_colour_for_each_sign(name):
    game, moves = GAMES[name]
    state = after(game, moves)
    good, bad, *_ = base.legal_actions(game, state)
    values = np.full(game.num_actions(), np.nan)
    values[[good, bad]] = 0.75, -0.75
    overlay = overlay_of_values(game, state, values)
    assert {disc[1:] for disc in overlay.discs(game)} == {(0.75, "+75"), (-0.75, "-75")}
    bare = overlay_of_values(game, state, values, labelled=False)
    frame = render_rgb(game, state, overlay=bare)
    for action, strong, weak in ((good, 2, 1), (bad, 0, 2)):  # purple and orange
        x, y = cell_centers(game)[game.cell_of(state, action)].astype(int)
        assert frame[y, x, strong] > frame[y, x, weak]


def test_values_of_illegal_actions_do_not_count():
    game, _ = GAMES["tictactoe"]
    overlay = overlay_of_values(game, after(game, "51"), np.linspace(-1, 1, 9))
    assert [disc.cell for disc in overlay.discs(game)] == [1, 2, 3, 5, 6, 7, 8]
    assert overlay.discs(game)[-1] == (8, 1.0, "+99")


def test_only_a_proof_is_shown_as_100():
    game, _ = GAMES["tictactoe"]
    values = [np.nan, 1, 1, -1, np.nan, -1, 0.999, 0.5, np.nan]
    overlay = overlay_of_values(game, after(game, "51"), values, proven=(2, 5))
    found = {disc.cell: disc.label for disc in overlay.discs(game)}
    assert found == {1: "+99", 2: "+100", 3: "-99", 5: "-100", 6: "+99", 7: "+50"}


# ---- any array -----------------------------------------------------------------------------------


def test_any_numbers_can_be_laid_over_the_cells():
    game, _ = GAMES["tictactoe"]
    overlay = Overlay([0, 4, np.nan, -2, 1e-9, 0.5, 3, 4, 5], title="distances")
    found = overlay.discs(game)
    assert [disc.cell for disc in found] == [0, 1, 3, 4, 5, 6, 7, 8]
    assert [disc.label for disc in found] == ["0", "4", "-2", "1e-09", "0.5", "3", "4", "5"]
    assert [round(disc.strength, 2) for disc in found] == [0, 0.8, -0.4, 0, 0.1, 0.6, 0.8, 1]
    limited = Overlay(overlay.values, [""] * 9, limit=2)
    assert [disc.strength for disc in limited.discs(game)] == [1, -1, 5e-10, 0.25, 1, 1, 1]
    assert Overlay([np.nan] * 9).discs(game) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1, 2]],), r"\(cells,\)"),
        (([1, np.inf],), "finite"),
        (([1, 2], ["a"]), "2 labels, got 1"),
        (([1, 2], None, 0), "above 0, got 0"),
    ],
)
def test_what_is_no_overlay_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Overlay(*arguments)


def test_an_overlay_of_another_board_is_refused():
    game, _ = GAMES["tictactoe"]
    with pytest.raises(ValueError, match=r"\(9,\), got \(8,\)"):
        Overlay(np.ones(8)).discs(game)
    with pytest.raises(ValueError, match=r"\(9,\)"):
        render_rgb(game, after(game, "51"), numbers=[1, 2])


# ---- the numbers of the moves --------------------------------------------------------------------


def test_a_swap_takes_the_number_along():
    actions = notation.parse_moves(SWAP, "b1 swap c3")
    numbers = move_numbers(SWAP, actions).reshape(5, 5)
    assert {tuple(place): numbers[tuple(place)] for place in np.argwhere(numbers).tolist()} == {
        (1, 0): 1,
        (2, 2): 3,
    }


def test_moves_are_numbered_from_a_given_start():
    game, _ = GAMES["tictactoe"]
    start = notation.parse_board(game, "X../.O./...")
    assert move_numbers(game, [8, 2], start).tolist() == [0, 0, 2, 0, 0, 0, 0, 0, 1]
    assert start.ply == 2


@pytest.mark.parametrize("name", GAMES)
def test_every_stone_has_the_number_of_its_move(name):
    game, _ = GAMES[name]
    actions = random_actions(game, np.random.default_rng(3), 20)
    state, cells = base.new_state(game), []
    for action in actions:
        cells.append(game.cell_of(state, action))
        game.step(state, action)
    numbers = move_numbers(game, actions)
    assert [numbers[cell] for cell in cells] == list(range(1, len(cells) + 1))
    assert np.count_nonzero(numbers) == len(cells)
    plain = render_rgb(game, state)
    assert np.array_equal(render_rgb(game, state, numbers=0 * numbers), plain)
    numbered = render_rgb(game, state, numbers=numbers)
    assert cells_changed(game, numbered, plain) == set(cells)
