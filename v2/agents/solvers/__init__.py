"""Exact solvers, one for each kind of game; `agents.solvers.solver` chooses among them."""
