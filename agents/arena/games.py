"""What comes of the games of a tournament, and how a line of its file says it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, cast

from agents.arena.match import GameResult
from agents.arena.schedule import Game
from agents.records.record import GameRecord


@dataclass(frozen=True)
class PlayedGame:
    """A game played to its end.

    Attributes:
        game: What was to be played.
        outcome: For agent 0 of the two: 1 won, 0 drawn, -1 lost.
        actions: All legal actions, the opening's among them.
        illegal: Which of the two lost by an illegal action, or None.
        seconds: Time each of the two spent choosing.
        moves: Moves each of them chose.
        forfeit: Why the loser lost, where it was by an `agents.core.agent.ForfeitError`; else None.
        assumed: What each one's searches took as given although it is not so.
        record: Its record, until that is written, where records are kept.
    """

    game: Game
    outcome: int
    actions: tuple[int, ...]
    illegal: int | None
    seconds: tuple[float, float]
    moves: tuple[int, int]
    forfeit: str | None = None
    assumed: tuple[str | None, str | None] = (None, None)
    record: GameRecord | None = field(default=None, compare=False, repr=False)

    @property
    def forfeited_by(self) -> int | None:
        """Which of the two lost by a forfeit, or None."""
        return None if self.forfeit is None else int(self.outcome > 0)

    @property
    def course(self) -> tuple[Any, ...]:
        """How the game went: the same for two games that went the same way."""
        return self.actions, self.illegal, self.forfeit


@dataclass(frozen=True)
class FailedGame:
    """A game that came to no end, which is no agent's win.

    Attributes:
        game: What was to be played.
        reason: What happened.
    """

    game: Game
    reason: str


Result: TypeAlias = PlayedGame | FailedGame


def played(game: Game, result: GameResult, record: GameRecord | None = None) -> PlayedGame:
    """What came of a game whose opening was played before `result` began."""
    return PlayedGame(
        game,
        result.outcome,
        game.opening + result.actions,
        result.illegal,
        result.seconds,
        result.moves,
        result.forfeit,
        result.assumed,
        record,
    )


def as_line(result: Result, labels: tuple[str, ...]) -> dict[str, Any]:
    """A result as what JSON knows."""
    game = result.game
    line: dict[str, Any] = {
        "game": game.number,
        "pair": game.pair,
        "agents": [labels[number] for number in game.agents],
        "first": game.first,
        "opening": list(game.opening),
    }
    if isinstance(result, FailedGame):
        return {**line, "failed": result.reason}
    line = {
        **line,
        "outcome": result.outcome,
        "illegal": result.illegal,
        "plies": len(result.actions),
        "actions": list(result.actions),
        "moves": list(result.moves),
        "seconds": list(result.seconds),
    }
    if result.forfeit is not None:
        line["forfeit"] = result.forfeit
    if any(result.assumed):
        line["assumed"] = list(result.assumed)
    return line


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_time(value: Any) -> bool:
    return isinstance(value, (int, float)) and value >= 0


def _are(kind: Callable[[Any], bool], size: int | None = None) -> Callable[[Any], bool]:
    def check(values: Any) -> bool:
        items = cast("list[Any]", values) if isinstance(values, list) else [None]
        return all(map(kind, items)) and size in (None, len(items))

    return check


def _is_in(*values: Any) -> Callable[[Any], bool]:
    return lambda value: value in values and not isinstance(value, (bool, float))


EXPECTED: Final[dict[str, tuple[str, Callable[[Any], bool]]]] = {
    "outcome": ("-1, 0 or 1", _is_in(-1, 0, 1)),
    "illegal": ("null, 0 or 1", _is_in(None, 0, 1)),
    "plies": ("a whole number from 0", _is_count),
    "actions": ("a list of whole numbers from 0", _are(_is_count)),
    "moves": ("two whole numbers from 0", _are(_is_count, 2)),
    "seconds": ("two numbers from 0", _are(_is_time, 2)),
}
"""What a line has beyond the description of its game."""


def from_line(line: Mapping[str, Any], game: Game, labels: tuple[str, ...]) -> Result:
    """The result that a line holds.

    Args:
        line: As `as_line` wrote it.
        game: The tournament's game of that number.
        labels: What the agents are called.

    Raises:
        ValueError: If it is no such line, or of another game.
    """
    if isinstance(line.get("failed"), str):
        result: Result = FailedGame(game, line["failed"])
    else:
        for key, (words, check) in EXPECTED.items():
            if key not in line:
                raise ValueError(f"expected {key}, got none")
            if not check(line[key]):
                raise ValueError(f"expected {key} as {words}, got {line[key]!r}")
        forfeit = line.get("forfeit")
        if forfeit is not None and (not isinstance(forfeit, str) or line["outcome"] == 0):
            raise ValueError(f"expected forfeit as the reason of a loss, got {forfeit!r}")
        assumed: Any = line.get("assumed", [None, None])
        if not _are(lambda value: value is None or isinstance(value, str), 2)(assumed):
            raise ValueError(f"expected assumed as two texts or nulls, got {assumed!r}")
        result = PlayedGame(
            game,
            line["outcome"],
            tuple(line["actions"]),
            line["illegal"],
            tuple(line["seconds"]),
            tuple(line["moves"]),
            forfeit,
            tuple(assumed),
        )
    expected = as_line(result, labels)
    for key, value in expected.items():
        if line.get(key) != value:
            raise ValueError(f"expected {key} {value!r} in game {game.number}, got {line.get(key)}")
    for key in line:
        if key not in expected:
            raise ValueError(f"expected no {key!r}")
    return result
