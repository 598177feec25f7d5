"""The games that a network learns from: in memory, against a list of Python's, and in files."""

import io
import json
import zipfile

import numpy as np
import pytest
from environments import Trap, make, random_action

from agents.learning.replay import Games, ReplayBuffer, load_games, save_games
from hexenv.games import base

FOUR = ["hex-3-swap", "connect4-4x5", "tictactoe", "gomoku-4"]


def game_on(board):
    return make(board).unwrapped.game


def random_games(board, count, seed, openings=0):
    """Random games, each with the planes and the players of its positions as an environment says.

    The first `openings` moves of every second game have no policy.
    """
    env, rng = make(board, planes=("side", "last_move")), np.random.default_rng(seed)
    num_actions = env.unwrapped.game.num_actions()
    parts, positions = [], []
    for number in range(count):
        env.reset()
        actions, policies, seen, players = [], [], [], []
        while not any(env.terminations.values()):
            agent = env.agent_selection
            seen.append(env.observe(agent)["observation"].copy())
            players.append(env.possible_agents.index(agent))
            is_searched = number % 2 == 0 or len(actions) >= openings
            policies.append(rng.dirichlet(np.ones(num_actions)) * is_searched)
            actions.append(random_action(env, rng))
            env.step(actions[-1])
        reward = int(env.rewards["player_0"])
        values = rng.uniform(-1, 1, len(actions)).astype(np.float32)
        parts.append(
            Games(
                np.array([len(actions)], np.int32),
                np.array([reward], np.int8),
                np.array(actions, np.int16),
                np.array(policies, np.float32),
                values,
            )
        )
        for ply in range(len(actions)):
            positions.append(
                {
                    "start": len(positions) - ply if ply == 0 else positions[-1]["start"],
                    "actions": actions[:ply],
                    "planes": seen[ply],
                    "policy": np.float32(policies[ply]),
                    "player": players[ply],
                    "outcome": reward if players[ply] == 0 else -reward,
                    "value": values[ply],
                    "is_searched": bool(np.any(policies[ply])),
                }
            )
    return parts, positions


def drawable(positions, capacity):
    """The numbers of the positions that may be drawn, by a list's own reckoning."""
    oldest = len(positions) - min(capacity, len(positions))
    return {
        number
        for number in range(oldest, len(positions))
        if positions[number]["start"] >= oldest and positions[number]["is_searched"]
    }


# ---- in memory -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("board", "capacity"),
    [("hex-3-swap", 40), ("connect4-4x5", 75), ("tictactoe", 1000), ("gomoku-4", 75)],
)
def test_what_is_drawn_is_what_was_played(board, capacity):
    game = game_on(board)
    parts, positions = random_games(board, 30, seed=1, openings=2)
    buffer = ReplayBuffer(game, capacity, ("side", "last_move"))
    rng = np.random.default_rng(2)
    known = 0
    for first in range(0, 30, 3):
        games = Games.joined(parts[first : first + 3])
        buffer.add(games)
        known += len(games.actions)
        allowed = drawable(positions[:known], capacity)
        assert len(buffer) == min(capacity, known)
        numbers = buffer.draw(200, rng)
        assert set(numbers.tolist()) <= allowed
        assert len(numbers) == 200 or not allowed
        batch = buffer.batch(numbers)
        for row, number in enumerate(numbers.tolist()):
            position = positions[number]
            assert np.array_equal(batch.planes[row], position["planes"])
            assert np.array_equal(batch.policies[row], position["policy"])
            assert batch.players[row] == position["player"]
            assert batch.outcomes[row] == position["outcome"]
            assert batch.values[row] == position["value"]
    assert set(buffer.draw(5000, rng).tolist()) == drawable(positions, capacity)
    assert buffer.total == len(positions)
    assert known > 2 * 75 or capacity == 1000


def test_more_games_than_the_buffer_holds_leave_the_newest():
    parts, positions = random_games("tictactoe", 20, seed=4)
    at_once, one_by_one = (ReplayBuffer(game_on("tictactoe"), 30) for _ in range(2))
    at_once.add(Games.joined(parts))
    for part in parts:
        one_by_one.add(part)
    for name in ("actions", "plies", "policies", "values", "outcomes", "uses", "total"):
        assert np.array_equal(getattr(at_once, name), getattr(one_by_one, name)), name
    assert set(at_once.draw(500, np.random.default_rng(1)).tolist()) == drawable(positions, 30)


def test_nothing_is_drawn_where_there_is_nothing_to_learn():
    buffer = ReplayBuffer(game_on("tictactoe"), 100)
    rng = np.random.default_rng(1)
    assert len(buffer.draw(10, rng)) == 0
    parts, _ = random_games("tictactoe", 2, seed=1)
    buffer.add(parts[0]._replace(policies=np.zeros_like(parts[0].policies)))
    assert len(buffer.draw(10, rng)) == 0
    batch = buffer.sample(10, rng)
    assert batch.planes.shape == (0, 3, 3, 2)


@pytest.mark.parametrize(("most", "recency"), [(1, 0.0), (3, 3.0), (65535, 0.0)])
def test_no_position_is_drawn_more_often_than_it_may_be(most, recency):
    parts, positions = random_games("tictactoe", 6, seed=5, openings=2)
    buffer = ReplayBuffer(game_on("tictactoe"), 100, recency=recency, most_reuse=most)
    buffer.add(Games.joined(parts))
    allowed = drawable(positions, 100)
    if most == 65535:  # as good as no limit, and no wrapping around
        buffer.uses[sorted(allowed)] = most - 3
        most = 3
    rng = np.random.default_rng(6)
    drawn = np.concatenate([buffer.draw(16, rng) for _ in range(40)])
    counts = np.bincount(drawn, minlength=len(positions))
    assert set(np.flatnonzero(counts).tolist()) == allowed
    assert counts.max() == most
    assert counts.sum() == most * len(allowed)
    assert len(buffer.draw(16, rng)) == 0


def test_a_position_that_takes_the_place_of_another_begins_unused():
    parts, _ = random_games("tictactoe", 40, seed=7)
    buffer = ReplayBuffer(game_on("tictactoe"), 64, most_reuse=2)
    rng = np.random.default_rng(1)
    for part in parts:
        buffer.add(part)
        drawn = buffer.draw(500, rng)
        newest = drawn[drawn >= buffer.total - len(part.actions)]
        assert sorted(newest.tolist()) == sorted(
            2 * list(range(buffer.total - len(part.actions), buffer.total))
        )


@pytest.mark.parametrize("recency", [0.0, 2.0])
def test_newer_positions_are_drawn_in_proportion(recency):
    """In ten parts from the oldest to the newest, against the integral of exp(recency x)."""
    parts, _ = random_games("tictactoe", 150, seed=8)
    games = Games.joined(parts)
    buffer = ReplayBuffer(game_on("tictactoe"), 1000, recency=recency)
    buffer.add(games)
    count = len(games.actions)
    assert count < 1200
    numbers = buffer.draw(40_000, np.random.default_rng(1))
    oldest = buffer.total - len(buffer)
    found, _ = np.histogram(numbers, np.linspace(oldest, buffer.total, 11))
    edges = np.linspace(0, 1, 11)
    ends = np.exp(recency * edges) if recency else edges
    expected = np.diff(ends) / (ends[-1] - ends[0])
    assert np.abs(found / 40_000 - expected).max() < 0.01
    assert (expected[-1] / expected[0] > 5) == (recency > 0)


@pytest.mark.parametrize("board", FOUR)
def test_a_position_can_be_played_on_from(board):
    game = game_on(board)
    parts, positions = random_games(board, 12, seed=9)
    buffer = ReplayBuffer(game, 50)
    buffer.add(Games.joined(parts))
    oldest = len(positions) - 50
    env = make(board)
    for number, position in enumerate(positions):
        if position["start"] < oldest:
            with pytest.raises(IndexError, match=f"got {number} "):
                buffer.state(number)
            continue
        env.reset()
        for action in position["actions"]:
            env.step(action)
        assert buffer.state(number).tobytes() == env.unwrapped.state.tobytes()
    with pytest.raises(IndexError):
        buffer.state(len(positions))


# ---- files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("board", FOUR)
def test_saved_games_are_the_same_games(board, tmp_path):
    parts, _ = random_games(board, 3, seed=1, openings=1)
    games, path = Games.joined(parts), tmp_path / "games.npz"
    save_games(path, games, game_on(board), {"iteration": 3})
    found = load_games(path, game_on(board))
    for name, array in games._asdict().items():
        assert np.array_equal(getattr(found, name), array), name
        assert getattr(found, name).dtype == array.dtype
    assert list(tmp_path.iterdir()) == [path]


def test_no_games_are_games():
    joined = Games.joined([Games.none(9), Games.none(9)])
    assert (len(joined.lengths), joined.policies.shape) == (0, (0, 9))


def arrays_of(games, header=None, **changes):
    known = {
        "format": "hexenv-games",
        "version": 1,
        "game": "tictactoe",
        "parameters": base.parameters(game_on("tictactoe")),
        "about": None,
    }
    text = header if isinstance(header, str) else json.dumps({**known, **(header or {})})
    arrays = {**games._asdict(), "about": np.frombuffer(text.encode(), np.uint8), **changes}
    return {name: array for name, array in arrays.items() if array is not None}


def some_games():
    return Games.joined(random_games("tictactoe", 4, seed=2)[0])


def changed(array, place, value):
    array = array.copy()
    array[place] = value
    return array


def moved(lengths, plies):
    """The lengths of games, with some plies of the second in the first."""
    return lengths + np.array([plies, -plies, 0, 0], np.int32)


def repeated(games):
    """The actions of games, of which the second begins with the same move twice."""
    first = games.lengths[0]
    return changed(games.actions, first + 1, games.actions[first])


REFUSED = {
    "another format": (lambda g: {"header": {"format": "pgn"}}, "pgn"),
    "a later version": (lambda g: {"header": {"version": 2}}, "version 1, got 2"),
    "no header": (lambda g: {"about": None}, "version 1"),
    "no JSON": (lambda g: {"header": "{"}, "version 1"),
    "a list for a header": (lambda g: {"header": "[]"}, "version 1"),
    "another game": (lambda g: {"header": {"game": "gomoku"}}, "got 'gomoku'"),
    "another board": (
        lambda g: {"header": {"parameters": {"rows": 4, "columns": 4}}}, "got .*4",
    ),
    "an array too many": (lambda g: {"extra": np.ones(1)}, "extra"),
    "an array missing": (lambda g: {"values": None}, "values"),
    "an illegal move": (lambda g: {"actions": repeated(g)}, "rules .*game 1"),
    "an unknown action": (lambda g: {"actions": changed(g.actions, -1, 9)}, "rules .*game 3"),
    "a negative action": (lambda g: {"actions": changed(g.actions, 0, -1)}, "rules .*game 0"),
    "another outcome": (lambda g: {"outcomes": changed(g.outcomes, 2, 2)}, "rules .*game 2"),
    "a game that goes on": (lambda g: {"lengths": moved(g.lengths, -1)}, "rules .*game 0"),
    "a game that went on": (lambda g: {"lengths": moved(g.lengths, 1)}, "rules .*game 0"),
    "no game": (lambda g: {"lengths": changed(g.lengths, 0, 0)}, "fit together"),
    "plies too many": (lambda g: {"lengths": g.lengths + np.int32(1)}, "fit together"),
    "another type": (lambda g: {"actions": g.actions.astype(np.int64)}, "fit together"),
    "another shape": (lambda g: {"actions": g.actions[:, None]}, "fit together"),
    "a number for an array": (lambda g: {"actions": np.int16(3)}, "fit together"),
    "too few actions": (lambda g: {"policies": g.policies[:, :8]}, "fit together"),
    "no number": (lambda g: {"policies": changed(g.policies, (0, 0), np.nan)}, "policies"),
    "a value out of range": (lambda g: {"values": changed(g.values, 0, 1.5)}, "values"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_of_games_is_refused_with(name, tmp_path):
    (changes, message), games = REFUSED[name], some_games()
    np.savez(tmp_path / "games.npz", **arrays_of(games, **changes(games)))
    with pytest.raises(ValueError, match=message):
        load_games(tmp_path / "games.npz", game_on("tictactoe"))


def test_a_pickled_array_is_refused_and_not_unpickled(tmp_path):
    path, trace = tmp_path / "games.npz", tmp_path / "trace"
    np.savez(path, **arrays_of(some_games(), values=np.array([Trap(trace)], object)))
    with pytest.raises(ValueError, match=r"expected hexenv-games .*got a damaged .*games\.npz"):
        load_games(path, game_on("tictactoe"))
    assert not trace.exists()


def test_a_damaged_file_is_refused_by_name(tmp_path):
    path = tmp_path / "games.npz"
    save_games(path, some_games(), game_on("tictactoe"), None)
    assert len(load_games(path, game_on("tictactoe")).lengths) == 4
    whole = path.read_bytes()
    other = io.BytesIO()
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("values.npy", b"text")
    middle = len(whole) // 2
    flipped = whole[:middle] + bytes([whole[middle] ^ 0xFF]) + whole[middle + 1 :]
    for damaged in (b"", b"text", whole[:100], whole[:-30], flipped, other.getvalue()):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"expected .*games.*games\.npz"):
            load_games(path, game_on("tictactoe"))


def test_a_file_that_grows_too_large_leaves_the_games_that_were_there(tmp_path):
    resource = pytest.importorskip("resource", reason="no limits of a file's size here")
    path, game = tmp_path / "games.npz", game_on("tictactoe")
    save_games(path, some_games(), game, None)
    before, limits = path.read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (600, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large") as found:
            save_games(path, some_games(), game, None)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert found.value.filename == str(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
