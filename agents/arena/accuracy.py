"""How often agents are right in positions whose exact value is known.

A *set* is a file of solved positions. Only positions in which a mistake is possible count: those
where the legal actions differ in value. An action *keeps the value* if its value is the best one;
it is *optimal* if its score is, where the set has scores (how soon a win comes), else if it keeps
the value; its *loss* is the best value less its own, 0 to 2.
"""

import multiprocessing
import operator
import re
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from importlib import resources
from math import comb
from pathlib import Path
from types import NoneType
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from agents.arena.intervals import difference_interval, score_interval
from agents.arena.processes import end_with_parent
from agents.core.reading import as_object, parse_json, read_text
from agents.registry import make_agent, make_environment
from hexenv.games.hex import MAX_SIZE
from hexenv.games.tictactoe import HAS_LINE

CHUNK: Final = 25
"""Positions that a worker plays at a time."""
MOST_BOARDS: Final = 3**9
MOST_POSITIONS: Final = 100_000
MOST_ACTIONS: Final = 1_000_000
"""Of a file of positions: as many boards of TicTacToe, or positions with so many legal actions."""


@dataclass(frozen=True)
class SolvedPosition:
    """A position and what each legal action is worth.

    Attributes:
        game: The environment's name.
        options: Its options, as ``key=value`` texts.
        start: For `reset`: its `options`.
        values: Value by action, -1, 0 or 1 for the player to move.
        scores: Score by action, higher is better; where they are not known, the values.
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
    """How an agent did on a set.

    Attributes:
        agent: Its text.
        name: The set's.
        kept: ``(seeds, positions)``: whether the action kept the value.
        optimal: The same shape: whether it was optimal.
        loss: The same shape: what it lost.
        seconds: Mean time for a move.
        simulations: A move of the agent's; None if it counts none.
    """

    agent: str
    name: str
    kept: NDArray[np.bool_]
    optimal: NDArray[np.bool_]
    loss: NDArray[np.int64]
    seconds: float
    simulations: int | None = None

    def as_json(self) -> dict[str, Any]:
        """The shares, with intervals, as a dictionary of what JSON knows.

        ``kept_by_position`` has for each position with how many seeds the value was kept.
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

    Each position counts with its mean over the seeds: runs with other seeds share the positions, so
    they are no new evidence of how the agent does on others.

    Args:
        found: ``(seeds, positions)``: from 0 to 1.
    """
    return score_interval(found.mean(axis=0))


def difference(one: Accuracy, other: Accuracy) -> tuple[float, tuple[float, float], float]:
    """How much more often one agent keeps the value than another on the same positions.

    Returns:
        The difference of the shares, its 95 % interval over positions (see
        `agents.arena.intervals.difference_interval`), and McNemar's exact two-sided p for the first seed.
    """
    gain = one.kept.mean(axis=0) - other.kept.mean(axis=0)
    better = int(np.sum(one.kept[0] & ~other.kept[0]))
    worse = int(np.sum(~one.kept[0] & other.kept[0]))
    unequal = better + worse
    tail = sum(comb(unequal, k) for k in range(min(better, worse) + 1)) / 2**unequal
    return float(gain.mean()), difference_interval(gain), min(1.0, 2.0 * tail)


# ---- sets ----------------------------------------------------------------------------------------


def own_sets(game: str, options: Sequence[str] = ()) -> dict[str, list[SolvedPosition]]:
    """The sets that come with the package, by name; for Hex those of the board size, or all.

    Raises:
        ValueError: If there is none for the game with these options.
    """
    folder = resources.files("agents") / "positions"
    sets: dict[str, list[SolvedPosition]] = {}
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        stem, _, kind = file.name.partition(".")
        if stem.partition("_")[0] == game and kind in ("json", "jsonl"):
            positions = read_positions(file.read_text(encoding="utf-8"), file.name)
            if not options or sorted(options) == sorted(positions[0].options):
                sets[stem] = positions
    if not sets:
        asked = " ".join((game, *options))
        raise ValueError(f"expected a game with a set of solved positions, got {asked}")
    return sets


def load_positions(path: str | Path) -> list[SolvedPosition]:
    """The positions of a file: one of the package's kinds, or of the public Connect4 sets.

    Raises:
        OSError: If the file cannot be read.
        ValueError: If it is of no known kind, or a line is not: named with its number.
    """
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
    found: list[SolvedPosition] = []
    actions = 0
    for number, line in enumerate(text.splitlines(), 1):
        try:
            found.append(_json_line(line) if line.startswith("{") else _scored_line(line))
            actions += len(found[-1].values)
            if len(found) > MOST_POSITIONS or actions > MOST_ACTIONS:
                raise ValueError(f"more than {MOST_POSITIONS} positions or {MOST_ACTIONS} actions")
        except (IndexError, KeyError, TypeError, ValueError) as error:
            expected = "expected moves and what the actions are worth"
            raise ValueError(f"{name}:{number}: {expected}, got {line[:60]!r}: {error}") from None
    if not found:
        raise ValueError(f"{name}: expected solved positions, got an empty file")
    return found


def _tictactoe(board: str, solved: dict[str, Any]) -> SolvedPosition:
    """One of all positions; what a move is worth, the position after it tells."""
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
        raise ValueError(f"all positions and their optimal cells; got {best} in {board}")
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

    Args:
        agent: Its text; see `agents.registry`.
        positions: The set.
        name: The set's name, for the result.
        seeds: How many times each position is played.
        seed: Of all chance: the agent is reset with one made of it, the run and the position.
        workers: Processes; the result is the same for any number. 0: in this one.
        on_chunk: Called as pieces of the work are done.

    Raises:
        ValueError: If no position is left, or the agent or the environment cannot be made, or the
            agent fails; naming it.
    """
    played = [position for position in positions if position.mistake_possible]
    if not played:
        raise ValueError("expected positions in which a mistake is possible, got none")
    simulations: int | None = getattr(make_agent(agent), "simulations", None)
    starts = range(0, len(played), CHUNK)
    tasks = [
        (agent, played[start : start + CHUNK], start, run, seed)
        for run in range(seeds)
        for start in starts
    ]
    found: list[list[tuple[int, float]]] = []
    for actions in _in_processes(tasks, workers):
        found.append(actions)
        on_chunk()
    chosen = np.array([action for chunk in found for action, _ in chunk]).reshape(seeds, -1)
    seconds = float(np.mean([seconds for chunk in found for _, seconds in chunk]))
    judge = np.array(
        [[_judge(p, int(action)) for p, action in zip(played, row, strict=True)] for row in chosen]
    )
    loss, optimal = judge[..., 0], judge[..., 1] == 1
    return Accuracy(agent, name, loss == 0, optimal, loss, seconds, simulations)


def with_simulations(agent: str, simulations: Sequence[int]) -> list[str]:
    """An agent's text with each of these simulations a move.

    One that has its own, or its own seconds, stays as it is, as does one that counts none.

    Raises:
        ValueError: If there is no such agent, or it refuses a number; see `agents.registry`.
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
    name, _, rest = agent.partition(":")
    others = [pair for pair in rest.split(",") if pair and not pair.startswith("simulations=")]
    return f"{name}:{','.join(others)}" if others else name


def _judge(position: SolvedPosition, action: int) -> tuple[int, int]:
    """What an action loses, and whether it is optimal; an illegal one loses all there is."""
    if action not in position.values:
        return 2, 0
    best = max(position.values.values())
    is_optimal = position.scores[action] == max(position.scores.values())
    return best - position.values[action], int(is_optimal)


Task = tuple[str, list[SolvedPosition], int, int, int]


def _in_processes(tasks: list[Task], workers: int) -> Iterator[list[tuple[int, float]]]:
    if workers == 0:
        yield from map(_play, tasks)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, initializer=end_with_parent) as pool:
        try:
            yield from pool.map(_play, tasks)
        except BrokenProcessPool as error:
            raise ValueError(f"{tasks[0][0]}: a process in which it played has ended") from error


_made: dict[tuple[str, str, tuple[str, ...]], tuple[Any, Any]] = {}
"""The agent and the environment of a worker: made, and compiled, once."""


def _play(task: Task) -> list[tuple[int, float]]:
    """The actions of an agent in some positions, and their seconds."""
    text, positions, start, run, seed = task
    chosen: list[tuple[int, float]] = []
    for number, position in enumerate(positions, start):
        key = (text, position.game, position.options)
        is_new = key not in _made
        if is_new:
            _made.clear()
            _made[key] = (make_agent(text), make_environment(position.game, position.options))
        agent, env = _made[key]
        env.reset(options=dict(position.start))
        if is_new and hasattr(agent, "prepare"):
            agent.prepare(env)
        agent.reset(int(np.random.SeedSequence([seed, run, number]).generate_state(1)[0]))
        started = time.perf_counter()
        try:
            action = operator.index(agent.act(env))
        except Exception as error:
            raise ValueError(f"{text}: in {position.start}: {error!r}") from error
        chosen.append((action, time.perf_counter() - started))
    return chosen
