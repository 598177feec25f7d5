"""Tuning: which values of an agent's parameters win the most games, and which of them matter.

The procedure is fixed. Half of the games look for good values: Optuna's tree-structured Parzen
estimator (Bergstra et al. 2011) proposes values, and an agent with these plays `TRIAL_GAMES` games
against the agent as it was. The best `FINALISTS` share a quarter of the games, as the best of many
scores is in part luck. The one with the most points in all its games plays the last quarter: these
games alone say what was gained. Each of the three parts has random openings of its own, none of
them an image of one of another part.
"""

import math
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from agents.arena.balance import drawn_openings
from agents.arena.ratings import elo_of
from agents.arena.running import TournamentRun
from agents.arena.schedule import stream_seed
from agents.arena.specification import Entrant, Tournament
from agents.arena.standings import PairingStanding, expect_no_failure
from agents.core.formats import Format
from agents.registry import (
    agent_class_of,
    make_agent,
    parameters,
    type_hints,
    with_parameters,
)
from hexenv.common.extras import library
from hexenv.common.messages import not_one_of
from hexenv.common.options import OneOf, Option, Within

FORMAT: Final = Format("hexenv-tuning")
RESULT: Final = "tuning.json"
TRIAL_GAMES: Final = 20
FINALISTS: Final = 5
LEAST_GAMES: Final = 100
LEAST_TRIALS: Final = 10
"""Of fewer nothing is said about which parameters matter."""
TUNING_PLIES: Final = 4
"""The usual length of the random openings; shorter ones are too few for three parts."""
LEAST_OPENINGS: Final = 24
MOST_OPENINGS: Final = 2000
WIDEST: Final = 20.0
"""A declared range is tried as it is up to this width."""
SPAN: Final = 16.0
"""Other numbers are tried from a 16th to 16 times their default."""
NO_STRENGTH: Final = ("batch", "noise", "noise_total", "temperature_plies")
"""Parameters of searches that are for speed or for training."""
STAGES: Final = ("trial", "finalist", "last")
BUDGETS: Final = ("simulations", "seconds")


@dataclass(frozen=True)
class Range:
    """The values of a parameter that are tried: words, or numbers from `low` to `high`.

    Attributes:
        name: The parameter.
        words: All its values as texts; empty for a number.
        low: The least number.
        high: The greatest.
        is_whole: Whether it is a whole number.
        is_log: Whether equal factors count as equal steps.
    """

    name: str
    words: tuple[str, ...] = ()
    low: float = 0.0
    high: float = 0.0
    is_whole: bool = False
    is_log: bool = False

    @property
    def ends(self) -> tuple[Any, ...]:
        """All words, or the least and the greatest number."""
        return self.words or (self.rounded(self.low), self.rounded(self.high))

    def rounded(self, value: Any) -> Any:
        """A value as it is played and printed: a number has four digits, within the range."""
        if self.words or self.is_whole:
            return value if self.words else int(value)
        return min(max(float(f"{value:.4g}"), self.low), self.high)


@dataclass(frozen=True)
class Tuning:
    """What was found.

    Attributes:
        agent: The agent as it was.
        best: The agent with the values found.
        values: These values, as texts.
        score: Of the best against the agent as it was, in the last games: points for a game.
        interval: Of 95 % for this score.
        games: How many last games there were.
        importance: The share of each parameter in how the scores of the trials differ, by PED-ANOVA
            (Watanabe, Bansal and Hutter 2023); empty for one parameter, or few trials.
        trials: The values of each trial, and its score.
    """

    agent: str
    best: str
    values: dict[str, str]
    score: float
    interval: tuple[float, float]
    games: int
    importance: dict[str, float]
    trials: list[tuple[dict[str, str], float]]

    @property
    def elo(self) -> tuple[float, float, float]:
        """The gain in Elo, and the ends of its interval, from the score."""
        low, high = self.interval
        return elo_of(self.score), elo_of(low), elo_of(high)


# ---- ranges --------------------------------------------------------------------------------------


def ranges_of(agent: str, wanted: Sequence[str] = ()) -> list[Range]:
    """The ranges of an agent's parameters.

    Args:
        agent: Its name, with parameters.
        wanted: ``c``, or ``c=0.1:3`` with a range of one's own, ``k=10:10000:log`` with equal
            factors, ``playout=fast/decisive`` with words. Without one, all parameters of a tree
            search's own that have a range by their declaration.

    Raises:
        ValueError: If there is no such parameter, or no range.
    """
    name, _, given = agent.partition(":")
    made = agent_class_of(name)
    known = parameters(made)
    hints = type_hints(made, include_extras=True)
    set_values = dict(pair.split("=", 1) for pair in given.split(",") if "=" in pair)
    if not wanted:
        own = made.__init__.__annotations__ if hasattr(made, "settings_class") else ()
        own = [key for key in own if key not in (*BUDGETS, *NO_STRENGTH, *set_values)]
        every = [_declared(key, hints[key], known[key].default) for key in own if key in known]
        found = [one for one in every if one is not None]
        if not found:
            raise ValueError(f"expected a parameter of {name} with a range, got none: name one")
        return found
    found = list[Range]()
    for text in wanted:
        key, _, values = text.partition("=")
        if key not in known or key in BUDGETS:
            tunable = [one for one in known if one not in BUDGETS]
            raise ValueError(not_one_of(f"a parameter of {name}", tunable, key))
        default = set_values.get(key, known[key].default)
        one = _given(key, hints[key], values) if values else _declared(key, hints[key], default)
        if one is None:
            raise ValueError(f"expected a range for {key}, such as {key}=1:10, got none")
        found.append(one)
    return found


def _declared(name: str, hint: Any, default: Any) -> Range | None:
    """The range that a declaration gives; None if it gives none."""
    kinds, bounds = Option.of(hint)
    if bool in kinds:
        return Range(name, ("false", "true"))
    if isinstance(bounds, OneOf):
        return Range(name, tuple(bounds.words))
    if not isinstance(bounds, Within):
        return None
    is_whole = int in kinds
    if bounds.most - bounds.least <= WIDEST:
        return Range(name, (), bounds.least, bounds.most, is_whole)
    try:
        usual = float(default)
    except (TypeError, ValueError):
        return None
    if not 0 < usual < math.inf:
        return None
    low, high = max(usual / SPAN, bounds.least), min(usual * SPAN, bounds.most)
    low, high = (max(1, round(low)), round(high)) if is_whole else (low, high)
    return Range(name, (), low, high, is_whole, is_log=True)


def _given(name: str, hint: Any, text: str) -> Range:
    """A range as the user writes it."""
    parts = text.split(":")
    if len(parts) == 1:
        words = tuple(dict.fromkeys(text.split("/")))
        if len(words) < 2:
            raise ValueError(f"expected two values of {name} at least, got {text!r}")
        return Range(name, words)
    try:
        low, high = float(parts[0]), float(parts[1])
    except ValueError:
        low = high = math.nan
    is_log = parts[2:] == ["log"]
    if not (low < high and math.isfinite(high - low)) or len(parts) > 2 + is_log:
        raise ValueError(f"expected a range such as {name}=1:10 or {name}=1:10:log, got {text!r}")
    if is_log and low <= 0:
        raise ValueError(f"expected a range above 0 for log, got {name}={text}")
    is_whole = int in Option.of(hint).kinds
    if is_whole:
        low, high = math.ceil(low), math.floor(high)
        if low >= high:
            raise ValueError(f"expected two whole numbers in the range {name}={text}")
    return Range(name, (), low, high, is_whole, is_log)


# ---- the search ----------------------------------------------------------------------------------


class _Optimiser:
    """Optuna's proposals; one seed and the same scores give the same ones."""

    def __init__(self, ranges: Sequence[Range], seed: int) -> None:
        self._optuna, self._seed = library("optuna", "tune"), seed
        self._ranges = {one.name: one for one in ranges}
        self._optuna.logging.set_verbosity(self._optuna.logging.WARNING)
        self._study = self._optuna.create_study(direction="maximize")
        self._spaces = {one.name: self._space(one) for one in ranges}
        self.trials: list[tuple[dict[str, Any], float]] = []

    def _space(self, one: Range) -> Any:
        kinds = self._optuna.distributions
        if one.words:
            return kinds.CategoricalDistribution(one.words)
        if one.is_whole:
            return kinds.IntDistribution(int(one.low), int(one.high), log=one.is_log)
        return kinds.FloatDistribution(one.low, one.high, log=one.is_log)

    def propose(self) -> dict[str, Any]:
        """The values of the next trial."""
        seed = stream_seed(self._seed, len(self.trials))
        self._study.sampler = self._optuna.samplers.TPESampler(seed=seed)
        proposed = self._study.ask(self._spaces).params
        return {name: self._ranges[name].rounded(value) for name, value in proposed.items()}

    def tell(self, values: dict[str, Any], score: float) -> None:
        """The score of the values that were proposed last."""
        self._study.tell(len(self.trials), score)
        self.trials.append((values, score))

    def importance(self) -> dict[str, float]:
        """The share of each parameter, the greatest first."""
        scores = {score for _, score in self.trials}
        if len(self._spaces) < 2 or len(scores) < 2 or len(self.trials) < LEAST_TRIALS:
            return {}
        judge = self._optuna.importance.PedAnovaImportanceEvaluator()
        return self._optuna.importance.get_param_importances(self._study, evaluator=judge)


def tune(
    agent: str,
    game: str,
    directory: str | os.PathLike[str],
    options: Sequence[str] = (),
    ranges: Sequence[Range] = (),
    games: int = 2000,
    opening_plies: int = TUNING_PLIES,
    seed: int = 0,
    workers: int | None = None,
    report: Callable[[int, int], object] = lambda _played, _all: None,
) -> Tuning:
    """Tune an agent; a run that was stopped goes on from the games in the directory.

    Args:
        agent: Its text with the budget of each move, such as ``rave:simulations=200``.
        game: One by the rules of hexenv: its name, or ``module:function``.
        directory: For the games and ``tuning.json``; made if it is not there.
        options: Of the game, ``key=value``.
        ranges: What is tried, of `ranges_of`; by default all that has a range.
        games: To be played in all, about.
        opening_plies: Random plies that every pair of games begins with.
        seed: Of all chance.
        workers: Processes; 0: none, None: as many as processors.
        report: Called after each game with the number of games played and of all.

    Raises:
        ValueError: If an argument is wrong, there are too few openings, a game failed, or the
            directory has other games.
        ImportError: If Optuna is not installed.
        OSError: If a file cannot be read or written.
    """
    if games < LEAST_GAMES:
        raise ValueError(f"expected at least {LEAST_GAMES} games, got {games}")
    ranges = ranges or ranges_of(agent)
    _expect_valid(agent, ranges)
    optimiser = _Optimiser(ranges, seed)
    openings = _shared_out(game, options, opening_plies, games, seed)
    Path(directory).mkdir(parents=True, exist_ok=True)
    player = _Player(agent, game, options, openings, seed, Path(directory), workers, report)
    best, last = _search(optimiser, player, games)
    found = Tuning(
        agent,
        with_parameters(agent, best),
        {key: str(value) for key, value in best.items()},
        last.score or 0.0,
        last.interval,
        last.games,
        optimiser.importance(),
        [({key: str(v) for key, v in each.items()}, score) for each, score in optimiser.trials],
    )
    FORMAT.write_json(Path(directory) / RESULT, **asdict(found))
    return found


def _expect_valid(agent: str, ranges: Sequence[Range]) -> None:
    """Make the agent with the ends of each range, so that a mistake is told before any game."""
    make_agent(agent)
    for one in ranges:
        for value in one.ends:
            make_agent(with_parameters(agent, {one.name: value}))


def _shared_out(
    game: str, options: Sequence[str], plies: int, games: int, seed: int
) -> dict[str, list[str]]:
    """The openings of each stage: half of them all, and twice a quarter."""
    wanted = min(games // 2, MOST_OPENINGS)
    every = drawn_openings(game, options, plies, wanted, seed)
    if len(every) < LEAST_OPENINGS:
        raise ValueError(
            f"expected {LEAST_OPENINGS} openings of {plies} plies, got {len(every)} (more opening "
            "plies give more)"
        )
    half, quarter = len(every) // 2, len(every) // 4
    parts = every[:half], every[half : half + quarter], every[half + quarter :]
    return dict(zip(STAGES, parts, strict=True))


class _Player:
    """Plays the games of each stage, or reads those that are there."""

    def __init__(
        self,
        agent: str,
        game: str,
        options: Sequence[str],
        openings: Mapping[str, Sequence[str]],
        seed: int,
        folder: Path,
        workers: int | None,
        report: Callable[[int, int], object],
    ) -> None:
        self._agent, self._game, self._options = agent, game, options
        self._openings, self._seed, self._folder = openings, seed, folder
        self._workers, self._report = workers, report
        self._done, self.wanted = 0, 0

    def play(
        self, stage: str, number: int, values: Mapping[str, Any], games: int
    ) -> PairingStanding:
        """An even number of games of an agent with these values against the agent as it was."""
        agent = self._agent
        tournament = Tournament(
            self._game,
            [Entrant("tuned", with_parameters(agent, values)), Entrant("as it was", agent)],
            "pair",
            games // 2,
            seed=stream_seed(self._seed, STAGES.index(stage), number),
            options=self._options,
            openings=self._openings[stage],
        )
        file = self._folder / f"{stage}-{number:04}.jsonl"
        with closing(TournamentRun(tournament, file, workers=self._workers)) as run:
            for _ in run:
                self._report(self._done + len(run.results), self.wanted)
            table = run.standings()
        expect_no_failure(table.failed)
        self._done += games
        return table.pairings[0]


def _search(
    optimiser: _Optimiser, player: _Player, games: int
) -> tuple[dict[str, Any], PairingStanding]:
    """The best values, and the last games of the agent with them."""
    trials = games // 2 // TRIAL_GAMES
    again, last = games // 8 // FINALISTS * 2, games // 8 * 2
    player.wanted = trials * TRIAL_GAMES + min(FINALISTS, trials) * again + last
    for number in range(trials):
        values = optimiser.propose()
        optimiser.tell(values, player.play("trial", number, values, TRIAL_GAMES).score or 0.0)
    by_score = sorted(optimiser.trials, key=lambda trial: -trial[1])[:FINALISTS]
    points: list[float] = []
    for number, (values, score) in enumerate(by_score):
        more = player.play("finalist", number, values, again).score or 0.0
        points.append(score * TRIAL_GAMES + more * again)
    best = by_score[points.index(max(points))][0]
    return best, player.play("last", 0, best, last)
