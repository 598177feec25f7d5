"""Records of Connect4 as strings of columns: ``4453``, one game a line.

This is the notation of Pascal Pons' solver and its test sets
(http://blog.gamesolver.org/solving-connect-four/02-test-protocol/). The second word of their lines,
the score of the position, is ignored. From ten columns on, moves are separated by spaces.

A string has only the moves: a game on another board than 6 x 7 must be read with its options.
Errors are `ValueError`s with a line.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from agents.records.record import GameRecord, rules_of
from hexenv.common.messages import error_at
from hexenv.games import notation

SCORE: Final = re.compile(r"[+-]?\d{1,2}", re.ASCII)


def read_columns(text: str, options: Sequence[str] = ()) -> Iterator[GameRecord]:
    """The records of the lines of a file; empty lines are ignored."""
    rules = rules_of("connect4", tuple(options))
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1)]
    if not any(line for _, line in lines):
        raise error_at(1, "expected columns such as 4453, got an empty file")
    for number, line in lines:
        moves = line
        if not line:
            continue
        if notation.has_short_moves(rules):
            moves, *score = moves.split()
            if len(score) > 1 or (score and not SCORE.fullmatch(score[0])):
                raise error_at(number, f"expected columns such as 4453, got {line[:40]!r}")
        try:
            yield GameRecord.of("connect4", options, notation.parse_moves(rules, moves))
        except ValueError as error:
            raise error_at(number, error) from None


def write_columns(records: Sequence[GameRecord]) -> str:
    """Games as strings of columns."""
    for record in records:
        if record.game != "connect4":
            raise ValueError(f"expected games of connect4, got one of {record.game}")
        if record.start is not None:
            raise ValueError(
                "expected games from the empty board for columns, got one from a position"
            )
        if not record.moves:
            raise ValueError("expected games with moves, got one without")
    return "".join(f"{record.moves}\n" for record in records)
