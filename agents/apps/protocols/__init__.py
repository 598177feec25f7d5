"""Engines of others as agents, and agents as engines."""
