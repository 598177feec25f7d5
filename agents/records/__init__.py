"""Records of games: what was played, by whom, and what the searches thought of it.

Examples:
    >>> from agents.records import GameRecord
    >>> record = GameRecord.of("tictactoe", (), (4, 0, 8))
    >>> record.moves, record.outcome
    ('519', None)
    >>> [int(state.ply) for state in record.states()]
    [0, 1, 2, 3]
"""

from agents.records.files import load_record, save_record
from agents.records.record import GameRecord, Search, StartPosition
from agents.records.recorder import Recorder

__all__ = ["GameRecord", "Recorder", "Search", "StartPosition", "load_record", "save_record"]
