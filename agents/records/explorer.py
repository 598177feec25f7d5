"""An opening explorer: which moves were played in positions of recorded games, and how they did."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from agents.records.record import GameRecord
from hexenv.games import base
from hexenv.games.base import Game, State

PLIES: Final = 40
"""Of each game, from its start, that are remembered."""
MOST_POSITIONS: Final = 1_000_000
"""That are remembered; later games then add only to those."""


@dataclass(frozen=True)
class Played:
    """A move of recorded games in one position.

    Attributes:
        action: The move.
        games: How often it was played.
        score: Its mean result for who played it, 0 to 1, of the games with an end; None without.
    """

    action: int
    games: int
    score: float | None


class Explorer:
    """The moves of recorded games by position, however they came there.

    Examples:
        >>> lines = (4, 0, 2, 1, 6), (4, 1)
        >>> games = [GameRecord.of("tictactoe", (), line) for line in lines]
        >>> Explorer(games).moves(games[0].rules(), games[0].states()[0])
        [Played(action=4, games=2, score=1.0)]

    Args:
        records: Of games of `hexenv`; others are not remembered.
    """

    def __init__(self, records: Iterable[GameRecord]) -> None:
        self._known: dict[Any, dict[int, list[int]]] = {}  # games, games with an end, half points
        for record in records:
            if not record.is_foreign:
                self._add(record)

    def _add(self, record: GameRecord) -> None:
        rules = record.rules()
        for action, state in zip(record.actions[:PLIES], record.states(), strict=False):
            key = _key(rules, state)
            if key not in self._known and len(self._known) >= MOST_POSITIONS:
                continue
            counts = self._known.setdefault(key, {}).setdefault(action, [0, 0, 0])
            counts[0] += 1
            if record.outcome is not None:
                mine = record.outcome if rules.to_play(state) == 0 else -record.outcome
                counts[1] += 1
                counts[2] += 1 + mine

    def moves(self, game: Game, state: State) -> list[Played]:
        """The moves played in a position, the most frequent first."""
        known = self._known.get(_key(game, state), {})
        found = [
            Played(action, games, points / (2 * ended) if ended else None)
            for action, (games, ended, points) in known.items()
        ]
        return sorted(found, key=lambda move: (-move.games, move.action))


def _key(game: Game, state: State) -> tuple[Any, ...]:
    """What two equal positions share, by any way that led there."""
    cells = base.cell_owners(game, state).tobytes()
    return type(game), game, cells, int(game.to_play(state)), len(base.legal_actions(game, state))
