"""Proofs of who wins in Hex: those of the solver are accepted, damaged ones refused."""

import json
from pathlib import Path

import numpy as np
import pytest
from environments import JIT
from hex_oracles import brute_force, random_bits

from agents.knowledge.hex import solve_openings as openings
from agents.knowledge.hex.check_proof import check_proof, main
from agents.knowledge.hex.proofs import write_proof
from agents.knowledge.hex.solver import HexSolver
from agents.solvers.questions import Clock
from hexenv.games import hex

needs_compiler = pytest.mark.compiled(only=True)
POSITIONS = Path(__file__).parents[1] / "agents" / "arena" / "positions"


def solver_of(rows, columns):
    return HexSolver(hex.new((rows, columns)), 1 << 12, bool(JIT))


def all_accepted(size, path, cells):
    tool = solver_of(size, size)
    for cell in cells:
        winner, nodes = write_proof(tool, (1 << cell, 0), 1, path, Clock())
        head = check_proof(path)
        assert (head["winner"], head["nodes"]) == (winner, nodes)
        assert head["stones"] == [f"{1 << cell:x}", "0"]


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("size", "cells"),
    [
        (3, range(9)),
        pytest.param(4, range(16), marks=needs_compiler),
        pytest.param(5, (0, 4, 12), marks=needs_compiler),
        pytest.param(5, range(25), marks=[needs_compiler, pytest.mark.slow]),
    ],
)
def test_the_proofs_of_first_moves_are_accepted(tmp_path, size, cells):
    all_accepted(size, tmp_path / "proof.jsonl", cells)


@pytest.mark.compiled
@pytest.mark.parametrize(("rows", "columns"), [(3, 4), (5, 3)])
def test_the_proofs_of_random_positions_are_accepted(tmp_path, rows, columns):
    winner, tool, rng = (
        brute_force(rows, columns),
        solver_of(rows, columns),
        np.random.default_rng(1),
    )
    for _ in range(30 if JIT else 5):
        first, second, mover = random_bits(rng, rows * columns, 2, 11)
        write_proof(tool, (first, second), mover, tmp_path / "proof.jsonl", Clock())
        assert check_proof(tmp_path / "proof.jsonl")["winner"] == winner(first, second, mover)


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("size", [7, 8, 9])
def test_the_solved_positions_of_the_package_are_proven(tmp_path, size):
    """One winning and one losing move of some of them."""
    game, tool = hex.new(size), HexSolver(hex.new(size))
    text = (POSITIONS / f"hex_{size}x{size}.jsonl").read_text()
    for line in text.splitlines()[::10]:
        known = json.loads(line)
        if known["empties"] > 34:
            continue
        moves = [game.parse_action(move) for move in known["moves"]]
        winning = {game.parse_action(move) for move in known["winning"]}
        free = set(range(size * size)) - set(moves)
        for move, wins in ((min(winning), True), (min(free - winning), False)):
            played, mover = [*moves, move], len(moves) & 1
            stones = [sum(1 << cell for cell in played[player::2]) for player in (0, 1)]
            write_proof(tool, (stones[0], stones[1]), 1 - mover, tmp_path / "proof.jsonl", Clock())
            assert (check_proof(tmp_path / "proof.jsonl")["winner"] == mover) == wins


@pytest.fixture(scope="module")
def proof(tmp_path_factory):
    """The lines of a proof that white wins on 4x4 after a3."""
    path = tmp_path_factory.mktemp("proof") / "proof.jsonl"
    write_proof(solver_of(4, 4), (1 << 8, 0), 1, path, Clock())
    return path.read_text().splitlines()


def refused(tmp_path, lines, message=""):
    path = tmp_path / "damaged.jsonl"
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(ValueError, match=rf"damaged\.jsonl:\d+: no proof: .*{message}"):
        check_proof(path)


def test_a_proof_of_the_other_player_or_of_less_is_refused(tmp_path, proof):
    head = json.loads(proof[0])
    for change in (
        {"winner": 0},
        {"to_move": 0},
        {"move": None},
        {"move": 8},
        {"move": 16},
        {"move": -1},
        {"move": "a1"},
        {"stones": ["0", "0"], "move": 8},
        {"stones": ["100", "100"]},
        {"stones": ["10000", "0"]},
        {"stones": ["100"]},
        {"rows": 3},
        {"columns": 5},
        {"rows": 10**9},
        {"nodes": len(proof)},
        {"version": 2},
        {"format": "hexenv record"},
    ):
        refused(tmp_path, [json.dumps(head | change), *proof[1:]])
    for name in head:
        fewer = {key: value for key, value in head.items() if key != name}
        refused(tmp_path, [json.dumps(fewer), *proof[1:]])


def test_a_proof_without_one_of_its_lines_is_refused(tmp_path, proof):
    for number in range(1, len(proof)):
        lines = proof[:number] + proof[number + 1 :]
        refused(tmp_path, lines, "expected .* nodes")
        head = json.loads(proof[0]) | {"nodes": len(lines) - 1}
        refused(tmp_path, [json.dumps(head), *lines[1:]])
    refused(tmp_path, [])
    refused(tmp_path, ["[]"])


def test_a_node_that_does_not_hold_is_refused(tmp_path, proof):
    """Without one of two replies, with a reply below, on a taken cell; and what is no node."""
    damaged = 0
    for number in range(1, len(proof)):
        stones, carrier, *replies = json.loads(proof[number])
        for i in range(0, len(replies), 2):
            fewer = [stones, carrier, *replies[:i], *replies[i + 2 :]]
            later = [stones, carrier, *replies[: i + 1], number, *replies[i + 2 :]]
            taken = [stones, carrier, *replies[:i], 8, *replies[i + 1 :]]
            for line in (later, taken) if len(replies) > 4 else (fewer, later, taken):
                lines = [*proof[:number], json.dumps(line), *proof[number + 1 :]]
                refused(tmp_path, lines)
                damaged += 1
        for line in ([stones], [stones, carrier, 1], [stones, carrier, 0, 0.5], [1, 2], {}):
            refused(tmp_path, [*proof[:number], json.dumps(line), *proof[number + 1 :]])
    assert damaged > 20


def test_the_command_says_what_is_proven(tmp_path, proof, capsys):
    (tmp_path / "proof.jsonl").write_text("\n".join(proof))
    main([str(tmp_path / "proof.jsonl")])
    assert "player 1 wins, player 1 being to move" in capsys.readouterr().out


def test_openings_are_solved_in_files_once(tmp_path):
    game = hex.new(3)
    moves = openings.openings(game)
    assert len(moves) == 5
    assert moves[0] == 4
    found = openings.solve_opening(3, 4, tmp_path, None, 1 << 12, True)
    path = tmp_path / "b2.json"
    assert openings.solved_opening(path, 3) == found == json.loads(path.read_text())
    assert found["winner"] == "black"
    assert check_proof(tmp_path / "b2.proof.jsonl")["winner"] == 0
    with pytest.raises(ValueError, match="got another file"):
        openings.solved_opening(path, 4)
    assert openings.solve_opening(6, 12, tmp_path, 0.0, 1 << 12, False) is None
    assert not (tmp_path / "a3.json").exists()
