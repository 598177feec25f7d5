"""Gomoku and other m,n,k games by patterns: threats, candidates, evaluation, RHMCTS."""
