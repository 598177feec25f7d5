"""The reference: which modules are for users, each documented by its docstrings."""

import agents
from agents.registry import agent_classes, environment_makers

MODULES = {
    "Environments": ["hexenv.envs.aec", "hexenv.envs.standard_wrapper"],
    "Learners": [
        "hexenv.learners.single", "hexenv.learners.vector", "hexenv.learners.pool",
        "hexenv.wrappers",
        "hexenv.adapters.sb3", "hexenv.adapters.rllib", "hexenv.adapters.torchrl",
        "hexenv.adapters.networks",
        "hexenv.learners.boards",
    ],
    "Rules": [
        "hexenv.games.contract", "hexenv.games.base", "hexenv.games.notation", "hexenv.compiled",
        "hexenv.testing",
    ],
    "Agents": ["agents", "agents.mcts.playouts", "agents.registry"],
    "Matches, solvers, plots": [
        "agents.arena", "agents.solvers.solver", "agents.knowledge.connect4.book.build_book",
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
        "agents.data.positions", "agents.data.folder", "agents.data.playing",
        "agents.data.parquet", "agents.data.minari", "agents.learning.data",
    ],
}  # fmt: skip
"""The pages of the reference and what is on them; games and agents come by themselves."""


def reference_pages() -> dict[str, str | bytes]:
    """The pages of the reference, by path."""
    found = {title: [*modules] for title, modules in MODULES.items()}
    games = [maker.__module__ for maker in environment_makers().values()]
    found["Environments"] = ["hexenv", *games, *found["Environments"]]
    found["Agents"] += [
        f"{agent.__module__}.{agent.__qualname__}"
        for agent in agent_classes().values()
        if agent.__name__ not in agents.__all__ and agent.__module__ not in MODULES["Learning"]
    ]
    return {
        f"reference/{title.lower().replace(',', '').replace(' ', '-')}.md": page(title, names)
        for title, names in found.items()
    }


def page(title: str, names: list[str]) -> str:
    """A page of the reference."""
    return f"# {title}\n\n" + "\n\n".join(f"::: {name}" for name in names) + "\n"
