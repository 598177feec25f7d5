"""A page for each game, from its environment module and its rules."""

import importlib
import inspect
import re
from types import ModuleType
from typing import Any

import gymnasium
import pettingzoo
from pictures import gif, numbered_board, recorded
from writing import Pages, described, page, parameter_table, section, table, text_of

from agents.registry import environment_makers, make_environment, parameters
from hexenv.envs.aec import BoardEnv, ViewOptions


def game_pages() -> Pages:
    """The pages of all games and their pictures, by path."""
    pages: Pages = {}
    rows: list[list[str]] = []
    for name, maker in environment_makers().items():
        module = importlib.import_module(maker.__module__)
        pages[f"games/{name}.md"] = game_page(name, module)
        pages[f"games/{name}.gif"] = gif(name)
        for theme in ("light", "dark"):
            pages[f"games/{name}-{theme}.svg"] = numbered_board(name, theme)
        rules = inspect.getmodule(type(make_environment(name).unwrapped.game))
        rows.append([f"[{title(module)}]({name}.md)", text_of(rules).partition("\n")[0]])
    about = "Each page is made from the game's own code when the site is built."
    return {"games/index.md": page("Games", about, table(["Game", "In short"], rows)), **pages}


def game_page(name: str, module: ModuleType) -> str:
    """The page of a game."""
    summary, _, history = text_of(module).partition("Version history: ")
    return page(
        title(module),
        f"![A game of {title(module)}]({name}.gif){{ .board }}",
        players(name),
        summary.strip(),
        section("Names", names(module)),
        section("Rules", *rules(module)),
        section("Actions", actions(name)),
        section("Planes", planes(name)),
        section("Options", *options(module)),
        section("Version history", history or "None is kept."),
        f"Functions and classes: [reference][{module.__name__}].",
    )


def players(name: str) -> str:
    """Who plays in the film of a game, and on which board."""
    record = recorded(name)
    if not any(record.agents):
        return "Random moves."
    board = f" ({', '.join(record.options)})" if record.options else ""
    first, second = record.agents
    return f"`{first}` against `{second}`{board}"


def title(module: ModuleType) -> str:
    """The name of a game as it is written, which its identifier for Gymnasium has."""
    return gymnasium_ids(module)[0].partition("/")[2].rpartition("-")[0]


def gymnasium_ids(module: ModuleType) -> list[str]:
    """What Gymnasium calls the environments of a module."""
    specs = gymnasium.registry.values()
    return [spec.id for spec in specs if spec.kwargs.get("game") == f"{module.__name__}:raw_env"]


def names(module: ModuleType) -> str:
    """How the environment is made, in Python, by the registries and on the command line."""
    short = module.__name__.rpartition(".")[2]
    rows = [
        ["PettingZoo", f"`{module.__name__}.env()`, `{module.__name__}.raw_env()`"],
        *(["PettingZoo's registry", f'`pettingzoo.make("aec", "{name}")`'] for name in
          getattr(pettingzoo, "aec_registry", {}) if name.endswith(short.replace("_", "-"))),
        *(["Gymnasium", f'`gymnasium.make("{name}")`, `gymnasium.make_vec("{name}", num_envs=64)`']
          for name in gymnasium_ids(module)),
        ["Command line", f"`{short.rpartition('_')[0]}`"],
    ]  # fmt: skip
    return table(["", "Name"], rows)


def rules(module: ModuleType) -> list[str]:
    """What the modules with rules say that an environment's docstring names."""
    found = re.findall(r"`(hexenv\.games\.\w+)`", module.__doc__ or "")
    return [inspect.getdoc(importlib.import_module(name)) or "" for name in dict.fromkeys(found)]


def options(module: ModuleType) -> tuple[str, str, str]:
    """The options of a game, and those that all environments share."""
    known = parameters(BoardEnv)
    shared = {name: known[name] for name in ViewOptions.__annotations__}
    return (
        parameter_table(parameters(module.raw_env), described(module.raw_env).__getitem__),
        "All environments take, by keyword:",
        parameter_table(shared, described(ViewOptions).__getitem__),
    )


def actions(name: str) -> str:
    """How the actions of the default board are numbered and written."""
    game = make_environment(name).unwrapped.game
    count = game.num_actions()
    shown = sorted({0, 1, game.columns - 1, min(game.columns, count - 1), count // 2, count - 1})
    rows = [[str(action), f"`{game.action_text(action)}`"] for action in shown]
    return (
        f"![The actions on the board]({name}-light.svg#only-light){{ .board }}\n"
        f"![The actions on the board]({name}-dark.svg#only-dark){{ .board }}\n\n"
        f"With the default options there are {count} actions; some of them, as numbers and "
        f"as text:\n\n{table(['Action', 'Text'], rows)}"
    )


def planes(name: str) -> str:
    """The planes of the default observation in order."""
    env: Any = make_environment(name)
    space = env.observation_space("player_0")["observation"]
    rows = [[str(number), f"`{plane}`"] for number, plane in enumerate(env.unwrapped.planes)]
    return (
        f"With the default options the observation has the shape `{space.shape}` and these planes. "
        "`own` and `opponent` are 1 on the stones of the player who looks and of the other; the "
        f"table above has the rest.\n\n{table(['Plane', 'Name'], rows)}"
    )
