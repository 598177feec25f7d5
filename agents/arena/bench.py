"""The bench: how strong an agent is, on fixed boards beside opponents with fixed ratings.

A suite is a version: its boards, openings and anchors (`agents.arena.recommended.boards`), and the
solved positions of `agents.arena.accuracy`. A change of any of them is another version, so figures
of one version can be compared, whoever measured them.
"""

import hashlib
import json
import os
import platform
import re
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, Final

import numpy as np

import hexenv
from agents.arena.accuracy import SolvedPosition, measure, own_sets, spread
from agents.arena.aggregates import bootstrap_interval, interquartile_mean
from agents.arena.anchors import Anchors, rating_of
from agents.arena.match import close
from agents.arena.opening_files import read_openings
from agents.arena.ratings import Rating
from agents.arena.recommended import Board, boards
from agents.arena.results import PlayedGame
from agents.arena.running import EngineName, TournamentRun
from agents.arena.specification import Entrant, Tournament
from agents.arena.standings import scores_of_pairings
from agents.core.formats import Format
from agents.registry import make_agent, make_environment
from hexenv.common.messages import not_one_of
from hexenv.compiled.cpus import usable_cpus

SUITE: Final = "hexenv-bench 1"
FORMAT: Final = Format("hexenv-bench")
RESULT: Final = "bench.json"
"""The result's name in the directory of an agent; the games of a board are beside it."""


@dataclass(frozen=True)
class Tier:
    """How much is played.

    Attributes:
        pairs: Of games, against each anchor.
        positions: The most solved positions of a board.
        seeds: How often each is played.
    """

    pairs: int
    positions: int
    seeds: int


TIERS: Final = {"quick": Tier(5, 100, 1), "full": Tier(50, 1000, 5)}


@dataclass(frozen=True)
class BoardResult:
    """An agent on one board.

    Attributes:
        board: The board in words.
        rating: Beside the anchors.
        seconds_per_move: Of the agent, mean.
        accuracy: `agents.arena.accuracy.Accuracy.as_json` on the board's solved positions; None
            where there are none.
        pair_scores: Of the pairs of games against each anchor, 0 to 1, the weakest anchor first.
        games_file: The file of all games, with their moves.
        games_sha256: Of numbers, outcomes and actions of these games: the same for two runs of one
            seed, if the budget is simulations.
    """

    board: str
    rating: Rating
    seconds_per_move: float
    accuracy: dict[str, Any] | None
    pair_scores: list[list[float]]
    games_file: str
    games_sha256: str


def machine() -> dict[str, Any]:
    """What a time was measured on."""
    return {
        "hexenv": hexenv.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "system": platform.system(),
        "machine": platform.machine(),
        "processors": usable_cpus(),
    }


def chosen_boards(names: Sequence[str]) -> list[Board]:
    """The boards of these names, as ``hex-7-x-7`` or as they are written; all without a name.

    Raises:
        ValueError: If there is no such board.
    """
    known = {slug(board.name): board for board in boards()}
    for name in names:
        if slug(name) not in known:
            raise ValueError(not_one_of("a board", known, name))
    return [board for key, board in known.items() if not names or key in map(slug, names)]


def slug(text: str) -> str:
    """A text as the name of a file."""
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-")


def openings_of(board: Board) -> tuple[str, ...]:
    """The balanced openings of a board; their file says by which command they were found."""
    file = files("agents.arena") / "balanced" / f"{slug(board.name)}.txt"
    with as_file(file) as path:
        return read_openings(path, board.game, board.options)


def can_play(agent: str, board: Board) -> bool:
    """Whether an agent plays a board at all: one for another game refuses its start."""
    env = make_environment(board.game, board.options)
    env.reset()
    one = make_agent(agent)
    try:
        one.act(env)
    except ValueError:
        return False
    finally:
        close([one])
    return True


def run_bench(
    agent: str,
    directory: str | os.PathLike[str],
    tier: str = "quick",
    names: Sequence[str] = (),
    seed: int = 0,
    workers: int | None = None,
    engine: EngineName = "processes",
    report: Callable[[int, int], object] = lambda _played, _all: None,
) -> list[BoardResult]:
    """Measure an agent. Killed at any time, the next call goes on from what is in the directory.

    Args:
        agent: Its text; see `agents.registry`. Boards that it cannot play have no result.
        directory: For the games of each board and ``bench.json``; made if it is not there.
        tier: ``quick`` or ``full``, see `TIERS`.
        names: Of boards; all without one.
        seed: Of openings and of chance.
        workers: Processes; None: as many as processors, 0: none.
        engine: ``"processes"``, or ``"ray"``: the games are played on more than one machine.
        report: Called after each game with the number of games played and of all to be played.

    Returns:
        The results, board by board.

    Raises:
        ValueError: If an argument is wrong, or the directory has games of another bench.
        OSError: If a file cannot be read or written.
    """
    if tier not in TIERS:
        raise ValueError(not_one_of("a tier", TIERS, tier))
    folder, amount = Path(directory), TIERS[tier]
    folder.mkdir(parents=True, exist_ok=True)
    chosen = [board for board in chosen_boards(names) if can_play(agent, board)]
    games = [2 * amount.pairs * len(board.anchors) for board in chosen]
    found: list[BoardResult] = []
    for number, board in enumerate(chosen):
        before = sum(games[:number])

        def on_game(played: int, before: int = before) -> None:
            report(before + played, sum(games))

        found.append(_on_board(agent, board, folder, amount, seed, workers, engine, on_game))
        about = {"suite": SUITE, "agent": agent, "tier": tier, "seed": seed, "machine": machine()}
        told = [asdict(one) for one in found]
        FORMAT.write_json(folder / RESULT, **about, overall=overall(found), boards=told)
    return found


def overall(results: Sequence[BoardResult]) -> tuple[float, float, float]:
    """The interquartile mean of all pairs of games on these boards, and its interval of 95 %.

    It compares agents that were measured on the same boards: each point of it is one against the
    same anchors.
    """
    strata = [scores for one in results for scores in one.pair_scores]
    low, high = bootstrap_interval(strata)
    return float(interquartile_mean(np.concatenate(strata))), float(low), float(high)


def _on_board(
    agent: str,
    board: Board,
    folder: Path,
    tier: Tier,
    seed: int,
    workers: int | None,
    engine: EngineName,
    on_game: Callable[[int], object],
) -> BoardResult:
    anchors = Anchors(board.game, board.anchors, board.options)
    file = folder / f"{slug(board.name)}.jsonl"
    label = f"this: {agent}"  # an anchor may be measured, too
    entrants = [Entrant(label, agent), *anchors.elo]
    tournament = Tournament(
        board.game,
        entrants,
        "gauntlet",
        tier.pairs,
        seed=seed,
        options=board.options,
        openings=openings_of(board),
    )
    with closing(TournamentRun(tournament, file, engine, workers)) as run:
        for _ in run:
            on_game(len(run.results))
    standing = next(one for one in run.standings().agents if one.agent == label)
    rating = rating_of(run, anchors)
    games = [one for _, one in sorted(run.results.items()) if isinstance(one, PlayedGame)]
    scores = [(one.points / 2).tolist() for one, _ in scores_of_pairings(tournament, games)]
    played = [(one.game.number, one.outcome, one.actions) for one in games]
    digest = hashlib.sha256(json.dumps(played).encode()).hexdigest()
    accuracy = _accuracy(agent, board, tier, seed, workers)
    return BoardResult(
        board.name, rating, standing.seconds_per_move, accuracy, scores, file.name, digest
    )


def _accuracy(
    agent: str, board: Board, tier: Tier, seed: int, workers: int | None
) -> dict[str, Any] | None:
    try:
        sets = own_sets(board.game)
    except ValueError:  # nobody has solved positions of this game
        return None
    fitting = (
        (name, positions)
        for name, positions in sets.items()
        if positions[0].options == board.options
    )
    name, positions = next(fitting, ("", list[SolvedPosition]()))
    if not positions:
        return None
    return measure(
        agent,
        spread(positions, tier.positions),
        name=name,
        seeds=tier.seeds,
        seed=seed,
        workers=usable_cpus() if workers is None else workers,
    ).as_json()
