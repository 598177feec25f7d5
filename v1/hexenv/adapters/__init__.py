"""Adapters for RL libraries that need more than Gymnasium and PettingZoo, one module each."""
