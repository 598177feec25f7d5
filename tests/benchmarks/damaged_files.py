"""Damaged and hostile files of every kind that is read: what they raise, and what they cost.

    NUMBA_DISABLE_JIT=1 python tests/benchmarks/damaged_files.py --count 10000 --seed 1
    NUMBA_DISABLE_JIT=1 python tests/benchmarks/damaged_files.py --kind book --kind tree

A file is a good one with a few bytes, numbers, parts, members or shapes changed, or one that
unpacks to far more than it is. Loading may succeed, or raise `ValueError` or `OSError`. All files
of a kind are loaded in one process, whose memory in use at its peak, beyond that at its start, is
told; times are of the processor.
"""

import argparse
import io
import json
import multiprocessing
import re
import resource
import shutil
import struct
import sys
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from agents import UCT
from agents.arena import Tournament, run_tournament
from agents.arena.accuracy import load_positions
from agents.arena.results import ResultsFile, read_results
from agents.arena.schedule import Schedule
from agents.core.reading import read_object, read_objects
from agents.knowledge.connect4.book import load_book, new_book, save_book
from agents.knowledge.gomoku.board import load_points
from agents.learning.configuration import NetworkOptions, as_dict, make
from agents.learning.data import playing
from agents.learning.data.folder import load_positions as load_data
from agents.learning.data.folder import save_positions
from agents.learning.data.parquet import load_parquet, save_parquet
from agents.learning.files import load_checkpoint, load_network, save_checkpoint, save_network
from agents.learning.networks import new_network
from agents.learning.progress import Anchors, Rating, Score, read_ratings
from agents.learning.replay import Games, save_games
from agents.learning.replay import load_games as load_training_games
from agents.records import GameRecord, Search, load_record, save_record
from agents.records.formats import load_games
from agents.records.formats import save_games as save_records
from hexenv import tictactoe_v0
from hexenv.games import connect4, tictactoe
from hexenv.learners.pool import OpponentPool

MOST_SECONDS, MOST_BYTES = 2.0, 500_000_000
LONGEST = 60
"""Seconds after which a file is taken to have no end."""
RULES = tictactoe.new()
WON = (0, 3, 1, 4, 2)
"""A game of TicTacToe."""


# ---- what is loaded ------------------------------------------------------------------------------


class Kind(NamedTuple):
    """A kind of file."""

    name: str  # of a file, for the suffix
    write: Callable[[Path], Any]  # makes a good one
    load: Callable[[Path], Any]


def write_json(value):
    return lambda path: path.write_text(json.dumps(value), encoding="utf-8")


def write_record(path):
    searches = tuple(
        Search(0.5, 10, 0.25, {action: 7}, {action: 0.5}, {action: 1.0}, (action,))
        for action in WON
    )
    seconds = (0.5, 1.0, 0.25, 0.125, 2.0)
    save_record(GameRecord.of("tictactoe", (), WON, seconds=seconds, searches=searches), path)


def write_moves(game, options, actions):
    return lambda path: save_records([GameRecord.of(game, options, actions)], path)


TOURNAMENT = Tournament("tictactoe", ["random", "greedy"], pairs=2, opening_plies=0)


def open_results(path):
    read_results(path, TOURNAMENT)
    ResultsFile(path, TOURNAMENT, Schedule(TOURNAMENT)).close()


def write_tree(path):
    agent, env = UCT(simulations=20, seed=1), tictactoe_v0.env()
    env.reset()
    agent.act(env)
    agent.save(path)


def use_tree(path):
    agent, env = UCT(simulations=2, seed=1), tictactoe_v0.env()
    agent.load(path)
    env.reset()
    agent.act(env)


def write_book(path):
    scores = {7 * number + 5: number % 5 - 2 for number in range(40)}
    save_book(new_book(connect4.new(4, 4), 4, scores, True), path)


def write_pool(path):
    pool = OpponentPool(["random", ("uct:simulations=2", 0.5)], sampling="pfsp", most=3)
    pool.record("random", wins=3, draws=1)
    with tempfile.TemporaryDirectory() as folder:
        pool.save(folder)
        shutil.copy(Path(folder, "pool.json"), path)


def read_pool(path):
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(path, Path(folder, "pool.json"))
        OpponentPool.load(folder).probabilities()


def write_ratings(path):
    score = Score(wins=1, draws=0, losses=1, distinct=2, score=0.5, low=0.1, high=0.9)
    rating = Rating(100, 12.5, -30.0, None, 0, {"random": score})
    path.write_text(f"{json.dumps(asdict(rating))}\n" * 3)


def write_training_games(path):
    plies, outcomes = np.array([len(WON)], np.int32), np.array([1], np.int8)
    policies, values = np.full((len(WON), 9), 1 / 9, np.float32), np.zeros(len(WON), np.float32)
    games = Games(plies, outcomes, np.array(WON, np.int16), policies, values)
    save_games(path, games, RULES, {"iteration": 1, "first": 0})


def data_positions():
    return playing.Games(playing.Recipe("tictactoe", [], ["uct:simulations=9"])).play(0, 2)


def write_data(path):
    save_positions(path, data_positions(), RULES)


def write_parquet(path):
    save_parquet(path, data_positions(), RULES)


SMALL = {"channels": 2, "blocks": 1, "head_channels": 1, "value_units": 2}


def write_network(path):
    options = NetworkOptions(**SMALL)
    save_network(path, new_network(RULES, options, seed=1), options, ("tictactoe", {}), {"at": 1})


def write_checkpoint(path):
    weights = {"a": torch.zeros(4), "b": torch.arange(6.0).reshape(2, 3)}
    save_checkpoint(path, {"learner": weights, "streams": "[1, 2]", "iteration": 3})


KINDS = {
    "record": Kind("game.json", write_record, load_record),
    "sgf": Kind("game.sgf", write_moves("hex", ("board_size=3",), (4, 0, 1, 3, 7)),
                lambda path: list(load_games(path))),
    "psq": Kind("game.psq", write_moves("gomoku", ("board_size=9",), (40, 41, 31, 50)),
                lambda path: list(load_games(path))),
    "columns": Kind("games.txt", write_moves("connect4", (), (3, 3, 4, 2)),
                    lambda path: list(load_games(path))),
    "results": Kind("results.jsonl", lambda path: run_tournament(TOURNAMENT, path, workers=0),
                    open_results),
    "tournament": Kind("spec.json", write_json(TOURNAMENT.description()),
                       lambda path: Tournament.from_description(read_object(path))),
    "configuration": Kind("config.json",
                          lambda path: write_json(as_dict(make({"game": "hex"})))(path),
                          lambda path: make(read_object(path))),
    "log": Kind("log.jsonl",
                lambda path: path.write_text('{"iteration": 1, "loss": 0.5}\n' * 3),
                read_objects),
    "boards": Kind("boards.json",
                   write_json({"xxoooxxo.": {"to_move": "x", "value": 0, "optimal": [8]}}),
                   load_positions),
    "positions": Kind("positions.jsonl", lambda path: path.write_text(
        '{"moves": "3143", "scores": [3, 11, null, 11, 11, 10, 3], "mistake_possible": true}\n'
        '{"size": 3, "moves": ["a3", "b3"], "to_move": "black", "winning": ["b2"]}\n'
        "4455 1 2 -3 4 x 2 1\n"
    ), load_positions),
    "patterns": Kind("worth.json", write_json({"open_three": 1000, "four": 500}), load_points),
    "tree": Kind("tree.npz", write_tree, use_tree),
    "book": Kind("book.npz", write_book, load_book),
    "games": Kind("games.npz", write_training_games,
                  lambda path: load_training_games(path, RULES)),
    "data": Kind("000000.npz", write_data, lambda path: load_data(path, RULES)),
    "parquet": Kind("000000.parquet", write_parquet, lambda path: load_parquet(path, RULES)),
    "network": Kind("net.safetensors", write_network, load_network),
    "anchors": Kind("anchors.json", Anchors("hex", {"random": 0.0, "greedy": 300.0}).save,
                    Anchors.load),
    "ratings": Kind("ratings.jsonl", write_ratings, lambda path: read_ratings(path.parent)),
    "pool": Kind("pool.json", write_pool, read_pool),
    "checkpoint": Kind("000001.pt", write_checkpoint, load_checkpoint),
}  # fmt: skip


# ---- what is changed in bytes --------------------------------------------------------------------

ODD = [
    b"1e999", b"-1", b"NaN", b"-Infinity", b"9" * 50, b"9" * 5000, b"1e308", b"2147483648",
    b"18446744073709551616", b"1000000000", b"null", b'"x"', b"0.5", b"true", b"[]", b"{}",
    b"-0", b"1e-999", b'"\\ud800"', b"[[1]]", b"100000",
]  # fmt: skip
"""What takes the place of a number."""
DEEP = [b"[" * 300, b"[" * 100_000, b'{"a":' * 100_000, b"[" * 70 + b"]" * 70, b"(" * 5000]
LARGE = [
    b"[]," * 1_000_000,
    b"0," * 3_000_000,
    b'"a",' * 500_000,
    b'{"":0},' * 400_000,
    b"\n" * 2_000_000,
    b"9" * 10**6,
]
SIZES = [0, 1, 0x7FFF, 0xFFFF, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**64 - 1]


def place(data, rng):
    return int(rng.integers(len(data) + 1))


def one_of(choices, rng):
    return choices[int(rng.integers(len(choices)))]


def part(data, rng):
    """Two places, mostly not far from each other."""
    begin = place(data, rng)
    return begin, min(len(data), begin + int(rng.geometric(0.05)))


def flip(data, rng):
    begin = place(data, rng)
    return data[:begin] + bytes(rng.integers(0, 256, 1, np.uint8)) + data[begin + 1 :]


def truncate(data, rng):
    return data[: place(data, rng)]


def leave_out(data, rng):
    begin, end = part(data, rng)
    return data[:begin] + data[end:]


def repeat(data, rng):
    begin, end = part(data, rng)
    return data[:end] + data[begin:end] * int(rng.integers(1, 5)) + data[end:]


def splice(data, rng):
    (begin, end), at = part(data, rng), place(data, rng)
    return data[:at] + data[begin:end] + data[at:]


def change_number(data, rng):
    numbers = list(re.finditer(rb"-?\d+(\.\d+)?", data))
    if not numbers:
        return flip(data, rng)
    found = one_of(numbers, rng)
    return data[: found.start()] + one_of(ODD, rng) + data[found.end() :]


def change_size(data, rng):
    at, width = place(data, rng), int(rng.choice([1, 2, 4, 8]))
    size = one_of(SIZES, rng) % 2 ** (8 * width)
    return data[:at] + size.to_bytes(width, "little") + data[at + width :]


def insert_from(parts):
    def insert(data, rng):
        starts = [found.end() for found in re.finditer(rb"[\[{:,\n]", data)] or [0]
        at = one_of(starts, rng)
        return data[:at] + one_of(parts, rng) + data[at:]

    return insert


CHANGES = [flip, truncate, leave_out, repeat, splice, change_number, change_number, change_size,
           insert_from(DEEP), insert_from(ODD)]  # fmt: skip
RARE = 0.002
"""How often something large is put in."""


def changed(data, rng):
    """Bytes with one to three changes."""
    if rng.random() < RARE:
        return insert_from(LARGE)(data, rng)
    for _ in range(int(rng.integers(1, 4))):
        data = one_of(CHANGES, rng)(data, rng)
    return data


# ---- what is changed in archives and headers -----------------------------------------------------


def unpacked(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(members, method):
    """An archive, whose checksums are right."""
    into = io.BytesIO()
    with zipfile.ZipFile(into, "w", method, compresslevel=1) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return into.getvalue()


def array_header(shape, dtype="<f8", order=False):
    text = f"{{'descr': {dtype!r}, 'fortran_order': {order}, 'shape': {shape}, }}"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text) + 1) + text.encode() + b"\n"


SHAPES = ["()", "(0,)", "(1000000000,)", "(10**9,)", "(-1,)", "(0, 1000000000000)", "(True,)",
          "(1,) * 9", "(99999999999, 99999999999)", "(2, 2, 2)", "3", "(3.0,)"]  # fmt: skip
DTYPES = ["<f8", "<f2", "|O", "<U99999999", "|V1000000000", "<M8[s]", ">i8", "<i4", "|b1", "<c16"]


def changed_member(members, rng):
    """The members of an archive, one of them changed, gone, or another's."""
    names = list(members)
    name = one_of(names, rng)
    what = rng.random()
    if what < 0.1:
        return {other: data for other, data in members.items() if other != name}
    if what < 0.2:
        return {**members, name: members[one_of(names, rng)]}
    if what < 0.5 and name.endswith(".npy"):
        dtype = one_of(DTYPES, rng)
        header = array_header(one_of(SHAPES, rng), dtype, rng.random() < 0.5)
        return {**members, name: header + members[name][-int(rng.integers(1, 65)) :]}
    return {**members, name: changed(members[name], rng)}


def bombs(data, is_short):
    """Archives that unpack to far more than they are, some within the bounds of the reader."""
    members = unpacked(data)
    names = [name for name in members if name.endswith(".npy")] or list(members)
    noise = b"" if is_short else np.random.default_rng(0).bytes(4_600_000)
    found = []
    for size in (20_000_000, 60_000_000) if is_short else (20_000_000, 60_000_000, 225_000_000):
        for name in names[:: len(names) if is_short else max(1, len(names) // 3)]:
            zeros = array_header((size // 8,), "<i8") + bytes(size)
            # With the noise, the file is large enough for what it unpacks to.
            for more in ({}, {"noise.npy": noise}) if size > 2e8 else ({},):
                found.append(packed({**members, name: zeros, **more}, zipfile.ZIP_DEFLATED))
    return found


def changed_network(data, rng):
    """A network's file whose header is changed, and of its right length."""
    length = int.from_bytes(data[:8], "little")
    header = changed(data[8 : 8 + length], rng)
    if rng.random() < 0.5:  # within the text in it
        found = json.loads(data[8 : 8 + length])
        text = changed(found["__metadata__"]["hexenv"].encode(), rng).decode("latin-1")
        found["__metadata__"]["hexenv"] = text
        header = json.dumps(found).encode()
    return len(header).to_bytes(8, "little") + header + data[8 + length :]


def damaged_files(name, data, count, seed):
    """So many files of a kind, made of a good one."""
    rng = np.random.default_rng(seed)
    is_archive = data[:2] == b"PK"
    method = zipfile.ZIP_STORED if name in ("games", "checkpoint") else zipfile.ZIP_DEFLATED
    ready = bombs(data, count < 1000) if is_archive else []
    members = unpacked(data) if is_archive else {}
    for number in range(count):
        if number < len(ready):
            yield ready[number]
        elif ready and rng.random() < RARE:
            yield changed(one_of(ready, rng), rng)
        elif is_archive and rng.random() < 0.7:
            yield packed(changed_member(members, rng), method)
        elif name == "network" and rng.random() < 0.7:
            yield changed_network(data, rng)
        else:
            yield changed(data, rng)


# ---- what comes of it ----------------------------------------------------------------------------


def peak():
    """The most memory that this process has had in use, in bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def serve(kind, path, pipe):
    """Load a file again and again, whenever there is a new one."""
    kind.load(path)  # so that all is imported
    pipe.send(peak())
    while pipe.recv():
        start = time.process_time()
        try:
            kind.load(path)
            what = "loaded"
        except (ValueError, OSError, UserWarning):  # a warning of ours tells of what is left out
            what = "refused"
        except BaseException as error:  # whatever it is, it is not documented
            what = f"{type(error).__name__}: {error}"[:200]
        pipe.send((what, time.process_time() - start))
    pipe.send(peak())


def measured(name, count, seed):
    """Load so many files of a kind, one after the other, in a process of its own.

    Returns:
        How many were loaded and how many refused, the errors that are not documented, with the
        number of the file, and the most seconds and bytes.
    """
    kind, results, others, slowest = KINDS[name], Counter(), [], 0.0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / kind.name
        kind.write(path)
        data = path.read_bytes()
        ours, theirs = multiprocessing.get_context("fork").Pipe()
        process = multiprocessing.get_context("fork").Process(
            target=serve, args=(kind, path, theirs), daemon=True
        )
        process.start()
        theirs.close()
        before = ours.recv()
        for number, file in enumerate(damaged_files(name, data, count, seed)):
            path.write_bytes(file)
            ours.send(True)
            if not ours.poll(LONGEST):
                process.kill()
                raise TimeoutError(f"{name}: file {number} takes more than {LONGEST} s")
            what, seconds = ours.recv()
            slowest = max(slowest, seconds)
            if what not in ("loaded", "refused"):
                others.append(f"{number}: {what}")
            results[what] += 1
        ours.send(False)
        after = ours.recv()
        process.join()
    return results["loaded"], results["refused"], others, slowest, after - before


def main():
    """Print a line for each kind; the status is 1 if something is not as it should be."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kind", action="append", choices=KINDS, help="again for more; all")
    parser.add_argument("--count", type=int, default=10_000, help="files of each kind")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    is_well = True
    print("kind           loaded refused others  s at most  MB at most", flush=True)
    for name in given.kind or KINDS:
        loaded, refused, others, seconds, size = measured(name, given.count, given.seed)
        line = f"{name:<14} {loaded:>6} {refused:>7} {len(others):>6} {seconds:>10.3f}"
        print(f"{line} {size / 1e6:>11.0f}", *others[:10], sep="\n    ", flush=True)
        is_well = is_well and seconds < MOST_SECONDS and size < MOST_BYTES and not others
    sys.exit(0 if is_well else 1)


if __name__ == "__main__":
    main()
