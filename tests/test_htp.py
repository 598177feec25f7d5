"""The Hex Text Protocol both ways, by transcripts, and against a reference engine and controller.

The transcripts follow the Go Text Protocol, version 2, and https://www.hexwiki.net/index.php/GTP.
"""

import copy
import json
import pickle
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from conversations import (
    Timed,
    assert_a_copy_plays_by_itself,
    assert_bears_a_gone_reader,
    hold,
    say_in_pieces,
    start,
)
from test_engine_process import PROMPTLY

from agents import HTPEngine, RandomAgent
from agents.agent import ForfeitError, Statistics
from agents.arena import Tournament, play_game, play_match, run_tournament
from agents.cli import main
from agents.htp_server import HTPServer, mirrored
from agents.naming import make_agent
from agents.time_limits import HTPTime
from hexenv import gomoku_v0, hex_v0

HERE = Path(__file__).resolve().parent
REFERENCE = shlex.join([sys.executable, str(HERE / "reference_htp_engine.py")])
SERVER = [sys.executable, "-m", "agents.cli", "htp", "--seed", "1", "--agent"]


class Planned:
    """An agent that plays moves in an order, else the first that is legal."""

    statistics = None

    def __init__(self, *moves):
        self.moves, self.boards = list(moves), []

    def reset(self, seed=None):
        pass

    def act(self, env):
        count = env.game.num_actions()
        legal = next(action for action in range(count) if env.is_legal(action))
        self.boards.append((list(env.actions), env.state.ply))
        self.statistics = Statistics(np.ones(count), np.zeros(count), [], 1, 0.0)
        return env.game.parse_action(self.moves.pop(0)) if self.moves else legal


def talk(transcript, agent=None, swap=False):
    """Hold a conversation written as ``> controller`` and ``< engine`` lines; * is anything.

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
        > protocol_version
        < = 2
        > name
        < = hexenv test
        > version
        < = *.*
        > known_command genmove
        < = true
        > known_command komi
        < = false
        > known_command
        < = false
        > hexgui-analyze_commands
        < =
        """
    )
    commands = HTPServer(RandomAgent(), "test").answer("list_commands")[2:].split()
    needed = "protocol_version name version known_command list_commands quit boardsize clear_board"
    needed += " play genmove undo showboard time_settings time_left final_score"
    assert set(needed.split()) <= set(commands)


def test_a_game_with_ids_comments_and_white_space():
    agent = Planned("b2", "a3")
    server = talk(
        """
        > 1 boardsize 5
        < =1
        > 2   clear_board   # begin
        < =2
        > # nothing but a comment
        >
        > 30\tplay\tblack\tC3
        < =30
        > 4 play W d4
        < =4
        > 5 genmove b
        < =5 b2
        > 6 genmove white
        < =6 a3
        > 7 undo
        < =7
        > 8 undo
        < =8
        > 9 final_score
        < =9 cannot score
        > 2147483647 quit
        < =2147483647
        """,
        agent,
    )
    assert server.is_over
    assert agent.boards == [([12, 18], 2), ([12, 18, 6], 3)]


def test_the_board_is_drawn_with_black_from_top_to_bottom():
    talk(
        """
        > boardsize 3 2
        < =
        > play black a1
        < =
        > play white c2
        < =
        > showboard
        < =
        < a  b  c
        < 1\\B  .  .\\1
        < 2\\.  .  W\\2
        < a  b  c
        > play black a2
        < =
        > final_score
        < = B+
        > genmove white
        < = resign
        > all_legal_moves
        < = b1 c1 b2
        """
    )
    talk("> boardsize 2\n< =\n> play w a2\n< =\n> play w b2\n< =\n> final_score\n< = W+")


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("foo", "? unknown command"),
        ("7 foo", "?7 unknown command"),
        ("7", "? unknown command"),
        ("-7 name", "? unknown command"),
        ("PLAY black a2", "? unknown command"),
        ("boardsize", "? syntax error*"),
        ("boardsize x", "? syntax error*"),
        ("boardsize 1", "? unacceptable size"),
        ("boardsize 20", "? unacceptable size"),
        ("boardsize 99999999999", "? unacceptable size"),
        ("boardsize 5 5 5", "? syntax error*"),
        ("play", "? syntax error*"),
        ("play black", "? syntax error*"),
        ("play black a2 a3", "? syntax error*"),
        ("play red a2", "? syntax error: expected black or white, got red"),
        ("play black a1", "? illegal move: a1 is taken"),
        ("play black f1", "? illegal move: f1 is no cell"),
        ("play black a0", "? illegal move*"),
        ("play black a6", "? illegal move*"),
        ("play black a999999999999999999999", "? illegal move*"),
        ("play black pass", "? illegal move*"),
        ("play black swap-pieces", "? illegal move: swap-pieces is the answer to the first move"),
        ("play white resign", "="),
        ("genmove", "? syntax error*"),
        ("genmove empty", "? syntax error*"),
        ("time_settings 1 2", "? syntax error*"),
        ("time_settings a b c", "? syntax error*"),
        ("time_left black soon 0", "? syntax error*"),
        ("param_game allow_swap maybe", "? syntax error*"),
        ("quit now", "? syntax error*"),
        ("\x00\x07", ""),
        ("x" * 5000, "? unknown command"),
    ],
)
def test_what_is_wrong_is_said_and_changes_nothing(command, answer):
    talk(
        f"""
        > boardsize 5
        < =
        > play black a1
        < =
        > {command}
        {"< " + answer if answer else ""}
        > genmove white
        < = b1
        """,
        Planned(),
    )


def test_undo_to_the_start():
    talk("> boardsize 5\n< =\n> play black a1\n< =\n> undo\n< =\n> undo\n< ? cannot undo")


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
        > boardsize 3
        < =
        > play white a2
        < =
        > play black a1
        < =
        > play white b2
        < =
        > play black b1
        < =
        > genmove white
        < = c2
        > final_score
        < = W+
        """,
        Planned("b3"),  # c2 on the mirrored board
    )
    assert [mirrored(cell, (2, 3)) for cell in range(6)] == [0, 2, 4, 1, 3, 5]


def test_swaps():
    taken_over = """
        > boardsize 5
        < =
        > play black b1
        < =
        > play white swap-pieces
        < =
        > showboard
        < =
        < *
        < 1\\.  .  .  .  .\\1
        < 2\\W  .  .  .  .\\2
        < 3\\.  .  .  .  .\\3
        < 4\\.  .  .  .  .\\4
        < 5\\.  .  .  .  .\\5
        < *
        > genmove black
        < = a1
        > undo
        < =
        > undo
        < =
        > play white swap-pieces
        < =
        """
    talk(taken_over, Planned())
    talk(taken_over, Planned(), swap=True)


def test_the_agent_swaps_only_where_it_may():
    asked = "> boardsize 5\n< =\n> play black c3\n< =\n> genmove white\n"
    talk(f"{asked}< = swap-pieces\n> genmove black\n< = a1", Planned("swap"), swap=True)
    talk("> param_game\n< =\n< [bool] allow_swap 0\n> param_game allow_swap 1\n< =\n"
         f"{asked}< = swap-pieces", Planned("swap"))  # fmt: skip
    talk(f"{asked}< ? *", Planned("swap"))


@pytest.mark.parametrize(
    ("fault", "answer"),
    [(ForfeitError("resigned"), "? resigned"), (KeyError("x"), "? KeyError: 'x'")],
)
def test_an_agent_that_fails_does_not_end_the_conversation(fault, answer):
    class Failing(RandomAgent):
        def act(self, env):
            raise fault

    talk(f"> boardsize 5\n< =\n> genmove black\n< {answer}\n> name\n< = *", Failing())


# ---- time ----------------------------------------------------------------------------------------


def clock(main, period, stones):
    found = HTPTime()
    found.main, found.period, found.stones = main, period, stones
    return found


def test_limits_of_time():
    assert HTPTime().limit(0, 20) is None
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
    absolute.told[0] = (12.0, 0)
    assert absolute.limit(0, 1) == 2
    absolute.told[0] = (12.0, 3)
    assert absolute.limit(0, 1) == 4
    absolute.start_game()
    assert absolute.limit(0, 20) == 3


def test_the_budget_is_what_the_controller_says_less_a_margin():
    class TimedPlanned(Timed, Planned):
        pass

    agent = TimedPlanned()
    talk(
        """
        > boardsize 5
        < =
        > genmove black
        < = a1
        > time_settings 0 1 1
        < =
        > genmove white
        < = b1
        > time_left black 0.05 1
        < =
        > genmove black
        < = c1
        > time_settings 60 0 0
        < =
        > time_left white 0
        < =
        > genmove white
        < = d1
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
    assert_bears_a_gone_reader(start_server(), b"boardsize 5\n", b"= \n", more)


def test_a_wrong_agent_is_named():
    result = CliRunner().invoke(main, ["htp", "--agent", "nobody"])
    assert result.exit_code == 2
    assert "expected an agent of" in result.output


@pytest.mark.parametrize("agent", ["random", "uct:simulations=30"])
def test_the_reference_controller_runs_the_engine(agent):
    controller = [sys.executable, HERE / "reference_htp_controller.py", "4"]
    found = subprocess.run(
        [*controller, *SERVER, agent], capture_output=True, text=True, timeout=300, check=False
    )
    assert found.returncode == 0, found.stderr
    told = json.loads(found.stdout)
    assert told["status"] == 0
    env = hex_v0.env(4)
    env.reset(options={"moves": " ".join(told["moves"])})
    assert env.rewards["player_0"] == {"B+": 1, "W+": -1}[told["score"]]


# ---- engines -------------------------------------------------------------------------------------


def engine(fault="", log="", **options):
    options = {"seconds": PROMPTLY, **options}
    return HTPEngine(f"{REFERENCE} {shlex.quote(fault)} {log}".strip(), **options)


def game_against(agent, size=5, **options):
    """One game in which the engine begins."""
    env = hex_v0.env(size, **options)
    env.reset()
    result = play_game(env, [agent, RandomAgent(3)])
    agent.close()
    return result


def text_of(env, action):
    return env.unwrapped.game.action_text(action)


def test_what_an_engine_is_told(tmp_path):
    log = tmp_path / "log"
    agent = engine("", log, seconds=2.5, tolerance=PROMPTLY, setup="name; version")
    env = hex_v0.env(5)
    first, second = play_match(env, [agent, RandomAgent()], 2)
    agent.close()
    assert (first.forfeit, second.forfeit) == (None, None)
    said = log.read_text().splitlines()
    assert said[:6] == [
        "name", "version", "known_command time_settings", "time_settings 0 2 1", "boardsize 5",
        "clear_board",
    ]  # fmt: skip
    assert said[6:10] == [
        "genmove black", f"play white {text_of(env, first.actions[1])}",
        "genmove black", f"play white {text_of(env, first.actions[3])}",
    ]  # fmt: skip
    begun = said.index("clear_board", 6)
    assert said[begun + 1 : begun + 3] == [
        f"play black {text_of(env, second.actions[0])}", "genmove white",
    ]  # fmt: skip
    assert said[-1] == "quit"
    assert said.count("boardsize 5") == 1


def test_a_rectangle_and_positions_to_start_from(tmp_path):
    log = tmp_path / "log"
    agent = engine("timeless", log)
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


@pytest.mark.parametrize("fault", ["", "crlf", "chopped", "timeless"])
def test_however_an_engine_writes_its_moves_they_are_played(fault):
    agent = engine(fault)
    results = list(play_match(hex_v0.env(4), [agent, RandomAgent()], 2))
    agent.close()
    assert [result.forfeit for result in results] == [None, None]


def test_an_engine_that_swaps():
    env = hex_v0.env(3, swap=True)
    env.reset(options={"moves": "b1"})
    agent = engine("swap")
    assert text_of(env, agent.act(env)) == "swap"
    env.step(9)
    env.step(8)
    assert text_of(env, agent.act(env)) == "a1"  # b1 has gone to a2
    agent.close()
    without = hex_v0.env(3)
    without.reset(options={"moves": "b1"})
    with pytest.raises(ForfeitError, match="illegal move swap-pieces"):
        engine("swap").act(without)


@pytest.mark.parametrize("fault", ["", "no-swap"])
def test_an_engine_is_told_of_a_swap(fault, tmp_path):
    log = tmp_path / "log"
    env = hex_v0.env(3, swap=True)
    env.reset()
    agent = engine(fault, log)
    assert agent.act(env) == 0
    env.reset(options={"moves": "b1 swap"})
    assert agent.act(env) == 0
    env.step(0)
    env.step(8)
    assert agent.act(env) == 1
    agent.close()
    said = log.read_text().splitlines()
    start = said.index("play white swap-pieces")
    shown = ["clear_board", "play white a2"] if fault else []
    assert said[start + 1 :] == [*shown, "genmove black", "play white c3", "genmove black", "quit"]


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("crash", "the engine exited with status 4"),
        ("taken", "illegal move a1"),
        ("z99", "expected a move, got 'z99'"),
        ("nonsense", "expected a move, got 'nonsense'"),
        ("resign", "resigned"),
        ("refuse", "refused genmove black: no idea"),
    ],
)
def test_what_breaks_the_protocol_loses(fault, reason):
    result = game_against(engine(fault))
    assert result.forfeit == reason
    assert (result.outcome, result.forfeited_by, result.illegal) == (-1, 0, None)
    assert (result.moves, len(result.actions)) == ((3, 2), 4)


def test_limits_of_50_ms_are_enforced():
    result = game_against(engine("hang", seconds=0.05, tolerance=1.0))
    assert result.forfeit == "no move in 0.05 s"


def test_thinking_while_it_is_told_moves_is_on_the_clock():
    result = game_against(engine("thinks", seconds=0.1, tolerance=0.4))
    assert result.forfeit == "no move in 0.1 s"
    assert len(result.actions) == 2


def test_what_cannot_begin_is_an_error_and_no_forfeit():
    with pytest.raises(ValueError, match="expected a program that can be run, got 'nothing'"):
        HTPEngine("nothing")
    with pytest.raises(ValueError, match="htp: expected a program that can be run"):
        make_agent("htp:command=nothing,seconds=2")
    env = hex_v0.env(5)
    env.reset()
    with pytest.raises(ValueError, match="refused make_tea: unknown command"):
        engine(setup="make_tea").prepare(env)
    other = gomoku_v0.env(6)
    other.reset()
    with pytest.raises(ValueError, match="expected Hex, got Gomoku"):
        engine().act(other)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda agent: pickle.loads(pickle.dumps(agent))])
def test_a_copy_starts_an_engine_of_its_own(copied):
    assert_a_copy_plays_by_itself(engine(), hex_v0.env(4), copied)


def test_an_engine_in_a_tournament(tmp_path):
    tournament = Tournament(
        "hex", [{"engine": f"htp:command={REFERENCE} resign,seconds=20"}, "random"],
        options=["board_size=5"], pairs=1, opening_plies=0,
    )  # fmt: skip
    table = run_tournament(tournament, tmp_path / "games.jsonl", workers=1)
    assert (table.played, table.failed) == (2, ())
    assert [(game["by"], game["reason"]) for game in table.forfeited] == [
        ("engine", "resigned")
    ] * 2


def test_our_own_engine():
    agent = HTPEngine(shlex.join([*SERVER, "greedy", "--swap"]), seconds=PROMPTLY)
    results = list(play_match(hex_v0.env(4, swap=True), [agent, RandomAgent()], 4))
    agent.close()
    assert [result.forfeit for result in results] == [None] * 4
