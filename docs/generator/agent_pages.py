"""A page for each agent that has a name, from its class."""

import inspect
import re
from typing import Any

from benchmark_pages import strength
from which_agent import groups, which_agent_page
from writing import Pages, described, page, parameter_table, section, sections, table, text_of

import agents
from agents.core.options import DEFAULT_SIMULATIONS
from agents.mcts.tree_search import TreeSearchAgent
from agents.registry import agent_classes, parameters

SOURCE = re.compile(r"\(([^()]*\b(?:19|20)\d\d[^()]*)\)")
"""A source, as docstrings write it: (Kocsis and Szepesvari 2006)."""


def agent_pages() -> Pages:
    """The pages of all agents, by path."""
    classes = agent_classes()
    parts: list[str] = []
    for group in groups():
        rows = [
            [f"[`{name}`]({name}.md)", f"`{agent.__name__}`", text_of(agent).partition("\n\n")[0]]
            for name, agent in ((name, classes[name]) for name in group.agents)
        ]
        shown = table(["Name", "Class", "What it is"], rows)
        parts.append(section(group.title, group.about, shown))
    index = page(
        "Agents",
        "[Which agent should I use?](which.md) has what plays best, by game and budget.",
        "Every class with a name is an agent by that name: `uct:simulations=1000,c=0.7` on the "
        "command line, as an opponent, in a tournament. Each page is made from the class and from "
        "the benchmark files when the site is built.",
        *parts,
    )
    pages = {f"agents/{name}.md": agent_page(name, agent) for name, agent in classes.items()}
    return {"agents/index.md": index, "agents/which.md": which_agent_page(), **pages}


def agent_navigation() -> list[Any]:
    """The pages of the agents in the order of the navigation, by group."""
    return ["agents/index.md", "agents/which.md"] + [
        {group.title: [f"agents/{name}.md" for name in group.agents]} for group in groups()
    ]


def agent_page(name: str, agent: type[Any]) -> str:
    """The page of an agent."""
    known = parameters(agent)
    budget = (
        f"Without `simulations` and `seconds` a move has {DEFAULT_SIMULATIONS:,} simulations; "
        "with both, the first to end counts."
    )
    table_of_parameters = parameter_table(known, lambda option: meaning(agent, option))
    return page(
        agent.__name__,
        f"By name `{name}`, in Python [`{public_path(agent)}`][{public_path(agent)}].",
        text_of(agent),
        section("Example", example(agent)),
        section("Formula", told(agent, "Formula")),
        section("What it is made of", composition(agent)),
        section("Sources", sources(agent)),
        section("Parameters", table_of_parameters),
        budget if known.keys() >= {"simulations", "seconds"} else "",
        section("Measured strength", strength(name)),
    )


def public_path(agent: type[Any]) -> str:
    """Where users import an agent from."""
    module = "agents" if agent.__name__ in agents.__all__ else agent.__module__
    return f"{module}.{agent.__name__}"


SPECIAL = {
    "AlphaZero": ("hex7", "hex_v0.env(board_size=7)"),
    "NetworkAgent": ("hex7", "hex_v0.env(board_size=7)"),
    "GomokuEngine": (None, "gomoku_v0.env()"),
    "Gomokupert": (None, "gomoku_v0.env()"),
    "GumbelAgent": ("network:net=connect4", "connect4_v0.env()"),
    "HexAlphaBeta": (None, "hex_v0.env(board_size=7)"),
    "HexZero": (None, "hex_v0.env(board_size=7)"),
    "Hexpert": (None, "hex_v0.env(board_size=7)"),
    "PUCTAgent": ("network:net=connect4", "connect4_v0.env()"),
    "RHMCTS": (None, "gomoku_v0.env()"),
    "Solver": (None, "tictactoe_v0.env()"),
}
"""What an agent is made with besides its defaults, and the environment that it is for."""


def example(agent: type[Any]) -> str:
    """A move of the agent, as code to be copied; empty if it needs what a reader has to provide."""
    first, maker = SPECIAL.get(agent.__name__, (None, "connect4_v0.env()"))
    known = parameters(agent)
    if agent.__name__ not in SPECIAL and any(p.default is p.empty for p in known.values()):
        return ""
    given = [f'"{first}"'] if first else []
    given += [
        f"{name}={value}" for name, value in (("simulations", 1_000), ("seed", 1)) if name in known
    ]
    return "\n".join(
        [
            "```python",
            f"from {public_path(agent).rpartition('.')[0]} import {agent.__name__}",
            f"from hexenv import {maker.partition('.')[0]}",
            "",
            f"env = {maker}",
            "env.reset()",
            f"agent = {agent.__name__}({', '.join(given)})",
            "action = agent.act(env)  # plans on copies; the environment stays as it is",
            "print(env.unwrapped.game.action_text(action))",
            "```",
        ]
    )


def told(agent: type[Any], title: str) -> str:
    """A section of the docstring of the class or its module, or of those that it derives from."""
    for base in agent.__mro__:
        for documented in (base, inspect.getmodule(base)):
            for part in sections(documented):
                if part.title == title:
                    return part.value.description
    return ""


def composition(agent: type[Any]) -> str:
    """The selection rule, the playout and the reward of a tree search, in their own words."""
    if not issubclass(agent, TreeSearchAgent):
        return ""
    known = parameters(agent).values()
    if any(parameter.default is parameter.empty for parameter in known):
        return ""  # it needs a policy to be made
    variant = agent().variant
    rows = [
        [role, f"`{type(part).__name__}`", " ".join(text_of(type(part)).split())]
        for role, part in (
            ("Selection", variant.selection),
            ("Playout", variant.playout),
            ("Reward", variant.reward),
        )
    ]
    return table(["Part", "Class", "What it does"], rows, "parameters")


def sources(agent: type[Any]) -> str:
    """The papers that the docstrings give, or else those they cite by author and year."""
    given = told(agent, "Sources")
    papers = given.split("\n\n") if given else SOURCE.findall(" ".join(text_of(agent).split()))
    return "\n".join(f"* {' '.join(paper.split())}" for paper in papers)


def meaning(agent: type[Any], option: str) -> str:
    """What a parameter means: what the class says of it, or else the class it derives from."""
    documented = [*agent.__mro__, getattr(agent, "settings_class", None)]
    texts = [described(base)[option] for base in documented if option in described(base)]
    return next((text for text in texts if not text.startswith("See `")), "".join(texts[:1]))
