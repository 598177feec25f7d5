"""Reviews of games: what each move was worth, which were mistakes, and what would have been better.

The positions of a game are analysed one after another by one agent. What a move loses is the
difference of the probabilities of winning before and after it, a draw counting as half a win: of
the value v of a position, -1 to 1, that is (v + 1) / 2. With a solver (``"solver:seconds=1"``) the
values are exact where it answers in its time.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from agents.core.agent import Agent
from agents.core.formats import Format
from agents.core.structured import Count, Text, to_structure
from agents.planning.environment import is_over
from agents.records.analysis import Analysis, columns_of, html_of, shown_value
from agents.records.asking import Limit, action_text, analyse, with_title
from agents.records.record import Action, GameRecord, Player, Share, Value

FORMAT: Final = Format("hexenv-review")
Mark = Literal["best", "good", "inaccuracy", "mistake", "blunder"]
THRESHOLDS: Final[dict[Mark, float]] = {"blunder": 0.2, "mistake": 0.1, "inaccuracy": 0.05}
"""The least probability of winning that such a move loses; of the names the first that fits."""
ERRORS: Final[tuple[Mark, ...]] = tuple(THRESHOLDS)


@dataclass(frozen=True)
class ReviewedMove:
    """One move of a game.

    Attributes:
        ply: The plies before it.
        player: Who played it, 0 or 1.
        action: The action.
        move: The same as people write it.
        before: The value of the position before it, for who played it, -1 to 1; None if unknown, as
            in some openings.
        after: The value afterwards, for the same player; None if unknown.
        lost: The probability of winning that it lost, 0 to 1; 0 where the value rose.
        is_exact: Whether both values are proven.
        mark: ``"best"`` is the agent's own choice, or proven to lose nothing; ``"good"`` loses less
            than an ``"inaccuracy"``. See `THRESHOLDS`.
        best: What the agent would have played.
        line: How it expected the game to go on, `best` first.
    """

    ply: Count
    player: Player
    action: Action
    move: Text
    before: Value | None
    after: Value | None
    lost: Share
    is_exact: bool
    mark: Mark
    best: Text
    line: tuple[Text, ...] = ()


@dataclass(frozen=True)
class Review:
    """What an agent says of a game. It prints as a table of the errors, the largest first.

    Examples:
        >>> game = GameRecord.of("tictactoe", (), (4, 0, 1, 2, 7))
        >>> found = review(game, "solver")
        >>> [(move.move, move.mark, move.best) for move in found.errors]
        [('3', 'blunder', '8')]

    Attributes:
        agent: The agent in words.
        record: The game. Its searches are those of the review.
        moves: One entry for each action.
        turned: The ply of the move that gave the game away: the last one before which the loser was
            not behind; None for a draw, an unfinished game, or one that nobody gave away.
    """

    agent: Text
    record: GameRecord
    moves: tuple[ReviewedMove, ...]
    turned: Count | None = None

    @property
    def errors(self) -> list[ReviewedMove]:
        """The moves with a mark of an error, the largest loss first."""
        wrong = [move for move in self.moves if move.mark in ERRORS]
        return sorted(wrong, key=lambda move: (-move.lost, move.ply))

    def accuracy(self, player: int) -> float | None:
        """100 less the mean loss of a player's moves in per cent; None without a move."""
        moves = [move for move in self.moves if move.player == player]
        return accuracy_of(moves) if moves else None

    def table(self) -> tuple[list[str], list[list[str]]]:
        """The heads of the columns, and a row for each error."""
        heads = ["ply", "player", "move", "mark", "before", "after", "better"]
        rows = [
            [
                str(move.ply + 1),
                str(move.player),
                move.move,
                move.mark,
                "" if move.before is None else shown_value(move.before, move.is_exact),
                "" if move.after is None else shown_value(move.after, move.is_exact),
                " ".join(move.line or (move.best,)),
            ]
            for move in self.errors
        ]
        return heads, rows

    @property
    def title(self) -> str:
        """The game and both sides' accuracy in words."""
        names = [name or f"player {player}" for player, name in enumerate(self.record.agents)]
        accuracies = [self.accuracy(player) for player in (0, 1)]
        sides = [
            f"{name} {'-' if accuracy is None else f'{accuracy:.1f} %'}"
            for name, accuracy in zip(names, accuracies, strict=True)
        ]
        parts = [self.record.game, f"{len(self.moves)} plies", f"accuracy {', '.join(sides)}"]
        parts += [f"turned by ply {self.turned + 1}"] if self.turned is not None else []
        return "; ".join((*parts, f"by {self.agent}"))

    def __str__(self) -> str:
        heads, rows = self.table()
        return f"{self.title}\n{columns_of(heads, rows) if rows else 'no errors'}"

    def _repr_html_(self) -> str:
        return html_of(self.title, *self.table())

    def to_json(self) -> str:
        """All this as one line of JSON."""
        return FORMAT.line(self)

    @classmethod
    def from_json(cls, text: str | bytes) -> "Review":
        """The review that `to_json` has written; ValueError for anything else."""
        found = to_structure(FORMAT.read_line(text), cls)
        found.record.check()
        if [move.action for move in found.moves] != list(found.record.actions):
            raise ValueError("expected a reviewed move for each action of the record")
        return found


def review(
    record: GameRecord,
    agent: Agent | str,
    limit: Limit | None = None,
    *,
    env: Any = None,
    title: str | None = None,
) -> Review:
    """Review a game, also one that is not finished.

    Args:
        record: The game.
        agent: Who reviews it: an agent whose analyses have values (`agents.analyse`), or the name
            of one. ``"solver:seconds=1"`` is exact where it can be.
        limit: How long each position is searched; None: as long as the agent does for a move.
        env: An environment that plays a game that is not of `hexenv`.
        title: The agent in words.

    Raises:
        ValueError: If the agent cannot play the game, or says no values.
    """
    asked, title = with_title(agent, title)
    seen: list[Analysis | float] = []  # of each position; at the end of the game its outcome
    texts: list[str] = []
    for ply, at in enumerate(record.replay(env)):
        if ply < len(record.actions):
            texts.append(action_text(at, record.actions[ply]))
        if is_over(at):
            seen.append(float(record.outcome or 0))
        else:
            seen.append(analyse(at, asked, limit, lines=1, title=title))
    found = [one for one in seen if isinstance(one, Analysis)]
    if found and all(one.value is None for one in found):
        raise ValueError(f"expected an agent whose analyses have values, got {title}")
    moves = tuple(
        _reviewed(ply, action, text, now, then)
        for ply, (action, text, now, then) in enumerate(
            zip(record.actions, texts, found, seen[1:], strict=False)
        )
    )
    searches = tuple(one.search for one in found[: len(moves)])
    kept = replace(record, searches=searches)
    return Review(title, kept, moves, _turned(record, moves))


def _reviewed(
    ply: int, action: int, text: str, now: Analysis, then: Analysis | float
) -> ReviewedMove:
    """A move between two positions that were analysed; `then` is player 0's outcome at the end."""
    player, before, best = now.position.to_play, now.value, now.best
    if isinstance(then, Analysis):
        is_mine = then.position.to_play == player
        after, is_proven = then.value, then.proven is not None
    else:
        is_mine, after, is_proven = player == 0, then, True
    if after is not None and not is_mine:
        after = -after + 0.0  # no -0
    is_exact = is_proven and now.proven is not None
    lost = 0.0 if before is None or after is None else max(0.0, (before - after) / 2)
    fitting: list[Mark] = [name for name, least in THRESHOLDS.items() if lost >= least]
    mark = fitting[0] if fitting else "good"
    if action == best.action or (is_exact and lost == 0):
        mark, lost = "best", 0.0
    line = best.line or (best.move,)
    return ReviewedMove(
        ply, player, action, text, before, after, lost, is_exact, mark, best.move, line
    )


def _turned(record: GameRecord, moves: Sequence[ReviewedMove]) -> int | None:
    """The ply of the loser's last move before which the loser was not behind."""
    if not record.outcome:
        return None
    loser = 1 if record.outcome == 1 else 0
    kept = [
        move.ply
        for move in moves
        if move.player == loser and (move.before or 0.0) >= 0 > (move.after or 0.0)
    ]
    return kept[-1] if kept else None


def accuracy_of(moves: Sequence[ReviewedMove]) -> float:
    """100 less the mean loss of some moves, at least one, in per cent."""
    return 100 * (1 - sum(move.lost for move in moves) / len(moves))


# ---- many games ----------------------------------------------------------------------------------


def summary(reviews: Iterable[Review]) -> tuple[list[str], list[list[str]]]:
    """A table over many games: how often and by how much each player errs, and at which ply.

    Players are told apart by their names in the records.

    Returns:
        The heads of the columns, and a row for each player: games, moves, accuracy, the number of
        moves of each kind of error, and the mean ply of the errors.
    """
    moves: Mapping[str, list[ReviewedMove]] = defaultdict(list)
    games: Mapping[str, set[int]] = defaultdict(set)
    for number, one in enumerate(reviews):
        for move in one.moves:
            name = one.record.agents[move.player] or f"player {move.player}"
            moves[name].append(move)
            games[name].add(number)
    heads = ["games", "moves", "accuracy", *(f"{mark}s" for mark in ERRORS), "mean ply", "player"]
    heads = [head.replace("inaccuracys", "inaccuracies") for head in heads]
    rows: list[list[str]] = []
    for name, played in moves.items():
        wrong = [move.ply + 1 for move in played if move.mark in ERRORS]
        counts = [sum(move.mark == mark for move in played) for mark in ERRORS]
        mean = f"{sum(wrong) / len(wrong):.1f}" if wrong else "-"
        shown = [len(games[name]), len(played), f"{accuracy_of(played):.1f}", *counts, mean, name]
        rows.append(list(map(str, shown)))
    return heads, rows
