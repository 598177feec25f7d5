"""Train RLlib's PPO (new API stack) with its masking module, and measure the result.

pip install -e ".[rllib]"
python examples/rl/rllib_ppo.py --game Hex --board-size 5
"""

import tempfile
import time

import ray
from common import evaluate, game_options, parser
from ray.rllib.algorithms.ppo import PPOConfig
from ray.tune.registry import register_env

from agents import PolicyAgent
from hexenv.adapters.rllib import make_env, masked_module

options = parser(__doc__, steps=300_000)
options.add_argument("--env-runners", type=int, default=0, help="processes that play")
args = options.parse_args()

ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
register_env("game", lambda config: make_env(f"hexenv/{args.game}-v0", **config))
config = (
    PPOConfig()
    .environment("game", env_config={"opponent": ["random", "greedy"], **game_options(args)})
    .env_runners(num_env_runners=args.env_runners, num_envs_per_env_runner=16)
    .rl_module(rl_module_spec=masked_module(hidden=[256, 256]))
    .training(train_batch_size=4_000, minibatch_size=500, num_epochs=4, lr=5e-4, gamma=0.98)
    .debugging(seed=args.seed)
)
algorithm = config.build_algo()


def policy() -> PolicyAgent:
    """The policy as it is now, by way of a checkpoint."""
    with tempfile.TemporaryDirectory() as folder:
        algorithm.save_to_path(folder)
        return PolicyAgent.from_rllib(folder)


print("before training")
evaluate(policy(), args, ["random", "greedy"])
started, steps = time.perf_counter(), 0
while steps < args.steps:
    steps = int(algorithm.train()["num_env_steps_sampled_lifetime"])
print(f"after {steps:,} steps, {time.perf_counter() - started:.0f} s")
runner = algorithm.env_runner_group.local_env_runner
if args.env_runners == 0:
    illegal = sum(env.unwrapped.illegal_actions for env in runner.env.unwrapped.envs)
    print(f"  illegal moves in training: {illegal}")
evaluate(policy(), args, ["random", "greedy", *args.against])
algorithm.stop()
ray.shutdown()
