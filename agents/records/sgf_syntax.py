"""The syntax of the Smart Game Format, FF[4] (https://www.red-bean.com/sgf/), for any game.

A small reader of its own: it names the line of what is wrong, which the libraries for it do not.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

TOKEN: Final = re.compile(
    r"\s*(?:(?P<sign>[();])|(?P<name>[A-Za-z]+)|\[(?P<value>[^\\\]]*(?:\\.[^\\\]]*)*)\])", re.DOTALL
)
MOST_NODES: Final = 100_000
"""Of a game's main line."""
MOST_DEPTH: Final = 10_000
"""Of variations within variations."""
START: Final = re.compile(r"\(\s*;")
"""Where a collection begins; what stands before is none of it."""


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


def error_at(line: int, message: object) -> ValueError:
    """An error with the line of a file."""
    return ValueError(f"line {line}: {message}")


def main_lines(text: str) -> Iterator[list[Node]]:
    """The games of a collection: the nodes of each, by the first variation wherever there are any.

    Args:
        text: The file.

    Yields:
        The nodes of a game's main line, when its end has been read.

    Raises:
        ValueError: With the line of what is no SGF.
    """
    nodes: list[Node] = []
    depth, is_main, node, found = 0, False, None, None  # found: the property that values belong to
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
            continue
        if token == "(":
            if depth == 0:
                nodes, is_main = [], True
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
            if depth == 0:
                if not nodes:
                    raise error_at(line, "expected a node in every game, got none")
                yield nodes
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
    """A value without what escapes its characters."""
    return re.sub(r"\\(\n|.)", lambda match: match[1].strip("\n"), value, flags=re.DOTALL)


def node_text(properties: Mapping[str, str]) -> str:
    """A node, with one value for each property."""
    escaped = {name: re.sub(r"([\\\]])", r"\\\1", value) for name, value in properties.items()}
    return ";" + "".join(f"{name}[{value}]" for name, value in escaped.items())


def game_text(nodes: Sequence[Mapping[str, str]]) -> str:
    """A game without variations, a line for each node."""
    return "(" + "\n".join(map(node_text, nodes)) + ")\n"
