"""Self-play with TorchRL over many boards: its PPO loss on both players' moves, and the result.

    pip install -e ".[torchrl]"
    python examples/rl/torchrl_ppo.py --game Hex --board-size 5

One network plays both sides of every board. What the next position is worth, it is worth to the
other player: TorchRL's own estimator takes that with the opposite sign by a negative gamma.
"""

import time
import warnings

import torch
from common import evaluate, game_options, parser
from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.collectors import Collector
from torchrl.modules import ActorValueOperator, MaskedCategorical, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

from agents import PolicyAgent
from hexenv.adapters.networks import BoardFeatures
from hexenv.adapters.torchrl import BatchedBoardEnv

options = parser(__doc__, steps=500_000)
options.add_argument("--envs", type=int, default=128)
options.add_argument("--rollout", type=int, default=64, help="moves of each board between updates")
options.add_argument("--gamma", type=float, default=0.98)
options.add_argument("--cnn", action="store_true", help="convolutions in place of a flat network")
args = options.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
warnings.filterwarnings("ignore", category=DeprecationWarning)  # TorchRL's own


class FlatFeatures(nn.Sequential):
    """Planes to 256 features, by two layers."""

    def __init__(self, inputs):
        super().__init__(nn.Linear(inputs, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU())

    def forward(self, boards):
        return super().forward(boards.flatten(-3).float())


env = BatchedBoardEnv(
    f"hexenv/{args.game}-v0", num_envs=args.envs, seed=args.seed, **game_options(args)
)
shape = env.observation_spec["observation"].shape[1:]
if args.cnn:
    features = BoardFeatures(shape, features=256, channels=32)
else:
    features = FlatFeatures(shape.numel())
logits = nn.Linear(256, env.action_spec.n)
nn.init.orthogonal_(logits.weight, 0.01)
network = ActorValueOperator(
    TensorDictModule(features, ["observation"], ["features"]),
    ProbabilisticActor(
        TensorDictModule(logits, ["features"], ["logits"]),
        in_keys={"logits": "logits", "mask": "action_mask"},
        distribution_class=MaskedCategorical,
        default_interaction_type="random",
        return_log_prob=True,
    ),
    ValueOperator(nn.Linear(256, 1), ["features"]),
)
policy, value = network.get_policy_operator(), network.get_value_operator()
advantage = GAE(gamma=-args.gamma, lmbda=0.95, value_network=value)
loss = ClipPPOLoss(
    policy, value, entropy_coeff=0.01, critic_coeff=0.5, loss_critic_type="l2",
    normalize_advantage=True,
)  # fmt: skip
optimizer = torch.optim.Adam(network.parameters(), 1e-3)
frames = args.envs * args.rollout
updates = max(args.steps // frames, 1)
schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, updates)
agent = PolicyAgent.from_torch(nn.Sequential(features, logits))

print("before training")
evaluate(agent, args, ["random", "greedy"])
started = time.perf_counter()
collector = Collector(
    env,
    policy,
    frames_per_batch=frames,
    total_frames=updates * frames,
    auto_register_policy_transforms=False,
)
for data in collector:
    with torch.no_grad():
        advantage(data)
    moves = data.reshape(-1)
    for picked in [some for _ in range(4) for some in torch.randperm(frames).split(1024)]:
        losses = loss(moves[picked])
        optimizer.zero_grad()
        (losses["loss_objective"] + losses["loss_entropy"] + losses["loss_critic"]).backward()
        nn.utils.clip_grad_norm_(network.parameters(), 0.5)
        optimizer.step()
    schedule.step()
print(f"after {updates * frames:,} moves, {time.perf_counter() - started:.0f} s")
print(f"  illegal moves in training: {env.envs.illegal_actions}")
evaluate(agent, args, ["random", "greedy", *args.against])
