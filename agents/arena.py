"""The arena: games, matches and tournaments between agents.

Examples:
    >>> from agents.arena import Tournament, run_tournament
    >>> tournament = Tournament("tictactoe", ["uct:simulations=100", "greedy", "random"], pairs=5)
    >>> table = run_tournament(tournament, results="tictactoe.jsonl")  # plays what the file lacks
    >>> [agent.agent for agent in table.agents]
    ['uct:simulations=100', 'greedy', 'random']
"""

from agents.agent import ForfeitError
from agents.match import (
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
from agents.tournament.players import CallableAgent
from agents.tournament.ratings import bradley_terry
from agents.tournament.results import ResultsError, read_results
from agents.tournament.running import TournamentRun, run_tournament
from agents.tournament.specification import Entrant, Sprt, Tournament
from agents.tournament.standings import AgentStanding, PairingStanding, Standings

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
