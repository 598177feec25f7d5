"""Workers of pools for the tests: they compute, fail, hang and die."""

import os
import signal
import time
from pathlib import Path

from agents.core.workers import Worker


class Adder(Worker):
    """Adds the shared number to tasks; a text is a way to fail."""

    def __init__(self, folder=""):
        self.folder, self.shared, self.done = folder, 0, 0

    def share(self, value):
        self.shared = value

    def do(self, task, start_clock):
        start_clock()
        self.done += 1
        way, _, name = str(task).partition(" ")
        match way:
            case "die":
                os._exit(1)
            case "crash":
                os.kill(os.getpid(), signal.SIGKILL)
            case "hang":
                time.sleep(1000)
            case "raise":
                raise ValueError(name)
            case "exit":
                raise SystemExit(name)
            case "odd":
                raise OddError(1, 2)
            case "local":
                raise type("LocalError", (Exception,), {})(name)
            case "slow":
                time.sleep(float(name))
            case "once":  # dies when it gets this task for the first time
                marker = Path(self.folder) / name
                if not marker.exists():
                    marker.touch()
                    os._exit(1)
                return name
            case "print":
                print("from a worker")
            case "pid":
                return os.getpid()
            case "done":
                return self.done
        return self.shared + task if isinstance(task, int) else task


class OddError(Exception):
    """Cannot be unpickled."""

    def __init__(self, one, two):
        super().__init__(one)


class Slow(Adder):
    """Prepares for as many seconds as the task says."""

    def do(self, task, start_clock):
        time.sleep(task)


def refused():
    """A worker that cannot be made."""
    raise ValueError("expected another device")


def exits():
    """A worker whose making ends its process."""
    os._exit(3)
