"""Agents for PettingZoo environments: baselines, and Monte-Carlo tree search.

Examples:
    >>> from agents import UCT
    >>> from hexenv import tictactoe_v0
    >>> env = tictactoe_v0.env()
    >>> env.reset(options={"moves": "152"})
    >>> UCT(simulations=1000, seed=0).act(env)
    2
"""

from agents.agent import Agent, ForfeitError, GreedyAgent, RandomAgent, Statistics
from agents.alphabeta import AlphaBeta
from agents.alphazero import AlphaZero
from agents.anet import ANETRolloutMCTS
from agents.distance import DistanceMCTS
from agents.flat import FlatMonteCarlo
from agents.gomocup import GomocupEngine
from agents.grave import GRAVE
from agents.gumbel import GumbelAgent
from agents.history import HistoryMCTS
from agents.htp import HTPEngine
from agents.lgr import LGR
from agents.mast import MAST
from agents.network import NetworkAgent
from agents.nrpa import NRPA
from agents.policy import PolicyAgent
from agents.puct import PUCTAgent
from agents.quality import QualityMCTS
from agents.rave import RAVE
from agents.rhmcts import RHMCTS
from agents.solver import Solver
from agents.transposition import TranspositionMCTS
from agents.tree_search import TreeSearchAgent
from agents.ucb1_tuned import UCB1TunedMCTS
from agents.uct import UCT

__all__ = [
    "GRAVE",
    "LGR",
    "MAST",
    "NRPA",
    "RAVE",
    "RHMCTS",
    "UCT",
    "ANETRolloutMCTS",
    "Agent",
    "AlphaBeta",
    "AlphaZero",
    "DistanceMCTS",
    "FlatMonteCarlo",
    "ForfeitError",
    "GomocupEngine",
    "GreedyAgent",
    "GumbelAgent",
    "HTPEngine",
    "HistoryMCTS",
    "NetworkAgent",
    "PUCTAgent",
    "PolicyAgent",
    "QualityMCTS",
    "RandomAgent",
    "Solver",
    "Statistics",
    "TranspositionMCTS",
    "TreeSearchAgent",
    "UCB1TunedMCTS",
]
