"""The accuracy of agents in positions whose exact values are known.

A *set* is a file of solved positions. Only positions where the legal actions differ in value count:
in the others no mistake is possible. An action *keeps the value* if its value is the best one. It
is *optimal* if its score is the best one; scores say how soon a win comes, and are the values in
sets without scores. Its *loss* is the best value less its own, 0 to 2.
"""

import functools
import operator
import re
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from importlib import resources
from math import comb
from pathlib import Path
from types import NoneType
from typing import Any, Final, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from agents.arena.intervals import difference_interval, score_interval
from agents.arena.match import prepare
from agents.core.reading import as_object, parse_json, read_text
from agents.core.workers import LocalPool, Lost, ProcessPool, StartError, Worker
from agents.registry import make_agent, make_environment
from hexenv.common.messages import suggestion
from hexenv.games.hex import MAX_SIZE
from hexenv.games.tictactoe import HAS_LINE

CHUNK: Final = 25
"""Positions in a task of a worker."""
MOST_BOARDS, MOST_POSITIONS, MOST_ACTIONS = 3**9, 100_000, 1_000_000
"""The most in a file: boards of TicTacToe, positions of other games, and their legal actions."""


@dataclass(frozen=True)
class SolvedPosition:
    """A position and the value of each legal action.

    Attributes:
        game: The environment's name.
        options: Its options, as ``key=value`` texts.
        start: The `options` of `reset`.
        values: Value by action, -1, 0 or 1 for the player to move.
        scores: Score by action, higher is better; the values where scores are not known.
    """

    game: str
    options: tuple[str, ...]
    start: dict[str, Any]
    values: dict[int, int]
    scores: dict[int, int]

    @property
    def mistake_possible(self) -> bool:
        """Whether some action loses value."""
        return len(set(self.values.values())) > 1


@dataclass(frozen=True)
class Accuracy:
    """The accuracy of an agent on a set.

    Attributes:
        agent: Its text.
        name: The name of the set.
        kept: ``(seeds, positions)``: whether the action kept the value.
        optimal: The same shape: whether it was optimal.
        loss: The same shape: its loss.
        seconds: Mean time for a move.
        simulations: The agent's simulations for a move; None if it counts none.
    """

    agent: str
    name: str
    kept: NDArray[np.bool_]
    optimal: NDArray[np.bool_]
    loss: NDArray[np.int64]
    seconds: float
    simulations: int | None = None

    def as_json(self) -> dict[str, Any]:
        """The shares, with intervals, as a dictionary for JSON.

        ``kept_by_position`` counts, for each position, the seeds with which the value was kept.
        """
        return {
            "agent": self.agent,
            "set": self.name,
            "simulations": self.simulations,
            "positions": int(self.kept.shape[1]),
            "seeds": int(self.kept.shape[0]),
            "kept": float(self.kept.mean()),
            "kept_interval": interval(self.kept),
            "optimal": float(self.optimal.mean()),
            "optimal_interval": interval(self.optimal),
            "loss": float(self.loss.mean()),
            "seconds_per_move": self.seconds,
            "kept_by_position": self.kept.sum(axis=0).tolist(),
        }


def interval(found: NDArray[Any]) -> tuple[float, float]:
    """95 % interval of a share, by `agents.arena.intervals.score_interval` over positions.

    Each position counts with its mean over the seeds, which are the first axis: more seeds say
    nothing about the accuracy in other positions.
    """
    return score_interval(found.mean(axis=0))


def difference(one: Accuracy, other: Accuracy) -> tuple[float, tuple[float, float], float]:
    """How much more often one agent keeps the value than another on the same positions.

    Returns:
        The difference of the shares, its 95 % interval over positions, and McNemar's exact
        two-sided p for the first seed.
    """
    gain = one.kept.mean(axis=0) - other.kept.mean(axis=0)
    better = int(np.sum(one.kept[0] & ~other.kept[0]))
    worse = int(np.sum(~one.kept[0] & other.kept[0]))
    unequal = better + worse
    tail = sum(comb(unequal, k) for k in range(min(better, worse) + 1)) / 2**unequal
    return float(gain.mean()), difference_interval(gain), min(1.0, 2.0 * tail)


# ---- sets ----------------------------------------------------------------------------------------


def own_sets(game: str, options: Sequence[str] = ()) -> dict[str, list[SolvedPosition]]:
    """The sets in the package for a game with these options (or any), by name."""
    folder = resources.files("agents.arena") / "positions"
    sets: dict[str, list[SolvedPosition]] = {}
    games: set[str] = set()
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        stem, _, kind = file.name.partition(".")
        if kind in ("json", "jsonl"):
            games.add(stem.partition("_")[0])
        if stem.partition("_")[0] == game and kind in ("json", "jsonl"):
            positions = read_positions(file.read_text(encoding="utf-8"), file.name)
            if not options or sorted(options) == sorted(positions[0].options):
                sets[stem] = positions
    if not sets:
        asked = " ".join((game, *options))
        meant = suggestion(game, games)
        raise ValueError(f"expected a game with a set of solved positions, got {asked}{meant}")
    return sets


def spread(positions: Sequence[SolvedPosition], most: int | None) -> list[SolvedPosition]:
    """At most so many of the positions in which a mistake is possible, evenly spread."""
    able = [position for position in positions if position.mistake_possible]
    count = min(most or len(able), len(able))
    return [able[number * len(able) // count] for number in range(count)]


def load_positions(path: str | Path) -> list[SolvedPosition]:
    """The positions of a file: of one of the package's kinds, or of the public Connect4 sets."""
    return read_positions(read_text(path), str(path))


def read_positions(text: str, name: str) -> list[SolvedPosition]:
    """The positions of a file's text; `name` is for errors."""
    if Path(name).suffix == ".json":
        try:
            solved = as_object(parse_json(text))
            if not 0 < len(solved) <= MOST_BOARDS:
                raise ValueError(f"{len(solved)} of them")
            return [_tictactoe(board, solved) for board in solved]
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"{name}: expected solved boards of tictactoe (the positions of other games are "
                f"lines, in a .jsonl): {error}"
            ) from None
    found, actions = list[SolvedPosition](), 0
    for number, line in enumerate(text.splitlines(), 1):
        try:
            found.append(_json_line(line) if line.startswith("{") else _scored_line(line))
            actions += len(found[-1].values)
            if len(found) > MOST_POSITIONS or actions > MOST_ACTIONS:
                raise ValueError(f"more than {MOST_POSITIONS} positions or {MOST_ACTIONS} actions")
        except (IndexError, KeyError, TypeError, ValueError) as error:
            expected = "expected moves and the values of the actions"
            raise ValueError(f"{name}:{number}: {expected}, got {line[:60]!r}: {error}") from None
    if not found:
        raise ValueError(f"{name}: expected solved positions, got an empty file")
    return found


def _tictactoe(board: str, solved: dict[str, Any]) -> SolvedPosition:
    """One of all positions of TicTacToe; a move has the value of the position after it."""
    mover = solved[board]["to_move"]
    values: dict[int, int] = {}
    for cell in (cell for cell in range(9) if board[cell] == "."):
        after = board[:cell] + mover + board[cell + 1 :]
        if after in solved:
            values[cell] = -int(solved[after]["value"])
        else:  # the end
            stones = sum(1 << place for place in range(9) if after[place] == mover)
            values[cell] = int(HAS_LINE[stones])
    best = {cell for cell in values if values[cell] == max(values.values())}
    if best != set(solved[board]["optimal"]):
        raise ValueError(f"expected the optimal cells {sorted(best)} of {board}")
    start = {"board": f"{board[:3]}/{board[3:6]}/{board[6:]}"}
    return SolvedPosition("tictactoe", (), start, values, values)


def _json_line(line: str) -> SolvedPosition:
    row = as_object(parse_json(line))
    if "scores" in row:
        return _connect4(_columns(row["moves"]), row["scores"])
    size, winning = row["size"], set(row["winning"])
    if type(size) is not int or not 1 <= size <= MAX_SIZE:
        raise ValueError(f"expected a size from 1 to {MAX_SIZE}")
    moves = cast("list[str]", row["moves"])
    taken = set(moves)
    cells = [f"{chr(97 + cell % size)}{cell // size + 1}" for cell in range(size * size)]
    if not isinstance(row["moves"], list) or not taken | winning <= set(cells) or taken & winning:
        raise ValueError("expected a list of moves, and winning moves among the free cells")
    values = {
        action: 1 if cell in winning else -1
        for action, cell in enumerate(cells)
        if cell not in taken
    }
    start = {"moves": " ".join(moves)}
    return SolvedPosition("hex", (f"board_size={size}",), start, values, values)


def _scored_line(line: str) -> SolvedPosition:
    moves, *scores = line.split()
    if len(scores) not in (7, 8):
        raise ValueError("expected columns and seven scores")
    return _connect4(
        _columns(moves), [None if score == "x" else int(score) for score in scores[-7:]]
    )


def _columns(moves: str) -> str:
    if not re.fullmatch("[1-7]*", moves):
        raise ValueError(f"expected columns from 1 to 7, got {moves!r}")
    return moves


def _connect4(moves: str, by_column: Sequence[Any]) -> SolvedPosition:
    if len(by_column) != 7 or any(type(score) not in (int, NoneType) for score in by_column):
        raise ValueError("expected a whole number or null for each of seven columns")
    scores = {action: score for action, score in enumerate(by_column) if score is not None}
    values = {action: (score > 0) - (score < 0) for action, score in scores.items()}
    return SolvedPosition("connect4", (), {"moves": moves}, values, scores)


# ---- playing them --------------------------------------------------------------------------------


def measure(
    agent: str,
    positions: Sequence[SolvedPosition],
    *,
    name: str = "",
    seeds: int = 5,
    seed: int = 0,
    workers: int = 1,
    on_chunk: Callable[[], None] = lambda: None,
) -> Accuracy:
    """Let an agent act once in each position where a mistake is possible, with several seeds.

    A position that a set has more than once counts once.

    Args:
        agent: Its text; see `agents.registry`.
        positions: The set.
        name: The set's name, for the result.
        seeds: How many times each position is played.
        seed: The agent's seeds are made of it, the run and the position's number.
        workers: Processes; the result is the same for any number. 0: none but this one.
        on_chunk: Called when a chunk of positions is done.

    Raises:
        ValueError: If no position is left, or the agent, the environment or a process fails.
    """
    once = {(one.game, one.options, str(one.start)): one for one in positions}
    played = [position for position in once.values() if position.mistake_possible]
    if not played:
        raise ValueError("expected positions in which a mistake is possible, got none")
    simulations: int | None = getattr(make_agent(agent), "simulations", None)
    chunks = [
        Chunk(run, start, played[start : start + CHUNK])
        for run in range(seeds)
        for start in range(0, len(played), CHUNK)
    ]
    found: dict[tuple[int, int], list[tuple[int, float]]] = {}
    make = functools.partial(Examinee, agent, seed)
    try:
        with closing(ProcessPool(make, workers) if workers else LocalPool(make)) as pool:
            for chunk, outcome in pool.each(chunks):
                if isinstance(outcome, Lost):
                    raise ValueError(f"{agent}: a process in which it played has ended")
                found[chunk.run, chunk.start] = outcome
                on_chunk()
    except StartError as error:
        raise ValueError(f"{agent}: {error}") from error
    moves = [move for _, chunk in sorted(found.items()) for move in chunk]
    chosen = np.array([action for action, _ in moves]).reshape(seeds, -1)
    seconds = float(np.mean([seconds for _, seconds in moves]))
    graded = np.array(
        [[_grade(p, int(action)) for p, action in zip(played, row, strict=True)] for row in chosen]
    )
    loss, optimal = graded[..., 0], graded[..., 1] == 1
    return Accuracy(agent, name, loss == 0, optimal, loss, seconds, simulations)


def with_simulations(agent: str, simulations: Sequence[int]) -> list[str]:
    """An agent's text with each of these simulations a move.

    An agent that has its own number, or its own seconds, or counts none, stays as it is.
    """
    has_own = re.search(r"[:,](simulations|seconds)=", agent)
    if has_own or not hasattr(make_agent(agent), "simulations"):
        return [agent]
    texts = [f"{agent}{',' if ':' in agent else ':'}simulations={count}" for count in simulations]
    for text in texts:
        make_agent(text)
    return texts


def without_simulations(agent: str) -> str:
    """An agent's text without its simulations, the same for all numbers of them."""
    return re.sub(r"(?<=[:,])simulations=[^,]*(,|$)", "", agent).rstrip(":,")


def _grade(position: SolvedPosition, action: int) -> tuple[int, int]:
    """The loss of an action, and whether it is optimal; an illegal one has the greatest loss."""
    if action not in position.values:
        return 2, 0
    loss = max(position.values.values()) - position.values[action]
    return loss, int(position.scores[action] == max(position.scores.values()))


class Chunk(NamedTuple):
    """Some positions of a set, of which the first has the number `start`, in one of the runs."""

    run: int
    start: int
    positions: list[SolvedPosition]


class Examinee(Worker):
    """An agent that acts in solved positions."""

    def __init__(self, text: str, seed: int) -> None:
        self._text, self._seed = text, seed
        self._known: tuple[Any, ...] | None = None  # the game of the agent and the environment
        self._agent: Any = None
        self._env: Any = None

    def do(self, task: Chunk, start_clock: Callable[[], None]) -> list[tuple[int, float]]:
        """The agent's actions in some positions, and their seconds."""
        chosen: list[tuple[int, float]] = []
        for number, position in enumerate(task.positions, task.start):
            self._begin(position)
            seeds = np.random.SeedSequence([self._seed, task.run, number])
            self._agent.reset(int(seeds.generate_state(1)[0]))
            started = time.perf_counter()
            try:
                action = operator.index(self._agent.act(self._env))
            except Exception as error:
                raise ValueError(f"{self._text}: in {position.start}: {error!r}") from error
            chosen.append((action, time.perf_counter() - started))
        return chosen

    def _begin(self, position: SolvedPosition) -> None:
        """Set up a position; the agent and the environment are made, and compiled, once a game."""
        game = position.game, position.options
        is_new = game != self._known
        if is_new:
            self._agent, self._env = make_agent(self._text), make_environment(*game)
            self._known = game
        self._env.reset(options=dict(position.start))
        if is_new:
            prepare(self._env, [self._agent])
