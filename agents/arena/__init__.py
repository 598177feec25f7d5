"""The arena: games, matches and tournaments between agents.

Examples:
    >>> from agents.arena import Tournament, run_tournament
    >>> tournament = Tournament("tictactoe", ["uct:simulations=100", "greedy", "random"], pairs=5)
    >>> table = run_tournament(tournament, results="tictactoe.jsonl")  # plays what the file lacks
    >>> [agent.agent for agent in table.agents]
    ['uct:simulations=100', 'greedy', 'random']
"""

from agents.arena.match import (
    GameResult,
    MatchSummary,
    OnMove,
    close,
    is_legal,
    play_game,
    play_match,
    prepare,
    summarise,
)
from agents.arena.players import CallableAgent
from agents.arena.ratings import bradley_terry
from agents.arena.results import ResultsError, read_results
from agents.arena.running import TournamentRun, run_tournament
from agents.arena.specification import Entrant, Sprt, Tournament
from agents.arena.standings import AgentStanding, PairingStanding, Standings
from agents.core.agent import ForfeitError

__all__ = [
    "AgentStanding",
    "CallableAgent",
    "Entrant",
    "ForfeitError",
    "GameResult",
    "MatchSummary",
    "OnMove",
    "PairingStanding",
    "ResultsError",
    "Sprt",
    "Standings",
    "Tournament",
    "TournamentRun",
    "bradley_terry",
    "close",
    "is_legal",
    "play_game",
    "play_match",
    "prepare",
    "read_results",
    "run_tournament",
    "summarise",
]
