"""The learning libraries themselves: adapters against them, and the training examples in small.

Each test needs an extra; `.ci/run` builds an environment in which none of them skips.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest

from agents import PolicyAgent, PUCTSearch
from agents.naming import make_agent
from hexenv import connect4_v0, hex_v0

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples" / "rl"

# The libraries warn of each other's and their own deprecations; only ours are errors here.
pytestmark = pytest.mark.filterwarnings("default")


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


def test_the_vec_env_refuses_another_way_to_reset(sb3):
    with pytest.raises(ValueError, match="autoreset_mode SameStep, got NextStep"):
        sb3.BoardVecEnv("hexenv/Connect4-v0", num_envs=2, autoreset_mode="NextStep")


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


def test_a_model_and_its_file_play_alike_and_as_the_library_predicts(connect4_model):
    model, path = connect4_model
    from_model = PolicyAgent.from_sb3(model)
    from_file = make_agent(f"sb3:path={path}")
    env = connect4_v0.env(mask_in="info")
    for moves in ("", "4", "4444445", "123456"):
        env.reset(options={"moves": moves})
        planes, _, _, _, info = env.last()
        predicted, _ = model.predict(
            planes, action_masks=info["action_mask"].astype(bool), deterministic=True
        )
        assert from_model.act(env) == from_file.act(env) == predicted


def test_a_model_with_the_mask_in_its_observation(sb3):
    from sb3_contrib import MaskablePPO

    env = gymnasium.make("hexenv/Hex-v0", board_size=3, swap=True)
    model = MaskablePPO("MultiInputPolicy", env, n_steps=32, batch_size=32, seed=0, device="cpu")
    model.learn(64)
    assert env.unwrapped.illegal_actions == 0
    agent = PolicyAgent.from_sb3(model)
    board = hex_v0.env(board_size=3, swap=True)
    board.reset(options={"moves": "b2"})
    assert 0 <= agent.act(board) < 10


def test_a_frozen_model_learns_no_more(connect4_model):
    model, _ = connect4_model
    frozen = PolicyAgent.from_sb3(model, frozen=True)
    planes, masks = np.zeros((1, 6, 7, 2), np.int8), np.ones((1, 7), np.int8)
    before = frozen._judge(planes, masks)[0]
    assert np.allclose(before, PolicyAgent.from_sb3(model)._judge(planes, masks)[0])
    parameters = model.get_parameters()
    parameters["policy"] = {k: v + 0.1 for k, v in parameters["policy"].items()}
    model.set_parameters(parameters)
    assert np.array_equal(frozen._judge(planes, masks)[0], before)
    assert not np.allclose(PolicyAgent.from_sb3(model)._judge(planes, masks)[0], before)


def test_a_model_of_another_board_is_refused(connect4_model):
    agent = PolicyAgent.from_sb3(connect4_model[0])
    env = connect4_v0.env(rows=5, columns=6, connect=4)
    env.reset()
    with pytest.raises(ValueError, match=r"sb3: expected a position to be seen as \(6, 7, 2\)"):
        agent.act(env)


def test_a_model_leads_a_search_and_plays_the_other_side(connect4_model):
    _, path = connect4_model
    search = PUCTSearch(f"sb3:path={path}", simulations=20, seed=0)
    env = connect4_v0.env()
    env.reset(options={"moves": "415161"})  # X wins at once on either side
    assert search.act(env) in (2, 6)
    single = gymnasium.make("hexenv/Connect4-v0", opponent=f"sb3:path={path}")
    single.reset(seed=0)
    assert single.step(3)[1] == 0.0


def test_dqn_is_a_policy_too(sb3):
    from stable_baselines3 import DQN

    env = gymnasium.make("hexenv/TicTacToe-v0", mask_in="info")
    model = DQN("MlpPolicy", env, device="cpu")
    board = gymnasium.make("hexenv/TicTacToe-v0").unwrapped
    board.reset(seed=0)
    observation = board.reset(seed=0)[0]
    actions = PolicyAgent.from_sb3(model)(
        observation["observation"][None], observation["action_mask"][None]
    )
    assert observation["action_mask"][actions[0]] == 1


# ---- PyTorch -------------------------------------------------------------------------------------


@pytest.mark.parametrize("channels_first", [False, True])
def test_a_torch_module(channels_first):
    torch = needs("torch", "torch")
    shapes = []

    class Module(torch.nn.Module):
        def forward(self, boards):
            shapes.append((tuple(boards.shape), boards.dtype))
            return torch.arange(7.0).expand(len(boards), 7), torch.zeros(len(boards))

    env = connect4_v0.env()
    env.reset()
    assert PolicyAgent.from_torch(Module(), channels_first=channels_first).act(env) == 6
    assert shapes == [((1, 2, 6, 7) if channels_first else (1, 6, 7, 2), torch.float32)]


# ---- RLlib and TorchRL ---------------------------------------------------------------------------


def test_rllib_sees_what_it_reads():
    needs("ray.rllib", "rllib")
    from hexenv.adapters.rllib import make_env

    env = make_env("hexenv/Hex-v0", board_size=4)
    observation, _ = env.reset(seed=0)
    assert env.observation_space.contains(observation)
    assert observation["observations"].shape == (48,)
    assert observation["action_mask"].dtype == np.float32
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


# ---- the examples --------------------------------------------------------------------------------

SMALL = {
    "maskable_ppo": ("sb3_contrib", "sb3", ["--steps", "8192"]),
    "cleanrl_ppo": ("torch", "torch", ["--steps", "4096", "--envs", "32"]),
    "rllib_ppo": ("ray.rllib", "rllib", ["--steps", "2000"]),
    "torchrl_ppo": ("torchrl", "torchrl", ["--steps", "400", "--rollout", "200"]),
    "tianshou_dqn": ("tianshou", "tianshou", ["--steps", "2000"]),
    "skrl_ppo": ("skrl", "skrl", ["--steps", "2000"]),
}


def test_every_example_is_run():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {*SMALL, "common"}


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("game", [["--game", "Connect4"], ["--game", "Hex", "--board-size", "4"]])
def test_an_example_trains_without_an_illegal_move(name, game, tmp_path):
    module, extra, steps = SMALL[name]
    needs(module, extra)
    run = subprocess.run(
        [sys.executable, EXAMPLES / f"{name}.py", *game, *steps, "--games", "10"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    assert "illegal moves in training: 0" in run.stdout
    played = re.findall(r"(\d+) won, (\d+) drawn, (\d+) lost, .* illegal moves (\d+)", run.stdout)
    assert len(played) >= 4  # two opponents before and after
    assert all(sum(map(int, counts[:3])) == 10 for counts in played)
    assert all(counts[3] == "0" for counts in played)
