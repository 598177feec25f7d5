"""Proofs of wins in Gomoku: what is found holds by the rules, and what is broken is refused."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from agents.knowledge.gomoku import proofs
from agents.knowledge.gomoku.check_proof import Board, Checker, ProofError, check_proof, main
from agents.knowledge.gomoku.proofs import Prover, write
from agents.knowledge.gomoku.threats import vcf
from hexenv import gomoku_v0
from hexenv.games import gomoku, notation

WON = {
    "e5 a1 f5 b1 g5 c9": 9,  # by fours
    "e5 a1 e6 i9 f5 a9": 9,  # by a three
    "h8 a1 i9 o15 h9 a15": 15,
    "h8 g8 i9 g9 h10 a1": 15,  # by quiet moves as well
}
"""Positions in which who moves wins, with the sizes of their boards."""


@pytest.fixture(scope="module")
def provers():
    return {size: Prover(gomoku.new(board_size=size), budget=4_000, tries=1) for size in (9, 15)}


def cells(prover, text):
    return list(notation.parse_moves(prover.rules, text))


@pytest.mark.slow
@pytest.mark.compiled(only=True)
@pytest.mark.parametrize(("moves", "size"), WON.items())
def test_what_is_proven_holds_against_every_answer(provers, moves, size):
    prover = provers[size]
    played = cells(prover, moves)
    found = prover.find(played, quiet=0)
    assert found is not None
    Checker(size, size).check(played, found)


@pytest.mark.slow
@pytest.mark.compiled(only=True)
def test_nothing_is_proven_where_the_other_side_wins(provers):
    prover = provers[9]
    for text in ("e5 a1 f5 b1 g5 c9 i1", "e5 e6", "a1 e5 a9 f5 i9 g5 i1 h5"):
        assert prover.find(cells(prover, text), quiet=0) is None


@pytest.mark.slow
@pytest.mark.compiled(only=True)
def test_a_change_of_any_number_is_noticed_or_wins_as_well(provers):
    prover = provers[15]
    played = cells(prover, "h8 a1 i9 o15 g9 a15")
    found = prover.find(played, quiet=0)
    refused = 0
    for place in range(len(found)):
        changed = [*found[:place], found[place] + 1, *found[place + 1 :]]
        try:
            Checker(15, 15).check(played, changed)
        except ProofError:
            refused += 1
    assert refused > 0.9 * len(found)


@pytest.mark.slow
@pytest.mark.compiled(only=True)
def test_a_folder_of_proofs_is_continued_and_read(provers, tmp_path, capsys):
    prover = provers[9]
    played = cells(prover, "e5 a1 e6 i9 f5 a9")
    assert write(prover, tmp_path, played, 0)
    (path,) = tmp_path.iterdir()
    kept = path.read_bytes()
    assert write(prover, tmp_path, played, 0)
    assert path.read_bytes() == kept
    assert main([str(path)]) == 0
    assert "wins" in capsys.readouterr().out
    with pytest.raises(ValueError, match="rows"):
        write(provers[15], tmp_path, cells(provers[15], "e5 a1 e6 i9 f5 a9"), 0)
    for key, value in (("strategy", [1, 0]), ("moves", [1, 1]), ("rows", 99), ("strategy", "no")):
        path.write_text(json.dumps({**json.loads(kept), key: value}))
        with pytest.raises(ValueError, match="no proof"):
            check_proof(path)
    assert main([str(path), str(tmp_path / "none.json")]) == 1
    path.write_text(json.dumps({**json.loads(kept), "strategy": None, "quiet": -1}))
    assert main([str(path)]) == 0
    assert "nothing" in capsys.readouterr().out
    assert write(prover, tmp_path, played, 0)  # with more quiet moves it is tried again


@pytest.mark.slow
@pytest.mark.compiled(only=True)
def test_a_prover_for_both_colours(provers):
    prover, rng = provers[9], np.random.default_rng(4)
    found = 0
    for _ in range(40):
        moves = rng.choice(81, int(rng.integers(8, 14)), replace=False).tolist()
        try:
            strategy = prover.find(moves, quiet=0)
        except ValueError:  # the game has ended on the way
            continue
        if strategy is not None:
            Checker(9, 9).check(moves, strategy)
            found += 1
    assert found > 3


def test_other_rules_are_refused():
    for rules in (gomoku.new(9, rule="standard"), gomoku.new((9, 10)), gomoku.new(9, connect=4)):
        with pytest.raises(ValueError, match="freestyle"):
            Prover(rules)


@pytest.mark.slow
@pytest.mark.compiled(only=True)
def test_the_command_says_how_far_it_came(tmp_path):
    moves = "e5 a1 f6 i9"  # two stones that are far from the other's
    arguments = [str(tmp_path), "--moves", moves, "--size", "9", "--quiet", "0", "--seconds", "5"]
    shown = CliRunner().invoke(proofs.main, arguments)
    assert shown.exit_code == 0, shown.output
    assert "answers are proven to lose" in shown.output


@pytest.mark.parametrize(
    "strategy",
    [
        [1, 0],  # no five
        [0, 2, 0, 0],  # no answer to any answer
        [0, 2, 1, 1, 80, 80, 1, 2],  # a line that does not win, and an answer on it
        [0, 40, 0, 0],  # on a stone
        [3, 2, 7, 6],  # the answer is not forced
        [],
    ],
)
def test_what_proves_nothing_is_refused(strategy):
    with pytest.raises(ProofError):
        Checker(9, 9).check([40, 0, 41, 8, 42, 72], strategy)


def test_the_last_cell_of_a_board_wins_nothing():
    checker = Checker(5, 5)
    rows = ("XXOOX", "OOXXO", "XXOOX", "OOXXO", "XXOO.")  # no five; X is to move
    order = [[i for i, stone in enumerate("".join(rows)) if stone == side] for side in "XO"]
    moves = [cell for pair in zip(*order, strict=True) for cell in pair]
    with pytest.raises(ProofError, match="full"):
        checker.check(moves, [0, 24, 0, 0])


def test_the_board_counts_as_the_rules_do():
    env = gomoku_v0.env(board_size=9)
    env.reset(options={"moves": "e5 a1 f5 b1 g5 c9"})
    board, rules = Board(9, 9), env.unwrapped.game
    for ply, cell in enumerate(env.unwrapped.actions):
        board.put(ply % 2, cell)
    line = vcf(env, route="interpreted")
    assert line is not None
    assert board.line_wins(0, line)
    assert not board.line_wins(0, line[:-1])
    assert not board.line_wins(0, line[::-1])
    before = list(board.owner)
    board.put(1, line[1])
    assert not board.line_wins(0, line)
    board.put(1, line[1], -1)
    assert board.owner == before
    assert rules.num_actions() == len(before)
