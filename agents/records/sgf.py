"""Records as SGF: Hex as HexGui writes it (GM[11]), Gomoku (GM[4]).

The Smart Game Format, FF[4], is https://www.red-bean.com/sgf/. Its libraries do not name the line
of an error, so the syntax is read here.

Hex: https://www.red-bean.com/sgf/hex.html and https://www.hexwiki.net/index.php/Smart_Game_Format.
Cells are a letter and a number; black joins top and bottom. A game that white begins is read
mirrored, because black begins here.

The dialects differ in the swap. The colour of the next move tells them apart, whatever the word
(swap-pieces, swap-sides, swap):

* HexGui, Benzene (MoHex) and its twogtp: the stone stays and the players exchange colours, so W
  moves again. This is written, as ``W[swap-pieces]``, and read as the same game mirrored from there
  on (`agents.apps.protocols.exchange`). As in twogtp, PB is the player who began, and so is the B
  of RE;
  if the board or a resignation says who won, that counts. A resignation of the loser after the last
  move, with which twogtp ends a game, changes nothing.
* red-bean's swap-pieces, and older files of `hexenv`: the stone goes to its mirror cell and becomes
  white's, as in `hexenv.games.hex`, so B moves.
* Little Golem: the same, with cells of two letters, and W for the moves of PB, who begins and joins
  top and bottom. Where such a file begins with W, its colours are exchanged.

Gomoku: cells are two letters, the column from the left and the row from the top.

A game may begin with stones: AB, AW, AE and PL before its first move, as HexGui saves positions.
Without PL the colour of the first move tells who is to move; then the numbers of stones, where they
are those of a game; else black is. In Hex one side may have more stones. Where stones are set up
after moves, the record begins there.

A file has no seed, times or openings, and searches only as comments. Its options are the size, the
swap in Hex, and the rule in Gomoku (RU, as a name or the number of Gomocup); a game with other
options must be read with them. Of variations the first is read. A `UserWarning` says what of a file
is left out or assumed. Errors are `ValueError`s with a line.

Texts are in the encoding that CA names; without it in UTF-8 if they can be, else in Latin-1, the
default of FF[4].
"""

import codecs
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

import hexenv
from agents.apps.protocols.exchange import SWAP, SwapView
from agents.core.reading import UTF_8, utf_8_or_latin_1
from agents.records.record import GameRecord, Search, StartPosition, options_text, rules_of
from hexenv.common.messages import error_at, warn_user
from hexenv.games import base, notation
from hexenv.games.base import EMPTY, Game, State
from hexenv.games.gomoku import RULES, Gomoku, rule_name
from hexenv.games.hex import Hex

# ---- text ----------------------------------------------------------------------------------------

CHARSET: Final = re.compile(rb"(?<![A-Za-z])CA\s*\[\s*([^\]\\]*?)\s*\]")


def sgf_encodings(data: bytes) -> Sequence[str]:
    """The encoding that a file names, or those that it may be in."""
    named = CHARSET.search(data)
    if named is None or not named[1]:
        return utf_8_or_latin_1(data)
    name = named[1].decode("latin-1")
    try:
        codec = codecs.lookup(name)
        if b"(;".decode(codec.name) != "(;":  # no text, or not one in which we have found CA
            raise LookupError
    except (LookupError, ValueError):
        line = data.count(b"\n", 0, named.start()) + 1
        raise error_at(line, f"expected the name of an encoding, got CA[{name[:20]}]") from None
    return (UTF_8 if codec.name == "utf-8" else codec.name,)


# ---- syntax --------------------------------------------------------------------------------------

TOKEN: Final = re.compile(
    r"\s*(?:(?P<sign>[();])|(?P<name>[A-Za-z]+)|\[(?P<value>[^\\\]]*(?:\\.[^\\\]]*)*)\])", re.DOTALL
)
MOST_NODES: Final = 100_000
"""Of a game's main line."""
MOST_DEPTH: Final = 10_000
"""Of variations within variations."""
START: Final = re.compile(r"\(\s*;")
"""Start of a collection; text before it is ignored."""


class Token(NamedTuple):
    """A sign, a name or a value, and the line on which it begins."""

    kind: str
    text: str
    line: int


class Property(NamedTuple):
    """The values of a property, and the line of its name."""

    values: list[str]
    line: int


Node = dict[str, Property]


class MainLine(NamedTuple):
    """The nodes of a game's main line, always the first variation."""

    nodes: list[Node]
    left_out: int
    """How many other lines of play the game has."""


def main_lines(text: str) -> Iterator[MainLine]:
    """The main line of each game of a collection."""
    nodes: list[Node] = []
    depth, is_main, node, found = 0, False, None, None  # found: the property of the next values
    line, lines, is_end = 1, 0, False
    for kind, token, line in _tokens(text.replace("\r\n", "\n").replace("\r", "\n")):
        if kind == "value":
            if found is None:
                raise error_at(line, "expected a property before its value, got none")
            found.values.append(_plain(token))
            continue
        if found is not None and not found.values:
            raise error_at(line, f"expected a value of the property, got {token!r}")
        found = None
        if kind == "name":
            if node is None:
                raise error_at(line, f"expected ; before a property, got {token!r}")
            name = re.sub("[a-z]", "", token)  # older files write AddBlack for AB
            found = node.setdefault(name, Property([], line))
            continue
        if token == "(":
            if depth == 0:
                nodes, is_main, lines = [], True, 0
            depth, node = depth + 1, None
            if depth > MOST_DEPTH:
                raise error_at(line, f"expected variations at most {MOST_DEPTH} deep, got more")
        elif depth == 0:
            raise error_at(line, f"expected (, got {token}")
        elif token == ";":
            node = Node()
            if is_main:
                nodes.append(node)
            if len(nodes) > MOST_NODES:
                raise error_at(line, f"expected at most {MOST_NODES} nodes in a game, got more")
        else:
            depth, node, is_main = depth - 1, None, False
            lines += not is_end  # a tree without one within
            if depth == 0:
                if not nodes:
                    raise error_at(line, "expected a node in every game, got none")
                yield MainLine(nodes, lines - 1)
        is_end = token == ")"
    if depth or not nodes:
        raise error_at(line, f"expected {')' if depth else '(;'}, got the end of the file")


def _tokens(text: str) -> Iterator[Token]:
    start = START.search(text)
    position, line = (start.start() if start else len(text)), 1
    counted = 0
    while match := TOKEN.match(text, position):
        kind = match.lastgroup or ""
        begin = match.start(kind)
        line += text.count("\n", counted, begin)
        counted, position = begin, match.end()
        yield Token(kind, match[kind], line)
    rest = text[position:].lstrip()
    if rest:
        line = text.count("\n", 0, len(text) - len(rest)) + 1
        raise error_at(line, f"expected SGF, got {rest[:20]!r}")


def _plain(value: str) -> str:
    """A value without escapes."""
    return re.sub(r"\\(\n|.)", lambda match: match[1].strip("\n"), value, flags=re.DOTALL)


def _game_text(nodes: Iterable[Mapping[str, str | list[str]]]) -> str:
    """A game without variations, a line for each node; a property has one value or a list."""
    lines: list[str] = []
    for node in nodes:
        written = ";"
        for name, value in node.items():
            values = [value] if isinstance(value, str) else value
            escaped = (re.sub(r"([\\\]])", r"\\\1", each) for each in values)
            written += name + "".join(f"[{each}]" for each in escaped)
        lines.append(written)
    return "(" + "\n".join(lines) + ")\n"


# ---- reading -------------------------------------------------------------------------------------

NUMBERS: Final = {"hex": "11", "gomoku": "4"}
"""The values of GM."""
DEFAULT_SIZES: Final = {"hex": "11", "gomoku": "15"}
SWAPS: Final = ("swap-pieces", "swap-sides", "swap")
LETTERS: Final = re.compile("[a-z]{2}")
"""A cell of Gomoku, and of Hex in Little Golem."""
ENDS: Final = {"resign": "resigned", "forfeit": "forfeit"}
"""Moves that end a game, and the reasons in the record."""
REASONS: Final = {"resigned": "Resign", "time": "Time", "forfeit": "Forfeit", "not played out": ""}
"""Reasons of a record as RE has them; any other is a forfeit there."""


RULE_NUMBERS: Final = {"0": "freestyle", "1": "standard", "4": "renju"}
"""The rules of Gomoku as c-gomoku-cli writes them into RU: by the numbers of Gomocup."""
COLOURS: Final = {"b": 0, "black": 0, "1": 0, "w": 1, "white": 1, "2": 1}
"""The values of PL."""
MOST_SET_UPS: Final = 100
"""Of a game, with moves between."""
MOST_STONES: Final = 10_000
"""Of a set-up, with those that are named twice."""
SET_UP: Final = {"AB": 0, "AW": 1, "AE": None}
"""The properties of stones that are set up, and their colours; AE takes stones away."""


class Play(NamedTuple):
    """A move in a file."""

    colour: int
    """0 for black, 1 for white."""
    text: str
    line: int


class SetUp(NamedTuple):
    """Stones that a node sets up, or who is to move."""

    stones: list[tuple[str, int | None]]
    """Cells, and the colours of their stones; None for no stone."""
    to_play: int | None
    line: int


def read_sgf(
    text: str, game: str | None = None, options: Sequence[str] = ()
) -> Iterator[GameRecord]:
    """The records of the games in a file.

    `game` is for a file that does not say. `options`, ``key=value`` texts, override the file.
    """
    for number, line in enumerate(main_lines(text), 1):
        reader = _Reader(line.nodes, game, options)
        record = reader.record()
        if line.left_out:
            s = "s" if line.left_out > 1 else ""
            reader.told.append(f"{line.left_out} variation{s} left out: only the first is read")
        if reader.told:
            warn_user(f"game {number} of the SGF: {'; '.join(reader.told)}")
        yield record


class _Reader:
    """Reads one game of a file."""

    def __init__(self, nodes: Sequence[Node], game: str | None, options: Sequence[str]) -> None:
        self.told: list[str] = []
        """What the user has to know."""
        self._root = nodes[0]
        self._events = _merged(event for node in nodes for event in _events(node))
        self._plays = [event for event in self._events if isinstance(event, Play)]
        self._game = self._name_game(game)
        first = next(iter(self._events), None)
        begins_empty = not (isinstance(first, SetUp) and first.stones)
        if self._game == "hex" and begins_empty and self._is_of_little_golem():
            self._events = [
                event._replace(colour=1 - event.colour) if isinstance(event, Play) else event
                for event in self._events
            ]
            self._plays = [event for event in self._events if isinstance(event, Play)]
        self._first = int(begins_empty and bool(self._plays) and self._plays[0].colour == 1)
        self._mirrored = self._first  # until the players exchange their colours
        self._names = ("PW", "PB") if self._first else ("PB", "PW")
        self._rules = self._make_rules(options)
        self._ending: tuple[int, str] | None = None  # outcome for player 0, and why

    def _value(self, name: str, otherwise: str = "") -> tuple[str, int]:
        """A property of the root, and its line."""
        found = self._root.get(name)
        return (otherwise, 1) if found is None else (found.values[0].strip(), found.line)

    def _is_of_little_golem(self) -> bool:
        """Whether white's moves are those of PB, who begins and joins top and bottom."""
        first = self._plays[0] if self._plays else None
        return first is not None and first.colour == 1 and bool(LETTERS.fullmatch(first.text))

    def _name_game(self, wanted: str | None) -> str:
        number, line = self._value("GM", NUMBERS.get(wanted or "", ""))
        found = next((name for name, known in NUMBERS.items() if known == number), None)
        if found is None or wanted not in (None, found):
            of = NUMBERS if wanted is None else [wanted]
            raise error_at(line, f"expected a game of {', '.join(of)}, got GM[{number[:20]}]")
        return found

    def _make_rules(self, options: Sequence[str]) -> Game:
        size, line = self._value("SZ", DEFAULT_SIZES[self._game])
        match = re.fullmatch(r"(\d{1,2})(?::(\d{1,2}))?", size)
        if match is None:
            raise error_at(line, f"expected SZ[size] or SZ[columns:rows], got SZ[{size[:20]}]")
        columns, rows = int(match[1]), int(match[2] or match[1])
        rule = self._value("RU")[0].lower()
        rule = RULE_NUMBERS.get(rule, rule)
        said: dict[str, Any] = {"board_size": (rows, columns)}
        if self._game == "gomoku":
            said["rule"] = next((known for known in RULES if known in rule), RULES[0])
            has_rule = any(option.partition("=")[0] == "rule" for option in options)
            if rule and said["rule"] not in rule and not has_rule:
                self.told.append(f"RU[{rule[:40]}] is read as {said['rule']}")
        else:
            said["board_size"] = (columns, rows) if self._mirrored else (rows, columns)
            said["swap"] = "swap" in rule or any(play.text in SWAPS for play in self._plays)
        self._options = options_text(self._game, said, options)
        try:
            return rules_of(self._game, self._options)
        except ValueError as error:
            raise error_at(line, error) from None

    def record(self) -> GameRecord:
        rules, state = self._rules, base.new_state(self._rules)
        actions: list[int] = []
        start: StartPosition | None = None
        number = 0
        for event in self._events:
            try:
                if isinstance(event, SetUp):
                    stood = self._set_up(event, state, self._plays[number : number + 1])
                    if stood is not None:
                        if actions:
                            self.told.append(f"moves left out before a set-up: {len(actions)}")
                        state, actions = stood, []
                        start = StartPosition.of(rules, state)
                    continue
                number += 1
                action = self._action(event, number - 1, int(rules.to_play(state)))
                if action is None:
                    break
                actions.append(notation.check_action(rules, state, action))
            except ValueError as error:
                raise error_at(event.line, error) from None
            rules.step(state, action)
        outcome = rules.outcome(state, 0) if rules.is_terminal(state) else None
        if outcome is not None and self._ending not in (None, (outcome, "resigned")):
            raise error_at(self._plays[-1].line, "expected no move after the end of the game")
        outcome, reason = self._result(outcome)
        agents = self._value(self._names[0])[0], self._value(self._names[1])[0]
        about: dict[str, Any] = {"outcome": outcome, "reason": reason, "agents": agents}
        return GameRecord.of(self._game, self._options, actions, start=start, **about)

    def _set_up(self, event: SetUp, state: State, following: Sequence[Play]) -> State | None:
        """The position with other stones, or another player to move; None if it is the same."""
        before = base.cell_owners(self._rules, state)
        owners = before.copy()
        for text, colour in event.stones:
            row, column = self._cell(text)
            owners[row, column] = EMPTY if colour is None else colour ^ self._mirrored
        counts = [int(np.count_nonzero(owners == player)) for player in (0, 1)]
        is_same = bool((owners == before).all())
        if event.to_play is not None:
            to_play = event.to_play ^ self._mirrored
            if is_same and (to_play == self._rules.to_play(state) or not any(counts)):
                return None
        elif is_same:
            return None
        elif following:
            to_play = following[0].colour ^ self._mirrored
        else:
            to_play = int(counts[0] == counts[1] + 1)
            if counts[0] - counts[1] not in (0, 1):
                self.told.append("no PL says who is to move: black")
        return notation.from_cells(self._rules, owners, to_play, details=notation.OUT_OF_TURN)

    def _action(self, play: Play, number: int, player: int) -> int | None:
        """The action of a move; None for one that ends the game."""
        text, last = play.text, number == len(self._plays) - 1
        if self._game == "hex" and text in ENDS:
            if not last:
                raise ValueError(f"expected no move after {text}")
            self._ending = (-1 if play.colour == self._mirrored else 1), ENDS[text]
            return None
        if play.colour != player ^ self._mirrored:
            raise ValueError(f"expected a move of {'BW'[1 - play.colour]}, got one of "
                             f"{'BW'[play.colour]}")  # fmt: skip
        if self._game == "hex" and text in SWAPS:
            if not last and self._plays[number + 1].colour == play.colour:
                self._mirrored ^= 1  # the players have exchanged their colours
            return self._rules.rows * self._rules.columns
        row, column = self._cell(text)
        return row * self._rules.columns + column

    def _cell(self, text: str) -> tuple[int, int]:
        """Row and column of a cell, from the top left."""
        is_mirrored = self._game == "hex" and self._mirrored
        rows, columns = self._rules.rows, self._rules.columns
        if is_mirrored:
            rows, columns = columns, rows
        if LETTERS.fullmatch(text):
            column, row = (ord(letter) - 97 for letter in text)
            if row >= rows or column >= columns:
                raise ValueError(
                    f"expected a cell of {columns} columns and {rows} rows, got {text}"
                )
        elif self._game == "hex" and len(text) <= 3:
            row, column = base.parse_cell(text, rows, columns)
        else:
            raise ValueError(f"expected a cell, got {text[:20]!r}")
        return (column, row) if is_mirrored else (row, column)

    def _result(self, by_rules: int | None) -> tuple[int | None, str | None]:
        """The outcome for player 0, and the reason if it is not by the rules."""
        text, line = self._value("RE")
        match = re.fullmatch(r"([BW])(?:\+(.*))?", text, re.IGNORECASE | re.DOTALL)
        said = None
        if match is not None:
            said = 1 if "BW".index(match[1].upper()) == self._first else -1
        elif text.lower() in ("0", "draw"):
            said = 0
        is_exchanged = self._mirrored != self._first
        if None not in (said, by_rules) and said != by_rules and not is_exchanged:
            raise error_at(line, f"expected RE as the game ended, got RE[{text[:20]}]")
        if by_rules is not None:
            return by_rules, None
        if self._ending is not None:  # a move counts before RE
            return self._ending
        if said is None:
            return None, None
        letter = (match[2] or "")[:1].upper() if match is not None else ""
        return said, {"R": "resigned", "T": "time", "F": "forfeit"}.get(letter, "not played out")


def _merged(events: Iterable[Play | SetUp]) -> list[Play | SetUp]:
    """Set-ups without a move between them as one."""
    found: list[Play | SetUp] = []
    set_ups = 0
    for event in events:
        last = found[-1] if found else None
        if isinstance(event, SetUp) and isinstance(last, SetUp):
            last.stones.extend(event.stones)
            _expect_few(last.stones, event.line)
            to_play = last.to_play if event.to_play is None else event.to_play
            found[-1] = last._replace(to_play=to_play)
            continue
        set_ups += isinstance(event, SetUp)
        if set_ups > MOST_SET_UPS:
            raise error_at(event.line, f"expected at most {MOST_SET_UPS} set-ups, got more")
        found.append(event)
    return found


def _events(node: Node) -> Iterator[Play | SetUp]:
    """What a node sets up, if anything, and its move, if there is one."""
    names = [name for name in (*SET_UP, "PL") if name in node]
    if names:
        line = node[names[0]].line
        stones: list[tuple[str, int | None]] = []
        for name, colour in SET_UP.items():
            for value in node[name].values if name in node else ():
                stones += [(cell, colour) for cell in _cells(value.strip().lower(), line)]
                _expect_few(stones, line)
        to_play = None
        if "PL" in node:
            said, line_of_it = node["PL"].values[-1].strip(), node["PL"].line
            to_play = COLOURS.get(said.lower())
            if to_play is None:
                raise error_at(line_of_it, f"expected PL[B] or PL[W], got PL[{said[:20]}]")
        yield SetUp(stones, to_play, line)
    moves = [name for name in ("B", "W") if name in node]
    for name in moves:
        values, line = node[name]
        if len(values) > 1 or len(moves) > 1:
            raise error_at(line, "expected one move in a node, got more")
        yield Play("BW".index(name), values[0].strip().lower(), line)


def _expect_few(stones: Sequence[object], line: int) -> None:
    if len(stones) > MOST_STONES:
        raise error_at(line, f"expected at most {MOST_STONES} stones in a set-up, got more")


def _cells(text: str, line: int) -> list[str]:
    """The cells of a value: one, or a rectangle between any two opposite corners, as ``aa:cc``."""
    first, colon, last = text.partition(":")
    if not colon:
        return [text]
    if not (LETTERS.fullmatch(first) and LETTERS.fullmatch(last)):
        raise error_at(line, f"expected a cell, got {text[:20]!r}")
    corners = [sorted(map(ord, of_both)) for of_both in zip(first, last, strict=True)]
    columns, rows = (range(least, most + 1) for least, most in corners)
    return [chr(column) + chr(row) for row in rows for column in columns]


# ---- writing -------------------------------------------------------------------------------------


def write_sgf(records: Sequence[GameRecord]) -> str:
    """Games as SGF."""
    return "".join(_game_text(_nodes(record)) for record in records)


def _nodes(record: GameRecord) -> Iterator[dict[str, str | list[str]]]:
    name = record.game
    if record.is_foreign or name not in NUMBERS:
        raise ValueError(
            f"expected a game of {', '.join(NUMBERS)} for SGF, got {name}: the format has no "
            "number for it, so keep the record as it is, or its moves as text"
        )
    rules: Any = record.rules()
    if rules.name == "gomoku":
        check_plain(rules)
    root = _root(record, rules)
    if record.start is not None:
        root |= _stones(rules, record.start)
    yield root
    first = 0 if record.start is None else record.start.to_play
    for ply, action in enumerate(record.actions):
        search = record.searches[ply] if record.searches else None
        if rules.name == "hex":
            view = SwapView.after(rules, record.actions[:ply])
            colour, text = view.colour((first + ply) % 2)[0].upper(), view.text(action)
        else:
            colour, text = "BW"[(first + ply) % 2], _letters(rules, action)
        node: dict[str, str | list[str]] = {colour: text}
        if search is not None:
            node["C"] = _comment(rules, search, record.actions[:ply])
        yield node


def _stones(rules: Game, start: StartPosition) -> dict[str, str | list[str]]:
    """The properties of a start position."""
    owners = base.cell_owners(rules, start.state(rules)).ravel()
    found: dict[str, str | list[str]] = {}
    for player, name in enumerate(("AB", "AW")):
        cells = np.flatnonzero(owners == player).tolist()
        if cells:
            found[name] = [
                rules.action_text(cell) if isinstance(rules, Hex) else _letters(rules, cell)
                for cell in cells
            ]
    return {**found, "PL": "BW"[start.to_play]}


def _letters(rules: Game, cell: int) -> str:
    """A cell of Gomoku: column and row."""
    row, column = divmod(cell, rules.columns)
    return chr(97 + column) + chr(97 + row)


def _root(record: GameRecord, rules: Any) -> dict[str, str | list[str]]:
    is_square = rules.rows == rules.columns
    root: dict[str, str | list[str]] = {
        "FF": "4",
        "CA": "UTF-8",
        "AP": f"hexenv:{hexenv.__version__}",
        "GM": NUMBERS[rules.name],
        "SZ": str(rules.rows) if is_square else f"{rules.columns}:{rules.rows}",
        "PB": record.agents[0],
        "PW": record.agents[1],
    }
    if rules.name == "gomoku":
        root["RU"] = rule_name(rules.rule)
    elif rules.swap:
        root["RU"] = SWAP
    if record.outcome is not None:
        root["RE"] = "0"
        if record.outcome:
            how = "" if record.reason is None else REASONS.get(record.reason, "Forfeit")
            root["RE"] = f"{'B' if record.outcome > 0 else 'W'}+{how}"
    return root


def check_plain(rules: Any) -> None:
    """Refuse variants of Gomoku that SGF and psq cannot represent."""
    if not isinstance(rules, Gomoku):
        raise ValueError("expected Gomoku without an opening, got one with an opening")
    if rules.connect != 5:
        raise ValueError(f"expected Gomoku with five in a row, got connect={rules.connect}")


def _comment(rules: Game, search: Search, before: Sequence[int]) -> str:
    """A search after these actions, with cells as the file has them."""
    words = [f"{search.simulations} simulations"]
    if search.value is not None:
        words.append(f"value {search.value:+.3f}")
    if search.principal_variation:
        actions = [*before, *search.principal_variation]
        cells = [
            SwapView.after(rules, actions[:ply]).text(actions[ply])
            if isinstance(rules, Hex)
            else rules.action_text(actions[ply])
            for ply in range(len(before), len(actions))
        ]
        words.append(" ".join(cells))
    return ", ".join(words)
