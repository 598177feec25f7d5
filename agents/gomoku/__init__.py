"""Gomoku in earnest: patterns, threats, and what plays by them."""
