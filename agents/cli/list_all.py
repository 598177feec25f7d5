"""The command `hexenv list`."""

import inspect
import json
import math
from typing import Any

import click

from agents.cli.shared import json_option
from agents.registry import agent_classes, environment_makers, parameters


@click.command("list")
@json_option
def list_all(as_json: bool) -> None:
    """List the games with their options and the agents with their parameters.

    A required parameter has three dots in place of its default.
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
    for group, members in found.items():
        click.echo(f"{group}:")
        for name, options in members.items():
            shown = " ".join(f"{key}={value}" for key, value in options.items())
            click.echo(f"  {name:10} {shown}")


def _default(parameter: inspect.Parameter) -> Any:
    if parameter.default is parameter.empty:
        return "..."
    return "inf" if parameter.default == math.inf else parameter.default  # JSON has no infinity
