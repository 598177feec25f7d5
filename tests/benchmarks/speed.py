"""Speed beside the peers, as ratios measured in one run: ``python tests/benchmarks/speed.py``.

Every row times us and the peer in turn, several times, in processor time on one thread, and quotes
the median of the ratios: a busy machine slows both alike. Needs the extra `test`.
"""

import argparse
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from pettingzoo import AECEnv
from pettingzoo.utils import wrappers
from rich import box
from rich.console import Console
from rich.table import Table

from agents.search.mcts import Variant, compiled_search
from agents.search.playout import Uniform
from agents.search.reward import WinLoss
from agents.search.selection import UCB1
from agents.search.tree import new_tree
from hexenv import connect4_v0
from hexenv.games import base, connect4, gomoku, hex, tictactoe

SIMULATIONS = 10_000
GAMES = [  # game, OpenSpiel's name for it, the name in the C program, the ratio to reach
    (hex.new(11), "hex(board_size=11)", "hex11", 40.0),
    (connect4.new(), "connect_four", "connect_four", 22.0),
    (tictactoe.new(), "tic_tac_toe", "tic_tac_toe", 3.5),
    (gomoku.new(15), "gomoku(size=15)", "gomoku15", 25.0),
]


def seconds_of(run: Callable[[], Any], times: int = 1) -> float:
    """Mean processor time of a run."""
    started = time.process_time()
    for _ in range(times):
        run()
    return (time.process_time() - started) / times


def paired(ours: Callable[[], float], *peers: Callable[[], float], rounds: int) -> np.ndarray:
    """``(rounds, 1 + len(peers))`` figures, taken in turn."""
    return np.array([[figure() for figure in (ours, *peers)] for _ in range(rounds)])


# ---- tree search ---------------------------------------------------------------------------------


def our_search(game: Any) -> Callable[[], float]:
    """Simulations per second of a plain UCT with a fresh tree each time."""
    root, state = base.new_state(game), base.new_state(game)
    tree = new_tree(1 + (SIMULATIONS + 1) * game.num_actions())
    rng = np.random.default_rng(1)
    variant = Variant(UCB1(1.0), Uniform(fast=True), WinLoss())
    arguments = (game, root, state, tree, variant, SIMULATIONS, rng)
    run = compiled_search.specialise(*arguments)

    def search() -> None:
        tree.node_count[0] = 0
        run(*arguments)

    search()
    return lambda: SIMULATIONS / seconds_of(search, 5)


def openspiel_search(name: str) -> Callable[[], float]:
    """Simulations per second of OpenSpiel's C++ MCTS bot: one rollout, no solver, a fresh tree."""
    import pyspiel

    game = pyspiel.load_game(name)
    state = game.new_initial_state()

    def search() -> None:
        evaluator = pyspiel.RandomRolloutEvaluator(1, 7)
        bot = pyspiel.MCTSBot(game, evaluator, 2.0, SIMULATIONS, 1000, False, 7, False)
        bot.step(state)

    return lambda: SIMULATIONS / seconds_of(search)


def c_search(program: Path, name: str) -> float:
    """Simulations per second of the C program, as it prints them."""
    output = subprocess.run([program, "3", "0.2"], capture_output=True, text=True, check=True)
    line = re.search(rf"C UCT {name}\s+N={SIMULATIONS}\s+(\d+)", output.stdout)
    assert line is not None, f"the C program printed nothing on {name}"
    return float(line[1])


def compile_limit(source: Path, directory: Path) -> Path:
    """Compile the C program that marks the limit."""
    program = directory / "limit_uct"
    compiler = shutil.which("cc") or shutil.which("gcc")
    assert compiler, "--limit needs a C compiler"
    flags = ["-O3", "-march=native", "-ffast-math"]
    subprocess.run([compiler, *flags, "-o", str(program), str(source), "-lm"], check=True)
    return program


def search_table(rounds: int, limit: Path | None) -> Table:
    """Simulations per second from the empty board, beside OpenSpiel and the C limit."""
    table = Table(box=box.SIMPLE_HEAD, title=f"UCT, {SIMULATIONS:,} simulations, one thread")
    for column in ("game", "ours /s", "OpenSpiel C++ /s", "ratio", "range", "target"):
        table.add_column(column, justify="right")
    if limit:
        table.add_column("C limit /s", justify="right")
        table.add_column("share of C", justify="right")
    for game, peer, c_name, target in GAMES:
        peers = [openspiel_search(peer)]
        if limit:
            peers.append(lambda name=c_name: c_search(limit, name))
        figures = paired(our_search(game), *peers, rounds=rounds)
        ratios = figures[:, 0] / figures[:, 1]
        medians = np.median(figures, axis=0)
        row = [
            game.name,
            f"{medians[0]:,.0f}",
            f"{medians[1]:,.0f}",
            f"{np.median(ratios):.1f}x",
            f"{ratios.min():.1f}-{ratios.max():.1f}",
            f"{target}x",
        ]
        if limit:
            row += [f"{medians[2]:,.0f}", f"{np.median(figures[:, 0] / figures[:, 2]):.0%}"]
        table.add_row(*row)
    return table


# ---- environments --------------------------------------------------------------------------------


class EmptyEnv(AECEnv):
    """Does nothing, in the spaces of PettingZoo's Connect4: shows what its wrappers cost."""

    metadata: ClassVar = {"name": "empty_v0", "render_modes": []}

    def __init__(self) -> None:
        self.possible_agents = ["player_0", "player_1"]
        board, mask = spaces.Box(0, 1, (6, 7, 2), np.int8), spaces.Box(0, 1, (7,), np.int8)
        self._observation_space = spaces.Dict([("observation", board), ("action_mask", mask)])
        self._action_space = spaces.Discrete(7)
        self._observation = {
            "observation": np.zeros((6, 7, 2), np.int8),
            "action_mask": np.ones(7, np.int8),
        }

    def observation_space(self, agent: str) -> spaces.Space:
        return self._observation_space

    def action_space(self, agent: str) -> spaces.Space:
        return self._action_space

    def reset(self, seed: int | None = None, options: dict | None = None) -> None:
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos = {agent: {} for agent in self.agents}
        self.agent_selection = "player_0"

    def observe(self, agent: str) -> dict:
        return self._observation

    def step(self, action: int) -> None:
        self.agent_selection = "player_1" if self.agent_selection == "player_0" else "player_0"


def wrapped_empty() -> AECEnv:
    """PettingZoo's three standard wrappers around nothing."""
    env = wrappers.TerminateIllegalWrapper(EmptyEnv(), illegal_reward=-1)
    return wrappers.OrderEnforcingWrapper(wrappers.AssertOutOfBoundsWrapper(env))


def moves_per_second(env: AECEnv, moves: int = 4_000) -> float:
    """The documented loop of `last` and `step`, with a legal action that costs next to nothing."""
    env.reset()
    action = 0
    started = time.process_time()
    for _ in range(moves):
        observation, _, termination, truncation, _ = env.last()
        if termination or truncation:
            env.reset()
            continue
        mask = observation["action_mask"]
        action = (action + 3) % 7
        while not mask[action]:
            action = (action + 1) % 7
        env.step(action)
    return moves / (time.process_time() - started)


def environment_table(rounds: int) -> Table:
    """Moves per second of the environment loop, beside PettingZoo's Connect4."""
    from pettingzoo.classic.connect_four import connect_four

    rows = [
        ("raw", connect4_v0.raw_env(), connect_four.raw_env(), "4x"),
        ("wrapped", connect4_v0.env(), connect_four.env(), "1.7x"),
        ("its wrappers around nothing", wrapped_empty(), connect_four.env(), "(ceiling)"),
    ]
    table = Table(box=box.SIMPLE_HEAD, title="Connect4 environment: last, mask, step")
    for column in ("environment", "ours /s", "PettingZoo /s", "ratio", "range", "target"):
        table.add_column(column, justify="right")
    for name, ours, theirs, target in rows:
        moves_per_second(ours, 100)
        figures = paired(
            lambda env=ours: moves_per_second(env),
            lambda env=theirs: moves_per_second(env),
            rounds=rounds,
        )
        ratios = figures[:, 0] / figures[:, 1]
        medians = np.median(figures, axis=0)
        spread = f"{ratios.min():.1f}-{ratios.max():.1f}"
        ratio = f"{np.median(ratios):.1f}x"
        table.add_row(name, f"{medians[0]:,.0f}", f"{medians[1]:,.0f}", ratio, spread, target)
    return table


# ---- single figures ------------------------------------------------------------------------------


def fresh_python(code: str) -> str:
    """What a new interpreter prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


IMPORT = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"
SEARCH = """
import resource, time
from agents import UCT
from hexenv import hex_v0
env = hex_v0.raw_env(11)
env.reset()
started = time.perf_counter()
UCT(simulations={0}, seed=0).act(env)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(time.perf_counter() - started if {0} == 1 else peak)
"""


def single_figures(rounds: int) -> Table:
    """Clone, import, first search from the cache, memory."""
    env = connect4_v0.raw_env()
    env.reset()
    clone = min(seconds_of(env.clone, 2_000) for _ in range(rounds)) * 1e6
    imports = statistics.median(float(fresh_python(IMPORT.format("hexenv"))) for _ in range(rounds))
    fresh_python(SEARCH.format(1))
    first = statistics.median(float(fresh_python(SEARCH.format(1))) for _ in range(rounds))
    peak = float(fresh_python(SEARCH.format(100_000)))
    table = Table(box=box.SIMPLE_HEAD, title="Single figures")
    for column in ("what", "figure", "target"):
        table.add_column(column, justify="right")
    table.add_row("clone of a raw Connect4 environment (best)", f"{clone:.1f} us", "5 us")
    table.add_row("import hexenv (median)", f"{imports:.2f} s", "1 s")
    table.add_row("first search in a new process, from the cache (median)", f"{first:.2f} s", "1 s")
    table.add_row("peak memory, 100,000 simulations of Hex 11", f"{peak:.0f} MiB", "400 MB")
    return table


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=Path, help="source of a C program that marks the limit")
    parser.add_argument("--rounds", type=int, default=7, help="how often each pair is timed")
    arguments = parser.parse_args()
    console = Console(width=110)
    with tempfile.TemporaryDirectory() as directory:
        limit = compile_limit(arguments.limit, Path(directory)) if arguments.limit else None
        console.print(search_table(arguments.rounds, limit))
    console.print(environment_table(arguments.rounds))
    console.print(single_figures(arguments.rounds))


if __name__ == "__main__":
    main()
