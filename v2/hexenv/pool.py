"""`hexenv.learners.pool` under its short name: opponents, and the results against them."""

from hexenv.learners.pool import Member, OpponentPool, Tally

__all__ = ["Member", "OpponentPool", "Tally"]
