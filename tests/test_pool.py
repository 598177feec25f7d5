"""The pool of opponents: who is drawn, what is told of them, and what is kept in files."""

import copy
import json
import pickle

import numpy as np
import pytest
from environments import single, vector
from gymnasium.vector import AutoresetMode

from agents import UCT, PolicyAgent
from hexenv.learners.members import Tally
from hexenv.learners.pool import OpponentPool, PoolRoster

SAMPLINGS = ("uniform", "pfsp", "pfsp-variance", "latest")


def first_legal(_observations, masks):
    return np.argmax(masks, axis=-1)


def last_legal(_observations, masks):
    return masks.shape[-1] - 1 - np.argmax(np.flip(masks, -1), axis=-1)


def even(planes, masks):
    """A policy without a preference."""
    return np.zeros(masks.shape), None


def snapshot(title):
    return PolicyAgent(even, title=title)


def play(envs, steps, seed=3, before_step=lambda: None):
    """Random legal steps; for each ended episode its board, its opponent in infos, its reward."""
    rng = np.random.default_rng(seed)
    envs.reset(seed=seed)
    ended = []
    for _ in range(steps):
        before_step()
        masks = envs.action_masks()
        actions = (rng.random(masks.shape) * masks).argmax(axis=1)
        _, rewards, terminations, truncations, infos = envs.step(actions)
        over = terminations | truncations
        if envs._counts_results:
            assert tuple(infos["opponent"]) == envs.opponents
            assert infos["_opponent"].all()
            if envs.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP and over.any():
                infos = infos["final_info"]
                assert infos["_opponent"].tolist() == over.tolist()
                assert [one is None for one in infos["opponent"]] == (~over).tolist()
        for board in np.flatnonzero(over).tolist():
            title = infos["opponent"][board] if "opponent" in infos else None
            ended.append((board, title, float(rewards[board])))
    return ended


def tallied(ended):
    """Wins, draws and losses by the opponent's title."""
    found = {}
    for _, title, reward in ended:
        found.setdefault(title, [0, 0, 0])[int(1 - reward)] += 1
    return found


def counts(pool):
    found = {title: [one.wins, one.draws, one.losses] for title, one in pool.results.items()}
    return {title: each for title, each in found.items() if any(each)}


# ---- who is in it --------------------------------------------------------------------------------


def test_titles_stay():
    pool = [snapshot("snap1"), UCT(simulations=2), first_legal]
    env, envs = single(opponent=pool[0]), vector(opponent=pool)
    env.reset(seed=1)
    assert env.opponent == "snap1"
    assert envs.pool.titles == ("snap1", "uct", "first_legal")
    ended = play(envs, 40)
    assert {title for _, title, _ in ended} == set(envs.pool.titles)


def test_a_member_that_is_added_plays_from_the_next_episode_on():
    pool = OpponentPool("random")
    envs = vector(num_envs=4, opponent=pool, autoreset_mode="SameStep")
    envs.reset(seed=1)
    assert pool.add(first_legal, "first", weight=1e9) == "first"
    rng, waiting = np.random.default_rng(8), np.ones(4, bool)
    for _ in range(12):
        masks = envs.action_masks()
        waiting &= ~envs.step((rng.random(masks.shape) * masks).argmax(axis=1))[2]
        assert [name == "random" for name in envs.opponents] == waiting.tolist()
    assert not waiting.any()
    env = single(opponent=pool)
    env.reset(seed=1)
    assert env.opponent == "first"
    pool.remove("first")
    assert env.opponent == "first"
    env.reset()
    assert env.opponent == "random"
    with pytest.raises(ValueError, match="expected to leave a member, got the last one, 'random'"):
        pool.remove("random")


@pytest.mark.parametrize(("drop", "kept"), [("oldest", ["c", "d"]), ("easiest", ["a", "d"])])
def test_most_members_are_kept_and_anchors_stay(drop, kept):
    pool = OpponentPool(["random", "greedy"], most=2, drop=drop)
    pool.add(snapshot("a"))
    pool.add(snapshot("b"))
    pool.record("b", wins=5)
    pool.add(snapshot("c"))
    pool.record("c", wins=1)
    pool.record("random", wins=50)
    pool.add(snapshot("named"), anchor=True)
    pool.add(snapshot("d"))
    assert pool.titles == ("random", "greedy", *kept[:1], "named", *kept[1:])
    assert pool.results["b"].wins == 5  # results of those who left stay


def test_members_that_left_are_let_go():
    pool, given = OpponentPool("random", most=1), []
    envs = vector(num_envs=2, opponent=pool, autoreset_mode="SameStep")

    def add():
        given.append(len(given))
        pool.add(snapshot(f"s{len(given)}"))

    play(envs, 30, before_step=add)
    boards, _ = next(iter(envs._parts))
    assert len(boards._opponents) <= 2 + 2  # the pool's, and one running on each board


def test_own_titles_are_told_apart():
    pool = OpponentPool(["random", "random"])
    assert [pool.add(snapshot("me")) for _ in range(3)] == ["me", "me 3", "me 4"]
    with pytest.raises(ValueError, match="expected a new title, got 'me', which a member has"):
        pool.add("greedy", title="me")


# ---- who is drawn --------------------------------------------------------------------------------


def test_equal_weights_draw_as_a_list_does():
    plain = ["random", "greedy", first_legal]
    weighted = OpponentPool([(one, 0.3) for one in plain])
    for one, other in (
        (vector(num_envs=4, opponent=plain), vector(num_envs=4, opponent=weighted)),
        (vector(num_envs=4, opponent=plain), vector(num_envs=4, opponent=[(plain, 7)])),
    ):
        assert play(one, 40) == play(other, 40)
        assert one.states.tobytes() == other.states.tobytes()


def test_weights_are_shares_of_one_draw():
    envs = vector("hex-3", 2_000, [("random", 0.1), ("greedy", 0.9)], side="first")
    envs.reset(seed=5)
    drawn = []
    for seed in range(5, 2_005):
        bits = int(np.random.default_rng(seed).integers(1, 2**64 - 1, dtype=np.uint64))
        for left, right in ((13, 0), (0, 7), (17, 0)):
            bits ^= (bits << left & 2**64 - 1) if left else bits >> right
        drawn.append("random" if (bits >> 11) / 2**53 < 0.1 else "greedy")
    assert list(envs.opponents) == drawn
    assert 150 < drawn.count("random") < 250


def test_a_nested_list_shares_its_weight_factor():
    pool = OpponentPool([("random", 3), (["greedy", (first_legal, 4)], 0.5)])
    assert [one.weight for one in pool.members] == [3.0, 0.5, 2.0]
    assert pool.probabilities() == pytest.approx([3 / 5.5, 0.5 / 5.5, 2 / 5.5])


def test_prioritised_fictitious_self_play():
    """The weights of Vinyals et al. 2019, by hand."""
    for sampling, weight in (
        ("pfsp", lambda p: (1 - p) ** 3),
        ("pfsp-variance", lambda p: p * (1 - p)),
    ):
        pool = OpponentPool(["random", ("greedy", 2.0), first_legal], sampling=sampling, power=3)
        assert pool.probabilities() == pytest.approx([0.25, 0.5, 0.25])
        pool.record("random", wins=9, losses=1)
        pool.record("greedy", draws=4)
        pool.record("first_legal", losses=30)
        rates = [pool.results[title].rate for title in pool.titles]
        assert rates[1] == pytest.approx(0.5)
        assert rates[0] > 0.8 > 0.1 > rates[2]
        weights = np.array([1, 2, 1]) * [weight(p) for p in rates]
        assert pool.probabilities() == pytest.approx((weights / weights.sum()).tolist())
    steep = OpponentPool(["random", "greedy"], sampling="pfsp", power=1e6)
    steep.record("random", wins=1)
    assert steep.probabilities() == [0.0, 1.0]


def test_latest_first():
    pool = OpponentPool(["random", ("greedy", 3)], sampling="latest", newest=0.6)
    pool.add(snapshot("new"))
    assert pool.probabilities() == pytest.approx([0.1, 0.3, 0.6])
    assert OpponentPool("random", sampling="latest").probabilities() == [1.0]


def test_results_turn_the_draws_of_the_next_episodes():
    pool = OpponentPool([first_legal, "random"], sampling="pfsp", power=20)
    envs = vector(num_envs=6, opponent=pool)
    pool.record("random", wins=500)
    ended = play(envs, 60)
    assert len(ended) > 20
    assert {title for _, title, _ in ended} == {"first_legal"}


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_one_seed_gives_one_run_whatever_the_threads(sampling):
    runs = []
    for threads in (1, 3):
        members = ["random", "greedy", ("random", 2.0), "greedy"]
        pool = OpponentPool(members, sampling=sampling, at_once=2)
        envs = vector(num_envs=6, opponent=pool, threads=threads, autoreset_mode="SameStep")
        runs.append([play(envs, 40, seed=2), counts(pool)])
        envs.close()
    assert runs[0] == runs[1]


def test_few_members_play_at_once_and_all_of_them_in_the_long_run():
    members = [(snapshot(f"s{number}"), number + 1) for number in range(6)]
    pool = OpponentPool(members, at_once=3)
    roster = PoolRoster(pool, batched=True, boards=8)
    expected, total = np.array(pool.probabilities()), np.zeros(6)
    for seed in range(2_000):
        roster.seed(seed)
        shares = np.diff(np.append(0.0, roster.shares))
        assert np.allclose(shares * 3, np.rint(shares * 3))
        assert (np.abs(shares - expected) < 1 / 3).all()
        total += shares
    assert np.allclose(total / 2_000, expected, atol=0.02)
    envs = vector(num_envs=8, opponent=OpponentPool(members, at_once=1))
    envs.reset(seed=1)
    assert len(set(envs.opponents)) == 1
    ended = play(envs, 150)
    assert len({title for _, title, _ in ended}) > 2


def test_all_boards_are_shown_at_once():
    sizes = []

    def spy(name):
        def function(_observations, masks):
            sizes.append(len(masks))
            return first_legal(None, masks)

        function.__name__ = name
        return function

    envs = vector(num_envs=30, opponent=[spy("a"), spy("b"), spy("c")])
    envs.reset(seed=1)
    boards, _ = next(iter(envs._parts))
    shown, show = [], boards.show
    boards.show = lambda which, to_play: shown.append(len(which)) or show(which, to_play=to_play)
    sizes.clear()
    envs.step(envs.action_masks().argmax(axis=1))
    assert len(shown) == 1
    assert len(sizes) == 3
    assert sum(sizes) == shown[0]


# ---- what is told --------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", AutoresetMode)
@pytest.mark.parametrize("threads", [1, 2])
def test_infos_name_the_opponent_of_the_episode_that_ended(mode, threads):
    pool = OpponentPool(["random", "greedy", first_legal, last_legal])
    envs = vector(num_envs=5, opponent=pool, threads=threads, autoreset_mode=mode)
    rng = np.random.default_rng(1)
    envs.reset(seed=1)
    wrong = total = 0
    for _ in range(60):
        playing = envs.opponents
        masks = envs.action_masks()
        _, _, over, _, infos = envs.step((rng.random(masks.shape) * masks).argmax(axis=1))
        told = infos.get("final_info", infos).get("opponent")
        for board in np.flatnonzero(over):
            assert told[board] == playing[board]
            wrong += envs.opponents[board] != playing[board]
            total += 1
        if mode is AutoresetMode.DISABLED and over.any():
            envs.reset(options={"reset_mask": over})
    assert total > 20
    assert (wrong > 5) == (mode is AutoresetMode.SAME_STEP)  # where `opponents` is drawn anew
    envs.close()


@pytest.mark.parametrize("opponent", ["random", ["random"], first_legal, snapshot("s")])
def test_one_opponent_that_is_in_no_pool_is_neither_named_nor_counted(opponent):
    for make in (single, vector):
        env = make(opponent=opponent)
        assert env.pool is None
        assert env.take_results() == {}
        env.set_opponent(OpponentPool("random"))
        assert env.pool.titles == ("random",)
        env.set_opponent(opponent)
        assert env.pool is None
    envs = vector(opponent=opponent)
    assert {title for _, title, _ in play(envs, 12)} == {None}
    envs.set_opponent(OpponentPool(opponent))
    assert {title for _, title, _ in play(envs, 12)} == {*envs.pool.titles}
    env = single(opponent=opponent, side="first")
    env.reset(seed=1)
    assert "opponent" not in env.step(-1)[4]
    env.set_opponent([opponent, "greedy"])
    env.reset(seed=1)
    assert env.step(-1)[4]["opponent"] in env.pool.titles


@pytest.mark.parametrize("threads", [1, 3])
def test_results_are_counted(threads):
    pool = OpponentPool(["random", "greedy"])
    envs = vector(num_envs=7, opponent=pool, threads=threads, autoreset_mode="SameStep")
    ended = play(envs, 50)
    envs.close()
    assert len(ended) > 40
    assert counts(pool) == tallied(ended)
    for title, tally in pool.results.items():
        wins, draws, losses = tallied(ended)[title]
        assert tally.games == wins + draws + losses
        assert tally.score == (wins + draws / 2) / tally.games
        assert 0.0 < tally.rate < 1.0


def test_results_of_a_single_environment_and_of_what_is_truncated():
    pool = OpponentPool("random")
    env = single(opponent=pool, side="first", illegal="penalise", max_illegal=1)
    env.reset(seed=1)
    info = env.step(-1)[4]
    assert info["opponent"] == "random"
    assert pool.results == {"random": Tally()}
    env = single(opponent=pool, side="first")
    env.reset(seed=1)
    assert env.step(-1)[1:3] == (-1.0, True)
    assert pool.results["random"].losses == 1
    assert env.take_results() == {}  # they are in the pool already


def test_the_order_of_games_does_not_matter_for_the_rate():
    one, many = Tally(), Tally()
    for _ in range(30):
        one.add(1, 0, 0)
    many.add(30, 0, 0)
    assert (one.wins, one.rate) == (many.wins, pytest.approx(many.rate))
    many.add(0, 0, 500)
    assert many.rate < 0.01 < 0.05 < many.score  # it forgets


def test_a_copy_hands_over_what_it_has_found():
    pool = OpponentPool(["random", "greedy"])
    pool.record("random", wins=3)
    copies = [pickle.loads(pickle.dumps(pool)) for _ in range(2)]
    ended = [play(vector(num_envs=4, opponent=one), 30, seed) for seed, one in enumerate(copies)]
    assert counts(pool) == {"random": [3, 0, 0]}
    pool.merge(one.take_results() for one in copies)
    pool.merge(one.take_results() for one in copies)  # nothing new
    expected = tallied([*ended[0], *ended[1], *[(0, "random", 1.0)] * 3])
    assert counts(pool) == expected


def test_some_boards_may_have_an_opponent_of_their_own():
    envs = vector(num_envs=5, opponent="random", threads=2, autoreset_mode="SameStep")
    envs.set_opponent([first_legal, "greedy"], boards=[1, 4])
    envs.set_opponent(last_legal, boards=[0])
    ended = play(envs, 60)
    met = [{title for board, title, _ in ended if board == one} for one in range(5)]
    assert met == [{"last_legal"}, {"first_legal", "greedy"}, {"random"}, {"random"}, met[1]]
    envs.set_opponent("greedy")
    assert {title for _, title, _ in play(envs, 20)} == {"greedy"}
    for wrong in ([], [5], [-1], [0.5]):
        with pytest.raises(ValueError, match="expected numbers of boards, 0 to 4, got"):
            envs.set_opponent("random", boards=wrong)
    envs.close()


# ---- copies and files ----------------------------------------------------------------------------


def function_agent(planes, mask):
    return int(np.argmax(mask))


def linear():
    torch = pytest.importorskip("torch", reason="the extra train is not installed")
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(18, 9))


def choices(envs, seed=2):
    states = []
    play(envs, 12, seed, lambda: states.append(envs.states.tobytes()))
    return states


def test_policies_are_pickled_whole():
    agents = [
        PolicyAgent.from_torch(linear(), frozen=True, title="snap1"),
        PolicyAgent.from_function(function_agent, title="snap1"),
        PolicyAgent(even, title="snap1"),
    ]
    for agent in agents:
        used = vector(opponent=agent)  # it has seen boards before it is pickled
        games = choices(used)
        for copied in (pickle.loads(pickle.dumps(agent)), copy.deepcopy(agent)):
            envs = vector(opponent=copied)
            assert choices(envs) == games
            assert set(envs.opponents) == {"snap1"}


def test_a_frozen_module_learns_no_more():
    module = linear()
    agent, live = (PolicyAgent.from_torch(module, frozen=frozen) for frozen in (True, False))
    before = choices(vector(opponent=agent))
    module[1].bias.data += module[1].bias.data.new_tensor(range(9)) * 10
    assert choices(vector(opponent=agent)) == before != choices(vector(opponent=live))


def test_a_network_of_ours_is_a_member_by_its_file():
    pytest.importorskip("torch", reason="the extra train is not installed")
    from agents.learning.saved import SHIPPED

    pool = OpponentPool(SHIPPED / "tictactoe.safetensors")
    assert pool.titles == ("tictactoe",)
    envs = vector(opponent=pickle.loads(pickle.dumps(pool)))
    assert len(play(envs, 8)) > 1


def filled(torch=True):
    pool = OpponentPool(
        ["random", ("uct:simulations=2", 0.5), (first_legal, 2)],
        sampling="pfsp", power=1.5, newest=0.25, at_once=3, most=2, drop="easiest",
    )  # fmt: skip
    pool.add(UCT(simulations=3), title="mine", anchor=True)
    if torch:
        for number in range(3):
            pool.add(PolicyAgent.from_torch(linear(), temperature=0.5), title=f"snap{number}")
    pool.record("random", wins=2, draws=1)
    pool.record("snap0", losses=3)
    return pool


def test_a_pool_goes_on_from_its_folder(tmp_path):
    pool = filled()
    pool.save(tmp_path)
    given = {"first_legal": first_legal, "mine": UCT(simulations=3)}
    again = OpponentPool.load(tmp_path, given, linear())
    assert again.titles == pool.titles
    assert again.results == pool.results
    assert again.probabilities() == pool.probabilities()
    assert [one[2:] for one in again.members] == [one[2:] for one in pool.members]
    for name in ("sampling", "power", "newest", "at_once", "most", "drop"):
        assert getattr(again, name) == getattr(pool, name)
    one, other = (vector(num_envs=6, opponent=each) for each in (pool, again))
    assert play(one, 20) == play(other, 20)
    assert one.states.tobytes() == other.states.tobytes()
    files = sorted(path.name for path in tmp_path.iterdir())
    assert files == ["pool.json", "snapshot-000005.pt", "snapshot-000006.pt"]
    again.add(PolicyAgent.from_torch(linear()), title="later")
    again.save(tmp_path)
    files = sorted(path.name for path in tmp_path.iterdir())
    assert len(files) == 3
    assert "snapshot-000007.pt" in files


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 2}, "expected version 1, got 2"),
        ({"format": "x"}, "expected format 'hexenv-pool'"),
        ({"sampling": "best"}, "sampling"),
        ({"power": -1.0}, "expected power from 0"),
        ({"count": 2}, "expected different numbers below 2"),
        ({"members": [{}]}, "title"),
        ({"more": 1}, "expected a key of"),
        ({"file": "../snapshot-000005.pt"}, "expected a file snapshot-NUMBER.pt, got '../snap"),
        ({"file": None}, "expected a file snapshot-NUMBER.pt, got None"),
        ({"kind": "sb3", "value": "os:system"}, "expected a policy of .*, got 'os'"),
        ({"kind": "name", "value": "nobody"}, "expected 'nobody' to be given"),
        ({"kind": "name", "value": "uct:depth=1"}, "expected a parameter of"),
        ({"kind": "name", "value": "antigravity.Agent"}, "to be given: an agent of this name may"),
        ({"kind": "name", "value": "gomocup:command=ls"}, "to be given"),
        ({"kind": "name", "value": "puct:policy=antigravity.Agent"}, "to be given"),
        ({"kind": "name", "value": "sb3:path=x.zip"}, "to be given"),
    ],
)
def test_a_damaged_file_is_refused(change, message, tmp_path):
    filled().save(tmp_path)
    path = tmp_path / "pool.json"
    found = json.loads(path.read_text())
    target = found["members"][-1] if {"file", "kind"} & change.keys() else found
    target |= change
    path.write_text(json.dumps(found))
    with pytest.raises(ValueError, match=message):
        OpponentPool.load(tmp_path, GIVEN, linear())


GIVEN = {"first_legal": first_legal, "mine": first_legal}


def test_what_is_in_no_file_must_be_given(tmp_path):
    pool = filled()
    pool.save(tmp_path)
    with pytest.raises(ValueError, match="expected the members first_legal, mine to be given"):
        OpponentPool.load(tmp_path)
    with pytest.raises(ValueError, match="expected a module for the weights of snap1, got none"):
        OpponentPool.load(tmp_path, GIVEN)
    with pytest.raises(ValueError, match="expected weights of the module"):
        OpponentPool.load(tmp_path, GIVEN, linear()[:1])
    (tmp_path / "snapshot-000006.pt").unlink()
    with pytest.raises(FileNotFoundError, match="expected the snapshot of snap2"):
        OpponentPool.load(tmp_path, GIVEN, linear())
    with pytest.raises(OSError, match="nowhere"):
        OpponentPool.load(tmp_path / "nowhere")


# ---- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"members": "nobody"}, ValueError, "expected an agent of"),
        ({"members": 3}, TypeError, "expected an opponent as a name"),
        ({"members": [("random", 0)]}, ValueError, "expected a weight above 0 for random, got 0"),
        ({"members": [("random", float("nan"))]}, ValueError, "expected a weight above 0"),
        ({"sampling": "best"}, ValueError, "expected sampling of uniform, pfsp, .*, got 'best'"),
        ({"drop": "best"}, ValueError, "expected drop of oldest, easiest, got 'best'"),
        ({"newest": 1.5}, ValueError, "expected newest from 0 to 1, got 1.5"),
        ({"power": -1}, ValueError, "expected power from 0 .*got -1"),
        ({"most": 0}, ValueError, "expected most of at least 1, got 0"),
        ({"at_once": 1.5}, (TypeError, ValueError), "at_once"),
    ],
)
def test_bad_pools_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        OpponentPool(**options)
    if "members" in options:
        with pytest.raises(error, match=message):
            vector(opponent=options["members"])


def test_bad_members_are_refused_when_they_are_added():
    pool = OpponentPool()
    with pytest.raises(ValueError, match="expected at least one opponent, got an empty pool"):
        vector(opponent=pool)
    with pytest.raises(TypeError, match="got the class UCT"):
        pool.add(UCT)
    with pytest.raises(ValueError, match="expected an agent of"):
        pool.add("nobody")
    with pytest.raises(ValueError, match="expected a member of , got 'x'"):
        pool.remove("x")
    assert pool.titles == ()
