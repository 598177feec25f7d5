"""Our side of the Gomocup (Piskvork) protocol: a brain that any manager can run.

The protocol is https://plastovicka.github.io/protocl2en.htm. Like its own skeleton this takes
commands in any case, and whatever a manager sends gets an answer: ``ERROR`` for what is wrong in a
known command, ``UNKNOWN`` for all others.
"""

import copy
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple, cast

import numpy as np

import hexenv
from agents.core.agent import Agent
from agents.knowledge.gomoku.opening_play import answer_to_stones, first_stones
from agents.protocols.conversation import (
    Stopwatch,
    Thinker,
    bring_to,
    in_words,
    set_up,
    whole_number,
)
from agents.protocols.gomocup import CONNECT, CONTINUOUS, RULE_BITS, read_coordinates
from agents.protocols.time_limits import GomocupTime
from hexenv import gomoku_v0
from hexenv.envs.aec import BoardEnv
from hexenv.games.gomoku import RULES

MINE, THEIRS, NOBODYS = 1, 2, 3
"""The fields of BOARD; the third is a part of a line won before, or a cell forbidden in renju."""

RESERVED_MEMORY: Final = 200 * 2**20
"""Bytes that the interpreter and the libraries take besides the search."""
NODE_BYTES: Final = 64
"""What a node of a search tree takes at most."""
FEWEST_NODES: Final = 10_000


class Stone(NamedTuple):
    """A stone on the board."""

    cell: int
    owner: int
    """`MINE` or `THEIRS`."""


class GomocupBrain:
    """Answers a manager's lines with an agent's moves.

    Args:
        agent: What plays. Its budget `seconds` is what the manager says, if it says something.
        label: What to call it.
        seed: Of the choice among openings.

    Attributes:
        is_over: Whether the manager has said END.
    """

    def __init__(self, agent: Agent, label: str, seed: int | None = None) -> None:
        self.is_over = False
        self._label = re.sub(r"[^ -!#-~]", "", label)
        self._thinker = Thinker(agent)
        self._most_nodes = cast("int | None", getattr(agent, "max_nodes", None))
        self._rng = np.random.default_rng(seed)
        self._time = GomocupTime()
        self._watch = Stopwatch()
        self._problems: list[str] = []  # told before the next answer, as INFO has none
        self._rule = RULES[0]  # which may be one that is not played
        self._size: tuple[int, int] | None = None
        self._envs: dict[str, BoardEnv] = {}  # by rule, of the size
        self._behind = 0.0  # seconds of work that no answer has told the manager of
        self._stones: list[Stone] = []
        self._listed: list[str] | None = None  # the lines since BOARD or SWAP2BOARD
        self._on_done: Callable[[list[str]], str] = self._board
        self._commands: dict[str, Callable[[str], str]] = {
            "START": self._start,
            "RECTSTART": self._start_rectangle,
            "RESTART": self._restart,
            "BEGIN": self._begin,
            "TURN": self._turn,
            "PLAY": self._play,
            "TAKEBACK": self._take_back,
            "BOARD": lambda _: self._list(self._board),
            "SWAP2BOARD": lambda _: self._list(self._swap2),
            "INFO": self._info,
            "ABOUT": self._about,
            "END": self._end,
        }

    def answer(self, line: str) -> str:
        """What to write for a line, with line ends; nothing for a line without an answer.

        What is done for a line without one is on the clock of the next that has one, as a manager
        sends that without waiting.
        """
        self._watch = Stopwatch(self._behind)
        text = self._take(line)
        self._behind = 0.0 if text else self._watch.seconds()
        return text

    def _take(self, line: str) -> str:
        word = (line.split() or [""])[0].upper()
        if word == "":
            return ""
        if self._listed is not None and word not in self._commands:
            if word != "DONE":
                self._listed.append(line)
                return ""
            listed, self._listed = self._listed, None
            return self._answer_with(self._on_done, listed)
        if word != "INFO":
            self._listed = None  # a list that another command breaks off
        if word not in self._commands:
            return f"UNKNOWN command {word:.40}\n"
        return self._answer_with(self._commands[word], line.strip()[len(word) :].strip())

    def _answer_with(self, command: Callable[[Any], str], argument: Any) -> str:
        stones = list(self._stones)
        try:
            text = command(argument)
        except Exception as error:  # even of an agent: the manager has to hear something
            text = f"ERROR {in_words(error)}"
            self._stones = stones  # as if it had not been said
        if not text:
            return ""
        problems, self._problems = self._problems, []
        lines = [*(f"MESSAGE {problem}" for problem in problems), " ".join(text.split())]
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
        for rule in RULES:  # any of which INFO may name, and then there is no time for it
            if rule != self._rule:
                with suppress(Exception):  # it is raised where that rule is played
                    self._make_env(rule)
        if self._rule in RULES:
            self._make_env(self._rule)
        return self._clear()

    def _make_env(self, rule: str) -> None:
        """Make the board that the size asks for, and have the agent ready for it."""
        env = gomoku_v0.raw_env(self._check_started(), CONNECT, rule)
        env.reset()
        self._thinker.warm_up(env)
        env.reset()
        self._envs[rule] = env

    def _restart(self, argument: str) -> str:
        self._check_started()
        return self._clear()

    def _clear(self) -> str:
        self._stones.clear()
        self._time.start_game()
        self._thinker.agent.reset()
        return "OK"

    def _check_started(self) -> tuple[int, int]:
        if self._size is None:
            raise ValueError("expected START first")
        return self._size

    def _board_env(self) -> BoardEnv:
        self._check_started()
        if self._rule not in RULES:
            raise ValueError(f"expected a rule of {', '.join(RULES)}, got {self._rule}")
        if self._rule not in self._envs:  # the agent was not ready: perhaps now, else it says why
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

    def _begin(self, argument: str) -> str:
        return self._move()

    def _turn(self, argument: str) -> str:
        self._put(argument, THEIRS)
        return self._move()

    def _play(self, argument: str) -> str:
        return self._text(self._put(argument, MINE))

    def _take_back(self, argument: str) -> str:
        cell = self._cell(argument)
        kept = [stone for stone in self._stones if stone.cell != cell]
        if len(kept) == len(self._stones):
            raise ValueError(f"expected the place of a stone, got {argument!r:.60}")
        self._stones = kept
        return "OK"

    def _cell(self, text: str) -> int:
        rows, columns = self._check_started()
        found = read_coordinates(text)
        if found is None:
            raise ValueError(f"expected coordinates x,y, got {text!r:.60}")
        x, y = found
        if not (0 <= x < columns and 0 <= y < rows):
            raise ValueError(f"expected coordinates within {columns} x {rows}, got {x},{y}")
        return y * columns + x

    def _text(self, cell: int) -> str:
        columns = self._check_started()[1]
        return f"{cell % columns},{cell // columns}"

    def _put(self, text: str, owner: int) -> int:
        cell = self._cell(text)
        if any(stone.cell == cell for stone in self._stones):
            raise ValueError(f"expected an empty cell, got {self._text(cell)}")
        self._stones.append(Stone(cell, owner))
        return cell

    def _move(self) -> str:
        """Think, play, and say what."""
        env = self._board_env()
        self._arrange(env)
        cell, _ = self._think(env)
        self._stones.append(Stone(cell, MINE))
        return self._text(cell)

    def _think(self, env: BoardEnv, share: float = 1.0) -> tuple[int, float]:
        """What the agent plays in a share of the time that is left for this answer."""
        mine = sum(stone.owner == MINE for stone in self._stones)
        limit = self._watch.left_of(self._time.of_move(mine))
        thinking = Stopwatch()
        try:
            return self._thinker.think(env, limit, share)
        finally:
            self._time.used += thinking.seconds()

    def _arrange(self, env: BoardEnv) -> None:
        """Bring the board to the stones, with us to move.

        Raises:
            ValueError: If no game leads there, or it is over there.
        """
        owners = [stone.owner for stone in self._stones]
        cells = [stone.cell for stone in self._stones]
        in_turn = all(owner == (THEIRS, MINE)[n & 1] for n, owner in enumerate(reversed(owners)))
        if in_turn and bring_to(env, cells) and not any(env.terminations.values()):
            return
        mine, theirs = (
            [cell for cell, owner in zip(cells, owners, strict=True) if owner == one]
            for one in (MINE, THEIRS)
        )
        behind = len(theirs) - len(mine)
        if behind not in (0, 1):
            raise ValueError(
                "expected as many stones of the opponent's as of mine, or one more, got "
                f"{len(theirs)} of the opponent's and {len(mine)} of mine"
            )
        set_up(env, (theirs, mine) if behind else (mine, theirs), behind)

    # ---- lists of stones -------------------------------------------------------------------------

    def _list(self, on_done: Callable[[list[str]], str]) -> str:
        self._listed, self._on_done = [], on_done
        return ""

    def _board(self, lines: list[str]) -> str:
        self._check_started()
        stones: list[Stone] = []
        for line in lines:
            place, _, field = line.strip().rpartition(",")
            owner = whole_number(field)
            if read_coordinates(place) is None or owner not in (MINE, THEIRS, NOBODYS):
                raise ValueError(f"expected x,y,field with a field of 1, 2 or 3, got {line!r:.60}")
            if owner == NOBODYS and self._rule == "renju":
                continue  # a forbidden cell, which the rules tell as well
            if owner == NOBODYS:
                raise ValueError(
                    f"expected a field of 1 or 2, got {line!r:.60}: continuous games are not played"
                )
            stones.append(Stone(self._cell(place), owner))
        self._check_different([stone.cell for stone in stones])
        self._stones = stones
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
        self._stones = []
        if not cells:
            return " ".join(map(self._text, self._opening()))
        if not bring_to(env, cells) or any(env.terminations.values()):
            raise ValueError("expected stones that leave the game in play, got a five among them")
        share = 1 / 3 if len(cells) == 3 else 1.0
        cell, value = self._think(env, share)
        answer = answer_to_stones(value, can_add=len(cells) == 3)
        if answer == "swap":
            self._stones = in_colours(cells, mine=0)
            return "SWAP"
        if answer == "add":
            return f"{self._text(cell)} {self._text(self._balancing(env, cell))}"
        self._stones = in_colours([*cells, cell], mine=1)
        return self._text(cell)

    def _opening(self) -> list[int]:
        """Three stones about the centre, or far from each other on a board too small for that."""
        rows, columns = self._check_started()
        if min(rows, columns) < 7:
            return [0, columns // 2, rows * columns - 1]
        known = first_stones(rows, columns)
        return known[int(self._rng.random() * len(known))]

    def _balancing(self, env: BoardEnv, fourth: int) -> int:
        """The fifth stone, black's, with which the agent sees neither side ahead."""
        env.step(fourth)
        fifth, _ = self._think(env, 0.5)
        statistics = self._thinker.agent.statistics
        if statistics is None:
            return fifth
        looked_at = statistics.visits >= max(statistics.visits.max() // 10, 1)
        return int(np.argmin(np.where(looked_at, np.abs(statistics.values), np.inf)))

    # ---- what a manager tells --------------------------------------------------------------------

    def _info(self, argument: str) -> str:
        key, *rest = [*argument.split(None, 1), ""]
        number = whole_number(rest[0] if rest else "")
        if number is None:
            return ""
        match key.lower():
            case "timeout_turn":
                self._time.turn = number / 1000
            case "timeout_match":
                self._time.match = number / 1000
            case "time_left":
                self._time.tell_left(number / 1000)
            case "max_memory":
                self._limit_memory(number)
            case "rule":
                self._set_rule(number)
            case _:
                pass  # unknown ones are to be ignored
        return ""

    def _set_rule(self, bits: int) -> None:
        wanted = next((name for name, bit in reversed(RULE_BITS.items()) if bits & bit), RULES[0])
        if bits & CONTINUOUS:
            self._problems.append("continuous games are not played: the first five ends the game")
        if wanted not in RULES:
            self._problems.append(f"the rule {wanted} is not played")
        self._rule = wanted

    def _limit_memory(self, size: int) -> None:
        """Have the agent search with no more nodes than fit into so many bytes; 0 for no limit."""
        if self._most_nodes is None:
            return
        agent: Any = self._thinker.agent
        nodes = self._most_nodes
        if size > 0:
            room = (size - RESERVED_MEMORY) // NODE_BYTES // getattr(agent, "workers", 1)
            nodes = min(nodes, max(room, FEWEST_NODES))
            if room < FEWEST_NODES:
                self._problems.append(f"{size} bytes of memory are too few to hold to")
        if nodes != agent.max_nodes:
            agent.reset()
            self._thinker.agent = agent = copy.deepcopy(agent)  # without the memory of its trees
            agent.max_nodes = nodes
            if self._size is not None and self._rule in RULES:
                self._make_env(self._rule)


def in_colours(cells: Sequence[int], mine: int) -> list[Stone]:
    """Stones that were played in turn, of which those of one player, 0 or 1, are ours."""
    return [Stone(cell, MINE if n & 1 == mine else THEIRS) for n, cell in enumerate(cells)]
