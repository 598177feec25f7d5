"""Gomoku engines that speak the Gomocup (Piskvork) protocol, as agents.

The protocol is https://plastovicka.github.io/protocl2en.htm: lines of text, with ``x,y`` for the
column and the row of a cell, from 0 at the top left. SWAP2BOARD has two dialects: by that text its
stones are ``x,y``, while Rapfi takes them as BOARD has them, ``x,y,field``, and refuses others.
"""

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from agents.core.agent import ForfeitError
from agents.core.options import number_within, whole_number_within
from agents.protocols.engine_process import START_SECONDS, EngineAgent, T
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
RULE_BITS: Final = {"freestyle": 0, "standard": 1, "renju": 4, "caro": 8}
"""What ``INFO rule`` says of the rules of that name."""
CONTINUOUS: Final = 2
"""The bit of ``INFO rule`` for games that go on after a five."""
SWAP2_CHOICES: Final = ((Phase.CHOOSING, 3), (Phase.CHOOSING_LAST, 5))
"""When the players of swap2 choose, by the number of stones."""
UNLIMITED: Final = 2_147_483_647
"""What ``INFO time_left`` says where a match has no limit."""
MEBIBYTE: Final = 2**20
REMARKS: Final = ("MESSAGE", "DEBUG")
"""What an engine says besides answers."""
COMPLAINTS: Final = ("ERROR", "UNKNOWN")
"""What it says of a command that it did not take."""
PATIENCE: Final = 0.1
"""Seconds in which the answer may still come after a complaint."""


def check_game(game: Any) -> AnyGomoku:
    """The game, if the protocol has it.

    Raises:
        ValueError: If it is another game, or a variant without a number in the protocol.
    """
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


def is_ok(answer: str) -> bool:
    """Whether an answer is OK, with or without words of explanation."""
    return answer.upper().split()[:1] == ["OK"]


def first_word(line: str) -> str:
    """The word that a line begins with, in capitals."""
    return line.split()[0].upper()


def coordinates(game: AnyGomoku, cell: int) -> str:
    """A cell as the protocol writes it."""
    return f"{cell % game.columns},{cell // game.columns}"


class GomocupEngine(EngineAgent):
    """An outside engine that speaks the Gomocup protocol, for `hexenv.gomoku_v0`.

    It loses a game when it crashes, answers something else than a legal move, or is late. What it
    did not take (ERROR, UNKNOWN) is asked once more, in the same time: some lose what comes right
    after their own move.

    Args:
        command: Its command line.
        seconds: Limit for a move, which the engine is told.
        match_seconds: Limit for all its moves in a game, which it is told; None for none.
        memory: Limit in MiB that it is told, which nothing enforces; 0 for none.
        tolerance: Seconds by which an answer may be late, for pipes and the system.

    Raises:
        ValueError: If there is no such program, or a number is out of its range.
    """

    name = "gomocup"
    newline = "\r\n"
    farewell = "END"

    def __init__(
        self,
        command: str,
        seconds: float = 5.0,
        match_seconds: float | None = None,
        memory: int = 0,
        tolerance: float = 0.1,
    ) -> None:
        super().__init__(command, seconds, tolerance)
        if match_seconds is not None:
            match_seconds = number_within("match_seconds", match_seconds, 1e-3, 1e6)
        self.match_seconds = match_seconds
        self.memory = whole_number_within("memory", memory, 0, 2**20)
        self._left: float | None = match_seconds
        self._plan: dict[tuple[int, ...], int] = {}  # what it plays after actions of an opening
        self._told: dict[str, int] = {}  # by INFO
        self._wants_fields = False  # for the stones of SWAP2BOARD

    def reset(self, seed: int | None = None) -> None:
        """Begin another game with the next move; engines have no seeds."""
        super().reset(seed)
        self._left = self.match_seconds
        self._plan = {}

    def get_ready(self, raw: Any) -> None:
        """Start the engine, or let it clear its board."""
        game = check_game(getattr(raw, "game", None))
        is_open = self.is_running() and self._game == game
        if is_open and (self._known == () or self._is_continued(raw) or self._is_planned(raw)):
            return
        if not (is_open and is_ok(self._answer_to("RESTART"))):
            self.close()
            size = f"START {game.rows}"
            if game.rows != game.columns:
                size = f"RECTSTART {game.columns},{game.rows}"
            answer = self._answer_to(size)
            if not is_ok(answer):
                raise ForfeitError(f"expected OK to {size}, got {answer!r:.200}")
            self._told = {}
        self._game, self._known = game, ()
        news = self._news(
            timeout_turn=round(1000 * self.seconds),
            timeout_match=round(1000 * (self.match_seconds or 0)),
            max_memory=self.memory * MEBIBYTE,
            game_type=1,
            rule=RULE_BITS[rule_name(game.rule)],
        )
        if news:
            self.engine().send(*news)

    def _news(self, **values: int) -> list[str]:
        """The INFO lines for what the engine does not know yet."""
        news = {key: value for key, value in values.items() if self._told.get(key) != value}
        self._told |= news
        return [f"INFO {key} {value}" for key, value in news.items()]

    def _answer_to(self, command: str) -> str:
        self.engine().send(command)
        return self._answer(time.monotonic() + START_SECONDS)

    def _is_continued(self, raw: Any) -> bool:
        """Whether the position is what the engine knows and a move in answer."""
        last, stones = raw.actions[-1:], stones_of(raw)
        before = tuple(stone for stone in stones if [stone.cell] != last)
        return len(before) == len(stones) - 1 and before == self._known

    def _is_planned(self, raw: Any) -> bool:
        return is_opening(raw.game, raw.state) and tuple(raw.actions) in self._plan

    def _answer(self, deadline: float) -> str:
        """The next line that is no message and not empty."""
        while True:
            line = self.engine().read_line(deadline).strip()
            if line and first_word(line) not in REMARKS:
                return line

    def choose(self, raw: Any) -> int:
        """Tell the engine what has been played, and wait for its move as long as it has time."""
        game = check_game(raw.game)
        if self._is_planned(raw):
            action = self._plan[tuple(raw.actions)]
        elif is_opening(game, raw.state):
            action = self._choose_opening(raw)
        else:
            action = self._asked(self._question(raw), lambda line, by: self._read(game, line, by))
        if not raw.is_legal(action):
            raise ForfeitError(f"illegal move {coordinates(game, action)}")
        if not is_opening(game, raw.state):
            own = Stone(action, colour_to_play(raw))
            self._known = tuple(sorted((*stones_of(raw), own)))
        return action

    def _asked(
        self,
        question: Sequence[str],
        read: Callable[[str, float], T],
        otherwise: Sequence[str] | None = None,
    ) -> T:
        """What is read from the answer to commands, on the engine's clock.

        A complaint (ERROR, UNKNOWN) is no answer. Where none follows soon, they are sent once more;
        where the complaint may be of INFO alone, the engine has half of its time before that.

        Args:
            question: The commands.
            read: Reads the first line of the answer, with the deadline for others.
            otherwise: How to ask again if it was not taken; None for the same commands.
        """
        left = self._left
        limit = self.seconds if left is None else min(self.seconds, left)
        news = self._news(time_left=UNLIMITED if left is None else round(1000 * left))
        request = Request(question, otherwise or question, bool(news))
        started = time.monotonic()
        self.engine().send(*news, *question)
        try:
            found = self.within(limit, lambda deadline: self._answered(request, read, deadline))
        except ForfeitError as error:
            if request.complaint:
                raise ForfeitError(f"{error}, after {request.complaint!r:.200}") from error
            raise
        if request.is_repeated and request.otherwise != request.question:
            self._wants_fields = not self._wants_fields
        if left is not None:
            self._left = max(left - (time.monotonic() - started), 0.0)
        return found

    def _answered(self, request: "Request", read: Callable[[str, float], T], deadline: float) -> T:
        """What is read from the first answer that is no complaint; see `_asked`."""
        until = deadline
        while True:
            try:
                line = self._answer(until)
                if first_word(line) not in COMPLAINTS:
                    return read(line, deadline)
            except ForfeitError:  # nothing came, or what it makes of half a question
                if not request.complaint or request.is_repeated or self.engine().has_ended():
                    raise
                self.engine().send(*request.otherwise)
                request.is_repeated, until = True, deadline
                continue
            request.complaint = line
            if not request.is_repeated:
                half = (deadline - time.monotonic()) / 2
                patience = half if request.may_be_heard(line) else min(PATIENCE, half)
                until = min(until, time.monotonic() + patience)

    def _question(self, raw: Any) -> Sequence[str]:
        """The commands that ask for a move in this position."""
        stones = stones_in_order(raw)
        if not stones:
            return ["BEGIN"]
        if self._is_continued(raw):
            return [f"TURN {coordinates(raw.game, raw.actions[-1])}"]
        return ["BOARD", *_fields(raw), "DONE"]

    def _choose_opening(self, raw: Any) -> int:
        """Ask for the stones of swap2, or for a colour, and plan what the answer takes."""
        game, phase = raw.game, phase_of(raw.game, raw.state)
        stones = stones_in_order(raw)
        if (phase, len(stones)) not in ((Phase.PLACING, 0), *SWAP2_CHOICES):
            raise ValueError(f"expected an opening with 0, 3 or 5 stones, got {len(stones)}")
        plain = [coordinates(game, stone.cell) for stone in stones]
        dialects = [["SWAP2BOARD", *lines, "DONE"] for lines in (plain, _fields(raw))]
        if self._wants_fields:
            dialects.reverse()
        asked, otherwise = dialects
        actions = self._asked(asked, lambda line, _: read_opening(game, phase, line), otherwise)
        self._known = None
        for n, action in enumerate(actions):
            self._plan[(*raw.actions, *actions[:n])] = action
        return actions[0]

    def _read(self, game: AnyGomoku, answer: str, deadline: float) -> int:
        """The move that an answer is; a suggested one is accepted."""
        while first_word(answer) == "SUGGEST":
            self.engine().send(f"PLAY {answer.partition(' ')[2].strip()}")
            answer = self._answer(deadline)
        return read_cell(game, answer)


def read_cell(game: AnyGomoku, text: str) -> int:
    """The cell that a text begins with.

    Raises:
        ForfeitError: If it is none.
    """
    found = read_coordinates(text)
    if found is None:
        raise ForfeitError(f"expected a move x,y, got {text!r:.200}")
    x, y = found
    if not (0 <= x < game.columns and 0 <= y < game.rows):
        raise ForfeitError(f"illegal move {x},{y}")
    return y * game.columns + x


def read_opening(game: AnyGomoku, phase: Phase, answer: str) -> list[int]:
    """The actions that an answer to SWAP2BOARD is.

    Raises:
        ForfeitError: If it is no answer to these stones.
    """
    swap = game.rows * game.columns
    if phase != Phase.PLACING and answer.upper().split()[:1] == ["SWAP"]:
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
    """Commands that an engine has to answer, and what came of them."""

    question: Sequence[str]
    otherwise: Sequence[str]
    """The commands to ask with a second time."""
    follows_news: bool
    """Whether INFO was sent with them."""
    complaint: str = ""
    """The last that the engine has said of not taking something."""
    is_repeated: bool = False

    def may_be_heard(self, complaint: str) -> bool:
        """Whether the complaint may be of INFO alone: it names no word of the question."""
        words = " ".join(self.question).upper().split()
        return self.follows_news and not set(words) & set(complaint.upper().split())


class Stone(NamedTuple):
    """A stone on the board."""

    cell: int
    colour: int
    """0 for black, which moves first, 1 for white."""


def stones_of(raw: Any) -> tuple[Stone, ...]:
    """The stones of a position, cell by cell."""
    owners = cell_owners(*inner(raw.game, raw.state)).ravel()
    return tuple(Stone(cell, int(owners[cell])) for cell in range(owners.size) if owners[cell] >= 0)


def stones_in_order(raw: Any) -> list[Stone]:
    """The stones as they were played; where that is not known, black and white in turn.

    So the engine at least sees the right player to move, if it counts on the order.
    """
    stones = stones_of(raw)
    colours = {stone.cell: stone for stone in stones}
    played = [colours[action] for action in raw.actions if action in colours]
    if len(played) == len(stones):
        return played
    by_colour = [[stone for stone in stones if stone.colour == colour] for colour in (0, 1)]
    return [by_colour[n & 1].pop(0) for n in range(len(stones))]


def _fields(raw: Any) -> list[str]:
    """The stones as BOARD has them: 1 for those of whose turn it is, 2 for the other's."""
    own = colour_to_play(raw)
    return [
        f"{coordinates(raw.game, stone.cell)},{1 if stone.colour == own else 2}"
        for stone in stones_in_order(raw)
    ]


def colour_to_play(raw: Any) -> int:
    """Whose stone is next: 0 for black, 1 for white."""
    return len(stones_of(raw)) & 1
