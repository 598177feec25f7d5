"""State that survives: clones, deep copies and pickles of environments, at any moment."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest
from environments import (
    KINDS,
    SMALL,
    make,
    plain,
    play_out,
    view,
    whole_game,
)
from pettingzoo.utils.wrappers import BaseWrapper

COPIERS = {
    "clone": lambda env: env.clone(),
    "deepcopy": copy.deepcopy,
    "pickle": lambda env: pickle.loads(pickle.dumps(env)),
}
VIEWS = {
    "default": {},
    "planes": {"planes": ("side", "last_move"), "channels_first": True, "dtype": np.float32},
    "mask-in-info": {"mask_in": "info", "render_mode": "ansi"},
    "mask-in-observation": {"mask_in": "observation", "render_mode": "rgb_array", "theme": "dark"},
    "list-of-frames": {"render_mode": "rgb_array_list", "cell_size": 10, "coordinates": False},
}

over_copiers = pytest.mark.parametrize("copier", COPIERS.values(), ids=COPIERS)
over_kinds = pytest.mark.parametrize("kind", KINDS)
over_boards = pytest.mark.parametrize("board", SMALL)


def kind_of(env):
    """All of an environment that is not about its game."""
    agents = env.possible_agents
    return plain(
        {
            "types": (type(env), type(env.unwrapped)),
            "name": str(env),
            "metadata": env.metadata,
            "render_mode": env.render_mode,
            "game": repr(env.unwrapped.game),
            "agents": agents,
            "observations": [repr(env.observation_space(agent)) for agent in agents],
            "actions": [repr(env.action_space(agent)) for agent in agents],
        }
    )


def check_copies_at_every_ply(env, copier, actions):
    """Play a game, and at every ply: the copies are the same, and are independent both ways."""
    rng = np.random.default_rng(1)
    moments = 0
    for action in actions:
        shown, kind = view(env), kind_of(env)
        played, kept = copier(env), copier(env)
        for twin in (played, kept):
            assert twin is not env
            assert twin.unwrapped is not env.unwrapped
            assert kind_of(twin) == kind
            assert view(twin) == shown
        play_out(played, rng)
        assert played.agents == []
        assert view(env) == shown
        env.step(action)
        assert view(kept) == shown
        kept.step(action)
        assert view(kept) == view(env)
        moments += 1
    assert env.agents == []
    assert view(copier(env)) == view(env)
    return moments


@over_copiers
@over_kinds
@pytest.mark.parametrize("options", VIEWS.values(), ids=VIEWS)
def test_copies_keep_the_options(options, kind, copier):
    env = make("hex-3-swap", kind, **options)
    env.reset(options={"moves": "b1 swap"})
    twin = copier(env)
    assert kind_of(twin) == kind_of(env)
    for action in (8, 7):
        for agent in env.possible_agents:
            assert plain(twin.observe(agent)) == plain(env.observe(agent))
            assert twin.observation_space(agent).contains(twin.observe(agent))
        assert plain(twin.infos) == plain(env.infos)
        if env.render_mode is not None:
            assert plain(twin.render()) == plain(env.render())
        env.step(action)
        twin.step(action)


@over_copiers
@over_boards
def test_copies_after_an_illegal_move(board, copier):
    rng = np.random.default_rng(4)
    env = make(board, "env")
    illegal = 0
    for illegal_at in range(1, 5):
        env.reset()
        moments = check_copies_at_every_ply(env, copier, whole_game(env, rng, illegal_at))
        illegal += moments - len(env.unwrapped.actions) - 2
    assert illegal >= 2


@over_copiers
@over_kinds
@over_boards
def test_copies_before_reset(board, kind, copier):
    env = make(board, kind)
    shown, kind_shown = view(env), kind_of(env)
    twin = copier(env)
    assert kind_of(twin) == kind_shown
    assert view(twin) == shown
    assert not hasattr(twin, "agents")
    twin.reset(options={"moves": env.unwrapped.game.action_text(0)})
    assert view(env) == shown
    assert not hasattr(env, "agents")
    env.reset()
    env.step(0)
    assert view(twin) == view(env)
    play_out(env, np.random.default_rng(5))
    play_out(twin, np.random.default_rng(5))
    assert view(twin) == view(env)


@over_copiers
@over_kinds
@over_boards
def test_nothing_that_can_be_changed_is_shared(board, kind, copier):
    env, fresh = make(board, kind), make(board, kind)
    env.reset()
    fresh.reset()
    for action in (0, 1):
        env.step(action)
        shown = view(env)
        twin = copier(env)
        for info in twin.infos.values():
            info["action_mask"][:] = 9
            info["note"] = "changed"
        for attribute in (twin.infos, twin.rewards, twin.terminations, twin.truncations):
            attribute.clear()
        twin._cumulative_rewards["player_0"] = 9
        twin.agents.clear()
        twin.unwrapped.actions.clear()
        twin.unwrapped.state.ply = 9
        twin.reset()
        assert view(twin) == view(fresh)
        assert view(env) == shown


# ---- random streams of the spaces ----------------------------------------------------------------


def samples(env):
    """What the spaces of an environment draw next."""
    spaces = [
        space(agent)
        for agent in env.possible_agents
        for space in (env.action_space, env.observation_space)
    ]
    return [plain(space.sample()) for space in spaces for _ in range(5)]


def seed_spaces(env, seed):
    for agent in env.possible_agents:
        env.action_space(agent).seed(seed)
        env.observation_space(agent).seed(seed)


@over_copiers
@over_kinds
@pytest.mark.parametrize("was_reset", [False, True])
def test_copies_draw_from_streams_of_their_own(kind, copier, was_reset):
    expected = make("connect4", kind)
    seed_spaces(expected, 7)
    first, second = samples(expected), samples(expected)

    env = make("connect4", kind)
    if was_reset:
        env.reset()
    seed_spaces(env, 7)
    twin = copier(env)
    for agent in env.possible_agents:
        for name in ("action_space", "observation_space"):
            assert getattr(twin, name)(agent) is getattr(twin, name)(agent)
            assert getattr(twin, name)(agent) == getattr(env, name)(agent)
            assert getattr(twin, name)(agent) is not getattr(env, name)(agent)
    samples(twin)
    assert samples(env) == first
    seed_spaces(twin, 7)  # which seeds nothing but the copy
    assert samples(env) == second
    assert samples(twin) == first


@pytest.mark.parametrize("name", ["deepcopy", "pickle"])
def test_deep_copies_and_pickles_go_on_with_the_same_stream(name):
    env = make("connect4", "env")
    seed_spaces(env, 8)
    samples(env)
    twin = COPIERS[name](env)
    assert samples(twin) == samples(env)


# ---- wrappers and windows ------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["deepcopy", "pickle"])
def test_wrappers_of_others_around_ours_are_copied_with_them(name):
    env = BaseWrapper(make("hex-3", "env"))
    env.reset(options={"moves": "a1 b2"})
    twin = COPIERS[name](env)
    assert type(twin) is BaseWrapper
    assert view(twin) == view(env)
    env.step(8)
    assert twin.moves == "a1 b2"


@over_kinds
@over_copiers
def test_a_window_stays_with_the_original(kind, copier, monkeypatch):
    pygame = pytest.importorskip("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    env = make("hex-3", kind, render_mode="human")
    env.metadata["render_fps"] = 0  # frames as fast as they come
    env.reset()
    assert pygame.display.get_surface() is not None
    shown = view(env)
    twin = copier(env)
    assert kind_of(twin) == kind_of(env)
    assert view(twin) == shown
    twin.close()  # closes nothing: it has no window
    assert pygame.display.get_surface() is not None
    env.close()
    assert pygame.display.get_surface() is None
    assert view(twin) == shown


# ---- another process -----------------------------------------------------------------------------

PLAY_ON = """
import pickle, sys
for env in pickle.load(sys.stdin.buffer):
    while env.agents:
        observation, reward, _, _, info = env.last()
        mask = info["action_mask"]
        print(env, env.agent_selection, reward, observation["observation"].sum(), mask.tolist())
        env.step(int(mask.argmax()) if mask.any() else None)
    print(env, env.unwrapped.moves, env.unwrapped.to_bytes().hex())
"""


def test_pickles_in_another_process(capsys):
    envs = []
    for board in SMALL:
        for kind in KINDS:
            for plies in (0, 3, None):
                env = make(board, kind)
                env.reset()
                rng = np.random.default_rng(9)
                for number, action in enumerate(whole_game(env, rng)):
                    if number == plies or action is None:
                        break
                    env.step(action)
                envs.append(env)
    data = pickle.dumps(envs)
    command = [sys.executable, "-c", PLAY_ON]
    done = subprocess.run(command, input=data, capture_output=True, check=True, timeout=300)
    there = done.stdout.decode().splitlines()

    exec(PLAY_ON.replace("pickle.load(sys.stdin.buffer)", "envs"), {"envs": envs})
    here = capsys.readouterr().out.splitlines()
    assert there == here
    assert len(here) > 100
