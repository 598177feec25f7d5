"""What users import of `agents`: a name that is added or goes is a decision, made here too."""

import importlib
import pkgutil

import pytest

import agents

PUBLIC = {
    "agents": """
        GRAVE LGR MAST NRPA RAVE RHMCTS UCT ANETRolloutMCTS Agent AlphaBeta AlphaZero DistanceMCTS
        FlatMonteCarlo ForfeitError GomocupEngine GreedyAgent GumbelAgent HTPEngine HistoryMCTS
        NetworkAgent PUCTAgent PolicyAgent QualityMCTS RandomAgent Solver Statistics
        TranspositionMCTS TreeSearchAgent UCB1TunedMCTS
    """,
    "agents.arena": """
        AgentStanding CallableAgent Entrant ForfeitError GameResult MatchSummary OnMove
        PairingStanding ResultsError Sprt Standings Tournament TournamentRun bradley_terry close
        is_legal play_game play_match prepare read_results run_tournament summarise
    """,
    "agents.solver": "Solver best_actions build_book scores value",
    "agents.threats": "ThreatSolver vcf vct",
}
"""The modules for users that say what in them is for users, and what that is."""


@pytest.mark.parametrize("name", PUBLIC)
def test_the_public_names_are_these(name):
    module = importlib.import_module(name)
    assert sorted(module.__all__) == sorted(PUBLIC[name].split())
    assert all(hasattr(module, public) for public in module.__all__)


def test_a_package_has_no_other_names():
    modules = {module.name for module in pkgutil.iter_modules(agents.__path__)}
    names = {name for name in vars(agents) if not name.startswith("_")}
    assert names - modules == set(agents.__all__) - modules


def test_every_agent_by_name_is_public():
    from agents.naming import agent_classes

    known = {getattr(agents, name) for name in agents.__all__}
    by_path = {kind for kind in agent_classes().values() if kind not in known}
    assert {kind.__name__ for kind in by_path} == {"RLlibPolicy", "SB3Policy"}
