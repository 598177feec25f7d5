"""Tournaments: who plays whom, the engines that play, the file of results, and the ratings."""
