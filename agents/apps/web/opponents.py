"""The opponents that a page proposes for a game, from a beginner to the strongest.

Who they are, and how strong, says `agents.arena.recommended`; here is how each is introduced.
"""

from importlib.resources import files
from typing import Final, NamedTuple

from agents.arena.recommended import levels, strongest
from agents.registry import with_parameters
from hexenv import GAMES

SECONDS: Final = 1.0
"""Of a move of the strongest."""


class Opponent(NamedTuple):
    """An agent with what a person wants to know of it.

    Attributes:
        title: How strong it is, in words.
        about: A sentence on it.
        agent: Its text for `agents.registry.make_agent`.
        rating: Measured Elo, by `agents.arena.recommended.levels`; None where nobody measured.
    """

    title: str
    about: str
    agent: str
    rating: int | None = None


TITLES: Final = (
    "a beginner",
    "a casual player",
    "a club player",
    "a strong player",
    "an expert",
    "a master",
    "a grandmaster",
)
"""Of the levels of every game, the weakest first."""
ABOUT: Final = {
    "greedy": "Looks one move ahead: takes a win, stops yours, and otherwise plays at random.",
    "uct": "The search of the textbooks: tries {} random games before each move.",
    "rave": "Tries {} games before each move, and learns from all their moves.",
    "hexpert": "Sees connections, and tries {} games before each move.",
    "rhmcts": "Sees threats, and tries {} games before each move.",
    "solver": "Plays perfectly.",
}
"""On the agents of levels; {} stands for their simulations."""


UNRATED: Final = [(f"uct:simulations={count}", None) for count in (10, 100, 1000, 10_000)]
"""The levels of a game that nobody has measured."""


def opponents(game: str) -> list[Opponent]:
    """Who is proposed for a game, the weakest first."""
    found: list[Opponent] = []
    for title, (agent, rating) in zip(TITLES, levels(game) or UNRATED, strict=False):
        name, _, simulations = agent.partition(":")
        about = ABOUT[name].format(simulations.rpartition("=")[2])
        found.append(Opponent(title, about, agent, rating))
    for with_network in (False, True):
        best = strongest(game, with_network)
        if best is None:
            continue
        text = with_parameters(best, {"seconds": f"{SECONDS:g}"})
        words = "with a network" if with_network else "without a network"
        about = f"Recommended for {GAMES[game]}, of the agents {words}: {SECONDS:g} second a move."
        found.append(Opponent(f"the strongest {words}", about, text))
    return found


def shipped_networks() -> list[str]:
    """The names of the networks of AlphaHex in the package, smaller boards first."""
    nets = (files("agents.learning") / "nets").iterdir()
    names = [path.name.removesuffix(".safetensors") for path in nets if "-" not in path.name]
    return sorted(names, key=lambda name: (name.rstrip("0123456789"), len(name), name))
