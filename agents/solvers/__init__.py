"""Exact solvers, one module for each way to solve; `agents.solver` chooses among them."""
