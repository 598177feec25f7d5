"""Data from games: the same by every route, whose side it is on, and what files are refused."""

import functools
import json
import shutil

import numpy as np
import pytest
from training_runs import call

from agents import GreedyAgent, RandomAgent
from agents.learning.data import Data, Positions, Recipe, folder, make_data, playing
from agents.learning.data.positions import check_positions
from agents.registry import make_agent, make_environment
from hexenv import hex_v0
from hexenv.games import hex as hex_game

UCT = "uct:simulations=6"
OPTIONS = ("board_size=3",)


@functools.cache
def positions_of(*agents, game="hex", options=OPTIONS, boards=4, count=4, **recipe):
    return playing.Games(
        Recipe(game, list(options), list(agents), **{"seed": 5, **recipe}), boards=boards
    ).play(0, count)


def assert_equal(first, second):
    for name, column in first._asdict().items():
        np.testing.assert_array_equal(column, getattr(second, name), err_msg=name)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "hex"
    return make_data(path, "hex", [UCT], 5, options=OPTIONS, seed=5, shard=2)


# ---- the games -----------------------------------------------------------------------------------


def test_a_position_is_what_an_environment_shows_its_mover():
    found = positions_of(UCT, "random")
    env = hex_v0.env(board_size=3)
    for number in np.unique(found.games):
        game = found.take(found.games == number)
        env.reset()
        for ply, action in enumerate(game.actions):
            mover = int(game.players[ply])
            assert env.agent_selection == f"player_{mover}"
            seen = env.observe(env.agent_selection)
            np.testing.assert_array_equal(seen["observation"], game.observations[ply])
            np.testing.assert_array_equal(seen["action_mask"], game.action_masks[ply])
            env.step(int(action))
        assert all(env.terminations.values())
        rewards = [env.rewards[f"player_{player}"] for player in game.players]
        np.testing.assert_array_equal(rewards, game.outcomes)
        assert game.outcomes[-1] == 1  # in Hex who moves last has won


@pytest.mark.parametrize("agent", [UCT, "rave:simulations=6,playout=bridges"])
def test_many_games_at_once_are_those_of_one_agent(agent):
    class Alone(playing.Games):
        @staticmethod
        def _together(agent, env, boards, threads):
            return None

    recipe = Recipe("hex", list(OPTIONS), [agent], seed=5)
    alone = Alone(recipe)
    assert alone.boards == 1
    assert_equal(alone.play(0, 4), positions_of(agent))


def test_each_game_is_the_same_in_whatever_company():
    together = positions_of(UCT, "uct:simulations=3")
    parts = [playing.Games(Recipe("hex", list(OPTIONS), [UCT, "uct:simulations=3"], seed=5))]
    assert_equal(together, Positions.joined([parts[0].play(0, 1), parts[0].play(1, 3)]))
    assert_equal(together, positions_of(UCT, "uct:simulations=3", boards=1))


def test_what_a_position_says_is_of_the_agents_search():
    found = positions_of(UCT, temperature=0.0)
    for row in np.flatnonzero(found.searched):
        assert found.visits[row, found.actions[row]] == found.visits[row].max() or (
            abs(found.values[row]) == 1.0  # a proven win, or all but one are proven losses
        )
    np.testing.assert_allclose(found.policies.sum(axis=1), found.searched, rtol=1e-6)
    assert (found.visits[found.searched].sum(axis=1) > 0).all()
    assert np.isnan(found.values[~found.searched]).all()


def test_a_proven_win_is_1_for_the_mover_who_wins():
    solver = positions_of("solver", opening_plies=3)
    searched = solver.take(solver.searched)
    np.testing.assert_array_equal(searched.values, searched.outcomes)
    assert {(-1, 0), (1, 0), (-1, 1), (1, 1)} <= set(
        zip(searched.outcomes.tolist(), searched.players.tolist(), strict=True)
    )


def test_random_moves_open_games_and_the_temperature_draws():
    calm = positions_of(UCT, temperature=0.0, opening_plies=0, count=8)
    assert calm.searched.all()
    open_ = positions_of(UCT, opening_plies=4, count=8)
    lengths = [(~open_.searched)[open_.games == number].sum() for number in range(8)]
    assert 0 < max(lengths) <= 4
    assert (open_.plies[~open_.searched] < 4).all()
    assert (open_.agents[~open_.searched] == -1).all()
    hot = positions_of(UCT, temperature=1.0, opening_plies=0, count=8)
    best = hot.visits.max(axis=1)
    assert (hot.visits[np.arange(len(best)), hot.actions] > 0).all()
    assert (hot.visits[np.arange(len(best)), hot.actions] < best).any()


def test_agents_take_turns_and_sides():
    found = positions_of("uct:simulations=6", "greedy", count=4)
    assert playing.Games(Recipe("hex", list(OPTIONS), [UCT, "greedy"])).boards == 1
    searched = found.take(found.searched)
    players = [searched.players[(searched.games == n) & (searched.agents == 0)] for n in range(4)]
    assert [set(each.tolist()) for each in players] == [{0}, {1}, {0}, {1}]
    greedy = searched.take(searched.agents == 1)
    assert (greedy.visits.sum(axis=1) == 1).all()
    assert np.isnan(greedy.values).all()


@pytest.mark.parametrize("game", ["tictactoe", "connect4"])
def test_other_games(game):
    found = positions_of(UCT, game=game, options=(), count=2)
    check_positions(found, make_environment(game).unwrapped.game)


# ---- files ---------------------------------------------------------------------------------------


def test_what_is_read_is_what_was_played(made):
    assert [path.name for path in sorted((made.path / "positions").iterdir())] == [
        "000000.npz",
        "000001.npz",
        "000002.npz",
    ]
    positions = made.positions()
    assert_equal(positions, positions_of(UCT, count=5))
    assert len(Data(made.path)) == 5
    with np.load(made.path / "positions" / "000000.npz", allow_pickle=False) as arrays:
        assert set(arrays) == {"about", *Positions._fields}


def test_the_same_whether_interrupted_or_not(made, tmp_path):
    class StopError(Exception):
        pass

    def stop(games, positions):
        raise StopError

    for games in (1, 3):
        with pytest.raises(StopError):
            make_data(tmp_path, "hex", [UCT], games, options=OPTIONS, seed=5, shard=2, report=stop)
    again = make_data(tmp_path, "hex", [UCT], 5, options=OPTIONS, seed=5)
    assert_equal(again.positions(), made.positions())
    for path in (made.path / "positions").iterdir():
        assert path.read_bytes() == (tmp_path / "positions" / path.name).read_bytes()


@pytest.mark.slow
def test_the_same_with_processes(made, tmp_path):
    agents = [make_agent(UCT)]
    again = make_data(tmp_path, "hex", agents, 5, options=OPTIONS, seed=5, shard=1, workers=2)
    assert_equal(again.positions(), made.positions())


def test_data_goes_on_only_with_what_it_was_begun(made):
    again = functools.partial(make_data, made.path, "hex", [UCT], options=OPTIONS, seed=5)
    for changed, word in [
        ({"seed": 6}, "seed of 5"),
        ({"temperature": 0.5}, "temperature of 1.0"),
        ({"options": ("board_size=4",)}, "board_size"),
        ({"shard": 3}, "2 games in a shard"),
    ]:
        with pytest.raises(ValueError, match=word):
            again(5, **changed)
    with pytest.raises(ValueError, match="games from 5"):
        again(4)
    with pytest.raises(ValueError, match="did you mean parquet"):
        again(5, formats=["parket"])
    with pytest.raises(ValueError, match="rave"):
        make_data(made.path / "new", "hex", ["raev"], 1)
    assert not (made.path / "new").exists()


def test_an_agent_may_be_an_object(tmp_path):
    data = make_data(tmp_path, "tictactoe", [GreedyAgent(), "random"], 2, seed=1)
    assert data.recipe.agents == ["GreedyAgent()", "random"]
    with pytest.raises(ValueError, match=r"expected agents of .*GreedyAgent\(\).*got"):
        make_data(tmp_path, "tictactoe", [RandomAgent(), "random"], 4, seed=1)
    assert set(data.positions().agents) <= {-1, 0, 1}


def test_the_data_card_has_the_command_and_the_counts(made):
    card = (made.path / "README.md").read_text(encoding="utf-8")
    assert f"hexenv data hex --option board_size=3 --agent {UCT} --games 5 --to DIR" in card
    assert f"{len(made.positions().actions)} positions of 5 games" in card
    assert all(f"`{name}`" in card for name in Positions._fields)


def test_the_command_makes_the_same(made, tmp_path):
    command = (made.path / "README.md").read_text(encoding="utf-8").split("```")[1].split("\n")[1]
    words = command.replace("DIR", str(tmp_path)).split()
    assert words[:2] == ["hexenv", "data"]
    result = call(*words[1:], "--workers", 0, "--json")
    assert json.loads(result.stdout)["games"] == 5
    assert_equal(Data(tmp_path).positions(), made.positions())
    assert "expected games from 5" in call(*words[1:], "--games", 4, status=2).output


# ---- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "change", "word"),
    [
        ("observations", lambda column: 1 - column, "observations as the moves give"),
        ("action_masks", np.ones_like, "action_masks as the moves give"),
        ("outcomes", lambda column: -column, "outcomes as the moves give"),
        ("players", lambda column: 1 - column, "players as the moves give"),
        ("actions", np.zeros_like, "by the rules"),
        ("actions", lambda column: column - 100, "by the rules"),
        ("visits", lambda column: column - 1, "visits from 0"),
        ("visits", np.ones_like, "of legal actions"),
        ("visits", np.zeros_like, "visits where an agent"),
        ("agents", lambda column: column - 1, "visits where an agent"),
        ("values", lambda column: column + 3, "values from -1 to 1"),
        ("values", np.zeros_like, "NaN where there are none"),
        ("games", np.zeros_like, "whole games"),
        ("plies", lambda column: column + 1, "plies from 0"),
        ("visits", lambda column: column.astype(np.int64), "visits of int32"),
        ("values", lambda column: column[:-1], "values of float32"),
    ],
)
def test_positions_that_cannot_be_are_refused(name, change, word):
    found = positions_of(UCT, opening_plies=4)
    game = hex_game.new(3)
    check_positions(found, game)
    with pytest.raises(ValueError, match=word):
        check_positions(found._replace(**{name: change(getattr(found, name))}), game)


def test_bad_files_are_refused(made, tmp_path):
    path = made.path / "positions" / "000000.npz"
    good, game = path.read_bytes(), hex_game.new(3)
    bad = tmp_path / "bad.npz"
    for content in (b"", good[: len(good) // 2], good[:200] + b"\0" * 9 + good[209:]):
        bad.write_bytes(content)
        with pytest.raises(ValueError, match=r"bad\.npz"):
            folder.load_positions(bad, game)
    with pytest.raises(ValueError, match="expected parameters"):
        folder.load_positions(path, hex_game.new(4))
    np.savez(bad, about=np.zeros(3, np.uint8))
    with pytest.raises(ValueError, match="expected hexenv-data of version 1"):
        folder.load_positions(bad, game)
    with pytest.raises(FileNotFoundError):
        folder.load_positions(tmp_path / "none.npz", game)


def test_bad_folders_are_refused(made, tmp_path):
    with pytest.raises(ValueError, match=r"without a data\.json"):
        Data(tmp_path)
    copy = tmp_path / "copy"
    shutil.copytree(made.path, copy)
    (copy / "positions" / "000001.npz").unlink()
    with pytest.raises(ValueError, match=r"expected 5 games .* got 3"):
        Data(copy)
    shutil.copy(copy / "positions" / "000000.npz", copy / "positions" / "000001.npz")
    with pytest.raises(ValueError, match="expected games 2 to 3"):
        Data(copy).positions()
    text = (copy / "data.json").read_text()
    for before, after, word in [
        ('"version": 1', '"version": 2', "version 1"),
        ('"games": 5', '"games": "five"', "games"),
        ('"rows": 3', '"rows": 4', "expected the game with"),
    ]:
        (copy / "data.json").write_text(text.replace(before, after))
        with pytest.raises(ValueError, match=word):
            Data(copy)


# ---- other formats -------------------------------------------------------------------------------


def test_parquet_has_the_same(made):
    pytest.importorskip("pyarrow", reason="the extra parquet is not installed")
    from agents.learning.data.parquet import load_parquet

    make_data(made.path, "hex", [UCT], 5, options=OPTIONS, seed=5, formats=["parquet"])
    files = sorted((made.path / "parquet").iterdir())
    assert_equal(
        Positions.joined([load_parquet(file, made.game) for file in files]), made.positions()
    )
    bad = made.path / "bad.parquet"
    bad.write_bytes(files[0].read_bytes()[:-100])
    with pytest.raises(ValueError, match=r"bad\.parquet"):
        load_parquet(bad, made.game)
    bad.unlink()


def test_minari_has_the_same(made):
    minari = pytest.importorskip("minari", reason="the extra minari is not installed")
    pytest.importorskip("h5py", reason="the extra minari is not installed")
    from agents.learning.data.minari import INFOS, dataset_path

    make_data(made.path, "hex", [UCT], 5, options=OPTIONS, seed=5, formats=["minari"])
    dataset, positions = minari.MinariDataset(dataset_path(made)), made.positions()
    assert (dataset.total_episodes, dataset.total_steps) == (5, len(positions.actions))
    assert dataset.id == "hex-3x3-v0"
    for episode in dataset.iterate_episodes():
        game = positions.take(positions.games == episode.id)
        count = len(game.actions)
        np.testing.assert_array_equal(episode.observations["observation"][:-1], game.observations)
        np.testing.assert_array_equal(episode.observations["action_mask"][:-1], game.action_masks)
        assert not episode.observations["action_mask"][-1].any()
        np.testing.assert_array_equal(episode.actions, game.actions)
        for name in INFOS:
            np.testing.assert_array_equal(episode.infos[name], getattr(game, name))
        assert episode.rewards.tolist() == [0.0] * (count - 1) + [float(game.outcomes[-1])]
        assert episode.terminations.tolist() == [False] * (count - 1) + [True]
        assert not episode.truncations.any()
        for row in range(count + 1):  # as Minari checks a dataset
            shown = {key: column[row] for key, column in episode.observations.items()}
            assert dataset.observation_space.contains(shown)
        assert all(dataset.action_space.contains(action) for action in episode.actions)
    env = dataset.recover_environment(eval_env=True)
    assert env.observation_space == dataset.observation_space
    assert env.action_space == dataset.action_space


# ---- learning ------------------------------------------------------------------------------------


def test_a_dataset_of_pytorch(made):
    torch = pytest.importorskip("torch", reason="the extra torch is not installed")
    from agents.learning.dataset import PositionDataset

    dataset, positions = PositionDataset(made.path), made.positions()
    searched = positions.take(positions.searched)
    assert len(dataset) == len(searched.actions)
    assert len(PositionDataset(made.path, openings=True)) == len(positions.actions)
    loader = torch.utils.data.DataLoader(dataset, batch_size=7)
    batches = list(loader)
    found = {key: torch.cat([batch[key] for batch in batches]).numpy() for key in batches[0]}
    np.testing.assert_array_equal(found["observation"], np.moveaxis(searched.observations, -1, 1))
    np.testing.assert_array_equal(found["policy"], searched.policies)
    np.testing.assert_array_equal(found["value"], searched.values)
    np.testing.assert_array_equal(found["outcome"], searched.outcomes)
    np.testing.assert_array_equal(found["action_mask"], searched.action_masks)
    np.testing.assert_array_equal(found["action"], searched.actions)
    np.testing.assert_array_equal(found["player"], searched.players)


def test_games_of_data_are_as_self_play_gives_them(made, tmp_path):
    pytest.importorskip("torch", reason="the extra train is not installed")
    from agents.learning.dataset import games_of
    from agents.learning.replay import ReplayBuffer, load_games, save_games

    positions = made.positions()
    games = games_of(positions)
    save_games(tmp_path / "games.npz", games, made.game, {})
    load_games(tmp_path / "games.npz", made.game)  # which checks them against the rules
    buffer = ReplayBuffer(made.game, len(positions.actions))
    buffer.add(games)
    batch = buffer.batch(np.arange(len(positions.actions)))
    np.testing.assert_array_equal(batch.planes, positions.observations)
    np.testing.assert_array_equal(batch.outcomes, positions.outcomes)
    np.testing.assert_array_equal(batch.policies, positions.policies)
    np.testing.assert_array_equal(batch.players, positions.players)
    has_value = positions.searched
    np.testing.assert_array_equal(batch.values[has_value], positions.values[has_value])


def test_decided_positions_of_data_can_be_left_out(made):
    pytest.importorskip("torch", reason="the extra train is not installed")
    from agents.learning.dataset import games_of

    positions = made.positions()
    found, whole = games_of(positions, decided=False), games_of(positions)
    decided = np.abs(positions.values) == 1.0
    assert 0 < decided.sum() < len(decided)
    assert not found.policies[decided].any()
    np.testing.assert_array_equal(found.policies[~decided], whole.policies[~decided])
    np.testing.assert_array_equal(found.actions, whole.actions)


def test_a_network_learns_from_data_alone(made, tmp_path):
    pytest.importorskip("safetensors", reason="the extra train is not installed")
    from training_runs import log_of, tiny

    from agents.learning.training import Run

    settings = tiny(
        game="hex", options={"board_size": 3}, data=str(made.path), iterations=3,
        replay={"reuse": 6.0}, network={"heads": "dense", "canonical": False},
    )  # fmt: skip
    Run(tmp_path / "whole", settings).run()
    lines = log_of(tmp_path / "whole")
    positions = made.positions()
    steps = int(positions.searched.sum()) * 6 / 16
    assert sum(line["steps"] for line in lines) == pytest.approx(steps, abs=1)
    assert {line["total_positions"] for line in lines} == {len(positions.actions)}
    assert not any(line["games"] for line in lines)
    run = Run(tmp_path / "parts", settings)
    with pytest.raises(KeyError):
        run.run(lambda figures: {}["stop"])
    moved = tmp_path / "moved"
    shutil.copytree(made.path, moved)
    Run(tmp_path / "parts", {"data": str(moved)}).run()
    assert log_of(tmp_path / "parts") == lines
    with pytest.raises(ValueError, match="expected data of Hex"):
        Run(tmp_path / "other", {**settings, "options": {"board_size": 4}})


@pytest.mark.parametrize("method", ["uct", "rave"])
def test_self_play_without_the_network(method, tmp_path):
    pytest.importorskip("safetensors", reason="the extra train is not installed")
    from training_runs import log_of, tiny, train

    settings = tiny(
        iterations=3, search={"method": method, "simulations": 6, "temperature_plies": 3}
    )
    run = train(tmp_path / "run", settings)
    line = log_of(tmp_path / "run")[-1]
    assert line["simulations"] if "simulations" in line else line["positions"] == 64
    assert line["evaluations"] == 0
    assert "search_agreement" not in line
    assert run.buffer.policies[: len(run.buffer)].sum(axis=1).max() == pytest.approx(1.0)
    wrong = tiny(search={"method": method, "playout": "bridges"})
    with pytest.raises(ValueError, match="bridges"):
        train(tmp_path / "wrong", wrong)
    assert not (tmp_path / "wrong").exists()


def test_a_format_without_its_library_is_refused_before_anything_is_shown(tmp_path, monkeypatch):
    def missing(module, extra):
        raise ImportError(f"no {module}")

    monkeypatch.setattr("agents.learning.data.parquet.library", missing)
    command = ["data", "tictactoe", "--agent", "random", "--games", 1, "--to", tmp_path / "new"]
    result = call(*command, "--workers", 0, "--format", "parquet", status=2)
    assert "no pyarrow" in result.stderr
    assert "games" not in result.stderr  # no bar
    assert not (tmp_path / "new").exists()
