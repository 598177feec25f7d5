"""Train a baseline that this suite ships: MaskablePPO, or DQN with masks, against its own past.

pip install -e ".[sb3,train]"
python examples/rl/baselines.py ppo connect4 --minutes 60 --out ppo-connect4.safetensors
hexenv match connect4 network:net=ppo-connect4.safetensors uct:simulations=100 --games 100

The network is one of ``hexenv train``, so that it plays without PyTorch and leads a search, too.
"""

import argparse
import json
import time
from typing import Any

import numpy as np
import torch
from common import game_options
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3 import DQN
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.dqn.policies import DQNPolicy
from torch import Tensor, nn

from agents.learning.configuration import NetworkOptions
from agents.learning.files import save_network
from agents.learning.networks import new_network
from agents.learning.saved import game_of
from hexenv.adapters.sb3 import BoardVecEnv, SelfPlay
from hexenv.learners.pool import OpponentPool

IDS = {"tictactoe": "TicTacToe", "connect4": "Connect4", "hex": "Hex", "gomoku": "Gomoku"}
LEAST_Q = -10.0
"""Of an illegal action, below every return."""


def network_options(game: str) -> NetworkOptions:
    """Of the network: small, so that a position takes NumPy about a millisecond."""
    heads: Any = "dense" if game in ("tictactoe", "connect4") else "convolutional"
    return NetworkOptions(channels=32, blocks=3, heads=heads, canonical=game == "hex")


class Network(BaseFeaturesExtractor):
    """A network of the suite as what Stable-Baselines3 calls features: its logits and its value.

    Its normalisations keep their first averages: those of a rollout would differ from those of an
    update, which PPO compares.
    """

    def __init__(
        self, observation_space: Any, game: str, options: dict[str, Any], masked: bool
    ) -> None:
        made = game_of(game, options)
        super().__init__(observation_space, made.num_actions() + 1)
        self.network = new_network(made, network_options(game)).eval()
        self.is_by_column = made.num_actions() < made.rows * made.columns
        self.masked = masked

    def train(self, mode: bool = True) -> "Network":
        return self

    def forward(self, planes: Tensor) -> Tensor:
        logits, values = self.network(planes)
        if self.masked:
            taken = planes[..., :2].sum(-1) > 0
            illegal = taken.all(1) if self.is_by_column else taken.flatten(1)
            logits = logits.masked_fill(illegal, LEAST_Q)
        return torch.cat([logits, values[:, None]], 1)


class Part(nn.Module):
    """Some columns of its input."""

    def __init__(self, start: int, stop: int) -> None:
        super().__init__()
        self.start, self.stop = start, stop

    def forward(self, features: Tensor) -> Tensor:
        return features[:, self.start : self.stop]


class ActorCritic(MaskableActorCriticPolicy):
    """An actor-critic whose logits and values are those of `Network`."""

    def _build(self, lr_schedule: Any) -> None:
        super()._build(lr_schedule)
        actions = self.action_space.n
        self.action_net, self.value_net = Part(0, actions), Part(actions, actions + 1)


class QPolicy(DQNPolicy):
    """A Q-network whose values are the logits of `Network`, without the illegal actions."""

    def make_q_net(self) -> Any:
        found = super().make_q_net()
        found.q_net = Part(0, self.action_space.n)
        return found


class MaskedDQN(DQN):
    """DQN that explores legal actions only."""

    def _setup_model(self) -> None:
        super()._setup_model()
        self.draws = np.random.default_rng(self.seed)

    def predict(
        self, observation: Any, state: Any = None, episode_start: Any = None, deterministic=False
    ) -> Any:
        actions, state = self.policy.predict(observation, deterministic=True)
        if deterministic:
            return actions, state
        masks = self.env.action_masks()
        legal = (self.draws.random(masks.shape) * masks).argmax(1)
        explores = self.draws.random(len(masks)) < self.exploration_rate
        return np.where(explores, legal, actions), state


class Until(BaseCallback):
    """Ends training at the end of its time; `share` of it is left to the learning rate."""

    def __init__(self, seconds: float, steps: int) -> None:
        super().__init__()
        self.seconds, self.steps, self.share = seconds, steps, 1.0
        self.started = time.perf_counter()

    def _on_step(self) -> bool:
        passed = (time.perf_counter() - self.started) / self.seconds
        self.share = max(0.0, 1.0 - max(passed, self.num_timesteps / self.steps))
        if isinstance(self.model, DQN):
            self.model.exploration_rate = 0.05 + 0.95 * max(0.0, 1.0 - 5.0 * (1.0 - self.share))
        return self.share > 0.0


def new_model(args: argparse.Namespace, envs: BoardVecEnv, until: Until) -> Any:
    """A model that has learned nothing."""
    is_ppo = args.algorithm == "ppo"
    features = {"game": args.game, "options": game_options(args), "masked": not is_ppo}
    common: dict[str, Any] = {
        "policy_kwargs": {
            "features_extractor_class": Network,
            "features_extractor_kwargs": features,
            "net_arch": [],
        },
        "gamma": 0.99,
        "seed": args.seed,
        "device": args.device,
    }
    if is_ppo:
        common["policy_kwargs"]["ortho_init"] = False
        return MaskablePPO(
            ActorCritic, envs, n_steps=16, batch_size=args.boards * 4, n_epochs=3, gae_lambda=0.9,
            learning_rate=lambda _: 1e-3 * until.share, ent_coef=0.01, **common,
        )  # fmt: skip
    return MaskedDQN(
        QPolicy, envs, learning_rate=lambda _: 1e-4 + 4e-4 * until.share, buffer_size=args.buffer,
        learning_starts=0, batch_size=512, train_freq=4, gradient_steps=args.boards // 64,
        target_update_interval=100 * args.boards, n_steps=3, **common,
    )  # fmt: skip


def save(model: Any, args: argparse.Namespace, until: Until) -> None:
    """Write the network, with how it was trained."""
    network = getattr(model.policy, "q_net", model.policy).features_extractor.network
    if args.algorithm == "dqn":  # it has no values: 0 is the least wrong
        nn.init.zeros_(network.value_out.weight)
        nn.init.zeros_(network.value_out.bias)
    about = {
        "algorithm": {"ppo": "MaskablePPO", "dqn": "DQN"}[args.algorithm],
        "steps": model.num_timesteps,
        "minutes": round((time.perf_counter() - until.started) / 60, 1),
        "device": str(model.device),
        "boards": args.boards,
        "seed": args.seed,
        "licence": "MIT",
    }
    played = args.game, game_options(args)
    save_network(args.out, network, network_options(args.game), played, about)
    print(f"{args.out}: {json.dumps(about)}", flush=True)


def main() -> None:
    """Train and save."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("algorithm", choices=["ppo", "dqn"])
    parser.add_argument("game", choices=list(IDS))
    parser.add_argument("--board-size", type=int, help="of Hex and Gomoku")
    parser.add_argument("--steps", type=int, default=1_000_000_000, help="of the learner, at most")
    parser.add_argument("--minutes", type=float, default=240.0, help="at most")
    parser.add_argument("--boards", type=int, default=256, help="that are played at once")
    parser.add_argument("--buffer", type=int, default=500_000, help="positions that DQN keeps")
    parser.add_argument("--device", default="auto", help="of PyTorch")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", required=True, help="the network's file")
    args = parser.parse_args()
    torch.set_num_threads(1)
    pool = OpponentPool([("random", 2), ("greedy", 2)], most=6)
    envs = BoardVecEnv(
        f"hexenv/{IDS[args.game]}-v0", num_envs=args.boards, opponent=pool, seed=args.seed,
        mask_in="info", **game_options(args),
    )  # fmt: skip
    until = Until(60 * args.minutes, args.steps)
    model = new_model(args, envs, until)
    every = max(args.boards * 16 * 30, 1)
    model.learn(args.steps, callback=[until, SelfPlay(pool, every, temperature=1.0)])
    for title, results in pool.results.items():
        print(f"  {title}: {results.games} games, score {results.score:.3f}", flush=True)
    save(model, args, until)


if __name__ == "__main__":
    main()
