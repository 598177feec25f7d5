"""Wins by threats: against searches that try every reply, and claims played out against all."""

import numpy as np
import pytest
from environments import JIT, view
from gomoku_oracles import SlowBoard, bits, is_legal, random_positions, stones

from agents import RHMCTS
from agents.knowledge.gomoku import board
from agents.knowledge.gomoku import threats as front
from agents.knowledge.gomoku.board import BARRED, DOUBLE_THREE, OPENS_FOUR, TWO_FOURS, WINS
from agents.knowledge.gomoku.threat_search import (
    NO_WIN,
    list_defences,
    new_four_search,
)
from agents.knowledge.gomoku.threats import (
    ThreatSolver,
    compiled_fours,
    is_winning_line,
    vcf,
    vct,
)
from agents.solvers.solver import value
from hexenv import gomoku_v0, hex_v0, tictactoe_v0
from hexenv.compiled import CompiledFunction, kernel, scratch_array
from hexenv.games import base, gomoku, notation

needs_compiler = pytest.mark.compiled(only=True)

SMALL = {
    "7-connect-5": gomoku.new(7),
    "7-connect-5-standard": gomoku.new(7, 5, "standard"),
    "9-connect-5": gomoku.new(9),
    "9-connect-5-standard": gomoku.new(9, 5, "standard"),
    "7-connect-4": gomoku.new(7, 4),
    "7-connect-4-standard": gomoku.new(7, 4, "standard"),
    "9-connect-4-standard": gomoku.new(9, 4, "standard"),
    "6x9-connect-5": gomoku.new((6, 9)),
    "5-connect-3": gomoku.new(5, 3),
    "8-connect-6": gomoku.new(8, 6),
    "7-connect-4-caro": gomoku.new(7, 4, "caro"),
    "9-connect-5-caro": gomoku.new(9, 5, "caro"),
}
TINY = {
    "4-connect-3": gomoku.new(4, 3),
    "5x4-connect-3-standard": gomoku.new((5, 4), 3, "standard"),
    "6x4-connect-4": gomoku.new((6, 4), 4),
    "5-connect-4": gomoku.new(5, 4),
    "5-connect-4-standard": gomoku.new(5, 4, "standard"),
    "5-connect-5": gomoku.new(5),
    "5-connect-4-caro": gomoku.new(5, 4, "caro"),
}
LARGE = {"15": gomoku.new(15), "15-standard": gomoku.new(15, 5, "standard")}
OTHERS = {
    "15-caro": gomoku.new(15, rule="caro"),
    "9-renju": gomoku.new(9, rule="renju"),
    "7x9-renju-loses": gomoku.new((7, 9), rule="renju", forbidden="loses"),
    "15-renju": gomoku.new(15, rule="renju"),
}
over_large_boards = pytest.mark.parametrize(
    "name",
    [
        "15",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("15-standard", "15-renju", "15-caro")
        ),
    ],
)


def quiet_positions(rules, count, seed, least=0, most=60):
    """Those of them in which the player to move does not win at once."""
    slow = SlowBoard(rules)
    found = random_positions(rules, count, seed, least, most)
    return [state for state in found if not slow.fives(*stones(rules, state))]


def environment(rules, state, kind=gomoku_v0.raw_env):
    """An environment with a position of the game."""
    rule = gomoku.rule_name(rules.rule)
    env = kind(board_size=(rules.rows, rules.columns), connect=rules.connect, rule=rule)
    env.reset(options={"board": notation.board_text(rules, state)})
    return env


@kernel
def count_wins(rules, state, player):
    """On how many empty cells a player would win at once."""
    found = 0
    for cell in range(rules.num_actions()):
        if rules.owner(state, cell) == base.EMPTY:
            found += rules.wins_at(state, player, cell)
    return found


@kernel
def refute_fours(rules, position, line, length, state, trial):
    """Play a line of fours, and every other legal reply to every four of it.

    The last move makes five; or (renju) a four, and nothing that black may reply stops the five.

    Args:
        rules: The game.
        position: Where the line begins.
        line: Attacks and answers.
        length: How many.
        state: Scratch.
        trial: Scratch.

    Returns:
        -1 if all is well, else the number of the move that is wrong.
    """
    rules.copy(position, state)
    attacker = int(rules.to_play(position))
    legal = scratch_array(rules.num_actions(), np.int32)
    for number in range(0, length, 2):
        attack = int(line[number])
        if rules.is_terminal(state) or not is_legal(rules, state, attack):
            return number
        rules.step(state, attack)
        if rules.is_terminal(state):
            return -1 if number == length - 1 and state.winner == attacker else number
        if count_wins(rules, state, attacker) == 0:
            return number
        answer = int(line[number + 1]) if number + 1 < length else base.NO_ACTION
        is_held = False
        for i in range(rules.legal_actions(state, legal)):
            reply = int(legal[i])
            rules.copy(state, trial)
            rules.step(trial, reply)
            if rules.is_terminal(trial) and trial.winner != attacker:
                return number
            if not rules.is_terminal(trial) and count_wins(rules, trial, attacker) == 0:
                if reply != answer:
                    return number + 1
                is_held = True
        if answer == base.NO_ACTION:
            return -1
        if not is_legal(rules, state, answer) or not (is_held or number + 3 == length):
            return number + 1
        rules.step(state, answer)
    return length


compiled_refute_fours = CompiledFunction(refute_fours)


def is_won_by_fours(rules, state, line):
    """Whether a line of fours wins against every reply."""
    scratch = base.new_states(rules, 2)
    actions = np.array(line, np.int32)
    wrong = compiled_refute_fours(rules, state, actions, len(line), scratch[0], scratch[1])
    return wrong == -1


# ---- wins by fours -------------------------------------------------------------------------------


@pytest.mark.compiled
@pytest.mark.parametrize(
    "name", [*SMALL, *(pytest.param(name, marks=pytest.mark.slow) for name in LARGE)]
)
def test_wins_by_fours_are_those_that_are_found_by_trying_every_reply(name):
    rules, is_large = (SMALL | LARGE)[name], name in LARGE
    game, slow = board.new(rules), SlowBoard(rules)
    solver = ThreatSolver(game, memory=1 << 10)
    count = (400 if is_large else 500) if JIT else 10 if is_large else 25
    lengths, misses = [], 0
    for state in quiet_positions(rules, count, seed=1, least=16 if is_large else 0):
        line = solver.solve(board.state_of(game, state))
        assert solver.is_settled
        assert (line is not None) == slow.by_fours(*stones(rules, state))
        if line is None:
            misses += 1
        else:
            assert is_won_by_fours(rules, state, line)
            lengths.append(len(line))
    assert min(lengths, default=3) > 1
    assert min(len(lengths), misses) > (10 if JIT else -1)
    assert not (JIT and is_large) or max(lengths) >= 7


@pytest.mark.compiled
@over_large_boards
def test_no_claim_of_a_win_by_fours_is_false(name):
    game = board.new((LARGE | OTHERS)[name])
    search = new_four_search(game)
    count = 10_000 if JIT else 15
    claims = 0
    for state in random_positions(game.rules, count, seed=10, least=10):
        studied = board.state_of(game, state)
        length = int(compiled_fours(game, studied, search, 100_000, True))
        assert length == NO_WIN or length > 0
        if length > 0:
            assert is_won_by_fours(game.rules, state, search.line[:length])
            claims += 1
    assert not JIT or 1_000 < claims < count - 1_000


def test_a_win_by_fours_that_has_to_stop_a_five_on_its_way():
    # X has closed threes in row 3 and column h. O's answer to the first four makes a four of his
    # own, which X stops with the stone that makes two fours.
    rules = gomoku.new(9)
    env = environment(rules, base.new_state(rules))
    env.reset(options={"moves": "c1 b1 d1 a5 e1 a6 i3 a7 i4 g9 i5 h9"})
    state = env.unwrapped.state
    line = vcf(env)
    assert line is not None
    assert is_won_by_fours(rules, state, line)


def position_of(rules, black, white):
    """The position with these stones, as text; who is to move is told by their numbers."""
    state = base.new_state(rules)
    for player, text in enumerate((black, white)):
        for cell in text.split():
            rules.place(state, rules.parse_action(cell), player)
    return notation.parse_board(rules, notation.board_text(rules, state))


def line_text(rules, state):
    """What `vcf` finds in a position, as text, checked by play."""
    line = vcf(environment(rules, state))
    assert line is None or is_won_by_fours(rules, state, line)
    return None if line is None else notation.moves_text(rules, line)


SIX = "a1 b1 c1 e1 f1"
APART = "a9 b9 d9 e9 i9"


@pytest.mark.parametrize(
    ("rule", "black", "white", "expected"),
    [
        ("freestyle", SIX, APART, "d1"),
        ("standard", SIX, APART, None),
        ("renju", SIX, APART, None),
        ("renju", f"{APART} i1", SIX, "d1"),
    ],
)
def test_an_overline_wins_in_freestyle_and_for_white_in_renju(rule, black, white, expected):
    rules = gomoku.new(9, 5, rule)
    assert line_text(rules, position_of(rules, black, white)) == expected


# ---- wins by fours in renju ----------------------------------------------------------------------


@kernel
def list_holding(rules, position, scratch, counts, replies):
    """By the rules alone: for every cell the replies to a four there that leave no five.

    Args:
        rules: The game.
        position: In play; nobody wins at once.
        scratch: ``(2,)`` states.
        counts: ``(cells,)``: receives how many; -1 where the attacker may not play, makes no four,
            or does not win in the end whatever comes of the four.
        replies: ``(cells, cells)``: receives them.
    """
    attacker = int(rules.to_play(position))
    state, trial = scratch[0], scratch[1]
    legal = scratch_array(rules.num_actions(), np.int32)
    for attack in range(rules.num_actions()):
        counts[attack] = -1
        if not is_legal(rules, position, attack):
            continue
        rules.copy(position, state)
        rules.step(state, attack)
        if rules.is_terminal(state) or count_wins(rules, state, attacker) == 0:
            continue
        found = 0
        for i in range(rules.legal_actions(state, legal)):
            rules.copy(state, trial)
            rules.step(trial, int(legal[i]))
            if rules.is_terminal(trial):
                if trial.winner != attacker:
                    found = -1
                    break
            elif count_wins(rules, trial, attacker) == 0:
                replies[attack, found] = legal[i]
                found += 1
        counts[attack] = found


compiled_list_holding = CompiledFunction(list_holding)


class FoursByRules:
    """Wins by fours with nothing but the rules: every four, and every legal reply to it."""

    def __init__(self, rules):
        self.rules = rules
        self.known = {}

    def wins(self, state):
        """Whether the player to move wins so."""
        key = state.lines.tobytes()
        if key not in self.known:
            self.known[key] = wins_at_once(self.rules, state) or self._wins_by_a_four(state)
        return self.known[key]

    def _wins_by_a_four(self, state):
        rules = self.rules
        cells = rules.num_actions()
        counts, replies = np.zeros(cells, np.int32), np.zeros((cells, cells), np.int32)
        compiled_list_holding(rules, state, base.new_states(rules, 2), counts, replies)
        for attack in np.flatnonzero(counts >= 0).tolist():
            if all(
                self.wins(after(rules, state, attack, reply))
                for reply in replies[attack, : counts[attack]].tolist()
            ):
                return True
        return False


def wins_at_once(rules, state):
    return count_wins(rules, state, int(rules.to_play(state))) > 0


def after(rules, state, *actions):
    """The position after some moves."""
    found = base.clone(rules, state)
    for action in actions:
        rules.step(found, action)
    return found


def positions_with_bars(rules, count, seed):
    """Random positions nobody wins at once: in most of them black is barred from something."""
    game = board.new(rules)
    found = []
    for number, state in enumerate(random_positions(rules, 8 * count, seed, least=12)):
        counts = board.state_of(game, state).counts
        is_barred = counts[0, BARRED] + counts[0, DOUBLE_THREE] > 0
        if counts[state.ply & 1, WINS] == 0 and (is_barred or number % 20 == 0):
            found.append(state)
    return found[:count]


@pytest.mark.parametrize(
    ("name", "count"),
    [
        pytest.param("9-renju", 300, marks=pytest.mark.compiled),
        ("7x9-renju-loses", 300),
        pytest.param("15-renju", 200, marks=[pytest.mark.slow, needs_compiler]),
    ],
)
def test_wins_by_fours_in_renju_are_those_of_the_rules(name, count):
    rules = OTHERS[name]
    solver, by_rules = ThreatSolver(board.new(rules), memory=1 << 10), FoursByRules(rules)
    unbarred = FoursByRules(gomoku.new((rules.rows, rules.columns), rule="standard"))
    found = np.zeros((2, 2), int)  # by player, and whether there is a win
    barred = unanswered = 0
    for state in positions_with_bars(rules, count if JIT else 1, seed=31):
        player = int(rules.to_play(state))
        line = solver.solve(board.state_of(solver.game, state))
        assert solver.is_settled
        assert (line is not None) == by_rules.wins(state)
        found[player, int(line is not None)] += 1
        if line is not None:
            assert is_won_by_fours(rules, state, line)
            unanswered += not rules.is_terminal(after(rules, state, *line))
        elif player == 0:
            barred += unbarred.wins(state)
    assert not JIT or found.min() >= 20
    assert not JIT or min(barred, unanswered) >= 3


# White has a three in row 8, and i8 makes a four that h8 alone stops.
CLOSED_THREE = "e8 f8 g8"
STOPS = {
    # black's stones, white's: what else there is, and whether black may play h8
    "three-three": ("d8 h9 h10 i9 j10 a1", "a15 o1", False),
    "four-four": ("d8 h9 h10 h11 i9 j10 k11", "a1 a15 o1", False),
    "four-four-in-a-line": ("d8 h4 h6 h7 h10 o15", "a1 a15", False),
    "overline": ("d8 h6 h7 h9 h10 h11", "a1 a15", False),
    "nothing": ("d8 h9 h10 a1", "", True),
    "one-four": ("d8 h9 h10 h11 a1", "a15", True),
    "threes-without-room": ("d8 h9 h10 i9 j10 a1", "h6 h12", True),
    "four-three": ("d8 h9 h10 h11 i9 j10", "a1 a15", True),
}


@pytest.mark.parametrize("name", STOPS)
def test_a_four_of_white_that_black_must_not_stop_wins(name):
    black, white, may_stop = STOPS[name]
    rules = gomoku.new(15, rule="renju")
    state = position_of(rules, black, f"{CLOSED_THREE} {white}")
    assert rules.to_play(state) == 1
    assert line_text(rules, state) == (None if may_stop else "i8")
    assert is_won_by_fours(rules, state, [rules.parse_action("i8")]) != may_stop
    standard = gomoku.new(15, rule="standard")
    assert line_text(standard, position_of(standard, black, f"{CLOSED_THREE} {white}")) is None


# Black's way to win is a four at h8, but renju forbids it: black's stones and white's.
BARRED_FOURS = {
    "two-fours": ("e8 f8 g8 h9 h10 h11", "d8 h12 a1 a15 o1 o15"),
    "an-open-four-and-two-threes": ("e8 f8 g8 h9 h10 i9 j10", "c8 a1 a15 o1 o15 e1 e15"),
    "a-four-and-two-threes": ("e8 f8 g8 h9 h10 i9 j10", "d8 a1 a15 o1 o15 e1 e15"),
    "it-would-stop-a-five": ("e8 f8 g8 h9 h10 i9 j10 c13", "d8 d12 e11 f10 g9 a1 a15 o1"),
}


@pytest.mark.parametrize("name", BARRED_FOURS)
def test_a_four_that_black_must_not_make_is_no_win(name):
    for rule, expected in (("standard", "h8"), ("renju", None)):
        rules = gomoku.new(15, rule=rule)
        state = position_of(rules, *BARRED_FOURS[name])
        assert rules.to_play(state) == 0
        line = line_text(rules, state)
        assert (line and line.split()[0]) == expected


# White's four at e4 leaves black no legal move: the answer e3 is forbidden as well.
DRAWN_BY_A_FOUR = """O X X O O X O O O
                     O X O X . X O O X
                     X O O X . X X X X
                     X O X X O X O X X
                     X O O X O O O O X"""


@pytest.mark.parametrize(
    "route",
    ["interpreted", pytest.param("compiled", marks=[pytest.mark.compiled, pytest.mark.slow])],
)
def test_a_four_that_leaves_black_no_legal_move_is_no_win(route):
    rules = gomoku.new((5, 9), rule="renju")
    state = notation.parse_board(rules, DRAWN_BY_A_FOUR)
    four = rules.parse_action("e4")
    assert rules.wins_at(after(rules, state, four), 1, rules.parse_action("e3"))
    assert after(rules, state, four).winner == base.DRAW
    assert not is_won_by_fours(rules, state, [four])
    env = environment(rules, state)
    assert vcf(env, route=route) is None
    assert RHMCTS(10, route=route).act(env) in base.legal_actions(rules, state)


# ---- wins by all threats -------------------------------------------------------------------------


FILLING = {
    "6-connect-5": (gomoku.new(6), 14),
    "7-connect-4-standard": (gomoku.new(7, 4, "standard"), 26),
    "6x7-connect-4-standard": (gomoku.new((6, 7), 4, "standard"), 20),
    **{name: (game, 5 if game.num_actions() == 25 else 0) for name, game in TINY.items()},
}
"""Boards that are filling, or tiny: from how many stones on."""


@pytest.mark.compiled
@pytest.mark.parametrize("name", FILLING)
def test_wins_by_threats_are_those_that_are_found_by_trying_every_reply(name):
    rules, least = FILLING[name]
    game, slow = board.new(rules), SlowBoard(rules)
    solver = ThreatSolver(game, memory=1 << 12)
    found = {False: 0, True: 0}
    count = 300 if name in TINY else 100
    for state in quiet_positions(rules, count if JIT else count // 15, seed=2, least=least):
        line = solver.solve(board.state_of(game, state), depth=30)
        expected = slow.by_threats(*stones(rules, state))
        assert (line is not None) == expected
        found[expected] += 1
    assert found[False] + found[True] > 5 or not JIT  # few positions in plain Python
    assert not JIT or name not in TINY or rules.connect == 5 or min(found.values()) > 0


@needs_compiler
@pytest.mark.parametrize("name", TINY)
def test_a_win_by_threats_is_a_win_with_perfect_play(name):
    rules = TINY[name]
    slow = SlowBoard(rules)
    by_fours = by_threats = 0
    least = 7 if rules.num_actions() > 20 else 0
    for state in quiet_positions(rules, 400, seed=3, least=least):
        env = environment(rules, state)
        is_by_fours = slow.by_fours(*stones(rules, state))
        if is_by_fours and by_fours == 6:
            continue
        line = vct(env)
        if line is not None:
            assert value(env) == 1
            by_fours += is_by_fours
            by_threats += not is_by_fours
            if by_threats == 12:
                break
    assert by_fours > 0
    assert rules.connect == 5 or by_threats > 1


class Adversary:
    """Plays every reply to the threats of a solver, down to wins by fours that hold."""

    def __init__(self, rules):
        self.game = board.new(rules)
        self.solver = ThreatSolver(self.game, memory=1 << 12)
        self.search = new_four_search(self.game)
        self.nodes = 0

    def is_beaten(self, state, depth):
        """Whether the player to move wins from here, whatever the other does."""
        rules = self.game.rules
        line = self.solver.solve(board.state_of(self.game, state), depth, nodes=200_000)
        if line is None:
            return False
        attacker = int(rules.to_play(state))
        after = base.clone(rules, state)
        rules.step(after, line[0])
        self.nodes += 1
        if rules.is_terminal(after):
            return after.winner == attacker
        for reply in base.legal_actions(rules, after):
            child = base.clone(rules, after)
            rules.step(child, reply)
            if not self._is_won_by_fours(child) and (
                rules.is_terminal(child) or not self.is_beaten(child, depth)
            ):
                return False
        return True

    def _is_won_by_fours(self, state):
        """Whether the player to move has a win by fours, which is played out."""
        if self.game.rules.is_terminal(state):
            return False
        studied = board.state_of(self.game, state)
        length = int(compiled_fours(self.game, studied, self.search, 10_000, True))
        return length > 0 and is_won_by_fours(self.game.rules, state, self.search.line[:length])


@needs_compiler
@over_large_boards
def test_wins_by_threats_hold_against_every_reply_on_large_boards(name):
    rules = (LARGE | OTHERS)[name]
    adversary = Adversary(rules)
    solve = adversary.solver.solve
    claimants = []
    for state in random_positions(rules, 300, seed=5, least=8, most=30):
        studied = board.state_of(adversary.game, state)
        if solve(studied) is None and solve(studied, 3, nodes=5_000) is not None:
            assert adversary.is_beaten(state, 3)
            claimants.append(int(rules.to_play(state)))
            if len(claimants) == 10:
                break
    assert len(claimants) == 10
    assert set(claimants) == {0, 1}
    assert adversary.nodes > 2 * len(claimants)


# ---- what the defender can play ------------------------------------------------------------------


def defences(game, state, attacker, least, most):
    out = np.zeros(game.num_actions(), np.int32)
    studied = board.state_of(game, state)
    count = list_defences(game, studied, attacker, least, most, base.new_states(game, 1), out)
    if count < 0:  # there is no such threat
        return None
    found = out[:count].tolist()
    assert len(set(found)) == count
    return set(found)


@pytest.mark.compiled
@pytest.mark.parametrize(
    "name",
    [
        "9-connect-5",
        "7-connect-4-standard",
        "8-connect-6",
        "15",
        "7-connect-4-caro",
    ],
)
def test_what_is_no_defence_loses_at_once(name):
    rules = (SMALL | LARGE)[name]
    game, slow = board.new(rules), SlowBoard(rules)
    checked = undefended = 0
    count = 600 if rules.num_actions() < 100 else 40
    for state in random_positions(rules, count if JIT else 40, seed=6, least=8):
        defender = int(rules.to_play(state))
        own, other = stones(rules, state)  # the defender's and the attacker's
        doubles = slow.two_fives(other, own)
        if not doubles or slow.fives(own, other) or slow.fives(other, own):
            continue
        listed = defences(game, state, 1 - defender, TWO_FOURS, OPENS_FOUR)
        expected = set()
        for reply in bits(slow.all & ~(own | other)):
            if slow.fives(own | reply, other):  # a four, which has to be answered
                expected.add(reply.bit_length() - 1)
                continue
            still = [
                cell for cell in bits(doubles & ~reply) if slow.is_sure(other | cell, own | reply)
            ]
            if not still:
                expected.add(reply.bit_length() - 1)
            else:
                assert slow.by_fours(other, own | reply)
        assert listed == expected
        open_fours = defences(game, state, 1 - defender, OPENS_FOUR, OPENS_FOUR)
        assert open_fours is None or listed <= open_fours
        checked += 1
        undefended += not listed
    assert not JIT or checked > 5
    assert not JIT or undefended < checked


# ---- one answer, whatever the way ----------------------------------------------------------------


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("name", "depth", "most"),
    [
        ("7-connect-5-standard", 0, 36),
        ("7-connect-4", 1, 24),
        ("7-connect-4-standard", 2, 24),
        ("7-connect-4-caro", 1, 24),
    ],
)
def test_threats_compiled_and_interpreted(name, depth, most):
    rules = SMALL[name]
    game = board.new(rules)
    solvers = [ThreatSolver(game, compiles, 1 << 8) for compiles in (True, False)]
    lines = 0
    for state in quiet_positions(rules, 20, seed=7, least=3, most=most):
        studied = board.state_of(game, state)
        found = [solver.solve(studied, depth, nodes=60) for solver in solvers]
        assert found[0] == found[1]
        assert solvers[0].nodes == solvers[1].nodes
        assert solvers[0].is_settled == solvers[1].is_settled
        lines += found[0] is not None
    assert lines > 0
    assert solvers[0].nodes > 0


@pytest.mark.compiled
@pytest.mark.parametrize("depth", [0, 30])
@pytest.mark.parametrize("name", ["5-connect-4", "5x4-connect-3-standard", "5-connect-4-standard"])
def test_memory_changes_no_answer(name, depth):
    rules = TINY[name]
    game = board.new(rules)
    positions = quiet_positions(rules, 120 if JIT else 6, seed=9, least=6)
    studied = [board.state_of(game, state) for state in positions]

    def answers(solver_of, order):
        found = [solver_of().solve(studied[number], depth) for number in order]
        return {number: line is not None for number, line in zip(order, found, strict=True)}

    forwards = list(range(len(studied)))
    fresh = answers(lambda: ThreatSolver(game, memory=1 << 10), forwards)
    assert len(set(fresh.values())) == 2 or not JIT
    for memory in (1, 1 << 12):
        used = ThreatSolver(game, memory=memory)
        assert answers(lambda used=used: used, forwards) == fresh
        assert answers(lambda used=used: used, forwards[::-1]) == fresh
        shuffled = np.random.default_rng(0).permutation(forwards).tolist()
        assert answers(lambda used=used: used, shuffled) == fresh


SEVEN, FIVE = (7, "g6 f7 f6 g5"), (5, "a2 a3 c2 b4")
"""Boards on which four wins, and moves after which a threat does."""


@pytest.mark.parametrize(
    ("size", "moves", "limit", "most"),
    [
        (*SEVEN, {"nodes": 1}, 2),
        (*SEVEN, {"nodes": 10}, 11),
        (*SEVEN, {"seconds": 1e-9}, 6),
        (*FIVE, {"nodes": 20}, 22),
    ],
)
def test_a_search_that_was_cut_short_is_not_settled_and_is_taken_up_again(
    size, moves, limit, most, monkeypatch
):
    monkeypatch.setattr(front, "SLICE", 5)
    rules = gomoku.new(size, 4)
    solver = ThreatSolver(board.new(rules))
    position = notation.play(rules, notation.parse_moves(rules, moves))
    state = board.state_of(solver.game, position)
    assert solver.solve(state, depth=1, **limit) is None
    assert 0 < solver.nodes <= most
    assert not solver.is_settled
    assert solver.solve(state, depth=1) is not None


def test_a_clock_that_does_not_run_out_changes_no_answer(monkeypatch):
    monkeypatch.setattr(front, "SLICE", 3)
    env = gomoku_v0.raw_env(board_size=7, connect=4)
    env.reset(options={"moves": SEVEN[1]})
    assert vct(env, depth=1) == vct(env, depth=1, seconds=1e6) is not None


# ---- the doors -----------------------------------------------------------------------------------


def started(module, moves="", **options):
    env = module.env(**options)
    env.reset(options={"moves": moves})
    return env


GOMOKU = {"board_size": 5, "connect": 3}


@pytest.mark.parametrize("solve", [vcf, vct])
@pytest.mark.parametrize(
    ("env", "options", "named"),
    [
        (lambda: started(gomoku_v0, "a1 a5 b1 b5 c1", **GOMOKU), {}, "game is over"),
        (gomoku_v0.env, {}, "before reset"),
        (lambda: started(hex_v0), {}, "got Hex"),
        (lambda: "gomoku", {}, "PettingZoo"),
        (started, {"nodes": 0}, "nodes .* got 0"),
        (started, {"nodes": None}, "nodes, got None"),
        (started, {"route": "environment"}, "Gomoku or TicTacToe"),
    ],
)
def test_what_no_search_takes_is_refused(solve, env, options, named):
    position = started(gomoku_v0) if env is started else env()
    with pytest.raises(ValueError, match=named):
        solve(position, **options)


@pytest.mark.parametrize("depth", [0, 31])
def test_depths_out_of_range(depth):
    with pytest.raises(ValueError, match=f"depth.*, got {depth}"):
        vct(started(gomoku_v0), depth=depth)


@pytest.mark.parametrize("kind", [gomoku_v0.raw_env, gomoku_v0.env])
def test_the_environment_is_left_as_it_was(kind):
    for rules, seed in ((SMALL["7-connect-4"], 14), (SMALL["9-connect-5"], 15)):
        for state in quiet_positions(rules, 3, seed=seed, least=6):
            env = environment(rules, state, kind)
            before = view(env)
            vcf(env, nodes=50)
            vct(env, depth=2, nodes=50)
            assert view(env) == before


def test_tictactoe_is_three_in_a_row():
    env = tictactoe_v0.env()
    env.reset()
    assert vct(env) is None  # it is a draw
    env.reset(options={"board": "X../.O./..."})
    assert value(env) == 0
    assert vct(env) is None
    env.reset(options={"board": "XO./.../..."})
    line = vcf(env)
    assert line is not None
    assert value(env) == 1
    rules = gomoku.new(3, 3)
    raw = env.unwrapped
    state = notation.from_cells(rules, base.cell_owners(raw.game, raw.state), 0)
    assert is_won_by_fours(rules, state, line)


@pytest.mark.compiled
def test_a_line_that_is_no_forced_win_does_not_pass():
    rules = gomoku.new(9)
    state = notation.play(rules, notation.parse_moves(rules, "e5 a1 f5 b1 g5 c9"))
    good = notation.parse_moves(rules, "h5 d5 i5")

    def holds(line, only_fours=True):
        legal = np.empty(81, np.int32)
        return is_winning_line(rules, base.clone(rules, state), np.array(line), only_fours, legal)

    assert holds(good)
    assert holds(good, only_fours=False)
    for moves in ("h5 d6 i5", "h5 d5", "h5 h5 i5", "a9 d5 h5", "h5 d5 i6", "a9"):
        assert not holds([rules.parse_action(move) for move in moves.split()])
    search = ThreatSolver(board.new(rules), JIT)
    with pytest.raises(RuntimeError, match="'h5', 'd6', 'i5'"):
        search._check(state, [rules.parse_action(move) for move in ("h5", "d6", "i5")], True)
