"""ConnectX, Kaggle's Connect4: agents as files to submit there, and such files as agents here.

A submission is a Python file whose last callable is called with an observation and a configuration
and returns a column. Source: ``kaggle_environments/envs/connectx`` of Kaggle/kaggle-environments.
"""

import base64
import io
import json
import operator
import os
import subprocess
import sys
import tempfile
import textwrap
import zipfile
from collections.abc import Callable, Iterable
from contextlib import redirect_stdout
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Final, cast

from agents.core.agent import Agent, ForfeitError
from agents.core.budget import other_budget
from agents.core.files import write_bytes
from agents.core.reading import read_text
from agents.planning.environment import check_in_play
from agents.registry import make_agent
from hexenv import connect4_v0
from hexenv.common.options import Within, checks_options
from hexenv.games import connect4, notation

SHARE: Final = 0.75
"""Of the time for a move: the rest is for what takes time beside the search."""
USUAL_BOARD: Final = connect4.new()
EMBEDDED: Final = (
    "agents",
    "hexenv",
    "gymnasium",
    "pettingzoo",
    "farama_notifications",
    "cloudpickle",
    "typing_extensions",
)
"""Packages that a submission brings along."""
SUBMISSION: Final = '''"""A submission for ConnectX, made by `hexenv export connectx`.

It needs NumPy. With Numba it searches more, but its first move takes longer: code is compiled.
"""
import base64, io, shutil, sys, tempfile, zipfile
from multiprocessing.util import Finalize  # at the end of a worker process, too

PACKAGES = """
{packages}
"""
folder = tempfile.mkdtemp()
Finalize(None, shutil.rmtree, (folder,), dict(ignore_errors=True), exitpriority=0)
zipfile.ZipFile(io.BytesIO(base64.b64decode(PACKAGES))).extractall(folder)
sys.path.insert(0, folder)

from agents.apps.protocols.connectx import ConnectXPlayer

player = ConnectXPlayer({agent!r})


def act(observation, configuration):
    return player(observation, configuration)
'''
TRACE: Final = """
import json, sys
before = {"numba", *sys.modules}
sys.modules["numba"] = None
sys.path.insert(0, sys.argv[2])
from agents.apps.protocols.connectx import ConnectXPlayer, FIRST
ConnectXPlayer(sys.argv[1])(*FIRST)
new = {name: module for name, module in sys.modules.items() if name not in before}
files = {name: getattr(module, "__file__", None) for name, module in new.items()}
print(json.dumps({name: file for name, file in files.items() if file}))
"""
"""Prints the file of each module that an agent's first move imports, from unpacked packages."""


class Fields(dict[str, Any]):
    """What Kaggle gives: a dictionary whose keys are attributes, too."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


CONFIGURATION: Final = Fields(rows=6, columns=7, inarow=4, actTimeout=2.0, timeout=2.0)
FIRST: Final = (Fields(board=[0] * 42, mark=1, step=0, remainingOverageTime=60.0), CONFIGURATION)
"""The observation and the configuration of a first move."""


class ConnectXPlayer:
    """An agent as the function that Kaggle calls.

    Args:
        agent: Or its text. A search takes its share of the time for a move, whatever its budget.
    """

    def __init__(self, agent: Agent | str) -> None:
        self._agent = make_agent(agent) if isinstance(agent, str) else agent

    def __call__(self, observation: Any, configuration: Any) -> int:
        """The column for a position: ``board`` row by row from above, 0 empty, 1 and 2 players.

        Raises:
            ValueError: If the board is none of 6 x 7 cells with four in a row.
        """
        size = configuration["rows"], configuration["columns"], configuration["inarow"]
        if size != (6, 7, 4):
            raise ValueError(f"expected 6 rows, 7 columns and 4 in a row, got {size}")
        cells = "".join(".XO"[owner] for owner in observation["board"])
        env = connect4_v0.env()
        rows = textwrap.wrap(cells, 7, break_on_hyphens=False)
        env.reset(options={"board": "\n".join(rows), "to_play": observation["mark"] - 1})
        with other_budget(self._agent, None, SHARE * configuration["actTimeout"]):
            return int(self._agent.act(env))


class ConnectXAgent:
    """The agent of a file that was made for ConnectX.

    Its code is run: use no file that you do not trust. An error of it, or an answer that is no
    whole number, loses the game.

    Args:
        file: A Python file; its last callable is the agent.
        seconds: What the agent is told that it has for a move. It is not stopped.

    Raises:
        OSError: If the file cannot be read.
        ValueError: If it fails, or has nothing that can be called.
    """

    name = "connectx"

    @checks_options
    def __init__(self, file: str, seconds: Annotated[float, Within(1e-3, 1e6)] = 2.0) -> None:
        self.seconds = seconds
        self.title = f"connectx:file={file}"
        self._file = file
        self._function = last_callable(file)

    def reset(self, seed: int | None = None) -> None:
        """Nothing: such agents know of no seed and of no game's beginning."""

    def prepare(self, env: Any) -> None:
        """Refuse by a ValueError what is not Connect4 with its usual board."""
        if getattr(env.unwrapped, "game", None) != USUAL_BOARD:
            raise ValueError(f"expected Connect4 with 6 x 7 cells, got {env}")

    def act(self, env: Any) -> int:
        """The answer of the file's agent.

        Raises:
            ForfeitError: If it fails, or gives no whole number.
            ValueError: If the environment is not of Connect4 with its usual board.
        """
        check_in_play(env)
        self.prepare(env)
        game, state = env.unwrapped.game, env.unwrapped.state
        cells = notation.board_text(game, state)
        board = [".XO".index(cell) for cell in cells if cell in ".XO"]
        mark = int(game.to_play(state)) + 1
        observation = Fields(FIRST[0], board=board, mark=mark, step=int(state.ply))
        times = {"actTimeout": self.seconds, "timeout": self.seconds}
        try:
            with redirect_stdout(sys.stderr):
                answer = self._function(observation, Fields(CONFIGURATION, **times))
            return operator.index(answer)
        except (Exception, SystemExit) as error:  # it is code of others
            raise ForfeitError(f"{type(error).__name__}: {' '.join(str(error).split())}") from error

    def __getstate__(self) -> dict[str, Any]:
        return {"file": self._file, "seconds": self.seconds}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)


def last_callable(file: str) -> Callable[..., Any]:
    """Run a file and find the last thing in it that can be called, which Kaggle takes.

    It is given as many arguments as it has, and modules beside the file can be imported.
    """
    text, names = read_text(file), dict[str, Any]()
    sys.path.append(str(Path(file).parent.absolute()))
    try:
        with redirect_stdout(sys.stderr):
            exec(compile(text, file, "exec"), names)
    except (Exception, SystemExit) as error:  # it is code of others
        raise ValueError(f"{file}: {type(error).__name__}: {error}") from error
    finally:
        sys.path.pop()
    found = [one for one in names.values() if callable(one)]
    if not found:
        raise ValueError(f"expected a function in {file}, got none")
    count = getattr(getattr(found[-1], "__code__", None), "co_argcount", 2)
    return lambda *arguments: found[-1](*arguments[:count])


# ---- submissions ---------------------------------------------------------------------------------


def write_submission(agent: str, path: str | os.PathLike[str]) -> int:
    """Write an agent as a file to submit; returns how many bytes it has.

    Raises:
        ValueError: If it cannot play Connect4, or needs more than NumPy.
        OSError: If the file cannot be written.
    """
    from agents.policies.pools import is_plain  # not in a submission, as it needs msgspec

    if not is_plain(agent):
        raise ValueError(
            f"expected the name of an agent that needs no program or file, got {agent}"
        )
    archive = archive_of(EMBEDDED)
    foreign = ", ".join(sorted(installed_packages(agent, archive) - {"numpy"}))
    if foreign:
        raise ValueError(f"expected an agent that needs NumPy alone, got one with {foreign}")
    packed = base64.b64encode(archive).decode()
    text = SUBMISSION.format(agent=agent, packages="\n".join(textwrap.wrap(packed, 100)))
    write_bytes(path, text.encode())
    return len(text)


def installed_packages(agent: str, archive: bytes) -> set[str]:
    """The packages that an agent of the archive imports besides for a move, without Numba.

    A process of its own plays that move, from the unpacked archive.
    """
    with tempfile.TemporaryDirectory() as folder:
        zipfile.ZipFile(io.BytesIO(archive)).extractall(folder)
        command = [sys.executable, "-c", TRACE, agent, folder]
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
    if done.returncode != 0:
        reason = done.stderr.strip().splitlines()[-1:] or [f"exit status {done.returncode}"]
        raise ValueError(
            f"expected an agent that plays Connect4 without files of data, got {agent}: {reason[0]}"
        )
    files: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return {name.partition(".")[0] for name, file in files.items() if "-packages" in file}


def archive_of(packages: Iterable[str]) -> bytes:
    """A zip archive of the Python files of packages, and of their licences."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for package in packages:
            origin = Path(cast("str", cast("Any", find_spec(package)).origin))
            root = origin.parent.parent if origin.name == "__init__.py" else origin.parent
            whole = sorted(origin.parent.rglob("*.py")) if root != origin.parent else [origin]
            for file in whole:  # all, as PettingZoo reads the files of its games
                archive.write(file, file.relative_to(root))
            for file, text in licences(package):
                archive.writestr(f"licences/{package}/{file}", text)
    return written.getvalue()


def licences(package: str) -> list[tuple[str, str]]:
    """The licence files of an installed package."""
    try:
        found = distribution(package.replace("_", "-")).files or []
    except PackageNotFoundError:
        return []
    named = [file for file in found if "licen" in file.name.lower() and file.suffix != ".py"]
    return [(file.name, file.read_text()) for file in named]
