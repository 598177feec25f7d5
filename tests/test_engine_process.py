"""Outside engines: lines in pieces, time limits, no process left behind, both protocols alike."""

import copy
import gc
import os
import pickle
import shlex
import signal
import subprocess
import sys
import time

import pytest
from conversations import COMMANDS, ENGINES, PROMPTLY, engine, game_against
from processes import is_alive, wait_for

from agents import GomocupEngine, HTPEngine, RandomAgent
from agents.apps.protocols.engine_process import EngineProcess, cut_lines, split_command
from agents.arena import Tournament, play_match, run_tournament
from agents.core.agent import ForfeitError
from agents.registry import make_agent
from hexenv import connect4_v0, gomoku_v0, hex_v0

PYTHON = sys.executable
sees_processes = pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="needs /proc")


def soon():
    return time.monotonic() + PROMPTLY


def script(code):
    return EngineProcess([PYTHON, "-c", code])


def assert_ends(*pids):
    wait_for(lambda: not any(map(is_alive, pids)))


# ---- lines ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
def test_lines_do_not_depend_on_the_pieces_they_come_in(size):
    data = b"OK\r\n10,10\r11,11\n\n= c3\r\n\r\nlast"
    pieces = (data[n : n + size] for n in range(0, len(data), size))
    assert list(cut_lines(pieces)) == ["OK", "10,10", "11,11", "", "= c3", "", "last"]


def test_a_line_that_ends_with_cr_is_there_at_once():
    pieces = iter([b"10,10\r", b"more"])
    assert next(cut_lines(pieces)) == "10,10"
    assert next(pieces) == b"more"


def test_very_long_lines_are_cut_and_strange_bytes_are_no_error():
    lines = cut_lines([b"x" * 1000] * 30 + [b"x\n\xff\xfe\x00\n"])
    assert [len(line) for line in lines] == [10_000, 3]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("", "''"),
        ("'", "No closing quotation"),
        ("no-such-program --fast", "got 'no-such-program'"),
    ],
)
def test_a_wrong_command_is_named(command, message):
    with pytest.raises(ValueError, match=message):
        split_command(command)


# ---- what engines do -----------------------------------------------------------------------------


def test_what_is_sent_comes_back():
    engine = script("while True: print(input()[::-1], flush=True)")
    engine.send("abc", "def")
    assert [engine.read_line(soon()) for _ in range(2)] == ["cba", "fed"]
    engine.close()


def test_silence_ends_the_wait():
    engine = script("import time; time.sleep(1000)")
    with pytest.raises(ForfeitError, match="in time"):
        engine.read_line(time.monotonic() + 0.05)
    engine.close("END")


def test_who_reads_on_after_the_end_does_not_wait():
    engine = script("print('last words')")
    deadline = time.monotonic() + 600
    assert engine.read_line(deadline) == "last words"
    for _ in range(2):
        with pytest.raises(ForfeitError, match="exited"):
            engine.read_line(deadline)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("exit(3)", "the engine exited with status 3"),
        ("raise ValueError('no idea')", "the engine exited with status 1: ValueError: no idea"),
        ("import os; os.kill(os.getpid(), 11)", "the engine was ended by signal 11"),
        ("import os, time; os.close(1); time.sleep(1000)", "the engine closed its output"),
    ],
)
def test_an_end_is_told_as_it_was(code, reason):
    engine = script(code)
    with pytest.raises(ForfeitError) as caught:
        engine.read_line(soon())
    assert caught.value.reason.startswith(reason)
    engine.send("more")  # no error
    engine.close("END")


def test_an_engine_that_does_not_read_does_not_stop_us():
    engine = script("import time; print('ready', flush=True); time.sleep(1000)")
    assert engine.read_line(soon()) == "ready"
    engine.send("x" * 5_000_000)
    engine.close()


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_flood_of_output_stops_neither_side(stream):
    flood = f"import sys\nwhile True: print('x' * 100, file=sys.{stream})"
    engine = script("print('ready', flush=True)\n" + flood)
    assert engine.read_line(soon()) == "ready"
    time.sleep(0.2)
    engine.close()


def read_until(engine, deadline):
    while time.monotonic() < deadline + PROMPTLY:
        engine.read_line(deadline)


def test_many_lines_are_no_answer_for_ever():
    engine = script("while True: print('thinking')")
    deadline = time.monotonic() + 0.2
    with pytest.raises(ForfeitError, match="in time"):
        read_until(engine, deadline)
    assert not engine.has_ended()
    engine.close("END")
    assert engine.has_ended()


def test_one_that_is_told_to_end_has_the_time_to(tmp_path):
    path = tmp_path / "farewell"
    engine = script(f"open({str(path)!r}, 'w').write(input())")
    engine.close("END")
    assert path.read_text() == "END"


# ---- nothing left behind -------------------------------------------------------------------------

WITH_CHILD = """\
import os, subprocess, sys, time
child = subprocess.Popen(["sleep", "1000"])
print(os.getpid(), child.pid, flush=True)
time.sleep(1000)
"""


@sees_processes
def test_what_the_engine_has_started_ends_with_it():
    engine = script(WITH_CHILD)
    pids = list(map(int, engine.read_line(soon()).split()))
    assert all(map(is_alive, pids))
    engine.close("END")
    assert_ends(*pids)


@sees_processes
def test_children_end_when_the_engine_has_crashed():
    engine = script(WITH_CHILD.replace("time.sleep(1000)", "os._exit(1)"))
    _, child = map(int, engine.read_line(soon()).split())
    engine.close()
    assert_ends(child)


@sees_processes
def test_a_forgotten_engine_ends():
    engine = script(WITH_CHILD)
    pids = list(map(int, engine.read_line(soon()).split()))
    del engine
    gc.collect()
    assert_ends(*pids)


OWNER = f"""\
import sys, time
from agents.apps.protocols.engine_process import EngineProcess
engine = EngineProcess([sys.executable, "-c", {WITH_CHILD!r}])
print(engine.read_line(time.monotonic() + {PROMPTLY}), flush=True)
"""


@sees_processes
@pytest.mark.parametrize(
    "ending", ["", "raise ValueError", "import os; os._exit(1)", signal.SIGKILL, signal.SIGTERM]
)
def test_engines_end_with_the_process_that_has_started_them(ending):
    """Whether it ends by itself or is killed."""
    is_killed = isinstance(ending, int)
    code = OWNER + ("time.sleep(1000)" if is_killed else ending)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    with subprocess.Popen([PYTHON, "-c", code], **pipes) as owner:
        pids = list(map(int, owner.stdout.readline().split()))
        if is_killed:
            owner.send_signal(ending)
        owner.wait(60)
    assert len(pids) == 2
    assert_ends(*pids)


# ---- engines of both protocols -------------------------------------------------------------------

ENVIRONMENTS = {GomocupEngine: lambda: gomoku_v0.env(6), HTPEngine: lambda: hex_v0.env(4)}
KINDS = pytest.mark.parametrize("kind", ENGINES)


@pytest.mark.parametrize(
    ("kind", "fault"),
    [
        *((GomocupEngine, fault) for fault in
          ("", "cr", "crlf", "chopped", "suggest", "noise", "old", "small", "extra")),
        *((HTPEngine, fault) for fault in ("", "crlf", "chopped", "timeless")),
    ],
)  # fmt: skip
def test_every_form_of_an_answer_is_read(kind, fault):
    agent = engine(kind, fault)
    results = list(play_match(ENVIRONMENTS[kind](), [agent, RandomAgent()], 2))
    agent.close()
    assert [result.forfeit for result in results] == [None, None]


@pytest.mark.parametrize(
    ("kind", "fault", "reason"),
    [
        (GomocupEngine, "crash", "the engine exited with status 3: a bug of mine"),
        (GomocupEngine, "signal", "the engine was ended by signal 11"),
        (GomocupEngine, "taken", "illegal move 0,0"),
        (GomocupEngine, "outside", "expected coordinates within 6 x 6, got 6,0"),
        (GomocupEngine, "words", "expected coordinates x,y, got 'I resign'"),
        (HTPEngine, "crash", "the engine exited with status 4"),
        (HTPEngine, "taken", "illegal move a1"),
        (HTPEngine, "z99", "expected a move, got 'z99'"),
        (HTPEngine, "nonsense", "expected a move, got 'nonsense'"),
        (HTPEngine, "resign", "resigned"),
        (HTPEngine, "refuse", "refused genmove black: no idea"),
    ],
)
def test_a_breach_of_the_protocol_loses(kind, fault, reason):
    result = game_against(ENVIRONMENTS[kind](), engine(kind, fault))
    assert result.forfeit == reason
    assert (result.outcome, result.forfeited_by, result.illegal) == (-1, 0, None)
    assert (result.moves, len(result.actions)) == ((3, 2), 4)


@pytest.mark.parametrize(
    ("kind", "fault", "moves"),
    [
        (GomocupEngine, "hang", 2),
        (GomocupEngine, "deaf", 2),
        (GomocupEngine, "flood", 2),
        (GomocupEngine, "hopeless", 2),
        (HTPEngine, "hang", 2),
        (HTPEngine, "thinks", 1),  # it thinks while it receives the other side's move
    ],
)
def test_a_late_answer_loses(kind, fault, moves):
    agent, env = engine(kind, fault), ENVIRONMENTS[kind]()
    env.reset()
    for _ in range(moves):
        env.step(agent.act(env))
        env.step(int(env.unwrapped.game.num_actions()) - len(env.unwrapped.actions))
    agent.seconds, agent.tolerance = (2.0 if fault == "hopeless" else 0.05), 0.0
    with pytest.raises(ForfeitError) as caught:
        agent.act(env)
    complaint = ", after 'ERROR no idea'" if fault == "hopeless" else ""
    assert caught.value.reason == f"no move in {agent.seconds:g} s{complaint}"


@KINDS
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda agent: pickle.loads(pickle.dumps(agent))])
def test_a_copy_starts_an_engine_of_its_own(kind, copied):
    agent, env = engine(kind), ENVIRONMENTS[kind]()
    env.reset()
    assert agent.act(env) == 0
    twin = copied(agent)
    assert twin.act(env) == 0
    agent.close()
    env.step(0)
    env.step(1)
    assert twin.act(env) == 2  # the first empty cell
    twin.close()


@KINDS
def test_a_failed_start_is_an_error_and_no_forfeit(kind):
    with pytest.raises(ValueError, match="'nothing'"):
        kind("nothing")
    with pytest.raises(ValueError, match=f"{kind.name}: .*'nothing'"):
        make_agent(f"{kind.name}:command=nothing,seconds=2")
    other = connect4_v0.env()
    other.reset()
    with pytest.raises(ValueError, match="got Connect4"):
        engine(kind).act(other)


@KINDS
@pytest.mark.parametrize("options", [{"seconds": 0}, {"tolerance": -1}])
def test_limits_out_of_range_are_refused(kind, options):
    with pytest.raises(ValueError, match=next(iter(options))):
        engine(kind, **options)


@pytest.mark.parametrize(
    ("kind", "fault", "game"), [(GomocupEngine, "crash", "gomoku"), (HTPEngine, "resign", "hex")]
)
def test_an_engine_in_a_tournament(kind, fault, game, tmp_path):
    text = f"{kind.name}:command={COMMANDS[kind]} {fault},seconds=20"
    tournament = Tournament(
        game, [{"engine": text}, "random"], options=["board_size=6"], pairs=1, opening_plies=0
    )
    table = run_tournament(tournament, tmp_path / "games.jsonl", workers=1)
    assert (table.played, table.failed) == (2, ())
    assert [game["by"] for game in table.forfeited] == ["engine"] * 2
    assert {agent.agent: agent.forfeits for agent in table.agents}["random"] == 0
    assert table.agents[0].agent == "random"


@pytest.mark.parametrize(
    ("kind", "words", "env"),
    [
        (GomocupEngine, "gomocup --agent greedy", gomoku_v0.env(7)),
        (HTPEngine, "htp --agent greedy --swap", hex_v0.env(4, swap=True)),
    ],
)
def test_our_own_server_as_an_engine(kind, words, env):
    command = shlex.join([PYTHON, "-m", "agents.apps.cli", *words.split(), "--seed", "1"])
    agent = kind(command, seconds=PROMPTLY)
    results = list(play_match(env, [agent, RandomAgent()], 4))
    agent.close()
    assert [result.forfeit for result in results] == [None] * 4
