"""Playout policies: how a simulation goes on from a leaf to the end of the game.

A policy is a method `choose` that returns the next action; `play_out`, which
`agents.search.simulation.part` gives it as `simulate`, is the loop around it.
Policies nest: one that knows no move in a position asks another one, its `otherwise`.
"""

from typing import Any, NamedTuple, Protocol

from numpy.random import Generator

from agents.search.simulation import (
    Part,
    Simulation,
    part,
    play_out,
)
from agents.search.tree import Tree
from hexenv.compiled import inlined_kernel, kernel
from hexenv.games.base import NO_ACTION, Actions, Game, State, play_randomly, score_of


class Playout(Part, Protocol):
    """What a playout policy offers besides."""

    def simulate(
        self, game: Game, state: State, rng: Generator, actions: Actions, simulation: Simulation
    ) -> float:
        """Play `state`, which is not terminal, to the end; the outcome for player 0, -1 to 1.

        `actions` is scratch space, ``(>= num_actions(),)``. The moves are added to the simulation,
        if it is `recorded`.
        """
        ...

    def choose(
        self,
        game: Game,
        state: State,
        rng: Generator,
        actions: Actions,
        count: int,
        simulation: Simulation,
    ) -> int:
        """The action to play: one of the first `count` of `actions`, the legal ones in any order.

        It does not change the position or the list. One that has the place of the action in the
        list may return it by `take`, so that `play_out` need not look for it. An action that is not
        legal is a `ValueError` where the search runs interpreted; in machine code, which checks
        nothing, the first of the list is played in its place.
        """
        ...


@inlined_kernel
def take(actions: Actions, pick: int, simulation: Simulation) -> int:
    """The action at a place of the list, for `Playout.choose` to return."""
    simulation.picked[0] = pick
    return int(actions[pick])


@part
class Uniform(NamedTuple):
    """Uniformly random moves.

    The fast form calls the game's own `random_playout`, which may fill a board at once, unless a
    part of the variant reads the moves. The generic form draws once a ply over the ascending legal
    actions, so that one stream of numbers gives the same moves in every environment of a game.

    Examples:
        >>> variant = UCT().variant._replace(playout=Uniform())
        >>> TreeSearchAgent(variant, simulations=50, seed=1).act(env)  # the third of three in a row
        2
    """

    fast: bool = True

    def choose(
        self,
        game: Game,
        state: State,
        rng: Generator,
        actions: Actions,
        count: int,
        simulation: Simulation,
    ) -> int:
        if not self.fast:
            game.legal_actions(state, actions)
        return take(actions, int(rng.random() * count), simulation)

    def simulate(
        self, game: Game, state: State, rng: Generator, actions: Actions, simulation: Simulation
    ) -> float:
        if simulation.recorded:
            return play_out(self, game, state, rng, actions, simulation)
        if self.fast:
            game.random_playout(state, rng, actions)
        else:
            play_randomly(game, state, rng, actions)
        return score_of(game, state, 0)


@part
class Decisive(NamedTuple):
    """Win at once where possible, else take the cell where the opponent would (Teytaud 2010).

    Winning without blocking weakens the search: a side that sees no threat loses too often. For
    games with `winning_action`; before all other policies.

    Examples:
        >>> variant = UCT().variant._replace(playout=Decisive())
        >>> TreeSearchAgent(variant, simulations=50, seed=1).act(env)  # the third of three in a row
        2
    """

    otherwise: Any = Uniform()

    def needs_moves(self) -> bool:
        return self.otherwise.needs_moves()

    def with_memory(self, game: Game) -> "Decisive":
        if not hasattr(game, "winning_action"):
            raise ValueError(f"decisive moves need a game with winning_action, got {game}")
        return self._replace(otherwise=memory_behind(self.otherwise, game))

    def choose(
        self,
        game: Any,  # a `Game` with `winning_action`
        state: State,
        rng: Generator,
        actions: Actions,
        count: int,
        simulation: Simulation,
    ) -> int:
        player = game.to_play(state)
        # In a playout a new win goes through the stone placed last: an older one would have been
        # played or blocked before.
        ply = simulation.length[0]
        own, theirs = -1, -1
        if ply > simulation.depth[0] + 1:
            own, theirs = simulation.cells[ply - 2], simulation.cells[ply - 1]
        action = game.winning_action(state, player, own, actions, count)
        if action == NO_ACTION:
            action = game.winning_action(state, 1 - player, theirs, actions, count)
        if action != NO_ACTION:
            return action
        return self.otherwise.choose(game, state, rng, actions, count, simulation)

    def update(self, tree: Tree, simulation: Simulation) -> None:
        self.otherwise.update(tree, simulation)


@kernel
def action_on(
    game: Game, state: State, actions: Actions, count: int, cell: int, simulation: Simulation
) -> int:
    """The action, among the first `count`, that fills a cell, or `NO_ACTION`."""
    for pick in range(count):
        if game.cell_of(state, int(actions[pick])) == cell:
            return take(actions, pick, simulation)
    return NO_ACTION


def memory_behind(otherwise: Any, game: Game) -> Any:
    """The policy that another one asks, with its memory for a game."""
    if isinstance(otherwise, Decisive):  # which relies on having seen every ply before
        raise ValueError("expected decisive moves before all other policies of a playout")
    return otherwise.with_memory(game)
