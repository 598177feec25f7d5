"""The process of an outside engine: lines in pieces, limits of time, and nothing left behind."""

import gc
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agents.core.agent import ForfeitError
from agents.protocols.engine_process import EngineProcess, LineCutter, split_command

PYTHON = sys.executable
PROMPTLY = 20.0
"""Seconds within which what takes milliseconds has happened on any machine."""


def soon():
    return time.monotonic() + PROMPTLY


def script(code):
    return EngineProcess([PYTHON, "-c", code])


sees_processes = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="needs to see which processes there are"
)


def is_alive(pid):
    """Whether a process runs, and is not only waiting for somebody to ask how it ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def ends(pid):
    """Whether a process ends, if it is given a little time."""
    deadline = soon()
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not is_alive(pid)


# ---- lines ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
def test_lines_do_not_depend_on_the_pieces_they_come_in(size):
    data = b"OK\r\n10,10\r11,11\n\n= c3\r\n\r\nlast"
    cutter = LineCutter()
    lines = [line for n in range(0, len(data), size) for line in cutter.cut(data[n : n + size])]
    assert lines == ["OK", "10,10", "11,11", "", "= c3", ""]
    assert (cutter.end(), cutter.end()) == (["last"], [])


def test_a_line_that_ends_with_cr_is_there_at_once():
    assert LineCutter().cut(b"10,10\r") == ["10,10"]


def test_very_long_lines_are_cut_and_strange_bytes_are_no_error():
    cutter = LineCutter()
    for _ in range(30):
        assert cutter.cut(b"x" * 1000) == []
    assert [len(line) for line in cutter.cut(b"x\n\xff\xfe\x00\n")] == [10_000, 3]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("", "expected a command to run, got ''"),
        ("'", "No closing quotation"),
        ("no-such-program --fast", "expected a program that can be run, got 'no-such-program'"),
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


def test_silence_is_not_waited_for_longer_than_said():
    engine = script("import time; time.sleep(1000)")
    started = time.monotonic()
    with pytest.raises(ForfeitError, match="no answer in time"):
        engine.read_line(started + 0.05)
    assert time.monotonic() - started < PROMPTLY
    engine.close("END")


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
    engine.send("more")  # to nobody: no error
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
    with pytest.raises(ForfeitError, match="no answer in time"):
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
    assert all(map(ends, pids))


@sees_processes
def test_children_end_when_the_engine_has_crashed():
    engine = script(WITH_CHILD.replace("time.sleep(1000)", "os._exit(1)"))
    _, child = map(int, engine.read_line(soon()).split())
    engine.close()
    assert ends(child)


@sees_processes
def test_a_forgotten_engine_ends():
    engine = script(WITH_CHILD)
    pids = list(map(int, engine.read_line(soon()).split()))
    del engine
    gc.collect()
    assert all(map(ends, pids))


OWNER = f"""\
import sys, time
from agents.protocols.engine_process import EngineProcess
engine = EngineProcess([sys.executable, "-c", {WITH_CHILD!r}])
print(engine.read_line(time.monotonic() + {PROMPTLY}), flush=True)
"""


@sees_processes
@pytest.mark.parametrize("ending", ["", "raise ValueError", "import os; os._exit(1)"])
def test_engines_end_with_the_process_that_has_started_them(ending):
    found = subprocess.run(
        [PYTHON, "-c", OWNER + ending], capture_output=True, text=True, timeout=60, check=False
    )
    pids = list(map(int, found.stdout.split()))
    assert len(pids) == 2
    assert all(map(ends, pids))


@sees_processes
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_engines_end_when_that_process_is_killed(number):
    code = OWNER + "time.sleep(1000)"
    with subprocess.Popen([PYTHON, "-c", code], stdout=subprocess.PIPE, text=True) as owner:
        pids = list(map(int, owner.stdout.readline().split()))
        owner.send_signal(number)
        owner.wait(60)
    assert all(map(ends, pids))
