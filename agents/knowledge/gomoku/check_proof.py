"""Checks proofs of freestyle Gomoku: ``python -m agents.knowledge.gomoku.check_proof FILE...``.

It knows the rules and nothing else of this project but how to read a file: none of the searches, of
patterns or of kinds of threats. The format is said in `agents.knowledge.gomoku.proofs`.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from agents.core.formats import Format
from agents.core.reading import as_object, parse_json, read_text

FORMAT: Final = Format("hexenv proof of Gomoku")
FIVE: Final = 5
MOST_SIDE: Final = 20
EMPTY: Final = -1
STEPS: Final = ((0, 1), (1, 0), (1, 1), (1, -1))


class ProofError(ValueError):
    """A proof does not hold."""


class Board:
    """Stones, and how many of either side are in each row of five cells."""

    def __init__(self, rows: int, columns: int) -> None:
        cells = [(row, column) for row in range(rows) for column in range(columns)]
        number = {cell: i for i, cell in enumerate(cells)}
        lines = (
            [(row + i * down, column + i * right) for i in range(FIVE)]
            for row, column in cells
            for down, right in STEPS
        )
        self.fives = [[number[c] for c in line] for line in lines if set(line) <= set(cells)]
        self.through: list[list[int]] = [[] for _ in cells]
        for five, line in enumerate(self.fives):
            for cell in line:
                self.through[cell].append(five)
        self.owner = [EMPTY] * len(cells)
        self.stones = [[0] * len(self.fives), [0] * len(self.fives)]
        self.fours = [0, 0]  # fives with four stones of the side and an empty cell
        self.won = [0, 0]

    def _count(self, five: int, sign: int) -> None:
        for side in range(2):
            own, other = self.stones[side][five], self.stones[1 - side][five]
            self.fours[side] += sign * (own == FIVE - 1 and other == 0)
            self.won[side] += sign * (own == FIVE)

    def put(self, side: int, cell: int, change: int = 1) -> None:
        """Put a stone on a cell; with a change of -1, take it away."""
        for five in self.through[cell]:
            self._count(five, -1)
            self.stones[side][five] += change
            self._count(five, 1)
        self.owner[cell] = side if change > 0 else EMPTY

    def makes_five(self, side: int, cell: int) -> bool:
        """Whether a stone on an empty cell wins."""
        own = self.stones[side]
        return any(own[five] == FIVE - 1 for five in self.through[cell])

    def near_five(self, side: int, least: int) -> set[int]:
        """The empty cells of fives with at least so many stones of a side and none of the other."""
        own, other = self.stones[side], self.stones[1 - side]
        return {
            cell
            for five, line in enumerate(self.fives)
            if own[five] >= least and other[five] == 0
            for cell in line
            if self.owner[cell] == EMPTY
        }

    def line_wins(self, attacker: int, line: list[int]) -> bool:
        """Whether a line of fours wins: the attacker's moves, and between them the answers."""
        played: list[tuple[int, int]] = []
        try:
            for i, cell in enumerate(line):
                side = attacker if i % 2 == 0 else 1 - attacker
                if self.owner[cell] != EMPTY:
                    return False
                if side != attacker and not self.makes_five(attacker, cell):
                    return False  # then no four has forced this answer
                self.put(side, cell)
                played.append((side, cell))
                if self.won[attacker]:
                    return i == len(line) - 1
                if self.won[1 - attacker] or (side == attacker and self.fours[1 - attacker]):
                    return False
            return False
        finally:
            for side, cell in reversed(played):
                self.put(side, cell, -1)


class Checker:
    """Checks strategies of the player who moves on a board."""

    def __init__(self, rows: int, columns: int) -> None:
        self.rows, self.columns = rows, columns
        self.board = Board(rows, columns)

    def check(self, moves: list[int], strategy: list[int]) -> None:
        """Check a strategy for the player to move after some moves.

        Raises:
            ProofError: If it does not win against every answer.
        """
        self.board = board = Board(self.rows, self.columns)
        for ply, cell in enumerate(moves):
            expect(0 <= cell < len(board.owner) and board.owner[cell] == EMPTY, "a legal move")
            board.put(ply % 2, cell)
        expect(not any(board.won), "a position in play")
        numbers = iter(strategy)
        try:
            self._check(len(moves) % 2, numbers)
        except (IndexError, StopIteration):
            raise ProofError("expected a whole strategy, of cells of the board") from None
        expect(next(numbers, None) is None, "an end after the strategy")

    def _check(self, attacker: int, numbers: Iterator[int]) -> None:
        board = self.board
        if length := next(numbers):
            line = [next(numbers) for _ in range(length)]
            expect(board.line_wins(attacker, line), "a win by fours")
            return
        move, count, length = next(numbers), next(numbers), next(numbers)
        line = [next(numbers) for _ in range(length)]
        expect(board.owner[move] == EMPTY, "an empty cell")
        board.put(attacker, move)
        open_cells = self._answers(attacker, line)
        for _ in range(count):
            answer = next(numbers)
            expect(board.owner[answer] == EMPTY, "an empty cell")
            open_cells.discard(answer)
            board.put(1 - attacker, answer)
            expect(not board.won[1 - attacker], "an answer that does not win")
            self._check(attacker, numbers)
            board.put(1 - attacker, answer, -1)
        expect(not open_cells, "a strategy against every answer")
        board.put(attacker, move, -1)

    def _answers(self, attacker: int, line: list[int]) -> set[int]:
        """The answers after which a line of fours does not win; without a line, all.

        Only a stone on the line stops it, or one that makes a four or a five with others of the
        defender, of which some may be answers in the line.
        """
        board, defender = self.board, 1 - attacker
        if not line:
            expect(EMPTY in board.owner, "a board that is not full")
            return {cell for cell, owner in enumerate(board.owner) if owner == EMPTY}
        expect(board.line_wins(attacker, line), "a line that wins if the other side passes")
        answers = [cell for cell in line[1::2] if board.owner[cell] == EMPTY]
        for cell in answers:
            board.put(defender, cell)
        near = board.near_five(defender, FIVE - 2)
        for cell in answers:
            board.put(defender, cell, -1)
        near |= {cell for cell in line if board.owner[cell] == EMPTY}
        found = set[int]()
        for cell in near:
            board.put(defender, cell)
            if board.won[defender] or not board.line_wins(attacker, line):
                found.add(cell)
            board.put(defender, cell, -1)
        return found


def expect(holds: bool, what: str) -> None:
    """Refuse a proof in which something does not hold."""
    if not holds:
        raise ProofError(f"expected {what}")


def check_proof(path: Path) -> dict[str, Any]:
    """Check a file; returns what it says. A file without a strategy says nothing.

    Raises:
        ValueError: If its proof does not hold.
        OSError: If it cannot be read.
    """
    found = as_object(parse_json(read_text(path)))
    try:
        FORMAT.read_head(found)
        rows, columns = found["rows"], found["columns"]
        expect(all(type(n) is int and FIVE <= n <= MOST_SIDE for n in (rows, columns)), "a board")
        if found["strategy"] is not None:
            numbers = [*found["moves"], *found["strategy"]]
            expect(all(type(n) is int and 0 <= n < rows * columns for n in numbers), "cells")
            Checker(rows, columns).check(found["moves"], found["strategy"])
    except (KeyError, RecursionError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: no proof: {error}") from None
    return found


def main(paths: list[str]) -> int:
    """Check each file and say what it proves; 1 if one does not hold."""
    failed = 0
    for path in paths:
        try:
            found = check_proof(Path(path))
        except (OSError, ValueError) as error:
            failed = 1
            print(error, file=sys.stderr)
            continue
        wins = "nothing is proven" if found["strategy"] is None else "who moves wins"
        print(f"{path}: {wins}, after {len(found['moves'])} stones")
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
