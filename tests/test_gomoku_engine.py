"""The engine for Gomoku: its values against sums from the stones, its wins against every answer."""

import itertools
import re

import numpy as np
import pytest

from agents import GomokuEngine
from agents.knowledge.gomoku import board, valued
from agents.knowledge.gomoku.engine import compiled_search
from agents.knowledge.gomoku.engine_memory import (
    INFINITE,
    LARGEST,
    Rules,
    new_engine,
)
from agents.knowledge.gomoku.engine_search import begin
from agents.knowledge.gomoku.threats import vcf
from agents.learning.data import make_data
from agents.planning.clones import clone
from agents.planning.environment import action_mask
from hexenv import gomoku_v0, tictactoe_v0
from hexenv.compiled import CompiledFunction
from hexenv.games import base, gomoku, notation
from hexenv.games.gomoku.patterns import PATTERNS
from hexenv.games.gomoku.stone_lines import MAX_SIZE

LEARNT = ("freestyle", "standard", "renju")
RULES = (*LEARNT, "caro")


def random_position(rng, rules, plies):
    """A position in play after random moves near the middle, or None."""
    state = base.new_state(rules)
    for _ in range(plies):
        row, column = (int(rng.integers(1, size - 1)) for size in (rules.rows, rules.columns))
        cell = row * rules.columns + column
        if cell in base.legal_actions(rules, state):
            rules.step(state, cell)
        if rules.is_terminal(state):
            return None
    return state


def random_env(rng, rule="freestyle", plies=14, size=9):
    """An environment in play after such moves."""
    while True:
        env = gomoku_v0.env(board_size=size, rule=rule)
        env.reset()
        for _ in range(plies):
            row, column = (int(rng.integers(1, size - 1)) for _ in range(2))
            mask = action_mask(env)
            if mask[row * size + column]:
                env.step(row * size + column)
            if any(env.terminations.values()):
                break
        if not any(env.terminations.values()):
            return env


# ---- values --------------------------------------------------------------------------------------


def tables_of(rule):
    """The tables of a rule as the file has them, for player 0 and player 1."""
    _, arrays = valued.FORMAT.read_arrays(valued.FILE)
    assert len(arrays[f"{rule}_vectors"]) == (2 if rule == "renju" else 1)
    names = valued.Values._fields[1:]
    tables = {name: arrays[f"{rule}_{name}"].astype(np.int64) for name in names}
    return {name: np.repeat(table, 2 // len(table), axis=0) for name, table in tables.items()}


def numbers_by_hand(game, state):
    """The numbers of the codes of either side's cells, ``(2, cells)``."""
    classes = [
        [
            sorted(game.pattern(state, side, cell, direction) for direction in range(4))
            for cell in range(game.num_actions())
        ]
        for side in range(2)
    ]
    sets = list(itertools.combinations_with_replacement(range(len(PATTERNS)), 4))
    return np.array([[sets.index(tuple(each)) for each in of_side] for of_side in classes])


def value_by_hand(tables, numbers, player):
    """What the network says, in units of 1 / `SCALE`."""
    sums = [tables["vectors"][side][numbers[side]].sum(axis=0) for side in range(2)]
    sums = [sums[side] + tables["offsets"][side] for side in (player, 1 - player)]
    cut = np.clip([sums[0][:-1], sums[1][:-1]], 0, valued.MOST * valued.UNIT)
    hidden = np.einsum("ri,rij->j", cut, tables["first"][player])
    hidden = np.maximum(hidden + valued.UNIT * tables["first_offsets"][player], 0) // valued.UNIT
    whole = [*hidden, sums[0][-1], sums[1][-1], valued.UNIT]
    total = int(np.dot(whole, tables["second"][player]))
    return total * int(valued.SCALE) // valued.UNIT**2


def balance_of(game, state, player):
    return game.balance(state, player)


compiled_balance = CompiledFunction(balance_of, "values of a test")


@pytest.mark.parametrize("rule", LEARNT)
def test_values_and_promises_are_those_of_the_tables_in_random_games(rule):
    rng = np.random.default_rng(3)
    rules = gomoku.new(board_size=9, rule=rule)
    game, tables = valued.valued_game(rules), tables_of(rule)
    state = base.new_states(game, 1)[0]
    game.initial(state)
    seen = set()
    while not game.is_terminal(state):
        if state.ply % 5 == 0:
            numbers = numbers_by_hand(game, state)
            for player in range(2):
                expected = value_by_hand(tables, numbers, player)
                assert game.balance(state, player) == expected
                assert compiled_balance(game, state, player) == expected
                seen.add(expected)
                for cell in base.legal_actions(game, state):
                    own, other = numbers[player, cell], numbers[1 - player, cell]
                    promises = tables["promises"][player]
                    expected = promises[valued.MOVES, own] + promises[valued.WAITS, other]
                    assert game.promise(state, player, cell) == expected
            fresh = board.state_of(game, board.plain_state(game, state), compiles=False)
            assert fresh == state
        game.step(state, int(rng.choice(base.legal_actions(game, state))))
    assert len(seen) > 10


def test_each_rule_has_learnt_by_itself_and_in_renju_each_colour():
    free, standard, renju = (tables_of(rule) for rule in LEARNT)
    for name in ("vectors", "promises", "second"):
        assert (renju[name][0] != renju[name][1]).any()
        assert (free[name] != standard[name]).any()
        assert (standard[name] != renju[name]).any()


def test_no_sum_is_too_large_for_its_place_in_a_word():
    for rule in LEARNT:
        tables = tables_of(rule)
        assert np.abs(tables["vectors"]).max() * MAX_SIZE**2 < 2 ** (valued.SUM_BITS - 1)
        sums = valued.MOST * valued.UNIT * np.abs(tables["first"]).sum(axis=(1, 2))
        assert sums.max() < 2 ** (valued.HIDDEN_BITS - 1)
    rng = np.random.default_rng(0)
    for bits, count, halves in (
        (valued.SUM_BITS, 3, valued.SUM_HALVES),
        (valued.HIDDEN_BITS, 2, valued.HIDDEN_HALVES),
    ):
        numbers = rng.integers(-(2 ** (bits - 1)), 2 ** (bits - 1), (50, count))
        for row, word in zip(numbers, valued.packed(numbers, bits), strict=True):
            found = [valued.number_in(int(word), place, bits, halves) for place in range(count)]
            assert found == row.tolist()


@pytest.mark.parametrize(
    ("moves", "side", "kind"),
    [
        ("f8 e8 g8 a1 h8 a15 i10 o1 i9 o15", 0, board.FOUR_THREE),  # one's own, at i8
        ("h8 h7 i8 a1 j8 o1 g10 a15 g9", 0, board.OPENS_FOUR),  # the other one's, at g8 and k8
    ],
)
def test_moves_with_threats_promise_more_than_all_quiet_ones(moves, side, kind):
    rules = gomoku.new(board_size=15)
    game = valued.valued_game(rules)
    position = notation.play(rules, notation.parse_moves(rules, moves))
    state = board.state_of(game, position, compiles=False)
    player = int(game.to_play(state))
    threats, quiet = [], []
    for cell in base.legal_actions(game, state):
        kinds = {game.kind(state, each, cell) for each in range(2)}
        found = threats if game.kind(state, side, cell) == kind else quiet
        if found is threats or kinds == {board.QUIET}:
            found.append(game.promise(state, player, cell))
    assert threats
    assert min(threats) > max(quiet)


@pytest.mark.parametrize(("rule", "size"), [("freestyle", 20), ("renju", 9)])
def test_the_engine_computes_what_the_network_learns(rule, size):
    torch = pytest.importorskip("torch", reason="the extra train is not installed")
    from agents.knowledge.gomoku import learn_values  # loads PyTorch

    torch.manual_seed(1)
    rng = np.random.default_rng(1)
    network = learn_values.Network(2 if rule == "renju" else 1)
    with torch.no_grad():
        for weights in network.parameters():
            weights.normal_(std=0.05)
    rules = gomoku.new(board_size=size, rule=rule)
    plain = board.new(rules)
    values = valued.as_values(network.arrays())
    game = valued.game_with(plain, values)
    actions = np.array(game_of(rng, rules), np.int16)
    count = len(actions)
    out = np.zeros((count, 2, rules.num_actions()), np.int16)
    ply_of, quiet = np.zeros(count, np.int64), np.zeros(count, np.bool_)
    replayed = np.zeros(1, plain.state_dtype).view(np.recarray)
    rows = learn_values.write_numbers(
        plain, replayed, actions, np.array([count]), valued.code_numbers(), out, ply_of, quiet
    )
    assert rows > 10
    numbers = torch.from_numpy(out[:rows].astype(np.int32))
    players = torch.from_numpy(ply_of[:rows] % 2 % network.tables)
    with torch.no_grad():
        learnt, promises = network.values(numbers, players), network.chosen(numbers, players)
    for row in range(0, rows, 5):
        position = notation.play(rules, actions[: ply_of[row]].tolist())
        state = board.state_of(game, position, compiles=False)
        player = int(game.to_play(state))
        found = game.balance(state, player)
        assert abs(found - valued.SCALE * float(learnt[row])) < 6
        for cell in base.legal_actions(rules, position)[::7]:
            expected = valued.PROMISE_SCALE * float(promises[row, cell])
            assert abs(game.promise(state, player, cell) - expected) < 2


def game_of(rng, rules):
    """The actions of a random game."""
    state = base.new_state(rules)
    actions = []
    while not rules.is_terminal(state) and len(actions) < 60:
        actions.append(int(rng.choice(base.legal_actions(rules, state))))
        rules.step(state, actions[-1])
    return actions


@pytest.mark.parametrize("tables", [1, 2])
def test_who_wins_and_what_is_chosen_is_learnt(tables, capsys, monkeypatch):
    """Whoever has more cells of number 2 wins, and chooses them; player 1 of two tables: 3."""
    pytest.importorskip("torch", reason="the extra train is not installed")
    from agents.knowledge.gomoku import learn_values  # loads PyTorch

    monkeypatch.setattr(learn_values, "BATCH", 128)
    rng = np.random.default_rng(0)
    count = 2_000
    numbers = rng.integers(1, 5, (count, 2, 12)).astype(np.int16)
    players = rng.integers(0, tables, count).astype(np.int8)
    good = 2 + players[:, None]
    other = 2 + (1 - players[:, None]) % tables
    more = (numbers[:, 0] == good).sum(axis=1) - (numbers[:, 1] == other).sum(axis=1)
    actions = np.argmax(numbers[:, 0] == good, axis=1)
    actions[(numbers[:, 0] == good).sum(axis=1) != 1] = -1
    chances = (np.sign(more) / 2 + 0.5).astype(np.float32)
    held_out, quiet = np.arange(count) % 10 == 0, np.arange(count) % 7 != 0
    chances[~quiet] = 1 - chances[~quiet]  # nothing is learnt from them
    examples = learn_values.Examples(numbers, quiet, players, chances, actions, held_out)
    found = learn_values.fit(examples, tables, epochs=12)
    printed = re.findall(r"held out ([0-9.]+)", capsys.readouterr().out)
    assert float(printed[-1]) < 0.4  # nats of a value
    for player in range(tables):
        promises = found["promises"][player, valued.MOVES, 1:5]
        assert promises.argmax() == 1 + player
    with pytest.raises(ValueError, match="too few"):
        learn_values.fit(examples.take(held_out), tables)


def test_what_is_learnt_comes_from_the_games_in_a_folder(tmp_path):
    pytest.importorskip("torch", reason="the extra train is not installed")
    from agents.knowledge.gomoku import learn_values  # loads PyTorch

    data = make_data(tmp_path, "gomoku", ["random"], 6, options=["board_size=7"], opening_plies=6)
    rule, found = learn_values.examples(str(tmp_path))
    assert rule == "freestyle"
    assert (found.numbers == learn_values.STONE).any(axis=(1, 2)).sum() >= len(found.players) - 1
    chosen = found.numbers[np.arange(len(found.actions)), 0, found.actions]
    assert (chosen[found.actions >= 0] >= 0).all()  # empty cells
    assert 0 < len(found.players) <= sum(len(shard.actions) for shard in data.shards())
    assert 0 < found.quiet.sum() <= len(found.players)


# ---- the search ----------------------------------------------------------------------------------


def loses_to(env, agent, rng, replies):
    """Replies of the other side after which the mover does not win, each win announced.

    At first all are tried, then some of them at random.
    """
    env = clone(env)
    mover = env.agent_selection
    env.step(agent.act(env))
    if any(env.terminations.values()):
        return [] if env.rewards[mover] > 0 else ["lost"]
    if agent.statistics.proven != 1:
        return ["not announced"]
    legal = np.flatnonzero(action_mask(env))
    for action in rng.permutation(legal)[:replies].tolist():
        after = clone(env)
        after.step(action)
        found = ["lost"] if any(after.terminations.values()) else []
        if found := found or loses_to(after, agent, rng, 2):
            return [action, *found]
    return []


@pytest.mark.compiled(only=True)
@pytest.mark.parametrize("rule", RULES)
def test_announced_wins_hold_against_every_answer(rule):
    rng = np.random.default_rng(5)
    agent = GomokuEngine(depth=5, table_entries=1 << 14)
    seen = 0
    while seen < 10:
        env = random_env(rng, rule, size=8)
        agent.act(env)
        if agent.statistics.proven == 1:
            assert loses_to(env, agent, rng, 400) == []
            seen += 1


@pytest.mark.compiled(only=True)
@pytest.mark.parametrize("rule", RULES)
def test_wins_by_fours_are_seen_at_once(rule):
    rng = np.random.default_rng(11)
    agent, seen = GomokuEngine(depth=2, table_entries=1 << 12), 0
    while seen < 10:
        env = random_env(rng, rule, plies=24, size=11)
        line = vcf(env)
        agent.act(env)
        if line is not None:
            assert agent.statistics.proven == 1
            seen += 1


@pytest.mark.compiled(only=True)
def test_the_search_stops_anywhere_and_goes_on():
    game = valued.valued_game(gomoku.new(board_size=9))
    rng = np.random.default_rng(2)
    for _ in range(5):
        position = None
        while position is None:
            position = random_position(rng, game.rules, 10)
        found = []
        for budget in (10**9, 1, 7):
            engine = new_engine(game, 1 << 12, Rules())
            engine.states[0] = board.state_of(game, position)
            for depth in range(1, 5):
                begin(engine, depth, -INFINITE, INFINITE)
                while not compiled_search(game, engine, budget):
                    pass
            found.append((engine.nodes[0].best, engine.nodes[0].best_move, *engine.control[1:]))
        assert found[0] == found[1] == found[2]


@pytest.mark.compiled(only=True)
def test_a_search_that_finds_all_moves_too_bad_keeps_the_best_one_first():
    game = valued.valued_game(gomoku.new(board_size=9))
    rng = np.random.default_rng(3)
    seen = 0
    while seen < 8:
        position = random_position(rng, game.rules, 10)
        if position is None:
            continue
        engine = new_engine(game, 1 << 12, Rules())
        engine.states[0] = board.state_of(game, position)
        begin(engine, 3, -INFINITE, INFINITE)
        assert compiled_search(game, engine, 10**9)
        root = engine.nodes[0]
        best = int(root.best_move)
        begin(engine, 4, LARGEST - 1, INFINITE)
        assert compiled_search(game, engine, 10**9)
        if root.best >= LARGEST:
            continue  # it wins
        begin(engine, 5, -INFINITE, INFINITE)
        assert not compiled_search(game, engine, 1)
        assert engine.moves[0, 0] == best
        seen += 1


@pytest.mark.compiled(only=True)
def test_interpreted_and_compiled_play_alike():
    rng = np.random.default_rng(4)
    for rule in RULES:
        env = random_env(rng, rule, plies=8, size=7)
        found = []
        for route in ("compiled", "interpreted"):
            agent = GomokuEngine(depth=2, table_entries=1 << 10, route=route)
            found.append((agent.act(env), agent.statistics))
        (one, first), (other, second) = found
        assert one == other
        assert first.principal_variation == second.principal_variation
        assert first.simulations == second.simulations
        np.testing.assert_array_equal(first.values, second.values)


@pytest.mark.compiled(only=True)
@pytest.mark.parametrize("name", Rules._fields)
def test_a_rule_left_out_changes_no_proof(name):
    rng = np.random.default_rng(6)
    whole, without = (
        GomokuEngine(depth=4, table_entries=1 << 14),
        GomokuEngine(depth=4, table_entries=1 << 14, without=name),
    )
    for _ in range(20):
        env = random_env(rng, plies=12, size=8)
        proofs = []
        for agent in (whole, without):
            agent.reset()
            agent.act(env)
            proofs.append(agent.statistics.proven)
        assert {1, -1} - set(proofs)  # never one of each


@pytest.mark.compiled(only=True)
def test_several_lines_have_values():
    env = random_env(np.random.default_rng(8), plies=6)
    agent = GomokuEngine(depth=4, lines=4)
    best = agent.act(env)
    found = agent.statistics
    assert found.visits.sum() >= 4
    assert found.visits[best] == 1
    assert found.values[best] == found.values[found.visits > 0].max()
    one = GomokuEngine(depth=4, positions=100_000)
    one.act(env)
    assert one.statistics.visits.sum() >= 1


@pytest.mark.compiled(only=True)
@pytest.mark.parametrize("rule", RULES)
def test_what_is_called_proven_of_each_move_holds(rule):
    """A move proven to win is played out; after one proven to lose the other side wins so."""
    rng = np.random.default_rng(13)
    agent, judge, seen = GomokuEngine(depth=4, lines=3), GomokuEngine(depth=8), {1: 0, -1: 0}
    while min(seen.values()) < 6:
        env = random_env(rng, rule, plies=18, size=9)
        agent.act(env)
        for action in agent.statistics.proven_actions[:3]:
            value = int(agent.statistics.values[action])
            after = clone(env)
            mover = after.agent_selection
            after.step(action)
            if any(after.terminations.values()):
                assert after.rewards[mover] == value
            elif value == -1:
                judge.act(after)
                assert judge.statistics.proven == 1
            else:
                for reply in rng.permutation(np.flatnonzero(action_mask(after)))[:10].tolist():
                    answered = clone(after)
                    answered.step(reply)
                    assert not any(answered.terminations.values())
                    assert loses_to(answered, judge, rng, 2) == []
            seen[value] += 1


@pytest.mark.compiled(only=True)
def test_a_loss_is_proven_only_where_all_moves_were_tried():
    moves = "h8 g8 i8 i7 j8 l10 k10 a1 k11 o1 c3 b3 d3 a15 e3 o15 f5 h1 f6"
    env = gomoku_v0.env()
    env.reset(options={"moves": moves})
    agent = GomokuEngine(depth=2)
    agent.act(env)
    assert agent.statistics.proven is None
    env = tictactoe_v0.env()
    env.reset(options={"moves": "1 2 5"})  # 9 and 3 or 4, 7: two ways to win
    agent.act(env)
    assert agent.statistics.proven == -1


@pytest.mark.compiled(only=True)
def test_budgets_and_lines_are_kept():
    env = random_env(np.random.default_rng(9), plies=6)
    agent = GomokuEngine(positions=3000)
    agent.act(env)
    found = agent.statistics
    assert 1000 < found.simulations < 6000
    line = clone(env)
    for action in found.principal_variation:
        assert line.observe(line.agent_selection)["action_mask"][action]
        line.step(action)
    assert abs(found.values).max() <= 1


def test_wrong_options_are_refused():
    with pytest.raises(ValueError, match=r"expected rule of .*, got .nulls."):
        GomokuEngine(without="nulls")


def test_positions_that_the_table_knew_are_counted():
    env = gomoku_v0.env(board_size=7)
    env.reset(options={"moves": "d4 c3 e5 b2"})
    hits = {}
    for without in ("", "table"):
        agent = GomokuEngine(depth=3, without=without)
        agent.act(env)
        hits[without] = agent.statistics.table_hits
        assert hits[without] < agent.statistics.simulations
    assert hits[""] > hits["table"] == 0
