"""The opponents that a page proposes for a game, from a beginner to the strongest.

Which agent is the strongest says `agents.arena.recommended`; here is only how each is introduced.
"""

from importlib.resources import files
from importlib.util import find_spec
from typing import Final, NamedTuple

from agents.arena.recommended import strongest
from hexenv import GAMES

SECONDS: Final = 1.0
"""Of a move, where the opponents differ by what they are and not by their time."""


class Opponent(NamedTuple):
    """An agent with what a person wants to know of it.

    Attributes:
        title: How strong it is, in words.
        about: A sentence on it.
        agent: Its text for `agents.registry.make_agent`.
    """

    title: str
    about: str
    agent: str


WEAKER: Final = (
    Opponent(
        "a beginner",
        "Looks one move ahead: takes a win, stops yours, and otherwise plays at random.",
        "greedy",
    ),
    Opponent(
        "a casual player",
        "Tries 100 random games in its head before each move, and misses much.",
        "uct:simulations=100",
    ),
    Opponent(
        "an experienced player",
        f"The search of the textbooks, with {SECONDS:g} second for each move.",
        f"uct:seconds={SECONDS:g}",
    ),
)
"""The opponents of every game, the weakest first."""


def opponents(game: str) -> list[Opponent]:
    """Who is proposed for a game of `hexenv`."""
    found: list[Opponent] = []
    for with_network in (False, True):
        best = strongest(game, with_network)
        if best is None or (with_network and not can_load_networks()):
            continue
        text = f"{best}{',' if ':' in best else ':'}seconds={SECONDS:g}"
        words = "with a network" if with_network else "without a network"
        about = f"Recommended for {GAMES[game]}, of the agents {words}."
        found.append(Opponent(f"the strongest {words}", about, text))
    known = {each.agent for each in found}  # the strongest may be one of the others
    return [each for each in WEAKER if each.agent not in known] + found


def can_load_networks() -> bool:
    """Whether what loads the shipped networks is installed (extra ``train``)."""
    return all(find_spec(name) is not None for name in ("torch", "safetensors"))


def shipped_networks() -> list[str]:
    """The names of the networks that come with the package, smaller boards first."""
    nets = (files("agents.learning") / "nets").iterdir()
    names = [path.name.removesuffix(".safetensors") for path in nets if "." in path.name]
    return sorted(names, key=lambda name: (name.rstrip("0123456789"), len(name), name))
