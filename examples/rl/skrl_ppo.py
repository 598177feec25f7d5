"""PPO of skrl with action masks, over the native vector environment, and the result.

    pip install -e ".[skrl]"
    python examples/rl/skrl_ppo.py --game Hex --board-size 5

skrl knows no masks: it hands a model the whole observation, flattened, and the policy's model here
takes the mask out of it and closes the illegal actions. The learner plays a pool: random, greedy,
and itself as it was now and then.
"""

import logging
import time

import gymnasium
import numpy as np
import skrl
import torch
from common import evaluate, game_options, parser
from skrl.agents.torch.ppo import PPO
from skrl.envs.wrappers.torch import wrap_env
from skrl.memories.torch import RandomMemory
from skrl.models.torch import CategoricalMixin, DeterministicMixin, Model
from skrl.trainers.torch import SequentialTrainer
from skrl.utils import set_seed
from skrl.utils.spaces.torch import unflatten_tensorized_space
from torch import nn

import hexenv  # noqa: F401  # registers the environments
from agents import PolicyAgent
from hexenv.learners.pool import OpponentPool

options = parser(__doc__, steps=1_000_000)
options.add_argument("--envs", type=int, default=128)
options.add_argument("--rollout", type=int, default=64, help="steps between updates")
args = options.parse_args()
torch.set_num_threads(1)
skrl.logger.setLevel(logging.WARNING)
set_seed(args.seed)

pool = OpponentPool(["random", ("greedy", 2)], most=4)
envs = gymnasium.make_vec(
    f"hexenv/{args.game}-v0",
    num_envs=args.envs,
    opponent=pool,
    autoreset_mode="SameStep",  # skrl would learn from the step that NextStep spends on a reset
    dtype=np.float32,
    **game_options(args),
)
env = wrap_env(envs, wrapper="gymnasium")
cells = int(np.prod(env.observation_space["observation"].shape))


def layers(outputs):
    """Planes to numbers."""
    return nn.Sequential(
        nn.Flatten(),
        nn.Linear(cells, 256),
        nn.ReLU(),
        nn.Linear(256, 256),
        nn.ReLU(),
        nn.Linear(256, outputs),
    )


class MaskedPolicy(CategoricalMixin, Model):
    """Logits of all actions, the illegal ones closed."""

    def __init__(self):
        Model.__init__(self, observation_space=env.observation_space, action_space=env.action_space)
        CategoricalMixin.__init__(self)
        self.network = layers(self.num_actions)

    def compute(self, inputs, role=""):
        seen = unflatten_tensorized_space(self.observation_space, inputs["observations"])
        logits = self.network(seen["observation"])
        return logits.masked_fill(seen["action_mask"] == 0, -1e8), {}


class Value(DeterministicMixin, Model):
    """What a position is worth to the learner."""

    def __init__(self):
        Model.__init__(self, observation_space=env.observation_space, action_space=env.action_space)
        DeterministicMixin.__init__(self)
        self.network = layers(1)

    def compute(self, inputs, role=""):
        seen = unflatten_tensorized_space(self.observation_space, inputs["observations"])
        return self.network(seen["observation"]), {}


policy = MaskedPolicy()
updates = max(args.steps // args.envs // args.rollout, 1)
steps = updates * args.rollout
EPOCHS = 4


class SelfPlay(PPO):
    """PPO that adds its policy to the pool now and then."""

    def post_interaction(self, *, timestep, timesteps):
        super().post_interaction(timestep=timestep, timesteps=timesteps)
        if timestep and timestep % (timesteps // 8) == 0:
            frozen = PolicyAgent.from_torch(policy.network, frozen=True)
            pool.add(frozen, pool.new_title(f"step {timestep * args.envs}"))


agent = SelfPlay(
    models={"policy": policy, "value": Value()},
    memory=RandomMemory(memory_size=args.rollout, num_envs=args.envs),
    observation_space=env.observation_space,
    action_space=env.action_space,
    cfg={
        "rollouts": args.rollout,
        "learning_epochs": EPOCHS,
        "mini_batches": max(args.envs * args.rollout // 1024, 1),
        "discount_factor": 0.98,
        "learning_rate": 1e-3,
        "learning_rate_scheduler": torch.optim.lr_scheduler.LambdaLR,
        "learning_rate_scheduler_kwargs": {"lr_lambda": lambda done: 1 - done / (updates * EPOCHS)},
        "entropy_loss_scale": 0.01,
        "value_loss_scale": 0.5,
        "experiment": {"write_interval": 0, "checkpoint_interval": 0},  # no files
    },
)
trainer = SequentialTrainer(
    env=env,
    agents=agent,
    cfg={"timesteps": steps, "headless": True, "disable_progressbar": True},
)

print("before training")
evaluate(PolicyAgent.from_torch(policy.network), args, ["random", "greedy"])
started = time.perf_counter()
trainer.train()
print(f"after {steps * args.envs:,} steps, {time.perf_counter() - started:.0f} s")
print(f"  snapshots of its past: {pool.count - 2}")
print(f"  illegal moves in training: {envs.unwrapped.illegal_actions}")
evaluate(PolicyAgent.from_torch(policy.network), args, ["random", "greedy", *args.against])
