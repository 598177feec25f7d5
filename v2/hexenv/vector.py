"""`hexenv.learners.vector` under its short name: many boards at once."""

from hexenv.learners.vector import BoardVectorEnv

__all__ = ["BoardVectorEnv"]
