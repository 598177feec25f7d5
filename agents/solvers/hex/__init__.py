"""Hex solved exactly: a depth-first search over virtual connections.

A *carrier* is a set of empty cells on which a player wins whatever happens elsewhere. Whatever
proves a win here, a pattern or a whole search, hands back its carrier, and carriers prune:

* A *connection* of two places holds even if the opponent moves first; a *semi-connection* only if
  its owner does. Larger ones follow from smaller ones by two rules (Anshelevich, "The game of Hex:
  an automatic theorem proving approach to game programming", AAAI 2000, where they are called
  virtual): in series, with disjoint carriers; and a set of semi-connections of which no cell is in
  all carriers is a connection. They grow here from a player's two sides inwards, by adjacent
  cells and bridges.
* *Must-play*: a move outside the carrier of an opponent's semi-connection from side to side loses
  to it. And if a move was searched and loses, so does each move outside the carrier of that loss
  (Hayward, Björnsson, Johanson, Kan, Po and van Rijswijck, "Solving 7x7 Hex with domination,
  virtual connections, and game-state reduction", TCS 2005). Where no move is left the position is
  lost, on the union of all these carriers.
* *Inferior cells* (Björnsson, Hayward, Johanson and van Rijswijck, "Dead cell analysis in Hex and
  the Shannon game", 2006): a cell is dead if no shortest path leads through it, whoever owns the
  rest. Dead cells are filled, and so are pairs in which a player can answer each stone of the
  opponent with one that makes it dead: the player has captured them. A move that a reply makes
  dead is not tried.
* Moves are judged before one is searched: by how many moves they leave to the opponent, and by
  the current that would flow through the cell if the board were an electrical circuit (Anshelevich
  2000, after Shannon).

Sets of cells are the bits of one integer, so a board has at most 61 cells (and two sides).
"""

from agents.solvers.hex.solver import HexSolver, action_values, shared_solver, solve, winner

__all__ = ["HexSolver", "action_values", "shared_solver", "solve", "winner"]
