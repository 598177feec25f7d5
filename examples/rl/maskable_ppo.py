"""Train MaskablePPO (sb3-contrib) against a mixed pool and its own past, and measure the result.

pip install "hexenv[sb3]"
python examples/rl/maskable_ppo.py                      # Connect4, about ten minutes
hexenv match connect4 sb3:path=connect4.zip uct:simulations=200 --games 100
"""

import argparse
import time

import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback

from agents import PolicyAgent
from agents.arena import play_match, summarise
from agents.naming import make_agent, make_environment
from hexenv.adapters.sb3 import BoardVecEnv

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--game", default="Connect4", help="of Hex, Connect4, TicTacToe, Gomoku")
parser.add_argument("--board-size", type=int, help="of Hex and Gomoku")
parser.add_argument("--steps", type=int, default=1_000_000, help="of the learner")
parser.add_argument("--games", type=int, default=200, help="of each evaluation")
parser.add_argument("--against", nargs="*", default=["uct:simulations=50", "uct:simulations=200"])
parser.add_argument("--out", help="the model's file")
parser.add_argument("--seed", type=int, default=0)
args = parser.parse_args()
name = args.game.lower()
size = {} if args.board_size is None else {"board_size": args.board_size}
torch.set_num_threads(2)
torch.manual_seed(args.seed)


class SelfPlay(BaseCallback):
    """Now and then adds the policy as it is to the opponents; the last few are kept."""

    def __init__(self, every: int, keep: int = 4) -> None:
        super().__init__()
        self.every, self.keep, self.snapshots = every, keep, []

    def _on_rollout_start(self) -> None:
        if self.num_timesteps >= self.every * (len(self.snapshots) + 1):
            snapshot = PolicyAgent.from_sb3(self.model, frozen=True, temperature=1.0)
            self.snapshots.append(snapshot)
            pool = ["random", "greedy", "greedy", *self.snapshots[-self.keep :]]
            self.training_env.env_method("set_opponent", pool)

    def _on_step(self) -> bool:
        return True


def evaluate(model, opponents):
    """Play matches on the PettingZoo environment and print the scores with 95 % intervals."""
    env = make_environment(name, [f"{key}={value}" for key, value in size.items()])
    policy = PolicyAgent.from_sb3(model)
    for opponent in opponents:
        games = play_match(env, [policy, make_agent(opponent)], args.games, seed=args.seed)
        summary = summarise(list(games))
        low, high = summary.interval
        print(
            f"  {opponent}: {summary.wins} won, {summary.draws} drawn, {summary.losses} lost of "
            f"{summary.games}: {summary.score:.3f} ({low:.3f}-{high:.3f}), "
            f"illegal moves {summary.illegal_moves[0]}"
        )


envs = BoardVecEnv(
    f"hexenv/{args.game}-v0", num_envs=128, opponent=["random", "greedy"], mask_in="info", **size
)
model = MaskablePPO(
    "MlpPolicy",
    envs,
    n_steps=64,
    batch_size=1024,
    n_epochs=4,
    learning_rate=lambda left: 1e-3 * left,
    ent_coef=0.01,
    gamma=0.98,
    policy_kwargs={"net_arch": [256, 256]},
    seed=args.seed,
)
print("before training")
evaluate(model, ["random", "greedy"])
started = time.perf_counter()
model.learn(args.steps, callback=SelfPlay(every=max(args.steps // 8, 1)))
print(f"after {model.num_timesteps:,} steps, {time.perf_counter() - started:.0f} s")
print(f"  illegal moves in training: {envs.get_attr('illegal_actions')[0]}")
evaluate(model, ["random", "greedy", *args.against])
model.save(args.out or f"{name}.zip")
