"""Exact solvers, one module or package for each way to solve; `agents.solver` chooses among them."""
