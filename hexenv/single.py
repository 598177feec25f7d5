"""One learner against an opponent: see `hexenv.learners.single`."""

from hexenv.learners.single import SingleEnv

__all__ = ["SingleEnv"]
