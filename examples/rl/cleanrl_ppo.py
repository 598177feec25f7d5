"""PPO with action masks in one file, over the native vector environment. Needs PyTorch alone.

    python examples/rl/cleanrl_ppo.py --game Hex --board-size 5

After CleanRL's `ppo.py` (Huang et al. 2022): read it from top to bottom. The learner plays a pool:
random, greedy, and itself as it was now and then.
"""

import copy
import time

import gymnasium
import numpy as np
import torch
from common import evaluate, game_options, parser
from torch import nn
from torch.distributions import Categorical

import hexenv  # noqa: F401  # registers the environments
from agents import PolicyAgent

options = parser(__doc__, steps=1_000_000)
options.add_argument("--envs", type=int, default=128)
options.add_argument("--rollout", type=int, default=64, help="steps between updates")
options.add_argument("--epochs", type=int, default=4)
options.add_argument("--minibatch", type=int, default=1024)
options.add_argument("--learning-rate", type=float, default=1e-3)
options.add_argument("--gamma", type=float, default=0.98)
options.add_argument("--gae-lambda", type=float, default=0.95)
options.add_argument("--clip", type=float, default=0.2)
options.add_argument("--entropy", type=float, default=0.01)
args = options.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)


class Network(nn.Module):
    """Logits of all actions, and a value."""

    def __init__(self, inputs, actions, width=256):
        super().__init__()
        self.body = nn.Sequential(
            nn.Flatten(),
            nn.Linear(inputs, width),
            nn.ReLU(),
            nn.Linear(width, width),
            nn.ReLU(),
        )
        self.logits = nn.Linear(width, actions)
        self.value = nn.Linear(width, 1)
        nn.init.orthogonal_(self.logits.weight, 0.01)

    def forward(self, boards):
        hidden = self.body(boards)
        return self.logits(hidden), self.value(hidden).squeeze(-1)


def masked(logits, masks):
    """The distribution over legal actions."""
    return Categorical(logits=logits.masked_fill(~masks, -1e8))


envs = gymnasium.make_vec(
    f"hexenv/{args.game}-v0",
    num_envs=args.envs,
    opponent=["random", "greedy"],
    autoreset_mode="SameStep",  # the next episode begins in the step that ends the last
    mask_in="info",
    dtype=np.float32,
    **game_options(args),
)
network = Network(
    int(np.prod(envs.single_observation_space.shape)), int(envs.single_action_space.n)
)
optimizer = torch.optim.Adam(network.parameters(), args.learning_rate, eps=1e-5)
print("before training")
evaluate(PolicyAgent.from_torch(network), args, ["random", "greedy"])

T, N = args.rollout, args.envs
boards = torch.zeros((T, N, *envs.single_observation_space.shape))
masks = torch.zeros((T, N, int(envs.single_action_space.n)), dtype=torch.bool)
actions = torch.zeros((T, N), dtype=torch.int64)
log_probs, rewards, dones, values = (torch.zeros((T, N)) for _ in range(4))
updates = max(args.steps // (T * N), 1)
snapshots = []
observation, _ = envs.reset(seed=args.seed)
started, stepping = time.perf_counter(), 0.0

for update in range(updates):
    for group in optimizer.param_groups:
        group["lr"] = args.learning_rate * (1.0 - update / updates)
    if update and update % max(updates // 8, 1) == 0:
        past = PolicyAgent.from_torch(copy.deepcopy(network), temperature=1.0)
        snapshots.append(past)
        envs.unwrapped.set_opponent(["random", "greedy", "greedy", *snapshots[-4:]])

    for t in range(T):
        boards[t] = torch.as_tensor(observation)
        masks[t] = torch.as_tensor(envs.unwrapped.action_masks())
        with torch.no_grad():
            logits, values[t] = network(boards[t])
            policy = masked(logits, masks[t])
            actions[t] = policy.sample()
            log_probs[t] = policy.log_prob(actions[t])
        before = time.perf_counter()
        observation, reward, terminated, truncated, _ = envs.step(actions[t].numpy())
        stepping += time.perf_counter() - before
        rewards[t] = torch.as_tensor(reward)
        dones[t] = torch.as_tensor(terminated | truncated)

    with torch.no_grad():  # generalised advantage estimation (Schulman et al. 2016)
        next_value = network(torch.as_tensor(observation))[1]
        advantages, advantage = torch.zeros((T, N)), torch.zeros(N)
        for t in reversed(range(T)):
            live = 1.0 - dones[t]
            delta = rewards[t] + args.gamma * next_value * live - values[t]
            advantage = delta + args.gamma * args.gae_lambda * live * advantage
            advantages[t], next_value = advantage, values[t]
        returns = advantages + values

    flat = [x.flatten(0, 1) for x in (boards, masks, actions, log_probs, advantages, returns)]
    for _ in range(args.epochs):
        for picked in torch.randperm(T * N).split(args.minibatch):
            board, mask, action, old, advantage, target = (x[picked] for x in flat)
            logits, value = network(board)
            policy = masked(logits, mask)
            ratio = (policy.log_prob(action) - old).exp()
            advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
            clipped = ratio.clamp(1.0 - args.clip, 1.0 + args.clip)
            loss = -torch.min(ratio * advantage, clipped * advantage).mean()
            loss += 0.5 * (value - target).square().mean()
            loss -= args.entropy * policy.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(network.parameters(), 0.5)
            optimizer.step()

seconds = time.perf_counter() - started
print(f"after {updates * T * N:,} steps, {seconds:.0f} s, of which {stepping:.0f} s in step")
print(f"  snapshots of its past: {len(snapshots)}")
print(f"  illegal moves in training: {envs.unwrapped.illegal_actions}")
evaluate(PolicyAgent.from_torch(network), args, ["random", "greedy", *args.against])
