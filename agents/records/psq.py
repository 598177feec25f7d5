"""Records of Gomoku as ``.psq``, the files of Piskvork and of Gomocup's tournaments.

The first line is ``Piskvorky 15x15, 11:11, 0``: columns and rows, the levels of the two players (0
for a person), and which of them begins. Then each move is a line ``x,y,milliseconds``, from 1 at
the top left; the time may be absent. In tournaments the names of the players follow, a line each.
Then a number tells how the game ended. Of these Piskvork's 15 is read: the time of the player to
move was over; -1 and 0 say nothing of the result. See https://github.com/plastovicka/Piskvork.

Gomocup's archives have one more line, the result and the name of the tournament:
``1,Freestyle15_1``. 0 is a draw; 1 and 2 say which of the two won, counted from the player who made
the first move after the opening. The moves of the opening are those at the beginning without a
time. See https://github.com/Gomocup/GomocupJudge. Where the rules say who has won, they count. The
rule is the one that the tournament's name begins with; a file whose last line names no such rule
must be read with the option. Without that line it is freestyle, or the option.

Names are in UTF-8 if they can be, else in Latin-1. A file keeps neither the seed, searches
nor openings; where the rules did not end a game, it says why only if that was the time. Times have
milliseconds. Errors are `ValueError`s with a line.
"""

import re
from collections.abc import Sequence
from itertools import takewhile
from typing import Any, Final, NamedTuple

from agents.records.record import MOST_PLIES, GameRecord, options_text, rules_of
from agents.records.sgf import check_plain
from hexenv.common.messages import error_at
from hexenv.games import base, notation
from hexenv.games.gomoku import RULES, rule_name

HEADER: Final = re.compile(
    r"Piskvorky\s+(\d{1,3})x(\d{1,3})\s*,\s*-?\d+:-?\d+\s*,\s*([01])", re.ASCII
)
MOVE: Final = re.compile(r"(\d{1,3})\s*,\s*(\d{1,3})(?:\s*,\s*(\d{1,12}))?\s*,?", re.ASCII)
NUMBERS: Final = re.compile(r"[-+\d\s,;:.]*", re.ASCII)
"""What can be a damaged move, but no name."""
NO_CODE: Final = "-1"
TIMEOUT: Final = "15"
RULE_OF: Final = {"freestyle": "freestyle", "fastgame": "freestyle"} | {
    rule: rule for rule in RULES
}
"""The rule of a tournament, by what its name begins with."""


class Footer(NamedTuple):
    """What follows the moves."""

    names: tuple[str, str] = ("", "")
    code: str = NO_CODE
    result: int | None = None
    """0 to 2, as in Gomocup's archives."""
    rule: str | None = None


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
    has_rule = any(option.partition("=")[0] == "rule" for option in options)
    footer = _footer(lines, len(moves) + 1, has_rule)
    size = int(header[2]), int(header[1])
    options = options_text("gomoku", {"board_size": size, "rule": footer.rule or RULES[0]}, options)
    first = int(header[3])
    seconds = tuple(int(move[3] or 0) / 1000 for move in moves)
    actions, is_over = _actions(moves, options)
    outcome, reason = (None, None) if is_over else _result(footer, seconds)
    return GameRecord.of(
        "gomoku",
        options,
        actions,
        outcome=outcome,
        reason=reason,
        agents=(footer.names[first], footer.names[1 - first]),
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


def _actions(moves: Sequence[re.Match[str]], options: Sequence[str]) -> tuple[list[int], bool]:
    """The actions of the moves, checked against the rules, and whether they end the game."""
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
    return actions, rules.is_terminal(state)


def _footer(lines: Sequence[str], begin: int, has_rule: bool) -> Footer:
    """What the lines from one on say."""
    rest = list(lines[begin:])
    result, rule = None, None
    last = re.fullmatch(r"(-?\d+),(\w.*)", rest[-1]) if len(rest) > 1 else None
    if last is not None:
        rest.pop()
        result = int(last[1]) if last[1] in ("0", "1", "2") else None
        kind = last[2].lower()
        rule = next((rule for name, rule in RULE_OF.items() if kind.startswith(name)), None)
        if rule is None and not has_rule:
            raise error_at(
                len(lines),
                f"expected a tournament of {', '.join(RULE_OF)}, got {last[2][:40]!r}: say by "
                "which rule it was (with the option rule)",
            )
    is_footer = len(rest) in (1, 3) and re.fullmatch(r"-?\d{1,9}", rest[-1])
    if not is_footer or any(map(NUMBERS.fullmatch, filter(None, rest[:-1]))):
        got = repr(rest[0][:40]) if rest else "the end of the file"
        raise error_at(
            begin + 1, f"expected a move x,y,milliseconds, or two names and a number, got {got}"
        )
    return Footer(("", "") if len(rest) == 1 else (rest[0], rest[1]), rest[-1], result, rule)


def _result(footer: Footer, seconds: Sequence[float]) -> tuple[int | None, str | None]:
    """The outcome for player 0 of a game that is not over by the rules, and the reason."""
    if footer.result is None:
        has_lost_on_time = footer.code == TIMEOUT
        return ((-1) ** (1 + len(seconds) % 2), "time") if has_lost_on_time else (None, None)
    outcome = 0
    if footer.result > 0:
        outcome = 1 if (footer.result - 1) == _first_to_think(seconds) else -1
    return outcome, "time" if footer.code == TIMEOUT else "not played out"


def _first_to_think(seconds: Sequence[float]) -> int:
    """Who made the first move after those without a time."""
    return sum(1 for _ in takewhile(lambda taken: not taken, seconds)) % 2


def write_psq(record: GameRecord) -> str:
    """A game as ``.psq``."""
    rules: Any = record.rules()
    if rules.name != "gomoku":
        raise ValueError(f"expected a game of gomoku for psq, got {rules.name}")
    check_plain(rules)
    if record.start is not None:
        raise ValueError("expected a game from the empty board for psq, got one from a position")
    lines = [f"Piskvorky {rules.columns}x{rules.rows}, 0:0, 0"]
    seconds = [round(1000 * (taken or 0)) for taken in record.seconds or [0] * len(record.actions)]
    for action, taken in zip(record.actions, seconds, strict=True):
        row, column = divmod(action, rules.columns)
        lines.append(f"{column + 1},{row + 1},{taken}")
    if any(record.agents):
        lines += [" ".join(name.split()) or "?" for name in record.agents]
    is_timeout = record.reason == "time" and record.outcome is not None
    lines.append(TIMEOUT if is_timeout else NO_CODE)
    rule = rule_name(rules.rule)
    if record.reason is not None or rule != RULES[0]:
        result = NO_CODE  # unknown
        if record.outcome is not None:
            won = int((record.outcome < 0) != bool(_first_to_think(seconds)))
            result = str(won + 1) if record.outcome else "0"
        lines.append(f"{result},{rule.capitalize()}")
    return "\n".join([*lines, ""])
