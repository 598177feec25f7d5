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
options must be read with them. A record is the first variation; `read_variations` reads all of
them, with their comments. A `UserWarning` says what of a file is left out or assumed. Errors are
`ValueError`s with a line.

Texts are in the encoding that CA names; without it in UTF-8 if they can be, else in Latin-1, the
default of FF[4].
"""

import codecs
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
from msgspec import structs

import hexenv
from agents.apps.protocols.exchange import SWAP, SwapView
from agents.core.reading import UTF_8, utf_8_or_latin_1
from agents.records.record import GameRecord, Search, StartPosition, options_text, rules_of
from agents.records.variations import ROOT, Variation, Variations
from hexenv.common.messages import error_at, warn_user
from hexenv.games import base, notation
from hexenv.games.base import EMPTY, Game, State
from hexenv.games.gomoku import RULES, Gomoku, rule_name
from hexenv.games.hex import Hex

# ---- text ----------------------------------------------------------------------------------------

WIDER: Final = {"gb2312": "gb18030", "gbk": "gb18030", "shift_jis": "cp932", "euc_kr": "cp949"}
"""Encodings under whose names programs write a wider one."""
CHARSET: Final = re.compile(rb"(?<![A-Za-z])CA\s*\[\s*([^\]\\]*?)\s*\]")


def sgf_encodings(data: bytes) -> Sequence[str]:
    """The encoding that a file names, and those that it may be in.

    Moves are the same in all of them; the last one reads any bytes.
    """
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
    found = UTF_8 if codec.name == "utf-8" else WIDER.get(codec.name, codec.name)
    try:
        data.decode(found)
    except ValueError:
        warn_user(f"the text is not in the encoding that it names, {name}: comments may be wrong")
        return utf_8_or_latin_1(data)
    return (found,)


# ---- syntax --------------------------------------------------------------------------------------

TOKEN: Final = re.compile(
    r"\s*(?:(?P<sign>[();])|(?P<name>[A-Za-z]+)|\[(?P<value>[^\\\]]*(?:\\.[^\\\]]*)*)\])", re.DOTALL
)
MOST_NODES: Final = 100_000
"""Of a game, with its variations."""
MOST_DEPTH: Final = 10_000
"""Of variations within variations."""
MOST_STEPS: Final = 200_000
"""Of all lines of play of a game, where variations are read; lines count what they share, too."""
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


class Tree(NamedTuple):
    """The nodes of a game, and of each the place of the node before it; -1 for the first."""

    nodes: list[Node]
    parents: list[int]

    def ends(self) -> list[int]:
        """The places of the nodes with nothing after them, that of the main line first."""
        return sorted(set(range(len(self.nodes))) - set(self.parents))

    def way(self, at: int) -> list[int]:
        """The places of the nodes from the first to one."""
        found = list[int]()
        while at >= 0:
            found.append(at)
            at = self.parents[at]
        return found[::-1]


def trees(text: str) -> Iterator[Tree]:
    """The games of a collection."""
    tree, last, node, found = Tree([], []), -1, None, None  # found: whose values come next
    opened: list[int] = []  # the last node before each bracket that is open
    line = 1
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
        elif token == "(":
            if not opened:
                tree, last = Tree([], []), -1
            opened.append(last)
            node = None
            if len(opened) > MOST_DEPTH:
                raise error_at(line, f"expected variations at most {MOST_DEPTH} deep, got more")
        elif not opened:
            raise error_at(line, f"expected (, got {token}")
        elif token == ";":
            node = Node()
            tree.nodes.append(node)
            tree.parents.append(last)
            last = len(tree.nodes) - 1
            if len(tree.nodes) > MOST_NODES:
                raise error_at(line, f"expected at most {MOST_NODES} nodes in a game, got more")
        else:
            last, node = opened.pop(), None
            if not opened:
                if not tree.nodes:
                    raise error_at(line, "expected a node in every game, got none")
                yield tree
    if opened or not tree.nodes:
        raise error_at(line, f"expected {')' if opened else '(;'}, got the end of the file")


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


def _properties(node: Mapping[str, str | Sequence[str]]) -> str:
    """Properties of a node as the format writes them; each has one value or several."""
    written = ""
    for name, value in node.items():
        values = [value] if isinstance(value, str) else value
        escaped = (re.sub(r"([\\\]])", r"\\\1", each) for each in values)
        written += name + "".join(f"[{each}]" for each in escaped)
    return written


# ---- reading -------------------------------------------------------------------------------------

NUMBERS: Final = {"hex": "11", "gomoku": "4"}
"""The values of GM."""
DEFAULT_SIZES: Final = {"hex": "11", "gomoku": "15"}
SWAPS: Final = ("swap-pieces", "swap-sides", "swap")
LETTERS: Final = re.compile("[a-z]{2}")
"""A cell of Gomoku, and of Hex in Little Golem."""
HEX_CELL: Final = re.compile("[a-z][0-9]{1,2}")
ENDS: Final = {"resign": "resigned", "forfeit": "forfeit"}
"""Moves that end a game, and the reasons in the record."""
REASONS: Final = {"resigned": "Resign", "time": "Time", "forfeit": "Forfeit", "not played out": ""}
"""Reasons of a record as RE has them; any other is a forfeit there."""


RULE_NUMBERS: Final = {"0": "freestyle", "1": "standard", "4": "renju", "8": "caro"}
"""The rules of Gomoku as c-gomoku-cli writes them into RU: by the numbers of Gomocup."""
COLOURS: Final = {"b": 0, "black": 0, "1": 0, "w": 1, "white": 1, "2": 1}
"""The values of PL."""
SET_UP: Final = {"AB": 0, "AW": 1, "AE": None}
"""The properties of stones that are set up, and their colours; AE takes stones away."""
UNDERSTOOD: Final = {"FF", "CA", "AP", "GM", "SZ", "RU", *SET_UP, "PL", "B", "W", "C"}
"""The properties that a game with variations has itself."""
MARKS: Final = {"AR", "CR", "DD", "LB", "LN", "MA", "SL", "SQ", "TB", "TR", "TW", "VW"}
"""The properties that name cells which are no stones."""
EXCHANGED: Final = {"PB": "PW", "PW": "PB", "BR": "WR", "WR": "BR", "BT": "WT", "WT": "BT"}
"""What the properties of the players become where white begins, because black begins here."""
OTHER_COLOUR: Final = str.maketrans("BWbw", "WBwb")
MOST_SET_UPS: Final = 100
"""Of a game, with moves between."""
MOST_STONES: Final = 10_000
"""Of a set-up, with those that are named twice."""


class Play(NamedTuple):
    """A move in a file."""

    colour: int
    """0 for black, 1 for white."""
    text: str
    line: int
    node: int
    """The place of its node in the line of play."""


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

    `game` is for a file that does not say, or says one that is not known. `options`, ``key=value``
    texts, override the file.
    """
    for number, tree in enumerate(trees(text), 1):
        main, *others = tree.ends()
        reader = _Reader([tree.nodes[at] for at in tree.way(main)], game, options)
        record = reader.record()
        if others:
            s = "s" if len(others) > 1 else ""
            reader.told.append(f"{len(others)} variation{s} left out: only the first is read")
        if reader.told:
            warn_user(f"game {number} of the SGF: {'; '.join(reader.told)}")
        yield record


def read_variations(
    text: str, game: str | None = None, options: Sequence[str] = ()
) -> Iterator[Variations]:
    """The games in a file with their variations and comments; the arguments are as of `read_sgf`.

    A variation that cannot be read is left out, and its reason is in `Variations.left_out`.
    """
    for tree in trees(text):
        yield _Merger(tree, game, options).variations()


class _Merger:
    """Puts the lines of play of one game together: each is read as a game of its own."""

    def __init__(self, tree: Tree, game: str | None, options: Sequence[str]) -> None:
        self._tree, self._game, self._options = tree, game, options
        self._told: list[str] = []
        self._seen: set[int] = set()  # nodes of earlier lines
        self._moves: list[Variation] = []
        self._known: dict[tuple[int, int], int] = {}  # the place of an action after a move
        self._texts: dict[int, list[tuple[str, str]]] = {ROOT: []}  # comments and rest by place

    def variations(self) -> Variations:
        tree = self._tree
        lengths = list[int]()
        for parent in tree.parents:
            lengths.append(1 + (lengths[parent] if parent >= 0 else 0))
        if sum(lengths[end] for end in tree.ends()) > MOST_STEPS:
            raise ValueError(f"expected lines of at most {MOST_STEPS} nodes in all, got more")
        has_swap = any(
            value.strip().lower() in SWAPS
            for node in tree.nodes
            for name in ("B", "W")
            if name in node
            for value in node[name].values
        )
        main: GameRecord | None = None
        for way in map(tree.way, tree.ends()):
            try:
                nodes = [tree.nodes[at] for at in way]
                reader = _Reader(nodes, self._game, self._options, has_swap)
                main = main or reader.record()
                if (reader.options, reader.start) != (main.options, main.start):
                    raise ValueError("expected a variation that begins as the main line")
            except ValueError as error:
                if main is None:
                    raise
                self._told.append(f"a variation left out: {error}")
                continue
            self._told += [told for told in reader.told if told not in self._told]
            self._add(way, reader.actions, reader)
        assert main is not None  # a game has a node
        comment, rest = self._text_of(ROOT)
        moves = [
            Variation(move.parent, move.action, *self._text_of(place))
            for place, move in enumerate(self._moves)
        ]
        return Variations(
            main.game, main.options, tuple(moves), main.start, comment, rest, tuple(self._told)
        )

    def _add(self, way: Sequence[int], actions: Sequence[int], reader: "_Reader") -> None:
        """Add one line of play, with what its nodes say."""
        played = dict(zip(reader.nodes_of_moves, actions, strict=True))
        last = ROOT
        for number, at in enumerate(way):
            if number in played:
                key = last, played[number]
                if key not in self._known:
                    self._known[key] = len(self._moves)
                    self._texts[len(self._moves)] = []
                    self._moves.append(Variation(*key))
                last = self._known[key]
            if at not in self._seen:
                self._seen.add(at)
                self._texts[last].append(self._text_in(self._tree.nodes[at], reader))

    def _text_in(self, node: Node, reader: "_Reader") -> tuple[str, str]:
        """The comment of a node, and what only other programs know."""
        comment = "\n".join(node["C"].values) if "C" in node else ""
        rest = {name: found.values for name, found in node.items() if name not in UNDERSTOOD}
        if reader.white_begins:
            rest = {EXCHANGED.get(name, name): values for name, values in rest.items()}
            if "RE" in rest:
                rest["RE"] = [value[:1].translate(OTHER_COLOUR) + value[1:] for value in rest["RE"]]
        if reader.moves_cells and MARKS & rest.keys():
            self._told.append("marks on cells left out: the game is written mirrored")
            rest = {name: values for name, values in rest.items() if name not in MARKS}
        return comment, _properties(rest)

    def _text_of(self, place: int) -> tuple[str, str]:
        texts = self._texts[place]
        return "\n".join(text for text, _ in texts if text), "".join(rest for _, rest in texts)


class _Reader:
    """Reads one line of play of a game.

    Attributes:
        options: Of the game.
        start: Where it begins, if not at the start of the game.
        actions: What is played from there.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        game: str | None,
        options: Sequence[str],
        has_swap: bool = False,
    ) -> None:
        self.told: list[str] = []
        """What the user has to know."""
        self.nodes_of_moves: list[int] = []
        """The place of the node of each action of the record."""
        self._root = nodes[0]
        self._events: list[Play | SetUp] = _merged(
            event for at, node in enumerate(nodes) for event in _events(node, at)
        )
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
        self.white_begins = begins_empty and bool(self._plays) and self._plays[0].colour == 1
        self._mirrored = int(self.white_begins)  # until the players exchange their colours
        self._is_swapped = False  # and another move came
        self._has_swap = has_swap or any(play.text in SWAPS for play in self._plays)
        self._names = ("PW", "PB") if self.white_begins else ("PB", "PW")
        self._rules = self._make_rules(options)
        self.actions: list[int] = []
        self.start: StartPosition | None = None
        self._state = base.new_state(self._rules)
        self._ending: tuple[int, str] | None = None  # outcome for player 0, and why
        self._play()

    def _value(self, name: str, otherwise: str = "") -> tuple[str, int]:
        """A property of the root, and its line."""
        found = self._root.get(name)
        return (otherwise, 1) if found is None else (found.values[0].strip(), found.line)

    def _is_of_little_golem(self) -> bool:
        """Whether white's moves are those of PB, who begins and joins top and bottom."""
        first = self._plays[0] if self._plays else None
        return first is not None and first.colour == 1 and bool(LETTERS.fullmatch(first.text))

    def _name_game(self, wanted: str | None) -> str:
        number, line = self._value("GM")
        found = next((name for name, known in NUMBERS.items() if known == number), None)
        if wanted in NUMBERS and found is None:
            if number:
                self.told.append(f"GM[{number[:20]}] is read as {wanted}")
            return wanted
        if found is None and not number and self._plays and HEX_CELL.fullmatch(self._plays[0].text):
            found = "hex"
        if found is None or wanted not in (None, found):
            of = NUMBERS if wanted is None else [wanted]
            hint = " (the game can be given)" if wanted is None else ""
            raise error_at(line, f"expected a game of {', '.join(of)}, got GM[{number[:20]}]{hint}")
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
            said["swap"] = "swap" in rule or self._has_swap
        self.options = options_text(self._game, said, options)
        try:
            return rules_of(self._game, self.options)
        except ValueError as error:
            raise error_at(line, error) from None

    @property
    def moves_cells(self) -> bool:
        """Whether the game, written again, has its cells elsewhere than the file."""
        return self.white_begins or bool(self._mirrored) != self._is_swapped

    def _play(self) -> None:
        """Follow the nodes to the end."""
        rules, number = self._rules, 0
        for event in self._events:
            try:
                if isinstance(event, SetUp):
                    stood = self._set_up(event, self._state, self._plays[number : number + 1])
                    if stood is not None:
                        if self.actions:
                            self.told.append(f"moves left out before a set-up: {len(self.actions)}")
                        self._state, self.actions = stood, []
                        self.nodes_of_moves = []
                        self.start = StartPosition.of(rules, stood)
                    continue
                number += 1
                action = self._action(event, number - 1, int(rules.to_play(self._state)))
                if action is None:
                    break
                notation.check_action(rules, self._state, action)
            except ValueError as error:
                raise error_at(event.line, error) from None
            self.actions.append(action)
            self.nodes_of_moves.append(event.node)
            rules.step(self._state, action)
        if rules.is_terminal(self._state):
            by_rules = rules.outcome(self._state, 0), "resigned"
            if self._ending not in (None, by_rules):
                raise error_at(self._plays[-1].line, "expected no move after the end of the game")

    def record(self) -> GameRecord:
        """What has been played, and how it ended."""
        rules, state = self._rules, self._state
        outcome = rules.outcome(state, 0) if rules.is_terminal(state) else None
        outcome, reason = self._result(outcome)
        agents = self._value(self._names[0])[0], self._value(self._names[1])[0]
        about: dict[str, Any] = {"outcome": outcome, "reason": reason, "agents": agents}
        return GameRecord.of(self._game, self.options, self.actions, start=self.start, **about)

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
            self._is_swapped = not last
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
            said = 1 if "BW".index(match[1].upper()) == int(self.white_begins) else -1
        elif text.lower() in ("0", "draw"):
            said = 0
        is_exchanged = bool(self._mirrored) != self.white_begins
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


def _events(node: Node, at: int) -> Iterator[Play | SetUp]:
    """What a node at a place sets up, if anything, and its move, if there is one."""
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
        yield Play("BW".index(name), values[0].strip().lower(), line, at)


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


def write_sgf(records: Iterable[GameRecord]) -> str:
    """Games as SGF; their searches become comments."""
    return "".join(write_variations(_with_comments(record)) for record in records)


def _with_comments(record: GameRecord) -> Variations:
    """A record with its players, its result and its searches as the format tells them."""
    tree = Variations.of(record)
    rules, moves = _rules(tree), list(tree.moves)
    for ply, search in enumerate(record.searches):
        if search is not None:
            comment = _comment(rules, search, record.actions[:ply])
            moves[ply] = structs.replace(moves[ply], comment=comment)
    return replace(tree, moves=tuple(moves), rest=_result_text(record))


def write_variations(tree: Variations) -> str:
    """A game with its variations and comments as SGF, a line for each node."""
    rules, children = _rules(tree), tree.children()
    root = _root(rules)
    if tree.start is not None:
        root |= _stones(rules, tree.start)
    texts = {ROOT: _node(root, tree.comment, tree.rest)}
    first = 0 if tree.start is None else tree.start.to_play
    for place, (move, way) in enumerate(zip(tree.moves, tree.ways(), strict=True)):
        ply = len(way) - 1
        if move.action >= rules.num_actions():
            raise ValueError(f"expected actions of the game, got {move.action}")
        if rules.name == "hex":
            view = SwapView.after(rules, way[:ply])
            colour, text = view.colour((first + ply) % 2)[0].upper(), view.text(move.action)
        else:
            colour, text = "BW"[(first + ply) % 2], _letters(rules, move.action)
        texts[place] = _node({colour: text}, move.comment, move.rest)
    parts: list[str] = []
    waiting: list[int | str] = [")\n", ROOT, "("]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            parts.append(part)
            continue
        parts.append(texts[part] if part == ROOT else f"\n{texts[part]}")
        after = children[part]
        for child in reversed(after):
            waiting += [child] if len(after) == 1 else [")", child, "\n("]
    return "".join(parts)


def _node(known: Mapping[str, str | Sequence[str]], comment: str, rest: str) -> str:
    """A node."""
    return ";" + _properties({**known, **({"C": comment} if comment else {})}) + rest


def _rules(tree: Variations) -> Any:
    """The rules of a game that the format can represent."""
    if tree.game not in NUMBERS:
        raise ValueError(
            f"expected a game of {', '.join(NUMBERS)} for SGF, got {tree.game}: the format has no "
            "number for it, so keep the record as it is, or its moves as text"
        )
    rules: Any = rules_of(tree.game, tree.options)
    if rules.name == "gomoku":
        check_plain(rules)
    return rules


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


def _root(rules: Any) -> dict[str, str | list[str]]:
    is_square = rules.rows == rules.columns
    root: dict[str, str | list[str]] = {
        "FF": "4",
        "CA": "UTF-8",
        "AP": f"hexenv:{hexenv.__version__}",
        "GM": NUMBERS[rules.name],
        "SZ": str(rules.rows) if is_square else f"{rules.columns}:{rules.rows}",
    }
    if rules.name == "gomoku":
        root["RU"] = rule_name(rules.rule)
    elif rules.swap:
        root["RU"] = SWAP
    return root


def _result_text(record: GameRecord) -> str:
    """The players and the result."""
    found = {"PB": record.agents[0], "PW": record.agents[1]}
    if record.outcome is not None:
        found["RE"] = "0"
        if record.outcome:
            reason = record.reason or "not played out"
            how = "" if reason.startswith("adjudicated") else REASONS.get(reason, "Forfeit")
            found["RE"] = f"{'B' if record.outcome > 0 else 'W'}+{how}"
    return _properties(found)


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
