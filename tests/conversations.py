"""Conversations with the servers of protocols: written as transcripts, or in a process."""

import re
import subprocess


def hold(transcript, answer):
    """Hold a conversation written as ``> asked`` and ``< answered`` lines; * is anything.

    Args:
        transcript: The lines.
        answer: The server: the lines that it answers to one.
    """
    answers = []
    for line in filter(str.strip, transcript.splitlines()):
        side, _, text = line.strip().partition(" ")
        if side == ">":
            assert answers == [], f"said too much before {text}"
            answers = answer(text)
        else:
            assert answers, f"said nothing where {text} was expected"
            pattern = re.escape(text).replace(r"\*", ".*")
            assert re.fullmatch(pattern, answers[0].strip()), f"expected {text}, got {answers[0]}"
            answers.pop(0)
    assert answers == []


class Timed:
    """Of an agent (a mixin): a budget in seconds, and what it was at each move."""

    seconds = 3.0

    def act(self, env):
        self.__dict__.setdefault("budgets", []).append(self.seconds)
        return super().act(env)


def start(command, **options):
    """A server as a process, with pipes to its three streams."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, **pipes, **options)


def say_in_pieces(server, said, size):
    """Say all of `said`, so many bytes at a time; returns what comes back, decoded."""
    for n in range(0, len(said), size):
        server.stdin.write(said[n : n + size])
        server.stdin.flush()
    output, errors = server.communicate(timeout=60)
    assert (server.returncode, b"Traceback" in errors) == (0, False)
    return output.decode()


def assert_bears_a_gone_reader(server, said, answered, more):
    """It ends with status 0 and without a word where nobody reads its answers any more."""
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


def assert_a_copy_plays_by_itself(agent, env, copied):
    """A copied engine starts a process of its own; both begin a game with action 0."""
    env.reset()
    assert agent.act(env) == 0
    twin = copied(agent)
    assert twin.act(env) == 0
    agent.close()
    env.step(0)
    env.step(1)
    assert twin.act(env) == 2  # the first cell that is empty
    twin.close()
