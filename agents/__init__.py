"""Agents for PettingZoo environments: baselines, and Monte-Carlo tree search.

>>> from agents import UCT
>>> from hexenv import tictactoe_v0
>>> env = tictactoe_v0.env()
>>> env.reset(options={"moves": "152"})
>>> UCT(simulations=1000, seed=0).act(env)
2
"""

from agents.agent import Agent, GreedyAgent, RandomAgent, Statistics
from agents.tree_search import TreeSearchAgent
from agents.uct import UCT

__all__ = ["UCT", "Agent", "GreedyAgent", "RandomAgent", "Statistics", "TreeSearchAgent"]
