"""Edge templates of Hex: each is proven, none has a cell too many, and they are all there are."""

import json

import pytest
from environments import JIT
from hex_oracles import brute_force

from agents.knowledge.hex import edge_templates as templates
from agents.knowledge.hex.check_proof import bits_of, check_proof
from agents.knowledge.hex.h_search import new_grid
from agents.knowledge.hex.proofs import write_proof
from agents.knowledge.hex.solver import HexSolver
from agents.solvers.questions import Clock
from hexenv.games import hex

needs_compiler = pytest.mark.compiled(only=True)


def positions():
    """The positions that are in the file: rows, columns, the stones of both players."""
    for line in templates.FILE.read_text(encoding="utf-8").splitlines()[1:]:
        head = json.loads(line)[0]
        yield head["rows"], head["columns"], [int(stones, 16) for stones in head["stones"]]


def test_each_template_is_proven():
    found = templates.load_templates()
    assert [(each.row, len(each.steps)) for each in found] == [
        (2, 2), (3, 8), (3, 8), (3, 10), (4, 19), (4, 19), (4, 22),
    ]  # fmt: skip
    assert set(found[0].steps) == {(-1, 0), (-1, 1)}  # the bridge


def test_the_mirror_image_of_a_template_is_one():
    found = {(each.row, frozenset(each.steps)) for each in templates.load_templates()}
    assert len(found) == 7
    assert found == {(row, frozenset((i, -i - j) for i, j in steps)) for row, steps in found}


def test_small_templates_by_all_games():
    """The carrier wins, and does not without any of its cells."""
    for rows, columns, (own, other) in positions():
        everything = (1 << rows * columns) - 1
        carrier = everything & ~own & ~other
        if carrier.bit_count() > 10:
            continue
        winner = brute_force(rows, columns)
        assert winner(own, other, 1) == 0
        for cell in bits_of(carrier):
            assert winner(own, other | cell, 1) == 1


@needs_compiler
def test_no_cell_can_be_taken_away_from_a_template(tmp_path):
    """By a proof of the opponent's win for each cell."""
    checked = 0
    for rows, columns, (own, other) in positions():
        solver = HexSolver(hex.new((rows, columns)), 1 << 12, bool(JIT))
        for cell in bits_of((1 << rows * columns) - 1 & ~own & ~other):
            write_proof(solver, (own, other | cell), 1, tmp_path / "proof.jsonl", Clock())
            assert check_proof(tmp_path / "proof.jsonl")["winner"] == 1
            checked += 1
    assert checked == 2 + 8 + 8 + 10 + 19 + 19 + 22


@needs_compiler
def test_the_file_has_what_the_search_finds():
    found = []
    for row in templates.ROWS:
        finder = templates.Finder(row, templates.REACH)
        found += [list(finder.position(carrier)) for carrier in finder.find()]
    assert found == [stones for _, _, stones in positions()]


def test_the_places_on_a_board_are_the_same_from_all_sides():
    """By half a turn, and with the players and the rows and columns exchanged."""
    rows, columns = 5, 9
    size, found = rows * columns, []
    for grid in (
        templates.with_templates(new_grid(rows, columns), rows, columns),
        templates.with_templates(new_grid(columns, rows), columns, rows),
    ):
        sets = [
            {cell for cell in range(size) if int(words[0]) >> cell & 1}
            for words in grid.template_carriers
        ]
        found.append({
            (int(player), int(cell), int(side) - size, frozenset(cells))
            for (player, cell, side), cells in zip(grid.template_ends, sets, strict=True)
        })  # fmt: skip
    places, other = found
    turned = {
        (player, size - 1 - cell, 1 - side, frozenset(size - 1 - each for each in cells))
        for player, cell, side, cells in places
    }
    assert turned == places

    def across(cell):
        return cell % columns * rows + cell // columns

    assert other == {
        (1 - player, across(cell), side, frozenset(map(across, cells)))
        for player, cell, side, cells in places
    }
    assert {player for player, *_ in places} == {0, 1}
    assert (0, columns + 3, 0, frozenset({3, 4})) in places


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda lines: lines[1:], ":1: no edge.*expected format"),
        (lambda lines: [lines[0], lines[2].replace('"10383c"', '"103838"')], ":2:.*no proof"),
        (lambda lines: [lines[0], lines[1].replace('"to_move": 1', '"to_move": 0')], "no edge"),
        (lambda lines: [lines[0], lines[1].replace("f7f7e7", "e7f7e7")], "no edge"),
        (lambda lines: [lines[0], "[]"], ":2:"),
    ],
)
def test_refuses_what_proves_nothing(tmp_path, change, words):
    path = tmp_path / "templates.jsonl"
    lines = templates.FILE.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join(change(lines)) + "\n", encoding="utf-8")
    with pytest.raises(ValueError, match=words):
        templates.load_templates(path)
