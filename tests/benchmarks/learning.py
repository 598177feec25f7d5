"""MaskablePPO over native and over single boards: ``python tests/benchmarks/learning.py``.

The same learner, steps and seeds: how long each takes, what share of it the environment has, and
what the policies then score against random. Needs the extra `sb3`.
"""

import argparse
import time

import gymnasium
import torch
from rich.console import Console
from sb3_contrib import MaskablePPO
from stable_baselines3.common.vec_env import DummyVecEnv

from agents import PolicyAgent, RandomAgent
from agents.apps.cli.shared import new_table
from agents.arena import play_match, summarise
from agents.registry import make_environment
from hexenv.adapters.sb3 import BoardVecEnv

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--game", default="Connect4")
parser.add_argument("--steps", type=int, default=65_536)
parser.add_argument("--seeds", type=int, default=3)
parser.add_argument("--envs", type=int, default=64)
parser.add_argument("--games", type=int, default=200)
args = parser.parse_args()
torch.set_num_threads(1)
OPTIONS = {"opponent": "random", "mask_in": "info"}


def native():
    """The boards stepped by compiled code."""
    return BoardVecEnv(f"hexenv/{args.game}-v0", num_envs=args.envs, **OPTIONS)


def dummy():
    """Single environments in a Python loop."""
    return DummyVecEnv([lambda: gymnasium.make(f"hexenv/{args.game}-v0", **OPTIONS)] * args.envs)


def timed(function, spent):
    """The function, whose time is added to `spent`."""

    def run(*arguments, **keywords):
        started = time.perf_counter()
        try:
            return function(*arguments, **keywords)
        finally:
            spent.append(time.perf_counter() - started)

    return run


def train(make_envs, seed):
    """Train; returns seconds in all, seconds in the environment, and the games against random."""
    envs, spent = make_envs(), []
    for name in ("step_wait", "env_method"):  # steps and masks
        setattr(envs, name, timed(getattr(envs, name), spent))
    model = MaskablePPO(
        "MlpPolicy", envs, n_steps=64, batch_size=512, n_epochs=4, learning_rate=5e-4,
        policy_kwargs={"net_arch": [256, 256]}, seed=seed, device="cpu",
    )  # fmt: skip
    envs.reset()
    started = time.perf_counter()
    model.learn(args.steps)
    seconds = time.perf_counter() - started
    players = [PolicyAgent.from_sb3(model), RandomAgent()]
    games = play_match(make_environment(args.game.lower()), players, args.games, seed=seed)
    return seconds, sum(spent), list(games)


columns = ("environment", "seed", "steps /s", "in the environment", "score against random")
table = new_table(*columns, title=f"MaskablePPO, {args.game}, {args.steps:,} steps")
for make_envs in (native, dummy):
    played = []
    for seed in range(args.seeds):
        seconds, inside, games = train(make_envs, seed)
        played += games
        score = summarise(games).score
        row = (f"{args.steps / seconds:,.0f}", f"{inside / seconds:.0%}", f"{score:.3f}")
        table.add_row(make_envs.__name__, str(seed), *row)
    summary = summarise(played)
    score = f"{summary.score:.3f} ({summary.interval[0]:.3f}-{summary.interval[1]:.3f})"
    table.add_row(make_envs.__name__, "all", "", "", score)
Console(width=100).print(table)
