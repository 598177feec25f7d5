"""The opponents that a page proposes for a game, from a beginner to the strongest.

Which agent is the strongest says `agents.arena.recommended`; here is only how each is introduced.
"""

import json
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from typing import Any, Final, NamedTuple

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
    """Who is proposed for a game of `hexenv`; the networks need PyTorch."""
    found: list[Opponent] = []
    if (best := strongest(game)) is not None:
        text = f"{best}{',' if ':' in best else ':'}seconds={SECONDS:g}"
        about = f"Recommended for {GAMES[game]}, of the agents without a network."
        found.append(Opponent("the strongest without a network", about, text))
    if find_spec("torch") is not None:
        found += [
            Opponent(
                f"a network ({net})",
                f"Has learnt from games against itself{_where(options)}; it guides a search.",
                f"alphazero:net={net},seconds={SECONDS:g}",
            )
            for net, (of, options) in shipped_networks().items()
            if of == game
        ]
    known = {each.agent for each in found}  # the strongest may be one of the others
    return [each for each in WEAKER if each.agent not in known] + found


def _where(options: dict[str, Any]) -> str:
    """The board of a network, where there are several."""
    words = ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in options.items())
    return f" ({words})" if words else ""


@cache
def shipped_networks() -> dict[str, tuple[str, dict[str, Any]]]:
    """The game and the options of each network that comes with the package, by its name.

    They are read from the heads of the files, without PyTorch.
    """
    found: dict[str, tuple[str, dict[str, Any]]] = {}
    for path in sorted((files("agents.learning") / "nets").iterdir(), key=lambda path: path.name):
        name, _, suffix = path.name.rpartition(".")
        if suffix == "safetensors":
            with path.open("rb") as file:
                size = int.from_bytes(file.read(8), "little")
                about = json.loads(json.loads(file.read(size))["__metadata__"]["hexenv"])
            found[name] = about["game"], about["options"]
    return found
