"""Proofs of who wins in Hex: those of the solver are accepted, damaged ones refused."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from environments import JIT
from hex_oracles import brute_force, proven_winner, random_bits

from agents.core import files
from agents.knowledge.hex import solve_openings as openings
from agents.knowledge.hex.check_proof import check_proof, main
from agents.knowledge.hex.proofs import write_proof
from agents.knowledge.hex.solver import HexSolver
from agents.knowledge.hex.solver_table import load_table, new_table, save_table
from agents.solvers.questions import Clock
from hexenv.games import hex

needs_compiler = pytest.mark.compiled(only=True)
POSITIONS = Path(__file__).parents[1] / "agents" / "arena" / "positions"


def solver_of(rows, columns):
    return HexSolver(hex.new((rows, columns)), 1 << 12, bool(JIT))


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
    tool, path = solver_of(size, size), tmp_path / "proof.jsonl"
    for cell in cells:
        winner, nodes = write_proof(tool, (1 << cell, 0), 1, path, Clock())
        head = check_proof(path)
        assert (head["winner"], head["nodes"]) == (winner, nodes)
        assert head["stones"] == [f"{1 << cell:x}", "0"]


@pytest.mark.compiled
@pytest.mark.parametrize(("rows", "columns"), [(3, 4), (5, 3)])
def test_the_proofs_of_random_positions_are_accepted(tmp_path, rows, columns):
    winner, rng = brute_force(rows, columns), np.random.default_rng(1)
    proven = proven_winner(rows, columns, tmp_path / "proof.jsonl", bool(JIT))
    for _ in range(30 if JIT else 5):
        position = random_bits(rng, rows * columns, 2, 11)
        assert proven(*position) == winner(*position)


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("size", [7, 8, 9])
def test_the_solved_positions_of_the_package_are_proven(tmp_path, size):
    """One winning and one losing move of some of them."""
    game, proven = hex.new(size), proven_winner(size, size, tmp_path / "proof.jsonl")
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
            assert (proven(*stones, 1 - mover) == mover) == wins


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
    assert openings.FORMAT.read_json(path, size=3) == found
    assert found["winner"] == "black"
    assert check_proof(tmp_path / "b2.proof.jsonl")["winner"] == 0
    with pytest.raises(ValueError, match="expected size 4, got 3"):
        openings.FORMAT.read_json(path, size=4)
    assert openings.solve_opening(6, 12, tmp_path, 0.0, 1 << 12, False) is None
    assert not (tmp_path / "a3.json").exists()


def out_of_time(*given):
    """In place of a search or a proof; larger boards would take long."""
    given[-1].count(3)
    raise TimeoutError


def test_what_was_spent_is_saved_when_the_time_is_over(tmp_path, monkeypatch):
    def run():
        return openings.solve_opening(3, 0, tmp_path, None, 1 << 10, False)

    file = openings.table_file(tmp_path, "a1")
    with monkeypatch.context() as patch:
        patch.setattr(HexSolver, "solve", out_of_time)
        assert run() is run() is None
    solver = openings.kept_solver(3, 1 << 10)
    positions, seconds = openings.SavingClock(solver, file, None, 1).before
    assert positions == 6
    assert seconds > 0
    assert run()["positions"] >= 6
    assert not file.exists()
    file.write_bytes(b"foreign")
    with pytest.raises(ValueError, match=r"damaged .*a1\.table\.npz"):
        run()
    assert file.read_bytes() == b"foreign"
    for about in ({}, {"positions": None, "seconds": 1}, {"positions": 1, "seconds": "x"}):
        save_table(file, solver.nodes.table, 3, 3, about)
        with pytest.raises(ValueError, match=r"a1\.table\.npz: expected .* positions and seconds"):
            run()


def test_the_command_goes_on_after_a_damaged_table_and_wants_the_folder_alone(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(  # in this process
        openings, "ProcessPoolExecutor", lambda *_: ThreadPoolExecutor(1)
    )
    openings.kept_solver.cache_clear()
    openings.table_file(tmp_path, "b2").write_bytes(b"foreign")
    arguments = ["--size", "3", "--to", str(tmp_path), "--entries", "1024"]
    said = CliRunner().invoke(openings.solve_openings, arguments)
    assert said.exit_code == 0, said.output
    lines = said.output.splitlines()
    assert lines[0].startswith(
        "b2: expected hexenv table of the Hex solver of version 1, got a damaged "
    )
    assert len(lines) == 5
    assert sum(" wins; " in line for line in lines) == 4
    assert len([*tmp_path.glob("*.json")]) == 4
    assert [each.name for each in tmp_path.glob("*.npz")] == ["b2.table.npz"]
    # Without its proof, a move is not done, and its table stays.
    with monkeypatch.context() as patch:
        patch.setattr(openings, "write_proof", out_of_time)
        said = CliRunner().invoke(openings.solve_openings, [*arguments, "--proofs"])
    assert said.output.count("not done within") == 4
    assert len([*tmp_path.glob("*.npz")]) == 5
    CliRunner().invoke(openings.solve_openings, [*arguments, "--proofs"])
    assert [each.name for each in tmp_path.glob("*.npz")] == ["b2.table.npz"]
    if files.fcntl is not None:
        with files.locked(tmp_path, "nobody"):
            said = CliRunner().invoke(openings.solve_openings, arguments)
        assert said.exit_code == 1
        assert "expected a folder in which no other process solves openings" in said.output


def fresh_run(folder, size, move, **options):
    """As of a new process."""
    openings.kept_solver.cache_clear()
    return openings.solve_opening(size, move, folder, None, 1 << 14, False, **options)


@needs_compiler
def test_a_run_that_was_stopped_goes_on_with_what_it_has_saved(tmp_path, monkeypatch):
    size, move = 6, 12
    whole = fresh_run(tmp_path, size, move)
    (tmp_path / "stopped").mkdir()
    stopped, counted = tmp_path / "stopped", []
    count = openings.SavingClock.count

    def stop(clock, nodes):
        count(clock, nodes)
        counted.append(nodes)
        if sum(counted) >= whole["positions"] // 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(openings.SavingClock, "count", stop)
        with pytest.raises(KeyboardInterrupt):
            fresh_run(stopped, size, move, save_every=0.0)
    (file,) = stopped.iterdir()
    assert file == openings.table_file(stopped, whole["move"])
    done = sum(counted)
    found = fresh_run(stopped, size, move)
    assert found["winner"] == whole["winner"]
    # The path to where it was is looked at again, as positions that are not left yet have no entry.
    assert found["positions"] - done < 0.7 * whole["positions"]
    assert found["positions"] >= done
    assert not file.exists()


def test_tables_are_read_into_larger_and_smaller_ones(tmp_path):
    path, tool = tmp_path / "table.npz", solver_of(4, 4)
    expected = [tool.solve(1 << cell, 0, 1, Clock())[0] for cell in range(16)]
    save_table(path, tool.nodes.table, 4, 4, {"move": "a1"})
    for entries, most in ((1 << 12, 16), (1 << 14, 16), (8, None)):
        other, clock = HexSolver(hex.new(4), entries, bool(JIT)), Clock()
        assert load_table(path, other.nodes.table, 4, 4)["move"] == "a1"
        assert [other.solve(1 << cell, 0, 1, clock)[0] for cell in range(16)] == expected
        assert most is None or clock.nodes <= most
    with np.load(path) as archive:
        arrays = dict(archive)
    for name, damaged in (
        ("efforts", arrays["efforts"] * 0),
        ("movers", arrays["movers"] + 2),
        ("moves", arrays["moves"] + 16),
        ("cells", arrays["cells"][:-1]),
        ("numbers", arrays["numbers"].astype(np.int64)),
        ("about", np.zeros(3, np.uint8)),
        ("stones", arrays["stones"] | 1),
        ("stones", arrays["stones"] | np.array([[1 << 16], [0]])),
        ("cells", arrays["cells"] | 1 << 16),
        ("cells", arrays["cells"] | np.iinfo(np.int64).min),
        ("excluded", arrays["excluded"] | 1 << 62),
    ):
        np.savez(path, **arrays | {name: damaged})
        with pytest.raises(ValueError, match=r"expected (a saved|hexenv) table"):
            load_table(path, tool.nodes.table, 4, 4)
    np.savez(path, **arrays)
    with pytest.raises(ValueError, match="expected rows 5, got 4"):
        load_table(path, new_table(25, 1 << 10), 5, 5)
