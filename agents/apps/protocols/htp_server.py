"""Our side of the Hex Text Protocol: an engine for HexGui and other controllers.

A colour may play twice in a row, and `genmove` may ask for either colour at any time. So a swap
changes neither the board nor the moves that we generate: the controller then asks the other side
for white's next move.
"""

import re
import time
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from inspect import signature
from typing import Final, cast

import hexenv
from agents.apps.protocols.conversation import ProtocolServer, error_text, set_up, whole_number
from agents.apps.protocols.exchange import COLOURS, SWAP, mirrored
from agents.core.agent import Agent
from agents.core.background import in_background
from agents.records.analysis import Analysis
from agents.records.asking import RunningAnalysis, analysis
from hexenv import hex_v0
from hexenv.envs.aec import BoardEnv
from hexenv.games import hex as rules
from hexenv.games.base import State, StoneGame, cell_owners, new_state
from hexenv.games.notation import OUT_OF_TURN, from_cells

MOST_ANALYSED: Final = 20
"""Moves in a line of an analysis."""
FEWEST_MOVES: Final = 6
"""Least number of moves of Hex that share the main time."""


class HTPClock:
    """The time limits that a controller has set, in seconds."""

    def __init__(self) -> None:
        self.main, self.period, self.stones = 0.0, 0.0, 0
        self.start_game()

    def start_game(self) -> None:
        """Give both colours their full time."""
        self.used = [0.0, 0.0]
        self.left: list[tuple[float, int] | None] = [None, None]  # of `time_left`, with its stones

    def limit(self, colour: int, moves: int) -> float | None:
        """Seconds for a colour's move, with so many of its moves remaining; None for no limit."""
        left, stones = self.left[colour] or (self.main - self.used[colour], 0)
        if self.left[colour] is None:
            is_unlimited = self.stones == 0 and self.period > 0  # as the protocol says it
            if is_unlimited or (self.main <= 0 and (self.stones == 0 or self.period <= 0)):
                return None
        if stones > 0:
            return max(left, 0.0) / stones
        by_period = self.period / self.stones if self.stones > 0 else 0.0
        return max(left / max(moves, FEWEST_MOVES), by_period, 0.0)

    def exchange(self) -> None:
        """Exchange the players' colours: each player keeps its own time."""
        self.used.reverse()
        self.left.reverse()

    def spend(self, colour: int, seconds: float) -> None:
        """Count the time of a move."""
        self.used[colour] += seconds
        known = self.left[colour]
        if known is not None:
            left, stones = known
            self.left[colour] = (left - seconds, max(stones - 1, 0)) if stones != 1 else None


class HTPServer(ProtocolServer):
    """Answers a controller's lines with an agent's moves.

    Args:
        agent: What plays.
        label: The agent in words.
        swap: Whether the agent may take over the first stone, until ``param_game allow_swap``
            changes it. The other side may in any case.
    """

    def __init__(self, agent: Agent, label: str, swap: bool = False) -> None:
        super().__init__(agent, label)
        self._allow_swap = swap
        self._clock = HTPClock()
        self._size = (11, 11)
        self._ready_for: tuple[int, int] | None = None  # a size of board
        self._stones: dict[int, int] = {}  # colours by cell in the order of play; 0 for black
        self._is_swapped = False  # the swap follows the first stone
        self._envs: dict[tuple[tuple[int, int], bool], BoardEnv] = {}
        self._analysis: RunningAnalysis | None = None  # that goes on
        self._write_lines: Callable[[], None] | None = None  # of it, once its answer has begun
        self._writing: Future[None] | None = None
        self._commands: dict[str, Callable[..., str]] = {
            "all_legal_moves": self._all_legal_moves,
            "boardsize": self._boardsize,
            "clear_board": self._clear_board,
            "final_score": self._final_score,
            "genmove": self._genmove,
            "hexgui-analyze_commands": lambda: "",
            "kata-analyze": partial(self._analyse, 1.0),
            "known_command": lambda *words: str(" ".join(words) in self._commands).lower(),
            "list_commands": lambda: "\n".join(self._commands),
            "lz-analyze": partial(self._analyse, 10_000),
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
        self._since = time.perf_counter()
        ended = self._end_analysis()
        text = re.sub(r"[\x00-\x1f\x7f]", "", line.replace("\t", " ")).partition("#")[0]
        words = text.split()
        number = ""
        if len(words) > 1 and re.fullmatch(r"\d+", words[0], re.ASCII):
            number = words.pop(0)
        if not words:
            return ended
        try:
            mark, answer = "=", self._do(*words)
        except Exception as error:  # any error of an agent, too: the controller needs an answer
            mark, answer = "?", error_text(error)
        if self._analysis is not None:  # its lines follow, and an empty one with the next command
            return f"{ended}{mark}{number}\n"
        answer = re.sub(r"\n(?=\n)", "\n ", answer.rstrip())  # an empty line ends an answer
        return f"{ended}{mark}{number} {answer}\n\n"

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
        """Get the agent ready for the board, so that this takes no time of a move."""
        rows, columns = self._size
        if self._ready_for != self._size:
            self._warm_up(self._env(self._size, self._allow_swap and rows == columns))
            self._ready_for = self._size

    def _env(self, size: tuple[int, int], swap: bool) -> BoardEnv:
        if (size, swap) not in self._envs:
            self._envs[size, swap] = hex_v0.raw_env(size, swap)
            self._envs[size, swap].reset()
        return self._envs[size, swap]

    def _clear_board(self) -> str:
        self._get_ready()
        self._stones.clear()
        self._is_swapped = False
        self._clock.start_game()
        self.agent.reset()
        return ""

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
        if cell in self._stones:
            raise ValueError(f"illegal move: {text} is taken")
        self._stones[cell] = number
        return ""

    def _swap(self, colour: int) -> None:
        rows, columns = self._size
        is_answer = list(self._stones.values()) == [1 - colour]
        if rows != columns or not is_answer or self._is_swapped:
            raise ValueError(f"illegal move: {SWAP} is the answer to the first move")
        self._is_swapped = True
        self._clock.exchange()

    def _undo(self) -> str:
        if self._is_swapped and len(self._stones) == 1:
            self._is_swapped = False
            self._clock.exchange()
        elif self._stones:
            self._stones.popitem()
        else:
            raise ValueError("cannot undo")
        return ""

    def _board(self, game: StoneGame) -> State:
        """The stones on an empty board; whose move it is is not set."""
        state = new_state(game)
        for cell, colour in self._stones.items():
            game.place(state, cell, colour)
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
        free = (cell for cell in range(game.num_actions()) if cell not in self._stones)
        return " ".join(map(game.action_text, free))

    def _showboard(self) -> str:
        """The board in Benzene's form."""
        rows, columns = self._size
        letters_at = {cell: "BW"[colour] for cell, colour in self._stones.items()}
        letters = "  ".join(chr(97 + column) for column in range(columns))
        lines = ["", f"  {letters}"]
        for row in range(rows):
            cells = "  ".join(letters_at.get(row * columns + n, ".") for n in range(columns))
            lines.append(f"{' ' * row}{row + 1:2}\\{cells}\\{row + 1}")
        return "\n".join([*lines, f"{' ' * rows}   {letters}"])

    # ---- moves -----------------------------------------------------------------------------------

    def _genmove(self, colour: str) -> str:
        number = colour_number(colour)
        text = self._reg_genmove(colour)
        self._clock.spend(number, self._elapsed())
        self._play(COLOURS[number], text)  # a swap moves that time to the other colour
        return text

    def _reg_genmove(self, colour: str) -> str:
        number = colour_number(colour)
        if self._winner() is not None:
            return "resign"
        env, is_mirrored = self._position(number)
        rows, columns = self._size
        moves = (rows * columns - len(self._stones)) // 4
        action, _ = self._think(env, self._clock.limit(number, moves))
        if action == rows * columns:
            return SWAP
        cell = mirrored(action, (columns, rows)) if is_mirrored else action
        return rules.new(self._size).action_text(cell)

    def _position(self, to_play: int) -> tuple[BoardEnv, bool]:
        """The position with a colour to move, and whether it is mirrored.

        In an environment black begins. Where white has begun, the board is mirrored and the colours
        are exchanged, which is the same game.
        """
        behind = sum(1 if colour != to_play else -1 for colour in self._stones.values())
        if behind not in (0, 1):
            return self._out_of_turn(to_play), False
        first = to_play if behind == 0 else 1 - to_play
        rows, columns = size = self._size
        stones = {cell: colour ^ first for cell, colour in self._stones.items()}
        if first == 1:
            stones = {mirrored(cell, size): player for cell, player in stones.items()}
            size = (columns, rows)
        swap = self._allow_swap and first == 0 and rows == columns and not self._is_swapped
        env = self._env(size, swap)
        set_up(env, stones)
        return env, first == 1

    def _out_of_turn(self, to_play: int) -> BoardEnv:
        """A position that no game leads to, as one colour has moved too often."""
        env = self._env(self._size, False)
        owners = cell_owners(env.game, self._board(cast("StoneGame", env.game)))
        env.begin_at(from_cells(env.game, owners, to_play, details=OUT_OF_TURN), [])
        return env

    # ---- analysis --------------------------------------------------------------------------------

    def _analyse(self, whole: float, *arguments: str) -> str:
        """Write what the agent thinks, in the form of Leela Zero, until the next command.

        Arguments are the colour to move, by default the other than the last stone's, and the
        hundredths of a second between two lines; what else front-ends append is ignored.
        """
        colours = [colour_number(text) for text in arguments[:1] if not text.isdecimal()]
        numbers = [int(text) for text in arguments if re.fullmatch(r"\d{1,6}", text, re.ASCII)]
        last = next(reversed(self._stones.values()), 1)
        if self._winner() is not None:
            raise ValueError("expected a game in play, got one that is over")
        env, is_mirrored = self._position(colours[0] if colours else 1 - last)
        every = max(numbers[0] if numbers else 100, 1) / 100
        running = analysis(env, self.agent, lines=MOST_ANALYSED, every=every)
        size = self._size if is_mirrored else None

        def write_lines() -> None:
            for found in running:
                self.write(info_line(found, whole, size) + "\n")

        running.start()
        self._analysis, self._write_lines = running, write_lines
        return ""

    def go_on(self) -> None:
        if self._write_lines is not None:
            self._writing, self._write_lines = in_background(self._write_lines), None

    def _end_analysis(self) -> str:
        """End an analysis that goes on; returns what ends its answer."""
        if self._analysis is None:
            return ""
        self._analysis.stop()
        if self._writing is not None:
            self._writing.exception()  # waits for the last line
        self._analysis = self._write_lines = self._writing = None
        return "\n"

    # ---- settings --------------------------------------------------------------------------------

    def _time_settings(self, main: str, period: str, stones: str) -> str:
        self._get_ready()
        self._clock.main, self._clock.period = seconds_of(main), seconds_of(period)
        self._clock.stones = max(number_of(stones), 0)
        self._clock.start_game()
        return ""

    def _time_left(self, colour: str, left: str, stones: str = "0") -> str:
        known = (seconds_of(left), max(number_of(stones), 0))
        self._clock.left[colour_number(colour)] = known
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


def info_line(found: Analysis, whole: float, size: tuple[int, int] | None) -> str:
    """An analysis as Leela Zero and KataGo write it; `whole` is a certain win.

    With a size the position is the mirror image of a board of so many rows and columns.
    """

    def text(move: str) -> str:
        if size is None:
            return SWAP if move == "swap" else move
        turned = size[1], size[0]
        cell = mirrored(rules.new(turned).parse_action(move), turned)
        return rules.new(size).action_text(cell)

    def share(value: float | None) -> str:
        won = whole * ((value or 0.0) + 1) / 2
        return f"{won:.6g}" if whole == 1 else str(round(won))

    parts: list[str] = []
    for order, line in enumerate(found.lines):
        words = f"info move {text(line.move)} visits {line.visits} winrate {share(line.value)}"
        if line.prior is not None:
            words += f" prior {share(2 * line.prior - 1)}"
        lcb = line.value if line.low is None else line.low
        moves = " ".join(map(text, line.line or (line.move,)))
        parts.append(f"{words} lcb {share(lcb)} order {order} pv {moves}")
    return " ".join(parts)


def colour_number(text: str) -> int:
    """0 for black, 1 for white, else ValueError."""
    found = {"b": 0, "black": 0, "w": 1, "white": 1}.get(text.lower())
    if found is None:
        raise ValueError(f"syntax error: expected black or white, got {text:.40}")
    return found


def number_of(text: str) -> int:
    """The whole number in a text, or ValueError."""
    found = whole_number(text)
    if found is None:
        raise ValueError(f"syntax error: expected a whole number, got {text:.40}")
    return found


def seconds_of(text: str) -> float:
    """The number of seconds in a text, or ValueError."""
    if not re.fullmatch(r"[+-]?\d{1,9}(\.\d*)?", text, re.ASCII):
        raise ValueError(f"syntax error: expected a number of seconds, got {text:.40}")
    return float(text)
