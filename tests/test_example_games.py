"""The games of `examples/games`, each against a plain form of its rules or published counts."""

import functools
import importlib
import random
import sys
import warnings
from pathlib import Path
from xml.etree import ElementTree

import gymnasium
import numpy as np
import pettingzoo
import pytest
from click.testing import CliRunner

import agents
from agents.apps.cli import main
from agents.records import load_record
from agents.records.sgf import write_sgf
from hexenv import testing
from hexenv.games import base, notation
from hexenv.games.base import DRAW
from hexenv.learners.vector import BoardVectorEnv
from hexenv.render.ansi import render_text
from hexenv.render.geometry import cell_centers
from hexenv.render.overlay import overlay_of_shares, overlay_of_values
from hexenv.render.rgb import render_rgb
from hexenv.render.svg import render_svg

with warnings.catch_warnings():  # it imports one of its own games in a way that it deprecates
    warnings.simplefilter("ignore", DeprecationWarning)
    from pettingzoo.test import api_test

EXAMPLES = Path(__file__).resolve().parents[1] / "examples" / "games"
sys.path.append(str(EXAMPLES))
breakthrough = importlib.import_module("breakthrough")
othello = importlib.import_module("othello")
dots_and_boxes = importlib.import_module("dots_and_boxes")

SMALL = {
    "breakthrough": (breakthrough, {"rows": 5, "columns": 2}),
    "othello": (othello, {"board_size": 4}),
    "dots_and_boxes": (dots_and_boxes, {"box_rows": 1, "box_columns": 2}),
}
TITLES = {
    "breakthrough": "breakthrough:Breakthrough-v0",
    "othello": "othello:Othello-v0",
    "dots_and_boxes": "dots_and_boxes:DotsAndBoxes-v0",
}
by_name = pytest.mark.parametrize("name", SMALL)


def small_env(name, **view):
    module, options = SMALL[name]
    env = module.env(**options, **view)
    env.reset()
    return env


def rules_of(name):
    return small_env(name).unwrapped.game


# ---- the rules, written down once more without a thought of speed --------------------------------


class PlainBreakthrough:
    """Pawns by (row from below, column); a move is two of those."""

    def __init__(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.pawns = {
            (row, column): int(row >= rows - 2)
            for row in (0, 1, rows - 2, rows - 1)
            for column in range(columns)
        }
        self.player, self.winner = 0, None

    def moves(self):
        """The text of each move and the position after it."""
        if self.winner is not None:
            return
        for (row, column), owner in self.pawns.items():
            for aslant in (-1, 0, 1):
                into = row + (1, -1)[owner], column + aslant
                if owner != self.player or not 0 <= into[1] < self.columns:
                    continue
                if into not in self.pawns or (aslant and self.pawns[into] != owner):
                    yield (
                        self.text((row, column)) + self.text(into),
                        self.after((row, column), into),
                    )

    def text(self, cell):
        return "abcdefgh"[cell[1]] + str(cell[0] + 1)

    def after(self, cell, into):
        twin = PlainBreakthrough(self.rows, self.columns)
        twin.pawns = {**self.pawns, into: self.player}
        del twin.pawns[cell]
        twin.player = 1 - self.player
        arrived = into[0] == (self.rows - 1, 0)[self.player]
        if arrived or 1 - self.player not in twin.pawns.values():
            twin.winner = self.player
        return twin


class PlainOthello:
    """Stones by (row, column)."""

    def __init__(self, size):
        self.size, half = size, size // 2
        self.stones = {(half - 1, half): 0, (half, half - 1): 0}
        self.stones |= {(half, half): 1, (half - 1, half - 1): 1}
        self.player, self.winner = 0, None

    def turned(self, cell, player):
        found = []
        for down in (-1, 0, 1):
            for right in (-1, 0, 1):
                line, there = [], (cell[0] + down, cell[1] + right)
                while self.stones.get(there) == 1 - player:
                    line.append(there)
                    there = there[0] + down, there[1] + right
                found += line if self.stones.get(there) == player else []
        return found

    def placements(self, player):
        cells = [(row, column) for row in range(self.size) for column in range(self.size)]
        empty = [cell for cell in cells if cell not in self.stones]
        return {cell: self.turned(cell, player) for cell in empty if self.turned(cell, player)}

    def moves(self):
        if self.winner is not None:
            return
        found = self.placements(self.player)
        for cell, turned in found.items():
            yield "abcdefgh"[cell[1]] + str(cell[0] + 1), self.after([cell, *turned])
        if not found:
            yield "pass", self.after([])

    def after(self, mine):
        twin = PlainOthello(self.size)
        twin.stones = self.stones | dict.fromkeys(mine, self.player)
        twin.player = 1 - self.player
        if not twin.placements(0) and not twin.placements(1):
            owners = list(twin.stones.values())
            lead = owners.count(0) - owners.count(1)
            twin.winner = DRAW if lead == 0 else int(lead < 0)
        return twin


class PlainBoxes:
    """Lines as pairs of dots, boxes by the dot above and to the left of them."""

    def __init__(self, rows, columns, lines=frozenset(), player=0, lead=0):
        self.rows, self.columns, self.lines = rows, columns, lines
        self.player, self.lead = player, lead  # boxes of player 0 beyond those of player 1
        dots = [(row, column) for row in range(rows + 1) for column in range(columns + 1)]
        across = [((r, c), (r, c + 1)) for r, c in dots if c < columns]
        self.all_lines = across + [((r, c), (r + 1, c)) for r, c in dots if r < rows]
        is_over = len(lines) == len(self.all_lines)
        self.winner = (DRAW if lead == 0 else int(lead < 0)) if is_over else None

    def done(self, lines):
        corners = [(r, c) for r in range(self.rows) for c in range(self.columns)]
        return sum(
            {((r, c), (r, c + 1)), ((r, c), (r + 1, c)), ((r + 1, c), (r + 1, c + 1)),
             ((r, c + 1), (r + 1, c + 1))} <= lines
            for r, c in corners
        )  # fmt: skip

    def moves(self):
        for line in self.all_lines:
            if line not in self.lines:
                (r, c), (down, right) = line
                text = "abcdefghijk"[c + right] + str(r + down + 1)
                lines = self.lines | {line}
                won = self.done(lines) - self.done(self.lines)
                player = self.player if won else 1 - self.player
                lead = self.lead + (won, -won)[self.player]
                yield text, PlainBoxes(self.rows, self.columns, lines, player, lead)

    @functools.cached_property
    def key(self):
        return self.lines, self.player, self.lead


PLAIN = {
    "breakthrough": lambda: PlainBreakthrough(5, 2),
    "othello": lambda: PlainOthello(4),
    "dots_and_boxes": lambda: PlainBoxes(1, 2),
}


def plain_count(position, depth):
    if depth == 0:
        return 1
    return sum(plain_count(after, depth - 1) for _, after in position.moves())


def key_of(position):
    if isinstance(position, PlainBoxes):
        return position.key
    cells = position.pawns if isinstance(position, PlainBreakthrough) else position.stones
    return frozenset(cells.items()), position.player, position.winner


def plain_value(position, known):
    """The outcome for player 0 with perfect play."""
    key = key_of(position)
    if key not in known:
        if position.winner is not None:
            known[key] = {0: 1, 1: -1, DRAW: 0}[position.winner]
        else:
            best = (max, min)[position.player]
            known[key] = best(plain_value(after, known) for _, after in position.moves())
    return known[key]


# ---- the rules -----------------------------------------------------------------------------------


@by_name
def test_they_fulfil_the_contract(name):
    testing.check_game(rules_of(name), games=4)


@pytest.mark.slow
@pytest.mark.compiled(only=True)
@by_name
def test_they_do_so_compiled(name):
    testing.check_game(rules_of(name), games=4)


@by_name
def test_games_go_as_by_the_plain_rules(name):
    rules, draw = rules_of(name), random.Random(1)
    for _ in range(10):
        state, position = base.new_state(rules), PLAIN[name]()
        while position.winner is None:
            after = dict(position.moves())
            legal = {
                rules.action_text(action): action for action in base.legal_actions(rules, state)
            }
            assert set(legal) == set(after)
            assert rules.to_play(state) == position.player
            text = draw.choice(sorted(after))
            rules.step(state, legal[text])
            position = after[text]
        assert state.winner == position.winner


@by_name
def test_their_moves_are_counted(name):
    depth = {"breakthrough": 5, "othello": 4, "dots_and_boxes": 3}[name]
    assert testing.perft(rules_of(name), depth) == plain_count(PLAIN[name](), depth)


def test_the_form_first_written_is_the_same_game():
    plain = importlib.import_module("plain_breakthrough").PlainBreakthrough(5, 2)
    testing.check_game(plain, games=2)
    rules, draw = rules_of("breakthrough"), random.Random(5)
    for _ in range(10):
        one, other = base.new_state(rules), base.new_state(plain)
        while legal := base.legal_actions(rules, one):
            assert base.legal_actions(plain, other) == legal
            action = draw.choice(legal)
            rules.step(one, action)
            plain.step(other, action)
        assert one.winner == other.winner
        assert base.legal_actions(plain, other) == []


OTHELLO = [4, 12, 56, 244, 1_396, 8_200, 55_092, 390_216]
"""The sequences of 1, 2, ... plies on 8 x 8, as programs for Othello publish them."""


def test_othello_has_the_published_counts():
    assert [testing.perft(othello.Othello(), depth) for depth in (1, 2, 3)] == OTHELLO[:3]


@pytest.mark.compiled(only=True)
def test_it_has_them_further_on():
    assert [testing.perft(othello.Othello(), depth) for depth in range(1, 9)] == OTHELLO
    depths = range(1, 5)
    found = [testing.perft(breakthrough.Breakthrough(), depth) for depth in depths]
    assert found[:3] == [plain_count(PlainBreakthrough(8, 8), depth) for depth in depths[:3]]


def test_no_pawns_no_game():
    rules = breakthrough.Breakthrough(4, 2)
    state = notation.play(rules, [])
    for cell in range(2, 4):
        state.cells[cell] = base.EMPTY
    state.cells[0], state.pawns[1] = base.EMPTY, 1
    rules.step(state, rules.parse_action("a2a3"))
    rules.step(state, rules.parse_action("b4a3"))
    assert state.winner == base.IN_PLAY
    rules.step(state, rules.parse_action("b2a3"))
    assert state.winner == 0


# ---- agents --------------------------------------------------------------------------------------


def positions_near_the_end(name, count):
    """Positions in play with few moves to come, with their plain form."""
    rules, draw = rules_of(name), random.Random(3)
    found = []
    while len(found) < count:
        moves, position = [], PLAIN[name]()
        while position.winner is None:
            text, position_after = draw.choice(sorted(position.moves(), key=lambda move: move[0]))
            moves.append((text, position))
            position = position_after
        ply = max(0, len(moves) - 5)
        found.append(([text for text, _ in moves[:ply]], moves[ply][1]))
    return rules, found


PLAYERS = {
    "uct": lambda: agents.UCT(simulations=1_500, solver="hard", seed=1),
    "rave": lambda: agents.RAVE(simulations=1_500, solver="hard", seed=1),
    "alphabeta": lambda: agents.AlphaBeta(depth=6, seed=1),
    "solver": lambda: agents.Solver(seed=1),
}


@by_name
def test_agents_find_what_is_best(name):
    _, positions = positions_near_the_end(name, 2)
    for moves, position in positions:
        values = {text: plain_value(after, {}) for text, after in position.moves()}
        best = (max, min)[position.player](values.values())
        for make in PLAYERS.values():
            env = small_env(name)
            env.reset(options={"moves": " ".join(moves)})
            action = make().act(env)
            assert values[env.unwrapped.game.action_text(action)] == best


SOLVED = {
    ("dots_and_boxes", (1, 1)): -1,
    ("dots_and_boxes", (1, 2)): 0,
    ("dots_and_boxes", (2, 2)): 1,  # Berlekamp, Conway and Guy, "Winning Ways", has it too
    ("othello", (4,)): -1,
}
"""The outcome for player 0, by `plain_value` from the start."""


@pytest.mark.parametrize(
    ("name", "size"),
    [
        pytest.param(
            *game,
            marks=[
                *([pytest.mark.compiled(only=True)] if sum(game[1]) > 3 else []),
                *([pytest.mark.slow] if game[0] == "othello" else []),
            ],
        )
        for game in SOLVED
    ],
)
def test_the_solver_knows_who_wins(name, size):
    env = SMALL[name][0].env(*size)
    env.reset()
    solver = agents.Solver(seed=1)
    action = solver.act(env)
    plain = PlainBoxes(*size) if name == "dots_and_boxes" else PlainOthello(*size)
    assert solver.statistics.values[action] == plain_value(plain, {}) == SOLVED[name, size]


# ---- environments --------------------------------------------------------------------------------


@by_name
def test_they_are_pettingzoo_environments(name):
    module, options = SMALL[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of masks, and an empty board
        api_test(module.env(**options), num_cycles=60)
    if hasattr(pettingzoo, "aec_registry"):
        title = TITLES[name].partition(":")[2].lower()
        env = pettingzoo.make("aec", title, **options)
        assert env.unwrapped.game == rules_of(name)


@by_name
def test_they_are_gymnasium_environments(name):
    options = {**SMALL[name][1], "opponent": "random"}
    env = gymnasium.make(TITLES[name], disable_env_checker=True, **options)
    envs = gymnasium.make_vec(TITLES[name], num_envs=2, **options)
    assert type(envs.unwrapped) is BoardVectorEnv
    observation, _ = env.reset(seed=4)
    observations, _ = envs.reset(seed=4)
    over, rewards = False, []
    while not over:
        assert np.array_equal(observation["observation"], observations["observation"][0])
        actions = np.argmax(observations["action_mask"], axis=1)
        observation, reward, over, _, _ = env.step(actions[0])
        observations, rewards, *_ = envs.step(actions)
    assert reward == rewards[0]
    assert reward == rules_of(name).outcome(env.unwrapped.state, env.unwrapped.side)


# ---- records and pictures ------------------------------------------------------------------------


@pytest.fixture(params=SMALL)
def recorded(request, monkeypatch, tmp_path):
    """A game of a search, in a file written by the command, with its name."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    name = request.param
    options = [f"--option={key}={value}" for key, value in SMALL[name][1].items()]
    players = ("uct:simulations=30", "random")
    command("match", f"{name}:env", *players, "--games=1", *options, f"--records={tmp_path}")
    return name, next(tmp_path.iterdir())


def command(*arguments):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output


def test_their_records_are_kept_and_drawn(recorded, tmp_path):
    name, path = recorded
    record = load_record(path)
    *_, last = record.replay(small_env(name))
    assert last.unwrapped.moves == record.moves
    assert rules_of(name).outcome(record.states(rules_of(name))[-1], 0) == record.outcome
    with pytest.raises(ValueError, match="for SGF"):
        write_sgf([record])
    for suffix in (".gif", ".svg", ".txt", ".html"):
        flags = () if suffix == ".html" else ("--overlay=visits",)
        command("render", path, f"--game={name}:env", f"--to={tmp_path / f'game{suffix}'}", *flags)
    is_from_to = name == "breakthrough"
    ElementTree.parse(tmp_path / "game.svg")
    assert ("data-from" in (tmp_path / "game.svg").read_text("utf-8")) == is_from_to
    listed = [action for action, visits in record.searches[0].visits.items() if visits > 1]
    text = (tmp_path / "game.txt").read_text("utf-8").partition("to play")[0]
    for action in listed:
        assert (rules_of(name).action_text(action) + " " in text) == is_from_to


def test_an_action_from_a_cell_to_another_is_an_arrow():
    rules = rules_of("breakthrough")
    state = base.new_state(rules)
    values = np.full(rules.num_actions(), np.nan)
    values[rules.parse_action("a2a3")], values[rules.parse_action("a2b3")] = 0.5, -1.0
    overlay = overlay_of_values(rules, state, values)
    assert overlay.discs(rules) == []
    assert overlay.arrows() == [(6, 4, 0.5, "+50"), (6, 5, -1.0, "-99")]
    assert "\na2a3 +50, a2b3 -99\n" in render_text(rules, state, overlay=overlay)
    for cell, start in ((4, 6), (5, 6)):
        assert f'data-from="{start}" data-to="{cell}"' in render_svg(rules, state, overlay=overlay)
    changed = render_rgb(rules, state, overlay=overlay) != render_rgb(rules, state)
    centers = cell_centers(rules).reshape(-1, 2)
    on_the_way = {end: (0.3 * centers[6] + 0.7 * centers[end]).astype(int) for end in range(6)}
    found = [end for end, (x, y) in on_the_way.items() if changed[y, x].any()]
    assert found == [4, 5]


def test_a_pass_is_told_in_words():
    rules = othello.Othello(4, 4)
    position = PlainOthello(4)
    draw, moves = random.Random(1), []
    while "pass" not in (after := dict(position.moves())):
        if position.winner is not None:
            position, moves, after = PlainOthello(4), [], dict(PlainOthello(4).moves())
        moves.append(draw.choice(sorted(after)))
        position = after[moves[-1]]
    state = notation.play(rules, notation.parse_moves(rules, " ".join(moves)))
    overlay = overlay_of_shares(rules, state, np.ones(17))
    assert (overlay.discs(rules), overlay.arrows()) == ([], [])
    assert "pass 100" in render_text(rules, state, overlay=overlay).splitlines()
