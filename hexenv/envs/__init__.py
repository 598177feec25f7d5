"""PettingZoo: the environment of a game, and what it shows."""
