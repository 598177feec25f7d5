"""Gymnasium: one learner against an opponent, on one board or on many."""
