"""A game and a variant of the search from outside go through everything, by their names alone.

They are the files that the examples show: `own_game.py` and `own_selection.py`, each on the path of
whoever has it, and nothing in the packages knows them.
"""

import importlib
import json
import re
import warnings
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from click.testing import CliRunner
from conftest import HAS_COMPILER
from PIL import Image

from agents.apps.cli import main
from agents.arena import play_match
from agents.planning.view import planner_view
from agents.records import load_record
from agents.registry import make_agent, make_environment
from hexenv.learners.single import SingleEnv
from hexenv.learners.vector import BoardVectorEnv
from hexenv.testing import check_game, perft

with warnings.catch_warnings():  # it imports one of its own games in a way that it deprecates
    warnings.simplefilter("ignore", DeprecationWarning)
    from pettingzoo.test import api_test

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
GAME = "own_game:env"
VARIANT = "own_selection.SqrtAgent"
COLUMNS = 5
MOVES_TO_A_WIN = "7 1 6 2"
"""After these player 0 wins with 8 along the row, with 10 around the tube."""


@pytest.fixture(autouse=True)
def found(monkeypatch):
    """Put the two files where Python finds them, here and in processes started from here."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.setenv("PYTHONPATH", str(EXAMPLES), prepend=":")


@pytest.fixture
def own_game():
    return importlib.import_module("own_game")


@pytest.fixture
def own_selection():
    return importlib.import_module("own_selection")


def command(*arguments):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def before_a_win(**view):
    env = make_environment(GAME, **view)
    env.reset(options={"moves": MOVES_TO_A_WIN})
    return env


def test_nothing_in_the_packages_knows_them():
    packages = [EXAMPLES.parent / package for package in ("hexenv", "agents")]
    texts = [path.read_text("utf-8") for package in packages for path in package.rglob("*.py")]
    assert len(texts) > 100
    for name in ("own_game", "own_selection", "Tube", "SqrtVisits"):
        assert not any(name in text for text in texts)


# ---- the game ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rows", "columns"), [(3, 5), (2, 3), (4, 4)])
def test_the_game_fulfils_the_contract(own_game, rows, columns):
    check_game(own_game.Tube(rows, columns), games=6)


def test_its_moves_are_counted(own_game):
    assert perft(own_game.Tube(), 3) == 15 * 14 * 13


def test_it_is_a_pettingzoo_environment(own_game):
    for make in (own_game.raw_env, own_game.env):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of masks, and an empty board
            api_test(make(), num_cycles=100)


def test_it_wins_around_the_tube():
    for winning in (8, 10):
        env = before_a_win()
        env.step(winning - 1)
        assert env.rewards == {"player_0": 1.0, "player_1": -1.0}


def test_it_refuses_what_it_does_not_know():
    with pytest.raises(ValueError, match="at most 31, got 3 x 2"):
        make_environment(GAME, ["columns=2"])
    with pytest.raises(TypeError, match=r"got .*'swap'"):
        SingleEnv("own_game:raw_env", swap=True)
    with pytest.raises(ValueError, match="7 is taken"):
        before_a_win().unwrapped.step(6)


def test_it_is_a_gymnasium_environment():
    env = SingleEnv("own_game:raw_env", opponent=f"{VARIANT}:simulations=5", columns=4)
    rng = np.random.default_rng(0)
    rewards = set()
    for seed in range(6):
        observation, _ = env.reset(seed=seed)
        assert observation["observation"].shape == (3, 4, 2)
        over = False
        while not over:
            legal = np.flatnonzero(observation["action_mask"])
            observation, reward, over, truncated, _ = env.step(rng.choice(legal))
            assert not truncated
            assert reward == 0.0 or over
        rewards.add(reward)
    assert -1.0 in rewards


def test_it_is_a_vector_environment_that_plays_as_single_ones():
    envs = BoardVectorEnv("own_game:raw_env", num_envs=3, opponent="greedy")
    singles = [SingleEnv("own_game:raw_env", opponent="greedy") for _ in range(3)]
    observations, _ = envs.reset(seed=5)
    expected = [env.reset(seed=5 + board)[0] for board, env in enumerate(singles)]
    over = np.zeros(3, np.bool_)
    while not over.any():
        for board, observation in enumerate(expected):
            for key, array in observation.items():
                assert np.array_equal(observations[key][board], array)
        actions = np.argmax(observations["action_mask"], axis=1)
        observations, rewards, over, _, _ = envs.step(actions)
        stepped = [env.step(action) for env, action in zip(singles, actions, strict=True)]
        expected = [one[0] for one in stepped]
        assert rewards.tolist() == [one[1] for one in stepped]
        assert over.tolist() == [one[2] for one in stepped]


def test_it_is_drawn():
    env = before_a_win(render_mode="ansi")
    rows = [line for line in env.render().splitlines() if line.count(".") > 1]
    assert ["".join(row.split()) for row in rows] == ["O(O)...", "XX...", "....."]
    env = before_a_win(render_mode="rgb_array")
    before = env.render()
    env.step(7)
    after = env.render()
    assert (before.dtype, before.shape) == (np.uint8, after.shape)
    assert (before != after).any()


# ---- the search, and the variant -----------------------------------------------------------------

ROUTES = ["interpreted", "environment"] + (["compiled"] if HAS_COMPILER else [])


@pytest.mark.compiled
@pytest.mark.parametrize("route", ROUTES)
def test_a_search_plans_through_it(route):
    env = before_a_win()
    assert planner_view(env, route).compiles == (route == "compiled")
    for rule in ("uct",) if route == "compiled" else ("uct", "rave"):
        agent = make_agent(f"{rule}:simulations=100,route={route}", seed=1)
        assert agent.act(env) in (7, 9)


def test_the_variant_searches_it():
    agent = make_agent(f"{VARIANT}:simulations=100", seed=1)
    assert agent.act(before_a_win()) in (7, 9)
    env = make_environment(GAME)
    env.reset()
    assert env.unwrapped.is_legal(agent.act(env))
    assert agent.statistics.visits.sum() == 100


@pytest.mark.parametrize("game", ["tictactoe", "connect4"])
def test_the_variant_plays_other_games(game, own_selection):
    env = make_environment(game)
    agents = [own_selection.SqrtAgent(40), make_agent("random")]
    results = list(play_match(env, agents, 4, seed=2))
    assert sum(result.outcome for result in results) > 0
    assert all(result.illegal is None for result in results)


# ---- matches and tournaments ---------------------------------------------------------------------


def test_a_tournament_in_processes(tmp_path):
    """Each of them finds the game and the variant by name."""
    path, records = tmp_path / "results.jsonl", tmp_path / "records"
    quick = "simulations=20,route=interpreted"  # nothing to compile in each process
    agents = (f"{VARIANT}:{quick}", f"uct:{quick}", "random")
    flags = ("--option", "columns=4", "--pairs", 1, "--workers", 2, "--results", path, "--seed", 1)
    printed = command("tournament", GAME, *agents, *flags, "--records", records)
    assert all(agent.partition(":")[0] in printed for agent in agents)
    assert len(path.read_text().splitlines()) == 1 + 6  # a header, and two games of three pairings
    kept = [load_record(file) for file in records.iterdir()]
    assert len(kept) == 6
    for record in kept:
        assert (record.game, record.options) == (GAME, ("columns=4",))
        *_, last = record.replay(make_environment(GAME, record.options))
        assert last.rewards["player_0"] == record.outcome


# ---- records, films and pages --------------------------------------------------------------------


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    """The file of a game between the variant and another search."""
    records = tmp_path_factory.mktemp("records")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(EXAMPLES))
        agents = (f"{VARIANT}:simulations=30", "uct:simulations=30,route=interpreted")
        command("match", GAME, *agents, "--games", 1, "--option", "columns=4", "--records", records)
    (path,) = records.iterdir()
    return path


def test_its_record_is_replayed_where_the_game_is_given(record):
    found = load_record(record)
    with pytest.raises(ValueError, match=GAME):
        found.rules()
    *_, last = found.replay(make_environment(found.game, found.options))
    assert list(found.actions) == last.unwrapped.actions
    assert found.searches[0].visits


@pytest.mark.parametrize("suffix", [".gif", ".svg", ".html", ".png", ".txt"])
def test_its_record_is_drawn(record, suffix, tmp_path):
    """With the search's visits in all formats; the page has them anyway."""
    target, plies = tmp_path / f"game{suffix}", len(load_record(record).actions)
    flags = () if suffix == ".html" else ("--overlay", "visits", "--numbers")
    command("render", record, "--to", target, "--game", GAME, *flags)
    match suffix:
        case ".gif" | ".png":
            with Image.open(target) as image:
                assert image.n_frames == plies + 1 if suffix == ".gif" else image.size > (150, 100)
        case ".svg":
            assert ElementTree.parse(target).getroot().tag.endswith("svg")
        case ".html":
            page = target.read_text("utf-8")
            data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])
            assert len(data["frames"]) == plies + 1
        case _:
            assert target.read_text("utf-8").count(" to play (ply ") == plies


def test_its_record_is_drawn_only_where_the_game_is_named(record, tmp_path):
    for suffix in (".gif", ".svg", ".html"):
        target = tmp_path / f"game{suffix}"
        result = CliRunner().invoke(main, ["render", str(record), "--to", str(target)])
        assert result.exit_code == 2
        assert re.search(f"expected .* {GAME}", result.stderr)
        assert not target.exists()
