"""Learned policies as agents, without a learning library: functions and arrays stand for them."""

from typing import NamedTuple

import numpy as np
import pytest

from agents import (
    UCT,
    AlphaBeta,
    ANETRolloutMCTS,
    GumbelAgent,
    PolicyAgent,
    PUCTAgent,
    RandomAgent,
)
from agents.arena import play_match
from agents.registry import make_agent
from agents.search.evaluator import PolicyError
from hexenv import connect4_v0, hex_v0, tictactoe_v0
from hexenv.compiled import compiled
from hexenv.learners.single import SingleEnv
from hexenv.learners.vector import BoardVectorEnv

CONNECT4 = "hexenv.connect4_v0:raw_env"


def started(env, moves=""):
    env.reset(options={"moves": moves})
    return env


def constant(logits, values=None):
    """A policy that says the same everywhere."""
    return lambda planes, masks: (
        np.tile(np.asarray(logits, float), (len(masks), 1)),
        None if values is None else np.full(len(masks), values),
    )


def seen_by(log):
    def policy(planes, masks):
        log.append((planes.copy(), masks.copy()))
        return masks.astype(float), None

    return policy


@pytest.mark.parametrize("temperature", [0.0, 1e-320])
def test_the_highest_legal_logit_is_played(temperature):
    agent = PolicyAgent(constant([0, 1, 2, 9, 4, 5, 6]), temperature)
    env = started(connect4_v0.env())
    assert agent.act(env) == 3
    assert agent.act(started(env, "444444")) == 6  # column 4 is full


@pytest.mark.parametrize("temperature", [0.5, 1.0])
def test_a_temperature_draws_in_proportion(temperature):
    odds = np.array([1, 2, 4, 1, 1, 1, 1])
    agent = PolicyAgent(constant(np.log(odds)), temperature, seed=0)
    env = started(connect4_v0.env())
    counts = np.bincount([agent.act(env) for _ in range(4_000)], minlength=7)
    shares = odds ** (1 / temperature)
    assert np.allclose(counts / 4_000, shares / shares.sum(), atol=0.03)


def test_one_seed_gives_one_game():
    def game(seed):
        agents = [PolicyAgent(constant(np.zeros(9)), 1.0, seed=seed), RandomAgent(1)]
        return next(play_match(tictactoe_v0.env(), agents, 3, seed=seed)).actions

    assert game(5) == game(5)
    assert game(5) != game(6)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (constant(np.zeros(8)), r"shape \(1, 7\), got \(1, 8\)"),
        (constant([0, 0, 0, np.nan, 0, 0, 0]), r"got nan \(1 of 7\)"),
        (constant(np.full(7, -np.inf)), r"finite logit .*, got none \(1 of 1\)"),
        (constant([0, np.inf, 0, 0, 0, 0, 0]), r"got inf \(1 of 7\)"),
        (constant(np.zeros(7), np.nan), r"finite values, got nan \(1 of 1\)"),
        (lambda planes, masks: 1 / 0, "ZeroDivisionError: division by zero"),
        (lambda planes, masks: masks, "got ndarray"),
        (lambda planes, masks: None, "got NoneType"),
        (lambda planes, masks: ("a", None), "got tuple"),
    ],
    ids=["shape", "nan", "none", "infinite", "value", "failing", "bare", "nothing", "text"],
)
def test_a_wrong_answer_names_the_agent_and_the_position(policy, message):
    agent = PolicyAgent(policy, title="mine")
    with pytest.raises(ValueError, match=rf"^mine: .*{message} \(ply 3, after '445'\)$"):
        agent.act(started(connect4_v0.env(), "445"))
    observations, masks = np.zeros((3, 6, 7, 2)), np.ones((3, 7), np.int8)
    with pytest.raises(ValueError, match=r"^mine: .* \(row 0\)$"):
        agent(observations, masks)


@pytest.mark.parametrize("where", ["logits", "values"])
def test_the_row_that_is_wrong_is_named(where):
    def policy(planes, masks):
        answer = {"logits": np.zeros(masks.shape), "values": np.zeros(len(masks))}
        answer[where][2:] = np.nan
        return answer["logits"], answer["values"]

    with pytest.raises(ValueError, match=r"\(row 2\)$"):
        PolicyAgent(policy)(np.zeros((4, 6, 7, 2)), np.ones((4, 7), np.int8))


def test_a_wrong_answer_over_a_foreign_environment_names_it():
    connect_four = pytest.importorskip("pettingzoo.classic.connect_four_v3")
    env = connect_four.env()
    env.reset(seed=0)
    agent = PolicyAgent(constant(np.zeros(8)), title="mine")
    with pytest.raises(ValueError, match=r"^mine: expected logits .* \(player_0 to move in conn"):
        agent.act(env)


def test_a_mask_without_a_legal_action_never_reaches_the_policy():
    agent = PolicyAgent(lambda planes, masks: pytest.fail("was asked"))
    masks = np.ones((2, 7), np.int8)
    masks[1] = 0
    with pytest.raises(ValueError, match=r"expected a mask with a legal action in it.*\(row 1\)"):
        agent(np.zeros((2, 6, 7, 2)), masks)


@pytest.mark.parametrize("answer", [3, -1, 7, 2.5, None, [1], "1"])
def test_a_function_that_plays_illegally_is_named(answer):
    def stubborn(planes, mask):
        mask[:] = 1  # which makes nothing legal
        return answer

    agent = PolicyAgent.from_function(stubborn)
    with pytest.raises(ValueError, match=r"^stubborn: expected a legal action, got .*ply 6, after"):
        agent.act(started(connect4_v0.env(), "444444"))


def test_a_function_sees_the_planes_and_the_mask_of_who_is_to_move():
    seen = []

    def function(planes, mask):
        seen.append((planes, mask))
        return int(np.flatnonzero(mask)[-1])

    env = started(connect4_v0.env(), "4")
    assert PolicyAgent.from_function(function, temperature=5.0).act(env) == 6  # as at any
    planes, mask = seen[0]
    assert planes.shape == (6, 7, 2)
    assert planes[5, 3].tolist() == [0, 1]  # the stone is the opponent's
    assert mask.tolist() == [1] * 7


def test_planes_of_its_own_do_not_hang_on_the_environment():
    log = []
    agent = PolicyAgent(seen_by(log), planes=("last_move",))
    bare = PolicyAgent(seen_by(log))
    env = started(connect4_v0.env(channels_first=True, mask_in="info"), "4")
    agent.act(env)
    bare.act(env)
    assert log[0][0].shape == (1, 6, 7, 3)
    assert log[0][0][0, 5, 3].tolist() == [0, 1, 1]
    assert log[1][0].shape == (1, 6, 7, 2)  # the planes moved to the end
    assert np.array_equal(log[0][0][..., :2], log[1][0])


def test_it_plays_the_other_side_of_one_board_and_of_many():
    log = []
    policy = seen_by(log)
    single = SingleEnv(CONNECT4, opponent=PolicyAgent(policy), side="first")
    many = BoardVectorEnv(CONNECT4, 4, opponent=PolicyAgent(policy), side="first")
    single.reset(seed=0)
    many.reset(seed=0)
    alone = single.step(3)[0]
    together = many.step(np.full(4, 3))[0]
    assert all(np.array_equal(alone["observation"], one) for one in together["observation"])
    assert [len(masks) for _, masks in log] == [1, 4]
    assert log[0][0][0, 5, 3].tolist() == [0, 1]  # seen from its side


def test_values_are_for_the_player_to_move():
    def hopeful(planes, masks):  # content with more stones of its own on the left
        left = planes[:, :, :3].sum(axis=(1, 2))
        return np.zeros(masks.shape), np.tanh(left[:, 0] - left[:, 1])

    env = started(connect4_v0.env())
    search = PUCTAgent(PolicyAgent(hopeful), simulations=30, c=2.0, seed=0)
    assert search.act(env) in (0, 1, 2)
    assert search.statistics.values[:3].min() > search.statistics.values[3:].max()


def test_a_search_names_a_policy_that_fails_and_where():
    search = PUCTAgent(PolicyAgent(constant(np.zeros(5)), title="mine"), simulations=5)
    expected = r"^mine: expected logits of shape \(1, 9\).*in a search \(ply 2: X \. \. / \. O"
    with pytest.raises(ValueError, match=expected):
        search.act(started(tictactoe_v0.env(), "15"))


def test_a_search_sees_what_the_environment_shows():
    log = []
    policy = PolicyAgent(seen_by(log))
    for view in ({"planes": "last_move"}, {"channels_first": True}, {}):
        env = started(connect4_v0.env(**view), "4")
        PUCTAgent(policy, simulations=1, seed=0).act(env)
        seen, log[:] = {planes.shape for planes, _ in log}, []
        assert seen == {(1, 6, 7, 3 if "planes" in view else 2)}


def test_searches_in_threads_judge_each_its_own_position():
    wrong = []

    def policy(planes, masks):
        free = planes[:, 0].sum(axis=-1) == 0  # the columns whose top cell is empty
        wrong.append((free != masks).any())
        return np.zeros(masks.shape), np.zeros(len(masks))

    env = started(connect4_v0.env(), "444441122233")
    PUCTAgent(PolicyAgent(policy), simulations=800, workers=4, seed=0).act(env)
    assert len(wrong) > 600  # some positions are reached twice, or over
    assert not any(wrong)


@pytest.mark.parametrize(
    "text", ["sb3", "rllib", "puct", "gumbel", "anet", "alphazero", "network", "own-network"]
)
def test_they_have_names(text):
    with pytest.raises(ValueError, match=f"^{text}: .*(path|policy|net|file)"):
        make_agent(text)


def test_hex_with_the_swap():
    agent = PolicyAgent(seen_by([]))
    env = started(hex_v0.env(board_size=3, swap=True), "a1")
    assert agent.act(env) == 1
    assert PolicyAgent(constant(np.arange(10.0))).act(env) == 9  # the swap


def test_what_is_no_function_is_refused_at_once():
    with pytest.raises(ValueError, match="expected a function of planes and a mask, got 3"):
        PolicyAgent.from_function(3)


# ---- what a search takes, and refuses ------------------------------------------------------------


def constant_priors(priors=1.0, values=0.0, name="mine"):
    """A function of a batch of planes that says the same of all positions of tictactoe."""

    def function(planes):
        count = len(planes)
        return np.full((count, 9), priors), np.full(count, values)

    function.__name__ = name
    return function


@pytest.mark.parametrize(
    ("priors", "values", "wrong"),
    [
        (np.nan, 0.0, r"priors .* got nan \(9 of 9\)"),
        (np.inf, 0.0, r"priors .* got inf \(9 of 9\)"),
        (np.where(np.arange(9) == 4, -0.5, 1), 0.0, r"priors .* got -0.5 \(1 of 9\)"),
        (1.0, 5.0, r"values from -1 to 1, got 5.0 \(1 of 1\)"),
        (1.0, np.nan, r"values from -1 to 1, got nan \(1 of 1\)"),
    ],
    ids=["nan", "infinite", "negative", "beyond", "value"],
)
@pytest.mark.parametrize("agent", [PUCTAgent, GumbelAgent, ANETRolloutMCTS])
def test_what_is_no_prior_and_no_value_is_refused(agent, priors, values, wrong):
    message = rf"^Mine: expected .*{wrong}, in a search \(ply 2: X \. \. / \. O \. / \. \. \.\)$"
    evaluator = type("Mine", (), {"evaluate": lambda self, game, states: says(states)})()
    says = constant_priors(priors, values)
    env = started(tictactoe_v0.env(), "15")
    for given in (evaluator, constant_priors(priors, values, "Mine")):
        with pytest.raises(PolicyError, match=message):
            agent(given, simulations=5, route="interpreted").act(env)


@pytest.mark.parametrize("answer", [None, 3, (np.ones(9),), (np.ones((1, 8)), np.zeros(1)), "ab"])
def test_an_answer_of_another_shape_says_what_was_expected_and_what_came(answer):
    message = r"^mine: expected priors of shape \(1, 9\) and values of shape \(1,\), got "
    for given in (lambda planes: answer, Says(answer)):
        search = PUCTAgent(given, simulations=5, route="interpreted")
        search.evaluator.title = "mine"
        with pytest.raises(PolicyError, match=message):
            search.act(started(tictactoe_v0.env()))


class Says:
    def __init__(self, answer):
        self.answer = answer

    def evaluate(self, game, states):
        return self.answer


def test_a_function_of_a_batch_leads_a_search_as_its_evaluator_does():
    priors = np.linspace(0.1, 0.9, 9)
    says = constant_priors(priors, 0.25)
    evaluator = type("Mine", (), {"evaluate": lambda self, game, states: says(states)})()
    found = []
    for given in (says, evaluator):
        agent = PUCTAgent(given, simulations=40, batch=4, seed=0, route="interpreted")
        found.append((agent.act(started(tictactoe_v0.env(), "5")), agent.statistics))
    (one, first), (other, second) = found
    assert one == other
    assert first.visits.tolist() == second.visits.tolist()
    legal = np.arange(9) != 4
    np.testing.assert_allclose(first.priors, legal * priors / priors[legal].sum(), atol=1e-6)


def test_a_function_sees_the_planes_of_its_batch_and_may_have_no_prior():
    seen = []

    def function(planes):
        seen.append(planes)
        return np.zeros((len(planes), 9)), [[0.0]] * len(planes)

    agent = PUCTAgent(function, simulations=1, route="interpreted")
    agent.act(started(tictactoe_v0.env(), "5"))
    assert seen[0].shape == (1, 3, 3, 2)
    assert seen[0][0, 1, 1].tolist() == [0, 1]  # seen by who is to move
    assert set(agent.statistics.priors) == {0.0, np.float64(0.125)}


@pytest.mark.parametrize("given", [3, UCT, "uct", lambda planes, masks: None])
def test_what_is_no_evaluator_is_refused_at_once(given):
    with pytest.raises(ValueError, match=r"expected (an evaluator|a function of planes)"):
        PUCTAgent(given)


def test_a_module_of_pytorch_leads_a_search():
    torch = pytest.importorskip("torch", reason="the extra train is not installed")
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(18, 9))
    env = started(tictactoe_v0.env(), "15")
    search = PUCTAgent(module, simulations=5, route="interpreted")
    search.act(env)
    assert search.statistics.visits.sum() == 5
    torch.nn.init.constant_(module[1].bias, float("nan"))
    with pytest.raises(PolicyError, match=r"^Sequential: .*got nan \(9 of 9\), in a search"):
        PUCTAgent(module, simulations=5, route="interpreted").act(env)
    with pytest.raises(ValueError, match="from_torch"):
        PolicyAgent(module)


def test_values_of_a_critic_are_cut_and_those_of_another_scale_refused():
    env = started(tictactoe_v0.env(), "15")
    near = PUCTAgent(PolicyAgent(constant(np.zeros(9), 1.25)), simulations=5, solver="off")
    near.act(env)
    assert np.abs(near.statistics.values).max() <= 1
    far = PUCTAgent(PolicyAgent(constant(np.zeros(9), 5.0), title="mine"), simulations=5)
    with pytest.raises(PolicyError, match=r"^mine: .*values from -1 to 1, got 5.0 \(1 of 1\)"):
        far.act(env)


@pytest.mark.parametrize("value", [5.0, -1.5, np.nan])
def test_alphabeta_refuses_evaluations_beyond_a_win(value):
    def mine(game, state, player):
        return value

    with pytest.raises(PolicyError, match=rf"^mine: .*from -1 to 1, got {value} \(ply 3: X"):
        AlphaBeta(1, mine).act(started(tictactoe_v0.env(), "15"))
    with pytest.raises(PolicyError, match=r"^Constant: .*from -1 to 1, got .* of 9"):
        AlphaBeta(1, Constant(value), route="interpreted").act(started(tictactoe_v0.env(), "15"))


@compiled
class Constant(NamedTuple):
    value: float

    def evaluate(self, game, state, player):
        return self.value
