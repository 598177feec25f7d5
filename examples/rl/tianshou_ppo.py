"""PPO of tianshou with action masks in the model, and the result.

    pip install -e ".[tianshou]"
    python examples/rl/tianshou_ppo.py --game Hex --board-size 5

tianshou's PPO knows no masks, but hands its actor the whole observation: the actor here closes the
illegal actions. The learner plays a pool: random, greedy, and itself as it was now and then.
"""

import random
import time

import gymnasium
import numpy as np
import torch
from common import evaluate, game_options, parser
from gymnasium.spaces import Dict
from gymnasium.wrappers import TransformObservation
from tianshou.algorithm import PPO
from tianshou.algorithm.modelfree.reinforce import ProbabilisticActorPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory, LRSchedulerFactoryLinear
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OnPolicyTrainerParams
from torch import nn
from torch.distributions import Categorical

import hexenv  # noqa: F401  # registers the environments
from agents import PolicyAgent
from hexenv.learners.pool import OpponentPool

options = parser(__doc__, steps=300_000)
options.add_argument("--envs", type=int, default=64)
options.add_argument("--rollout", type=int, default=64, help="steps between updates")
args = options.parse_args()
torch.set_num_threads(1)
for seed in (random.seed, np.random.seed, torch.manual_seed):
    seed(args.seed)

pool = OpponentPool(["random", ("greedy", 2)], most=4)


def make_env():
    """The environment, with names that do not collide with those of tianshou's batches."""
    env = gymnasium.make(
        f"hexenv/{args.game}-v0", opponent=pool, dtype=np.float32, **game_options(args)
    )
    names = {"obs": "observation", "mask": "action_mask"}
    return TransformObservation(
        env,
        lambda seen: {new: seen[old] for new, old in names.items()},
        Dict({new: env.observation_space[old] for new, old in names.items()}),
    )


envs = DummyVectorEnv([make_env for _ in range(args.envs)])
envs.seed(args.seed)
space, actions = envs.observation_space[0], envs.action_space[0]


def layers(outputs):
    """Planes to numbers."""
    return nn.Sequential(
        nn.Flatten(),
        nn.Linear(int(np.prod(space["observation"].shape)), 256),
        nn.ReLU(),
        nn.Linear(256, 256),
        nn.ReLU(),
        nn.Linear(256, outputs),
    )


class MaskedActor(nn.Module):
    """Logits of all actions, the illegal ones closed."""

    def __init__(self):
        super().__init__()
        self.network = layers(int(actions.n))

    def forward(self, obs, state=None, info=None):
        logits = self.network(torch.as_tensor(obs.obs))
        return logits.masked_fill(torch.as_tensor(obs.mask) == 0, -1e8), state


class Critic(nn.Module):
    """What a position is worth to the learner."""

    def __init__(self):
        super().__init__()
        self.network = layers(1)

    def forward(self, obs):
        return self.network(torch.as_tensor(obs.obs))


actor = MaskedActor()
steps_per_update = args.envs * args.rollout
updates = max(args.steps // steps_per_update, 1)
algorithm = PPO(
    policy=ProbabilisticActorPolicy(
        actor=actor,
        dist_fn=lambda logits: Categorical(logits=logits),
        action_space=actions,
        action_scaling=False,
        action_bound_method=None,
    ),
    critic=Critic(),
    optim=AdamOptimizerFactory(lr=1e-3).with_lr_scheduler_factory(
        LRSchedulerFactoryLinear(
            max_epochs=1,
            epoch_num_steps=updates * steps_per_update,
            collection_step_num_env_steps=steps_per_update,
        )
    ),
    gamma=0.98,
    gae_lambda=0.95,
    ent_coef=0.01,
    vf_coef=0.5,
    max_grad_norm=0.5,
    max_batchsize=4096,
)
collector = Collector(algorithm, envs, VectorReplayBuffer(steps_per_update, args.envs))
taken = 0


def snapshot(epoch, step):
    """Add the policy as it is to the pool, at equal distances."""
    global taken
    if step * 8 // (updates * steps_per_update) > taken:
        taken += 1
        frozen = PolicyAgent.from_torch(actor.network, frozen=True)
        pool.add(frozen, pool.new_title(f"step {step}"))


print("before training")
evaluate(PolicyAgent.from_torch(actor.network), args, ["random", "greedy"])
started = time.perf_counter()
collector.reset()
algorithm.run_training(
    OnPolicyTrainerParams(
        training_collector=collector,
        max_epochs=1,
        epoch_num_steps=updates * steps_per_update,
        collection_step_num_env_steps=steps_per_update,
        update_step_num_repetitions=4,
        batch_size=1024,
        training_fn=snapshot,
        verbose=False,
        show_progress=False,
    )
)
print(f"after {collector.collect_step:,} steps, {time.perf_counter() - started:.0f} s")
print(f"  snapshots of its past: {pool.count - 2}")
print(f"  illegal moves in training: {sum(envs.get_env_attr('illegal_actions'))}")
evaluate(PolicyAgent.from_torch(actor.network), args, ["random", "greedy", *args.against])
