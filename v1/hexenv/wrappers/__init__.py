"""Wrappers for learners: symmetries, a canonical side, stacked and flat boards, rewards of a side.

Examples:
    >>> import gymnasium, hexenv
    >>> from hexenv.wrappers import FlattenBoards, SymmetryAugmentation
    >>> env = SymmetryAugmentation(gymnasium.make("hexenv/Connect4-v0", opponent="greedy"))
    >>> observation, info = FlattenBoards(env).reset(seed=1)
    >>> observation["observation"].shape
    (84,)

Each wrapper is for a `hexenv.learners.single.SingleEnv` (`gymnasium.make`); the one with ``Vector``
before its name does the same for each board of a `hexenv.learners.vector.BoardVectorEnv`
(`gymnasium.make_vec`). Masks follow the boards in observations, infos and `action_masks`. Below
``unwrapped`` the game is unchanged: `set_opponent`, `state`, pictures. A wrapper raises TypeError
over another environment, and ValueError over planes that it cannot show.
"""

from hexenv.wrappers.rewards import VectorOneSidedReward
from hexenv.wrappers.shape import FlattenBoards, StackBoards, VectorFlattenBoards, VectorStackBoards
from hexenv.wrappers.symmetry import (
    CanonicalHex,
    SymmetryAugmentation,
    VectorCanonicalHex,
    VectorSymmetryAugmentation,
)

__all__ = [
    "CanonicalHex",
    "FlattenBoards",
    "StackBoards",
    "SymmetryAugmentation",
    "VectorCanonicalHex",
    "VectorFlattenBoards",
    "VectorOneSidedReward",
    "VectorStackBoards",
    "VectorSymmetryAugmentation",
]
