"""The command `hexenv` and its subcommands."""

import importlib
import os
import sys
from typing import Final

import click

import hexenv
from agents.cli.shared import INTERRUPTED

__all__ = ["INTERRUPTED", "main"]

COMMANDS: Final = {
    "accuracy": "accuracy:accuracy",
    "convert": "convert:convert",
    "gomocup": "gomocup:gomocup",
    "htp": "htp:htp",
    "list": "list_all:list_all",
    "match": "match:match",
    "network": "network:network",
    "play": "play:play",
    "render": "render:render",
    "serve": "serve:serve",
    "topp": "topp:topp",
    "tournament": "tournament:tournament",
    "train": "train:train",
}
"""The module and the function of each command; a module is imported when its command is used."""


class LazyGroup(click.Group):
    """A group that imports its `COMMANDS` when they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, sorted."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name; None if there is none."""
        if cmd_name not in COMMANDS:
            return None
        module, _, function = COMMANDS[cmd_name].partition(":")
        return getattr(importlib.import_module(f"agents.cli.{module}"), function)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(hexenv.__version__, prog_name="hexenv")
def main() -> None:
    """Board games and tree search: watch agents play, or play against them.

    An agent is written as its name, with parameters after a colon: uct:simulations=1000,c=0.7.
    Agents and environments of your own are module.Class:parameters and module:function.
    """
    sys.path.insert(0, os.getcwd())  # where a user's own modules are, as with python -m
