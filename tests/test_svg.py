"""SVG documents, read back with a parser of XML and compared with the position."""

import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from environments import random_states

from hexenv.games import base, connect4, gomoku, hex, notation, tictactoe
from hexenv.render.geometry import cell_centers
from hexenv.render.look import THEMES, Look, paints_of
from hexenv.render.overlay import Overlay, move_numbers
from hexenv.render.rgb import render_rgb
from hexenv.render.svg import LAYERS, animated_svg, board_svg, render_svg, svg_image, theme_css

GAMES = [tictactoe.new(), connect4.new(4, 5), gomoku.new((6, 8), 4), hex.new((5, 7)), hex.new(3)]
SWAP = hex.new(4, swap=True)
NAMESPACE = "{http://www.w3.org/2000/svg}"

over_games = pytest.mark.parametrize("game", GAMES, ids=repr)


def parsed(text):
    """The document, with the elements of its groups by the class of the group."""
    root = ElementTree.fromstring(text)
    assert root.tag == f"{NAMESPACE}svg"
    groups = {each.get("class"): each for each in root if each.tag == f"{NAMESPACE}g"}
    assert set(groups) == {"board", "cells", "labels", *LAYERS}
    names = {each.get("id") for each in root.iter() if each.get("id")}
    for use in root.iter(f"{NAMESPACE}use"):
        assert use.get("href")[1:] in names
    return root, groups


def placed(group):
    """What is on each cell of a group."""
    uses = (use for each in group for use in each.iter(f"{NAMESPACE}use"))
    return {int(use.get("data-cell")): use.get("href")[1:] for use in uses}


@pytest.mark.parametrize("look", [Look(), Look("dark", 21, coordinates=False)])
@over_games
def test_every_stone_is_where_the_position_has_it(game, look):
    centers = cell_centers(game, look)
    for state in random_states(game, seed=1):
        _, groups = parsed(render_svg(game, state, look=look))
        owners = base.cell_owners(game, state).ravel().tolist()
        assert placed(groups["stones"]) == {
            cell: f"stone-{owner}" for cell, owner in enumerate(owners) if owner != base.EMPTY
        }
        assert placed(groups["cells"]) == dict.fromkeys(range(len(owners)), "cell")
        for layer in ("cells", "stones"):
            for use in groups[layer]:
                place = float(use.get("x")), float(use.get("y"))
                assert place == pytest.approx(centers[int(use.get("data-cell"))], abs=0.01)


@over_games
def test_marks_are_on_the_last_move_and_on_what_won(game):
    for state in random_states(game, seed=2):
        _, groups = parsed(render_svg(game, state))
        last = game.last_cell(state)
        expected = {}
        if last != base.NO_ACTION:
            expected = {last: f"last-{game.owner(state, last)}"}
        assert placed(groups["last"]) == expected
        won = game.winning_cells(state)
        if game.style != "hexagons":
            assert placed(groups["win"]) == dict.fromkeys(won, f"win-{state.winner}")
            continue
        lines = [line.get("points") for line in groups["win"]]
        centers = cell_centers(game)[won] if won else []
        assert len(lines) == (2 if won else 0)
        for line in lines:
            points = [tuple(map(float, pair.split(","))) for pair in line.split()]
            assert points == [pytest.approx(center, abs=0.01) for center in centers]


@pytest.mark.parametrize("look", [Look(), Look("colorblind", 9), Look(coordinates=False)])
@over_games
def test_documents_have_the_size_of_frames(game, look):
    state = random_states(game, seed=3)[2]
    root, groups = parsed(render_svg(game, state, look=look))
    height, width, _ = render_rgb(game, state, look=look).shape
    assert (root.get("width"), root.get("height")) == (str(width), str(height))
    assert root.get("viewBox") == f"0 0 {width} {height}"
    assert root.get("data-size") == str(look.cell_size)
    columns, rows = game.labels()
    texts = [text.text for text in groups["labels"].iter(f"{NAMESPACE}text")]
    shown = set(columns) | set(rows) if look.coordinates and look.cell_size >= 12 else set()
    assert set(texts) == shown


def test_the_title_tells_how_it_stands():
    game = tictactoe.new()
    root, _ = parsed(render_svg(game, notation.play(game, notation.parse_moves(game, "14253"))))
    assert root.find(f"{NAMESPACE}title").text == "tictactoe: X has won (ply 5)"
    assert root.get("role") == "img"


@pytest.mark.parametrize("theme", THEMES)
@over_games
def test_colours_are_properties_that_a_page_may_set(game, theme):
    text = board_svg(game, Look(theme))
    root, _ = parsed(text)
    assert root.get("class") == f"hexenv {game.style} {theme}"
    rule = theme_css(game.style, theme)
    assert rule in text
    found = dict(re.findall(r"--([\w-]+):(#[0-9a-f]{6});", rule))
    paints = paints_of(theme, game.style)
    assert found == {name: f"#{bytes(color).hex()}" for name, color in paints.items()}
    css = root.find(f"{NAMESPACE}style").text
    for each in root.iter():
        for name in re.findall(r"hexenv-(?:fill|line)-([\w-]+)", each.get("class", "")):
            assert f"var(--{name})" in css
            assert found[name] in css  # first, for what knows no properties


@over_games
def test_an_empty_board_has_all_that_a_page_places(game):
    root, groups = parsed(board_svg(game))
    assert [len(groups[layer]) for layer in LAYERS] == [0] * len(LAYERS)
    names = {each.get("id") for each in root.iter(f"{NAMESPACE}g")} - {None}
    kinds = ("stone", "last", "numbered", "plate", "win")
    assert names == {"cell"} | {f"{kind}-{player}" for kind in kinds for player in (0, 1)}
    assert groups["cells"].get("pointer-events") is None
    assert all(groups[layer].get("pointer-events") == "none" for layer in LAYERS)


@over_games
def test_overlays_and_numbers(game):
    states = random_states(game, seed=4)
    state = states[len(states) // 2]
    actions = [int(each.last_action) for each in states[1 : len(states) // 2 + 1]]
    numbers = move_numbers(game, actions)
    values = np.full(game.rows * game.columns, np.nan)
    values[[0, 3, 4]] = 1, -0.5, 0.25
    overlay = Overlay(values, title="a < b")
    _, groups = parsed(render_svg(game, state, overlay=overlay, numbers=numbers))
    circles = list(groups["overlay"].iter(f"{NAMESPACE}circle"))
    discs = {
        int(circle.get("data-cell")): (circle.get("class"), float(circle.get("fill-opacity")))
        for circle in circles
    }  # of two on one cell the upper one
    assert discs == {
        0: ("hexenv-fill-high", 0.88),
        3: ("hexenv-fill-low", 0.44),
        4: ("hexenv-fill-high", 0.22),
    }
    texts = [text.text for text in groups["overlay"].iter(f"{NAMESPACE}text")]
    assert texts == ["1", "-0.5", "0.25"]
    assert groups["overlay"].find(f"{NAMESPACE}title").text == "a < b"
    written = [int(text.text) for text in groups["numbers"].iter(f"{NAMESPACE}text")]
    assert written == numbers[numbers > 0].tolist()
    (last,) = placed(groups["last"]).values()
    assert last.startswith("numbered-")


def test_an_image_is_told_by_its_title():
    image = svg_image(board_svg(tictactoe.new()))
    assert image.startswith('<img alt="tictactoe" src="data:image/svg+xml;base64,')


# ---- documents that move -------------------------------------------------------------------------


def shown_at(element, time):
    """Whether an element is shown at a time, as its animation says."""
    animation = element.find(f"{NAMESPACE}animate")
    if animation is None:
        return True
    total = float(animation.get("dur")[:-1])
    key_times = [float(part) for part in animation.get("keyTimes").split(";")]
    values = animation.get("values").split(";")
    assert len(values) == len(key_times)
    assert key_times == sorted(key_times)
    assert key_times[0] == 0
    current = [
        value for value, begin in zip(values, key_times, strict=True) if begin <= time / total
    ]
    return current[-1] == "visible"


@pytest.mark.parametrize("game", [*GAMES, SWAP], ids=repr)
def test_at_every_moment_the_position_is_shown(game):
    states = random_states(game, seed=5)
    if game is SWAP:  # the stone moves, and has another owner
        states = [notation.play(game, actions) for actions in ([], [1], [1, 16], [1, 16, 3])]
    seconds = [0.5] * (len(states) - 1) + [3]
    _, groups = parsed(animated_svg(game, states, seconds=seconds))
    for ply, state in enumerate(states):
        _, expected = parsed(render_svg(game, state))
        for layer in ("stones", "last", "win"):
            shown = [each for each in groups[layer] if shown_at(each, 0.5 * ply + 0.25)]
            found = {}
            for each in shown:
                is_use = each.tag == f"{NAMESPACE}use"
                found |= placed([each] if is_use else each)
            assert found == placed(expected[layer])


def test_where_nothing_moves_the_end_is_shown():
    game = hex.new(3)
    states = random_states(game, seed=6)
    _, groups = parsed(animated_svg(game, states, seconds=[1] * len(states)))
    visible = [each for each in groups["stones"] if each.get("visibility") != "hidden"]
    assert len(visible) == states[-1].ply
    assert [each.get("visibility") for each in groups["last"]] == (
        ["hidden"] * (states[-1].ply - 1) + ["visible"]
    )
