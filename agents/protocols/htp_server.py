"""Our side of the Hex Text Protocol: an engine for HexGui and other controllers.

See `agents.protocols.htp` for the protocol. A colour may play twice in a row, and a move is
generated for either colour, whoever has played before. So a swap changes neither the board nor
what is generated: the controller then asks the other side for white's next move.
"""

import re
from collections.abc import Callable
from inspect import signature
from typing import NamedTuple

import hexenv
from agents.core.agent import Agent
from agents.protocols.conversation import (
    Stopwatch,
    Thinker,
    bring_to,
    in_words,
    set_up,
    whole_number,
)
from agents.protocols.exchange import COLOURS, SWAP, mirrored
from agents.protocols.time_limits import HTPTime
from hexenv import hex_v0
from hexenv.envs.aec import BoardEnv
from hexenv.games import hex as rules
from hexenv.games.base import Game, State, new_state


class Stone(NamedTuple):
    """A stone on the board."""

    cell: int
    colour: int
    """0 for black, 1 for white."""


class HTPServer:
    """Answers a controller's lines with an agent's moves.

    Args:
        agent: What plays. Its budget `seconds` is what the controller says, if it says something.
        label: What to call it.
        swap: Whether it may take over the first stone, until ``param_game allow_swap`` says else.
            The other side may in any case.

    Attributes:
        is_over: Whether the controller has said quit.
    """

    def __init__(self, agent: Agent, label: str, swap: bool = False) -> None:
        self.is_over = False
        self._label = label
        self._thinker = Thinker(agent)
        self._allow_swap = swap
        self._time = HTPTime()
        self._watch = Stopwatch()
        self._size = (11, 11)
        self._ready_for: tuple[int, int] | None = None  # the size of board
        self._moves: list[Stone | None] = []  # None is the swap, which places none
        self._envs: dict[tuple[tuple[int, int], bool], BoardEnv] = {}
        self._commands: dict[str, Callable[..., str]] = {
            "all_legal_moves": self._all_legal_moves,
            "boardsize": self._boardsize,
            "clear_board": self._clear_board,
            "final_score": self._final_score,
            "genmove": self._genmove,
            "hexgui-analyze_commands": lambda: "",
            "known_command": lambda *words: str(" ".join(words) in self._commands).lower(),
            "list_commands": lambda: "\n".join(self._commands),
            "name": lambda: f"hexenv {self._label}",
            "param_game": self._param_game,
            "play": self._play,
            "protocol_version": lambda: "2",
            "quit": self._quit,
            "reg_genmove": self._reg_genmove,
            "showboard": self._showboard,
            "time_left": self._time_left,
            "time_settings": self._time_settings,
            "undo": self._undo,
            "version": lambda: hexenv.__version__,
        }

    def answer(self, line: str) -> str:
        """What to write for a line, with line ends; nothing for a line without a command."""
        self._watch = Stopwatch()
        text = re.sub(r"[\x00-\x1f\x7f]", "", line.replace("\t", " ")).partition("#")[0]
        words = text.split()
        number = ""
        if len(words) > 1 and re.fullmatch(r"\d+", words[0], re.ASCII):
            number = words.pop(0)
        if not words:
            return ""
        try:
            mark, answer = "=", self._do(*words)
        except Exception as error:  # even of an agent: the controller has to hear something
            mark, answer = "?", in_words(error)
        answer = re.sub(r"\n(?=\n)", "\n ", answer.rstrip())  # an empty line would end it
        return f"{mark}{number} {answer}\n\n"

    def _do(self, name: str, *arguments: str) -> str:
        if name not in self._commands:
            raise ValueError("unknown command")
        command = self._commands[name]
        try:
            signature(command).bind(*arguments)
        except TypeError as error:
            raise ValueError(f"syntax error: {name}: {error}") from None
        return command(*arguments)

    # ---- the board -------------------------------------------------------------------------------

    def _boardsize(self, columns: str, rows: str | None = None) -> str:
        size = (number_of(columns if rows is None else rows), number_of(columns))
        try:
            rules.new(size)
        except ValueError:
            raise ValueError("unacceptable size") from None
        self._size = size
        return self._clear_board()

    def _get_ready(self) -> None:
        """Have the agent ready for the board, so that no move waits for that."""
        rows, columns = self._size
        if self._ready_for != self._size:
            self._thinker.warm_up(self._env(self._size, self._allow_swap and rows == columns))
            self._ready_for = self._size

    def _env(self, size: tuple[int, int], swap: bool) -> BoardEnv:
        if (size, swap) not in self._envs:
            self._envs[size, swap] = hex_v0.raw_env(size, swap)
            self._envs[size, swap].reset()
        return self._envs[size, swap]

    def _clear_board(self) -> str:
        self._get_ready()
        self._moves.clear()
        self._time.start_game()
        self._thinker.agent.reset()
        return ""

    def _stones(self) -> list[Stone]:
        """The stones on the board, as they were played."""
        return [move for move in self._moves if move is not None]

    def _play(self, colour: str, vertex: str) -> str:
        number, text = colour_number(colour), vertex.lower()
        if text == "resign":
            return ""
        if text == SWAP:
            self._swap(number)
            return ""
        try:
            cell = rules.new(self._size).parse_action(text)
        except ValueError:
            raise ValueError(f"illegal move: {vertex:.40} is no cell") from None
        if any(stone.cell == cell for stone in self._stones()):
            raise ValueError(f"illegal move: {text} is taken")
        self._moves.append(Stone(cell, number))
        return ""

    def _swap(self, colour: int) -> None:
        rows, columns = self._size
        is_answer = [stone.colour for stone in self._stones()] == [1 - colour]
        if rows != columns or not is_answer or None in self._moves:
            raise ValueError(f"illegal move: {SWAP} is the answer to the first move")
        self._moves.append(None)
        self._time.exchange()

    def _undo(self) -> str:
        if not self._moves:
            raise ValueError("cannot undo")
        if self._moves.pop() is None:
            self._time.exchange()
        return ""

    def _board(self, game: Game) -> State:
        """The stones on an empty board, in whatever order they came."""
        state = new_state(game)
        for stone in self._stones():
            game.place(state, stone.cell, stone.colour)
        return state

    def _winner(self) -> int | None:
        game = rules.new(self._size)
        state = self._board(game)
        return next((player for player in (0, 1) if game.has_joined(state, player)), None)

    def _final_score(self) -> str:
        winner = self._winner()
        return "cannot score" if winner is None else f"{'BW'[winner]}+"

    def _all_legal_moves(self) -> str:
        game = rules.new(self._size)
        taken = {stone.cell for stone in self._stones()}
        return " ".join(game.action_text(n) for n in range(game.num_actions()) if n not in taken)

    def _showboard(self) -> str:
        """The board as Benzene draws it."""
        rows, columns = self._size
        colours = {stone.cell: "BW"[stone.colour] for stone in self._stones()}
        letters = "  ".join(chr(97 + column) for column in range(columns))
        lines = ["", f"  {letters}"]
        for row in range(rows):
            cells = "  ".join(colours.get(row * columns + n, ".") for n in range(columns))
            lines.append(f"{' ' * row}{row + 1:2}\\{cells}\\{row + 1}")
        return "\n".join([*lines, f"{' ' * rows}   {letters}"])

    # ---- moves -----------------------------------------------------------------------------------

    def _genmove(self, colour: str) -> str:
        number = colour_number(colour)
        text = self._reg_genmove(colour)
        self._time.spend(number, self._watch.seconds())
        self._play(COLOURS[number], text)  # after a swap that time is of the other colour
        return text

    def _reg_genmove(self, colour: str) -> str:
        number = colour_number(colour)
        if self._winner() is not None:
            return "resign"
        env, is_mirrored = self._position(number)
        rows, columns = self._size
        to_come = (rows * columns - len(self._stones())) // 4
        limit = self._watch.left_of(self._time.limit(number, to_come))
        action, _ = self._thinker.think(env, limit)
        if action == rows * columns:
            return SWAP
        cell = mirrored(action, (columns, rows)) if is_mirrored else action
        return rules.new(self._size).action_text(cell)

    def _position(self, to_play: int) -> tuple[BoardEnv, bool]:
        """The position with a colour to move, and whether it is mirrored.

        In an environment black begins. Where white has begun, the board is mirrored and the colours
        are changed, which is the same game.
        """
        stones = self._stones()
        behind = sum(1 if stone.colour != to_play else -1 for stone in stones)
        if behind not in (0, 1):
            return self._out_of_turn(to_play), False
        first = to_play if behind == 0 else 1 - to_play
        rows, columns = size = self._size
        cells = [stone.cell for stone in stones]
        if first == 1:
            cells, size = [mirrored(cell, size) for cell in cells], (columns, rows)
        swap = self._allow_swap and first == 0 and rows == columns and None not in self._moves
        env = self._env(size, swap)
        in_turn = all(stone.colour == first ^ n & 1 for n, stone in enumerate(stones))
        if not (in_turn and bring_to(env, cells)):
            colours = [stone.colour for stone in stones]
            of_first, of_second = (
                [cell for cell, colour in zip(cells, colours, strict=True) if colour == one]
                for one in (first, 1 - first)
            )
            set_up(env, (of_first, of_second), behind)
        return env, first == 1

    def _out_of_turn(self, to_play: int) -> BoardEnv:
        """A position that no game leads to, as one colour has moved too often."""
        env = self._env(self._size, False)
        state = self._board(env.game)
        stones = len(self._stones())
        state.ply = stones + (stones + to_play) % 2  # of which the parity tells who moves
        env.begin_at(state, [])
        return env

    # ---- settings --------------------------------------------------------------------------------

    def _time_settings(self, main: str, period: str, stones: str) -> str:
        self._get_ready()
        self._time.main, self._time.period = seconds_of(main), seconds_of(period)
        self._time.stones = max(number_of(stones), 0)
        self._time.start_game()
        return ""

    def _time_left(self, colour: str, left: str, stones: str = "0") -> str:
        told = (seconds_of(left), max(number_of(stones), 0))
        self._time.told[colour_number(colour)] = told
        return ""

    def _param_game(self, name: str | None = None, value: str | None = None) -> str:
        if name is None:
            return f"\n[bool] allow_swap {int(self._allow_swap)}"
        if name != "allow_swap" or value not in ("0", "1"):
            raise ValueError("syntax error: expected allow_swap and 0 or 1")
        self._allow_swap = value == "1"
        return ""

    def _quit(self) -> str:
        self.is_over = True
        return ""


def colour_number(text: str) -> int:
    """0 for black, 1 for white.

    Raises:
        ValueError: If it is neither.
    """
    found = {"b": 0, "black": 0, "w": 1, "white": 1}.get(text.lower())
    if found is None:
        raise ValueError(f"syntax error: expected black or white, got {text:.40}")
    return found


def number_of(text: str) -> int:
    """The number that a text is.

    Raises:
        ValueError: If it is none.
    """
    found = whole_number(text)
    if found is None:
        raise ValueError(f"syntax error: expected a whole number, got {text:.40}")
    return found


def seconds_of(text: str) -> float:
    """The seconds that a text says.

    Raises:
        ValueError: If it is no number.
    """
    if not re.fullmatch(r"[+-]?\d{1,9}(\.\d*)?", text, re.ASCII):
        raise ValueError(f"syntax error: expected a number of seconds, got {text:.40}")
    return float(text)
