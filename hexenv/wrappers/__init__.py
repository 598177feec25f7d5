"""Wrappers for learners: symmetries, a canonical side, stacked and flat boards, rewards of a side.

Examples:
    >>> import gymnasium, hexenv
    >>> from hexenv.wrappers import FlattenBoards, SymmetryAugmentation
    >>> env = SymmetryAugmentation(gymnasium.make("hexenv/Connect4-v0", opponent="greedy"))
    >>> observation, info = FlattenBoards(env).reset(seed=1)
    >>> observation["observation"].shape
    (84,)

Each is there for a `hexenv.learners.single.SingleEnv` (`gymnasium.make`) and, with ``Vector`` before its
name, for a `hexenv.learners.vector.BoardVectorEnv` (`gymnasium.make_vec`), board by board the same. Masks
are kept in line wherever they are: in observations, infos and `action_masks`. What is reached by
``unwrapped``, such as `set_opponent`, `state` and pictures, is the game below, unchanged.
"""

from hexenv.wrappers.single import (
    CanonicalHex,
    FlattenBoards,
    StackBoards,
    SymmetryAugmentation,
)
from hexenv.wrappers.vector import (
    VectorCanonicalHex,
    VectorFlattenBoards,
    VectorOneSidedReward,
    VectorStackBoards,
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
