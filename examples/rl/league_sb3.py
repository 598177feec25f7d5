"""Train MaskablePPO against a league of its own past, and rate it beside opponents that stay.

pip install -e ".[sb3]"
python examples/rl/league_sb3.py --folder runs/league
tensorboard --logdir runs/league
"""

import argparse

import torch
from sb3_contrib import MaskablePPO

from agents.learning.progress import RatingLog
from hexenv.adapters.sb3 import BoardVecEnv, LogRatings, SelfPlay
from hexenv.learners.pool import OpponentPool

options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
options.add_argument("--folder", default="runs/league", help="of ratings and pool")
options.add_argument("--steps", type=int, default=1_000_000, help="of the learner")
options.add_argument("--pairs", type=int, default=10, help="of games against each anchor")
options.add_argument("--anchors", nargs="*", help="agents of the ratings, if not the usual ones")
options.add_argument("--seed", type=int, default=0)


def main() -> None:
    """Train and rate; a process of its own plays the games of the ratings."""
    args = options.parse_args()
    torch.set_num_threads(1)
    pool = OpponentPool("random", sampling="pfsp", most=32)
    envs = BoardVecEnv("hexenv/Connect4-v0", num_envs=128, opponent=pool, mask_in="info")
    model = MaskablePPO(
        "MlpPolicy", envs, n_steps=64, batch_size=1024, n_epochs=4,
        learning_rate=lambda left: 1e-3 * left, ent_coef=0.01, gamma=0.98,
        policy_kwargs={"net_arch": [256, 256]}, seed=args.seed, device="cpu",
    )  # fmt: skip
    given = {"anchors": args.anchors} if args.anchors else {}
    log = RatingLog(args.folder, "connect4", pairs=args.pairs, background=True, **given)
    rating = LogRatings(log, every=max(args.steps // 10, 1))
    league = SelfPlay(pool, every=max(args.steps // 20, 1), folder=f"{args.folder}/pool")
    model.learn(args.steps, callback=[league, rating])
    model.save(f"{args.folder}/model.zip")
    for one in log.ratings:
        scores = ", ".join(f"{score.score:.2f} {name}" for name, score in one.opponents.items())
        print(f"{one.step:>9,} steps: Elo {one.elo:.0f}; score {scores}")


if __name__ == "__main__":
    main()
