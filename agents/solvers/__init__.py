"""Exact solvers, one for each kind of game; `agents.solver` chooses among them."""
