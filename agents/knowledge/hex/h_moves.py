"""Virtual connections that follow the stones: placed one by one, and taken back.

What `agents.knowledge.hex.h_search` has found in one position changes little with one stone:

* A stone of the player joins its chains to one, whose connections are theirs. Its cell leaves the
  carriers; a semi-connection with that key becomes a connection. What has changed waits to be
  extended again, and what follows is found as it is from the beginning.
* A stone of the opponent ends all connections that have its cell in the carrier. What the
  or-rule makes of the semi-connections that are left is found again.

So what is found is true, but it may be less than from scratch: short lists may have had no room for
what is left, and once both sides are connected nothing more is extended, which is missing when a
stone cuts them. (What was left out, as it contained a connection that ends now, has that cell too.)

Changes are remembered from `remember` on, and `undo` of `agents.knowledge.hex.h_search` takes them
back.

This is for following one game on a large board. On 11 x 11 a move with what is filled in after it
takes 321 us for both players in the median, and 929 from scratch (``tests/benchmarks/HEX.md``). No
agent uses it. The tree searches look at nodes that are several moves apart, for one player. The
solver (`agents.knowledge.hex.solver`) goes move by move, but on small boards.
"""

from agents.knowledge.bits import NONE, meet, one_bit, set_in, union, without
from agents.knowledge.hex.h_search import (
    CHAIN,
    FULL,
    IS_FULL,
    NOWHERE,
    PLACE,
    SEMI,
    Connections,
    Grid,
    add,
    apply_or,
    extend,
    first_row,
    forget_waiting,
    join_sides,
    note,
    pair_of,
    remove,
    set_count,
)
from hexenv.compiled import kernel


@kernel
def remember(links: Connections) -> None:
    """From now on, let stones be placed and taken back."""
    links.control[0] = 0
    links.control[1] = 0


@kernel
def has_joined(links: Connections) -> bool:
    """Whether stones join the sides."""
    goal = len(links.counts) - 1
    row = first_row(links, goal, FULL)
    return bool(links.counts[goal, FULL] > 0 and set_in(links.sets, row) == NONE)


@kernel
def place(grid: Grid, player: int, cell: int, is_own: bool, most: int, links: Connections) -> bool:
    """Follow a stone on an empty cell; the number of changes before is `links.control[0]`.

    Args:
        grid: The board.
        player: Whose connections these are.
        cell: Where the stone is.
        is_own: Whether it is the player's.
        most: Connections to extend, at most.
        links: The connections, for which `remember` was called. They are changed.

    Returns:
        Whether all changes could be remembered; if not, the connections are still true, but can not
        be brought back.
    """
    if not has_joined(links):
        forget_waiting(links)
        if is_own:
            place_own(grid, player, cell, links)
        else:
            place_other(cell, links)
        extend(links, False, most)
    return bool(links.control[1] == 0)


# ---- a stone of the player -----------------------------------------------------------------------


@kernel
def merged_places(
    grid: Grid, player: int, cell: int, links: Connections
) -> tuple[int, tuple[int, int, int]]:
    """What a stone makes one place: its name, a side's if there is one, and all old names."""
    size = len(links.place_of) - 2
    name, merged = cell, one_bit(cell)
    side = int(grid.sides[player, cell])
    if side > 0:
        name = size + side - 1
        merged = union(merged, one_bit(name))
    for i in range(6):
        near = int(grid.around[cell, i])
        if near < 0 or links.place_of[near] == NOWHERE:
            continue
        place = int(links.place_of[near])
        if links.is_chain[place]:
            merged = union(merged, one_bit(place))
            name = place if name == cell else max(name, place)
    return name, merged


@kernel
def place_own(grid: Grid, player: int, cell: int, links: Connections) -> None:
    """Let all wait that a stone of the player has changed, under its new name."""
    size = len(links.place_of) - 2
    name, merged = merged_places(grid, player, cell, links)
    if meet(merged, one_bit(size)) and meet(merged, one_bit(size + 1)):
        join_sides(links)
        return
    note(links, CHAIN, cell, (int(links.is_chain[cell]), 0, 0), 0)
    links.is_chain[cell] = True
    for one in range(1, size + 2):
        if links.place_of[one] != one:
            continue
        is_one = meet(merged, one_bit(one))
        for other in range(one):
            pair = pair_of(one, other)
            if links.counts[pair, FULL] + links.counts[pair, SEMI] == 0:
                continue
            is_other = meet(merged, one_bit(other))
            if is_one and is_other:
                set_count(links, pair, FULL, 0)
                set_count(links, pair, SEMI, 0)
                continue
            end, far = (name, other) if is_one else (one, name) if is_other else (one, other)
            is_renamed = is_one or is_other
            is_kept = is_renamed and name != cell and (end, far) == (one, other)
            take_out(links, pair, cell, is_renamed and not is_kept, end, far)
    for stone in range(size):
        old = int(links.place_of[stone])
        if old != NOWHERE and old != name and meet(merged, one_bit(old)):
            note(links, PLACE, stone, (old, 0, 0), 0)
            links.place_of[stone] = name


@kernel
def take_out(links: Connections, pair: int, cell: int, takes_all: bool, end: int, far: int) -> None:
    """Take the connections of a pair with a cell in the carrier, or all, and let them wait again.

    They wait without the cell, between two places.
    """
    own = one_bit(cell)
    for kind in range(2):
        first = first_row(links, pair, kind)
        for row in range(first + int(links.counts[pair, kind]) - 1, first - 1, -1):
            carrier, key = set_in(links.sets, row), int(links.keys[row])
            if takes_all or meet(carrier, own):
                remove(links, pair, kind, row)
                add(links, end, far, without(carrier, own), IS_FULL if key == cell else key)


# ---- a stone of the opponent ---------------------------------------------------------------------


@kernel
def place_other(cell: int, links: Connections) -> None:
    """End the connections that a stone of the opponent cuts; let wait what their rest makes."""
    own = one_bit(cell)
    for one in range(1, len(links.place_of)):
        if links.place_of[one] != one:
            continue
        for other in range(one):
            pair = pair_of(one, other)
            if links.counts[pair, FULL] + links.counts[pair, SEMI] == 0:
                continue
            if one == cell or other == cell:
                for kind in range(2):
                    if links.counts[pair, kind] > 0:
                        set_count(links, pair, kind, 0)
                continue
            before = int(links.counts[pair, FULL])
            for kind in range(2):
                first = first_row(links, pair, kind)
                for row in range(first + int(links.counts[pair, kind]) - 1, first - 1, -1):
                    if meet(set_in(links.sets, row), own):
                        remove(links, pair, kind, row)
            if links.counts[pair, FULL] < before:
                first = first_row(links, pair, SEMI)
                for row in range(first + 1, first + int(links.counts[pair, SEMI])):
                    apply_or(links, one, other, pair, row)
    note(links, PLACE, cell, (cell, 0, 0), 0)
    links.place_of[cell] = NOWHERE
