"""Many boards at once: see `hexenv.learners.vector`."""

from hexenv.learners.vector import BoardVectorEnv

__all__ = ["BoardVectorEnv"]
