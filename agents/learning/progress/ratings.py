"""Ratings of a policy beside anchors, and the file that keeps them."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agents.core.reading import read_objects
from agents.core.structured import Count, to_structure
from hexenv.common.messages import error_in

RATINGS: Final = "ratings.jsonl"


@dataclass(frozen=True)
class Score:
    """The games of a policy against one anchor, from the policy's side.

    Examples:
        >>> from agents import GreedyAgent
        >>> from agents.learning.progress import Anchors, rate_policy
        >>> anchors = Anchors("tictactoe", {"random": 0.0})
        >>> rating, _ = rate_policy(GreedyAgent(seed=1), anchors, pairs=2, step=1000)
        >>> found = rating.opponents["random"]
        >>> found.wins + found.draws + found.losses
        4

    Attributes:
        distinct: How many of the games do not repeat an earlier one.
        score: Points for a game, 0 to 1.
        low: Lower end of the 95 % interval of `score`.
        high: Upper end.
    """

    wins: Count
    draws: Count
    losses: Count
    distinct: Count
    score: float
    low: float
    high: float


@dataclass(frozen=True)
class Rating:
    """How strong a policy was at a moment of its training.

    Examples:
        >>> from agents import GreedyAgent
        >>> from agents.learning.progress import Anchors, rate_policy
        >>> anchors = Anchors("tictactoe", {"random": 0.0})
        >>> rating, _ = rate_policy(GreedyAgent(seed=1), anchors, pairs=2, step=1000)
        >>> rating.step, rating.games, rating.illegal_moves
        (1000, 4, 0)

    Attributes:
        step: The moment, in steps of the learner.
        elo: Its rating on the scale of the anchors.
        low: Lower end of its 95 % interval; None if it lost all games, which bound it only above.
        high: Upper end; None if it won all games.
        illegal_moves: Games lost by an illegal action.
        opponents: The results against each anchor, by its name.
    """

    step: Count
    elo: float
    low: float | None
    high: float | None
    illegal_moves: Count
    opponents: dict[str, Score]

    @property
    def games(self) -> int:
        return sum(one.wins + one.draws + one.losses for one in self.opponents.values())

    def scalars(self) -> dict[str, float]:
        """Its numbers by the names that they have in TensorBoard."""
        ends = {"rating/low": self.low, "rating/high": self.high}
        return {
            "rating/elo": self.elo,
            **{name: end for name, end in ends.items() if end is not None},
            **{f"score/{name}": one.score for name, one in self.opponents.items()},
        }


def read_ratings(folder: str | os.PathLike[str]) -> list[Rating]:
    """The ratings in a folder by step; none if there is no file.

    Raises:
        OSError: If the file cannot be read.
        ValueError: If it is damaged, with its path and line.
    """
    path = Path(folder) / RATINGS
    if not path.exists():
        return []
    found: list[Rating] = []
    for number, line in enumerate(read_objects(path), 1):
        try:
            found.append(to_structure(line, Rating, complete=True))
        except ValueError as error:
            raise error_in(f"{path}:{number}", error) from None
    return found
