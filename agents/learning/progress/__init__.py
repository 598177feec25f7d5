"""How training goes on: ratings against fixed anchors, several seeds, and learning curves.

Examples:
    >>> from agents import RandomAgent
    >>> from agents.learning.progress import Anchors, RatingLog
    >>> anchors = Anchors("tictactoe", {"random": 0.0, "greedy": 300.0})
    >>> log = RatingLog("run", "tictactoe", anchors=anchors, pairs=2, writers=[])
    >>> log.rate(RandomAgent(), step=1000)
    >>> [rating.step for rating in log.ratings]
    [1000]
"""

from typing import TYPE_CHECKING

from hexenv.common.importing import import_on_demand

if TYPE_CHECKING:  # imported when they are asked for
    from agents.arena.anchors import Anchors, rate_policy
    from agents.arena.ratings import Rating, Score
    from agents.learning.progress.rating_log import RatingLog
    from agents.learning.progress.ratings import read_ratings
    from agents.learning.progress.writers import TensorBoardWriter, WandbWriter, Writer

__all__ = [
    "Anchors",
    "Rating",
    "RatingLog",
    "Score",
    "TensorBoardWriter",
    "WandbWriter",
    "Writer",
    "rate_policy",
    "read_ratings",
]

__getattr__ = import_on_demand(
    __name__,
    {
        "Anchors": "agents.arena.anchors:Anchors",
        "Rating": "agents.arena.ratings:Rating",
        "RatingLog": "agents.learning.progress.rating_log:RatingLog",
        "Score": "agents.arena.ratings:Score",
        "TensorBoardWriter": "agents.learning.progress.writers:TensorBoardWriter",
        "WandbWriter": "agents.learning.progress.writers:WandbWriter",
        "Writer": "agents.learning.progress.writers:Writer",
        "rate_policy": "agents.arena.anchors:rate_policy",
        "read_ratings": "agents.learning.progress.ratings:read_ratings",
    },
)
