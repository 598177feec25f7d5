"""The Hex Text Protocol both ways, by transcripts, and against a reference engine and controller.

The transcripts follow the Go Text Protocol, version 2, and https://www.hexwiki.net/index.php/GTP.
"""

import json
import re
import subprocess
import sys
import time

import numpy as np
import pytest
from click.testing import CliRunner
from conversations import (
    HERE,
    PROMPTLY,
    FailingOnce,
    Planned,
    Timed,
    assert_exits_without_reader,
    engine,
    hold,
    match_told,
    say_in_pieces,
    start,
)
from reference_swap import ExchangeGame

from agents import HTPEngine, RandomAgent
from agents.apps.cli import main
from agents.apps.protocols.htp_server import HTPClock, HTPServer
from agents.core.agent import ForfeitError
from agents.registry import make_agent
from hexenv import hex_v0
from hexenv.games.base import cell_owners

SERVER = [sys.executable, "-m", "agents.apps.cli", "htp", "--seed", "1", "--agent"]


def talk(transcript, agent=None, swap=False):
    """Hold a conversation written as ``> controller < engine`` lines; * is anything.

    The empty line that ends an answer is left out.
    """
    server = HTPServer(agent or RandomAgent(0), "test", swap)

    def answer(line):
        text = server.answer(line)
        assert text == "" or re.fullmatch(r"[=?]\d* (?s:(?!\n\n).)*\n\n", text)
        return text.removesuffix("\n\n").splitlines()

    hold(transcript, answer)
    return server


# ---- our engine, by transcripts ------------------------------------------------------------------


def test_what_it_says_of_itself():
    talk(
        """
        > protocol_version < = 2
        > name < = hexenv test
        > version < = *.*
        > known_command genmove < = true
        > known_command komi < = false
        > known_command < = false
        > hexgui-analyze_commands < =
        """
    )
    commands = HTPServer(RandomAgent(), "test").answer("list_commands")[2:].split()
    needed = "protocol_version name version known_command list_commands quit boardsize clear_board"
    needed += " play genmove undo showboard time_settings time_left final_score"
    assert set(needed.split()) <= set(commands)


class Lines(list):
    """What a server writes while it analyses, awaited."""

    def next(self, count=1):
        deadline = time.monotonic() + 60
        while len(self) < count and time.monotonic() < deadline:
            time.sleep(0.005)
        found = self[-1]
        self.clear()
        return found


@pytest.fixture
def analysing():
    server, lines = HTPServer(make_agent("uct", 1), "uct"), Lines()
    server.write = lines.append
    for command in ("boardsize 6", "play b b2", "play w c3"):
        server.answer(command)
    return server, lines


INFO = re.compile(
    r"info move (\S+) visits (\d+) winrate ([\d.]+) lcb ([\d.]+) order (\d+) pv ((?:[a-f][1-6] ?)+)"
)


@pytest.mark.parametrize(("command", "whole"), [("lz-analyze", 10_000), ("kata-analyze", 1)])
def test_an_analysis_goes_on_until_the_next_command(analysing, command, whole):
    server, lines = analysing
    assert server.answer(f"7 {command} b 1") == "=7\n"
    assert not lines  # none comes before its answer has been written
    server.go_on()
    first, later = lines.next(), lines.next(2)
    for line in (first, later):
        found = INFO.findall(line)
        assert [int(order) for *_, order, _ in found] == list(range(len(found)))
        for move, _, winrate, lcb, _, line_of in found:
            assert line_of.split()[0] == move
            assert 0 <= float(lcb) <= float(winrate) <= whole
        assert {"b2", "c3"}.isdisjoint(move for move, *_ in found)
    visits = [sum(int(one[1]) for one in INFO.findall(line)) for line in (first, later)]
    assert visits[0] < visits[1]
    assert server.answer("name") == "\n= hexenv uct\n\n"
    count = len(lines)
    assert server.answer("genmove b").startswith("= ")
    assert len(lines) == count
    assert server.answer(command.upper()).startswith("?")


def test_an_analysis_is_of_the_colour_that_is_asked_for(analysing):
    """White to move, and white having begun: then the agent sees the mirror image."""
    server, lines = analysing
    server.answer("clear_board")
    server.answer("play w a2")
    server.answer("lz-analyze 1")
    server.go_on()
    assert "a2" not in [move for move, *_ in INFO.findall(lines.next())]
    server.answer("clear_board")
    for cell in ("a1", "b1", "c1", "d1", "e1"):  # a row of white's, who joins left and right
        server.answer(f"play w {cell}")
    server.answer("lz-analyze w 1")
    lines.clear()  # those of the analysis before
    server.go_on()
    assert INFO.findall(lines.next())[0][0] == "f1"
    server.answer("play w f1")
    assert server.answer("lz-analyze b").startswith("? expected a game in play")


def test_a_game_with_ids_comments_and_white_space():
    agent = Planned("b2", "a3")
    server = talk(
        """
        > 1 boardsize 5 < =1
        > 2   clear_board   # begin < =2
        > # nothing but a comment
        >
        > 30\tplay\tblack\tC3 < =30
        > 4 play W d4 < =4
        > 5 genmove b < =5 b2
        > 6 genmove white < =6 a3
        > 7 undo < =7
        > 8 undo < =8
        > 9 final_score < =9 cannot score
        > 2147483647 quit < =2147483647
        """,
        agent,
    )
    assert server.is_over
    assert agent.seen == [[12, 18], [12, 18, 6]]


def test_the_board_is_drawn_with_black_from_top_to_bottom():
    talk(
        """
        > boardsize 3 2 < =
        > play black a1 < =
        > play white c2 < =
        > showboard
        < =
        < a  b  c
        < 1\\B  .  .\\1
        < 2\\.  .  W\\2
        < a  b  c
        > play black a2 < =
        > final_score < = B+
        > genmove white < = resign
        > all_legal_moves < = b1 c1 b2
        """
    )
    talk("> boardsize 2\n< =\n> play w a2\n< =\n> play w b2\n< =\n> final_score\n< = W+")


WRONG = {
    "? unknown command": "foo|7|-7 name|PLAY black a2",
    "? unacceptable size": "boardsize 1|boardsize 20|boardsize 99999999999",
    "? syntax error*": "boardsize|boardsize x|boardsize 5 5 5|play|play black|play black a2 a3"
    "|genmove|play red a2|genmove empty|time_settings 1 2|time_settings a b c"
    "|time_left black soon 0|param_game allow_swap maybe|quit now",
    "? illegal move*": "play black a1|play black f1|play black a0|play black a6|play black pass"
    "|play black a999999999999999999999|play black swap-pieces",
}


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        *((command, answer) for answer, many in WRONG.items() for command in many.split("|")),
        ("7 foo", "?7 unknown command"),
        ("x" * 5000, "? unknown command"),
        ("play white resign", "="),
        ("\x00\x07", ""),
    ],
)
def test_what_is_wrong_is_said_and_changes_nothing(command, answer):
    talk(
        f"""
        > boardsize 5 < =
        > play black a1 < =
        > {command}
        {"< " + answer if answer else ""}
        > genmove white < = b1
        """,
        Planned(),
    )


@pytest.mark.parametrize(
    ("moves", "colour", "answer"),
    [
        ("", "black", "= a1"),
        ("", "white", "= a1"),  # white begins
        ("w b3", "black", "= a1"),
        ("w b3 b a1", "white", "= a2"),
        ("b b3 b a1 w c1 w d1", "black", "= b1"),  # in another order
        ("b b3 b a1", "white", "= b1"),  # a colour has moved too often
        ("b b3", "black", "= a1"),
        ("w b3 w a1", "white", "= b1"),
        ("w b3 w a1", "black", "= b1"),
    ],
)
def test_whichever_colour_begins(moves, colour, answer):
    """Where white has begun, the agent sees the mirrored board: its first cells lie in a column."""
    words = moves.split()
    said = "".join(f"> play {words[n]} {words[n + 1]}\n< =\n" for n in range(0, len(words), 2))
    talk(f"> boardsize 5\n< =\n{said}> genmove {colour}\n< {answer}", Planned())


@pytest.mark.parametrize("agent", ["uct:simulations=30", "rave:playout=bridges,simulations=30"])
def test_a_colour_may_have_all_its_moves_at_once(agent):
    moves = "> genmove white\n< = *\n" * 3
    said = f"> boardsize 3\n< =\n> play b a1\n< =\n> play b c3\n< =\n{moves}> genmove b\n< = *\n"
    talk(said, make_agent(agent, seed=1))


def test_white_who_begins_still_joins_left_and_right():
    talk(
        """
        > boardsize 3 < =
        > play white a2 < =
        > play black a1 < =
        > play white b2 < =
        > play black b1 < =
        > genmove white < = c2
        > final_score < = W+
        """,
        Planned("b3"),  # c2 on the mirrored board
    )


def test_a_swap_leaves_the_stone_and_white_is_next():
    """As in MoHex and HexGui: the players exchange their colours, so we may be asked for white."""
    taken_over = (
        """
        > boardsize 5 < =
        > play black d3 < =
        > play white swap-pieces < =
        > showboard
        < =
        < *
        < 1\\.  .  .  .  .\\1
        < 2\\.  .  .  .  .\\2
        < 3\\.  .  .  B  .\\3
        < 4\\.  .  .  .  .\\4
        < 5\\.  .  .  .  .\\5
        < *
        > play black d3 < ? illegal move: d3 is taken
        > play white swap-pieces < ? illegal move: swap-pieces is the answer to the first move
        > genmove white < = c4
        > undo < =
        > undo < =
        > play white swap-pieces < =
        > play white a1 < =
        > genmove black < = b1
        > final_score < = cannot score
        """
        + 4 * "> undo < =\n"
        + "> undo < ? cannot undo"
    )
    for swap in (False, True):
        agent = Planned("c4")
        talk(taken_over, agent, swap)
        assert agent.seen == [[13], [13, 0]]


def drawn(answer):
    """The stones that `showboard` draws, row by row."""
    rows = ["".join(re.findall(r"(?<![A-Z])[BW.](?![A-Z])", line)) for line in answer.splitlines()]
    return [row for row in rows if row]


def test_fifty_swapped_games_as_an_engine_look_as_another_implementation_has_them():
    rng = np.random.default_rng(5)
    for number in range(50):
        size = int(rng.integers(2, 7))
        agent = Planned("swap") if number % 2 else RandomAgent(number)
        server = HTPServer(agent, "test", swap=number % 2 == 1)

        def ask(command, server=server):
            answer = server.answer(command)
            assert answer.startswith("= "), (command, answer)
            return answer[2:].strip()

        ask(f"boardsize {size}")
        game = ExchangeGame(size)
        while game.winner() is None:
            asks = rng.random() < 0.5
            move = str(rng.choice(game.free()))
            if len(game.stones) == 1 and game.player_of["black"] == 0:
                move, asks = "swap-pieces", number % 2 == 1
            elif number % 2 == 1 and not game.stones:
                asks = False  # the agent is to swap, and not to begin
            if asks:
                move = ask(f"genmove {game.to_move}")
            else:
                ask(f"play {game.to_move} {move}")
            game.play(move)
            assert drawn(ask("showboard")) == game.drawn()
        assert game.player_of["black"] == 1
        winning = "BW"[game.player_of["black"] != game.winner()]
        assert ask("final_score") == f"{winning}+"
        while len(game.stones) > 1:
            ask("undo")
            game.stones.popitem()
            assert drawn(ask("showboard")) == game.drawn()


def test_the_agent_swaps_only_where_it_may():
    asked = "> boardsize 5\n< =\n> play black c3\n< =\n> genmove white\n"
    talk(f"{asked}< = swap-pieces\n> play white b1\n< =\n> genmove black\n< = a1",
         Planned("swap"), swap=True)  # fmt: skip
    talk("> param_game\n< =\n< [bool] allow_swap 0\n> param_game allow_swap 1\n< =\n"
         f"{asked}< = swap-pieces", Planned("swap"))  # fmt: skip
    talk(f"{asked}< ? *", Planned("swap"))


@pytest.mark.parametrize(
    ("error", "answer"),
    [(ForfeitError("resigned"), "? resigned"), (KeyError("x"), "? KeyError: 'x'")],
)
def test_an_error_of_the_agent_is_an_answer(error, answer):
    said = f"> boardsize 5\n< =\n> genmove b\n< = a1\n> genmove w\n< {answer}\n"
    talk(said + "> genmove w\n< = b1", FailingOnce(error))


# ---- time ----------------------------------------------------------------------------------------


def clock(main, period, stones):
    found = HTPClock()
    found.main, found.period, found.stones = main, period, stones
    return found


def test_limits_of_time():
    assert HTPClock().limit(0, 20) is None
    assert clock(0, 5, 0).limit(0, 20) is None  # the protocol's way to say no limit
    assert clock(0, 5, 1).limit(0, 20) == 5
    assert clock(0, 60, 10).limit(1, 20) == 6
    absolute = clock(60, 0, 0)
    assert absolute.limit(0, 20) == 3
    absolute.spend(0, 50)
    assert absolute.limit(0, 20) == 0.5
    assert absolute.limit(1, 20) == 3
    absolute.spend(0, 50)
    assert absolute.limit(0, 20) == 0
    absolute.left[0] = (12.0, 0)
    assert absolute.limit(0, 1) == 2
    absolute.left[0] = (12.0, 3)
    assert absolute.limit(0, 1) == 4
    absolute.start_game()
    assert absolute.limit(0, 20) == 3


def test_a_swap_takes_the_time_along():
    """The players exchange colours, not the time that they have used; an undo takes it back."""
    server = HTPServer(Planned("swap"), "test", swap=True)
    for line in ("boardsize 5", "time_settings 60 0 0", "play black c3", "time_left black 12 0"):
        server.answer(line)
    time = server._clock
    time.spend(1, 50)
    assert server.answer("genmove white") == "= swap-pieces\n\n"
    assert time.used[0] > 50
    assert (time.used[1], time.left) == (0, [None, (12.0, 0)])
    server.answer("undo")
    assert time.used[1] > 50
    assert (time.used[0], time.left) == (0, [(12.0, 0), None])


def test_the_budget_is_what_the_controller_says_less_a_margin():
    agent = Timed()
    talk(
        """
        > boardsize 5 < =
        > genmove black < = a1
        > time_settings 0 1 1 < =
        > genmove white < = b1
        > time_left black 0.05 1 < =
        > genmove black < = c1
        > time_settings 60 0 0 < =
        > time_left white 0 < =
        > genmove white < = d1
        """,
        agent,
    )
    warm_up, own, second, short, none = agent.budgets
    assert (warm_up, own, none) == (0.001, 3.0, 0.001)
    assert 0.5 < second <= 0.885
    assert 0.001 <= short <= 0.03


# ---- the command ---------------------------------------------------------------------------------


def start_server(agent="random"):
    return start([*SERVER, agent])


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_the_command_reads_lines_in_pieces_and_the_last_without_an_end(size):
    said = b"1 boardsize 5\r\n\r\n# hello\nplay black c3\r\nfoo\nname\n3 final_score"
    with start_server() as server:
        output = say_in_pieces(server, said, size)
    expected = "=1 \n\n= \n\n? unknown command\n\n= hexenv random\n\n=3 cannot score\n\n"
    assert output == expected


def test_the_first_board_is_ready_before_the_clock_runs():
    class Ready(Planned):
        def prepare(self, env):
            self.ready = env.unwrapped.game.num_actions()

    agent = Ready()
    talk("> time_settings 0 1 1\n< =", agent)
    assert agent.ready == 121


def test_quit_is_answered_and_ends_it():
    with start_server() as server:
        output, _ = server.communicate(b"5 quit\nname\n", timeout=60)
    assert (output, server.returncode) == (b"=5 \n\n", 0)


def test_a_controller_that_is_gone_ends_it_quietly():
    more = b"genmove black\ngenmove white\nname\n"
    assert_exits_without_reader(start_server(), b"boardsize 5\n", b"= \n", more)


def test_what_controllers_append_is_taken(tmp_path):
    """Benzene's twogtp appends a seed and the name of a log, its scripts more."""
    log = tmp_path / "engine.log"
    appended = f"--seed 7 --logfile-name {log} --quiet --use-logfile=false --logfile-level config"
    result = CliRunner().invoke(main, ["htp", "--agent", "random", *appended.split()], "3 name\n")
    assert (result.exit_code, result.stdout) == (0, "=3 hexenv random\n\n")
    assert not log.exists()
    wrong = CliRunner().invoke(main, ["htp", "--agent", "random", "--logfiles", "x"])
    assert wrong.exit_code == 2


@pytest.mark.parametrize(("agent", "swap"), [("random", "0"), ("uct:simulations=30", "1")])
def test_the_reference_controller_runs_the_engine(agent, swap):
    controller = [sys.executable, HERE / "reference_htp_controller.py", "4", swap]
    found = subprocess.run(
        [*controller, *SERVER, agent], capture_output=True, text=True, timeout=300, check=False
    )
    assert found.returncode == 0, found.stderr
    told = json.loads(found.stdout)
    assert told["status"] == 0
    game = ExchangeGame(4)
    for move in told["moves"]:
        game.play("swap-pieces" if move == "swap" else move)
    assert ("swap" in told["moves"]) == (swap == "1")
    winning = "BW"[game.player_of["black"] != game.winner()]
    assert told["score"] == f"{winning}+"


# ---- engines -------------------------------------------------------------------------------------


def text_of(env, action):
    return env.unwrapped.game.action_text(action)


def test_what_an_engine_is_told(tmp_path):
    env = hex_v0.env(5)
    options = {"seconds": 2.5, "tolerance": PROMPTLY, "setup": "name; version"}
    (first, second), said = match_told(env, HTPEngine, tmp_path / "log", **options)
    begun = said.index("clear_board", 6)
    assert said[:10] == [
        "name", "version", "known_command time_settings", "time_settings 0 2 1", "boardsize 5",
        "clear_board",
        "genmove black", f"play white {text_of(env, first.actions[1])}",
        "genmove black", f"play white {text_of(env, first.actions[3])}",
    ]  # fmt: skip
    opening = text_of(env, second.actions[0])
    assert said[begun + 1 : begun + 3] == [f"play black {opening}", "genmove white"]
    assert said[-1] == "quit"
    assert said.count("boardsize 5") == 1


def test_a_rectangle_and_positions_to_start_from(tmp_path):
    log = tmp_path / "log"
    agent = engine(HTPEngine, "timeless", log)
    env = hex_v0.env((3, 4))
    env.reset(options={"moves": "a1 d3"})
    assert agent.act(env) == 1
    env.reset(options={"board": "X O . ./. . . ./O . . X"})
    assert agent.act(env) == 2
    env.reset()
    assert agent.act(env) == 0
    agent.close()
    assert log.read_text().splitlines() == [
        "known_command time_settings", "boardsize 4 3", "clear_board", "play black a1",
        "play white d3", "genmove black", "clear_board", "play black a1", "play white b1",
        "play black d3", "play white a3", "genmove black", "clear_board", "genmove black", "quit",
    ]  # fmt: skip


def test_an_engine_that_swaps(tmp_path):
    env = hex_v0.env(3, swap=True)
    env.reset(options={"moves": "b1"})
    agent = engine(HTPEngine, "swap", tmp_path / "log")
    assert text_of(env, agent.act(env)) == "swap"
    env.step(9)
    env.step(5)  # c2, which is b3 of white's to the engine
    assert text_of(env, agent.act(env)) == "a1"
    agent.close()
    said = (tmp_path / "log").read_text().splitlines()
    assert said[-4:] == ["genmove white", "play white b3", "genmove black", "quit"]
    without = hex_v0.env(3)
    without.reset(options={"moves": "b1"})
    with pytest.raises(ForfeitError, match="illegal move swap-pieces"):
        engine(HTPEngine, "swap").act(without)


@pytest.mark.parametrize("fault", ["", "no-swap"])
def test_an_engine_is_told_of_a_swap(fault, tmp_path):
    """One that knows no swap has the right stones all the same."""
    log = tmp_path / "log"
    env = hex_v0.env(3, swap=True)
    env.reset()
    agent = engine(HTPEngine, fault, log)
    assert agent.act(env) == 0
    env.reset(options={"moves": "b1 swap"})  # for white's stone on a2
    assert text_of(env, agent.act(env)) == "a1"
    env.step(0)
    env.step(2)
    assert text_of(env, agent.act(env)) == "a3"  # c1 to the engine, as a2 is a stone of its own
    agent.close()
    said = log.read_text().splitlines()
    start = said.index("play white swap-pieces")
    assert said[start - 1] == "play black b1"
    assert said[start + 1 :] == ["genmove white", "play black a3", "genmove white", "quit"]


def test_fifty_swapped_games_with_engines_look_as_another_implementation_has_them():
    agents = [engine(HTPEngine, "random"), engine(HTPEngine, "random")]
    rng = np.random.default_rng(6)
    for _ in range(50):
        size = int(rng.integers(2, 6))
        env = hex_v0.env(size, swap=True)
        env.reset()
        game = ExchangeGame(size)
        raw = env.unwrapped
        while not raw.terminations[raw.agent_selection]:
            player = len(raw.actions) % 2
            assert game.player_of[game.to_move] == player
            env.step(agents[player].act(env))
            _, board = agents[player]._ask("showboard")
            first, moves = raw.actions[0], raw.actions[2:]
            played = [(divmod(first, size)), *(divmod(move, size)[::-1] for move in moves)]
            game = ExchangeGame(size)
            for number, (row, column) in enumerate(played[: max(len(raw.actions) - 1, 1)]):
                game.play(f"{chr(97 + column)}{row + 1}")
                if number == 0 and len(raw.actions) > 1:
                    assert raw.actions[1] == size * size
                    game.play("swap-pieces")
            assert drawn(board) == game.drawn()
            owners = cell_owners(raw.game, raw.state)
            here = ["".join(".BW"[owner + 1] for owner in row) for row in owners]
            assert here == game.as_pieces()
        assert raw.rewards[f"player_{game.winner()}"] == 1
    for agent in agents:
        agent.close()


def test_a_refused_command_at_the_start_is_an_error_and_no_forfeit():
    env = hex_v0.env(5)
    env.reset()
    with pytest.raises(ValueError, match="make_tea"):
        engine(HTPEngine, setup="make_tea").prepare(env)
