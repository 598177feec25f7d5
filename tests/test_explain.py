"""Searches step by step: the steps are those of the search, and what they say of it is true."""

from collections import Counter

import numpy as np
import pytest
from click.testing import CliRunner
from environments import make

from agents import PolicyAgent, explain
from agents.apps.cli import main
from agents.apps.web.page import explain_data, explain_page
from agents.mcts.puct import PUCTAgent
from agents.records.films import film_of_search
from agents.registry import make_agent
from agents.search.checks import COMPARED

GAMES = ("tictactoe", "connect4-4x5", "hex-5", "gomoku-4")
VARIANTS = ("uct", "rave", "history", "ucb1-tuned", "uct:fpu=0.5")
STEPS = 200


def at(board):
    env = make(board, "env")
    env.reset(seed=1)
    return env


def agent_for(name):
    separator = "," if ":" in name else ":"
    return make_agent(f"{name}{separator}simulations={STEPS},playout=generic", seed=3)


def tree_of(agent):
    tree = agent.planner.trees[0]
    count = int(tree.node_count[0])
    return {name: getattr(tree, name)[:count].copy() for name in COMPARED}


@pytest.mark.parametrize("board", GAMES)
@pytest.mark.parametrize("name", VARIANTS)
def test_the_steps_are_the_search(name, board):
    """Node for node: the tree of the agent's own search from the same seed."""
    one, other = agent_for(name), agent_for(name)
    env = at(board)
    found = explain(env, one, STEPS)
    other.act(env)
    for part, array in tree_of(other).items():
        np.testing.assert_array_equal(tree_of(one)[part], array)
    assert one.simulations == STEPS
    assert len(found.steps) == other.statistics.simulations
    visits = Counter(step.actions[0] for step in found.steps)
    assert visits == Counter(dict(enumerate(other.statistics.visits.tolist())))


@pytest.mark.compiled
@pytest.mark.parametrize("board", GAMES)
@pytest.mark.parametrize("name", VARIANTS)
def test_the_steps_are_the_compiled_search(name, board):
    test_the_steps_are_the_search(name, board)


@pytest.mark.parametrize("board", GAMES)
@pytest.mark.parametrize("name", [*VARIANTS, "grave", "flat"])
def test_what_a_step_says_is_what_happens(name, board):
    """Scores are known before the simulation goes where they say; visits are counted again."""
    found = explain(at(board), agent_for(name), STEPS)
    counted, rewards, expanded = Counter(), Counter(), set()
    for step in found.steps:
        nodes = [step.actions[:depth] for depth in range(len(step.actions) + 1)]
        assert step.is_expanded == (nodes[-1] not in counted)
        counted.update(nodes)
        assert [counted[node] for node in nodes[1:]] == list(step.visits[1:])
        rewards[nodes[1]] += step.reward
        if nodes[1] in counted and step.proofs[1] is None:
            assert step.values[1] == pytest.approx(rewards[nodes[1]] / counted[nodes[1]])
        for node, choice in zip(nodes, step.choices, strict=False):
            if not choice.candidates:  # the node has no children yet
                assert choice.reason == "drawn"
                assert node not in expanded
            expanded.add(node)
            if choice.reason == "score":
                check_scores(found.parts, choice)


def check_scores(parts, choice):
    best = max(one.score for one in choice.candidates if not one.is_left_out)
    (chosen,) = (one for one in choice.candidates if one.action == choice.action)
    assert chosen.score == best
    for one in choice.candidates:
        assert len(one.parts) == len(parts)
        if np.isfinite(one.score):
            assert sum(part or 0.0 for part in one.parts) == pytest.approx(one.score)
        if one.visits:
            assert one.parts[0] == pytest.approx(one.value)


def test_the_part_of_a_weight_is_that_of_the_formula():
    found = explain(at("connect4-4x5"), "uct:c=0.7,seed=1", 100)
    choice = found.steps[-1].choices[0]
    total = sum(one.visits for one in choice.candidates)
    for one in choice.candidates:
        bonus = 0.7 * np.sqrt(np.log(total + 1) / one.visits)
        assert one.parts == pytest.approx((one.value, bonus, 0.0))


def test_another_weight_chooses_by_its_own_scores():
    found = explain(at("connect4-4x5"), "uct:seed=1", 100)
    choices = [step.choices[0] for step in found.steps if step.choices[0].others]
    for choice in choices:
        greedy = max(choice.candidates, key=lambda one: one.value)
        assert dict(choice.others)[0.0] in {
            one.action for one in choice.candidates if one.value == greedy.value
        }
    assert any(dict(choice.others)[0.0] != choice.action for choice in choices)


def test_a_policy_takes_the_place_of_playouts():
    policy = PolicyAgent.from_priors(
        lambda planes: (np.ones((len(planes), 9)), np.full(len(planes), 0.5))
    )
    found = explain(at("tictactoe"), PUCTAgent(policy, seed=1), 20)
    assert all(step.end is None or found.game.is_terminal(step.end) for step in found.steps)
    assert found.steps[0].reward == 0.25  # the opponent, to move at the leaf, has 0.75
    assert len(film_of_search(found)) == 2 * 20


@pytest.mark.parametrize(
    "name", ["solver", "nrpa", "transposition", "uct:workers=2", "rhmcts:eager=true", "random"]
)
def test_agents_without_one_tree_by_turns_are_refused(name):
    with pytest.raises(ValueError, match="expected"):
        explain(at("tictactoe"), name, 10)


@pytest.mark.parametrize("simulations", [0, -1, 10_001])
def test_the_number_of_steps_is_bounded(simulations):
    with pytest.raises(ValueError, match="simulations"):
        explain(at("tictactoe"), "uct", simulations)


def test_the_page_has_the_steps_and_no_more_than_it_shows():
    found = explain(at("hex-5"), agent_for("rave"), 50)
    data = explain_data(found)
    assert [len(step["way"]) for step in data["steps"]] == [
        len(step.actions) for step in found.steps
    ]
    for step in data["steps"]:
        for choice in step["choices"]:
            assert len(choice["candidates"]) <= 8
            assert choice["reason"] == "drawn" or choice["text"] in {
                one["text"] for one in choice["candidates"]
            }
    assert f"<title>{found.title.partition(';')[0]}" in explain_page(found)


@pytest.mark.parametrize("suffix", ["html", "gif", "svg"])
def test_the_command_writes_a_page_or_a_film(tmp_path, suffix):
    target = tmp_path / f"search.{suffix}"
    told = CliRunner().invoke(
        main, ["explain", "tictactoe", "uct", "--simulations", "5", "--to", str(target)]
    )
    assert told.exit_code == 0, told.output
    assert target.stat().st_size > 1000


def test_the_command_prints_the_ways():
    line = ["explain", "connect4", "uct:seed=1", "--position", "4453", "--simulations", "12"]
    told = CliRunner().invoke(main, line)
    assert told.exit_code == 0
    assert len(told.output.splitlines()) == 13


def test_a_file_of_another_kind_is_refused(tmp_path):
    told = CliRunner().invoke(main, ["explain", "hex", "uct", "--to", str(tmp_path / "a.pdf")])
    assert told.exit_code == 2
