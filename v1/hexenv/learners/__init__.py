"""Gymnasium: boards on which a learner plays one side and an opponent the other."""
