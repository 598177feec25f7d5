"""PPO of skrl with action masks, over the native vector environment, and the result.

    pip install -e ".[skrl]"
    python examples/rl/skrl_ppo.py --game Hex --board-size 5

skrl knows no masks: it hands a model the whole observation, flattened, and the policy's model here
takes the mask out of it and closes the illegal actions.
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

options = parser(__doc__, steps=400_000)
options.add_argument("--envs", type=int, default=64)
options.add_argument("--rollout", type=int, default=64, help="steps between updates")
args = options.parse_args()
torch.set_num_threads(1)
skrl.logger.setLevel(logging.WARNING)
set_seed(args.seed)

envs = gymnasium.make_vec(
    f"hexenv/{args.game}-v0",
    num_envs=args.envs,
    opponent=["random", "greedy"],
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
agent = PPO(
    models={"policy": policy, "value": Value()},
    memory=RandomMemory(memory_size=args.rollout, num_envs=args.envs),
    observation_space=env.observation_space,
    action_space=env.action_space,
    cfg={
        "rollouts": args.rollout,
        "learning_epochs": 4,
        "mini_batches": 4,
        "discount_factor": 0.98,
        "learning_rate": 5e-4,
        "entropy_loss_scale": 0.01,
        "value_loss_scale": 0.5,
        "experiment": {"write_interval": 0, "checkpoint_interval": 0},  # no files
    },
)
steps = max(args.steps // args.envs // args.rollout, 1) * args.rollout
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
print(f"  illegal moves in training: {envs.unwrapped.illegal_actions}")
evaluate(PolicyAgent.from_torch(policy.network), args, ["random", "greedy", *args.against])
