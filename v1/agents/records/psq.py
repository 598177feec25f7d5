"""Records of Gomoku as ``.psq``, the files of Piskvork, the manager of Gomocup.

The first line is ``Piskvorky 15x15, 11:11, 0``: columns and rows, the levels of the two players (0
for a person), and which of them begins. Then each move is a line ``x,y,milliseconds``, from 1 at
the top left. In tournaments the names of the players follow, a line each. The last line is a number
for how the game ended, with a meaning of Piskvork's own that is not read; Gomocup's archives
sometimes have one more line with the rule: ``1,Freestyle``. See
https://github.com/plastovicka/Piskvork.

A file keeps neither the seed, searches, openings, nor an outcome that is not by the rules. Times
have milliseconds. Games with another rule than freestyle must be read with that option. Errors are
`ValueError`s with a line.
"""

import re
from collections.abc import Sequence
from typing import Any, Final

from agents.records.record import MOST_PLIES, GameRecord, options_text, rules_of
from agents.records.sgf import check_plain
from hexenv.games import base, notation
from hexenv.games.gomoku import RULES
from hexenv.messages import error_at

HEADER: Final = re.compile(r"Piskvorky\s+(\d{1,3})x(\d{1,3}),\s*-?\d+:-?\d+,\s*([01])", re.ASCII)
MOVE: Final = re.compile(r"(\d{1,3}),(\d{1,3})(?:,(\d{1,12}))?", re.ASCII)
NO_CODE: Final = "-1"


def read_psq(text: str, options: Sequence[str] = ()) -> GameRecord:
    """The record of a file; `options`, ``key=value`` texts for the game, override the file."""
    lines = [line.strip() for line in text.splitlines()]
    while lines and not lines[-1]:
        lines.pop()
    header = HEADER.fullmatch(lines[0]) if lines else None
    if header is None:
        got = lines[0][:40] if lines else ""
        raise error_at(1, f"expected a header Piskvorky 15x15, 11:11, 0, got {got!r}")
    moves = _leading_moves(lines)
    names, rule = _footer(lines, len(moves) + 1)
    size = int(header[2]), int(header[1])
    options = options_text("gomoku", {"board_size": size, "rule": rule}, options)
    first = int(header[3])
    seconds = tuple(int(move[3] or 0) / 1000 for move in moves)
    return GameRecord.of(
        "gomoku",
        options,
        _actions(moves, options),
        agents=(names[first], names[1 - first]),
        seconds=seconds if any(seconds) else (),
    )


def _leading_moves(lines: Sequence[str]) -> list[re.Match[str]]:
    """The moves, which follow the header."""
    moves: list[re.Match[str]] = []
    for number, line in enumerate(lines[1:], 2):
        move = MOVE.fullmatch(line)
        if move is None:
            break
        if len(moves) == MOST_PLIES:
            raise error_at(number, f"expected at most {MOST_PLIES} moves, got more")
        moves.append(move)
    return moves


def _actions(moves: Sequence[re.Match[str]], options: Sequence[str]) -> list[int]:
    """The actions of the moves, checked against the rules."""
    try:
        rules = rules_of("gomoku", tuple(options))
    except ValueError as error:
        raise error_at(1, error) from None
    state = base.new_state(rules)
    actions: list[int] = []
    for number, move in enumerate(moves, 2):
        column, row = int(move[1]) - 1, int(move[2]) - 1
        try:
            if not (0 <= row < rules.rows and 0 <= column < rules.columns):
                raise ValueError(f"expected a cell from 1,1 to {rules.columns},{rules.rows}")
            action = row * rules.columns + column
            actions.append(notation.check_action(rules, state, action))
        except ValueError as error:
            raise error_at(number, f"{error}, got {move[0]}") from None
        rules.step(state, action)
    return actions


def _footer(lines: Sequence[str], begin: int) -> tuple[tuple[str, str], str]:
    """The names of the players, and the rule."""
    rest, rule = list(lines[begin:]), RULES[0]
    last = re.fullmatch(r"-?\d+,(\w+)", rest[-1]) if len(rest) > 1 else None
    if last is not None and last[1].lower() in RULES:
        rule = last[1].lower()
        rest.pop()
    if len(rest) not in (1, 3) or not re.fullmatch(r"-?\d{1,9}", rest[-1]):
        got = repr(rest[0][:40]) if rest else "the end of the file"
        raise error_at(
            begin + 1, f"expected a move x,y,milliseconds, or two names and a number, got {got}"
        )
    return ("", "") if len(rest) == 1 else (rest[0], rest[1]), rule


def write_psq(record: GameRecord) -> str:
    """A game as ``.psq``."""
    rules: Any = record.rules()
    if rules.name != "gomoku":
        raise ValueError(f"expected a game of gomoku for psq, got {rules.name}")
    check_plain(rules)
    lines = [f"Piskvorky {rules.columns}x{rules.rows}, 0:0, 0"]
    seconds = record.seconds or [None] * len(record.actions)
    for action, taken in zip(record.actions, seconds, strict=True):
        row, column = divmod(action, rules.columns)
        lines.append(f"{column + 1},{row + 1},{round(1000 * (taken or 0))}")
    if any(record.agents):
        lines += [" ".join(name.split()) or "?" for name in record.agents]
    return "\n".join([*lines, NO_CODE, ""])
