"""How time and memory grow: ``python tests/benchmarks/growth.py > growth.md``.

Searches by their simulations, vector environments by their boards, tournaments and served games by
their number, and records by how many are loaded, reviewed and converted: each in processor time for
one, which stays the same where the cost grows evenly. ``--most 1000`` leaves out what is larger.
"""

import argparse
import asyncio
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

import hexenv  # noqa: F401  (registers the environments)
from agents import UCT, RandomAgent
from agents.apps.web.games import Games
from agents.apps.web.protocol import Message, MessageError, Setup
from agents.arena.running import run_tournament
from agents.arena.specification import Tournament
from agents.records import GameRecord
from agents.records.asking import Limit
from agents.records.formats import load_games, save_games
from agents.records.review import review
from hexenv import connect4_v0, hex_v0

SIMULATIONS = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
BOARDS = (1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536)
GAMES = (10, 100, 1_000, 10_000)
SERVED = (1, 2, 5, 10, 20, 50)
RECORDS = (100, 1_000, 10_000, 100_000)
REVIEWED = 10_000
"""The most records that are reviewed: one takes as long as a search for each move."""


def spent(call: Callable[[], Any]) -> tuple[Any, float]:
    """What a call returns, and its processor time."""
    started = time.process_time()
    result = call()
    return result, time.process_time() - started


def table(title: str, heads: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    """Print a table, each row as soon as it is known."""
    heads = list(heads)
    print(f"\n## {title}\n\n| {' | '.join(heads)} |\n{'|---' * len(heads)}|", flush=True)
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)


def searches(most: int) -> None:
    for title, env in (("Hex 11 x 11", hex_v0.env(board_size=11)), ("Connect4", connect4_v0.env())):
        env.reset()
        UCT(simulations=100, seed=1).act(env)  # which compiles

        def rows(env: Any = env) -> Iterable[list[str]]:
            for simulations in (each for each in SIMULATIONS if each <= most):
                agent = UCT(simulations=simulations, seed=1, early_stop=False)
                _, seconds = spent(lambda: agent.act(env))  # noqa: B023
                tree = agent.planner.workers[0].tree
                nodes = int(tree.node_count[0])
                arrays = [array for array in tree if isinstance(array, np.ndarray)]
                memory = sum(array.nbytes for array in arrays)
                ran = agent.statistics.simulations
                microseconds, each = 1e6 * seconds / ran, memory / nodes
                yield [f"{ran:,}", f"{microseconds:.2f}", f"{nodes:,}", f"{each:.0f}"]

        heads = "simulations", "us a simulation", "nodes", "bytes of memory a node"
        table(f"`uct`, {title}, from the empty board", heads, rows())


def environments(most: int) -> None:
    def rows() -> Iterable[list[str]]:
        for boards in (each for each in BOARDS if each <= most):
            row = [f"{boards:,}"]
            for name in ("TicTacToe", "Hex"):
                envs = gymnasium.make_vec(f"hexenv/{name}-v0", num_envs=boards, threads=1)
                seen, _ = envs.reset(seed=1)
                envs.step(np.argmax(seen["action_mask"], axis=1))  # which compiles
                seen, _ = envs.reset(seed=1)
                rng, seconds, steps = np.random.default_rng(1), 0.0, 0
                while steps < 20 or seconds < 0.5:
                    masks = seen["action_mask"]
                    draws = rng.random(masks.shape, np.float32)
                    actions = np.argmax(draws * masks, axis=1)
                    (seen, *_), once = spent(lambda: envs.step(actions))  # noqa: B023
                    steps, seconds = steps + 1, seconds + once
                row += [f"{1e6 * seconds / steps:,.0f}", f"{1e9 * seconds / steps / boards:,.0f}"]
            yield row

    heads = ["boards"]
    for name in ("TicTacToe", "Hex 11 x 11"):
        heads += [f"{name}: us a step", "ns a board"]
    table("Vector environments against `random`, one thread", heads, rows())


def tournaments(most: int) -> None:
    def rows() -> Iterable[list[str]]:
        for games in (each for each in GAMES if each <= most):
            tournament = Tournament("tictactoe", ["random", "greedy"], pairs=games // 2)
            with tempfile.TemporaryDirectory() as folder:
                results = Path(folder) / "results.jsonl"
                _, seconds = spent(lambda: run_tournament(tournament, results, workers=0))  # noqa: B023
                size = results.stat().st_size
            yield [
                f"{games:,}",
                f"{seconds:.2f}",
                f"{1e3 * seconds / games:.2f}",
                f"{size / games:.0f}",
            ]

    run_tournament(Tournament("tictactoe", ["random", "greedy"], pairs=1), workers=0)  # compiles
    heads = "games", "seconds", "ms a game", "bytes of its file a game"
    table("Tournaments of `random` and `greedy`, TicTacToe, in one process", heads, rows())


async def served(count: int) -> float:
    """Processor time for a move and its answer, in so many games at once."""
    games = Games(max_games=count)
    setup = Setup("connect4", (), "uct:simulations=100", 0, 1)
    rooms = [games.room(await games.create(setup)) for _ in range(count)]
    pages = [room.join() for room in rooms]
    moves = 0

    async def play(room: Any, page: Any) -> None:
        nonlocal moves
        for column in (0, 1, 5):
            before = room.game.ply
            message = Message(type="play", ply=before, action=column)
            while True:
                try:
                    room.receive(message, page)
                    break
                except MessageError:  # the game is still being prepared
                    await page.waiting.get()
            while room.game.ply < before + 2:
                await page.waiting.get()
            moves += 1

    started = time.process_time()
    await asyncio.wait_for(asyncio.gather(*map(play, rooms, pages)), 600)
    seconds = time.process_time() - started
    games.close()
    return seconds / moves


def serving(most: int) -> None:
    asyncio.run(served(1))  # which compiles
    sizes = [count for count in SERVED if count <= most]
    rows = ([f"{count}", f"{1e3 * asyncio.run(served(count)):.2f}"] for count in sizes)
    heads = "games at once", "ms a move and its answer"
    table("Served games against `uct:simulations=100`, Connect4", heads, rows)


def random_record(seed: int) -> GameRecord:
    """A random game of Connect4."""
    env, agent = connect4_v0.env(), RandomAgent(seed=seed)
    env.reset()
    while env.agents and not any(env.terminations.values()):
        env.step(agent.act(env))
    return GameRecord.of("connect4", (), tuple(env.unwrapped.actions))


def records(most: int) -> None:
    some = [random_record(seed) for seed in range(100)]
    reviewing(some[:1])  # which compiles

    def rows() -> Iterable[list[str]]:
        for count in (each for each in RECORDS if each <= most):
            many = [replace(some[i % 100], seed=i) for i in range(count)]
            with tempfile.TemporaryDirectory() as folder:
                own, text = Path(folder) / "games", Path(folder) / "games.txt"
                _, saving = spent(lambda: save_games(many, own))  # noqa: B023
                loaded, loading = spent(lambda: list(load_games(own)))  # noqa: B023
                _, converting = spent(lambda: save_games(loaded, text))  # noqa: B023
            reviewed = "" if count > REVIEWED else f"{1e3 * reviewing(loaded) / count:.1f}"
            times = [f"{1e6 * each / count:,.0f}" for each in (saving, loading, converting)]
            yield [f"{count:,}", *times, reviewed]

    heads = "records", "save, us each", "load, us each", "as one text, us each", "review, ms each"
    table("Records of Connect4, a file each", heads, rows())


def reviewing(games: list[GameRecord]) -> float:
    """Processor time of reviews by ten simulations a position."""
    agent = UCT(seed=1)

    def review_all() -> None:
        for game in games:
            review(game, agent, Limit(simulations=10))

    return spent(review_all)[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=10**9, help="leave out what is larger")
    most = parser.parse_args().most
    for section in (searches, environments, tournaments, serving, records):
        section(most)


if __name__ == "__main__":
    main()
