"""Games with variations: written as SGF and read back, and read as other programs write them."""

import random
from contextlib import nullcontext

import pytest

from agents.core.reading import read_text
from agents.records import StartPosition
from agents.records.record import rules_of
from agents.records.sgf import read_sgf, read_variations, sgf_encodings, write_variations
from agents.records.variations import ROOT, Variation, Variations
from hexenv.games import base

GAMES = [
    ("hex", ("board_size=4", "swap=true")),
    ("hex", ("board_size=3x5",)),
    ("gomoku", ("board_size=6",)),
    ("gomoku", ("board_size=6x8", "rule=renju")),
]
COMMENTS = ["", "", "good", "two\nlines", "a]b\\c:d [e] (;f)", "\u2665"]


def random_tree(game, options, chance):
    """A tree of random moves; a third of them begin with stones on the board."""
    rng = random.Random(chance)
    rules = rules_of(game, options)
    start = base.new_state(rules)
    begins_later = chance % 3 == 0 and "swap=true" not in options
    if begins_later:
        for _ in range(3):
            rules.step(start, rng.choice(base.legal_actions(rules, start)))
    states, moves, known = [start], [], set()
    for _ in range(rng.randrange(40)):
        parent = rng.randrange(ROOT, len(moves)) if rng.random() < 0.4 else len(moves) - 1
        state = base.clone(rules, states[parent + 1])
        if rules.is_terminal(state):
            continue
        action = rng.choice(base.legal_actions(rules, state))
        if (parent, action) in known:
            continue
        known.add((parent, action))
        rules.step(state, action)
        rest = rng.choice(["", "", "TE[1]LB[aa:x]"])
        moves.append(Variation(parent, action, rng.choice(COMMENTS), rest))
        states.append(state)
    stood = StartPosition.of(rules, start) if begins_later else None
    return Variations(game, options, tuple(moves), stood, rng.choice(COMMENTS), "GN[x]")


def contents(tree):
    """All of a tree, in the order in which a file has it."""
    children, found = tree.children(), []
    waiting = [(ROOT, 0)]
    while waiting:
        place, depth = waiting.pop()
        if place != ROOT:
            move = tree.moves[place]
            found.append((depth, move.action, move.comment, move.rest))
        waiting += [(child, depth + 1) for child in reversed(children[place])]
    return tree.game, tree.options, tree.start, tree.comment, tree.rest, found


@pytest.mark.filterwarnings("ignore:game 1 of the SGF")  # that variations are left out
@pytest.mark.parametrize(("game", "options"), GAMES)
def test_trees_come_back_as_they_were(game, options):
    """50 of each game: the same text is written again, and a record is the main line."""
    for chance in range(50):
        tree = random_tree(game, options, chance)
        text = write_variations(tree)
        (found,) = read_variations(text)
        assert found.left_out == ()
        assert contents(found) == contents(tree)
        assert write_variations(found) == text
        main = found.main_line()
        (record,) = read_sgf(text)
        assert (record.actions, record.start) == (main.actions, main.start)


def only(trees):
    (tree,) = trees
    return tree


def test_a_file_of_another_program():
    """Nodes without a move, two comments of a move, properties that nobody here knows."""
    tree = only(
        read_variations(
            "(;GM[4]FF[4]AP[Some Editor:1.0]SZ[15]RU[Renju]PB[Hanako]GC[a game]C[start]\r\n"
            ";B[hh]C[tengen](;W[ig]TR[ig];C[a pause]KO[];B[ii])(;W[hg]C[indirect];B[ig]))"
        )
    )
    assert tree.options == ("rule=renju",)
    assert (tree.comment, tree.rest) == ("start", "PB[Hanako]GC[a game]")
    parents = [move.parent for move in tree.moves]
    assert parents == [ROOT, 0, 1, 0, 3]
    assert [move.comment for move in tree.moves] == ["tengen", "a pause", "", "indirect", ""]
    assert tree.moves[1].rest == "TR[ig]KO[]"
    assert only(read_variations(write_variations(tree))) == tree


def test_a_swap_in_one_variation_alone():
    tree = only(read_variations("(;GM[11]SZ[3];B[a1](;W[swap-pieces];W[b2])(;W[c1]))"))
    assert tree.options == ("board_size=3", "swap=true")
    assert [move.action for move in tree.moves] == [0, 9, 4, 2]
    assert only(read_variations(write_variations(tree))) == tree


@pytest.mark.parametrize(
    ("text", "moves", "why"),
    [
        ("(;GM[11]SZ[3];B[a1](;W[b1])(;W[a1]))", 2, "line 1: illegal"),
        ("(;GM[11]SZ[3];B[a1](;W[b1])(;AB[c3]))", 2, "begins as the main line"),
        ("(;GM[11]SZ[3];B[a1](;W[b1])(;B[c1]))", 2, "expected a move of W"),
        ("(;GM[11]SZ[3];W[a1]LB[a1:x](;B[b1]))", 2, "marks"),
    ],
)
def test_what_cannot_be_read_is_left_out_with_its_reason(text, moves, why):
    tree = only(read_variations(text))
    assert len(tree.moves) == moves
    assert why in tree.left_out[0]


def test_white_begins():
    """Black begins here, so the players and the result change places, and the board is mirrored."""
    tree = only(read_variations("(;GM[11]SZ[3]PB[Ann]PW[Bob]RE[B+Resign];W[b1];B[c1])"))
    assert tree.rest == "PW[Ann]PB[Bob]RE[W+Resign]"
    assert [move.action for move in tree.moves] == [3, 6]


@pytest.mark.parametrize(
    "text",
    [
        "(;GM[11]SZ[3];B[a1](;W[b1])(;W[c1]",
        "(;GM[11]SZ[3];B[z9])",
        "(;GM[11]" + "(;C[x]" * 10_001 + ")" * 10_002,
        "(;GM[11]" + ";" * 100_001 + ")",
        "(;GM[11]" + ";" * 90_000 + "(;C[x])" * 10 + ")",
    ],
)
def test_damaged_and_endless_files_are_refused(text):
    with pytest.raises(ValueError, match="expected"):
        list(read_variations(text))


def test_a_parent_comes_first():
    with pytest.raises(ValueError, match="parent"):
        Variations("hex", (), (Variation(0, 3),))


@pytest.mark.parametrize("number", ["", "GM[1]", "GM[5]"])
def test_a_file_that_names_no_game_of_ours_is_read_as_the_given_one(number):
    text = f"(;{number}SZ[15];B[hh](;W[ig];B[gg])(;W[hg]))"
    with pytest.raises(ValueError, match=r"the game can be given"):
        list(read_variations(text))
    tree = only(read_variations(text, "gomoku"))
    assert [move.parent for move in tree.moves] == [ROOT, 0, 1, 0]
    assert len(tree.left_out) == (number != "")


def test_cells_of_hex_tell_the_game():
    assert only(read_sgf("(\n;B[c1]\n;W[f6])")).game == "hex"


@pytest.mark.parametrize(
    ("named", "used"),
    [("gb2312", "gbk"), ("gb2312", "utf-8"), ("utf-8", "gbk"), ("cp932", "cp932")],
)
def test_encodings_as_other_programs_name_them(named, used, tmp_path):
    comment = "開局" if used == "cp932" else "开局濤" + "㈠"  # the last one is not in GB 2312
    file = tmp_path / "game.sgf"
    file.write_bytes(f"(;GM[4]CA[{named}];B[hh]C[{comment}])".encode(used, "replace"))
    is_wrong = (named, used) in {("gb2312", "utf-8"), ("utf-8", "gbk")}
    with pytest.warns(UserWarning, match="encoding") if is_wrong else nullcontext():
        text = read_text(file, sgf_encodings)
    tree = only(read_variations(text))
    assert [move.action for move in tree.moves] == [7 * 15 + 7]
    assert (tree.moves[0].comment == comment) == ((named, used) != ("utf-8", "gbk"))


def test_many_variations_of_a_long_line_are_refused_at_once():
    text = "(;GM[4]SZ[15]" + ";C[x]" * 20_000 + "(;B[hh])" * 20_000 + ")"
    with pytest.raises(ValueError, match="at most 200000 nodes"):
        list(read_variations(text))
