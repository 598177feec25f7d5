"""Agents for PettingZoo environments: baselines, and Monte-Carlo tree search.

Examples:
    >>> from agents import UCT
    >>> from hexenv import tictactoe_v0
    >>> env = tictactoe_v0.env()
    >>> env.reset(options={"moves": "152"})
    >>> UCT(simulations=1000, seed=0).act(env)
    2
"""

from typing import TYPE_CHECKING

from agents.registry import AGENTS
from hexenv.common.importing import import_on_demand

if TYPE_CHECKING:  # a class is imported when it is asked for; see `__getattr__`
    from agents.apps.protocols.connectx import ConnectXAgent
    from agents.apps.protocols.gomocup import GomocupEngine
    from agents.apps.protocols.htp import HTPEngine
    from agents.core.agent import Agent, ForfeitError, Statistics
    from agents.core.baselines import GreedyAgent, RandomAgent
    from agents.knowledge.gomoku.engine import GomokuEngine
    from agents.knowledge.gomoku.gomokupert import Gomokupert
    from agents.knowledge.gomoku.rhmcts import RHMCTS
    from agents.knowledge.hex.hex_alphabeta import HexAlphaBeta
    from agents.knowledge.hex.hexpert import Hexpert
    from agents.knowledge.hex.hexzero import HexZero
    from agents.mcts.alphazero import AlphaZero
    from agents.mcts.anet import ANETRolloutMCTS
    from agents.mcts.distance import DistanceMCTS
    from agents.mcts.flat import FlatMonteCarlo
    from agents.mcts.grave import GRAVE
    from agents.mcts.gumbel import GumbelAgent
    from agents.mcts.history import HistoryMCTS
    from agents.mcts.lgr import LGR
    from agents.mcts.mast import MAST
    from agents.mcts.nrpa import NRPA
    from agents.mcts.puct import PUCTAgent
    from agents.mcts.quality import QualityMCTS
    from agents.mcts.rave import RAVE
    from agents.mcts.transposition import TranspositionMCTS
    from agents.mcts.tree_search import TreeSearchAgent
    from agents.mcts.ucb1_tuned import UCB1TunedMCTS
    from agents.mcts.uct import UCT
    from agents.policies.network import NetworkAgent, OwnNetworkAgent
    from agents.policies.policy import PolicyAgent
    from agents.policies.shipped import DQNAgent, PPOAgent
    from agents.policies.text_agent import ChatAgent, TextAgent
    from agents.records.analysis import Analysis
    from agents.records.asking import Limit, analyse, analysis, compare
    from agents.records.explaining import explain
    from agents.solvers.alphabeta import AlphaBeta
    from agents.solvers.solver import Solver

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
    "Analysis",
    "ChatAgent",
    "ConnectXAgent",
    "DQNAgent",
    "DistanceMCTS",
    "FlatMonteCarlo",
    "ForfeitError",
    "GomocupEngine",
    "GomokuEngine",
    "Gomokupert",
    "GreedyAgent",
    "GumbelAgent",
    "HTPEngine",
    "HexAlphaBeta",
    "HexZero",
    "Hexpert",
    "HistoryMCTS",
    "Limit",
    "NetworkAgent",
    "OwnNetworkAgent",
    "PPOAgent",
    "PUCTAgent",
    "PolicyAgent",
    "QualityMCTS",
    "RandomAgent",
    "Solver",
    "Statistics",
    "TextAgent",
    "TranspositionMCTS",
    "TreeSearchAgent",
    "UCB1TunedMCTS",
    "analyse",
    "analysis",
    "compare",
    "explain",
]

ASKING = "Limit analyse analysis compare"

PUBLIC = {path.partition(":")[2]: path for path in AGENTS.values()} | {
    **{name: f"agents.records.asking:{name}" for name in ASKING.split()},
    "explain": "agents.records.explaining:explain",
    "Analysis": "agents.records.analysis:Analysis",
    "Agent": "agents.core.agent:Agent",
    "ForfeitError": "agents.core.agent:ForfeitError",
    "PolicyAgent": "agents.policies.policy:PolicyAgent",
    "Statistics": "agents.core.agent:Statistics",
    "TextAgent": "agents.policies.text_agent:TextAgent",
    "TreeSearchAgent": "agents.mcts.tree_search:TreeSearchAgent",
}

__getattr__ = import_on_demand(__name__, PUBLIC)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
