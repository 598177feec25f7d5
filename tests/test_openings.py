"""Openings of Gomoku: who places what, who has which colour, and everything that plays on them."""

import json

import gymnasium
import numpy as np
import pytest
from click.testing import CliRunner
from environments import JIT, plain, view
from grown_trees import assert_same_nodes, nodes_after
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from agents import UCT
from agents.apps.cli import main
from agents.registry import make_agent
from hexenv import gomoku_v0
from hexenv.games import base, gomoku, notation
from hexenv.games.gomoku import openings
from hexenv.games.gomoku.openings import Phase
from hexenv.games.notation import IllegalActionError
from hexenv.learners.single import SingleEnv
from hexenv.learners.vector import BoardVectorEnv
from hexenv.render.ansi import render_text
from hexenv.render.rgb import render_rgb
from hexenv.testing import check_game, perft

needs_compiler = pytest.mark.compiled(only=True)

SWAP2 = openings.new("swap2", 6)
OPENED = {
    "swap": openings.new("swap", 5),
    "swap2": SWAP2,
    "swap2, standard": openings.new("swap2", (6, 7), rule="standard"),
    "swap2, renju": openings.new("swap2", 7, rule="renju"),
    "swap, renju that loses": openings.new("swap", 7, rule="renju", forbidden="loses"),
    "swap, caro": openings.new("swap", 6, rule="caro"),
    "pro": openings.new("pro", (7, 8)),
    "long_pro, renju": openings.new("long_pro", 9, rule="renju"),
}
over_openings = pytest.mark.parametrize("name", OPENED)


def played(game, moves):
    return notation.play(game, notation.parse_moves(game, moves))


def legal_texts(game, state):
    return [game.action_text(action) for action in base.legal_actions(game, state)]


# ---- the contract, and counts --------------------------------------------------------------------


@pytest.mark.compiled
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name in ("swap", "swap2", "pro") else [pytest.mark.slow])
        for name in OPENED
    ],
)
def test_contract(name):
    check_game(OPENED[name], games=6 if JIT and "pro" not in name else 2)


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("opening", openings.OPENINGS)
def test_contract_on_15_by_15(opening):
    check_game(openings.new(opening), games=1, seed=1)


THREE = 25 * 24 * 23
"""Ways to put down three stones on 5 x 5."""


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("game", "counts"),
    [
        (openings.new("swap", 5), [25, 25 * 24, THREE, THREE * (22 + 1), THREE * (22 * 21 + 22)]),
        (
            openings.new("swap2", 5),
            [25, 25 * 24, THREE, THREE * (22 + 2), THREE * (22 * 21 + 22 + 22)],
        ),
        # The centre; anything; what is outside of the central 5 x 5, or 7 x 7 in `long_pro`.
        (openings.new("pro", 7), [1, 48, 24 * 23 + 24 * 24]),
        (openings.new("pro", 15), [1, 224, 200 * 199 + 24 * 200]),
        (openings.new("long_pro", 9), [1, 80, 32 * 31 + 48 * 32]),
        (openings.new("long_pro", 15), [1, 224, 176 * 175 + 48 * 176]),
        # One of four cells in the middle, and 25 cells around whichever it is.
        (openings.new("pro", 8), [4, 4 * 63, 4 * (39 * 38 + 24 * 39)]),
    ],
    ids=str,
)
def test_perft(game, counts):
    deepest = len(counts) if JIT else min(len(counts), 3)
    assert [perft(game, depth) for depth in range(1, deepest + 1)] == counts[:deepest]


# ---- swap and swap2, move by move ----------------------------------------------------------------

THREE_STONES = "c3 d4 c4"


def tell(game, state):
    """What is asked of whom, and who has black, and the next colour."""
    colours, stones = openings.inner(game, state)
    return (
        openings.phase_of(game, state).name,
        game.to_play(state),
        int(state.black),
        "BW"[colours.to_play(stones)],
    )


def known(game, state):
    """What a position in play tells."""
    return (
        *tell(game, state),
        *(state.ply, state.last_action, game.last_cell(state), game.position_hash(state)),
        base.legal_actions(game, state),
    )


def slow_openings(words):
    """Swap and swap2 from their description: each stone with its colour; and what `tell` says.

    As the Renju federation and Gomocup have them: the first player puts down three stones; the
    second plays white, or takes black, or (swap2) puts down two more and lets the first choose.
    """
    stones, mover, white, left, phase = [], 0, None, 3, "PLACING"
    for word in words:
        colour = "BW"[len(stones) % 2]
        if word == "swap":
            mover = white = 1 - mover
            phase = "PLAYING"
        elif word == "place_two":
            left, phase = 2, "PLACING_TWO"
        else:
            stones.append((word, colour))
            left -= 1
            if left == 0:
                mover, phase = 1 - mover, "CHOOSING_LAST" if len(stones) > 3 else "CHOOSING"
            elif left < 0:
                phase, white = "PLAYING", mover if white is None else white
                mover = white if colour == "B" else 1 - white
    return stones, (phase, mover, 0 if white is None else 1 - white, "BW"[len(stones) % 2])


@pytest.mark.parametrize("name", [name for name in OPENED if name.startswith("swap")])
def test_games_to_their_end_against_the_description(name):
    game = OPENED[name]
    rng = np.random.default_rng(7)
    ends, asked = set(), set()
    choices = {"CHOOSING": ["swap", "place_two"], "CHOOSING_LAST": ["swap"]}
    if "swap2" not in name:
        choices["CHOOSING"].remove("place_two")
    for _ in range(60 if JIT else 8):
        state, words = base.new_state(game), []
        game.initial(state)
        while not game.is_terminal(state):
            stones, told = slow_openings(words)
            assert tell(game, state) == told, words
            saved = notation.from_bytes(game, notation.to_bytes(game, state))
            assert known(game, saved) == known(game, state)
            legal = legal_texts(game, state)
            extra = [text for text in legal if text in openings.EXTRA_ACTIONS]
            assert extra == choices.get(told[0], [])
            free = game.rows * game.columns - len(stones)
            assert len(legal) - len(extra) == free or ("renju" in name and told[3] == "B")
            words.append(str(rng.choice([*extra, str(rng.choice(legal))] if extra else legal)))
            asked.add(told[0])
            actions, action = (
                np.array(base.legal_actions(game, state)),
                game.parse_action(words[-1]),
            )
            assert np.array_equal(np.flatnonzero(base.legal_mask_of(game, state)), actions)
            mover, wins = game.to_play(state), game.wins_at(state, game.to_play(state), action)
            win = game.winning_action(state, mover, base.NO_ACTION, actions, len(actions))
            assert game.wins_at(state, mover, win) if win >= 0 else not wins
            game.step(state, action)
            assert wins == (state.winner == mover)
            stones, (_, _, black, _) = slow_openings(words)
            for cell, colour in stones:
                owner = black if colour == "B" else 1 - black
                assert game.owner(state, game.parse_action(cell)) == owner, (words, cell)
        colours, in_colours = openings.inner(game, state)
        assert in_colours.winner == played(colours, " ".join(c for c, _ in stones)).winner
        assert game.winning_cells(state) == colours.winning_cells(in_colours)
        for colour in (0, 1):
            assert colours.outcome(in_colours, colour) == game.outcome(state, colour ^ black)
        ends.add((int(state.winner), black))
    assert {black for _, black in ends} == {0, 1}
    assert {winner for winner, _ in ends} >= {0, 1}
    assert asked == {"PLACING", "PLAYING", "PLACING_TWO", *choices} or "swap2" not in name


def test_swap_has_no_second_choice():
    with pytest.raises(ValueError, match="'place_two'"):
        OPENED["swap"].parse_action("place_two")
    assert OPENED["swap"].num_actions() == 26


def test_renju_binds_whoever_has_black():
    game = openings.new("swap2", 15, rule="renju")
    moves = "h9 a1 g8 swap a3 i8 a5 h7 a7"
    state = played(game, moves)
    assert int(state.black) == game.to_play(state) == 1
    with pytest.raises(IllegalActionError, match="h8 is forbidden to black: three and three"):
        notation.parse_move(game, state, "h8")
    loses = openings.new("swap2", 15, rule="renju", forbidden="loses")
    state = played(loses, moves + " h8")
    assert state.winner == 0
    saved = notation.from_bytes(loses, notation.to_bytes(loses, state))
    assert saved.winner == 0


# ---- pro and long pro ----------------------------------------------------------------------------


def test_pro_says_where_black_begins():
    for name, lines in (("pro", 3), ("long_pro", 4)):
        game = openings.new(name)
        assert legal_texts(game, base.new_state(game)) == ["h8"]
        with pytest.raises(ValueError, match="h9 is not the centre"):
            played(game, "h9")
        state = played(game, "h8 i9")
        near = f"{'abcdefghijklmno'[7 + lines - 1]}8"
        message = f"{near} is less than {lines} lines away from the first stone"
        with pytest.raises(IllegalActionError, match=message):
            notation.parse_move(game, state, near)
        with pytest.raises(IllegalActionError, match="i9 is taken"):
            notation.parse_move(game, state, "i9")
        far = f"{'abcdefghijklmno'[7 + lines]}8"
        game.step(state, notation.parse_move(game, state, far))
        assert not openings.is_opening(game, state)
        assert len(legal_texts(game, state)) == 222
        assert (game.num_actions(), game.planes()) == (225, ("own", "opponent"))


# ---- what is saved -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "value"),
    [*(("phase", n) for n in (4, 9, -1)), ("ply", 5), *(("last_cell", n) for n in (35, 99, -1))],
)
def test_damaged_details_are_refused(key, value):
    data = notation.to_bytes(SWAP2, played(SWAP2, f"{THREE_STONES} place_two"))
    length = int.from_bytes(data[8:10], "little")
    header = json.loads(data[10 : 10 + length])
    assert header["details"] == {"phase": 3, "ply": 4, "last_cell": SWAP2.parse_action("c4")}
    header["details"][key] = value
    text = json.dumps(header).encode()
    damaged = data[:8] + len(text).to_bytes(2, "little") + text + data[10 + length :]
    with pytest.raises(ValueError, match="details of an opening"):
        notation.from_bytes(SWAP2, damaged)


def test_a_board_is_one_whose_opening_is_over():
    board = "XO.... XO.... ...... ...... ...... ......".replace(" ", "\n")
    for to_play in (0, 1):  # as many of each: who is to move has black
        state = notation.parse_board(SWAP2, board, to_play)
        assert tell(SWAP2, state) == ("PLAYING", to_play, to_play, "B")
        assert notation.board_text(SWAP2, state).replace(" ", "") == board
    one_more = board.replace(".", "X", 1)
    assert tell(SWAP2, notation.parse_board(SWAP2, one_more)) == ("PLAYING", 1, 0, "W")
    swapped = one_more.translate(str.maketrans("XO", "OX"))
    assert tell(SWAP2, notation.parse_board(SWAP2, swapped)) == ("PLAYING", 0, 1, "W")
    for text, to_play, message in (
        (one_more, 0, "got 3 X and 2 O"),
        (board.replace(".", "X", 2), 1, "as many X as O"),
        ("\n".join(["XO...."] + ["......"] * 5), 0, "3 stones or more"),
    ):
        with pytest.raises(ValueError, match=message):
            notation.parse_board(SWAP2, text, to_play)


def test_pictures_show_players():
    state = played(SWAP2, f"{THREE_STONES} swap")
    text = render_text(SWAP2, state)
    assert text.splitlines()[-1] == "X to play (ply 4)"
    assert (text.count("O"), text.count("X")) == (2, 2)  # black is O now; X has one, and the turn
    before = render_text(SWAP2, played(SWAP2, THREE_STONES))
    assert before.splitlines()[-1] == "O to play (ply 3)"
    frames = [render_rgb(SWAP2, played(SWAP2, moves)) for moves in (THREE_STONES, "c3")]
    assert (frames[0] != frames[1]).any()


# ---- environments --------------------------------------------------------------------------------

ENVIRONMENTS = {
    "swap2": {"board_size": 5, "opening": "swap2"},
    "swap": {"board_size": 5, "opening": "swap", "rule": "renju"},
    "pro": {"board_size": 7, "opening": "pro", "rule": "renju", "forbidden": "loses"},
    "given": {"board_size": 5, "opening": ["c3 b2", "c3 d3 a1", "a1", ""]},
}
over_environments = pytest.mark.parametrize("name", ENVIRONMENTS)


def choose(mask, rng):
    """A legal action; an extra one half of the time."""
    legal = np.flatnonzero(mask)
    if legal[-1] >= 25 and len(mask) in (26, 27) and rng.random() < 0.5:
        legal = legal[legal >= 25]
    return int(rng.choice(legal))


def test_the_planes_of_swap2():
    env = gomoku_v0.raw_env(6, opening="swap2", planes=["side", "last_move"])
    names = ("own", "opponent", "black", "swap", "side", "last_move")
    assert env.metadata["planes"] == names
    seen = {}
    for moves in ("", "c3", THREE_STONES, f"{THREE_STONES} swap"):
        env.reset(options={"moves": moves})
        planes = env.observe(env.agent_selection)["observation"]
        seen[moves] = [int(planes[..., number].sum()) for number in range(6)]
    assert seen == {
        "": [0, 0, 36, 0, 36, 0],
        "c3": [1, 0, 0, 0, 36, 1],
        THREE_STONES: [1, 2, 0, 36, 0, 1],
        f"{THREE_STONES} swap": [1, 2, 0, 0, 36, 1],
    }


def single(name, opponent="random", **options):
    return SingleEnv(gomoku_v0.raw_env, opponent, **ENVIRONMENTS[name], **options)


def vector(name, count, opponent="random", **options):
    return BoardVectorEnv(gomoku_v0.raw_env, count, opponent, **ENVIRONMENTS[name], **options)


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
@pytest.mark.parametrize("opponent", ["random", "greedy"])
@over_environments
def test_a_vector_is_as_single_environments(name, opponent, mode):
    envs = vector(name, 4, opponent, autoreset_mode=mode, threads=2)
    others = SyncVectorEnv([lambda: single(name, opponent)] * 4, autoreset_mode=mode)
    rng = np.random.default_rng(3)
    found, expected = envs.reset(seed=5), others.reset(seed=5)
    ended, game = 0, gomoku_v0.raw_env(**ENVIRONMENTS[name]).game
    for _ in range(40):
        for key in ("observation", "action_mask"):
            assert plain(found[0][key]) == plain(expected[0][key])
        assert envs.sides.tolist() == list(others.get_attr("side"))
        actions = np.array([choose(mask, rng) for mask in envs.action_masks()])
        found, expected = envs.step(actions), others.step(actions)
        assert [plain(one) for one in found[1:4]] == [plain(one) for one in expected[1:4]]
        ended += int(found[2].sum())
        for state, side, reward, is_over in zip(envs.states, envs.sides, *found[1:3], strict=True):
            if is_over and mode == AutoresetMode.NEXT_STEP:
                assert reward == game.outcome(state, side)
            else:
                assert game.to_play(state) == side
    assert [state.tobytes() for state in envs.states] == [
        state.tobytes() for state in others.get_attr("state")
    ]
    assert ended > 3
    envs.close()


@over_environments
def test_self_play_in_a_vector_is_the_environment(name):
    """Without an opponent every step plays for whoever is to move, several times where need be."""
    envs = vector(name, 3, None, autoreset_mode="Disabled")
    alone = [gomoku_v0.raw_env(**ENVIRONMENTS[name]) for _ in range(3)]
    rng = np.random.default_rng(6)
    observations, _ = envs.reset(seed=1)
    for env, state in zip(alone, envs.states, strict=True):
        env.reset(options={"state": state})
    over = np.zeros(3, bool)
    while not over.any():
        for board, env in enumerate(alone):
            assert envs.sides[board] == env.game.to_play(env.state)
            shown = env.observe(env.agent_selection)
            for key, value in shown.items():
                assert plain(observations[key][board]) == plain(value)
        movers = [env.agent_selection for env in alone]
        actions = np.array([choose(mask, rng) for mask in envs.action_masks()])
        observations, rewards, over, _, _ = envs.step(actions)
        for env, action, mover, reward in zip(alone, actions, movers, rewards, strict=True):
            env.step(action)
            assert env.rewards[mover] == reward
    envs.close()


# ---- given openings ------------------------------------------------------------------------------

GIVEN = ["c3 b2", "c3 d3 a1", "a1", ""]


def drawn(env, count, seed=None):
    """The moves with which so many episodes begin."""
    found = []
    for number in range(count):
        env.reset(seed=seed if number == 0 else None)
        found.append(env.unwrapped.moves)
    return found


def test_reset_draws_an_opening_by_the_seed():
    env = gomoku_v0.env(board_size=5, opening=GIVEN)
    by_seed = [drawn(env, 1, seed)[0] for seed in range(40)]
    assert set(by_seed) == set(GIVEN)
    assert [drawn(env, 1, seed)[0] for seed in range(40)] == by_seed
    stream = drawn(env, 30, seed=3)
    assert stream == drawn(gomoku_v0.env(board_size=5, opening=tuple(GIVEN)), 30, seed=3)
    assert set(stream) == set(GIVEN)
    assert set(drawn(gomoku_v0.raw_env(board_size=5, opening=["c3 b2"]), 3)) == {"c3 b2"}
    assert stream != drawn(env, 30, seed=4)
    drawn(env, 10)
    env.reset(seed=3, options={"moves": "e5"})
    assert env.unwrapped.moves == "e5"  # what is asked for goes before


def test_a_clone_draws_what_its_original_draws():
    env = gomoku_v0.env(board_size=5, opening=GIVEN)
    env.reset(seed=1)
    twin = env.clone()
    assert view(twin) == view(env)
    assert drawn(twin, 20) == drawn(env, 20)


def test_single_environments_draw_openings_from_their_stream():
    env = gymnasium.make("hexenv/Gomoku-v0", board_size=5, opening=GIVEN, side="first")

    def starts(seed):
        found = []
        for number in range(20):
            env.reset(seed=seed if number == 0 else None)
            found.append(env.unwrapped.state.lines.tobytes())
        return found

    assert starts(1) == starts(1) != starts(2)
    assert len(set(starts(1))) > 3
    env.reset(seed=1, options={"moves": "e5 e4"})
    assert env.unwrapped.state.ply == 2


class Listener:
    """An agent that notes the moves it is told, and plays the last that is legal."""

    name = "listener"
    statistics = None

    def __init__(self):
        self.heard = []

    def reset(self, seed=None):
        pass

    def act(self, env):
        self.heard.append(env.unwrapped.moves)
        played = notation.play(env.unwrapped.game, env.unwrapped.actions)
        assert played.tobytes() == env.unwrapped.state.tobytes()
        return int(np.flatnonzero(env.unwrapped.infos[env.agent_selection]["action_mask"])[-1])


def test_an_agent_behind_a_single_environment_is_told_the_opening():
    listener = Listener()
    env = single("given", listener, side="second")
    for seed in range(12):
        env.reset(seed=seed)
    assert set(listener.heard) == {"c3 b2", ""}  # after the others it is the learner's turn


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"opening": "swap3"}, "'swap3'"),
        ({"opening": []}, "got none"),
        ({"opening": ["a1", "z9"]}, "'z9'"),
        ({"opening": ["a1 a1"]}, "a1 is taken"),
        ({"opening": ["a1 b1 a2 b2 a3 b3 a4 b4 a5"]}, "in play, got 'a1 b1"),
        ({"opening": [7]}, "got 7"),
        ({"opening": "swap2", "connect": 4}, "connect .* got 4"),
        ({"opening": "pro", "board_size": 6}, "got 6 x 6"),
        ({"opening": "long_pro", "board_size": (9, 8)}, "got 9 x 8"),
    ],
    ids=str,
)
def test_openings_that_are_none_are_refused(options, named):
    with pytest.raises(ValueError, match=named):
        gomoku_v0.raw_env(**options)


# ---- agents --------------------------------------------------------------------------------------

AFTER = ["", "c3 d4", THREE_STONES, f"{THREE_STONES} place_two", f"{THREE_STONES} place_two a1 b1"]


@pytest.mark.compiled
@pytest.mark.parametrize("moves", AFTER)
@pytest.mark.parametrize("kind", ["raw_env", "env"])
def test_uct_grows_one_tree_by_all_routes(moves, kind):
    env = getattr(gomoku_v0, kind)(board_size=5, opening="swap2")
    env.reset(options={"moves": moves})
    options = {"simulations": 120, "playout": "generic", "seed": 2, "solver": "off", "reuse": False}
    trees = [
        nodes_after(UCT(route=route, **options), env)
        for route in ("compiled", "interpreted", "environment")
    ]
    for other in trees[1:]:
        assert_same_nodes(trees[0], other)
    if moves == THREE_STONES:
        assert {25, 26} <= set(trees[0]["action"].tolist())


def test_a_search_takes_the_colour_that_wins():
    """Three black stones in a row with room around them, and white's far apart."""
    game = openings.new("swap2", 6)
    env = gomoku_v0.raw_env(6, opening="swap2")
    env.reset(options={"moves": "c3 a6 c4 place_two f6 c5"})
    assert game.action_text(UCT(simulations=1000, seed=1).act(env)) == "swap"


@pytest.mark.parametrize(
    "spec",
    [
        "greedy",
        *(f"{name}:simulations=8,route=interpreted" for name in ("rave", "grave", "mast")),
        pytest.param("uct:simulations=30,playout=decisive+lgrf2", marks=pytest.mark.slow),
        pytest.param("nrpa:level=1,iterations=3", marks=[pytest.mark.slow, needs_compiler]),
    ],
)
@pytest.mark.parametrize("name", ["swap2", "swap"])
def test_agents_play_openings_to_the_end(spec, name):
    agent = make_agent(spec, seed=1)
    env = gomoku_v0.raw_env(**ENVIRONMENTS[name])
    env.reset()
    while not any(env.terminations.values()):
        env.step(agent.act(env))
    assert env.rewards["player_0"] == -env.rewards["player_1"]


def test_openings_are_typed_as_words():
    typed = "c3\nd4\nplace_two\nc4\nundo\nc4\nquit\n"
    options = ["--side", "first", "--option", "opening=swap2", "--option", "board_size=6"]
    run = CliRunner().invoke(
        main, ["play", "gomoku", "uct:simulations=20", *options, "--seed", "1"], input=typed
    )
    assert "you are X" in run.output
    assert "place_two is legal only as the answer to the stones of the opening" in run.output
    assert run.output.count("you played c4") == 2
    assert "your move (stone 2 of the opening, white): " in run.output
    second = ["--side", "second", *options[2:], "--moves", THREE_STONES]
    for word in ("swap", "place_two", "Place two"):
        run = CliRunner().invoke(
            main, ["play", "gomoku", "uct:simulations=20", *second], input=f"{word}\nquit\n"
        )
        assert f"you played {word.lower().replace(' ', '_')}" in run.output
        assert "(a stone to play white, or swap to take black, or place_two): " in run.output
        assert run.exit_code == 0


def test_plain_gomoku_has_no_opening():
    game = gomoku.new(6)
    state = played(game, "c3")
    assert not openings.is_opening(game, state)
    assert openings.phase_of(game, state) == Phase.PLAYING
    same, copied = openings.inner(game, state)
    assert same == game
    assert copied.tobytes() == state.tobytes()
    copied.ply = 9
    assert state.ply == 1
