"""How training goes on: ratings against fixed anchors, several seeds, and learning curves.

Examples:
    >>> from agents import RandomAgent
    >>> from agents.progress import Anchors, RatingLog
    >>> anchors = Anchors("tictactoe", {"random": 0.0, "greedy": 300.0})
    >>> log = RatingLog("run", "tictactoe", anchors=anchors, pairs=2, writers=[])
    >>> log.rate(RandomAgent(), step=1000)
    >>> [rating.step for rating in log.ratings]
    [1000]
"""

from typing import TYPE_CHECKING

from hexenv.importing import import_on_demand

if TYPE_CHECKING:  # imported when they are asked for
    from agents.progress.anchors import Anchors, rate_policy
    from agents.progress.rating_log import RatingLog
    from agents.progress.ratings import Rating, Score, read_ratings
    from agents.progress.writers import TensorBoardWriter, WandbWriter, Writer

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
        "Anchors": "agents.progress.anchors:Anchors",
        "Rating": "agents.progress.ratings:Rating",
        "RatingLog": "agents.progress.rating_log:RatingLog",
        "Score": "agents.progress.ratings:Score",
        "TensorBoardWriter": "agents.progress.writers:TensorBoardWriter",
        "WandbWriter": "agents.progress.writers:WandbWriter",
        "Writer": "agents.progress.writers:Writer",
        "rate_policy": "agents.progress.anchors:rate_policy",
        "read_ratings": "agents.progress.ratings:read_ratings",
    },
)
