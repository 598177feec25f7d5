"""The reference: which modules are for users, each documented by its docstrings."""

from which_agent import groups

import agents
from agents.registry import agent_classes, environment_makers

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
        "agents.knowledge.gomoku.threats", "agents.pictures.plots",
    ],
    "Records and films": [
        "agents.records", "agents.pictures.films", "hexenv.render.look", "hexenv.render.overlay",
        "hexenv.render.rgb", "hexenv.render.svg", "hexenv.render.ansi",
    ],
    "Parts of a search": [
        "agents.search.mcts", "agents.search.selection", "agents.search.playout",
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
        "agents.data.positions", "agents.data.folder", "agents.data.playing",
        "agents.data.parquet", "agents.data.minari", "agents.learning.data",
    ],
}  # fmt: skip
"""The pages of the reference and what is on them; games and agents come by themselves."""


def reference_pages() -> dict[str, str | bytes]:
    """The pages of the reference, by path; each family of agents has its own, below Agents."""
    found = {title: [*modules] for title, modules in MODULES.items()}
    games = [maker.__module__ for maker in environment_makers().values()]
    found["Environments"] = ["hexenv", *games, *found["Environments"]]
    pages: dict[str, str | bytes] = {}
    for title, names in found.items():
        of_families = family_pages() if title == "Agents" else {}
        name = slug(title) + ("/index" if of_families else "")
        pages |= {f"reference/{name}.md": page(title, names)} | of_families
    return pages


def family_pages() -> dict[str, str | bytes]:
    """A page for each group of agents, with those that no other page has."""
    classes = agent_classes()
    pages: dict[str, str | bytes] = {}
    for group in groups():
        names = [
            f"agents.{agent.__name__}"
            if agent.__name__ in agents.__all__
            else f"{agent.__module__}.{agent.__qualname__}"
            for agent in map(classes.__getitem__, group.agents)
            if agent.__module__ not in MODULES["Learning"]
        ]
        pages[f"reference/agents/{slug(group.title)}.md"] = page(group.title, names)
    return pages


def slug(title: str) -> str:
    """A title as the name of a page."""
    return title.lower().replace(",", "").replace(" ", "-")


def page(title: str, names: list[str]) -> str:
    """A page of the reference."""
    return f"# {title}\n\n" + "\n\n".join(map(entry, names)) + "\n"


def entry(name: str) -> str:
    """What mkdocstrings fills in for a name; of `agents` what is no agent by name."""
    if name != "agents":
        return f"::: {name}"
    classes = {agent.__name__ for agent in agent_classes().values()}
    members = [each for each in agents.__all__ if each not in classes]
    return f"::: {name}\n    options: {{ members: {members} }}"
