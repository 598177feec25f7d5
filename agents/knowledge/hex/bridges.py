"""Saving bridges: the playout policy for Hex that answers an intrusion into a bridge."""

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.search.playout import Uniform, action_on, memory_behind
from agents.search.simulation import Simulation, part
from agents.search.tree import Tree
from hexenv.compiled import inlined_kernel, kernel
from hexenv.games.base import EMPTY, Actions, State, draw_bits, score_of, split_draw
from hexenv.games.hex import AROUND, BOTH_SIDES, PLACES, WIDTH, Hex, join

DRAWS: Final = 4
"""Choices from one random number."""
NO_PLACE: Final = -1
BEFORE: Final = -1
"""The turn of stones that were on the board before the playout."""


@inlined_kernel
def intrusions(owners: NDArray[np.int8], last: int, player: int) -> int:
    """In which directions from the opponent's last stone a bridge of a player is open, as bits."""
    own, empty = 0, 0  # a bit for each direction: without branches, which would cost more
    for turn in range(6):
        owner = owners[last + AROUND[turn]]
        own |= int(owner == player) << turn
        empty |= int(owner == EMPTY) << turn
    return empty & (own << 1 | own >> 5) & (own >> 1 | own << 5)


@inlined_kernel
def place_to_save(last: int, intruded: int, first: int) -> int:
    """Where the first bridge of some directions is completed, looking from one direction on."""
    turn = first + 1 if first < 5 else 0
    while not intruded >> turn & 1:
        turn = turn + 1 if turn < 5 else 0
    return last + int(AROUND[turn])


@inlined_kernel
def cell_at(game: Hex, place: int) -> int:
    """The cell at a place of a state."""
    return (place // WIDTH - 1) * game.columns + place % WIDTH - 1


@kernel
def choose_saving(
    self: Any,
    game: Hex,
    state: State,
    rng: np.random.Generator,
    actions: Actions,
    count: int,
    simulation: Simulation,
) -> int:
    """`Playout.choose` of both policies here."""
    action = int(state.last_action)
    if 0 <= action < game.rows * game.columns:
        last, first = game.place_of(action), int(rng.random() * 6)
        intruded = intrusions(state.owners, last, game.to_play(state))
        if intruded:
            cell = cell_at(game, place_to_save(last, intruded, first))
            return action_on(game, state, actions, count, cell, simulation)
    return self.otherwise.choose(game, state, rng, actions, count, simulation)


@part
class SaveBridge(NamedTuple):
    """Where the opponent intrudes into a bridge, complete it (Arneson, Hayward, Henderson 2010).

    Two stones of one player with two empty cells between them are safely connected: if the
    opponent takes one of the cells, the player takes the other. Around the opponent's last stone
    the pattern is own, empty, own; the board's edge counts as own. Of several bridges, the first
    from a random direction is completed.

    Where fast uniform moves are its `otherwise`, the search gets `FillSavingBridges` in its place.

    Examples:
        >>> from agents import UCT, TreeSearchAgent
        >>> from hexenv import hex_v0
        >>> env = hex_v0.env(board_size=3)
        >>> env.reset()
        >>> variant = UCT().variant._replace(playout=SaveBridge())
        >>> TreeSearchAgent(variant, simulations=100, seed=1).act(env)  # the centre
        4
    """

    otherwise: Any = Uniform()

    choose = choose_saving

    def needs_moves(self) -> bool:
        return self.otherwise.needs_moves()

    def with_memory(self, game: Hex) -> Any:
        if getattr(game, "name", None) != "hex":
            raise ValueError(f"the playout bridges is for hex, got {game}")
        if isinstance(self.otherwise, Uniform) and self.otherwise.fast:
            return new_fill_saving_bridges()
        return self._replace(otherwise=memory_behind(self.otherwise, game))

    def update(self, tree: Tree, simulation: Simulation) -> None:
        self.otherwise.update(tree, simulation)


@part
class FillSavingBridges(NamedTuple):
    """`SaveBridge` with uniform moves otherwise: the board is filled, and then looked at.

    That takes less time than to look after every move whether the game is over. The moves after its
    end are not counted. The swap is never played.
    """

    places: NDArray[np.int16]
    """``(PLACES,)``: a list of the places of a state that are empty, in any order."""
    index_of: NDArray[np.int16]
    """``(PLACES,)``: where a place is in `places`."""
    order: NDArray[np.int16]
    """``(PLACES,)``: the places in the order in which they are filled."""
    turns: NDArray[np.int16]
    """``(PLACES,)``: the turn in which a place is filled; `BEFORE` between uses."""
    otherwise: Uniform = Uniform()

    choose = choose_saving

    def with_memory(self, game: Hex) -> "FillSavingBridges":
        return new_fill_saving_bridges()

    def simulate(
        self,
        game: Hex,
        state: State,
        rng: np.random.Generator,
        actions: Actions,
        simulation: Simulation,
    ) -> float:
        count = fill_saving_bridges(self, game, state, rng)
        player = state.ply & 1
        state.winner = game.winner_of_full_board(state.owners)
        if simulation.recorded:
            count = turns_to_win(self, game, state, count, player)
            length = int(simulation.length[0])
            for turn in range(count):
                simulation.players[length + turn] = player ^ (turn & 1)
                simulation.cells[length + turn] = cell_at(game, int(self.order[turn]))
            simulation.length[0] = length + count
        return score_of(game, state, 0)


def new_fill_saving_bridges() -> FillSavingBridges:
    """With its arrays."""
    places, index, order = np.zeros((3, PLACES), np.int16)
    return FillSavingBridges(places, index, order, np.full(PLACES, BEFORE, np.int16))


@kernel
def fill_saving_bridges(
    self: FillSavingBridges, game: Hex, state: State, rng: np.random.Generator
) -> int:
    """Fill the board, write `order`; returns how many cells were empty."""
    owners, places, index = state.owners, self.places, self.index_of
    total = 0
    for row in range(1, game.rows + 1):
        for place in range(row * WIDTH + 1, row * WIDTH + 1 + game.columns):
            if owners[place] == EMPTY:
                places[total] = place
                index[place] = total
                total += 1
    player, action = int(state.ply) & 1, int(state.last_action)
    last = game.place_of(action) if 0 <= action < game.rows * game.columns else NO_PLACE
    bits = 0
    for turn in range(total):
        count = total - turn
        if turn % DRAWS == 0:
            bits = draw_bits(rng)
        intruded = intrusions(owners, last, player) if last != NO_PLACE else 0
        if intruded:
            first, bits = split_draw(bits, 6)
            last = place_to_save(last, intruded, first)
        else:
            pick, bits = split_draw(bits, count)
            last = int(places[pick])
        owners[last] = player
        other = places[count - 1]
        places[index[last]] = other
        index[other] = index[last]
        self.order[turn] = last
        player = 1 - player
    return total


@kernel
def turns_to_win(self: FillSavingBridges, game: Hex, state: State, count: int, player: int) -> int:
    """After how many turns of a filled board the winner had joined both sides.

    Args:
        self: With the places in their order.
        game: The game.
        state: The filled board, with its winner, and the chains from before.
        count: How many turns there are.
        player: Whose the first one was.
    """
    owners, links, winner, turns = state.owners, state.links, int(state.winner), self.turns
    for turn in range(count):
        turns[self.order[turn]] = turn
    needed = count
    for turn in range(player ^ winner, count, 2):
        place = int(self.order[turn])
        head = place
        for offset in AROUND:
            near = place + offset
            if owners[near] == winner and turns[near] < turn:
                head = join(links, head, near)
        if links[head] == BOTH_SIDES:
            needed = turn + 1
            break
    for turn in range(count):
        turns[self.order[turn]] = BEFORE
    return needed
