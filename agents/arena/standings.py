"""What the games of a tournament add up to."""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any

import numpy as np

from agents.arena.games import FailedGame, PlayedGame, Result
from agents.arena.intervals import score_interval
from agents.arena.ratings import PairScores, Ratings, rate, tables
from agents.arena.specification import Sprt, Tournament
from agents.arena.sprt import PAIR_SCORES, SprtState, state_of_test


@dataclass(frozen=True)
class AgentStanding:
    """An agent in the table.

    Attributes:
        agent: Its label.
        elo: Its rating by `agents.arena.ratings.bradley_terry`; the mean of all is 0.
        interval: 95 % interval of `elo` (see `agents.arena.ratings.rate`). Its upper end is
            inf if the agent won all its games, its lower end -inf if it lost all: the games set no
            bound there (JSON and CSV have nothing there). None without a game.
        points: A win counts 1, a draw 1/2.
        games: Games counted, as `wins`, `draws` and `losses`.
        wins: Games won.
        draws: Games drawn.
        losses: Games lost.
        illegal_moves: Games lost by an illegal action.
        seconds_per_move: Mean time for a move.
        forfeits: Games lost by a forfeit.
        assumed: What its searches took as given although it is not so, or None.
    """

    agent: str
    elo: float
    interval: tuple[float, float] | None
    points: float
    games: int
    wins: int
    draws: int
    losses: int
    illegal_moves: int
    seconds_per_move: float
    forfeits: int = 0
    assumed: str | None = None


@dataclass(frozen=True)
class PairingStanding:
    """What two agents did against each other, from the first one's view.

    Attributes:
        agents: Their labels.
        games: Games counted, as `wins`, `draws` and `losses`.
        wins: Of the first.
        draws: Games drawn.
        losses: Of the first.
        score: Points for a game, 0 to 1; None without a game.
        interval: 95 % interval of `score` over pairs of games, by
            `agents.arena.intervals.score_interval`.
        first_side_wins: Games won by whoever played the environment's first side.
        distinct: How many different games there were.
        repeated: Games not counted, as two deterministic agents had played them before.
    """

    agents: tuple[str, str]
    games: int
    wins: int
    draws: int
    losses: int
    score: float | None
    interval: tuple[float, float]
    first_side_wins: int
    distinct: int
    repeated: int


@dataclass(frozen=True)
class Standings:
    """The table of a tournament.

    Attributes:
        tournament: Its description.
        played: Games played to an end, without those after an early stop.
        wanted: Games there are in all.
        agents: The best first.
        pairings: In the order of the tournament.
        labels: The order of the next two: that of the tournament.
        cross_table: ``[i][j]``: points of agent i against agent j; None if they did not meet.
        superiority: ``[i][j]``: likelihood that agent i is better than agent j.
        failed: Games that came to no end, with the reason; none of them counts.
        repeated: Games not counted, as deterministic agents had played the same before.
        beyond_stop: Games not counted, as they were played after the test had decided.
        sprt: What the test says, if there is one.
        is_biased: Whether the intervals are those of a match that a test has stopped: they then
            favour whom the test favours.
        forfeited: Games lost by a forfeit, by whom and why; they count.
        separated: Whether there are two groups of agents, of which one scored no point against the
            other: the games do not say how far apart the two are.
    """

    tournament: dict[str, Any]
    played: int
    wanted: int
    agents: tuple[AgentStanding, ...]
    pairings: tuple[PairingStanding, ...]
    labels: tuple[str, ...]
    cross_table: tuple[tuple[float | None, ...], ...]
    superiority: tuple[tuple[float, ...], ...]
    failed: tuple[dict[str, Any], ...]
    repeated: int
    beyond_stop: int
    sprt: SprtState | None
    is_biased: bool
    forfeited: tuple[dict[str, Any], ...] = ()
    separated: bool = False

    def as_json(self, measured: bool = True) -> dict[str, Any]:
        """As what JSON knows.

        Args:
            measured: Whether to keep what differs between two runs: times, and how many games were
                under way when the test decided.
        """
        found = asdict(self)
        for agent in found["agents"]:
            if agent["interval"] is not None:
                agent["interval"] = tuple(map(end_or_none, agent["interval"]))
        if not measured:
            del found["beyond_stop"]
            for agent in found["agents"]:
                del agent["seconds_per_move"]
        return found


def end_or_none(end: float | None) -> float | None:
    """An end of an interval as JSON and CSV know it: None where it is open."""
    return end if end is not None and isfinite(end) else None


# ---- which games count ---------------------------------------------------------------------------


def repeated_games(games: Iterable[PlayedGame]) -> set[int]:
    """Numbers of the games that two deterministic agents had played before.

    Two agents are taken as deterministic as long as they never played two different games from one
    opening with the same sides: then a second game from there tells nothing new. Two agents that
    play by chance may repeat a game as well, but theirs count.
    """
    starts: dict[tuple[Any, ...], list[PlayedGame]] = {}
    for game in sorted(games, key=lambda game: game.game.number):
        about = game.game
        starts.setdefault((about.pairing, about.first, about.opening), []).append(game)
    varied = {
        start[0]
        for start, group in starts.items()
        if any(game.course != group[0].course for game in group)
    }
    return {
        game.game.number
        for start, group in starts.items()
        if start[0] not in varied
        for game in group[1:]
    }


class SprtMonitor:
    """Follows the games of a match and says when it may stop.

    The test sees whole pairs in their order, without a gap, so that what it says does not depend
    on which games end first.

    Args:
        sprt: The test.
        pairs: Pairs of games in the match.

    Attributes:
        state: What the test says.
        pairs: How many pairs it has looked at.
    """

    def __init__(self, sprt: Sprt, pairs: int) -> None:
        self._sprt, self._all = sprt, pairs
        self._seen: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        self._has_varied = False
        self._counts, self._counts_once = np.zeros((2, len(PAIR_SCORES)), np.int64)
        self.state = state_of_test(sprt, self._counts)
        self.pairs = 0

    def follow(
        self, results: Mapping[int, Result], without: Container[int] = frozenset()
    ) -> SprtState:
        """Look at the pairs that are complete by now; after a decision nothing changes.

        Args:
            results: What came of the games, by number. A pair with a failed game is passed over.
            without: Games that are played again: their results are no more.
        """
        while self.state.accepted is None and self.pairs < self._all:
            numbers = (2 * self.pairs, 2 * self.pairs + 1)
            if any(number in without or number not in results for number in numbers):
                break
            self.pairs += 1
            played = [results[number] for number in numbers]
            games = [result for result in played if isinstance(result, PlayedGame)]
            if len(games) == len(numbers):
                self._count(games)
        return self.state

    def _count(self, games: Sequence[PlayedGame]) -> None:
        """Count a pair; as `repeated_games` has it, but without looking at all games again."""
        repeated = [self._is_repeated(game) for game in games]
        place = sum(1 + game.outcome for game in games)
        self._counts[place] += 1
        self._counts_once[place] += not all(repeated)
        counts = self._counts if self._has_varied else self._counts_once
        self.state = state_of_test(self._sprt, counts)

    def _is_repeated(self, game: PlayedGame) -> bool:
        start = (game.game.first, game.game.opening)
        is_known = start in self._seen
        self._has_varied |= self._seen.setdefault(start, game.course) != game.course
        return is_known


# ---- the table -----------------------------------------------------------------------------------


def standings(
    tournament: Tournament, results: Mapping[int, Result], monitor: SprtMonitor | None = None
) -> Standings:
    """The table.

    Args:
        tournament: What was played.
        results: What came of the games, by number.
        monitor: What followed them, in a match with a test.
    """
    ordered = [result for _, result in sorted(results.items())]
    has_stopped = monitor is not None and monitor.state.accepted is not None
    pairs = monitor.pairs if monitor is not None and has_stopped else tournament.pairs
    games = [result for result in ordered if isinstance(result, PlayedGame)]
    within = [game for game in games if game.game.pair < pairs]
    failed = [result for result in ordered if isinstance(result, FailedGame)]
    repeated = repeated_games(within)
    counted = [game for game in within if game.game.number not in repeated]
    by_pairing: list[list[PlayedGame]] = [[] for _ in tournament.pairings]
    for game in within:
        by_pairing[game.game.pairing].append(game)
    pairings = [
        pair_scores(agents, (game for game in mine if game.game.number not in repeated))
        for agents, mine in zip(tournament.pairings, by_pairing, strict=True)
    ]
    size = len(tournament.entrants)
    points, played = tables(pairings, size)
    ratings = rate(pairings, size)
    return Standings(
        tournament=tournament.description(),
        played=len(within),
        wanted=tournament.games,
        agents=_agents(tournament, counted, ratings),
        pairings=tuple(
            _pairing(tournament, scores, mine, repeated)
            for scores, mine in zip(pairings, by_pairing, strict=True)
        ),
        labels=tournament.labels,
        cross_table=tuple(
            tuple(float(points[i, j]) if played[i, j] else None for j in range(size))
            for i in range(size)
        ),
        superiority=tuple(tuple(map(float, row)) for row in ratings.superiority),
        failed=tuple(_failure(tournament, result) for result in failed if result.game.pair < pairs),
        repeated=len(repeated),
        beyond_stop=len(games) - len(within),
        sprt=None if monitor is None else monitor.state,
        is_biased=has_stopped,
        forfeited=tuple(
            _forfeit(tournament, game, game.forfeited_by)
            for game in counted
            if game.forfeited_by is not None
        ),
        separated=ratings.separated,
    )


def _about(tournament: Tournament, result: Result) -> dict[str, Any]:
    labels = [tournament.labels[number] for number in result.game.agents]
    return {"game": result.game.number, "agents": labels}


def _failure(tournament: Tournament, result: FailedGame) -> dict[str, Any]:
    return {**_about(tournament, result), "reason": result.reason}


def _forfeit(tournament: Tournament, game: PlayedGame, by: int) -> dict[str, Any]:
    label = tournament.labels[game.game.agents[by]]
    return {**_about(tournament, game), "by": label, "reason": game.forfeit}


def pair_scores(agents: tuple[int, int], games: Iterable[PlayedGame]) -> PairScores:
    """What the first of two agents scored in each pair of games, of which one may not count."""
    pairs: dict[int, list[float]] = {}
    for game in games:
        pairs.setdefault(game.game.pair, []).append((1 + game.outcome) / 2)
    return PairScores(
        agents,
        np.array([sum(scores) for scores in pairs.values()], np.float64),
        np.array([len(scores) for scores in pairs.values()], np.float64),
    )


def _agents(
    tournament: Tournament, games: Sequence[PlayedGame], ratings: Ratings
) -> tuple[AgentStanding, ...]:
    found: list[AgentStanding] = []
    for number, label in enumerate(tournament.labels):
        those = [game for game in games if number in game.game.agents]
        mine = [(game, game.game.agents.index(number)) for game in those]
        outcomes = [game.outcome if place == 0 else -game.outcome for game, place in mine]
        moves = sum(game.moves[place] for game, place in mine)
        seconds = sum(game.seconds[place] for game, place in mine)
        found.append(
            AgentStanding(
                agent=label,
                elo=float(ratings.elo[number]),
                interval=ratings.intervals[number] if outcomes else None,
                points=outcomes.count(1) + outcomes.count(0) / 2,
                games=len(outcomes),
                wins=outcomes.count(1),
                draws=outcomes.count(0),
                losses=outcomes.count(-1),
                illegal_moves=sum(game.illegal == place for game, place in mine),
                seconds_per_move=seconds / max(moves, 1),
                forfeits=sum(game.forfeited_by == place for game, place in mine),
                assumed=next((g.assumed[place] for g, place in mine if g.assumed[place]), None),
            )
        )
    return tuple(sorted(found, key=lambda agent: -agent.elo))


def _pairing(
    tournament: Tournament,
    scores: PairScores,
    games: Sequence[PlayedGame],
    repeated: set[int],
) -> PairingStanding:
    """A pairing, of all its games and the numbers of those that do not count."""
    i, j = scores.agents
    mine = [game for game in games if game.game.number not in repeated]
    outcomes = [game.outcome for game in mine]
    return PairingStanding(
        agents=(tournament.labels[i], tournament.labels[j]),
        games=len(mine),
        wins=outcomes.count(1),
        draws=outcomes.count(0),
        losses=outcomes.count(-1),
        score=float(scores.points.sum() / scores.games.sum()) if mine else None,
        interval=score_interval(scores.points, scores.games),
        first_side_wins=sum(game.outcome == (1 if game.game.first == 0 else -1) for game in mine),
        distinct=len({(game.game.first, game.actions) for game in games}),
        repeated=len(games) - len(mine),
    )
