"""The learning libraries themselves: adapters against them, and the training examples in small.

Each test needs an extra; `.ci/run` builds an environment in which none of them skips.
"""

import functools
import json
import pickle
import re

import gymnasium
import numpy as np
import pytest
from click.testing import CliRunner
from processes import EXAMPLES, run_example
from test_docstrings import EXAMPLES as EXAMPLES_OF
from test_docstrings import run_examples

from agents import NetworkAgent, PolicyAgent, RandomAgent
from agents.apps.cli import main
from agents.arena import play_match
from agents.registry import make_agent, make_environment
from hexenv import connect4_v0, hex_v0, tictactoe_v0
from hexenv.learners.pool import OpponentPool

# The libraries warn of each other's and their own deprecations; only ours are errors here.
pytestmark = [pytest.mark.filterwarnings("default"), pytest.mark.compiled]


def needs(module, extra):
    return pytest.importorskip(module, reason=f"the extra {extra} is not installed")


def masked_random(rng, masks):
    return (rng.random(masks.shape) * masks).argmax(axis=-1)


# ---- Stable-Baselines3 ---------------------------------------------------------------------------


@pytest.fixture
def sb3():
    needs("sb3_contrib", "sb3")
    from hexenv.adapters import sb3

    return sb3


GAMES = [("Connect4", {}), ("Hex", {"board_size": 4}), ("TicTacToe", {})]


@pytest.mark.parametrize(("game", "options"), GAMES)
@pytest.mark.parametrize("opponent", ["random", ["random", "greedy"]])
@pytest.mark.parametrize("mask_in", ["info", "both"])
def test_the_vec_env_is_a_dummy_vec_env_of_single_ones(sb3, game, options, opponent, mask_in):
    from stable_baselines3.common.vec_env import DummyVecEnv

    options = {"opponent": opponent, "mask_in": mask_in, **options}
    ours = sb3.BoardVecEnv(f"hexenv/{game}-v0", num_envs=4, **options)
    theirs = DummyVecEnv([lambda: gymnasium.make(f"hexenv/{game}-v0", **options)] * 4)
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    for envs in (ours, theirs):
        envs.seed(7)
    rng = np.random.default_rng(0)
    both = [ours.reset(), theirs.reset()]
    same_observations(*both)
    for _ in range(60):
        masks = [np.stack(envs.env_method("action_masks")) for envs in (ours, theirs)]
        assert np.array_equal(*masks)
        assert masks[0].dtype == np.bool_
        actions = masked_random(rng, masks[0])
        actions[rng.integers(4)] = 0  # now and then an illegal one
        one, two = ours.step(actions), theirs.step(actions)
        same_observations(one[0], two[0])
        for mine, other in zip(one[1:3], two[1:3], strict=True):
            assert mine.dtype == other.dtype
            assert np.array_equal(mine, other)
        for mine, other in zip(one[3], two[3], strict=True):
            other.pop("action_mask", None)  # a single environment's own
            assert mine.keys() == other.keys()
            assert mine["TimeLimit.truncated"] == other["TimeLimit.truncated"]
            if "terminal_observation" in mine:
                same_observations(mine["terminal_observation"], other["terminal_observation"])


def same_observations(one, two):
    if isinstance(one, dict):  # theirs may be an OrderedDict
        assert one.keys() == two.keys()
        for key in one:
            same_observations(one[key], two[key])
    else:
        assert one.dtype == two.dtype
        assert np.array_equal(one, two)


def test_the_vec_env_hands_methods_and_attributes_on(sb3):
    envs = sb3.BoardVecEnv("hexenv/Connect4-v0", num_envs=3)
    envs.reset()
    envs.env_method("set_opponent", "greedy")
    assert envs.get_attr("num_envs", [0, 2]) == [3, 3]
    assert envs.get_attr("illegal_actions") == [0, 0, 0]
    assert [len(mask) for mask in envs.env_method("action_masks", indices=[1])] == [7]
    assert envs.has_attr("action_masks")
    assert envs.env_is_wrapped(gymnasium.Wrapper) == [False] * 3
    with pytest.raises(ValueError, match="expected an attribute to set for all boards"):
        envs.set_attr("x", 1, indices=[0])
    envs.close()
    with pytest.raises(ValueError, match="autoreset_mode SameStep, got NextStep"):
        sb3.BoardVecEnv("hexenv/Connect4-v0", num_envs=2, autoreset_mode="NextStep")


def test_indices_reach_those_boards_alone(sb3):
    envs = sb3.BoardVecEnv("hexenv/Connect4-v0", num_envs=4, opponent="random")
    envs.env_method("set_opponent", "greedy", indices=[1, 3])
    envs.reset()
    assert envs.get_attr("opponents") == ["random", "greedy", "random", "greedy"]
    envs.env_method("set_opponent", "uct:simulations=1", indices=2)
    envs.reset()
    assert envs.get_attr("opponents", [2, 0]) == ["uct:simulations=1", "random"]
    with pytest.raises(ValueError, match="expected take_results to be called for all boards"):
        envs.env_method("take_results", indices=[0])
    assert len(envs.env_method("take_results", indices=range(4))) == 4


@pytest.fixture(scope="module")
def connect4_model(tmp_path_factory):
    """A little-trained model and its file."""
    needs("sb3_contrib", "sb3")
    from sb3_contrib import MaskablePPO

    from hexenv.adapters.sb3 import BoardVecEnv

    envs = BoardVecEnv("hexenv/Connect4-v0", num_envs=8, mask_in="info")
    model = MaskablePPO("MlpPolicy", envs, n_steps=32, batch_size=64, seed=0, device="cpu")
    model.learn(512)
    assert envs.envs.illegal_actions == 0
    path = tmp_path_factory.mktemp("sb3") / "model.zip"
    model.save(path)
    return model, path


def test_a_model_with_the_mask_in_its_observation(sb3):
    from sb3_contrib import MaskablePPO

    env = gymnasium.make("hexenv/Hex-v0", board_size=3, swap=True)
    model = MaskablePPO("MultiInputPolicy", env, n_steps=32, batch_size=32, seed=0, device="cpu")
    model.learn(64)
    assert env.unwrapped.illegal_actions == 0
    agent = PolicyAgent.from_sb3(model)
    board = hex_v0.env(board_size=3, swap=True)
    for moves in ("", "b2", "b2 swap", "a1 c3 b2"):
        board.reset(options={"moves": moves})
        seen = board.last()[0]
        predicted, _ = model.predict(seen, action_masks=seen["action_mask"], deterministic=True)
        assert agent.act(board) == predicted


def told(envs, steps):
    """The opponents that the last infos of episodes name, and the rewards."""
    rng = np.random.default_rng(0)
    envs.reset()
    found = []
    for _ in range(steps):
        masks = np.stack(envs.env_method("action_masks"))
        _, rewards, over, infos = envs.step(masked_random(rng, masks))
        assert all("opponent" in info for info in infos)
        ended = zip(infos, rewards, over, strict=True)
        found += [(info["opponent"], float(reward)) for info, reward, done in ended if done]
    return found


def one_connect4(opponent="random"):
    return gymnasium.make("hexenv/Connect4-v0", opponent=opponent, mask_in="info")


def test_snapshots_go_to_subprocesses(sb3, connect4_model):
    from stable_baselines3.common.vec_env import SubprocVecEnv

    pool = OpponentPool(PolicyAgent.from_sb3(connect4_model[0], title="snap1"))
    pool.add(connect4_model[0], title="snap2")
    envs = SubprocVecEnv([one_connect4] * 2, start_method="spawn")
    try:
        envs.env_method("set_opponent", pool)
        found = told(envs, 40)
        assert {title for title, _ in found} == {"snap1", "snap2"}
        assert {one.games for one in pool.results.values()} == {0}
        pool.merge(envs.env_method("take_results"))
        assert sum(one.games for one in pool.results.values()) == len(found)
        wins = sum(reward == 1.0 for _, reward in found)
        assert sum(one.wins for one in pool.results.values()) == wins
        envs.env_method("set_opponent", PolicyAgent.from_sb3(connect4_model[0], title="alone"))
        assert {title for title, _ in told(envs, 30)} == {"alone"}
    finally:
        envs.close()


def test_snapshots_of_models_go_through_files(sb3, connect4_model, tmp_path):
    model, path = connect4_model
    pool = OpponentPool(["random", path])
    assert pool.add(model) == "sb3"
    assert pool.titles == ("random", "model", "sb3")
    pool.save(tmp_path / "pool")
    again = OpponentPool.load(tmp_path / "pool")
    envs = [
        sb3.BoardVecEnv("hexenv/Connect4-v0", num_envs=4, opponent=one, mask_in="info")
        for one in (pool, again)
    ]
    for one in envs:
        one.seed(5)
    assert told(envs[0], 30) == told(envs[1], 30)
    assert pool.results == again.results
    (tmp_path / "pool" / "snapshot-000002.pt").write_bytes(b"PK")
    with pytest.raises(ValueError, match=r"snapshot-000002.pt: expected a policy of Maskable"):
        OpponentPool.load(tmp_path / "pool")


@pytest.mark.parametrize("kind", ["boards", "dummy", "processes"])
def test_self_play_with_a_pool(sb3, kind, tmp_path):
    from sb3_contrib import MaskablePPO
    from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv

    pool = OpponentPool("random", sampling="latest", most=2)
    if kind == "boards":
        envs = sb3.BoardVecEnv("hexenv/Connect4-v0", num_envs=2, opponent=pool, mask_in="info")
    elif kind == "dummy":
        envs = DummyVecEnv([lambda: one_connect4(pool)] * 2)
    else:
        envs = SubprocVecEnv([functools.partial(one_connect4, pool)], start_method="spawn")
    steps = 128 // envs.num_envs
    try:
        model = MaskablePPO("MlpPolicy", envs, n_steps=steps, batch_size=64, n_epochs=1, seed=0)
        callback = sb3.SelfPlay(pool, every=128, folder=tmp_path)
        model.learn(128 * 5, callback=callback)
    finally:
        envs.close()
    assert pool.titles == ("random", "step 384", "step 512")
    assert len(pool.results) == 5
    assert sum(one.games for one in pool.results.values()) > 20
    assert all(one.games > 0 for one in list(pool.results.values())[:3])
    again = OpponentPool.load(tmp_path)
    assert again.titles == pool.titles
    with pytest.raises(ValueError, match="expected every of at least 1, got 0"):
        sb3.SelfPlay(pool, every=0)


def test_a_model_plays_alike_with_and_without_its_values(sb3, connect4_model):
    policy = PolicyAgent.from_sb3(connect4_model[0]).policy
    rng = np.random.default_rng(0)
    planes, masks = rng.integers(0, 2, (50, 6, 7, 2)).astype(np.int8), np.ones((50, 7), np.int8)
    logits = policy.logits(planes, masks)
    found = policy(planes, masks)[0]
    differences = logits - found
    assert np.allclose(differences, differences[:, :1], atol=1e-4)


def test_a_frozen_model_learns_no_more(connect4_model):
    from sb3_contrib import MaskablePPO

    model = MaskablePPO.load(connect4_model[1])
    board = next(positions_of_connect4())
    frozen = PolicyAgent.from_sb3(model, frozen=True)
    before, _ = judgement(frozen, board)
    assert np.allclose(before, judgement(PolicyAgent.from_sb3(model), board)[0])
    parameters = model.get_parameters()
    bias = parameters["policy"]["action_net.bias"]
    bias += bias.new_tensor(range(7))  # its values stay in their range
    model.set_parameters(parameters)
    assert np.array_equal(judgement(frozen, board)[0], before)
    assert not np.allclose(judgement(PolicyAgent.from_sb3(model), board)[0], before, atol=1e-3)


def test_a_model_gives_its_own_priors_and_values(connect4_model):
    model, path = connect4_model
    for board in positions_of_connect4():
        planes, mask = board.last()[0]["observation"], board.last()[0]["action_mask"]
        tensors, _ = model.policy.obs_to_tensor(planes[None])
        own = model.policy.get_distribution(tensors).distribution.probs[0].detach().numpy() * mask
        value = model.policy.predict_values(tensors).item()
        assert value != 0.0
        for agent in (PolicyAgent.from_sb3(model), make_agent(f"sb3:path={path}")):
            found, found_value = judgement(agent, board)
            assert np.allclose(found, own / own.sum(), atol=1e-6)
            assert np.isclose(found_value, np.clip(value, -1, 1), atol=1e-6)
            assert agent.act(board) == own.argmax()


def positions_of_connect4():
    for moves in ("", "4", "4444445", "123456", "44444411111"):
        board = connect4_v0.env()
        board.reset(options={"moves": moves})
        yield board


def judgement(agent, board):
    """What a search is told: priors and value."""
    raw = board.unwrapped
    (priors,), (value,) = agent.evaluate(raw.game, [raw.state])
    return priors, value


def assert_plays_by_name(game, name, *options):
    """It enters a match, and leads a search."""
    runner = CliRunner()
    search = f"puct:policy={name},simulations=5"
    found = runner.invoke(main, ["match", game, name, search, "--games", "2", "--json", *options])
    assert found.exit_code == 0, found.output
    results = json.loads(found.stdout)
    assert results["wins"] + results["draws"] + results["losses"] == 2
    assert results["illegal_moves"] == [0, 0]


def test_a_model_enters_everything_by_name(connect4_model, tmp_path):
    name = f"sb3:path={connect4_model[1]}"
    assert_plays_by_name("connect4", name)
    runner = CliRunner()
    results = tmp_path / "results.jsonl"
    arguments = ["tournament", "connect4", name, "random", "--pairs", "2", "--results", results]
    found = runner.invoke(main, [*map(str, arguments)])
    assert found.exit_code == 0, found.output
    assert len(results.read_text().splitlines()) >= 4
    found = runner.invoke(main, ["accuracy", "tictactoe", name])
    assert found.exit_code != 0
    assert "expected a position to be seen as (6, 7, 2)" in found.output


def test_what_is_no_model_is_refused(sb3, connect4_model, tmp_path):
    from sb3_contrib import QRDQN

    with pytest.raises(ValueError, match=r"expected the file of a model, found none at none\.zip"):
        make_agent("sb3:path=none.zip")
    with pytest.raises(
        ValueError, match="expected an algorithm of Stable-Baselines3, got 'common'"
    ):
        make_agent(f"sb3:path={connect4_model[1]},algorithm=common")
    other = QRDQN("MlpPolicy", gymnasium.make("hexenv/TicTacToe-v0", mask_in="info"))
    with pytest.raises(ValueError, match="expected an actor-critic or a DQN, got QRDQN"):
        PolicyAgent.from_sb3(other)


def test_a_model_that_was_shown_more_plays_by_name(sb3, tmp_path):
    from sb3_contrib import MaskablePPO

    view = {"planes": ("last_move",), "mask_in": "info"}
    model = MaskablePPO("MlpPolicy", gymnasium.make("hexenv/Connect4-v0", **view), n_steps=16)
    model.save(tmp_path / "model.zip")
    for name in ("sb3:path={},planes=last_move", "puct:policy=sb3:path={},simulations=5"):
        board = connect4_v0.env(planes="last_move" if name.startswith("puct") else ())
        board.reset(options={"moves": "4"})
        assert make_agent(name.format(tmp_path / "model.zip")).act(board) in range(7)
    for make in (gymnasium.make, gymnasium.make_vec):
        env = make("hexenv/Connect4-v0", opponent=PolicyAgent.from_sb3(model), **view)
        env.reset(seed=0)


def test_dqn_is_a_policy_too(sb3):
    from stable_baselines3 import DQN

    env = gymnasium.make("hexenv/TicTacToe-v0", mask_in="info")
    model = DQN("MlpPolicy", env, device="cpu")
    agent = PolicyAgent.from_sb3(model)
    board = tictactoe_v0.env()
    for moves in ("", "1", "15", "1532", "153246"):
        board.reset(options={"moves": moves})
        seen = board.last()[0]
        tensors, _ = model.policy.obs_to_tensor(seen["observation"][None])
        values = model.q_net(tensors)[0].detach().numpy()
        values[seen["action_mask"] == 0] = -np.inf
        assert agent.act(board) == values.argmax()
        assert np.isclose(judgement(agent, board)[1], np.clip(values.max(), -1, 1))


# ---- PyTorch -------------------------------------------------------------------------------------


@pytest.mark.parametrize("channels_first", [False, True])
def test_a_torch_module(channels_first):
    torch = needs("torch", "torch")
    shapes = []

    class Module(torch.nn.Module):
        def forward(self, boards):
            shapes.append((tuple(boards.shape), boards.dtype))
            return torch.arange(7.0).expand(len(boards), 7), torch.full((len(boards),), 0.25)

    env = connect4_v0.env()
    env.reset()
    agent = PolicyAgent.from_torch(Module(), channels_first=channels_first)
    assert agent.act(env) == 6
    priors, value = judgement(agent, env)
    assert np.allclose(priors[1:] / priors[:-1], np.e)
    assert value == 0.25
    assert shapes[:1] == [((1, 2, 6, 7) if channels_first else (1, 6, 7, 2), torch.float32)]


# ---- RLlib and TorchRL: their environments -------------------------------------------------------


def test_rllib_sees_what_it_reads():
    needs("ray.rllib", "rllib")
    from hexenv.adapters.rllib import make_env

    env = make_env("hexenv/Hex-v0", board_size=4)
    observation, _ = env.reset(seed=0)
    assert env.observation_space.contains(observation)
    assert observation["observations"].shape == (48,)
    assert observation["action_mask"].dtype == np.float32
    assert env.spec.make().reset(seed=0)[0].keys() == observation.keys()
    inner = env.unwrapped.action_masks()
    assert np.array_equal(observation["action_mask"].astype(bool), inner)
    with pytest.raises(ValueError, match="expected observations with a mask"):
        make_env("hexenv/Hex-v0", board_size=4, mask_in="info")


def test_torchrl_plays_whole_games_without_an_illegal_move():
    needs("torchrl", "torchrl")
    from torchrl.envs import check_env_specs

    from hexenv.adapters.torchrl import GROUP, wrap

    env = wrap(hex_v0.env(board_size=4))
    check_env_specs(env)
    data = env.rollout(200, break_when_any_done=False)
    turn, masks = data[GROUP, "mask"], data[GROUP, "action_mask"]
    assert turn.sum() == 200  # one of the two
    legal = masks.gather(-1, data[GROUP, "action"].unsqueeze(-1)).squeeze(-1)
    assert legal[turn].all()
    assert masks.any(-1).all()
    assert not data["next", GROUP, "truncated"].any()
    ends = data["next", "done"].squeeze(-1)
    rewards = data["next", GROUP, "reward"].squeeze(-1)
    assert ends.any()
    assert (rewards[ends].abs() == 1).all()
    assert (rewards[~ends] == 0).all()


def test_torchrl_makes_our_environments_by_its_own_means():
    needs("torchrl", "torchrl")
    from torchrl.envs import GymEnv

    # It tries ``frameskip`` first, and looks for Python's own words in the error.
    env = GymEnv("hexenv/Connect4-v0", opponent="greedy", categorical_action_encoding=True)
    data = env.rollout(60, break_when_any_done=False)
    assert data["next", "done"].any()
    for make in (connect4_v0.env, functools.partial(gymnasium.make, "hexenv/Connect4-v0")):
        with pytest.raises(TypeError, match="unexpected keyword argument 'frameskip'"):
            make(frameskip=1)


@pytest.mark.parametrize(
    ("mode", "options"),
    [  # with SameStep TorchRL reads no last observations that are dictionaries: StopIteration
        ("Disabled", {}),
        ("Disabled", {"mask_in": "info"}),
        ("SameStep", {"mask_in": "info"}),
    ],
)
def test_torchrl_wraps_the_vector_environment(mode, options):
    needs("torchrl", "torchrl")
    from torchrl.envs import GymWrapper, check_env_specs

    envs = gymnasium.make_vec("hexenv/TicTacToe-v0", num_envs=3, autoreset_mode=mode, **options)
    env = GymWrapper(envs, categorical_action_encoding=True)
    check_env_specs(env)
    data = env.rollout(30, break_when_any_done=False)
    done = data["next", "done"].squeeze(-1)
    assert done.any()
    # What follows is the next observation, but after the end of an episode: a new one begins.
    same = (data["next", "observation"][:, :-1] == data["observation"][:, 1:]).flatten(2).all(-1)
    assert (same | done[:, :-1]).all()
    assert (data["observation"][:, 1:][done[:, :-1]].sum((1, 2, 3)) <= 1).all()
    assert (data["next", "observation"][done].sum((1, 2, 3)) >= 1).all()


def torchrl_boards(*args, **options):
    needs("torchrl", "torchrl")
    from hexenv.adapters.torchrl import BatchedBoardEnv

    return BatchedBoardEnv(*args, **options)


@pytest.mark.parametrize("options", [{}, {"opponent": "random"}])
def test_many_boards_of_torchrl_fit_their_specs(options):
    env = torchrl_boards("hexenv/Hex-v0", num_envs=4, board_size=3, seed=1, **options)
    from torchrl.envs import check_env_specs

    check_env_specs(env, seed=1)
    one, two = (played_alone(env, seed=2) for _ in range(2))
    assert (one == two).all()


def played_alone(env, seed):
    import torch

    env.set_seed(seed)
    torch.manual_seed(seed)
    return env.rollout(20, break_when_any_done=False)


def test_many_boards_of_torchrl_are_games_of_both_players():
    """Each board by itself is a game over the PettingZoo environment."""
    env = torchrl_boards("hexenv/Connect4-v0", num_envs=6, seed=3)
    data = env.rollout(90, break_when_any_done=False)
    assert env.envs.illegal_actions == 0
    ended = 0
    for board in range(6):
        own, game = data[board], connect4_v0.env()
        game.reset()
        for move in range(len(own)):
            seen = game.last()[0]
            assert np.array_equal(own["observation"][move], seen["observation"])
            assert np.array_equal(own["action_mask"][move], seen["action_mask"])
            player = game.agent_selection
            assert own["player"][move].item() == int(player[-1])
            game.step(int(own["action"][move]))
            result = own[move]["next"]
            assert result["reward"].item() == game.rewards[player]
            over = game.terminations[player]
            assert result["done"].item() == result["terminated"].item() == over
            assert not result["truncated"].item()
            if over:
                ended += 1
                game.reset()
    assert ended > 6


def test_a_negative_gamma_is_right_for_self_play():
    """TorchRL's estimator by lambda 1 is the outcome for the player of each move."""
    env = torchrl_boards("hexenv/TicTacToe-v0", num_envs=8, seed=0)
    import torch
    from tensordict.nn import TensorDictModule
    from torchrl.objectives.value import GAE

    data = env.rollout(40, break_when_any_done=False)
    worth = TensorDictModule(
        lambda planes: planes.flatten(-3).float() @ torch.arange(-9.0, 9.0).unsqueeze(-1) / 30,
        ["observation"],
        ["state_value"],
    )
    GAE(gamma=-0.9, lmbda=1.0, value_network=worth)(data)
    done, rewards = data["next", "done"].squeeze(-1), data["next", "reward"].squeeze(-1)
    for board in range(8):
        outcome = None
        for move in reversed(range(40)):
            if done[board, move]:
                outcome = rewards[board, move].item()
            elif outcome is not None:
                outcome = -0.9 * outcome
            if outcome is not None:
                assert np.isclose(data["value_target"][board, move].item(), outcome, atol=1e-5)


def test_many_boards_of_torchrl_refuse_what_they_set():
    with pytest.raises(TypeError, match="expected no mask_in: it is set here, got 'info'"):
        torchrl_boards("hexenv/Connect4-v0", mask_in="info")


# ---- networks ------------------------------------------------------------------------------------


@pytest.mark.parametrize("channels_first", [False, True])
def test_features_of_a_board(channels_first):
    torch = needs("torch", "torch")
    from hexenv.adapters.networks import BoardFeatures

    env = gymnasium.make("hexenv/Hex-v0", board_size=3, channels_first=channels_first)
    seen = torch.as_tensor(env.reset(seed=0)[0]["observation"])
    network = BoardFeatures(seen.shape, 8, channels=4, layers=2, channels_first=channels_first)
    found = network(seen)
    assert (found.shape, found.dtype) == ((8,), torch.float32)
    assert torch.allclose(network(seen.expand(2, 5, *seen.shape)), found.expand(2, 5, 8))
    if not channels_first:  # the same network sees the same either way
        network.channels_first = True
        assert torch.allclose(network(seen.permute(2, 0, 1)), found)
    with pytest.raises(ValueError, match=r"expected planes of three dimensions, .* got \(84,\)"):
        BoardFeatures((84,))
    with pytest.raises(ValueError, match="expected layers of at least 1, got 0"):
        BoardFeatures(seen.shape, layers=0)


@pytest.mark.parametrize(
    ("policy", "options"),
    [
        ("MlpPolicy", {"mask_in": "info"}),
        ("MlpPolicy", {"mask_in": "info", "channels_first": True}),
        ("MultiInputPolicy", {}),
    ],
)
def test_a_convolutional_policy_of_sb3(sb3, policy, options):
    from sb3_contrib import MaskablePPO

    envs = sb3.BoardVecEnv("hexenv/Connect4-v0", num_envs=4, **options)
    kwargs = {"channels": 4, "layers": 1, "channels_first": "channels_first" in options}
    small = {
        "features_extractor_class": sb3.BoardCNN,
        "features_extractor_kwargs": {"features_dim": 8, **kwargs},
    }
    model = MaskablePPO(policy, envs, n_steps=16, batch_size=64, policy_kwargs=small, seed=0)
    before = model.policy.features_extractor.network.body[0].weight.detach().clone()
    model.learn(64)
    assert not np.array_equal(
        before, model.policy.features_extractor.network.body[0].weight.detach()
    )
    agent = PolicyAgent.from_sb3(model, frozen=True)
    for board in positions_of_connect4():
        seen = board.last()[0]
        planes = seen["observation"]
        if "channels_first" in options:
            planes = np.moveaxis(planes, -1, 0)
        shown = planes if options else {**seen, "observation": planes}
        mask = seen["action_mask"]
        predicted, _ = model.predict(shown, action_masks=mask, deterministic=True)
        assert agent.act(board) == predicted
    assert envs.get_attr("illegal_actions")[0] == 0


# ---- RLlib, and its checkpoints ------------------------------------------------------------------


def test_rllib_plays_both_sides():
    needs("ray.rllib", "rllib")
    from hexenv.adapters.rllib import MultiAgentBoardEnv

    env = MultiAgentBoardEnv(hex_v0.env(board_size=3))
    rng = np.random.default_rng(0)
    for seed in range(5):
        observations, _ = env.reset(seed=seed)
        players, done = [], False
        while not done:
            ((player, seen),) = observations.items()
            players.append(player)
            assert env.observation_spaces[player].contains(seen)
            action = int(masked_random(rng, seen["action_mask"]))
            observations, rewards, ends, cuts, _ = env.step({player: action})
            done = ends["__all__"]
            assert not cuts["__all__"]
        assert players[:2] == ["player_0", "player_1"]
        assert observations.keys() == rewards.keys() == set(env.possible_agents)
        assert rewards[players[-1]] == 1.0
        assert sum(rewards.values()) == 0.0
        assert all(env.observation_spaces[one].contains(observations[one]) for one in rewards)
    with pytest.raises(ValueError, match="expected observations with a mask"):
        MultiAgentBoardEnv(hex_v0.env(mask_in="info"))


def test_a_module_of_rllib_and_its_checkpoint_judge_alike(tmp_path):
    needs("ray.rllib", "rllib")
    import torch

    from hexenv.adapters.rllib import make_env, masked_module, rllib_observation

    like = make_env("hexenv/Connect4-v0")
    spec = masked_module(hidden=[16])
    spec.observation_space, spec.action_space = like.observation_space, like.action_space
    module = spec.build()
    module.save_to_path(tmp_path / "module")
    agent = make_agent(f"rllib:path={tmp_path / 'module'}")
    copied = pickle.loads(pickle.dumps(agent))
    for board in positions_of_connect4():
        assert copied.act(board) == agent.act(board)
        seen = rllib_observation(board.last()[0])
        batch = {key: torch.as_tensor(value)[None] for key, value in seen.items()}
        with torch.no_grad():
            logits = module.forward_inference({"obs": batch})["action_dist_inputs"][0]
        assert agent.act(board) == int(logits.argmax())
        priors, value = judgement(agent, board)
        assert np.allclose(priors, torch.softmax(logits, -1), atol=1e-6)
        assert value == 0.0
    with pytest.raises(FileNotFoundError, match="expected the folder of a checkpoint, found none"):
        PolicyAgent.from_rllib(tmp_path / "nowhere")
    folder = tmp_path / "algorithm"
    module.save_to_path(folder / "learner_group" / "learner" / "rl_module" / "main")
    of_two = PolicyAgent.from_rllib(folder, module="main")
    by_name = make_agent(f"rllib:path={folder},module=main")
    for board in positions_of_connect4():
        assert of_two.act(board) == by_name.act(board) == agent.act(board)
    with pytest.raises(ValueError, match=r"expected a module of main, got 'mein' .*mean main"):
        PolicyAgent.from_rllib(folder, module="mein")


@pytest.mark.parametrize("processes", [0, 1])
def test_rllib_trains_against_a_pool(processes, tmp_path):
    ray = needs("ray", "rllib")
    needs("ray.rllib", "rllib")
    from ray.rllib.algorithms.ppo import PPOConfig
    from ray.tune.registry import register_env

    from hexenv.adapters.rllib import make_env, masked_module, share_pool

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        pool = OpponentPool("random", sampling="latest", most=2)
        register_env("pooled", lambda config: make_env("hexenv/TicTacToe-v0", **config))
        config = (
            PPOConfig()
            .environment("pooled", env_config={"opponent": "greedy"})
            .env_runners(num_env_runners=processes, num_envs_per_env_runner=4)
            .rl_module(rl_module_spec=masked_module(hidden=[16]))
            .training(train_batch_size=256, minibatch_size=64, num_epochs=1)
            .debugging(seed=0)
        )
        algorithm = config.build_algo()
        share_pool(algorithm, pool)
        for step in range(3):
            algorithm.train()
            folder = algorithm.save_to_path(tmp_path / f"step {step}")
            pool.add(PolicyAgent.from_rllib(folder), title=f"step {step}")
            share_pool(algorithm, pool)
        algorithm.train()
        share_pool(algorithm, pool)
        found = pool.results
        algorithm.stop()
    finally:
        ray.shutdown()
    assert pool.titles == ("random", "step 1", "step 2")
    assert set(found) == {"random", "step 0", "step 1", "step 2"}
    assert all(tally.games > 3 for tally in found.values())
    games = sum(tally.games for tally in found.values())
    assert 4 * 256 / 5 - 32 < games < 4 * 256 / 3 + 32  # of 3 to 5 moves of the learner each


# ---- the examples in docstrings ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "library"), [("rllib", "ray.rllib"), ("sb3", "sb3_contrib"), ("torchrl", "torchrl")]
)
def test_the_examples_of_an_adapter(name, library, tmp_path, monkeypatch):
    needs(library, name)
    monkeypatch.chdir(tmp_path)  # some write files
    module = f"hexenv.adapters.{name}"
    assert run_examples(module) == (EXAMPLES_OF[module], "")


# ---- SuperSuit -----------------------------------------------------------------------------------

ON_PLANES = {  # and the shape of what is seen then
    "agent_indicator_v0": ((), (3, 3, 4)),
    "dtype_v0": ((np.float32,), (3, 3, 2)),
    "flatten_v0": ((), (18,)),
    "frame_stack_v1": ((3,), (3, 3, 6)),
    "frame_stack_v2": ((3,), (3, 3, 6)),
    "max_observation_v0": ((2,), (3, 3, 2)),
    "pad_observations_v0": ((), (3, 3, 2)),
    "reshape_v0": (((18,),), (18,)),
}
"""Wrappers that SuperSuit has for observations of one array, not for those with a mask."""
ON_BOTH = {
    "clip_reward_v0": (),
    "delay_observations_v0": (1,),
    "pad_action_space_v0": (),
}


@pytest.mark.parametrize("name", [*ON_PLANES, *ON_BOTH])
def test_wrappers_of_supersuit(name):
    supersuit = needs("supersuit", "supersuit")
    wrapper = getattr(supersuit, name)
    arguments, shape = ON_PLANES.get(name) or (ON_BOTH[name], (3, 3, 2))
    if name in ON_PLANES:
        with pytest.raises((AttributeError, AssertionError, TypeError)):  # its own, of a Dict
            played_through(wrapper(tictactoe_v0.env(), *arguments))
    else:
        assert played_through(wrapper(tictactoe_v0.env(), *arguments)) == shape
    assert played_through(wrapper(tictactoe_v0.env(mask_in="info"), *arguments)) == shape


def played_through(env):
    """A game by random moves; the shape of the planes."""
    rng = np.random.default_rng(0)
    env.reset(seed=0)
    for agent in env.agent_iter():
        seen, _, terminated, truncated, info = env.last()
        planes = seen["observation"] if isinstance(seen, dict) else seen
        if not isinstance(seen, dict):
            assert env.observation_space(agent).contains(seen)
        over = terminated or truncated
        env.step(None if over else int(masked_random(rng, info["action_mask"])))
    assert sorted(env.unwrapped.rewards.values()) in ([], [0.0, 0.0], [-1.0, 1.0])
    return planes.shape


def test_a_wrapper_of_supersuit_over_one_learner():
    supersuit = needs("supersuit", "supersuit")
    env = gymnasium.make("hexenv/Connect4-v0", mask_in="info", dtype=np.float32)
    env = supersuit.frame_stack_v1(env, 2)
    seen, info = env.reset(seed=1)
    over = False
    while not over:
        assert seen.shape == (6, 7, 4)
        assert env.observation_space.contains(seen)
        before = seen.copy()  # it is changed in place
        seen, _, over, _, info = env.step(int(info["action_mask"].argmax()))
        assert np.array_equal(seen[..., :2], before[..., 2:])


# ---- the examples --------------------------------------------------------------------------------

SMALL = {
    "maskable_ppo": ("sb3_contrib", "sb3", ["--steps", "16384"]),
    "cleanrl_ppo": ("torch", "torch", ["--steps", "4096", "--envs", "32"]),
    "rllib_ppo": ("ray.rllib", "rllib", ["--steps", "2000"]),
    "rllib_selfplay": ("ray.rllib", "rllib", ["--steps", "4100", "--good", "0"]),
    "torchrl_ppo": ("torchrl", "torchrl", ["--steps", "4096", "--envs", "32", "--cnn"]),
    "tianshou_ppo": ("tianshou", "tianshou", ["--steps", "8192"]),
    "tianshou_dqn": ("tianshou", "tianshou", ["--steps", "2000"]),
    "skrl_ppo": ("skrl", "skrl", ["--steps", "16384", "--envs", "32"]),
}


def test_every_example_is_run():  # the league's by tests/test_progress_sb3.py
    others = {"common", "league_sb3", "baselines"}
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {*SMALL, *others}


@pytest.mark.parametrize("algorithm", ["ppo", "dqn"])
@pytest.mark.parametrize("game", [["connect4"], ["hex", "--board-size", "5"]])
def test_a_baseline_is_trained_and_plays(algorithm, game, tmp_path):
    """Its network is a file of ours, in which the snapshots of its past leave no trace."""
    needs("sb3_contrib", "sb3")
    size = ["--boards", "32", "--steps", "17000", "--buffer", "5000", "--device", "cpu"]
    told = run_example("baselines", tmp_path, algorithm, *game, *size, "--out", "net.safetensors")
    assert "step " in told  # it played a snapshot
    agent = NetworkAgent(str(tmp_path / "net.safetensors"))
    assert agent.saved.about["algorithm"].lower().endswith(algorithm)
    env = make_environment(game[0], ["board_size=5"] if game[1:] else [])
    games = list(play_match(env, [agent, RandomAgent()], games=10, seed=1))
    assert all(one.illegal is None for one in games)


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("game", [["--game", "Connect4"], ["--game", "Hex", "--board-size", "4"]])
def test_an_example_trains_without_an_illegal_move(name, game, tmp_path):
    module, extra, steps = SMALL[name]
    needs(module, extra)
    if name == "maskable_ppo" and "Hex" in game:
        steps = [*steps, "--cnn"]
    played_with = "--games", "10", "--against", "uct:simulations=5"
    told = run_example(name, tmp_path, *game, *steps, *played_with)
    assert "illegal moves in training: 0" in told
    played = re.findall(r"(\d+) won, (\d+) drawn, (\d+) lost, .* illegal moves (\d+)", told)
    assert len(played) == 5  # two opponents before, and three after
    assert "uct:simulations=5: " in told
    if name in ("maskable_ppo", "cleanrl_ppo", "skrl_ppo", "tianshou_ppo"):  # it played itself
        assert int(re.search(r"snapshots of its past: (\d+)", told)[1]) > 0
    if name == "rllib_selfplay":
        assert int(re.search(r"frozen policies in the league: (\d+)", told)[1]) > 1
    if name == "maskable_ppo":
        game_name = game[1].lower()
        options = [] if game_name == "connect4" else ["--option", "board_size=4"]
        assert_plays_by_name(game_name, f"sb3:path={tmp_path / game_name}.zip", *options)
    assert all(sum(map(int, counts[:3])) == 10 for counts in played)
    assert all(counts[3] == "0" for counts in played)
