"""The command `hexenv list`."""

import inspect
import json
import math
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

import click
from rich.console import Console

from agents.apps.cli.shared import json_option, new_table
from agents.core.options import DEFAULT_SIMULATIONS
from agents.registry import agent_classes, environment_makers, parameters

TEXTS: Final = "what it is", "parameters"
ROOM: Final = 80
"""Columns of a terminal in which the texts of an agent have a column each."""
Options = dict[str, Any]
"""Defaults by parameter, as they are shown."""


@click.command("list")
@json_option
def list_all(as_json: bool) -> None:
    """List the games with their options and the agents with their parameters.

    A required parameter has three dots in place of its default. Parameters that many agents share
    are listed once, below; --json has all of them with every agent.
    """
    groups = {"games": environment_makers(), "agents": agent_classes()}
    found = {
        group: {
            name: {key: _default(parameter) for key, parameter in parameters(maker).items()}
            for name, maker in makers.items()
        }
        for group, makers in groups.items()
    }
    if as_json:
        click.echo(json.dumps(found))
        return
    console = Console(highlight=False, markup=False)
    games = new_table("game", "options", texts=("game", "options"))
    for name, options in found["games"].items():
        games.add_row(name, _text(options))
    console.print(games)
    _print_agents(console, found["agents"])


def _print_agents(console: Console, agents: Mapping[str, Options]) -> None:
    """A table of the agents, and the parameters that many of them share."""
    shared = _shared(agents)
    is_narrow = console.width < ROOM
    columns = ("agent", *(["what it is, and its parameters"] if is_narrow else TEXTS))
    table = new_table(*columns, texts=columns)
    table.columns[0].no_wrap = True
    for name, options in agents.items():
        takes_all = shared.keys() <= options.keys()
        own = {
            key: value
            for key, value in options.items()
            if not (takes_all and shared.get(key, ...) == value)
        }
        words = (inspect.getdoc(agent_classes()[name]) or "").partition("\n")[0].replace("`", "")
        texts = words, _text(own) + (" *" if takes_all else "")
        table.add_row(name, *(["\n".join(texts)] if is_narrow else texts))
    console.print(table)
    console.print(f"* and those that the tree searches share: {_text(shared)}")
    console.print(
        f"A tree search without simulations and seconds has {DEFAULT_SIMULATIONS:,} simulations a "
        "move, if none are listed with it."
    )


def _shared(agents: Mapping[str, Options]) -> Options:
    """The parameters that most of the agents have with the same default."""
    count = Counter(pair for options in agents.values() for pair in options.items())
    return {key: value for (key, value), number in count.items() if 2 * number > len(agents)}


def _text(options: Options) -> str:
    return " ".join(f"{key}={value}" for key, value in options.items())


def _default(parameter: inspect.Parameter) -> Any:
    if parameter.default is parameter.empty:
        return "..."
    return "inf" if parameter.default == math.inf else parameter.default  # JSON has no infinity
