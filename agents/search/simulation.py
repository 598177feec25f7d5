"""One simulation: the moves, who made them, the result; and `part`, for what learns from it."""

from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from hexenv.compiled import compiled, inlined_kernel, interpreted_only, kernel
from hexenv.compiled.callees import members_of
from hexenv.games.base import Actions, Game, State, score_of

if TYPE_CHECKING:
    from agents.search.tree import Tree

C = TypeVar("C", bound=type)


@compiled
class Simulation(NamedTuple):
    """A simulation, in arrays ``(max_plies(),)`` that all simulations of a search use in turn.

    The first `depth` plies were played in the tree; those of the playout follow if `recorded`.
    """

    recorded: bool  # whether a part of the variant reads `cells` and the moves of the playout
    path: NDArray[np.int32]  # the `depth` nodes below the root, in order
    players: NDArray[np.int8]  # who played each ply
    cells: NDArray[np.int32]  # the moves, as `Game.cell_of` numbers them, if `recorded`
    rewards: NDArray[np.float64]  # of each node on the path, for the player who chose it
    actions: NDArray[np.int32]  # (num_actions(),): scratch space
    picked: NDArray[np.int32]  # (1,): where a playout policy found the action it chose; a hint
    depth: NDArray[np.int32]  # (1,): plies in the tree
    length: NDArray[np.int32]  # (1,): plies in `players` and `cells`, from the root
    result: NDArray[np.float64]  # (1,): for player 0, -1 lost to 1 won


def new_simulation(game: Game, recorded: bool) -> Simulation:
    """An empty record for a game. Plain Python: compiled searches make no arrays."""
    plies = game.max_plies()
    return Simulation(
        recorded,
        np.empty(plies, np.int32),
        np.empty(plies, np.int8),
        np.empty(plies, np.int32),
        np.empty(plies, np.float64),
        np.empty(game.num_actions(), np.int32),
        np.zeros(1, np.int32),
        np.zeros(1, np.int32),
        np.zeros(1, np.int32),
        np.zeros(1, np.float64),
    )


@kernel
def record_move(game: Game, state: State, action: int, simulation: Simulation) -> None:
    """Record an action of the playout, before it is played."""
    ply = simulation.length[0]
    simulation.players[ply] = game.to_play(state)
    simulation.cells[ply] = game.cell_of(state, action)
    simulation.length[0] = ply + 1


# ---- parts of a variant --------------------------------------------------------------------------


class Part(Protocol):
    """What a selection rule, a playout policy and a reward all offer."""

    def update(self, tree: "Tree", simulation: Simulation) -> None:
        """Learn from a simulation, after the nodes on its path have counted it."""
        ...

    def needs_moves(self) -> bool:
        """Whether it reads the moves of the playouts, or the length of a simulation."""
        ...

    def with_memory(self, game: Game) -> Any:
        """The part with the arrays it needs for a game, empty. Plain Python.

        Raises:
            ValueError: If it makes no sense in the game.
        """
        ...


# Defaults for the methods that a part does not need; `part` adds them.


@kernel
def no_update(self: Any, tree: "Tree", simulation: Simulation) -> None:
    """Learn nothing from a simulation."""


@kernel
def no_moves(self: Any) -> bool:
    """`needs_moves` of a part that does not read the moves of playouts."""
    return False


@kernel
def all_moves(self: Any) -> bool:
    """`needs_moves` of a part that does."""
    return True


def no_memory(self: Any, game: Game) -> Any:
    """`with_memory` of a part that keeps no arrays."""
    return self


@kernel
def no_initialise(self: Any, game: Game, state: State, tree: "Tree", node: int) -> None:
    """`Selection.initialise` of a rule that keeps nothing for a child."""


def no_extras(self: Any, max_nodes: int) -> Any:
    """`Selection.new_extras` of a rule that needs only what the tree keeps."""
    return ()


@kernel
def all_first(self: Any) -> bool:
    """`Selection.tries_all_first`: all children are visited before any is scored."""
    return True


@kernel
def no_pruning(self: Any, tree: "Tree", node: int, child: int) -> bool:
    """`Backup.prunes` of one that leaves the choice to the selection rule."""
    return False


@kernel
def play_out(
    self: Any,
    game: Game,
    state: State,
    rng: np.random.Generator,
    actions: Actions,
    simulation: Simulation,
) -> float:
    """`Playout.simulate` by way of `choose`."""
    count = game.legal_actions(state, actions)
    while not game.is_terminal(state):
        chosen = int(self.choose(game, state, rng, actions, count, simulation))
        pick = place_of(self, actions, count, chosen, simulation)
        action = int(actions[pick])
        record_move(game, state, action, simulation)
        game.step(state, action)
        count = game.next_actions(state, actions, count, pick)
    return score_of(game, state, 0)


@inlined_kernel
def place_of(policy: Any, actions: Actions, count: int, chosen: int, simulation: Simulation) -> int:
    """Where the action that a policy chose is in the list, mostly where it says; else 0."""
    pick = int(simulation.picked[0])
    if 0 <= pick < count and actions[pick] == chosen:
        return pick
    for place in range(count):
        if actions[place] == chosen:
            return place
    refuse_choice(policy, actions, count, chosen)
    return 0


@interpreted_only
def refuse_choice(policy: Any, actions: Actions, count: int, chosen: int) -> None:
    """Refuse an action that is not legal."""
    legal = actions[:count].tolist()
    where = f"{type(policy).__name__}.choose"
    raise ValueError(f"expected a legal action, got {chosen} of {legal}, in {where}")


_LEARNING: Final = {"update": no_update, "needs_moves": no_moves, "with_memory": no_memory}
_KEEPING: Final = {
    "with_memory": no_memory,
    "initialise": no_initialise,
    "new_extras": no_extras,
}
DEFAULTS: Final[dict[str, dict[str, Any]]] = {
    "score": {**_LEARNING, **_KEEPING, "tries_all_first": all_first},
    "choose": {**_LEARNING, "simulate": play_out},
    "simulate": _LEARNING,
    "shape": _LEARNING,
    "revise": {**_KEEPING, "prunes": no_pruning},
}
"""What `part` adds where a class has nothing of the name, by the method that tells the kind."""


def part(cls: C) -> C:
    """Class decorator: `hexenv.compiled.compiled`, with defaults for a part of a variant.

    A class with `score` is a selection rule, with `choose` or `simulate` a playout policy, with
    `shape` a reward, with `revise` a backup. Of the methods of its protocol
    (`agents.search.selection.Selection`, `agents.search.playout.Playout`,
    `agents.search.reward.Reward`, `agents.search.reward.Backup`) it gets those that it lacks: they
    keep nothing, learn nothing, and read no moves; children are all visited first, and a playout
    goes by `choose`.

    Args:
        cls: A `typing.NamedTuple` class with at least one field.

    Returns:
        The same class.

    Raises:
        TypeError: If it has none of these methods, or no field.
    """
    found = members_of(cls)
    kind = next((method for method in DEFAULTS if method in found), None)
    if kind is None:
        raise TypeError(
            f"{cls.__name__}: expected a part of a variant, with one of the methods "
            f"{', '.join(DEFAULTS)}, got none of them"
        )
    for name, default in DEFAULTS[kind].items():
        if name not in found:
            setattr(cls, name, default)
    return compiled(cls)
