"""Anchors: opponents whose ratings are fixed, so that ratings of different days can be compared."""

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Final

from msgspec import Meta

from agents.arena.ratings import Rating, Score, rate_beside
from agents.arena.results import PlayedGame
from agents.arena.running import TournamentRun, run_tournament
from agents.arena.specification import Entrant, Tournament
from agents.arena.standings import expect_no_failure, scores_of_pairings
from agents.core.formats import Format
from agents.core.reading import names_file
from agents.core.structured import Count, check_fields, to_structure

FORMAT: Final = Format("hexenv-anchors")
ANCHORS: Final = "anchors.json"
"""The name of their file in a folder of ratings."""
AGENTS: Final = (
    "random",
    "greedy",
    "uct:simulations=50",
    "uct:simulations=200",
    "uct:simulations=1000",
)
"""The usual anchors, from the weakest; the first one's rating is 0."""

Elo = Annotated[float, Meta(ge=-1e5, le=1e5)]


@dataclass(frozen=True)
class Anchors:
    """Opponents of a game, and their ratings.

    Examples:
        >>> from agents import GreedyAgent
        >>> from agents.learning.progress import rate_policy
        >>> anchors = Anchors("tictactoe", {"random": 0.0})
        >>> rating, _ = rate_policy(GreedyAgent(seed=1), anchors, pairs=2)
        >>> rating.games
        4
        >>> rating.elo > 0
        True

    Attributes:
        game: As in `agents.arena.Tournament`, by its name.
        elo: The rating of each agent, by its name.
        options: Of the game, ``key=value``.
        opening_plies: Random plies that every pair of games begins with.
    """

    game: str
    elo: dict[str, Elo]
    options: tuple[str, ...] = ()
    opening_plies: Count = 2

    def __post_init__(self) -> None:
        check_fields(self, "elo", "opening_plies")
        if not self.elo:
            raise ValueError("expected an anchor, got none")

    @classmethod
    def measured(
        cls,
        game: str,
        agents: Sequence[str] = AGENTS,
        options: Sequence[str] = (),
        opening_plies: int = 2,
        pairs: int = 100,
        seed: int = 0,
        workers: int | None = 0,
    ) -> "Anchors":
        """Anchors with ratings by a tournament of each against each, the first one's being 0.

        Budgets in simulations and one seed give the same ratings each time.

        Args:
            game: By its name.
            agents: By their names, two at least.
            options: Of the game, ``key=value``.
            opening_plies: Random plies that every pair of games begins with.
            pairs: Pairs of games of every two.
            seed: Of all chance.
            workers: Processes; 0: none, None: as many as processors.

        Raises:
            ValueError: If the game or an agent is wrong, or a game failed.
        """
        tournament = Tournament(
            game, list(agents), pairs=pairs, opening_plies=opening_plies, seed=seed, options=options
        )
        table = run_tournament(tournament, workers=workers)
        expect_no_failure(table.failed)
        elo = {agent.agent: agent.elo for agent in table.agents}
        zero = elo[table.labels[0]]
        rounded = {label: round(elo[label] - zero, 1) for label in table.labels}
        return cls(game, rounded, tuple(options), opening_plies)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write them as JSON."""
        FORMAT.write_json(path, **asdict(self))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Anchors":
        """Read what `save` has written; `OSError` and `ValueError` name the file."""
        found = FORMAT.read_json(path)
        with names_file(path):
            return to_structure(found, cls, complete=True)

    @classmethod
    def of_folder(
        cls, folder: str | os.PathLike[str], game: str, options: Sequence[str] = (), **settings: Any
    ) -> "Anchors":
        """Those of the file ``anchors.json`` in a folder, which are measured where it is not there.

        The settings are those of `measured`.
        """
        path = Path(folder) / ANCHORS
        if path.exists():
            found = cls.load(path)
            found.expect(game, options, path)
            return found
        found = cls.measured(game, options=options, **settings)
        found.save(path)
        return found

    def expect(self, game: str, options: Sequence[str], path: str | os.PathLike[str]) -> None:
        """ValueError if they are of another game, or other options."""
        wanted, got = (game, *options), (self.game, *self.options)
        if wanted != got:
            raise ValueError(
                f"{path}: expected anchors of {' '.join(wanted)}, got those of {' '.join(got)}"
            )


# ---- the rating of a policy ----------------------------------------------------------------------


def rate_policy(
    agent: Any,
    anchors: Anchors,
    pairs: int = 10,
    step: int = 0,
    seed: int = 0,
    workers: int | None = 0,
) -> tuple[Rating, TournamentRun]:
    """Play an agent against each of the anchors, with both sides of each opening, and rate it.

    Args:
        agent: An agent, or whatever `agents.arena.Entrant` takes.
        anchors: The opponents.
        pairs: Pairs of games against each.
        step: Of the rating.
        seed: Of openings and agents. With one seed all ratings are from the same openings.
        workers: Processes; 0: none, None: as many as processors.

    Returns:
        The rating, and the games.

    Raises:
        ValueError: If the agent cannot play.
    """
    entrants = [Entrant("the policy", agent), *anchors.elo]
    tournament = Tournament(
        anchors.game, entrants, "gauntlet", pairs, anchors.opening_plies, seed, anchors.options
    )
    run = TournamentRun(tournament, workers=workers)
    for _ in run:
        pass
    return rating_of(run, anchors, step), run


def rating_of(run: TournamentRun, anchors: Anchors, step: int = 0) -> Rating:
    """The rating of the first agent of a gauntlet, from its games against the anchors.

    Raises:
        ValueError: If a game failed.
    """
    tournament, table = run.tournament, run.standings()
    expect_no_failure(table.failed)
    games = [one for _, one in sorted(run.results.items()) if isinstance(one, PlayedGame)]
    scores = [one for one, _ in scores_of_pairings(tournament, games)]
    elo, ends = rate_beside(scores, list(anchors.elo.values()))
    low, high = (end if abs(end) < float("inf") else None for end in ends)
    opponents = {
        one.agents[1]: Score(
            one.wins, one.draws, one.losses, one.distinct, one.score or 0.0, *one.interval
        )
        for one in table.pairings
    }
    illegal = sum(one.illegal == 0 for one in games)
    return Rating(step, elo, low, high, illegal, opponents)
