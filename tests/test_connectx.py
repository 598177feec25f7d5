"""ConnectX: a submission runs with NumPy alone, and files of others play."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

from agents import UCT, GreedyAgent, RandomAgent
from agents.apps.cli import main
from agents.apps.protocols.connectx import (
    CONFIGURATION,
    ConnectXAgent,
    ConnectXPlayer,
    Fields,
    write_submission,
)
from agents.arena.match import play_game
from agents.core.agent import ForfeitError
from agents.registry import make_agent
from hexenv import connect4_v0, tictactoe_v0

OTHERS = """
import random

def helper(board):
    return [c for c in range(7) if board[c] == 0]

def my_agent(observation, configuration):
    assert observation.mark in (1, 2) and configuration.inarow == observation["inarow"]
    return random.choice(helper(observation.board))
"""


def board(*rows):
    """Cells row by row from above, of rows at the bottom."""
    text = "." * 7 * (6 - len(rows)) + "".join(rows)
    return [".XO".index(cell) for cell in text]


@pytest.mark.parametrize(
    ("rows", "mark", "column"),
    [
        (["OOO....", "XXX...."], 1, 3),  # wins
        (["OO.....", "XXX...."], 2, 3),  # must not lose
        (["O......", "O......", "O......", "X.XX..X"], 2, 0),
    ],
)
def test_a_player_reads_the_board_from_above(rows, mark, column):
    player = ConnectXPlayer(UCT(simulations=2000, seed=1))
    quick = Fields(CONFIGURATION, actTimeout=0.1)
    assert player(Fields(board=board(*rows), mark=mark, step=0), quick) == column


def test_another_board_is_refused():
    wide = Fields(CONFIGURATION, columns=8)
    with pytest.raises(ValueError, match="expected 6 rows"):
        ConnectXPlayer("greedy")(Fields(board=[0] * 48, mark=1), wide)


def test_files_of_others_play_by_what_they_see(tmp_path):
    file = tmp_path / "other.py"
    file.write_text(OTHERS.replace('observation["inarow"]', "4"))
    agent = make_agent(f"connectx:file={file}")
    env = connect4_v0.env()
    for seed in range(5):
        env.reset(seed=seed)
        result = play_game(env, [agent, RandomAgent(seed=seed)], first=seed % 2)
        assert (result.illegal, result.forfeit) == (None, None)


@pytest.mark.parametrize("channels_first", [False, True])
def test_a_file_sees_the_position_as_kaggle_shows_it(tmp_path, capsys, channels_first, monkeypatch):
    """It imports what is beside it, may leave out arguments, and prints nowhere but to errors."""
    shown = []
    monkeypatch.setitem(sys.modules, "shown_to_submissions", SimpleNamespace(shown=shown))
    file = tmp_path / "other.py"
    file.write_text(
        "from shown_to_submissions import shown\n"
        "def act(observation):\n"
        "    print('thinking')\n"
        "    shown.append(observation)\n"
        "    return 0\n"
    )
    agent = ConnectXAgent(str(file))
    env = connect4_v0.env(channels_first=channels_first)
    env.reset(options={"moves": "4 4 5"})
    agent.act(env)
    assert capsys.readouterr().out == ""
    seen = shown[-1]
    cells = np.array(seen.board).reshape(6, 7)
    assert (cells[5, 3], cells[4, 3], cells[5, 4]) == (1, 2, 1)
    assert (np.count_nonzero(cells), seen.mark, seen.step) == (3, 2, 3)


def test_the_last_callable_plays_also_an_object(tmp_path):
    (tmp_path / "beside.py").write_text("COLUMN = 5\n")
    file = tmp_path / "other.py"
    file.write_text(
        "from __future__ import annotations\n"
        "from dataclasses import dataclass\n"
        "from beside import COLUMN\n"
        "@dataclass\n"
        "class Agent:\n"
        "    column: int\n"
        "    def __call__(self, observation, configuration):\n"
        "        return self.column\n"
        "agent = Agent(COLUMN)\n",
        encoding="utf-8-sig",
    )
    env = connect4_v0.env()
    env.reset()
    assert ConnectXAgent(str(file)).act(env) == 5


def test_what_a_file_may_do_wrong(tmp_path):
    env = connect4_v0.env()
    env.reset()
    failing = tmp_path / "failing.py"
    for text, reason in (
        (OTHERS, "KeyError"),  # there is no such key
        ("def act(o, c): return '3'\n", "TypeError"),
        ("import sys\ndef act(o, c): sys.exit(0)\n", "SystemExit"),
    ):
        failing.write_text(text)
        with pytest.raises(ForfeitError, match=reason):
            ConnectXAgent(str(failing)).act(env)
    empty = tmp_path / "empty.py"
    empty.write_text("import math\n")
    with pytest.raises(ValueError, match="expected a function"):
        ConnectXAgent(str(empty))
    empty.write_text("raise SystemExit(0)\n")
    with pytest.raises(ValueError, match="SystemExit"):
        ConnectXAgent(str(empty))
    empty.write_text("1 / 0\n")
    with pytest.raises(ValueError, match="ZeroDivisionError"):
        ConnectXAgent(str(empty))
    with pytest.raises(FileNotFoundError):
        ConnectXAgent(str(tmp_path / "none.py"))
    other = tictactoe_v0.env()
    other.reset()
    with pytest.raises(ValueError, match="expected Connect4"):
        ConnectXAgent(str(failing)).act(other)


ALONE = """
import sys
sys.path[:0] = [sys.argv[1]]
names = {}
exec(compile(open(sys.argv[2]).read(), "submission", "exec"), names)
act = [one for one in names.values() if callable(one)][-1]
class Fields(dict):
    __getattr__ = dict.__getitem__
configuration = Fields(rows=6, columns=7, inarow=4, actTimeout=0.4, timeout=0.4)
board = [0] * 35 + [1, 1, 1, 0, 2, 2, 0]
print("plays", act(Fields(board=board, mark=2, step=5), configuration))
print("numba" in sys.modules, sys.modules["gymnasium"].__file__)
"""


def test_a_submission_needs_numpy_alone(tmp_path):
    target = tmp_path / "submission.py"
    found = CliRunner().invoke(main, ["export", "connectx", "uct", "--to", str(target)])
    assert found.exit_code == 0, found.output
    alone = tmp_path / "alone"
    alone.mkdir()
    for path in Path(np.__file__).parent.parent.glob("numpy*"):
        (alone / path.name).symlink_to(path)
    command = [sys.executable, "-I", "-S", "-W", "ignore", "-c", ALONE, str(alone), str(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    plays, modules = done.stdout.splitlines()
    assert plays == "plays 3"
    assert modules.startswith("False")
    assert str(tmp_path) not in modules  # it was unpacked somewhere else
    agent = ConnectXAgent(str(target), seconds=0.1)
    env = connect4_v0.env()
    env.reset()
    assert play_game(env, [agent, GreedyAgent(seed=1)]).outcome in (-1, 0, 1)


@pytest.mark.parametrize(
    "agent",
    ["hexpert", "no", "uct:simulations=0", "solver", "connectx:file=/tmp/other.py", "sb3:path=a"],
)
def test_what_cannot_be_submitted(agent, tmp_path):
    with pytest.raises(ValueError, match="expected"):
        write_submission(agent, tmp_path / "submission.py")
    assert not list(tmp_path.iterdir())
