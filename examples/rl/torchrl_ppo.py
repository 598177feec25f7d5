"""Self-play with TorchRL over the PettingZoo environment: PPO on whole games, and the result.

    pip install -e ".[torchrl]"
    python examples/rl/torchrl_ppo.py --game Hex --board-size 5

One network plays both sides. The environment is stepped in Python, one move at a time.
"""

import time

import torch
from common import evaluate, game_options, parser
from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.modules import MaskedCategorical, ProbabilisticActor

from agents import PolicyAgent
from agents.registry import make_environment
from hexenv.adapters.torchrl import GROUP, wrap

options = parser(__doc__, steps=40_000)
options.add_argument("--rollout", type=int, default=2_000, help="moves between updates")
options.add_argument("--gamma", type=float, default=0.98)
args = options.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)

choices = [f"{key}={value}" for key, value in game_options(args).items()]
env = wrap(make_environment(args.game.lower(), choices), seed=args.seed)
actions = env.action_spec[GROUP, "action"].space.n
inputs = env.observation_spec[GROUP, "observation", "observation"].shape[1:].numel()


class Network(nn.Module):
    """Logits and a value for each player's view."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(inputs, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU())
        self.logits, self.value = nn.Linear(256, actions), nn.Linear(256, 1)

    def forward(self, boards):
        hidden = self.body(boards.flatten(-3).float())
        return self.logits(hidden), self.value(hidden).squeeze(-1)


network = Network()
views, masks = (GROUP, "observation", "observation"), (GROUP, "action_mask")
policy = ProbabilisticActor(
    TensorDictModule(network, in_keys=[views], out_keys=[(GROUP, "logits"), (GROUP, "value")]),
    in_keys={"logits": (GROUP, "logits"), "mask": masks},
    out_keys=[(GROUP, "action")],
    distribution_class=MaskedCategorical,
    default_interaction_type="random",
)
optimizer = torch.optim.Adam(network.parameters(), 1e-3)


def played(data):
    """The moves of finished games: views, masks, actions, and what came of each for its player."""
    ends, rewards = data["next", "done"].squeeze(-1), data["next", GROUP, "reward"].squeeze(-1)
    outcome, outcomes = None, torch.full(rewards.shape, torch.nan)
    for move in reversed(range(len(data))):
        if ends[move]:
            outcome = rewards[move]
        elif outcome is not None:
            outcome = args.gamma * outcome
        if outcome is not None:
            outcomes[move] = outcome
    of_turn = data[GROUP, "mask"] & ~outcomes.isnan()
    return [x[of_turn] for x in (data[views], data[masks], data[GROUP, "action"], outcomes)]


print("before training")
evaluate(PolicyAgent.from_torch(network), args, ["random", "greedy"])
started, illegal = time.perf_counter(), 0
rollouts = max(args.steps // args.rollout, 1)
for _ in range(rollouts):
    with torch.no_grad():
        data = env.rollout(args.rollout, policy, break_when_any_done=False)
    boards, mask, action, outcome = played(data)
    if len(action) < 2:
        raise SystemExit("expected a --rollout in which games end")
    illegal += int((~mask.gather(-1, action.unsqueeze(-1))).sum())
    with torch.no_grad():
        logits, value = network(boards)
        old = MaskedCategorical(logits=logits, mask=mask).log_prob(action)
        advantage = outcome - value
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    for picked in [some for _ in range(4) for some in torch.randperm(len(action)).split(256)]:
        logits, value = network(boards[picked])
        distribution = MaskedCategorical(logits=logits, mask=mask[picked])
        ratio, gain = (distribution.log_prob(action[picked]) - old[picked]).exp(), advantage[picked]
        loss = -torch.min(ratio * gain, ratio.clamp(0.8, 1.2) * gain).mean()
        loss += 0.5 * (value - outcome[picked]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(f"after {rollouts * args.rollout:,} moves, {time.perf_counter() - started:.0f} s")
print(f"  illegal moves in training: {illegal}")
evaluate(PolicyAgent.from_torch(network), args, ["random", "greedy", *args.against])
