"""The members of a pool of opponents, and the results against them."""

import math
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

Sampling = Literal["uniform", "pfsp", "pfsp-variance", "latest"]
Drop = Literal["oldest", "easiest"]

FORGETTING: Final = 0.99
"""What a game counts in `Tally.rate` beside the next one."""


@dataclass
class Tally:
    """The learner's results against a member. Truncated episodes are not counted.

    Examples:
        >>> from hexenv.learners.pool import OpponentPool
        >>> pool = OpponentPool("random")
        >>> pool.record("random", wins=3, draws=1)
        >>> pool.results["random"].score
        0.875

    Attributes:
        recent: The sum of the scores (win 1, draw 1/2, loss 0), where a game counts 0.99 of the
            next one, as in AlphaStar's pseudocode (Vinyals et al. 2019).
        recent_games: The same sum of games.
    """

    wins: int = 0
    draws: int = 0
    losses: int = 0
    recent: float = 0.0
    recent_games: float = 0.0

    @property
    def games(self) -> int:
        return self.wins + self.draws + self.losses

    @property
    def score(self) -> float:
        """The mean score of all games, in [0, 1]; NaN without games."""
        return (self.wins + self.draws / 2) / self.games if self.games else math.nan

    @property
    def rate(self) -> float:
        """The learner's score as of late, in (0, 1): recent games, and one draw before them."""
        return (self.recent + 0.5) / (self.recent_games + 1.0)

    def add(self, wins: int, draws: int, losses: int) -> None:
        """Count games; their order does not matter."""
        games = wins + draws + losses
        if games == 0:
            return
        kept = FORGETTING**games
        new = (1.0 - kept) / (1.0 - FORGETTING)
        self.recent = kept * self.recent + new * (wins + draws / 2) / games
        self.recent_games = kept * self.recent_games + new
        self.wins, self.draws, self.losses = (
            self.wins + wins, self.draws + draws, self.losses + losses,
        )  # fmt: skip


class Member(NamedTuple):
    """A member of a pool.

    Examples:
        >>> from hexenv.learners.pool import OpponentPool
        >>> OpponentPool(["random", ("greedy", 3)]).members[1].weight
        3.0

    Attributes:
        player: A name, a file's path, an agent or a function.
        number: How many members the pool had got before it.
        anchor: Whether it stays, however many members are added.
    """

    player: Any
    title: str
    weight: float
    number: int
    anchor: bool
