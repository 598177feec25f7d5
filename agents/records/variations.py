"""A game with its variations: every line of play that somebody has looked at, with comments."""

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta, Struct

from agents.records.record import Action, GameRecord, StartPosition

ROOT = -1


class Variation(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A move of a game with variations.

    Attributes:
        parent: The place of the move before it, `ROOT` for a first move.
        action: The move.
        comment: What somebody wrote about it.
        rest: Properties of an SGF file that only other programs know, as they stand there.
    """

    parent: Annotated[int, Meta(ge=ROOT)]
    action: Action
    comment: str = ""
    rest: str = ""


@dataclass(frozen=True)
class Variations:
    """A game with its variations. Of the moves after another, the first is the main line.

    Examples:
        >>> tree = Variations.of(GameRecord.of("tictactoe", (), (4, 0)))
        >>> tree.moves[1].parent, tree.ways()[1]
        (0, (4, 0))

    Attributes:
        game: A game of `hexenv`.
        options: ``key=value`` texts for the game.
        moves: Each after its parent.
        start: The position in which the game begins, if not the one by the rules.
        comment: What somebody wrote about the start.
        rest: Properties of the whole game, as `Variation.rest`.
        left_out: What of a file could not be read, each with the reason.

    Raises:
        ValueError: If a move stands before its parent.
    """

    game: str
    options: tuple[str, ...] = ()
    moves: tuple[Variation, ...] = ()
    start: StartPosition | None = None
    comment: str = ""
    rest: str = ""
    left_out: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for place, move in enumerate(self.moves):
            if move.parent >= place:
                raise ValueError(f"expected the parent of move {place} before it")

    @classmethod
    def of(cls, record: GameRecord) -> "Variations":
        """The moves of a record, without a variation."""
        moves = tuple(Variation(ply - 1, action) for ply, action in enumerate(record.actions))
        return cls(record.game, record.options, moves, record.start)

    def ways(self) -> list[tuple[int, ...]]:
        """The actions up to each move, with its own."""
        found: list[tuple[int, ...]] = []
        for move in self.moves:
            before = () if move.parent == ROOT else found[move.parent]
            found.append((*before, move.action))
        return found

    def children(self) -> dict[int, list[int]]:
        """The places of the moves after each move, and after `ROOT`, the main line first."""
        found: dict[int, list[int]] = {place: [] for place in range(ROOT, len(self.moves))}
        for place, move in enumerate(self.moves):
            found[move.parent].append(place)
        return found

    def main_line(self) -> GameRecord:
        """The main line as a record; ValueError if it is not legal."""
        actions: list[int] = []
        last = ROOT
        for place, move in enumerate(self.moves):
            if move.parent == last:  # the first of those after it
                actions.append(move.action)
                last = place
        return GameRecord.of(self.game, self.options, actions, start=self.start)
