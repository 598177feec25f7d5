"""Double DQN of tianshou with action masks, and the result.

    pip install -e ".[tianshou]"
    python examples/rl/tianshou_dqn.py --game Hex --board-size 5

Of tianshou's algorithms the DQN family applies masks: in the greedy choice, in exploration and in
the targets. It wants them under `mask`, beside `obs`.
"""

import random
import time

import gymnasium
import numpy as np
import torch
from common import evaluate, game_options, parser
from gymnasium.spaces import Dict
from gymnasium.wrappers import TransformObservation
from tianshou.algorithm import DQN
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils.net.common import Net

import hexenv  # noqa: F401  # registers the environments
from agents import PolicyAgent

options = parser(__doc__, steps=150_000)
options.add_argument("--envs", type=int, default=32)
args = options.parse_args()
torch.set_num_threads(1)
for seed in (random.seed, np.random.seed, torch.manual_seed):
    seed(args.seed)


def make_env():
    """The environment, with the names that tianshou looks for."""
    env = gymnasium.make(
        f"hexenv/{args.game}-v0",
        opponent=["random", "greedy"],
        dtype=np.float32,
        **game_options(args),
    )
    names = {"obs": "observation", "mask": "action_mask"}
    return TransformObservation(
        env,
        lambda seen: {new: seen[old] for new, old in names.items()},
        Dict({new: env.observation_space[old] for new, old in names.items()}),
    )


envs = DummyVectorEnv([make_env for _ in range(args.envs)])
envs.seed(args.seed)
boards, actions = envs.observation_space[0]["observation"], envs.action_space[0]
network = Net(state_shape=boards.shape, action_shape=actions.n, hidden_sizes=[256, 256])
policy = DiscreteQLearningPolicy(model=network, action_space=actions)
algorithm = DQN(
    policy=policy,
    optim=AdamOptimizerFactory(lr=5e-4),
    gamma=0.98,
    n_step_return_horizon=3,
    target_update_freq=300,
)
collector = Collector(
    algorithm, envs, VectorReplayBuffer(100_000, args.envs), exploration_noise=True
)


def explore(epoch, step):
    """The share of random moves falls from 1 to 0.1 over the first third."""
    policy.set_eps_training(max(1.0 - 3.0 * step / args.steps, 0.1))


print("before training")
evaluate(PolicyAgent.from_torch(network), args, ["random", "greedy"])
started = time.perf_counter()
collector.reset()
algorithm.run_training(
    OffPolicyTrainerParams(
        training_collector=collector,
        max_epochs=1,
        epoch_num_steps=args.steps,
        collection_step_num_env_steps=4 * args.envs,
        update_step_num_gradient_steps_per_sample=0.0625,
        batch_size=256,
        training_fn=explore,
        verbose=False,
        show_progress=False,
    )
)
print(f"after {collector.collect_step:,} steps, {time.perf_counter() - started:.0f} s")
print(f"  illegal moves in training: {sum(envs.get_env_attr('illegal_actions'))}")
evaluate(PolicyAgent.from_torch(network), args, ["random", "greedy", *args.against])
