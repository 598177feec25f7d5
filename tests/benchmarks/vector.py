"""Native vector environments in plies a second: ``python tests/benchmarks/vector.py``.

Every row times us and the peer in turn, several times, each in a process of its own, and quotes the
median of the ratios. Both are given legal random actions recorded before, write observations and
masks at every step, and reset boards by themselves. We are called from Python once a step; Pgx runs
all steps in one compiled ``lax.scan``, its own best form. With one thread it is processor time,
both on the same core; with two it is wall time. Without ``pgx``, which no extra installs, its
columns are empty. Learners against a random opponent stand beside Gymnasium's `SyncVectorEnv` and,
in Hex, beside `vector_hex.c`, which needs a C compiler: no masks, and observations by what changed.
"""

import argparse
import ctypes
import json
import multiprocessing
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from rich.console import Console
from rich.table import Table

import hexenv  # noqa: F401  (registers the environments)
from agents.apps.cli.shared import new_table

SECONDS = 0.25
"""About how long a timing takes."""
SIZES = [64, 1024, 16384]
TARGET_SIZE = 1024
GAMES = [  # environment, its options, Pgx's name for it, the ratio to reach, plies of a long game
    ("Hex", {"board_size": 11}, "hex", 5.0, 121),
    ("Connect4", {}, "connect_four", 2.0, 42),
    ("TicTacToe", {}, "tic_tac_toe", 2.0, 9),
    ("Gomoku", {"board_size": 15}, None, None, 225),
]
SYNC_LEARNERS = 64


class Rate(NamedTuple):
    """Plies or steps a second, by two clocks."""

    processor: float
    wall: float


def timed(run: Callable[[], Any], count: int) -> Rate:
    """The rate of a run that does something so many times."""
    processor, wall = time.process_time(), time.perf_counter()
    run()
    return Rate(count / (time.process_time() - processor), count / (time.perf_counter() - wall))


def length_for(run: Callable[[int], Rate], first: int, boards: int, least: int = 1) -> int:
    """How many steps take about `SECONDS`, by a run of so many `first`."""
    return max(least, int(SECONDS * run(first).wall / boards))


# ---- in processes of their own -------------------------------------------------------------------


def begin_process(threads: int) -> None:
    """Before anything of JAX is imported: one thread on the first core, or all that there are."""
    os.environ["JAX_PLATFORMS"] = "cpu"
    if threads == 1:
        flags = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
        os.environ["XLA_FLAGS"] = flags
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def record(envs: Any, steps: int) -> tuple[np.ndarray, int]:
    """Legal random actions ``(steps, boards)``, and how many of them are played.

    A board whose game is over ignores the action of the next step.
    """
    rng = np.random.default_rng(1)
    observations, _ = envs.reset(seed=1)
    played = 0
    over = np.zeros(envs.num_envs, np.bool_)
    actions = np.empty((steps, envs.num_envs), np.int64)
    for number in range(steps):
        masks = observations["action_mask"]
        actions[number] = np.argmax(rng.random(masks.shape, np.float32) * masks, axis=1)
        played += int((~over).sum())
        observations, _, terminations, truncations, _ = envs.step(actions[number])
        over = terminations | truncations
    return actions, played


def play(envs: Any, actions: np.ndarray) -> None:
    """Step through recorded actions."""
    for row in actions:
        envs.step(row)


def replay(envs: Any, actions: np.ndarray, played: int) -> Rate:
    """The rate at which recorded actions are played."""
    envs.reset(seed=1)
    return timed(lambda: play(envs, actions), played)


def recorded(envs: Any, plies: int) -> Callable[[], Rate]:
    """A timing of at least two long games, and of about `SECONDS`."""
    play(envs, record(envs, 2)[0])  # compiles
    steps = length_for(lambda n: replay(envs, *record(envs, n)), plies, envs.num_envs, 2 * plies)
    actions, played = record(envs, steps)
    return lambda: replay(envs, actions, played)


@cache
def our_boards(name: str, boards: int, threads: int) -> Callable[[], Rate]:
    """Plies a second of our boards, both sides of which are played from outside."""
    options, plies = next((game[1], game[4]) for game in GAMES if game[0] == name)
    made = partial(gymnasium.make_vec, f"hexenv/{name}-v0", num_envs=boards)
    return recorded(made(opponent=None, threads=threads, **options), plies)


@cache
def our_learners(
    name: str, boards: int, threads: int, mode: str | None = None
) -> Callable[[], Rate]:
    """Steps a second of learners against a random opponent."""
    options, plies = next((game[1], game[4]) for game in GAMES if game[0] == name)
    more = {"threads": threads} if mode is None else {"vectorization_mode": mode}
    envs = gymnasium.make_vec(f"hexenv/{name}-v0", num_envs=boards, **more, **options)
    return recorded(envs, plies // 2)


@cache
def learners_in_c(boards: int) -> Callable[[], Rate]:
    """Steps a second of learners against a random opponent in the C program's Hex 11 x 11."""
    source = Path(__file__).with_name("vector_hex.c")
    options = ("-O3", "-march=native", "-shared", "-fPIC")
    with tempfile.TemporaryDirectory() as folder:
        code = Path(folder) / "hex.so"
        subprocess.run(["cc", *options, "-o", str(code), str(source)], check=True)
        hex_in_c = ctypes.CDLL(str(code))
    hex_in_c.new_boards.restype = ctypes.c_void_p

    def new() -> ctypes.c_void_p:
        return ctypes.c_void_p(hex_in_c.new_boards(boards, ctypes.c_uint64(1)))

    def place(array: np.ndarray) -> ctypes.c_void_p:
        return ctypes.c_void_p(array.ctypes.data)

    count = max(200, 1_000_000 // boards)
    actions = np.zeros((count, boards), np.int32)
    rewards, over = np.zeros(boards, np.float32), np.zeros(boards, np.int8)
    random = np.ones(1, np.uint64)
    steps = [(place(row), place(rewards), place(over)) for row in actions]
    board = new()
    played = 0
    for step in steps:
        hex_in_c.choose(board, place(random), step[0])
        played += hex_in_c.step(board, *step)
    hex_in_c.free_boards(board)

    arrays = actions, rewards, over

    def replay_in_c() -> Rate:
        assert len(arrays[0]) == count  # which keeps the arrays: the steps have only their places
        board = new()
        rate = timed(lambda: [hex_in_c.step(board, *step) for step in steps], played)
        hex_in_c.free_boards(board)
        return rate

    return replay_in_c


@cache
def pgx_boards(name: str, boards: int, unused_threads: int) -> Callable[[], Rate]:
    """Plies a second of Pgx, all steps in one compiled scan.

    One random key serves all boards, as ours draw nothing either. The last state is returned with
    its observation, so that none is left out.
    """
    import jax
    from jax import lax, numpy
    from pgx import make
    from pgx.experimental import auto_reset

    peer = next(game[2] for game in GAMES if game[0] == name)
    env, key = make(peer), jax.random.PRNGKey(1)
    cells = env.num_actions - (peer == "hex")  # its last action swaps sides
    step = jax.vmap(auto_reset(env.step, env.init), in_axes=(0, 0, None))
    state = jax.jit(jax.vmap(env.init))(jax.random.split(key, boards))

    def choose(state: Any, key: Any) -> tuple[Any, Any]:
        masks = state.legal_action_mask[:, :cells]
        actions = jax.random.categorical(key, numpy.where(masks, 0.0, -numpy.inf))
        return step(state, actions, key), actions

    def advance(state: Any, actions: Any) -> tuple[Any, None]:
        return step(state, actions, key), None

    scan = jax.jit(lambda state, actions: lax.scan(advance, state, actions)[0])
    choices = jax.jit(lambda keys: lax.scan(choose, state, keys)[1])

    def timing(steps: int) -> Callable[[], Rate]:
        actions = choices(jax.random.split(key, steps))
        jax.block_until_ready(scan(state, actions))  # compiles
        return lambda: timed(lambda: jax.block_until_ready(scan(state, actions)), actions.size)

    return timing(length_for(lambda steps: timing(steps)(), 20, boards))


def figure(rate: Callable[..., Callable[[], Rate]], *arguments: Any) -> Rate:
    """Run a timing, prepared in this process once."""
    return rate(*arguments)()


# ---- in turn -------------------------------------------------------------------------------------


Timing = tuple[Any, ...]
"""A function of above that prepares a timing, and its arguments."""
RATIO = ("ratio", "range", "target")


def paired(threads: int, rounds: int, *timings: Timing) -> np.ndarray:
    """``(rounds, timings, 2)`` rates, taken in turn, each timing in a process of its own."""
    context = multiprocessing.get_context("spawn")
    pools = [ProcessPoolExecutor(1, context, begin_process, (threads,)) for _ in timings]
    try:
        taken = [
            [pool.submit(figure, *each).result() for pool, each in zip(pools, timings, strict=True)]
            for _ in range(rounds + 1)
        ]
    finally:
        for pool in pools:
            pool.shutdown()
    return np.array(taken[1:])  # the first one prepares


def ratio_of(figures: np.ndarray, target: float | None) -> list[str]:
    """The last columns of a table."""
    if figures.shape[1] == 1:
        return ["", "", ""]
    ratios = figures[:, 0] / figures[:, 1]
    spread = f"{ratios.min():.2f}-{ratios.max():.2f}"
    return [f"{np.median(ratios):.2f}x", spread, f"{target:g}x" if target else ""]


HEADS = ("game", "boards", "ours /s", "us a step", "beside", "theirs /s", *RATIO)


def add_row(
    table: Table,
    about: dict[str, Any],
    rounds: int,
    timings: list[Timing],
    beside: str,
    found: list[dict[str, Any]],
    target: float | None = None,
) -> None:
    """Time one row of a table; `about` has the game, the boards and the threads."""
    both = paired(about["threads"], rounds, *timings)
    found.append({**about, "beside": beside, "rates": both.tolist()})
    figures = both[:, :, 0 if about["threads"] == 1 else 1]
    medians, boards = np.median(figures, axis=0), about["boards"]
    table.add_row(
        about["game"],
        str(boards),
        f"{medians[0]:,.0f}",
        f"{boards / medians[0] * 1e6:,.1f}",
        beside,
        f"{medians[1]:,.0f}" if beside else "",
        *ratio_of(figures, target),
        end_section=boards == SIZES[-1],
    )


def boards_table(threads: int, rounds: int, found: list[dict[str, Any]]) -> Table:
    """Plies a second of boards played from outside, beside Pgx."""
    clock = "processor time" if threads == 1 else "wall time"
    table = new_table(*HEADS, title=f"Both sides played, threads: {threads} ({clock})")
    for name, _, peer, ratio, _ in GAMES:
        for boards in SIZES:
            timings: list[Timing] = [(our_boards, name, boards, threads)]
            beside = "Pgx" if peer and find_spec("pgx") else ""
            if beside:
                timings.append((pgx_boards, name, boards, threads))
            target = ratio if boards == TARGET_SIZE and threads == 1 else None
            about = {"game": name, "boards": boards, "threads": threads}
            add_row(table, about, rounds, timings, beside, found, target)
    return table


def learner_table(threads: int, rounds: int, found: list[dict[str, Any]]) -> Table:
    """Steps a second against a random opponent, beside the C program and single environments."""
    table = new_table(*HEADS, title=f"Learners against random, threads: {threads}")
    for name, *_ in GAMES:
        for boards in SIZES:
            timings: list[Timing] = [(our_learners, name, boards, threads)]
            beside = ""
            if name == "Hex" and threads == 1 and shutil.which("cc"):
                beside = "C"
                timings.append((learners_in_c, boards))
            elif boards == TARGET_SIZE and threads == 1:
                beside = f"SyncVectorEnv of {SYNC_LEARNERS}"
                timings.append((our_learners, name, SYNC_LEARNERS, 1, "sync"))
            about = {"game": name, "boards": boards, "threads": threads, "opponent": "random"}
            add_row(table, about, rounds, timings, beside, found)
    return table


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="how often each pair is timed")
    parser.add_argument("--json", type=Path, help="file for every round's rates, by both clocks")
    arguments = parser.parse_args()
    console = Console(width=110)
    found: list[dict[str, Any]] = []
    for threads in (1, 2):
        console.print(boards_table(threads, arguments.rounds, found))
        console.print(learner_table(threads, arguments.rounds, found))
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
