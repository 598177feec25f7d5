"""Speed beside the peers, as ratios measured in one run: ``python tests/benchmarks/speed.py``.

Every row times us and the peer in turn, several times, in processor time on one thread, and quotes
the median of the ratios: a busy machine slows both alike. At the end come the rows of `SPEED.md`
and `README.md` as they stand there. Needs the extra `test`.
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
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from gymnasium import spaces
from pettingzoo import AECEnv
from pettingzoo.utils import wrappers
from rich.console import Console
from rich.table import Table

from agents import UCT
from agents.apps.cli.shared import new_table
from agents.search.mcts import compiled_search
from agents.search.playout import Uniform
from agents.search.reward import WinLoss
from agents.search.selection import UCB1
from agents.search.tree import new_tree
from agents.search.variant import Variant, simulation_for
from hexenv import connect4_v0, gomoku_v0, hex_v0, tictactoe_v0
from hexenv.games import base

SIMULATIONS = 10_000
RESULTS = Path(__file__).with_name("RESULTS.md")


class Board(NamedTuple):
    """A game that is searched from its empty board."""

    title: str
    env: AECEnv
    peer: str  # OpenSpiel's name for it
    c_name: str  # its name in the C program
    target: float  # how many times as fast as OpenSpiel the kernel is to be


BOARDS = [
    Board("Hex 11 x 11", hex_v0.env(board_size=11), "hex(board_size=11)", "hex11", 40.0),
    Board("Gomoku 15 x 15", gomoku_v0.env(board_size=15), "gomoku(size=15)", "gomoku15", 25.0),
    Board("Connect4", connect4_v0.env(), "connect_four", "connect_four", 22.0),
    Board("TicTacToe", tictactoe_v0.env(), "tic_tac_toe", "tic_tac_toe", 3.5),
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


def times_text(ratio: float) -> str:
    """A ratio with two digits, or more before the point."""
    return f"{ratio:.0f}" if ratio >= 9.95 else f"{ratio:.1f}"


def median_text(ratios: np.ndarray) -> str:
    """The median of the rounds."""
    return f"{times_text(float(np.median(ratios)))}x"


def range_text(ratios: np.ndarray) -> str:
    """The least and the greatest of the rounds."""
    return f"{times_text(ratios.min())}-{times_text(ratios.max())}"


# ---- tree search ---------------------------------------------------------------------------------


class SearchFigures(NamedTuple):
    """Simulations per second in each round; the C program's only where it was given."""

    call: np.ndarray  # what a user gets: a new agent, its defaults, its `act`
    kernel: np.ndarray  # the compiled search alone, over a tree allocated beforehand
    openspiel: np.ndarray
    limit: np.ndarray | None


def our_call(env: AECEnv, simulations: int) -> Callable[[], float]:
    """Simulations per second of `UCT` as a user calls it: a new agent each time, as it comes."""
    env.reset()

    def call() -> int:
        agent = UCT(simulations=simulations)
        agent.act(env)
        assert agent.statistics is not None
        return agent.statistics.simulations  # fewer where the root is proven

    def rate() -> float:
        started = time.process_time()
        done = sum(call() for _ in range(5))
        return done / (time.process_time() - started)

    call()  # which compiles
    return rate


def our_kernel(game: Any, simulations: int) -> Callable[[], float]:
    """Simulations per second of the compiled search alone: a plain UCT over one tree, emptied."""
    root, state = base.new_state(game), base.new_state(game)
    tree = new_tree(1 + (simulations + 1) * game.num_actions())
    rng = np.random.default_rng(1)
    variant = Variant(UCB1(1.0), Uniform(fast=True), WinLoss())
    simulation = simulation_for(variant, game)
    arguments = (game, root, state, tree, variant, simulation, simulations, rng)
    run = compiled_search.specialise(*arguments)

    def search() -> None:
        tree.node_count[0] = 0
        run(*arguments)

    search()
    return lambda: simulations / seconds_of(search, 5)


def openspiel_search(name: str, simulations: int) -> Callable[[], float]:
    """Simulations per second of OpenSpiel's C++ MCTS bot: one rollout, no solver, a new bot."""
    import pyspiel

    game = pyspiel.load_game(name)
    state = game.new_initial_state()

    def search() -> None:
        evaluator = pyspiel.RandomRolloutEvaluator(1, 7)
        bot = pyspiel.MCTSBot(game, evaluator, 2.0, simulations, 1000, False, 7, False)
        bot.step(state)

    return lambda: simulations / seconds_of(search)


def c_search(program: Path, name: str, simulations: int) -> float:
    """Simulations per second of the C program, as it prints them."""
    output = subprocess.run([program, "3", "0.2"], capture_output=True, text=True, check=True)
    line = re.search(rf"C UCT {name}\s+N={simulations}\s+(\d+)", output.stdout)
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


def search_figures(
    board: Board, rounds: int, limit: Path | None, simulations: int = SIMULATIONS
) -> SearchFigures:
    """The call, the kernel, OpenSpiel and the C program, taken in turn from the empty board."""
    kernel = our_kernel(board.env.unwrapped.game, simulations)
    others = [kernel, openspiel_search(board.peer, simulations)]
    if limit:
        others.append(lambda: c_search(limit, board.c_name, simulations))
    found = paired(our_call(board.env, simulations), *others, rounds=rounds).T
    return SearchFigures(found[0], found[1], found[2], found[3] if limit else None)


def search_table(measured: dict[Board, SearchFigures]) -> Table:
    """Simulations per second, and the kernel's target."""
    columns = ("game", "call /s", "kernel /s", "OpenSpiel C++ /s", "C /s", "kernel", "target")
    table = new_table(*columns, title=f"UCT, {SIMULATIONS:,} simulations, one thread")
    for board, found in measured.items():
        medians = ["" if rates is None else f"{np.median(rates):,.0f}" for rates in found]
        kernel = median_text(found.kernel / found.openspiel)
        table.add_row(board.title, *medians, kernel, f"{board.target}x")
    return table


def speed_row(board: Board, found: SearchFigures) -> str:
    """The row of `SPEED.md`: the call and then the kernel, beside OpenSpiel and the C program."""
    cells = [board.title]
    for ours in (found.call, found.kernel):
        ratios = ours / found.openspiel
        share = "" if found.limit is None else f"{100 * np.median(ours / found.limit):.0f} %"
        cells += [median_text(ratios), range_text(ratios), share]
    return f"| {' | '.join(cells)} |"


def readme_row(speed: str) -> str:
    """The row of `README.md` of one of `SPEED.md`, with the score that is in `RESULTS.md`."""
    title, call, _, _, kernel, _, _ = speed.strip("| ").split(" | ")
    results = RESULTS.read_text(encoding="utf-8")
    score = re.search(rf"^\| {title} \| off \| [^|]* \| ([^|]*) \|", results, re.MULTILINE)
    return f"| {title} | {call} | {kernel} | {score[1] if score else 'not played'} |"


# ---- environments --------------------------------------------------------------------------------


class EmptyEnv(AECEnv):
    """Does nothing, in the spaces of PettingZoo's Connect4: shows what its wrappers cost."""

    metadata: ClassVar = {"name": "empty_v0", "render_modes": []}

    def __init__(self) -> None:
        self.possible_agents = ["player_0", "player_1"]
        board, mask = spaces.Box(0, 1, (6, 7, 2), np.int8), spaces.Box(0, 1, (7,), np.int8)
        space = spaces.Dict([("observation", board), ("action_mask", mask)])
        self.observation_spaces = dict.fromkeys(self.possible_agents, space)
        self.action_spaces = dict.fromkeys(self.possible_agents, spaces.Discrete(7))
        zeros, ones = np.zeros((6, 7, 2), np.int8), np.ones(7, np.int8)
        self._observation = {"observation": zeros, "action_mask": ones}

    def observation_space(self, agent: str) -> spaces.Space:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space:
        return self.action_spaces[agent]

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


def environment_figures(rounds: int) -> dict[str, np.ndarray]:
    """``(rounds, 2)`` moves per second of the loop: ours, and PettingZoo's Connect4, in turn."""
    from pettingzoo.classic.connect_four import connect_four

    pairs = {
        "`raw_env()`": (connect4_v0.raw_env(), connect_four.raw_env()),
        "`env()`": (connect4_v0.env(), connect_four.env()),
        "PettingZoo's wrappers around nothing": (wrapped_empty(), connect_four.env()),
    }
    measured = {}
    for name, envs in pairs.items():
        moves_per_second(envs[0], 100)
        measured[name] = paired(*(partial(moves_per_second, env) for env in envs), rounds=rounds)
    return measured


def environment_table(measured: dict[str, np.ndarray]) -> Table:
    """Moves per second of the environment loop."""
    columns = ("environment", "ours /s", "PettingZoo /s", "target")
    table = new_table(*columns, title="Connect4 environment: last, mask, step")
    targets = ("4x", "1.7x", "(ceiling)")
    for (name, figures), target in zip(measured.items(), targets, strict=True):
        ours, theirs = np.median(figures, axis=0)
        table.add_row(name, f"{ours:,.0f}", f"{theirs:,.0f}", target)
    return table


def environment_row(name: str, figures: np.ndarray) -> str:
    """The row of `SPEED.md`."""
    ratios = figures[:, 0] / figures[:, 1]
    return f"| {name} | {median_text(ratios)} | {range_text(ratios)} |"


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
    table = new_table("what", "figure", "target", title="Single figures")
    table.add_row("clone of a raw Connect4 environment (best)", f"{clone:.1f} us", "5 us")
    table.add_row("import hexenv (median)", f"{imports:.2f} s", "1 s")
    table.add_row("first search in a new process, from the cache (median)", f"{first:.2f} s", "1 s")
    table.add_row("peak memory, 100,000 simulations of Hex 11", f"{peak:.0f} MiB", "400 MB")
    return table


def main() -> None:
    """Print all tables, and the rows of the files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=Path, help="source of a C program that marks the limit")
    parser.add_argument("--rounds", type=int, default=7, help="how often each pair is timed")
    arguments = parser.parse_args()
    console = Console(width=110)
    with tempfile.TemporaryDirectory() as directory:
        limit = compile_limit(arguments.limit, Path(directory)) if arguments.limit else None
        searches = {board: search_figures(board, arguments.rounds, limit) for board in BOARDS}
    environments = environment_figures(arguments.rounds)
    console.print(search_table(searches))
    console.print(environment_table(environments))
    console.print(single_figures(arguments.rounds))
    rows = [speed_row(board, found) for board, found in searches.items()]
    print("SPEED.md:", *rows, sep="\n")
    print(*(environment_row(name, found) for name, found in environments.items()), sep="\n")
    print("README.md:", *map(readme_row, rows), sep="\n")


if __name__ == "__main__":
    main()
