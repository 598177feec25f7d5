"""Pictures of positions: text and frames."""

import re
import subprocess
import sys
from textwrap import dedent

import numpy as np
import pytest
from environments import random_states

from hexenv.common.extras import how_to_install
from hexenv.games import base, connect4, gomoku, hex, notation, tictactoe
from hexenv.render.ansi import render_text
from hexenv.render.geometry import cell_at, cell_centers
from hexenv.render.look import THEMES, Look, paints_of
from hexenv.render.overlay import Overlay, move_numbers, overlay_of_shares, overlay_of_values
from hexenv.render.rgb import render_rgb

GAMES = [
    tictactoe.new(),
    connect4.new(4, 5),
    connect4.new(2, 12, 3),
    gomoku.new((6, 8), 4),
    hex.new((5, 7)),
    hex.new(4, swap=True),
    hex.new(2),
]
over_games = pytest.mark.parametrize("game", GAMES, ids=repr)


def play(game, moves):
    return notation.play(game, notation.parse_moves(game, moves))


# ---- text ----------------------------------------------------------------------------------------


TEXTS = [
    (
        hex.new(5, swap=True),
        "b1 swap c2",
        """
          a b c d e
           x x x x x
        1 o . . . . . o
         2 o O .(X). . o
          3 o . . . . . o
           4 o . . . . . o
            5 o . . . . . o
                 x x x x x
        O to play (ply 3)""",
    ),
    (
        hex.new((3, 4)),
        "a3 a1 b2 b1 c1",
        """
          a b c d
           x x x x
        1 o O O[X]. o
         2 o .[X]. . o
          3 o[X]. . . o
               x x x x
        X has won (ply 5)""",
    ),
    (
        connect4.new(),
        "1212121",
        """
         1 2 3 4 5 6 7
         . . . . . . .
         . . . . . . .
        [X]. . . . . .
        [X]O . . . . .
        [X]O . . . . .
        [X]O . . . . .
        X has won (ply 7)""",
    ),
    (
        connect4.new(1, 11),
        "1 11",
        """
                           1 1
         1 2 3 4 5 6 7 8 9 0 1
         X . . . . . . . . .(O)
        X to play (ply 2)""",
    ),
    (
        gomoku.new(6),
        "a1 a6 b1 b6 c1 f6",
        """
           a b c d e f
        6  O O . . .(O)
        5  . . . . . .
        4  . . . . . .
        3  . . . . . .
        2  . . . . . .
        1  X X X . . .
        X to play (ply 6)""",
    ),
    (
        tictactoe.new(),
        "415293",
        """
        [O O O]
         X X .
         . . X
        O has won (ply 6)""",
    ),
    (
        tictactoe.new(),
        "123547698",
        """
         X O X
         X O X
         O(X)O
        draw (ply 9)""",
    ),
]


@pytest.mark.parametrize(("game", "moves", "text"), TEXTS)
def test_texts_of_positions(game, moves, text):
    assert render_text(game, play(game, moves)) == dedent(text).removeprefix("\n")


def test_rows_of_hex_stay_in_line_where_numbers_get_longer():
    lines = render_text(hex.new(11), base.new_state(hex.new(11))).splitlines()
    assert lines[0] == "   a b c d e f g h i j k"
    assert lines[10] == "         9 o . . . . . . . . . . . o"
    assert lines[11] == "         10 o . . . . . . . . . . . o"


def test_a_position_without_a_known_last_move_has_no_mark():
    game = tictactoe.new()
    text = render_text(game, notation.parse_board(game, "X../.O./..."))
    assert text == " X . .\n . O .\n . . .\nX to play (ply 2)"


@over_games
def test_the_text_gives_the_board_back(game):
    for state in random_states(game, seed=1):
        text = render_text(game, state)
        assert "\x1b" not in text
        assert not re.search(r"\s$", text, re.MULTILINE)
        rows = [re.sub(r"[^XO.]", "", line) for line in text.splitlines()[:-1]]
        board = "\n".join(" ".join(row) for row in rows if row)
        assert board == notation.board_text(game, state)
        parsed = notation.parse_board(game, board, game.to_play(state))
        assert game.position_hash(parsed) == game.position_hash(state)


@over_games
def test_colours_are_added_only_on_request_and_change_no_text(game):
    states = random_states(game, seed=2)
    for state in (states[0], states[1], states[-1]):
        painted = render_text(game, state, color=True)
        assert "\x1b[" in painted
        assert re.sub(r"\x1b\[[0-9;]*m", "", painted) == render_text(game, state)


def test_colours_set_the_winning_stones_apart():
    game = tictactoe.new()
    painted = render_text(game, play(game, "14253"), color=True)
    assert painted.count("\x1b[1;7;31mX\x1b[0m") == 3
    assert painted.count("\x1b[36mO\x1b[0m") == 2


def test_values_and_numbers_widen_the_cells_of_text():
    game = tictactoe.new()
    values = [np.nan, -0.42, 0.5, np.nan, np.nan, 0.004, np.nan, np.nan, 1]
    state, numbers = play(game, "51"), move_numbers(game, [4, 0])
    overlay = overlay_of_values(game, state, values, proven=(8,), title="values")
    assert render_text(game, state, overlay=overlay, numbers=numbers).splitlines() == [
        "(  O2 ) -42   +50",
        "   .     X1    +0",
        "   .     .    +100",
        "values",
        "X to play (ply 2)",
    ]


def test_hexagons_slant_by_half_of_their_width():
    game = hex.new(3, swap=True)
    state = play(game, "b1")
    shares = [0, 5, 1, 0, 2, 1, 0, 0, 0, 12]  # the last is the swap, on the stone; b1 is taken
    overlay = overlay_of_shares(game, state, shares)
    assert render_text(game, state, overlay=overlay).splitlines() == [
        " a   b   c",
        "   x   x   x",
        "1 o  . (X75) 6  o",
        "  2 o  .   12  6  o",
        "    3 o  .   .   .  o",
        "           x   x   x",
        "O to play (ply 1)",
    ]


@over_games
def test_wide_text_gives_the_board_back(game):
    for state in random_states(game, seed=8):
        overlay = Overlay(np.linspace(-1, 1, game.rows * game.columns), title="any")
        text = render_text(game, state, overlay=overlay)
        painted = render_text(game, state, overlay=overlay, color=True)
        bare = re.sub(r"\x1b\[[0-9;]*m", "", painted)
        assert [line.rstrip() for line in bare.splitlines()] == text.splitlines()
        rows = text.splitlines()[-2 - game.rows - (game.style == "hexagons") : -2]
        labels = [disc.label for disc in overlay.discs(game)]
        for row in range(game.rows):
            for column in range(game.columns):
                cell = row * game.columns + column
                owner = base.cell_owners(game, state)[row, column]
                stone = "" if owner == base.EMPTY else notation.SYMBOLS[owner]
                assert stone + labels[cell] in re.split(r"[\s()\[\]]+", rows[row])


def test_the_ground_of_a_value_tells_its_sign_and_size():
    game = tictactoe.new()
    overlay = Overlay([0.1, 0.6, 1, -0.1, -0.6, -1, 0.01, np.nan, 0])
    painted = render_text(game, base.new_state(game), overlay=overlay, color=True)
    grounds = re.findall(r"48;5;(\d+)", painted)
    assert grounds == ["225", "134", "90", "223", "208", "166"]


# ---- frames --------------------------------------------------------------------------------------


@pytest.mark.parametrize("look", [Look("dark", 8), Look("light", 13), Look(coordinates=False)])
@over_games
def test_a_frame_is_a_fresh_array_of_even_sides(game, look):
    states = random_states(game, seed=3)
    height, width, _ = render_rgb(game, states[0], look=look).shape
    assert height % 2 == width % 2 == 0
    for state in states:
        frame = render_rgb(game, state, look=look)
        assert frame.dtype == np.uint8
        assert frame.shape == (height, width, 3)
        assert frame.flags.c_contiguous
        before = frame.copy()
        frame[:] = 0
        assert np.array_equal(render_rgb(game, state, look=look), before)


def owners_seen(game, state, look):
    """Whose colour each cell shows, or `EMPTY`; looked up off the lines, dots and crossings."""
    frame = render_rgb(game, state, look=look)
    empty = render_rgb(game, base.new_state(game), look=look)
    places = (cell_centers(game, look) + 0.18 * look.cell_size).astype(int)
    paints = paints_of(look.theme, game.style)
    seen = []
    for x, y in places:
        colors = np.array([paints["stone-0"], paints["stone-1"], empty[y, x]], int)
        distances = np.abs(colors - frame[y, x]).sum(axis=1)
        seen.append((0, 1, base.EMPTY)[int(distances.argmin())])
    return seen


@pytest.mark.parametrize("theme", THEMES)
@over_games
def test_every_cell_shows_whose_it_is(game, theme):
    for state in random_states(game, seed=5)[:-1]:  # at the end marks lie over the stones
        owners = base.cell_owners(game, state).ravel().tolist()
        assert owners_seen(game, state, Look(theme, cell_size=40)) == owners


@pytest.mark.parametrize("cell_size", [11, 12])
@over_games
def test_a_stone_changes_its_cell_and_nothing_else(game, cell_size):
    look = Look(cell_size=cell_size)
    before = render_rgb(game, base.new_state(game), look=look)
    height, width, _ = before.shape
    cells = np.array(
        [[cell_at(game, x + 0.5, y + 0.5, look) for x in range(width)] for y in range(height)]
    )
    for state in random_states(game, seed=6)[1:-1]:
        unmarked = base.clone(game, state)
        unmarked.last_action = base.NO_ACTION
        after = render_rgb(game, unmarked, look=look)
        changed = (after != before).any(axis=2)
        before = after
        if game.action_text(int(state.last_action)) == "swap":
            continue  # the stone has gone from one cell to another
        assert set(cells[changed]) == {game.last_cell(state)}


def cells_that_differ(game, frame, other):
    """The cells on which two frames are not the same."""
    rows, columns = np.nonzero((frame != other).any(axis=2))
    return {cell_at(game, x + 0.5, y + 0.5) for x, y in zip(columns, rows, strict=True)}


@pytest.mark.parametrize(
    ("game", "moves"),
    [
        (tictactoe.new(), "14253"),
        (connect4.new(), "1212121"),
        (gomoku.new(6), "a1 a2 b1 b2 c1 c2 d1 d2 e1"),
        (hex.new(3), "b1 a1 b2 a2 b3"),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_every_stone_that_won_is_marked_and_no_other(monkeypatch, game, moves):
    state = play(game, moves)
    won = game.winning_cells(state)
    marked = render_rgb(game, state)
    monkeypatch.setattr(type(game), "winning_cells", lambda self, state: [])
    assert cells_that_differ(game, marked, render_rgb(game, state)) == set(won)
    unmarked = base.clone(game, state)
    unmarked.last_action = base.NO_ACTION
    frames = render_rgb(game, state), render_rgb(game, unmarked)
    assert cells_that_differ(game, *frames) == {game.last_cell(state)}


def test_games_with_equal_parameters_do_not_share_a_picture():
    game = gomoku.new(3, 3)
    other = hex.new(3)
    assert tuple(game)[:2] == tuple(other)[:2] == tuple(tictactoe.new())
    frames = [render_rgb(each, base.new_state(each)) for each in (tictactoe.new(), game, other)]
    assert len({frame.tobytes() for frame in frames}) == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cell_size": 7}, "got 7"),
        ({"cell_size": 129}, "got 129"),
        ({"cell_size": "large"}, "got 'large'"),
        ({"theme": "pink"}, "got 'pink'"),
    ],
)
def test_what_is_no_look_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        Look(**options)


@pytest.mark.parametrize("style", ["squares", "points", "holes", "hexagons"])
def test_stones_of_the_safe_theme_differ_in_lightness(style):
    paints = paints_of("colorblind", style)
    first, second = (np.dot(paints[f"stone-{n}"], (0.299, 0.587, 0.114)) for n in (0, 1))
    assert abs(first - second) > 80  # of 255


def test_without_coordinates_boards_with_and_without_them_look_alike(monkeypatch):
    game = gomoku.new(6)
    bare = render_rgb(game, base.new_state(game), look=Look(coordinates=False))
    assert bare.shape < render_rgb(game, base.new_state(game)).shape
    monkeypatch.setattr(type(game), "labels", lambda self: ([], []))
    assert np.array_equal(bare, render_rgb(game, base.new_state(game)))


# ---- cells under a point -------------------------------------------------------------------------


@pytest.mark.parametrize("cell_size", [8, 31, 48])
@pytest.mark.parametrize("game", [*GAMES, hex.new(19), gomoku.new(20)], ids=repr)
def test_cell_at_is_the_inverse_of_cell_centers(game, cell_size):
    look = Look(cell_size=cell_size)
    centers = cell_centers(game, look)
    height, width, _ = render_rgb(game, base.new_state(game), look=look).shape
    assert centers.shape == (game.rows * game.columns, 2)
    assert (centers > 0).all()
    assert (centers < (width, height)).all()
    for cell, (x, y) in enumerate(centers):
        assert cell_at(game, x, y, look) == cell
        assert cell_at(game, x + 0.3 * cell_size, y - 0.2 * cell_size, look) == cell


@over_games
def test_beyond_the_board_there_is_no_cell(game):
    height, width, _ = render_rgb(game, base.new_state(game)).shape
    for x, y in ((0, 0), (width, 0), (0, height), (width, height), (-1000, 5), (5, 1e6)):
        assert cell_at(game, x, y) is None


def test_the_tips_of_hexagons_reach_between_the_cells_above():
    game = hex.new(3)
    x, y = cell_centers(game)[game.parse_action("b2")]  # its tip is 28 pixels up
    above = [cell_at(game, x + right, y - 27) for right in (-20, 0, 20)]
    assert above == [game.parse_action(move) for move in ("b1", "b2", "c1")]
    x, y = cell_centers(game)[game.parse_action("b1")]
    assert [cell_at(game, x, y - up) for up in (27, 29)] == [1, None]
    assert cell_at(game, x + 20, y - 27) is None


# ---- without a window ----------------------------------------------------------------------------


def test_all_but_the_window_works_without_pygame():
    code = """
import sys
sys.modules["pygame"] = None
from hexenv.games import base, hex
from hexenv.render.ansi import render_text
from hexenv.render.rgb import render_rgb
from hexenv.render.window import Window
game = hex.new(3)
state = base.new_state(game)
print(render_text(game, state).splitlines()[-1], render_rgb(game, state).shape[2])
try:
    Window("test", 30)
except ImportError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.splitlines() == [
        "X to play (ply 0) 3",
        f'render_mode "human" needs pygame: {how_to_install("human")}',
    ]
