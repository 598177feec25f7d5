"""UCT in an environment of one agent (Gymnasium), and in one of three players (PettingZoo)."""

# pyright: basic

from typing import ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces
from pettingzoo import AECEnv

from agents import UCT

env = gymnasium.make("FrozenLake-v1", is_slippery=False)
env.reset(seed=0)
agent = UCT(simulations=300, discount=0.95, seed=0)
total, over = 0.0, False
while not over:  # its copies are planned in; the environment itself stays as it is
    _, reward, terminated, truncated, _ = env.step(agent.act(env))
    total, over = total + float(reward), terminated or truncated
print(f"the way over the lake: {total:g}")
assert total == 1


class Take(AECEnv):
    """Three players in turn take one, two or three counters; who takes the last one wins."""

    metadata: ClassVar = {
        "is_turn_based": True,
        "has_perfect_information": True,
        "is_deterministic": True,
    }
    possible_agents: ClassVar = ["ann", "bob", "eve"]

    def action_space(self, agent):
        return spaces.Discrete(3)

    def reset(self, seed=None, options=None):
        self.agents, self.left = self.possible_agents[:], 5
        self.agent_selection = "ann"
        self.rewards = self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = self.truncations = dict.fromkeys(self.agents, False)
        self.infos = {agent: {} for agent in self.agents}

    def observe(self, agent):
        return {"observation": self.left, "action_mask": (np.arange(3) < self.left).astype(np.int8)}

    def step(self, action):
        self.left -= action + 1
        over, mover = self.left == 0, self.agents.index(self.agent_selection)
        self.rewards = dict.fromkeys(self.agents, 0.0) | {self.agent_selection: float(over)}
        self.terminations = dict.fromkeys(self.agents, over)
        self.agent_selection = self.agents[(mover + 1) % 3]


game = Take()
game.reset()
while not game.terminations[game.agent_selection]:
    mover, action = game.agent_selection, UCT(simulations=200, seed=0).act(game)
    game.step(action)
    print(f"{mover} takes {action + 1}, {game.left} are left")
