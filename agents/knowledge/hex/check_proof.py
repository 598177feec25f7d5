"""Checks proofs of Hex: ``python -m agents.knowledge.hex.check_proof FILE...``.

It knows the rules of Hex and nothing else of this project but how to read a file: none of the
solver, of its connections or its inferior cells. What a proof is, and its format, is said in
`agents.knowledge.hex.proofs`. What is trusted besides the few lines here: an additional stone does
its owner no harm, and a full board has one winner.
"""

import sys
from functools import cache
from pathlib import Path
from typing import Any, Final, cast

from agents.core.formats import Format
from agents.core.reading import as_object, parse_json, read_text

FORMAT: Final = Format("hexenv proof of Hex")
MOST_LEAF_CELLS: Final = 8
"""More are not played out."""
MOST_SIDE: Final = 19


class _Checker:
    """Whether the claims of a player's proof hold on a board."""

    def __init__(self, rows: int, columns: int, player: int) -> None:
        cells = [(row, column) for row in range(rows) for column in range(columns)]
        self.everything = (1 << rows * columns) - 1
        self.around = [
            sum(
                1 << (row + down) * columns + column + right
                for down, right in ((0, 1), (1, 0), (1, -1), (0, -1), (-1, 0), (-1, 1))
                if (row + down, column + right) in cells
            )
            for row, column in cells
        ]
        last = (rows - 1, columns - 1)[player]
        self.start = sum(1 << i for i, cell in enumerate(cells) if cell[player] == 0)
        self.goal = sum(1 << i for i, cell in enumerate(cells) if cell[player] == last)
        self.wins_all = cache(self._wins_all)

    def has_joined(self, own: int) -> bool:
        """Whether the player's stones join both sides."""
        reached, fresh = 0, own & self.start
        while fresh:
            reached |= fresh
            near = 0
            for cell, around in enumerate(self.around):
                if fresh >> cell & 1:
                    near |= around
            fresh = near & own & ~reached
        return reached & self.goal != 0

    def _wins_all(self, own: int, free: int) -> bool:
        """Whether the player wins all games on some cells, in which the opponent begins."""
        if self.has_joined(own):
            return True
        return free != 0 and all(
            any(self.wins_all(own | move, free & ~stone & ~move) for move in bits_of(free & ~stone))
            for stone in bits_of(free)
        )

    def check(self, node: tuple[int, int, list[int]], earlier: list[tuple[int, int]]) -> None:
        """Check one node; ValueError if its claim does not follow from those of earlier nodes."""
        own, free, replies = node
        if own & free or (own | free) & ~self.everything:
            raise ValueError("expected stones and empty cells of the board, none of them both")
        if not replies:
            if free.bit_count() > MOST_LEAF_CELLS:
                raise ValueError(f"expected replies, or at most {MOST_LEAF_CELLS} cells")
            wins = self.wins_all(own, free)
            self.wins_all.cache_clear()  # of other leaves it knows little
            if not wins:
                raise ValueError("expected a win in all games, got a game that is lost")
            return
        common = free
        for move, number in zip(replies[::2], replies[1::2], strict=True):
            if not 0 <= number < len(earlier) or not free >> move & 1:
                raise ValueError("expected replies on empty cells, with the numbers of nodes above")
            stones, carrier = earlier[number]
            if stones & ~(own | 1 << move) or carrier & ~(free & ~(1 << move)):
                raise ValueError(f"expected what node {number} needs to be there")
            common &= carrier | 1 << move
        if common:
            raise ValueError("expected a reply to each move of the opponent")


def bits_of(cells: int) -> list[int]:
    """The cells of a set, each as a set."""
    return [1 << cell for cell in range(cells.bit_length()) if cells >> cell & 1]


def check_proof(path: str | Path) -> dict[str, Any]:
    """Check a proof.

    Args:
        path: Of the file.

    Returns:
        Its first line: the position, the winner, the number of nodes.

    Raises:
        ValueError: If it proves nothing, with the line that does not hold.
        OSError: If it cannot be read.
    """
    return check_lines(read_text(path).splitlines(), str(path))


def check_lines(lines: list[str], name: str) -> dict[str, Any]:
    """Check the lines of a proof that has a name in messages; see `check_proof`."""
    number = 1
    try:
        head = _read_head(lines)
        own, free, checker = _root(head)
        claims: list[tuple[int, int]] = []
        while number < len(lines):
            number += 1
            node = _read_node(lines[number - 1])
            checker.check(node, claims)
            claims.append(node[:2])
        stones, carrier = claims[-1]
        if stones & ~own or carrier & ~free:
            raise ValueError("expected the last node to be of the position")
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise ValueError(f"{name}:{number}: no proof: {error}") from None
    return head


def _read_head(lines: list[str]) -> dict[str, Any]:
    """The first line, whose values are those it may have."""
    head = as_object(parse_json(lines[0] if lines else ""))
    FORMAT.read_head(head)
    for name, least, most in (
        ("rows", 1, MOST_SIDE),
        ("columns", 1, MOST_SIDE),
        ("to_move", 0, 1),
        ("winner", 0, 1),
        ("nodes", 1, len(lines)),
    ):
        if type(head[name]) is not int or not least <= head[name] <= most:
            raise ValueError(f"expected {name} from {least} to {most}, got {head[name]!r}")
    if head["nodes"] != len(lines) - 1:
        raise ValueError(f"expected {head['nodes']} nodes, got {len(lines) - 1}")
    return head


def _root(head: dict[str, Any]) -> tuple[int, int, _Checker]:
    """The winner's stones and the empty cells when the loser is to move, and who checks."""
    checker = _Checker(head["rows"], head["columns"], head["winner"])
    first, second = (int(stones, 16) for stones in cast("list[str]", head["stones"]))
    own, free = first if head["winner"] == 0 else second, checker.everything & ~(first | second)
    if first & second or (first | second) & ~checker.everything:
        raise ValueError("expected stones of the board, each of one player")
    move = head["move"]
    if move is not None:
        if head["winner"] != head["to_move"]:
            raise ValueError("expected no move of the winner, who is not to move")
        if type(move) is not int or not free >> move & 1:
            raise ValueError("expected the move on an empty cell")
        own, free = own | 1 << move, free & ~(1 << move)
    return own, free, checker


def _read_node(line: str) -> tuple[int, int, list[int]]:
    parsed = parse_json(line)
    values = cast("list[Any]", parsed) if isinstance(parsed, list) else []
    if len(values) < 2 or len(values) % 2:
        raise ValueError("expected stones, a carrier, and moves with the numbers of nodes")
    replies = values[2:]
    if any(type(value) is not int or value < 0 for value in replies):
        raise ValueError("expected moves and numbers of nodes from 0")
    return int(values[0], 16), int(values[1], 16), replies


def main(paths: list[str]) -> None:
    """Check each file and say what it proves."""
    for path in paths:
        head = check_proof(path)
        words = f"player {head['winner']} wins, player {head['to_move']} being to move"
        print(f"{path}: {words}; {head['nodes']} nodes")


if __name__ == "__main__":
    main(sys.argv[1:])
