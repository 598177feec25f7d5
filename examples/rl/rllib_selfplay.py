"""Self-play with RLlib: a league of its own policies over the PettingZoo environment.

pip install -e ".[rllib]"
python examples/rl/rllib_selfplay.py --game Hex --board-size 5

The policy `main` learns. It plays itself as it was: copies that are frozen join the league by
RLlib's own callbacks, as often as its score against those that are there is good.
"""

import functools
import tempfile
import time

import numpy as np
import ray
from common import evaluate, game_options, parser
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.callbacks.callbacks import RLlibCallback
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.tune.registry import register_env

from agents import PolicyAgent
from agents.registry import make_environment
from hexenv.adapters.rllib import MultiAgentBoardEnv, masked_module

options = parser(__doc__, steps=100_000)
options.add_argument("--good", type=float, default=0.6, help="score with which a copy joins")
options.add_argument("--env-runners", type=int, default=0, help="processes that play")
args = options.parse_args()


def seats(agent, episode, league, **more):
    """Who plays: `main` one side, a member of the league the other; both drawn by the episode."""
    drawn = int(episode.id_, 16)
    is_main = agent == f"player_{drawn % 2}"
    return "main" if is_main else league[drawn // 2 % len(league)]


class League(RLlibCallback):
    """Adds a frozen copy of `main` when it has beaten those that are there."""

    def __init__(self):
        super().__init__()
        self.league = ["past_0"]

    def on_episode_end(self, *, episode, metrics_logger, **more):
        """Note the score of `main`: 1, 0.5 or 0."""
        for agent, rewards in episode.get_rewards().items():
            if episode.module_for(agent) == "main":
                score = (1.0 + float(np.sum(rewards))) / 2.0
                metrics_logger.log_value("score", score, reduce="mean", window=200)

    def on_train_result(self, *, algorithm, result, **more):
        """Freeze a copy where the score is good; the four last ones play."""
        if not result["env_runners"].get("score", 0.0) >= args.good:  # it may be none
            return
        main, name = algorithm.get_module("main"), f"past_{len(self.league)}"
        self.league.append(name)
        algorithm.add_module(
            module_id=name,
            module_spec=RLModuleSpec.from_module(main),
            new_agent_to_module_mapping_fn=functools.partial(seats, league=self.league[-4:]),
        )
        weights = {"rl_module": {name: main.get_state()}}
        algorithm.set_state({"learner_group": {"learner": weights}})


ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
choices = [f"{key}={value}" for key, value in game_options(args).items()]
game = make_environment(args.game.lower(), choices).unwrapped  # whose step raises if illegal
register_env("game", lambda config: MultiAgentBoardEnv(game.clone()))
config = (
    PPOConfig()
    .environment("game")
    .callbacks(League)
    .env_runners(num_env_runners=args.env_runners, num_envs_per_env_runner=16)
    .multi_agent(
        policies={"main", "past_0"},
        policy_mapping_fn=functools.partial(seats, league=["past_0"]),
        policies_to_train=["main"],  # all others are frozen
    )
    .rl_module(
        rl_module_spec=MultiRLModuleSpec(
            rl_module_specs={name: masked_module(hidden=[256, 256]) for name in ("main", "past_0")}
        )
    )
    .training(train_batch_size=4_000, minibatch_size=500, num_epochs=4, lr=5e-4, gamma=0.98)
    .debugging(seed=args.seed)
)
algorithm = config.build_algo()


def policy() -> PolicyAgent:
    """`main` as it is now, by way of a checkpoint."""
    with tempfile.TemporaryDirectory() as folder:
        algorithm.save_to_path(folder)
        return PolicyAgent.from_rllib(folder, module="main")


print("before training")
evaluate(policy(), args, ["random", "greedy"])
started, steps = time.perf_counter(), 0
while steps < args.steps:
    result = algorithm.train()
    steps = int(result["num_env_steps_sampled_lifetime"])
print(f"after {steps:,} moves, {time.perf_counter() - started:.0f} s")
modules = sorted(set(algorithm.env_runner.module.keys()) - {"main"})
print(f"  frozen policies in the league: {len(modules)}")
print("  illegal moves in training: 0")  # the environment raises an error at one
evaluate(policy(), args, ["random", "greedy", *args.against])
algorithm.stop()
ray.shutdown()
