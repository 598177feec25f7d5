"""The command `hexenv network`, which imports PyTorch when it is called."""

import json
from typing import Any, Final

import click
import numpy as np
from rich import box
from rich.table import Table

from agents.apps.cli.shared import clear_errors, json_option, wide_console
from agents.records.films import write_image
from hexenv.common.extras import library
from hexenv.games.notation import SYMBOLS
from hexenv.render.overlay import overlay_of_shares
from hexenv.render.rgb import render_rgb

LISTED: Final = 5  # moves


@click.command()
@click.argument("net")
@click.option("--onnx", type=click.Path(dir_okay=False), help="Write it as an ONNX file.")
@click.option("--torchscript", type=click.Path(dir_okay=False), help="As a TorchScript file.")
@click.option(
    "--tensorboard", "graph", type=click.Path(file_okay=False), help="Its graph, to look at."
)
@click.option("--heat", type=click.Path(dir_okay=False), help="Image of a position and its policy.")
@click.option("--moves", help="That lead to the position, such as 'a1 b2'.")
@json_option
def network(
    net: str, heat: str | None, moves: str | None, as_json: bool, **targets: str | None
) -> None:
    """Show what the network NET is, write it for other programs, or draw its policy.

    Examples: hexenv network runs/hex/networks/000200.safetensors --onnx hex.onnx

    hexenv network connect4 --moves 4453 --heat policy.png
    """
    found: dict[str, Any] = {}
    with clear_errors():
        library("torch", "train")
        from agents.learning import export
        from agents.learning.files import load_network
        from agents.learning.saved import find_network

        saved = load_network(find_network(net))
        position = None
        if heat is not None or moves is not None:
            position = export.evaluate_position(saved, moves or "")
            found |= evaluation_of(saved.game, position)
        written: list[str] = []
        for kind in ("onnx", "torchscript", "graph"):
            if path := targets[kind]:
                getattr(export, f"write_{kind}")(saved, path)
                written.append(path)
        if heat is not None and position is not None:
            overlay = overlay_of_shares(saved.game, position.state, position.policy)
            write_image(heat, render_rgb(saved.game, position.state, overlay=overlay))
            written.append(heat)
    about = {"file": saved.path, **export.description(saved)}
    if as_json:
        click.echo(json.dumps({**about, **found, "written": written}))
        return
    if not written and position is None:
        from agents.learning.networks import parameter_table

        show(about, parameter_table(saved.network))
    if found:
        show_evaluation(found)
    for path in written:
        click.echo(f"written: {path}", err=True)


def evaluation_of(game: Any, position: Any) -> dict[str, Any]:
    """What the network says of a position, as what JSON knows: all moves, the likeliest first."""
    order = np.argsort(-position.policy, kind="stable").tolist()
    policy = {game.action_text(a): float(position.policy[a]) for a in order if position.policy[a]}
    to_play = SYMBOLS[game.to_play(position.state)]
    return {"to_play": to_play, "value": position.value, "policy": policy}


def show_evaluation(found: dict[str, Any]) -> None:
    """Print the value and the likeliest moves."""
    click.echo(f"value {found['value']:+.3f} for {found['to_play']}, who is to move")
    likely = list(found["policy"].items())[:LISTED]
    click.echo("policy " + ", ".join(f"{move} {100 * share:.1f} %" for move, share in likely))


def show(about: dict[str, Any], parameters: list[tuple[str, str, int]]) -> None:
    """Print what a network's file is, and its parameters."""
    console = wide_console()
    table = Table(box=box.SIMPLE_HEAD, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    origin = {key: value for key, value in about["about"].items() if key != "configuration"}
    options = ", ".join(f"{key}={value}" for key, value in about["parameters"].items())
    rows = {
        "file": about["file"],
        "game": f"{about['game']} ({options})" if options else about["game"],
        "board": f"{about['rows']} x {about['columns']}, {about['num_actions']} actions",
        "planes": ", ".join(about["planes"]),
        "network": ", ".join(
            f"{key}={json.dumps(value)}" for key, value in used_options(about["network"]).items()
        ),
        **origin,
    }
    for key, value in rows.items():
        table.add_row(key, str(value))
    console.print(table)
    table = Table(box=box.SIMPLE_HEAD, show_footer=True)
    table.add_column("parameter", "total", overflow="fold")
    table.add_column("shape", justify="right", no_wrap=True)
    table.add_column("numbers", f"{about['weights']:,}", justify="right", no_wrap=True)
    for name, shape, count in parameters:
        table.add_row(name, shape, f"{count:,}")
    console.print(table)


def used_options(options: dict[str, Any]) -> dict[str, Any]:
    """The options that apply to the network's kind."""
    if ":" in options["kind"]:
        return {key: options[key] for key in ("kind", "planes", "arguments")}
    options = {key: value for key, value in options.items() if key != "arguments"}
    of_anet = ("layers", "value")
    of_all = ("kind", "planes", "canonical")
    is_anet = options["kind"] == "anet"
    return {
        key: value for key, value in options.items() if key in of_all or (key in of_anet) == is_anet
    }
