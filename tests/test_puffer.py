"""The adapter for PufferLib: it plays as `BoardVectorEnv` does, in the arrays it is given."""

import gymnasium
import numpy as np
import pytest

from hexenv.adapters.puffer import PufferBoards


def buffers(count, shape):
    return {
        "observations": np.zeros((count, *shape), np.int8),
        "actions": np.zeros(count, np.int32),
        "rewards": np.zeros(count, np.float32),
        "masks": np.ones(count, np.bool_),
        "terminals": np.zeros(count, np.bool_),
        "truncations": np.zeros(count, np.bool_),
    }


@pytest.mark.parametrize("given", [True, False])
def test_it_plays_as_the_vector_environment_does(given):
    buf = buffers(6, (4, 4, 3)) if given else None
    boards = PufferBoards(
        "hexenv/Hex-v0", num_envs=6, buf=buf, seed=3, board_size=4, illegal="terminate"
    )
    envs = gymnasium.make_vec(
        "hexenv/Hex-v0", num_envs=6, board_size=4, illegal="terminate", mask_in="info",
        autoreset_mode="SameStep",
    )  # fmt: skip
    seen, _ = boards.reset()
    seeds = np.random.SeedSequence(3).generate_state(6)
    expected, infos = envs.reset(seed=seeds.tolist())
    rng, ended = np.random.default_rng(1), 0
    for _ in range(60):
        assert np.array_equal(seen, expected)
        assert np.array_equal(boards.legal, infos["action_mask"])
        actions = rng.integers(16, size=6)
        boards.send(actions)
        *results, own_infos, numbers, masks = boards.recv()
        expected, *others, infos = envs.step(actions)
        assert all(
            np.array_equal(one, other) for one, other in zip(results[1:], others, strict=True)
        )
        assert own_infos == []
        assert numbers.tolist() == list(range(6))
        assert masks.all()
        ended += int(results[2].sum())
    assert ended > 6
    if given:
        assert seen is buf["observations"]
        assert results[1] is buf["rewards"]
        assert results[2] is buf["terminals"]
        assert buf["actions"].tolist() == actions.tolist()
    boards.close()


def test_actions_that_are_none_are_refused():
    boards = PufferBoards("hexenv/TicTacToe-v0", num_envs=3, seed=1)
    boards.reset()
    with pytest.raises(ValueError, match="action"):
        boards.step(0.7)
    with pytest.raises(ValueError, match="action"):
        boards.step(np.zeros(2, np.int32))
