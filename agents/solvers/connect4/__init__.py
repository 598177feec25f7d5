"""Connect4 solved exactly: alpha-beta on bitboards.

What makes it quick is known from Tromp's Fhourstones benchmark and explained step by step in Pons'
tutorial "Solving Connect 4" (blog.gamesolver.org), with one idea of Allis (1988):

* A position is two integers, the stones of the player to move and all stones, and a win, or all
  cells at which one would be won, takes a few shifts of them.
* A search asks one question, "is the score at least `goal`?" (a null window), again and again with
  other goals until it knows the score. Each answer is a bound, and both bounds of a position are
  kept in a table, in which all later questions look.
* Only moves are tried after which the opponent does not win at once, so no node has a win at hand:
  the search sees two plies farther than it goes.
* Moves that make most threats come first, and the centre before the edge.
* A reply that the table knows to be good enough settles a position at once.
* *Claimeven* (Allis): where every column has an even number of cells left, the player who is not to
  move can answer every stone with the one above it. If the lines that the mover could still get so
  are none, the mover does not win; if the follower gets one, the mover loses.

A score (`agents.solvers.questions`) counts stones: on the usual board it is 22 - s for a win with
the s-th stone, from 18 with the fourth to 1 with the 21st.
"""

from agents.solvers.connect4.grid import CONNECT
from agents.solvers.connect4.solver import Connect4Solver, no_book

__all__ = ["CONNECT", "Connect4Solver", "no_book"]
