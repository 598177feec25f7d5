"""Gomoku engines that speak the Gomocup (Piskvork) protocol, as agents.

The protocol is https://plastovicka.github.io/protocl2en.htm: lines of text, with ``x,y`` for the
column and the row of a cell, from 0 at the top left. SWAP2BOARD has two dialects: in that text its
stones are ``x,y``, while Rapfi accepts only ``x,y,field``, the form of BOARD.
"""

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

from agents.apps.protocols.engine_process import START_SECONDS, EngineAgent, T
from agents.core.agent import ForfeitError
from hexenv.common.options import Within
from hexenv.games.base import cell_owners
from hexenv.games.gomoku import Gomoku, rule_name
from hexenv.games.gomoku.openings import (
    OPENINGS,
    SWAP2,
    AnyGomoku,
    OpenedGomoku,
    Phase,
    inner,
    is_opening,
    phase_of,
)

CONNECT: Final = 5
RULE_BITS: Final = {"freestyle": 0, "standard": 1, "renju": 4, "caro": 8, "caro of exactly five": 9}
"""The numbers of the rules in ``INFO rule``, of which the last is not played."""
CONTINUOUS: Final = 2
"""The bit of ``INFO rule`` for games that go on after a five."""
UNLIMITED: Final = 2_147_483_647
"""The value of ``INFO time_left`` in a match without a limit."""
MEBIBYTE: Final = 2**20
REMARKS: Final = ("MESSAGE", "DEBUG")
"""First words of lines that are no answers."""
COMPLAINTS: Final = ("ERROR", "UNKNOWN")
"""First words of lines that refuse a command."""
PATIENCE: Final = 0.1
"""Seconds to wait for an answer after a complaint."""


def check_game(game: Any) -> AnyGomoku:
    """The game, if the protocol has it and its variant; else ValueError."""
    if not isinstance(game, Gomoku | OpenedGomoku) or game.connect != CONNECT:
        raise ValueError(f"expected Gomoku with five in a row, got {game}")
    if isinstance(game, OpenedGomoku) and game.opening != SWAP2:
        raise ValueError(
            f"expected Gomoku without an opening or with swap2, as in the Gomocup protocol, got "
            f"{OPENINGS[game.opening]}"
        )
    return game


def read_coordinates(text: str) -> tuple[int, int] | None:
    """The x and y that a text begins with, or None."""
    found = re.match(r"\s*([+-]?\d{1,9})\s*,\s*([+-]?\d{1,9})(?!\d)", text, re.ASCII)
    return None if found is None else (int(found[1]), int(found[2]))


def cell_within(size: tuple[int, int], text: str) -> int:
    """The cell of a board, rows by columns, that a text begins with; ValueError if it is none."""
    (rows, columns), found = size, read_coordinates(text)
    if found is None:
        raise ValueError(f"expected coordinates x,y, got {text!r:.200}")
    x, y = found
    if not (0 <= x < columns and 0 <= y < rows):
        raise ValueError(f"expected coordinates within {columns} x {rows}, got {x},{y}")
    return y * columns + x


def first_word(line: str) -> str:
    """The first word of a line, in capitals."""
    return line.split()[0].upper()


def coordinates(columns: int, cell: int) -> str:
    """A cell in the protocol's form."""
    return f"{cell % columns},{cell // columns}"


class GomocupEngine(EngineAgent):
    """An outside engine that speaks the Gomocup protocol, for `hexenv.gomoku_v0`.

    It loses a game when it crashes, does not answer with a legal move, or is late. A command that
    it refuses (ERROR, UNKNOWN) is sent once more, in the same time: some engines miss what comes
    right after their own move.

    Args:
        command: Its command line.
        seconds: Limit for a move, which is sent to the engine.
        match_seconds: Limit for all its moves in a game, which is sent too; None for none.
        memory: Limit in MiB, which is sent but not enforced; 0 for none.
        tolerance: Seconds by which an answer may be late, for pipes and the system.

    Raises:
        ValueError: If there is no such program, or a number is out of its range.
    """

    name = "gomocup"
    newline = "\r\n"
    quit_command = "END"

    def __init__(
        self,
        command: str,
        seconds: float = 5.0,
        match_seconds: Annotated[float | None, Within(1e-3, 1e6)] = None,
        memory: Annotated[int, Within(0, 2**20)] = 0,
        tolerance: float = 0.1,
    ) -> None:
        super().__init__(command, seconds, tolerance)
        self.match_seconds = match_seconds
        self.memory = memory
        self._left: float | None = match_seconds
        self._plan: dict[tuple[int, ...], int] = {}  # its moves after actions of an opening
        self._sent_info: dict[str, int] = {}
        self._wants_fields = False  # its dialect of SWAP2BOARD

    def reset(self, seed: int | None = None) -> None:
        super().reset(seed)
        self._left = self.match_seconds
        self._plan = {}

    def get_ready(self, raw: Any) -> None:
        game = check_game(getattr(raw, "game", None))
        is_open = self.is_running() and self._game == game
        if is_open and (self._known == {} or self._is_continued(raw) or self._is_planned(raw)):
            return
        if not (is_open and self._accepts("RESTART")[0]):
            self.close()
            size = f"START {game.rows}"
            if game.rows != game.columns:
                size = f"RECTSTART {game.columns},{game.rows}"
            is_accepted, answer = self._accepts(size)
            if not is_accepted:
                raise ForfeitError(f"expected OK to {size}, got {answer!r:.200}")
            self._sent_info = {}
        self._game, self._known = game, {}
        info = self._new_info(
            timeout_turn=round(1000 * self.seconds),
            timeout_match=round(1000 * (self.match_seconds or 0)),
            max_memory=self.memory * MEBIBYTE,
            game_type=1,
            rule=RULE_BITS[rule_name(game.rule)],
        )
        if info:
            self.engine().send(*info)

    def _new_info(self, **values: int) -> list[str]:
        """The INFO lines for values that the engine does not know yet."""
        new = {key: value for key, value in values.items() if self._sent_info.get(key) != value}
        self._sent_info |= new
        return [f"INFO {key} {value}" for key, value in new.items()]

    def _accepts(self, command: str) -> tuple[bool, str]:
        """Whether the engine answers OK, perhaps with more words, and its answer."""
        self.engine().send(command)
        answer = self._answer(time.monotonic() + START_SECONDS)
        return first_word(answer) == "OK", answer

    def _is_continued(self, raw: Any) -> bool:
        """Whether the position is the one that the engine knows and one more move."""
        stones = stones_of(raw)
        if not raw.actions or stones.pop(raw.actions[-1], None) is None:
            return False
        return stones == self._known

    def _is_planned(self, raw: Any) -> bool:
        return is_opening(raw.game, raw.state) and tuple(raw.actions) in self._plan

    def _answer(self, deadline: float) -> str:
        """The next line that is neither empty nor a remark."""
        while True:
            line = self.engine().read_line(deadline).strip()
            if line and first_word(line) not in REMARKS:
                return line

    def choose(self, raw: Any) -> int:
        game = check_game(raw.game)
        if self._is_planned(raw):
            action = self._plan[tuple(raw.actions)]
        elif is_opening(game, raw.state):
            action = self._choose_opening(raw)
        else:
            action = self._ask(self._question(raw), lambda line, by: self._read(game, line, by))
        if not raw.is_legal(action):
            raise ForfeitError(f"illegal move {coordinates(game.columns, action)}")
        if not is_opening(game, raw.state):
            self._known = {**stones_of(raw), action: colour_to_play(raw)}
        return action

    def _ask(
        self,
        question: Sequence[str],
        read: Callable[[str, float], T],
        second_form: Sequence[str] | None = None,
    ) -> T:
        """What is read from the answer to commands, on the engine's clock.

        A complaint (ERROR, UNKNOWN) is no answer. If no answer follows it soon, the commands are
        sent once more, in their second form if they have one. If the complaint may refer to INFO
        alone, the engine first has half of its time. `read` is given the first line of the answer,
        and the deadline for more lines.
        """
        left = self._left
        limit = self.seconds if left is None else min(self.seconds, left)
        info = self._new_info(time_left=UNLIMITED if left is None else round(1000 * left))
        request = Request(question, second_form or question, bool(info))
        started = time.monotonic()
        self.engine().send(*info, *question)
        try:
            found = self.within(limit, lambda deadline: self._first_answer(request, read, deadline))
        except ForfeitError as error:
            if request.complaint:
                raise ForfeitError(f"{error}, after {request.complaint!r:.200}") from error
            raise
        if request.is_repeated and request.second_form != request.question:
            self._wants_fields = not self._wants_fields
        if left is not None:
            self._left = max(left - (time.monotonic() - started), 0.0)
        return found

    def _first_answer(
        self, request: "Request", read: Callable[[str, float], T], deadline: float
    ) -> T:
        """What is read from the first line that is no complaint."""
        until = deadline
        while True:
            try:
                line = self._answer(until)
                if first_word(line) not in COMPLAINTS:
                    return read(line, deadline)
            except ForfeitError:  # no line, or an answer to a part of the question
                if not request.complaint or request.is_repeated or self.engine().has_ended():
                    raise
                self.engine().send(*request.second_form)
                request.is_repeated, until = True, deadline
                continue
            request.complaint = line
            if not request.is_repeated:
                half = (deadline - time.monotonic()) / 2
                patience = half if request.may_be_known(line) else min(PATIENCE, half)
                until = min(until, time.monotonic() + patience)

    def _question(self, raw: Any) -> Sequence[str]:
        """The commands that ask for a move in this position."""
        stones = stones_in_order(raw)
        if not stones:
            return ["BEGIN"]
        if self._is_continued(raw):
            return [f"TURN {coordinates(raw.game.columns, raw.actions[-1])}"]
        return ["BOARD", *_fields(raw), "DONE"]

    def _choose_opening(self, raw: Any) -> int:
        """Ask for stones or a colour of swap2; an answer may plan several actions."""
        game, phase = raw.game, phase_of(raw.game, raw.state)
        stones = stones_in_order(raw)
        if stones and not game.can_swap(raw.state):
            raise ValueError(f"expected an opening with 0, 3 or 5 stones, got {len(stones)}")
        plain = [coordinates(game.columns, cell) for cell in stones]
        dialects = [["SWAP2BOARD", *lines, "DONE"] for lines in (plain, _fields(raw))]
        if self._wants_fields:
            dialects.reverse()
        question, second_form = dialects
        actions = self._ask(question, lambda line, _: read_opening(game, phase, line), second_form)
        self._known = None
        for n, action in enumerate(actions):
            self._plan[(*raw.actions, *actions[:n])] = action
        return actions[0]

    def _read(self, game: AnyGomoku, answer: str, deadline: float) -> int:
        """The move of an answer; a suggested move is accepted."""
        while first_word(answer) == "SUGGEST":
            self.engine().send(f"PLAY {answer.partition(' ')[2].strip()}")
            answer = self._answer(deadline)
        return read_cell(game, answer)


def read_cell(game: AnyGomoku, text: str) -> int:
    """The cell that a text begins with, or ForfeitError."""
    try:
        return cell_within((game.rows, game.columns), text)
    except ValueError as error:
        raise ForfeitError(str(error)) from None


def read_opening(game: AnyGomoku, phase: Phase, answer: str) -> list[int]:
    """The actions of an answer to SWAP2BOARD in a phase, or ForfeitError."""
    swap = game.rows * game.columns
    if phase != Phase.PLACING and first_word(answer) == "SWAP":
        return [swap]
    cells = [read_cell(game, word) for word in re.sub(r"\s*,\s*", ",", answer).split()]
    if phase == Phase.PLACING and len(cells) == 3:
        return cells
    if phase == Phase.CHOOSING and len(cells) == 2:
        return [swap + 1, *cells]
    if phase != Phase.PLACING and len(cells) == 1:
        return cells
    raise ForfeitError(f"expected an answer to SWAP2BOARD, got {answer!r:.200}")


@dataclass
class Request:
    """Commands that an engine has to answer, and how far it has come."""

    question: Sequence[str]
    second_form: Sequence[str]
    follows_info: bool
    complaint: str = ""
    is_repeated: bool = False

    def may_be_known(self, complaint: str) -> bool:
        """Whether a complaint may refer to INFO alone: it has no word of the question."""
        words = " ".join(self.question).upper().split()
        return self.follows_info and not set(words) & set(complaint.upper().split())


def stones_of(raw: Any) -> dict[int, int]:
    """The colour of each cell with a stone, in order of cells: 0 for black, 1 for white."""
    owners = cell_owners(*inner(raw.game, raw.state)).ravel().tolist()
    return {cell: owner for cell, owner in enumerate(owners) if owner >= 0}


def stones_in_order(raw: Any) -> dict[int, int]:
    """The colours by cell in the order of play; if it is unknown, black and white in turn.

    So an engine that counts the stones finds the right player to move.
    """
    stones = stones_of(raw)
    played = [action for action in raw.actions if action in stones]
    if len(played) < len(stones):
        by_colour = [[cell for cell in stones if stones[cell] == colour] for colour in (0, 1)]
        played = [by_colour[n & 1].pop(0) for n in range(len(stones))]
    return {cell: stones[cell] for cell in played}


def colour_to_play(raw: Any) -> int:
    """The colour of the next stone: 0 for black, 1 for white."""
    return len(stones_of(raw)) & 1


def _fields(raw: Any) -> list[str]:
    """The stones in the form of BOARD: 1 for the player to move, 2 for the other."""
    own = colour_to_play(raw)
    return [
        f"{coordinates(raw.game.columns, cell)},{1 if colour == own else 2}"
        for cell, colour in stones_in_order(raw).items()
    ]
