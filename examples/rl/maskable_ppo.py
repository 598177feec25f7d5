"""Train MaskablePPO (sb3-contrib) against a mixed pool and its own past, and measure the result.

pip install -e ".[sb3]"
python examples/rl/maskable_ppo.py --out connect4.zip
hexenv match connect4 sb3:path=connect4.zip uct:simulations=200 --games 100
"""

import time

import torch
from common import evaluate, game_options, parser
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback

from agents import PolicyAgent
from hexenv.adapters.sb3 import BoardVecEnv

options = parser(__doc__, steps=1_500_000)
options.add_argument("--out", help="the model's file")
args = options.parse_args()
torch.set_num_threads(1)
torch.manual_seed(args.seed)


class SelfPlay(BaseCallback):
    """Now and then adds the policy as it is to the opponents; the last few are kept."""

    def __init__(self, every: int, keep: int = 4) -> None:
        super().__init__()
        self.every, self.keep, self.snapshots = every, keep, []

    def _on_rollout_start(self) -> None:
        if self.num_timesteps >= self.every * (len(self.snapshots) + 1):
            past = PolicyAgent.from_sb3(self.model, frozen=True, temperature=1.0)
            self.snapshots.append(past)
            pool = ["random", "greedy", "greedy", *self.snapshots[-self.keep :]]
            self.training_env.env_method("set_opponent", pool)

    def _on_step(self) -> bool:
        return True


envs = BoardVecEnv(
    f"hexenv/{args.game}-v0",
    num_envs=128,
    opponent=["random", "greedy"],
    mask_in="info",
    **game_options(args),
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
evaluate(PolicyAgent.from_sb3(model), args, ["random", "greedy"])
started = time.perf_counter()
self_play = SelfPlay(every=max(args.steps // 8, 1))
model.learn(args.steps, callback=self_play)
model.save(args.out or f"{args.game.lower()}.zip")
print(f"after {model.num_timesteps:,} steps, {time.perf_counter() - started:.0f} s")
print(f"  snapshots of its past: {len(self_play.snapshots)}")
print(f"  illegal moves in training: {envs.get_attr('illegal_actions')[0]}")
evaluate(PolicyAgent.from_sb3(model), args, ["random", "greedy", *args.against])
