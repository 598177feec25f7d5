"""Train MaskablePPO (sb3-contrib) against a mixed pool and its own past, and measure the result.

pip install -e ".[sb3]"
python examples/rl/maskable_ppo.py --out connect4.zip
hexenv match connect4 sb3:path=connect4.zip uct:simulations=200 --games 100
"""

import time
from pathlib import Path

import torch
from common import evaluate, game_options, parser
from sb3_contrib import MaskablePPO

from agents import PolicyAgent
from hexenv.adapters.sb3 import BoardCNN, BoardVecEnv, SelfPlay
from hexenv.learners.pool import OpponentPool

options = parser(__doc__, steps=1_500_000)
options.add_argument("--out", help="the model's file")
options.add_argument("--pool", help="the folder of the pool, which goes on from it")
options.add_argument("--cnn", action="store_true", help="convolutions in place of a flat network")
args = options.parse_args()
torch.set_num_threads(1)
torch.manual_seed(args.seed)

if args.pool is not None and (Path(args.pool) / "pool.json").exists():
    pool = OpponentPool.load(args.pool)
else:
    pool = OpponentPool(["random", ("greedy", 2)], most=4)
envs = BoardVecEnv(
    f"hexenv/{args.game}-v0",
    num_envs=128,
    opponent=pool,
    mask_in="info",
    **game_options(args),
)
if args.cnn:
    policy_kwargs = {
        "features_extractor_class": BoardCNN,
        "features_extractor_kwargs": {"features_dim": 256, "channels": 32, "layers": 3},
        "net_arch": [],
    }
else:
    policy_kwargs = {"net_arch": [256, 256]}
model = MaskablePPO(
    "MlpPolicy",
    envs,
    n_steps=64,
    batch_size=1024,
    n_epochs=4,
    learning_rate=lambda left: 1e-3 * left,
    ent_coef=0.01,
    gamma=0.98,
    policy_kwargs=policy_kwargs,
    seed=args.seed,
)
print("before training")
evaluate(PolicyAgent.from_sb3(model), args, ["random", "greedy"])
started = time.perf_counter()
self_play = SelfPlay(pool, every=max(args.steps // 8, 1), folder=args.pool)
model.learn(args.steps, callback=self_play)
model.save(args.out or f"{args.game.lower()}.zip")
print(f"after {model.num_timesteps:,} steps, {time.perf_counter() - started:.0f} s")
print(f"  snapshots of its past: {pool.count - 2}")
for title, results in pool.results.items():
    print(f"  against {title}: {results.games} games, score {results.score:.3f}")
print(f"  illegal moves in training: {envs.get_attr('illegal_actions')[0]}")
evaluate(PolicyAgent.from_sb3(model), args, ["random", "greedy", *args.against])
