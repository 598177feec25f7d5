"""What to play where the time to solve a position was over before all was found."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from agents.core.agent import Statistics


def guess(
    found: Mapping[int, int], actions: Sequence[int], favourite: int, searched: Statistics
) -> tuple[int, Statistics]:
    """An action, by the values that were found and a search.

    Args:
        found: The value of some of the actions, 1, 0 or -1 for the player to move.
        actions: All that are legal.
        favourite: What the search would play.
        searched: What it found.

    Returns:
        A winning action, if one was found; else the favourite of the search, or where that was
        found to lose, the most visited action that was not; but a draw that was found comes before
        what the search sees behind. And the statistics of the search, with the values found.
    """
    values = searched.values.copy()
    values[list(found)] = list(found.values())
    best = max(found.values(), default=-1)
    action = favourite
    if best > 0 or (best == 0 and values[favourite] < 0):
        action = next(one for one in found if found[one] == best)
    elif found.get(favourite, 0) < 0:
        open_ones = [one for one in actions if found.get(one, 0) >= 0]
        action = max(open_ones or actions, key=lambda one: int(searched.visits[one]))
    line = searched.principal_variation if action == favourite else [action]
    proven = 1 if best > 0 else searched.proven
    return action, replace(searched, values=values, principal_variation=line, proven=proven)
