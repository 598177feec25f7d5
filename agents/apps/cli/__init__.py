"""The command `hexenv` and its subcommands."""

import importlib
import inspect
import os
import re
import sys
from typing import Final, cast

import click

import hexenv
from agents.apps.cli.shared import INTERRUPTED
from hexenv.common.messages import not_one_of

__all__ = ["INTERRUPTED", "main"]

NAMES: Final = (
    "accuracy analyse bench compile convert curves data explain export gomocup htp learn list "
    "match network openings play render review serve topp tournament train tune"
)
COMMANDS: Final = {name: name for name in NAMES.split()} | {
    "compile": "compile_all",
    "list": "list_all",
}
"""The module of each command, and its function in there, imported when the command is used."""


class LazyGroup(click.Group):
    """A group that imports its `COMMANDS` when they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            if not ctx.resilient_parsing:  # as for the completion of a shell
                ctx.fail(not_one_of("a command", COMMANDS, cmd_name))
            return None
        module = COMMANDS[cmd_name]
        return getattr(importlib.import_module(f"agents.apps.cli.{module}"), module)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Each command with its whole first sentence, where click would cut it."""
        texts = {name: cast("click.Command", self.get_command(ctx, name)).help for name in COMMANDS}
        sentences = {
            name: re.split(r"(?<=\.)\s", inspect.cleandoc(text or ""), maxsplit=1)[0]
            for name, text in texts.items()
        }
        with formatter.section("Commands"):
            formatter.write_dl([(name, " ".join(s.split())) for name, s in sentences.items()])


@click.group(
    cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "show_default": True}
)
@click.version_option(hexenv.__version__, prog_name="hexenv")
def main() -> None:
    """Board games and tree search: watch agents play, or play against them.

    An agent is written as its name, with parameters after a colon: uct:simulations=1000,c=0.7.
    Agents and environments of your own are module.Class:parameters and module:function.
    """
    sys.path.append(os.getcwd())  # modules of the user; at the end, so that none hides one of ours
