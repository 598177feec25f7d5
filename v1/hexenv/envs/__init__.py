"""PettingZoo: the environment of a game, its position, its observations, its standard wrapper."""
