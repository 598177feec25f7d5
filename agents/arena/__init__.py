"""The arena: games, matches and tournaments between agents.

Examples:
    >>> from agents.arena import Tournament, run_tournament
    >>> tournament = Tournament("tictactoe", ["uct:simulations=100", "greedy", "random"], pairs=5)
    >>> table = run_tournament(tournament, results="tictactoe.jsonl")  # plays what the file lacks
    >>> [agent.agent for agent in table.agents]
    ['uct:simulations=100', 'greedy', 'random']
"""

from typing import TYPE_CHECKING

from hexenv.common.importing import import_on_demand

if TYPE_CHECKING:  # imported when they are asked for
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
    from agents.arena.ratings import bradley_terry
    from agents.arena.results import ResultsError, read_results
    from agents.arena.running import CallableAgent, TournamentRun, run_tournament
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

__getattr__ = import_on_demand(
    __name__,
    {
        "AgentStanding": "agents.arena.standings:AgentStanding",
        "CallableAgent": "agents.arena.running:CallableAgent",
        "Entrant": "agents.arena.specification:Entrant",
        "ForfeitError": "agents.core.agent:ForfeitError",
        "GameResult": "agents.arena.match:GameResult",
        "MatchSummary": "agents.arena.match:MatchSummary",
        "OnMove": "agents.arena.match:OnMove",
        "PairingStanding": "agents.arena.standings:PairingStanding",
        "ResultsError": "agents.arena.results:ResultsError",
        "Sprt": "agents.arena.specification:Sprt",
        "Standings": "agents.arena.standings:Standings",
        "Tournament": "agents.arena.specification:Tournament",
        "TournamentRun": "agents.arena.running:TournamentRun",
        "bradley_terry": "agents.arena.ratings:bradley_terry",
        "close": "agents.arena.match:close",
        "is_legal": "agents.arena.match:is_legal",
        "play_game": "agents.arena.match:play_game",
        "play_match": "agents.arena.match:play_match",
        "prepare": "agents.arena.match:prepare",
        "read_results": "agents.arena.results:read_results",
        "run_tournament": "agents.arena.running:run_tournament",
        "summarise": "agents.arena.match:summarise",
    },
)
