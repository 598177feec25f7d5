"""`hexenv.learners.single` under its short name: one learner against an opponent."""

from hexenv.learners.single import SingleEnv

__all__ = ["SingleEnv"]
