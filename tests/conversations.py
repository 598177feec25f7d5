"""What the tests of both protocols share: transcripts, agents, servers as processes, engines."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np

from agents import GomocupEngine, HTPEngine, RandomAgent
from agents.arena import play_game, play_match
from agents.core.agent import Statistics

HERE = Path(__file__).resolve().parent
PROMPTLY = 20.0
"""Seconds in which anything that takes milliseconds has happened on any machine."""
ENGINES = {GomocupEngine: "reference_brain.py", HTPEngine: "reference_htp_engine.py"}
COMMANDS = {
    kind: shlex.join([sys.executable, str(HERE / program)]) for kind, program in ENGINES.items()
}
"""The command lines of the reference engines, by the agent's class."""


def engine(kind, fault="", log="", **options):
    """The reference engine as an agent, with a fault, and a file of the commands that it gets."""
    command = f"{COMMANDS[kind]} {shlex.quote(fault)} {log}".strip()
    return kind(command, **{"seconds": PROMPTLY, **options})


def game_against(env, agent):
    """One game in which the engine begins."""
    env.reset()
    result = play_game(env, [agent, RandomAgent(3)])
    agent.close()
    return result


def match_told(env, kind, log, fault="", games=2, **options):
    """The results of a match of an engine with a random agent, and the lines that it was told."""
    agent = engine(kind, fault, log, **options)
    results = list(play_match(env, [agent, RandomAgent()], games))
    agent.close()
    assert [(result.forfeit, result.illegal) for result in results] == [(None, None)] * games
    return results, log.read_text().splitlines()


class Planned:
    """An agent that plays moves in an order, else the first legal one, and values all the same."""

    statistics = None

    def __init__(self, *moves, value=0.0):
        self.moves, self.value, self.seen = list(moves), value, []

    def reset(self, seed=None):
        pass

    def act(self, env):
        self.seen.append(list(env.actions))
        count = env.game.num_actions()
        self.statistics = Statistics(np.ones(count), np.full(count, self.value), [], 1, 0.0)
        if not self.moves:
            return next(action for action in range(count) if env.is_legal(action))
        move = self.moves.pop(0)
        return env.game.parse_action(move) if isinstance(move, str) else move


class FailingOnce(Planned):
    """An agent that raises an error at its second move."""

    def __init__(self, error):
        super().__init__()
        self.error = error

    def act(self, env):
        if len(self.seen) == 1:
            self.seen.append(None)
            raise self.error
        return super().act(env)


def hold(transcript, answer):
    """Hold a conversation written as ``> asked < answered`` lines; * is anything.

    Further lines of an answer are lines of the transcript; `answer` gives the server's lines.
    """
    answers = []
    for line in re.split(r"\n| (?=<)", transcript):
        side, _, text = line.strip().partition(" ")
        if side == ">":
            assert answers == [], f"said too much before {text}"
            answers = answer(text)
        elif side:
            assert answers, f"said nothing where {text} was expected"
            pattern = re.escape(text).replace(r"\*", ".*")
            assert re.fullmatch(pattern, answers[0].strip()), f"expected {text}, got {answers[0]}"
            answers.pop(0)
    assert answers == []


class Timed(Planned):
    """An agent with a budget in seconds, which keeps the budgets of its moves."""

    seconds = 3.0

    def act(self, env):
        self.budgets = [*getattr(self, "budgets", ()), self.seconds]
        return super().act(env)


def start(command, **options):
    """A server as a process, with pipes to its three streams."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, **pipes, **options)


def say_in_pieces(server, said, size):
    """Send `said` in pieces of `size` bytes; returns the whole output, decoded."""
    for n in range(0, len(said), size):
        server.stdin.write(said[n : n + size])
        server.stdin.flush()
    output, errors = server.communicate(timeout=60)
    assert (server.returncode, b"Traceback" in errors) == (0, False)
    return output.decode()


def assert_exits_without_reader(server, said, answered, more):
    """It exits with status 0 and no message when nobody reads its answers any more."""
    with server:
        server.stdin.write(said)
        server.stdin.flush()
        assert server.stdout.readline() == answered
        server.stdout.close()
        server.stdin.write(more)
        server.stdin.close()
        errors = server.stderr.read()
        assert server.wait(timeout=60) == 0
    assert errors == b""
