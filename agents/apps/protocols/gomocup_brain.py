"""Our side of the Gomocup (Piskvork) protocol: a brain, as the protocol calls an engine.

The protocol is https://plastovicka.github.io/protocl2en.htm. Commands may come in any case. The
answer to a wrong argument is ``ERROR``, to an unknown command ``UNKNOWN``.
"""

import copy
import re
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final, NamedTuple, cast

import numpy as np

import hexenv
from agents.apps.protocols.conversation import (
    ProtocolServer,
    bring_to,
    error_text,
    set_up,
    whole_number,
)
from agents.apps.protocols.gomocup import (
    CONNECT,
    CONTINUOUS,
    RULE_BITS,
    UNLIMITED,
    cell_within,
    coordinates,
    read_coordinates,
)
from agents.core.agent import Agent
from agents.knowledge.gomoku.opening_play import (
    FIFTH_STONES,
    answer_to_stones,
    first_stones,
    last_stone_to_add,
)
from hexenv import gomoku_v0
from hexenv.common.messages import hundredths
from hexenv.envs.aec import BoardEnv
from hexenv.games.gomoku import RULES

MINE, THEIRS, NEITHER = 1, 2, 3
"""The fields of BOARD; the third is a cell of an earlier five, or a forbidden cell in renju."""

RESERVED_MEMORY: Final = 200 * 2**20
"""Bytes that the interpreter and the libraries take besides the search."""
NODE_BYTES: Final = 64
"""Upper bound of the bytes of a node in a search tree;"""
ENTRY_BYTES: Final = 48
"""of an entry in a table of positions."""
FEWEST_ENTRIES: Final = 10_000
"""Nodes or entries that a search has in any case."""

USUAL_MOVES: Final = 30
"""Moves of a player in a usual game of Gomoku, which share the remaining time,"""
FEWEST_MOVES: Final = 10
"""but the time is always divided by at least this number of moves."""


class GomocupClock:
    """The time limits that a manager has set, in seconds; None if not set.

    Attributes:
        turn: For a move; 0 for as fast as possible.
        match: For all moves; 0 for no limit.
        used: Time of our moves since the board was cleared.
    """

    def __init__(self) -> None:
        self.turn: float | None = None
        self.match: float | None = None
        self.used = 0.0
        self._left: float | None = None
        self._used_before = 0.0  # `used` when `_left` was set

    def set_left(self, seconds: float) -> None:
        """Set the time that is left for all moves."""
        self._left, self._used_before = seconds, self.used

    def start_game(self) -> None:
        """Begin a game; a remaining time from before the last move belongs to the last game."""
        if self._used_before < self.used:
            self._left = None
        self.used = self._used_before = 0.0

    def limit(self, moves: int) -> float | None:
        """Seconds for our move after this number of our moves; None for no limit."""
        limits = [] if self.turn is None else [self.turn]
        left = None if self._left is None else self._left - (self.used - self._used_before)
        if left is None and self.match:
            left = self.match - self.used
        if left is not None and (self._left or 0.0) < UNLIMITED / 1000:
            limits.append(left / max(USUAL_MOVES - moves, FEWEST_MOVES))
        return max(min(limits), 0.0) if limits else None


class GomocupBrain(ProtocolServer):
    """Answers a manager's lines with an agent's moves.

    Args:
        agent: What plays.
        label: The agent in words.
        seed: Of the choice among openings.
    """

    def __init__(self, agent: Agent, label: str, seed: int | None = None) -> None:
        super().__init__(agent, re.sub(r"[^ -!#-~]", "", label))
        memory = memory_of(agent)
        self._most_entries = None if memory is None else memory.entries
        self._rng = np.random.default_rng(seed)
        self._clock = GomocupClock()
        self._remarks: list[str] = []  # lines before the next answer
        self._told = 1  # moves whose value is told
        self._shows_lines = False  # in the form that analysis boards read
        self._rule = RULES[0]  # perhaps a rule that is not played
        self._size: tuple[int, int] | None = None
        self._envs: dict[str, BoardEnv] = {}  # by rule, of the size
        self._unanswered = 0.0  # seconds of work since the last answer
        self._stones: dict[int, int] = {}  # `MINE` or `THEIRS` by cell, in the order of play
        self._listed: list[str] | None = None  # the lines since BOARD or SWAP2BOARD
        self._on_done: Callable[[list[str]], str] = self._board
        self._commands: dict[str, Callable[[str], str]] = {
            "START": self._start,
            "RECTSTART": self._start_rectangle,
            "RESTART": self._restart,
            "BEGIN": lambda _: self._move(),
            "TURN": self._turn,
            "PLAY": lambda argument: self._text(self._put(argument, MINE)),
            "TAKEBACK": self._take_back,
            "BOARD": lambda _: self._list(self._board),
            "SWAP2BOARD": lambda _: self._list(self._swap2),
            "INFO": self._info,
            "YXNBEST": self._best_lines,
            "YXSHOWINFO": self._show_lines,
            "ABOUT": self._about,
            "END": self._end,
        }

    def answer(self, line: str) -> str:
        # The work for a line without an answer counts as time of the next, as a manager does not
        # wait before it sends the next line.
        self._since = time.perf_counter() - self._unanswered
        text = self._take(line)
        self._unanswered = 0.0 if text else self._elapsed()
        return text

    def _take(self, line: str) -> str:
        word = (line.split() or [""])[0].upper()
        if not word:
            return ""
        if self._listed is not None and word not in self._commands:
            if word != "DONE":
                self._listed.append(line)
                return ""
            listed, self._listed = self._listed, None
            return self._answer_with(self._on_done, listed)
        if word != "INFO":
            self._listed = None  # another command cancels a list
        if word not in self._commands:
            return f"UNKNOWN command {word:.40}\n"
        return self._answer_with(self._commands[word], line.strip()[len(word) :].strip())

    def _answer_with(self, command: Callable[[Any], str], argument: Any) -> str:
        stones = dict(self._stones)
        try:
            text = command(argument)
        except Exception as error:  # any error of an agent, too: the manager needs an answer
            text = f"ERROR {error_text(error)}"
            self._stones = stones
        if not text:
            return ""
        lines, self._remarks = [*self._remarks, " ".join(text.split())], []
        return "".join(f"{line}\n" for line in lines)

    # ---- games -----------------------------------------------------------------------------------

    def _start(self, argument: str) -> str:
        size = whole_number(argument)
        if size is None:
            raise ValueError(f"expected START with a board size, got {argument!r:.60}")
        return self._start_board(size, size)

    def _start_rectangle(self, argument: str) -> str:
        size = read_coordinates(argument)
        if size is None:
            raise ValueError(f"expected RECTSTART width,height, got {argument!r:.60}")
        width, height = size
        return self._start_board(height, width)

    def _start_board(self, rows: int, columns: int) -> str:
        gomoku_v0.raw_env((rows, columns), CONNECT)  # refuses a size before anything changes
        self._size = (rows, columns)
        self._envs = {}
        for rule in RULES:  # a later INFO may name any of them, and leaves no time for this
            if rule != self._rule:
                with suppress(Exception):  # it is raised when that rule is played
                    self._make_env(rule)
        if self._rule in RULES:
            self._make_env(self._rule)
        return self._clear()

    def _make_env(self, rule: str) -> None:
        """Make the board for a rule, and get the agent ready for it."""
        env = gomoku_v0.raw_env(self._check_started(), CONNECT, rule)
        env.reset()
        self._warm_up(env)
        self._envs[rule] = env

    def _restart(self, argument: str) -> str:
        self._check_started()
        return self._clear()

    def _clear(self) -> str:
        self._stones.clear()
        self._clock.start_game()
        self.agent.reset()
        return "OK"

    def _check_started(self) -> tuple[int, int]:
        if self._size is None:
            raise ValueError("expected START first")
        return self._size

    def _board_env(self) -> BoardEnv:
        self._check_started()
        if self._rule not in RULES:
            raise ValueError(f"expected a rule of {', '.join(RULES)}, got {self._rule}")
        if self._rule not in self._envs:  # the agent has failed before; if again, it says why
            self._make_env(self._rule)
        return self._envs[self._rule]

    def _about(self, argument: str) -> str:
        return (
            f'name="hexenv {self._label}", version="{hexenv.__version__}", '
            'author="The hexenv developers"'
        )

    def _end(self, argument: str) -> str:
        self.is_over = True
        return ""

    # ---- moves -----------------------------------------------------------------------------------

    def _turn(self, argument: str) -> str:
        self._put(argument, THEIRS)
        return self._move()

    def _take_back(self, argument: str) -> str:
        cell = self._cell(argument)
        if self._stones.pop(cell, None) is None:
            raise ValueError(f"expected the place of a stone, got {argument!r:.60}")
        return "OK"

    def _cell(self, text: str) -> int:
        return cell_within(self._check_started(), text)

    def _text(self, cell: int) -> str:
        return coordinates(self._check_started()[1], cell)

    def _put(self, text: str, owner: int) -> int:
        cell = self._cell(text)
        if cell in self._stones:
            raise ValueError(f"expected an empty cell, got {self._text(cell)}")
        self._stones[cell] = owner
        return cell

    def _move(self) -> str:
        env = self._board_env()
        self._arrange(env)
        cell, _ = self._search(env)
        self._tell(cell)
        self._stones[cell] = MINE
        return self._text(cell)

    # ---- analysis --------------------------------------------------------------------------------

    def _best_lines(self, argument: str) -> str:
        """Move, and tell the values of some of the best moves."""
        count = whole_number(argument)
        if not count:
            raise ValueError(f"expected YXNBEST with a number of moves, got {argument!r:.60}")
        self._told = count
        try:
            with self._values_of(count):
                return self._move()
        finally:
            self._told = 1

    @contextmanager
    def _values_of(self, count: int) -> Generator[None]:
        """Let an agent that is asked for lines find the values of so many moves."""
        agent: Any = self.agent
        usual = getattr(agent, "lines", None)
        if usual is None:
            yield
            return
        agent.lines = count
        try:
            yield
        finally:
            agent.lines = usual

    def _show_lines(self, argument: str) -> str:
        self._shows_lines = True
        return f"MESSAGE {self._label}"

    def _tell(self, chosen: int) -> None:
        """Write down what the search has found, for the lines before the answer."""
        found = self.agent.statistics
        if found is None or not found.principal_variation:
            return
        order = np.argsort(-np.where(found.visits > 0, found.values, -2.0), kind="stable").tolist()
        cells = [chosen, *(cell for cell in order if cell != chosen and found.visits[cell] > 0)]
        cells = cells[: self._told]
        depth = len(found.principal_variation) if found.depth is None else found.depth
        for number, cell in enumerate(cells):
            value = hundredths(float(found.values[cell]), cell in found.proven_actions)
            moves = found.principal_variation if number == 0 else [cell]
            line = " ".join(map(self._text, moves))
            self._remarks.append(f"MESSAGE depth {depth} value {value} line {line}")
            if self._shows_lines:
                told = {
                    "PV": number, "NUMPV": len(cells), "DEPTH": depth, "SELDEPTH": len(moves),
                    "TOTALNODES": found.simulations, "TOTALTIME": round(1000 * found.seconds),
                    "SPEED": round(found.simulations_per_second), "EVAL": value,
                    "WINRATE": (1 + found.values[cell]) / 2, "BESTLINE": line,
                }  # fmt: skip
                self._remarks += [f"INFO {key} {text}" for key, text in told.items()]
                self._remarks.append("INFO PV DONE")

    def _search(self, env: BoardEnv, share: float = 1.0) -> tuple[int, float]:
        """The agent's action and its value, in a share of the time that is left for this answer."""
        limit = self._clock.limit(sum(owner == MINE for owner in self._stones.values()))
        started = time.perf_counter()
        try:
            return self._think(env, limit, share)
        finally:
            self._clock.used += time.perf_counter() - started

    def _arrange(self, env: BoardEnv) -> None:
        """Bring the board to the stones, with us to move, or ValueError; see `set_up`."""
        theirs = sum(owner == THEIRS for owner in self._stones.values())
        mine = len(self._stones) - theirs
        if theirs - mine not in (0, 1):
            raise ValueError(
                "expected as many stones of the opponent's as of mine, or one more, got "
                f"{theirs} of the opponent's and {mine} of mine"
            )
        first = MINE if theirs == mine else THEIRS
        set_up(env, {cell: int(owner != first) for cell, owner in self._stones.items()})

    # ---- lists of stones -------------------------------------------------------------------------

    def _list(self, on_done: Callable[[list[str]], str]) -> str:
        self._listed, self._on_done = [], on_done
        return ""

    def _board(self, lines: list[str]) -> str:
        self._check_started()
        stones: list[tuple[int, int]] = []
        for line in lines:
            place, _, field = line.strip().rpartition(",")
            owner = whole_number(field)
            if read_coordinates(place) is None or owner not in (MINE, THEIRS, NEITHER):
                raise ValueError(f"expected x,y,field with a field of 1, 2 or 3, got {line!r:.60}")
            if owner != NEITHER:
                stones.append((self._cell(place), owner))
            elif self._rule != "renju":  # there it is a forbidden cell, which our rules know
                raise ValueError(
                    f"expected a field of 1 or 2, got {line!r:.60}: continuous games are not played"
                )
        self._check_different([cell for cell, _ in stones])
        self._stones = dict(stones)
        return self._move()

    def _check_different(self, cells: list[int]) -> None:
        for n, cell in enumerate(cells):
            if cell in cells[:n]:
                raise ValueError(f"expected each cell once, got {self._text(cell)} twice")

    def _swap2(self, lines: list[str]) -> str:
        env = self._board_env()
        cells = [self._cell(line) for line in lines]
        self._check_different(cells)
        if len(cells) not in (0, 3, 5):
            raise ValueError(f"expected no, three or five stones, got {len(cells)}")
        self._stones = {}
        if not cells:
            known = first_stones(*self._check_started())
            return " ".join(map(self._text, known[int(self._rng.random() * len(known))]))
        if not bring_to(env, cells) or any(env.terminations.values()):
            raise ValueError("expected stones that leave the game in play, got a five among them")
        share = 1 / 3 if len(cells) == 3 else 1.0
        cell, value = self._search(env, share)
        answer = answer_to_stones(value, can_add=len(cells) == 3)
        if answer == "swap":
            self._stones = in_colours(cells, mine=0)
            return "SWAP"
        if answer == "add":
            env.step(cell)
            with self._values_of(FIFTH_STONES):
                fifth, _ = self._search(env, 0.5)
            if self.agent.statistics is not None:
                fifth = last_stone_to_add(self.agent.statistics)
            return f"{self._text(cell)} {self._text(fifth)}"
        self._stones = in_colours([*cells, cell], mine=1)
        return self._text(cell)

    # ---- INFO ------------------------------------------------------------------------------------

    def _info(self, argument: str) -> str:
        key, *rest = [*argument.split(None, 1), ""]
        number = whole_number(rest[0] if rest else "")
        if number is None:
            return ""
        match key.lower():
            case "timeout_turn":
                self._clock.turn = number / 1000
            case "timeout_match":
                self._clock.match = number / 1000
            case "time_left":
                self._clock.set_left(number / 1000)
            case "max_memory":
                self._limit_memory(number)
            case "rule":
                self._set_rule(number)
            case _:
                pass  # the protocol ignores unknown keys
        return ""

    def _set_rule(self, bits: int) -> None:
        wanted = next(name for name, bit in reversed(RULE_BITS.items()) if bits & bit == bit)
        if bits & CONTINUOUS:
            self._remarks.append(
                "MESSAGE continuous games are not played: the first five ends the game"
            )
        if wanted not in RULES:
            self._remarks.append(f"MESSAGE the rule {wanted} is not played")
        self._rule = wanted

    def _limit_memory(self, size: int) -> None:
        """Bound the agent's search tree or table by a number of bytes; 0 for no limit."""
        memory = memory_of(self.agent)
        if memory is None or self._most_entries is None:
            return
        entries = self._most_entries
        if size > 0:
            affordable = (size - RESERVED_MEMORY) // memory.entry_bytes
            entries = min(entries, max(affordable, FEWEST_ENTRIES))
            if affordable < FEWEST_ENTRIES:
                self._remarks.append(f"MESSAGE {size} bytes of memory are too few to hold to")
        if entries != memory.entries:
            self.agent.reset()
            self.agent = copy.deepcopy(self.agent)  # a copy has no trees or tables yet
            memory = cast("Memory", memory_of(self.agent))
            setattr(memory.holder, memory.attribute, entries)
            if self._size is not None and self._rule in RULES:
                self._make_env(self._rule)


class Memory(NamedTuple):
    """What limits the size of an agent's search trees or table."""

    holder: Any
    attribute: str
    """Of the holder: how many nodes a tree may have, or entries a table."""
    entry_bytes: int
    """Of one in all trees."""

    @property
    def entries(self) -> int:
        return cast("int", getattr(self.holder, self.attribute))


def memory_of(agent: Any) -> Memory | None:
    """What limits an agent's memory; None: nothing."""
    if hasattr(agent, "table_entries"):
        return Memory(agent, "table_entries", ENTRY_BYTES)
    planner = getattr(agent, "planner", None)
    if hasattr(planner, "max_nodes"):
        return Memory(planner, "max_nodes", NODE_BYTES * agent.settings.workers)
    return None


def in_colours(cells: Sequence[int], mine: int) -> dict[int, int]:
    """Stones that were played in turn, of which those of one player, 0 or 1, are ours."""
    return {cell: MINE if n & 1 == mine else THEIRS for n, cell in enumerate(cells)}
