"""An analysis engine for other programs: one JSON object a line in, one or more out.

Names and behaviour of the fields are those of the analysis engine of KataGo (Wu 2019-2026,
``docs/Analysis_Engine.md`` of that program), as far as they make sense for games without a score.
"""

import itertools
import json
import math
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from queue import PriorityQueue
from threading import Event, Lock, Thread
from typing import Annotated, Any, Final, Literal, cast

import numpy as np
from msgspec import Meta

import hexenv
from agents.apps.play.cells import cell_of, is_by_column
from agents.apps.play.titles import SIZES
from agents.apps.protocols.conversation import error_text, raw_lines
from agents.core.agent import Statistics, StoppedError
from agents.core.background import Watch
from agents.core.options import MOST_SIMULATIONS
from agents.core.reading import as_object, parse_json
from agents.core.structured import Count, Text, convert, fields_of
from agents.records.analysis import Analysis
from agents.records.asking import Limit, Question
from agents.records.record import GameRecord, StartPosition
from agents.records.variations import Variations
from agents.registry import make_agent, make_environment
from hexenv.common.messages import not_one_of, shortened
from hexenv.envs.aec import BoardEnv
from hexenv.games import base, notation
from hexenv.games.base import EMPTY

LONGEST_LINE: Final = 1 << 20
"""Bytes of a query."""
MOST_WAITING: Final = 10_000
"""Positions that wait for a thread."""
COLOURS: Final = ("B", "W")
"""Of the players: B begins."""
SILENT: Final = ("komi", "rules", "whiteHandicapBonus")
"""Fields of Go, which are ignored without a word."""

Colour = Literal["B", "W"]
Stone = tuple[Colour, Text]


@dataclass(frozen=True)
class Restriction:
    """Moves of a player in `Query.avoidMoves` or `Query.allowMoves`."""

    moves: tuple[Text, ...]
    player: Colour
    untilDepth: Count


@dataclass(frozen=True)
class Query:
    """A game, and which of its positions are to be analysed.

    Attributes:
        id: Of the query; its answers have the same.
        moves: The moves of the game: who plays, and what.
        initialStones: The stones before the first move.
        initialPlayer: Who is to move then, where the stones leave it open.
        boardXSize: Columns; by default those of the engine's game.
        boardYSize: Rows.
        analyzeTurns: After how many of the moves; by default after all.
        maxVisits: Simulations of each search.
        maxTime: Its seconds. With neither the agent's own budget counts.
        priority: Queries with a higher one come first.
        reportDuringSearchEvery: Seconds between answers while a search goes on.
        includePolicy: Whether answers have the probabilities of all actions.
        analysisPVLen: The most moves of a line.
        avoidMoves: Moves of a player that are not looked at in the position itself (``untilDepth``
            1). The others are searched one by one, each with its part of the limit.
        allowMoves: The only moves that are looked at; likewise.
    """

    id: Text
    moves: tuple[Stone, ...] = ()
    initialStones: tuple[Stone, ...] = ()
    initialPlayer: Colour | None = None
    boardXSize: Count | None = None
    boardYSize: Count | None = None
    analyzeTurns: tuple[Count, ...] | None = None
    maxVisits: Annotated[int, Meta(ge=1, le=MOST_SIMULATIONS)] | None = None
    maxTime: Annotated[float, Meta(gt=0, le=1e9)] | None = None
    priority: Annotated[int, Meta(ge=-(2**53), le=2**53)] = 0
    reportDuringSearchEvery: Annotated[float, Meta(ge=0.001, le=1e9)] | None = None
    includePolicy: bool = False
    analysisPVLen: Annotated[int, Meta(ge=1, le=10_000)] = 15
    avoidMoves: tuple[Restriction, ...] = ()
    allowMoves: tuple[Restriction, ...] = ()


class QueryError(ValueError):
    """A query is refused because of one of its fields."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True, eq=False)
class Task:
    """A position of a query that is to be analysed."""

    query: Query
    turn: int
    env: Any
    moves: list[int] | None
    """Those that are looked at; None: all."""
    stopped: Event = field(default_factory=Event)

    @property
    def head(self) -> dict[str, Any]:
        """What every answer to it begins with; the last one says that it is the last."""
        return {"id": self.query.id, "isDuringSearch": False, "turnNumber": self.turn}


class AnalysisEngine:
    """Answers queries with the analyses of an agent, several at a time.

    Args:
        agent: Its name, with parameters; each thread has one of its own.
        game: The game of all queries.
        options: ``key=value`` texts for it; a query may say the size of the board.
        write: Called with each answer, by one thread at a time.
        threads: How many positions are searched at the same time.
        lines: The most moves in an answer.
        seed: Of the agents.
    """

    def __init__(
        self,
        agent: str,
        game: str,
        options: tuple[str, ...],
        write: Callable[[dict[str, Any]], None],
        threads: int = 1,
        lines: int = 20,
        seed: int | None = None,
    ) -> None:
        self._label, self._game, self._options, self._lines = agent, game, options, lines
        self._write_one, self._writing, self._changing = write, Lock(), Lock()
        self._waiting: PriorityQueue[tuple[float, int, Task | None]] = PriorityQueue()
        self._numbers = itertools.count()
        self._clearings = 0
        self._open: dict[int, Task] = {}  # those that have no last answer yet, by their `id`
        self._agents = [make_agent(agent, seed) for _ in range(threads)]
        _environment(game, options, None, None)  # refuses a game that there is not
        self._threads = [Thread(target=self._work, args=[one], daemon=True) for one in self._agents]
        for thread in self._threads:
            thread.start()

    # ---- queries ---------------------------------------------------------------------------------

    def take(self, line: bytes) -> None:
        """Take a line; its answers are written as they come. A blank one has none."""
        if line.isspace():
            return
        said: Mapping[str, Any] = {}
        try:
            if len(line) >= LONGEST_LINE:
                raise ValueError(f"expected a line of fewer than {LONGEST_LINE} bytes, got more")
            said = as_object(parse_json(line))
            if "action" in said:
                self._act(said)
            else:
                self._ask(said)
        except ValueError as error:  # whatever it says, another program needs an answer
            about = {"error": str(error)}
            if isinstance(error, QueryError):
                about["field"] = error.field
            self._write(about | _id_of(said))

    def finish(self) -> None:
        """Wait for all answers, and end the threads."""
        for _ in self._threads:
            self._waiting.put((math.inf, next(self._numbers), None))
        for thread in self._threads:
            thread.join()

    def _ask(self, said: Mapping[str, Any]) -> None:
        known = fields_of(Query)
        query = _query_of(said)
        tasks = self._tasks_of(query)
        for name in said:
            if name not in known and name not in (*SILENT, "overrideSettings"):
                warning = not_one_of("a field", known, name)
                self._write({"warning": warning, "field": name, "id": query.id})
        with self._changing:
            if len(self._open) + len(tasks) > MOST_WAITING:
                raise ValueError(f"expected at most {MOST_WAITING} positions at a time, got more")
            for task in tasks:
                self._open[id(task)] = task
                self._waiting.put((-query.priority, next(self._numbers), task))

    def _tasks_of(self, query: Query) -> list[Task]:
        """The positions of a query."""
        turns = (len(query.moves),) if query.analyzeTurns is None else query.analyzeTurns
        wanted = set(turns)
        if len(turns) > MOST_WAITING:
            raise QueryError("analyzeTurns", f"expected at most {MOST_WAITING}, got {len(turns)}")
        if max(turns, default=0) > len(query.moves):
            got = f"{max(turns)} of {len(query.moves)} moves"
            raise QueryError("analyzeTurns", f"expected turns of the game, got {got}")
        env, _ = _environment(self._game, self._options, query.boardXSize, query.boardYSize)
        env.reset(options=_start_of(env.unwrapped.game, query))
        found: dict[int, Any] = {}
        for turn in range(len(query.moves) + 1):
            if turn in wanted:
                if not env.agents or any(env.terminations.values()):
                    raise QueryError("analyzeTurns", f"expected turns in play, got {turn}, the end")
                found[turn] = env.clone()
            if turn < len(query.moves):
                _play(env, query.moves[turn], turn)
        moves = {turn: _moves_of(query, env) for turn, env in found.items()}
        return [Task(query, turn, found[turn].clone(), moves[turn]) for turn in turns]

    # ---- actions ---------------------------------------------------------------------------------

    def _act(self, said: Mapping[str, Any]) -> None:
        """Do what a query with an ``action`` says."""
        action = said["action"]
        known = ("query_version", "query_models", "clear_cache", "terminate", "terminate_all")
        if action not in known:
            raise QueryError("action", not_one_of("an action", known, action))
        more: dict[str, Any] = {}
        if action == "query_version":
            more = {"version": hexenv.__version__, "git_hash": "<omitted>"}
        elif action == "query_models":
            more = {"models": [{"name": self._label, "usesHumanSLProfile": False}]}
        elif action == "clear_cache":
            self._clearings += 1
        elif action.startswith("terminate"):
            self._terminate(said, action == "terminate_all")
        self._write({**said, **more})

    def _terminate(self, said: Mapping[str, Any], is_all: bool) -> None:
        if not is_all and not isinstance(said.get("terminateId"), str):
            raise QueryError("terminateId", "expected the id of a query as terminateId")
        turns = said.get("turnNumbers")
        if turns is not None and not isinstance(turns, list):
            raise QueryError("turnNumbers", "expected a list of turnNumbers")
        with self._changing:
            for task in self._open.values():
                is_meant = is_all or task.query.id == said["terminateId"]
                if is_meant and (turns is None or task.turn in turns):
                    task.stopped.set()

    # ---- answers ---------------------------------------------------------------------------------

    def _work(self, agent: Any) -> None:
        """Take one position after another, the most urgent first."""
        clearings = 0
        while (task := self._waiting.get()[2]) is not None:
            if clearings != self._clearings:  # its tree of the last position
                clearings = self._clearings
                agent.reset()
            try:
                answer = self._answer(task, agent)
            except Exception as error:  # whatever an agent raises
                answer = {**task.head, "error": error_text(error)}
            with self._changing:
                del self._open[id(task)]
            self._write(answer)

    def _answer(self, task: Task, agent: Any) -> dict[str, Any]:
        """The last answer to a task; earlier ones are written."""
        if task.stopped.is_set():
            return {**task.head, "noResults": True}
        query, last = task.query, cast("Analysis | None", None)
        question = Question(task.env, agent, self._lines)

        def show(statistics: Statistics) -> None:
            nonlocal last
            if (found := question.seen(statistics)) is not None:
                last = found
                if query.reportDuringSearchEvery is not None and not task.stopped.is_set():
                    self._write({**task.head, "isDuringSearch": True, **self._told(task, found)})

        limit = Limit(query.maxTime, query.maxVisits)
        is_given = (query.maxTime, query.maxVisits) != (None, None)
        watch = Watch(show, query.reportDuringSearchEvery or math.inf, task.stopped)
        try:
            if task.moves is not None:
                given = limit if is_given else None
                last = question.answer_of(task.moves, given, task.stopped.is_set)
                return {**task.head, **self._told(task, last)}
            with question.budget(limit if is_given else None, is_endless=False):
                last = question.answer(watch)
        except StoppedError:
            pass
        return {**task.head, **({"noResults": True} if last is None else self._told(task, last))}

    def _told(self, task: Task, found: Analysis) -> dict[str, Any]:
        """An analysis in KataGo's fields, with what we know besides."""
        query, search = task.query, found.search
        moves: list[dict[str, Any]] = []
        for order, line in enumerate(found.lines):
            about = {
                "move": line.move,
                "order": order,
                "visits": line.visits,
                "winrate": _share(line.value),
                "lcb": _share(line.low),
                "prior": line.prior,
                "proven": line.value if line.is_exact else None,
                "pliesLeft": line.plies_left,
                "pv": list(line.line or (line.move,))[: query.analysisPVLen],
            }
            moves.append({key: value for key, value in about.items() if value is not None})
        root = {
            "currentPlayer": COLOURS[found.position.to_play],
            "visits": 0 if search is None else search.simulations,
            "winrate": _share(found.value),
            "proven": found.proven,
        }
        told: dict[str, Any] = {
            "agent": self._label,
            "moveInfos": moves,
            "rootInfo": {key: value for key, value in root.items() if value is not None},
        }
        if query.includePolicy and search is not None and search.priors:
            game, state = task.env.unwrapped.game, task.env.unwrapped.state
            legal = set(base.legal_actions(game, state))
            told["policy"] = [
                search.priors.get(action, 0.0) if action in legal else -1
                for action in range(game.num_actions())
            ]
        return told

    def _write(self, answer: dict[str, Any]) -> None:
        with self._writing:
            self._write_one(answer)


def variations_of(said: Mapping[str, Any], game: str, options: tuple[str, ...]) -> Variations:
    """The game of a query, whose `id` may be left out; `QueryError` if it is none."""
    query = _query_of({"id": "", **said})
    env, options = _environment(game, options, query.boardXSize, query.boardYSize)
    begun = _start_of(env.unwrapped.game, query)
    env.reset(options=begun)
    raw = env.unwrapped
    start = None if begun is None else StartPosition.of(raw.game, raw.state)
    for number, stone in enumerate(query.moves):
        _play(env, stone, number)
    return Variations.of(GameRecord.of(game, options, env.unwrapped.actions, start=start))


def _query_of(said: Mapping[str, Any]) -> Query:
    """The query of an object."""
    known = fields_of(Query)
    override: Any = said.get("overrideSettings", {})
    if not isinstance(override, dict):
        raise QueryError("overrideSettings", f"expected an object, got {shortened(override)}")
    said = {**said, **{key: override[key] for key in ("maxTime",) if key in override}}
    values: dict[str, Any] = {}
    for name, kind in known.items():
        if name in said:
            try:
                values[name] = convert(said[name], kind, name)
            except ValueError as error:
                raise QueryError(name, str(error)) from None
        elif name == "id":
            raise QueryError(name, "expected an id, got none")
    return Query(**values)


def _environment(
    game: str, options: tuple[str, ...], columns: int | None, rows: int | None
) -> tuple[Any, tuple[str, ...]]:
    """An environment of a game on a board of this size, and its options."""
    env: Any = make_environment(game, options)
    if not isinstance(env.unwrapped, BoardEnv):
        raise ValueError(f"expected a game by the rules of hexenv, got {game}")
    rules = env.unwrapped.game
    size = (rules.rows if rows is None else rows, rules.columns if columns is None else columns)
    if size == (rules.rows, rules.columns):
        return env, options
    others = tuple(text for text in options if text.partition("=")[0] not in SIZES)
    sides = (f"board_size={size[0]}x{size[1]}",)
    if is_by_column(rules):
        sides = (f"rows={size[0]}", f"columns={size[1]}")
    try:
        return make_environment(game, (*others, *sides)), (*others, *sides)
    except ValueError as error:
        raise QueryError("boardXSize", str(error)) from None


def _share(value: float | None) -> float | None:
    """A value, -1 to 1, as the probability of a win."""
    return None if value is None else (value + 1) / 2


def _id_of(said: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": said["id"]} if isinstance(said.get("id"), str) else {}


def _start_of(game: Any, query: Query) -> dict[str, Any] | None:
    """The options of a reset that give the position before the first move."""
    if not query.initialStones:
        if query.initialPlayer not in (None, "B"):
            raise QueryError("initialPlayer", "expected B to begin on an empty board, got W")
        return None
    if is_by_column(game) or not notation.has_stones(game):
        raise QueryError("initialStones", f"expected moves, no initialStones, in {game.name}")
    state = base.new_state(game)
    owners = [EMPTY] * (game.rows * game.columns)
    for colour, text in query.initialStones:
        try:
            cell = cell_of(game, state, game.parse_action(text.lower()))
        except ValueError as error:
            raise QueryError("initialStones", str(error)) from None
        if cell is None or owners[cell] != EMPTY:
            raise QueryError("initialStones", f"expected empty cells, got {text} twice, or no cell")
        owners[cell] = COLOURS.index(colour)
    first = query.initialPlayer or (query.moves[0][0] if query.moves else None)
    counts = [owners.count(player) for player in (0, 1)]
    to_play = int(counts[0] > counts[1]) if first is None else COLOURS.index(first)
    try:
        cells = np.array(owners, np.int8).reshape(game.rows, game.columns)
        return {"state": notation.from_cells(game, cells, to_play, details=notation.OUT_OF_TURN)}
    except ValueError as error:
        raise QueryError("initialStones", str(error)) from None


def _moves_of(query: Query, env: Any) -> list[int] | None:
    """The moves that a query has looked at in a position; None: all."""
    raw: BoardEnv = env.unwrapped
    colour = COLOURS[raw.game.to_play(raw.state)]
    left = every = base.legal_actions(raw.game, raw.state)
    for name in ("avoidMoves", "allowMoves"):
        restrictions: tuple[Restriction, ...] = getattr(query, name)
        for one in restrictions:
            if one.untilDepth != 1:
                raise QueryError(name, f"expected untilDepth 1, got {one.untilDepth}")
            if one.player != colour:
                continue
            try:
                named = {raw.game.parse_action(text.lower()) for text in one.moves}
            except ValueError as error:
                raise QueryError(name, str(error)) from None
            left = [move for move in left if (move in named) == (name == "allowMoves")]
        if not left:
            raise QueryError(name, "expected to leave a legal move, got none")
    return None if len(left) == len(every) else left


def _play(env: Any, stone: Stone, number: int) -> None:
    """Play a move of a query."""
    raw: BoardEnv = env.unwrapped
    colour, text = stone
    if not env.agents or any(env.terminations.values()):
        raise QueryError("moves", f"expected moves up to the end of the game, got moves[{number}]")
    expected = COLOURS[raw.game.to_play(raw.state)]
    if colour != expected:
        raise QueryError("moves", f"expected {expected} to play moves[{number}], got {colour}")
    try:
        env.step(notation.parse_move(raw.game, raw.state, text.lower()))
    except ValueError as error:
        raise QueryError("moves", f"moves[{number}]: {error}") from None


# ---- over standard input and output --------------------------------------------------------------


def serve_lines(new_engine: Callable[[Callable[[dict[str, Any]], None]], AnalysisEngine]) -> None:
    """Answer the lines of standard input until its end, and all that was asked.

    What agents print goes to standard error. It ends as well where nobody reads the answers.
    """
    stdin, stdout = sys.stdin.buffer, sys.stdout.buffer

    def write(answer: dict[str, Any]) -> None:
        try:
            stdout.write(json.dumps(answer).encode() + b"\n")
            stdout.flush()
        except BrokenPipeError:
            os._exit(0)  # threads that search would go on

    with redirect_stdout(sys.stderr):
        engine = new_engine(write)
        for line in raw_lines(stdin, LONGEST_LINE):
            engine.take(line)
        engine.finish()
