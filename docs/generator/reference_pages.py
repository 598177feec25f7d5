"""The reference: which modules are for users, each documented by its docstrings."""

from agent_pages import public_path
from which_agent import groups
from writing import Pages, page

import agents
from agents.registry import agent_classes, environment_makers

SETUP = """\
>>> from agents import UCT, TreeSearchAgent
>>> from hexenv import tictactoe_v0
>>> env = tictactoe_v0.env()
>>> env.reset(options={"moves": "1 4 2 5"})  # now 3 wins: action 2
"""
"""What comes before each example: the tests run it, and the reference shows it once a page."""
BEFORE = f"What the examples after `>>>` take as given:\n\n```pycon\n{SETUP}```"
MODULES = {
    "Environments": ["hexenv.envs.aec", "hexenv.envs.standard_wrapper"],
    "Learners": ["hexenv.learners.single", "hexenv.wrappers", "hexenv.learners.options"],
    "Many games at once": ["hexenv.learners.vector", "hexenv.learners.pool"],
    "Libraries for learning": [
        "hexenv.adapters.sb3", "hexenv.adapters.rllib", "hexenv.adapters.torchrl",
        "hexenv.adapters.networks",
    ],
    "Rules": [
        "hexenv.games.contract", "hexenv.games.base", "hexenv.games.notation", "hexenv.compiled",
        "hexenv.testing",
    ],
    "Agents": ["agents", "agents.mcts.playouts", "agents.registry"],
    "Matches": ["agents.arena"],
    "Solvers and plots": [
        "agents.solvers.solver", "agents.knowledge.connect4.book.build_book",
        "agents.knowledge.gomoku.threats", "agents.records.plots",
    ],
    "Records and films": [
        "agents.records", "agents.records.films", "hexenv.render.look", "hexenv.render.overlay",
        "hexenv.render.rgb", "hexenv.render.svg", "hexenv.render.ansi",
    ],
    "Parts of a search": [
        "agents.mcts.settings", "agents.search.variant", "agents.search.mcts",
        "agents.search.selection", "agents.search.playout",
        "agents.search.reward", "agents.search.backups", "agents.search.simulation",
        "agents.search.tree", "agents.search.checks",
        "agents.search.proofs", "agents.search.evaluator.Evaluator",
    ],
    "Parts of variants": [
        "agents.mcts.rave.Rave", "agents.mcts.rave.amaf_weight",
        "agents.mcts.grave.Grave", "agents.mcts.history.ProgressiveHistory",
        "agents.mcts.ucb1_tuned.UCB1Tuned", "agents.mcts.flat.Evenly", "agents.mcts.mast.Mast",
        "agents.mcts.mast.NST", "agents.mcts.lgr.LastGoodReply", "agents.mcts.ppa.PolicyAdaptation",
        "agents.mcts.quality.RelativeBonus", "agents.mcts.quality.Discounted",
        "agents.mcts.distance.DistanceScore", "agents.mcts.distance.DistanceUCB",
        "agents.mcts.nrpa.select", "agents.mcts.nrpa.adapt_policies",
        "agents.knowledge.hex.bridges", "agents.mcts.puct", "agents.mcts.gumbel",
    ],
    "Learning": [
        "agents.policies.policy", "agents.policies.models", "agents.learning.configuration",
        "agents.learning.replay", "agents.learning.training", "agents.learning.networks",
    ],
    "Data for learning": [
        "agents.learning.data.positions", "agents.learning.data.folder",
        "agents.learning.data.making", "agents.learning.data.playing",
        "agents.learning.data.parquet", "agents.learning.data.minari", "agents.learning.dataset",
    ],
}  # fmt: skip
"""The pages of the reference and what is on them; games and agents come by themselves."""


COMMAND_LINE = """\
::: mkdocs-click
    :module: agents.apps.cli
    :command: main
    :prog_name: hexenv
    :depth: 1"""


def reference_pages() -> Pages:
    """The pages of the reference, by path; each family of agents has its own, below Agents."""
    found = {title: [*modules] for title, modules in MODULES.items()}
    games = [maker.__module__ for maker in environment_makers().values()]
    found["Environments"] = ["hexenv", *games, *found["Environments"]]
    pages: Pages = {}
    for title, names in found.items():
        of_families = family_pages() if title == "Agents" else {}
        name = slug(title) + ("/index" if of_families else "")
        pages |= {f"reference/{name}.md": page(title, BEFORE, *map(entry, names))} | of_families
    return pages | {"reference/command-line.md": page("Command line", COMMAND_LINE)}


def family_pages() -> Pages:
    """A page for each group of agents, with those that no other page has."""
    classes = agent_classes()
    pages: Pages = {}
    for group in groups():
        found = [
            public_path(agent)
            for agent in map(classes.__getitem__, group.agents)
            if agent.__module__ not in MODULES["Learning"]
        ]
        text = page(group.title, BEFORE, *map(entry, found))
        pages[f"reference/agents/{slug(group.title)}.md"] = text
    return pages


def slug(title: str) -> str:
    """A title as the name of a page."""
    return title.lower().replace(",", "").replace(" ", "-")


def entry(name: str) -> str:
    """What mkdocstrings fills in for a name; of `agents` what is no agent by name."""
    if name != "agents":
        return f"::: {name}"
    classes = {agent.__name__ for agent in agent_classes().values()}
    members = [each for each in agents.__all__ if each not in classes]
    return f"::: {name}\n    options: {{ members: {members} }}"
