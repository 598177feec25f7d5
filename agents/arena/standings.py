"""The table of a tournament: which games count, ratings, scores, and remarks about the games."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isfinite, isinf
from string import ascii_uppercase
from typing import Any

import numpy as np

from agents.arena.match import pair_scores
from agents.arena.ratings import (
    PAIR_SCORES,
    PairScores,
    Ratings,
    SprtState,
    rate,
    state_of_test,
    tables,
)
from agents.arena.results import FailedGame, PlayedGame, Result
from agents.arena.specification import Sprt, Tournament


@dataclass(frozen=True)
class AgentStanding:
    """An agent in the table.

    Examples:
        >>> from agents.arena import Tournament, run_tournament
        >>> tournament = Tournament("tictactoe", ["greedy", "random"], pairs=5)
        >>> table = run_tournament(tournament, workers=0)
        >>> best = table.agents[0]
        >>> best.agent, best.games, best.illegal_moves
        ('greedy', 10, 0)
        >>> best.elo > 0
        True

    Attributes:
        agent: Its label.
        elo: Its rating by `agents.arena.ratings.bradley_terry`; the mean of all is 0.
        interval: 95 % interval of `elo` (see `agents.arena.ratings.rate`). Its upper end is
            inf if the agent won all its games, its lower end -inf if it lost all: the games set no
            bound there (JSON has null, CSV an empty cell). None without a game.
        points: A win counts 1, a draw 1/2.
        games: Games played: `wins`, `draws` and `losses` together.
        illegal_moves: Games lost by an illegal action.
        seconds_per_move: Mean time for a move.
        forfeits: Games lost by a forfeit.
        assumed: What its searches assumed although it is false, or None.
        refused: Its answers that were no move, if it is a player that speaks.
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
    refused: int = 0


@dataclass(frozen=True)
class PairingStanding:
    """The games of two agents, from the first one's view.

    Examples:
        >>> from agents.arena import Tournament, run_tournament
        >>> tournament = Tournament("tictactoe", ["greedy", "random"], pairs=5)
        >>> table = run_tournament(tournament, workers=0)
        >>> (pairing,) = table.pairings
        >>> pairing.agents, pairing.games
        (('greedy', 'random'), 10)

    Attributes:
        agents: Their labels.
        games: Games played: `wins`, `draws` and `losses` together.
        score: Points for a game, 0 to 1; None without a game.
        interval: 95 % interval of `score` over pairs of games, by
            `agents.arena.intervals.score_interval`. All games together weigh as much as the
            distinct ones: a repeated game adds nothing.
        first_side_wins: Games won by the agent that played the environment's first side.
        distinct: How many of them do not repeat an earlier one, by sides, moves and outcome.
        normalised_elo: See `agents.arena.ratings.PairScores.normalised_elo`.
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
    normalised_elo: tuple[float, float, float] | None


@dataclass(frozen=True)
class Standings:
    """The table of a tournament.

    Examples:
        >>> from agents.arena import Tournament, run_tournament
        >>> tournament = Tournament("tictactoe", ["greedy", "random"], pairs=5)
        >>> table = run_tournament(tournament, workers=0)
        >>> table.played, table.labels
        (10, ('greedy', 'random'))

    Attributes:
        tournament: Its description.
        played: Games played to an end, without those after an early stop.
        wanted: Games in all.
        agents: The best first.
        pairings: In the order of the tournament.
        labels: The order of the next two: that of the tournament.
        cross_table: ``[i][j]``: points of agent i against agent j; None if they did not meet.
        superiority: ``[i][j]``: likelihood that agent i is better than agent j.
        failed: Games without an outcome, with the reason; none of them counts.
        distinct: How many of those played do not repeat an earlier one of the two agents.
        beyond_stop: Games not counted because the test had decided before they ended.
        sprt: The state of the test, if there is one.
        is_biased: Whether a test has stopped the match: the intervals then favour the agent that
            the test favours.
        forfeited: Games lost by a forfeit, by whom and why; they count.
        separated: Whether there are two groups of agents, of which one scored no point against the
            other: the games do not say how far apart the two are.
        adjudicated: Games that were ended early.
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
    distinct: int
    beyond_stop: int
    sprt: SprtState | None
    is_biased: bool
    forfeited: tuple[dict[str, Any], ...] = ()
    separated: bool = False
    adjudicated: int = 0

    def as_json(self, measured: bool = True) -> dict[str, Any]:
        """A dictionary for JSON.

        Only if `measured` does it hold what differs between two runs: times, and how many games
        were being played when the test decided.
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
    """An end of an interval for JSON and CSV: None where it is open."""
    return end if end is not None and isfinite(end) else None


# ---- the sequential test ----------------------------------------------------------------------


class SprtMonitor:
    """Follows the games of a match and says when it may stop.

    The test sees whole pairs in their order, without a gap, so that its decision does not depend
    on which games end first: so far as many as the attribute `pairs`, of those in the match.
    """

    def __init__(self, sprt: Sprt, pairs: int) -> None:
        self._sprt, self._all = sprt, pairs
        self._courses = set[tuple[Any, ...]]()
        self._counts = np.zeros(len(PAIR_SCORES), np.int64)
        self.state = state_of_test(sprt, self._counts)
        self.pairs = 0

    def follow(
        self, results: Mapping[int, Result], without: Container[int] = frozenset()
    ) -> SprtState:
        """Count the pairs that are complete by now; after a decision nothing changes.

        Args:
            results: By the game's number. A pair with a failed game is skipped.
            without: Games that are played again: their results are ignored.
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
        """Count a pair; all pairs weigh as much as their distinct games."""
        self._courses |= {game.course for game in games}
        self._counts[sum(1 + game.outcome for game in games)] += 1
        share = len(self._courses) / (2 * int(self._counts.sum()))
        self.state = state_of_test(self._sprt, self._counts, share)


# ---- the table -----------------------------------------------------------------------------------


def scores_of_pairings(
    tournament: Tournament, games: Sequence[PlayedGame]
) -> list[tuple[PairScores, list[PlayedGame]]]:
    """The scores of each of a tournament's pairings, and its games."""
    found: list[list[PlayedGame]] = [[] for _ in tournament.pairings]
    for game in games:
        found[game.game.pairing].append(game)
    return [
        (pair_scores(((game, game.game.pair) for game in those), agents), those)
        for those, agents in zip(found, tournament.pairings, strict=True)
    ]


def standings(
    tournament: Tournament, results: Mapping[int, Result], monitor: SprtMonitor | None = None
) -> Standings:
    """The table of the results, by the game's number; the monitor of a test has followed them."""
    ordered = [result for _, result in sorted(results.items())]
    has_stopped = monitor is not None and monitor.state.accepted is not None
    pairs = monitor.pairs if monitor is not None and has_stopped else tournament.pairs
    games = [result for result in ordered if isinstance(result, PlayedGame)]
    within = [game for game in games if game.game.pair < pairs]
    by_pairing = scores_of_pairings(tournament, within)
    scores = [one for one, _ in by_pairing]
    size = len(tournament.entrants)
    ratings = rate(scores, size)
    points, played = tables([one._replace(distinct=int(one.games.sum())) for one in scores], size)
    pairings = tuple(_pairing(tournament, *about) for about in by_pairing)
    return Standings(
        tournament=tournament.description(),
        played=len(within),
        wanted=tournament.games,
        agents=_agents(tournament, within, ratings),
        pairings=pairings,
        labels=tournament.labels,
        cross_table=tuple(
            tuple(float(points[i, j]) if played[i, j] else None for j in range(size))
            for i in range(size)
        ),
        superiority=tuple(tuple(map(float, row)) for row in ratings.superiority),
        failed=tuple(
            {**_about(tournament, result), "reason": result.reason}
            for result in ordered
            if isinstance(result, FailedGame) and result.game.pair < pairs
        ),
        distinct=sum(pairing.distinct for pairing in pairings),
        beyond_stop=len(games) - len(within),
        sprt=None if monitor is None else monitor.state,
        is_biased=has_stopped,
        forfeited=tuple(
            {**about, "by": about["agents"][game.forfeited_by], "reason": game.forfeit}
            for game in within
            if game.forfeited_by is not None
            for about in [_about(tournament, game)]
        ),
        separated=ratings.separated,
        adjudicated=sum(game.adjudicated is not None for game in within),
    )


def _about(tournament: Tournament, result: Result) -> dict[str, Any]:
    labels = [tournament.labels[number] for number in result.game.agents]
    return {"game": result.game.number, "agents": labels}


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
                refused=sum(game.refused[place] for game, place in mine),
            )
        )
    return tuple(sorted(found, key=lambda agent: -agent.elo))


def _pairing(
    tournament: Tournament,
    scores: PairScores,
    games: Sequence[PlayedGame],
) -> PairingStanding:
    i, j = scores.agents
    outcomes = [game.outcome for game in games]
    return PairingStanding(
        agents=(tournament.labels[i], tournament.labels[j]),
        games=len(games),
        wins=outcomes.count(1),
        draws=outcomes.count(0),
        losses=outcomes.count(-1),
        score=scores.score,
        interval=scores.interval,
        first_side_wins=sum(game.outcome == (1 if game.first == 0 else -1) for game in games),
        distinct=scores.distinct,
        normalised_elo=scores.normalised_elo,
    )


def expect_no_failure(failed: Sequence[dict[str, Any]]) -> None:
    """ValueError if a game of a tournament has no outcome."""
    for one in failed:
        raise ValueError(f"expected games with an outcome, got one without: {one['reason']}")


# ---- as text -------------------------------------------------------------------------------------


def short_names(standings: Standings) -> dict[str, str]:
    """A letter for each agent by its label, or a number if there are too many."""
    count = len(standings.labels)
    short = ascii_uppercase if count <= 26 else map(str, range(1, count + 1))
    return dict(zip(standings.labels, short, strict=False))


def interval_text(interval: tuple[float, float] | None) -> str:
    """An interval of ratings: ``-20 to 35``, or ``over 158``, or ``-`` without a game."""
    if interval is None:
        return "-"
    low, high = interval
    if isinf(low):
        return f"under {high:.0f}"
    return f"over {low:.0f}" if isinf(high) else f"{low:.0f} to {high:.0f}"


def remarks(standings: Standings) -> list[str]:
    """What users should know about the games, a line each."""
    found: list[str] = []
    if standings.sprt is not None:
        test, lower_upper = standings.tournament["sprt"], standings.sprt.bounds
        found.append(
            f"sprt of Elo {test['elo0']:g} against {test['elo1']:g}: log-likelihood ratio "
            f"{standings.sprt.llr:.2f} ({lower_upper[0]:.2f} to {lower_upper[1]:.2f}) after "
            f"{standings.sprt.pairs} pairs, "
            + (f"accepted {standings.sprt.accepted}" if standings.sprt.accepted else "open")
        )
    if standings.is_biased:
        found.append("the match was stopped by its test: score, Elo and intervals are biased")
    if standings.separated:
        found.append(
            "some agents scored no point against the others, so no game says how far apart the two "
            "groups are: between them, the ratings follow from their prior alone"
        )
    if len(standings.labels) == 2 and standings.pairings[0].normalised_elo is not None:
        middle, low, high = standings.pairings[0].normalised_elo
        found.append(
            f"normalised Elo of {standings.labels[0]}: {middle:+.0f} (95 %: {low:+.0f} to "
            f"{high:+.0f})"
        )
    speakers = [agent for agent in standings.agents if agent.refused]
    if speakers:
        told = ", ".join(f"{agent.agent} {agent.refused}" for agent in speakers)
        found.append(f"answers that were no move, and were asked for again: {told}")
    if standings.adjudicated:
        found.append(f"{standings.adjudicated} of {standings.played} games were adjudicated")
    if standings.beyond_stop:
        found.append(f"{standings.beyond_stop} games played after the decision are not counted")
    repeating = [
        f"{' - '.join(pairing.agents)} {pairing.distinct} of {pairing.games}"
        for pairing in standings.pairings
        if pairing.distinct < pairing.games
    ]
    if repeating:
        found.append(
            "repeated games add nothing to what is known (more opening plies make games differ); "
            f"distinct are: {', '.join(repeating)}"
        )
    found += [
        f"{agent.agent} assumed {agent.assumed}: it knew more than a player can know"
        for agent in standings.agents
        if agent.assumed is not None
    ]
    for told in (*standings.forfeited, *standings.failed):
        what = f": {told['by']} forfeits" if "by" in told else " failed and is not counted"
        about = f"game {told['game']} of {' - '.join(told['agents'])}"
        found.append(f"{about}{what}: {told['reason']}")
    return found


def table_rows(standings: Standings) -> list[dict[str, Any]]:
    """A row for each agent, the best first, as for `agents.core.files.write_csv`."""
    rows: list[dict[str, Any]] = []
    for agent in standings.agents:
        row = asdict(agent)
        row["low"], row["high"] = map(end_or_none, row.pop("interval") or (None, None))
        row["biased"] = standings.is_biased
        rows.append(row)
    return rows
