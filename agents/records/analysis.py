"""What agents say of a position: tables, pictures and JSON; `agents.records.asking` asks them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Annotated, Any, ClassVar, Final

from msgspec import Meta

from agents.core.agent import html_table
from agents.core.formats import Format, about_game
from agents.core.structured import Count, Text, to_structure
from agents.planning.environment import names_of
from agents.records.record import Action, Player, Search, Seconds, Share, StartPosition, Value
from hexenv.common.messages import hundredths
from hexenv.envs.aec import BoardEnv
from hexenv.games import notation

FORMAT: Final = Format("hexenv-analysis")


@dataclass(frozen=True)
class Line:
    """One of the best moves, and what is known of it. Values are for the side to move, -1 to 1.

    Attributes:
        action: The action.
        move: The same as people write it.
        visits: Simulations that began with it; 0 for agents without any.
        value: Their mean result, or what else the agent thinks of it; None if nothing.
        low: The lower end of Wilson's interval of 95 % for a mean of so many independent results;
            those of a search depend on each other. The value itself where it is exact; None where
            it is no mean of visits.
        high: Its upper end.
        prior: The policy's probability; None without a policy.
        is_exact: Whether the value is proven.
        plies_left: In how many plies the game then ends, with perfect play; None if unknown, or a
            draw.
        line: The moves that the agent expects, this one first.
    """

    action: Action
    move: Text
    visits: Count = 0
    value: Value | None = None
    low: Value | None = None
    high: Value | None = None
    prior: Share | None = None
    is_exact: bool = False
    plies_left: Annotated[int, Meta(ge=1)] | None = None
    line: tuple[Text, ...] = ()


@dataclass(frozen=True)
class Position:
    """Which position was looked at.

    Attributes:
        game: The game, or the classes of an environment of others.
        to_play: Who is to move, 0 or 1.
        parameters: Of the game.
        moves: The moves since the start of the game as people write them; empty if unknown.
        board: As of `StartPosition`; empty for a game without stones.
    """

    game: Text
    to_play: Player
    parameters: dict[Text, Any] = field(default_factory=dict[str, Any])
    moves: Text = ""
    board: Text = ""

    @classmethod
    def of(cls, env: Any) -> "Position":
        """The position of an environment in play."""
        raw, to_play = env.unwrapped, list(env.possible_agents).index(env.agent_selection)
        if not isinstance(raw, BoardEnv):
            return cls(names_of(env), to_play)
        game, has_stones = raw.game, notation.has_stones(raw.game)
        board = StartPosition.of(game, raw.state).board if has_stones else ""
        return cls(to_play=to_play, moves=raw.moves, board=board, **about_game(game))

    def __str__(self) -> str:
        after = f" after {self.moves}" if self.moves else ""
        return f"{self.game}{after}, player {self.to_play} to move"


@dataclass(frozen=True)
class Analysis:
    """What an agent says of a position. It prints as a table; a notebook shows the board as well.

    Examples:
        >>> from agents import analyse
        >>> found = analyse(env, "solver", lines=1)  # the third of three in a row
        >>> [(line.move, line.value, line.plies_left) for line in found.lines]
        [('3', 1.0, 1)]

    Attributes:
        agent: The agent in words.
        position: The position.
        lines: The best moves, the best first.
        value: Of the position for the side to move, -1 to 1; None if the agent does not say.
        seconds: Time it took, without compilation.
        search: All that the search found; None for an agent without one.
        depth: Plies that a search to a fixed depth looked ahead; else None.
        assumed: What the search assumed although it is false; see `agents.Statistics`.
    """

    agent: Text
    position: Position
    lines: tuple[Line, ...]
    value: Value | None
    seconds: Seconds
    search: Search | None = None
    depth: Count | None = None
    assumed: Text | None = None
    _drawn: ClassVar[tuple[Any, Any] | None] = None
    """The rules and the state, for the picture; not those of one that was read from JSON."""

    @property
    def best(self) -> Line:
        """The move that the agent would play."""
        return self.lines[0]

    @property
    def proven(self) -> int | None:
        """The outcome with perfect play for the side to move, -1, 0 or 1, if it is proven."""
        return None if self.search is None else self.search.proven

    @property
    def _has_visits(self) -> bool:
        """Whether moves were tried several times: others say by one visit what they have seen."""
        return self.search is not None and max(self.search.visits.values(), default=0) > 1

    # ---- shown -----------------------------------------------------------------------------------

    @property
    def title(self) -> str:
        """The position, the agent and its work in words."""
        parts = [str(self.position), self.agent]
        if self.value is not None:
            parts.append(f"value {shown_value(self.value, self.proven is not None)}")
        if self.search is not None:
            counted = "simulations" if self._has_visits else "positions"
            parts.append(f"{self.search.simulations:,} {counted} in {self.seconds:.3g} s")
        parts += [f"depth {self.depth}"] * (self.depth is not None)
        parts += [f"assumed: {self.assumed}"] * (self.assumed is not None)
        return "; ".join(parts)

    def table(self) -> tuple[list[str], list[list[str]]]:
        """The heads of the columns, and the cells of the rows; columns without content are left."""
        heads = ["move", "visits", "value", "from", "to", "prior", "ends in", "line"]
        rows = [
            [
                one.move,
                f"{one.visits:,}" if self._has_visits else "",
                "" if one.value is None else shown_value(one.value, one.is_exact),
                "" if one.low is None or one.is_exact else f"{one.low:+.2f}",
                "" if one.high is None or one.is_exact else f"{one.high:+.2f}",
                "" if one.prior is None else f"{one.prior:.3f}",
                "" if one.plies_left is None else str(one.plies_left),
                " ".join(one.line),
            ]
            for one in self.lines
        ]
        kept = [place for place in range(len(heads)) if any(row[place] for row in rows)]
        return [heads[place] for place in kept], [[row[place] for place in kept] for row in rows]

    def __str__(self) -> str:
        heads, rows = self.table()
        return f"{self.title}\n{columns_of(heads, rows)}"

    def _repr_html_(self) -> str:
        return self.picture() + html_of(self.title, *self.table())

    def picture(self) -> str:
        """The board as SVG, with the shares of the visits or priors; empty without a board."""
        if self._drawn is None:
            return ""
        from agents.records.films import overlay_of_search  # most analyses are not drawn
        from hexenv.render.svg import render_svg

        game, state = self._drawn
        name = "visits" if self.search is not None and self.search.visits else "priors"
        return render_svg(game, state, overlay=overlay_of_search(game, state, self.search, name))

    # ---- JSON ------------------------------------------------------------------------------------

    def to_json(self) -> str:
        """All this as one line of JSON."""
        return FORMAT.line(self)

    @classmethod
    def from_json(cls, text: str | bytes) -> "Analysis":
        """The analysis that `to_json` has written; ValueError for anything else."""
        found = to_structure(FORMAT.read_line(text), cls)
        if not found.lines:
            raise ValueError("expected lines of an analysis, got none")
        return found


@dataclass(frozen=True)
class Comparison:
    """What several agents say of one position. It prints as a table with a row for each move.

    Examples:
        >>> from agents import compare
        >>> print(compare(env, ["solver", "alphabeta"], lines=1))
        move    solver  alphabeta
           3  1. +1.00  1. +1.00

    Attributes:
        analyses: One of each agent.
    """

    analyses: tuple[Analysis, ...]

    def table(self) -> tuple[list[str], list[list[str]]]:
        """The heads of the columns, and the cells of the rows: the first agent's best move first.

        A cell has the value of a move, or its prior in per cent, and its rank with that agent.
        """
        moves = dict.fromkeys(one.move for each in self.analyses for one in each.lines)
        ranked = [
            {one.move: _in_words(one, rank) for rank, one in enumerate(each.lines, 1)}
            for each in self.analyses
        ]
        rows = [[move, *(cells.get(move, "") for cells in ranked)] for move in moves]
        return ["move", *(each.agent for each in self.analyses)], rows

    def __str__(self) -> str:
        return columns_of(*self.table())

    def _repr_html_(self) -> str:
        first = self.analyses[0]
        return first.picture() + html_of(str(first.position), *self.table())


def _in_words(line: Line, rank: int) -> str:
    if line.value is not None:
        return f"{rank}. {shown_value(line.value, line.is_exact)}"
    return f"{rank}." if line.prior is None else f"{rank}. {100 * line.prior:.0f} %"


def shown_value(value: float, is_exact: bool) -> str:
    """A value as text; 1.00 stands for a proof alone."""
    return f"{hundredths(value, is_exact) / 100:+.2f}"


def html_of(title: str, heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table of texts for a notebook."""
    return html_table(title, map(escape, heads), (map(escape, row) for row in rows))


def columns_of(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table as text; the last column, of words, is at its left, the others at their right."""
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]

    def line_of(cells: Sequence[str]) -> str:
        padded = [cell.rjust(width) for cell, width in zip(cells, widths, strict=True)]
        return "  ".join([*padded[:-1], cells[-1]]).rstrip()

    return "\n".join(map(line_of, (heads, *rows)))
