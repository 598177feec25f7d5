"""What users import: a name that is added or goes is a decision, made here too."""

import ast
import importlib
import re

import pytest
from sources import ROOT, SOURCES, text_of, tree_of

import agents
import hexenv

PUBLIC = {
    "agents": """
        GRAVE LGR MAST NRPA RAVE RHMCTS UCT ANETRolloutMCTS Agent AlphaBeta AlphaZero DistanceMCTS
        FlatMonteCarlo ForfeitError GomocupEngine GreedyAgent GumbelAgent HTPEngine HexAlphaBeta
        HexZero Hexpert HistoryMCTS NetworkAgent OwnNetworkAgent PUCTAgent PolicyAgent QualityMCTS
        RandomAgent Solver Statistics TranspositionMCTS TreeSearchAgent UCB1TunedMCTS
    """,
    "agents.arena": """
        AgentStanding CallableAgent Entrant ForfeitError GameResult MatchSummary OnMove
        PairingStanding ResultsError Sprt Standings Tournament TournamentRun bradley_terry close
        is_legal play_game play_match prepare read_results run_tournament summarise
    """,
    "agents.progress": """
        Anchors Rating RatingLog Score TensorBoardWriter WandbWriter Writer rate_policy read_ratings
    """,
    "agents.solvers.solver": "Solver best_actions build_book scores value",
    "agents.knowledge.gomoku.threats": "ThreatSolver vcf vct",
    "hexenv": "IllegalActionError connect4_v0 gomoku_v0 hex_v0 register tictactoe_v0",
    "hexenv.compiled": """
        COMPILE_ERRORS CompiledFunction announced compiled copy_array can_be_compiled copy_entry
        copy_record hash_record inlined_kernel interpreted interpreted_only is_compiled kernel
        optional_method random_stream
        scratch_array uses_machine_code write_bits
    """,
    "hexenv.compiled_numba": """
        HAS_NUMBA MISSING PRIVATE AbstractTemplate AttributeTemplate NativeValue NumbaError
        NumbaRuntimeError TypingError cgutils cpu_target event infer_getattr intrinsic ir
        lower_builtin lower_getattr_generic models numba overload private register_jitable
        register_model type_callable typeof_impl types unbox
    """,
    "hexenv.connect4_v0": "env raw_env",
    "hexenv.games.base": """
        DRAW EMPTY IN_PLAY MOST NO_ACTION OUTSIDE PLAIN_VERBS STATE_FIELDS OptionalVerbs
        Actions Cells Game State StoneGame Style state_dtype
        cell_of copy count_plies drop_played is_terminal last_cell legal_mask next_actions num_cells
        observe outcome owners play_randomly stone_planes to_play why_illegal winning_action
        SECOND_PLAYER_KEY begin owner_by_bits split_draw write_stones zobrist_keys
        column_letters dihedral_images grid_symmetries line_cells parse_board_size parse_cell
        whole_number expect_game
        cell_owners cells_of_action clone legal_actions legal_mask_of new_state new_states
        parameters score_of
    """,
    "hexenv.gomoku_v0": "env raw_env",
    "hexenv.hex_v0": "env raw_env",
    "hexenv.pool": "Member OpponentPool Tally",
    "hexenv.single": "SingleEnv",
    "hexenv.testing": """
        GameLog check_backup check_game check_playout check_reward check_selection grow_tree perft
        perft_by_move record_game
    """,
    "hexenv.tictactoe_v0": "env raw_env",
    "hexenv.vector": "BoardVectorEnv",
    "hexenv.wrappers": """
        CanonicalHex FlattenBoards StackBoards SymmetryAugmentation VectorCanonicalHex
        VectorFlattenBoards VectorOneSidedReward VectorStackBoards VectorSymmetryAugmentation
    """,
}
"""The modules whose `__all__` says what is for users, and what that is."""

AMONG_OTHERS = {
    "hexenv.adapters.networks": "BoardFeatures",
    "hexenv.adapters.rllib": """
        MultiAgentBoardEnv RLlibObservation make_env masked_module share_pool
    """,
    "hexenv.adapters.sb3": "BoardCNN BoardVecEnv LogRatings SelfPlay",
    "hexenv.adapters.torchrl": "BatchedBoardEnv GROUP wrap",
    "hexenv.envs.aec": "BoardEnv ViewOptions",
    "hexenv.games.connect4": "Connect4 new",
    "hexenv.games.gomoku": "Gomoku new",
    "hexenv.games.hex": "Hex new",
    "hexenv.games.own": "game",
    "hexenv.games.tictactoe": "TicTacToe new",
    "hexenv.learners.pool": "OpponentPool",
    "hexenv.learners.single": "SingleEnv",
    "hexenv.learners.vector": "BoardVectorEnv",
    "hexenv.envs.standard_wrapper": "StandardWrapper with_standard_wrapper",
}
"""Modules of `hexenv` with a name or two for users among other things: what these are."""


@pytest.mark.parametrize("name", PUBLIC)
def test_the_public_names_are_these(name):
    module = importlib.import_module(name)
    assert sorted(module.__all__) == sorted(PUBLIC[name].split())
    assert all(hasattr(module, public) for public in module.__all__)


OLD_NAMES = agents.registry.MOVED | hexenv.MOVED
OLD_NAMES |= {  # of packages that moved
    f"agents.alphahex.{name}": f"agents.learning.{name}"
    for name in ("configuration", "networks", "replay", "self_play", "training")
} | {
    f"agents.tournament.{name}": f"agents.arena.{name}"
    for name in ("specification", "standings", "ratings", "results")
}


@pytest.mark.parametrize("old", OLD_NAMES)
def test_an_old_name_of_a_module_is_the_same_module(old):
    if "alphahex" in old:
        pytest.importorskip("torch", reason="the extra train is not installed")
    assert importlib.import_module(old) is importlib.import_module(OLD_NAMES[old])


def test_every_agent_by_name_is_public():
    from agents.registry import agent_classes

    known = {getattr(agents, name) for name in agents.__all__}
    by_path = {kind for kind in agent_classes().values() if kind not in known}
    assert {kind.__name__ for kind in by_path} == {"RLlibPolicy", "SB3Policy"}


# ---- hexenv --------------------------------------------------------------------------------------


def test_every_list_of_hexenv_is_here():
    with_list = {
        module
        for module in SOURCES
        if re.search(r"^__all__ = ", text_of(module), re.MULTILINE) and module.startswith("hexenv")
    }
    assert with_list == {name for name in PUBLIC if name.startswith("hexenv")}


@pytest.mark.parametrize("module", AMONG_OTHERS)
def test_what_users_import_of_other_modules_is_made_there(module):
    names = set()
    for node in tree_of(module).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names.update(ast.unparse(target) for target in node.targets)
    assert set(AMONG_OTHERS[module].split()) <= names


def imported(text):
    """The names that a program imports of `hexenv`, each with its module."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "hexenv":
            for alias in node.names:
                yield node.module, alias.name


def programs():
    readme = (ROOT / "README.md").read_text("utf-8")
    yield from re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    for path in (ROOT / "examples").rglob("*.py"):
        yield path.read_text("utf-8")


def test_examples_import_public_names_alone():
    modules = PUBLIC | AMONG_OTHERS
    found = {pair for text in programs() for pair in imported(text)}
    assert ("hexenv.testing", "check_game") in found
    for module, name in found:
        is_public = name in modules.get(module, "").split()
        assert is_public or f"{module}.{name}" in modules, f"{module}.{name}"


@pytest.mark.parametrize(
    ("module", "names"),
    [
        ("agents.solver", "Solver best_actions build_book scores value"),
        ("agents.threats", "ThreatSolver vcf vct"),
        ("agents.films", "film_of"),
        ("agents.naming", "make_agent make_environment"),
        ("agents.playouts", "make_playout"),
        ("agents.tree_search", "TreeSearchAgent"),
    ],
)
def test_old_names_of_modules_hold_what_users_import(module, names):
    assert all(hasattr(importlib.import_module(module), name) for name in names.split())
