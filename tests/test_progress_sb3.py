"""Ratings while Stable-Baselines3 learns, its own callbacks and wrappers, and `hexenv learn`.

Needs the extra `sb3`; `.ci/run` has an environment in which nothing here skips.
"""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from processes import run_example

from agents import PolicyAgent
from agents.apps.cli import main
from agents.learning.progress import Anchors, RatingLog, rate_policy, read_ratings
from hexenv.learners.pool import OpponentPool

pytest.importorskip("sb3_contrib", reason="the extra sb3 is not installed")

from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.callbacks import MaskableEvalCallback
from stable_baselines3.common.vec_env import VecMonitor, VecNormalize, VecVideoRecorder

from agents.learning.progress.sb3_run import LearnOptions, SB3Run
from hexenv.adapters.sb3 import BoardVecEnv, LogRatings, SelfPlay

# The libraries warn of each other's and their own deprecations; only ours are errors here.
pytestmark = [pytest.mark.filterwarnings("default"), pytest.mark.compiled]
ANCHORS = Anchors("tictactoe", {"random": 0.0, "greedy": 300.0})


def boards(num_envs=4, **options):
    return BoardVecEnv("hexenv/TicTacToe-v0", num_envs=num_envs, **{"mask_in": "info", **options})


def ppo(envs, policy="MlpPolicy"):
    settings = {"n_steps": 32, "batch_size": 64, "n_epochs": 1, "seed": 0, "device": "cpu"}
    return MaskablePPO(policy, envs, **settings)


def test_a_seed_of_the_boards_is_that_of_their_first_reset():
    first, again, other = boards(seed=3, side="random"), boards(side="random"), boards(seed=4)
    again.seed(3)
    assert (first.reset() == again.reset()).all()
    assert [*first._seeds] == [None] * 4  # of one reset
    assert [*other._seeds] == [4, 5, 6, 7]
    with pytest.raises(ValueError, match="whole number"):
        boards(seed=-1)


@pytest.mark.parametrize("background", [False, True])
def test_a_model_is_rated_while_it_learns(background, tmp_path):
    model = ppo(boards())
    log = RatingLog(tmp_path, "tictactoe", anchors=ANCHORS, pairs=1, background=background)
    model.learn(128 * 4, callback=LogRatings(log, every=200))
    assert [one.step for one in log.ratings] == [0, 256, 512]  # rollouts have 128 steps
    assert read_ratings(tmp_path) == log.ratings
    assert all(one.illegal_moves == 0 for one in log.ratings)
    final, _ = rate_policy(PolicyAgent.from_sb3(model), ANCHORS, pairs=1, step=512)
    assert log.ratings[-1] == final  # a copy that was taken at its step
    if background:
        return
    again = RatingLog(tmp_path, "tictactoe", anchors=ANCHORS, pairs=1)
    model.learn(128 * 2, callback=LogRatings(again, every=200), reset_num_timesteps=False)
    assert [one.step for one in again.ratings] == [0, 256, 512, 640, 768]
    with pytest.raises(ValueError, match="expected every of at least 1, got 0"):
        LogRatings(log, every=0)


def test_evaluation_and_monitor_of_the_library(tmp_path):
    evaluated = VecMonitor(boards(2, opponent="greedy"))
    callback = MaskableEvalCallback(
        evaluated, eval_freq=32, n_eval_episodes=6, log_path=str(tmp_path), verbose=0
    )
    training = VecMonitor(boards())
    model = ppo(training)
    model.learn(256, callback=callback)
    with np.load(tmp_path / "evaluations.npz") as found:
        assert found["timesteps"].tolist() == [128, 256]
        assert found["results"].shape == (2, 6)
        assert set(found["results"].ravel()) <= {-1.0, 0.0, 1.0}
        assert found["ep_lengths"].max() <= 5
    assert evaluated.get_attr("illegal_actions") == [0, 0]  # it asks for the masks
    assert training.get_attr("illegal_actions") == [0] * 4
    assert {one["l"] <= 5 for one in model.ep_info_buffer} == {True}


def test_rewards_are_normalised_and_observations_under_their_key():
    envs = VecNormalize(boards(), norm_obs=False)
    ppo(envs).learn(256)
    assert envs.get_attr("illegal_actions") == [0] * 4
    assert envs.ret_rms.count > 256
    envs = VecNormalize(boards(mask_in="both"), norm_obs_keys=["observation"])
    ppo(envs, "MultiInputPolicy").learn(256)
    assert envs.get_attr("illegal_actions") == [0] * 4
    raw = envs.get_original_obs()
    seen = envs.normalize_obs(raw)
    assert np.array_equal(seen["action_mask"], raw["action_mask"])
    assert not np.array_equal(seen["observation"], raw["observation"])


def test_agents_see_boards_as_they_are(tmp_path):
    """A model of normalised observations would play, in ratings and pools, by other ones."""
    model = ppo(VecNormalize(boards()))
    log = RatingLog(tmp_path, "tictactoe", anchors=ANCHORS, pairs=1, writers=[])
    for callback in (LogRatings(log, every=100), SelfPlay(OpponentPool("random"), every=100)):
        with pytest.raises(ValueError, match="expected VecNormalize with norm_obs=False"):
            model.learn(128, callback=callback)


def test_a_film_of_the_boards(tmp_path):
    pytest.importorskip("moviepy", reason="moviepy is not installed")
    envs = VecVideoRecorder(
        boards(2, render_mode="rgb_array"),
        str(tmp_path),
        record_video_trigger=lambda step: step == 0,
        video_length=5,
    )
    ppo(envs).learn(64)
    envs.close()
    (film,) = tmp_path.glob("*.mp4")
    assert film.stat().st_size > 1000
    assert envs.get_attr("illegal_actions") == [0, 0]


# ---- a run in its folder -------------------------------------------------------------------------

SMALL = {"snapshot_every": 8192, "rate_every": 8192, "pairs": 1}


def test_a_run_goes_on_where_it_stopped(tmp_path):
    wanted = LearnOptions("tictactoe", steps=16_000, **SMALL)
    run = SB3Run(tmp_path, wanted)
    reported = []

    def stop(run):
        reported.append((run.steps, run.elo))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run.run(ANCHORS, stop)
    assert [step for step, _ in reported] == [8192]
    run = SB3Run(tmp_path, wanted)
    assert run.steps == 8192
    assert run.pool.titles == ("random", "step 8192")
    run.run(ANCHORS)
    assert [one.step for one in read_ratings(tmp_path)] == [0, 8192, 16384]
    assert run.done >= 1.0
    found = MaskablePPO.load(tmp_path / "model.zip")
    assert found.num_timesteps == 16384
    assert SB3Run(tmp_path, wanted).pool.titles == ("random", "step 8192", "step 16384")
    for changed, message in (
        ({"against": ("latest",)}, r"expected against of \('league',\)"),
        ({"seed": 3}, "expected seed of 0"),
    ):
        with pytest.raises(ValueError, match=message):
            SB3Run(tmp_path, LearnOptions("tictactoe", **{"steps": 9, **SMALL, **changed}))


def test_opponents_of_a_run():
    def pool(*against):
        return LearnOptions("tictactoe", steps=1, against=against).new_pool()

    assert pool("league").titles == pool("latest").titles == ("random",)
    assert pool("league").sampling == "pfsp"
    plain = pool("latest")
    plain.add("greedy", title="snapshot")
    assert plain.probabilities() == [0.0, 1.0]
    assert pool("league", "greedy").titles == ("greedy",)
    assert not LearnOptions("tictactoe", steps=1, against=("random",)).plays_itself
    for wrong, message in (
        ({"against": ("league", "latest"), "steps": 1}, "expected league or latest, got both"),
        ({}, "expected steps or minutes to train, got none"),
        ({"minutes": 0}, "minutes"),
    ):
        with pytest.raises(ValueError, match=message):
            LearnOptions("tictactoe", **wrong)


def test_several_seeds_by_one_command(tmp_path):
    folder = tmp_path / "runs"
    arguments = [
        "learn", "sb3", "tictactoe", "--run", str(folder), "--seeds", "2", "--minutes", "0.001",
        "--against", "greedy", "--anchor", "random", "--anchor", "greedy", "--pairs", "1", "--json",
    ]  # fmt: skip
    found = CliRunner().invoke(main, arguments)
    assert found.exit_code == 0, found.output
    (curve,) = json.loads(found.stdout)
    assert curve["runs"] == 2
    assert curve["steps"] == [0.0, 8192.0]
    assert (folder / "curve.md").exists()
    assert {path.name for path in folder.glob("seed-*")} == {"seed-0", "seed-1"}
    before = read_ratings(folder / "seed-1")
    again = CliRunner().invoke(main, arguments)  # all is done
    assert again.exit_code == 0, again.output
    assert json.loads(again.stdout) == [curve]
    assert read_ratings(folder / "seed-1") == before
    for wrong, message in (
        (["learn", "sb3", "conect4", "--steps", "1"], "connect4"),
        (["learn", "sb3", "tictactoe"], "expected steps or minutes to train"),
        (
            [*arguments, "--anchor", "uct"],
            "expected the anchors random, greedy, uct, got random, greedy",
        ),
    ):
        refused = CliRunner().invoke(main, wrong)
        assert refused.exit_code == 2, refused.output
        assert message in refused.output


def test_the_example_trains_a_league(tmp_path):
    given = "--folder league --steps 16384 --pairs 1 --anchors random greedy"
    told = run_example("league_sb3", tmp_path, *given.split())
    assert "16,384 steps: Elo" in told
    assert [one.step for one in read_ratings(tmp_path / "league")] == [0, 8192, 16384]
    assert len(OpponentPool.load(tmp_path / "league" / "pool")) > 1
    assert (tmp_path / "league" / "model.zip").exists()
