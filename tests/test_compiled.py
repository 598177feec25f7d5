"""Of the machine code, its cache on disk, and the classes that compile.

What the cache does shows from one process to the next, so most of these tests run small programs in
processes of their own, with a copy of the packages that they may edit.
"""

import inspect
import io
import itertools
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from pathlib import Path
from shutil import copytree, ignore_patterns, rmtree
from typing import NamedTuple

import numpy as np
import pytest

from agents import UCT
from agents.mcts.tree_search import TreeSearchAgent
from agents.search.mcts import compiled_search
from agents.search.reward import WinLoss
from agents.search.selection import UCB1
from agents.search.simulation import part
from agents.search.variant import Variant
from hexenv import compiled as compiled_module
from hexenv import tictactoe_v0
from hexenv.compiled import (
    COMPILE_ERRORS,
    CompiledFunction,
    RandomStream,
    compiled,
    compiling,
    copy_record,
    interpreted,
    is_compiled,
    kernel,
)
from hexenv.compiled.callees import CLASSES
from hexenv.compiled.numba_parts import event as numba_event
from hexenv.compiled.numba_parts import numba
from hexenv.games import base, connect4, gomoku, hex, tictactoe

pytestmark = [pytest.mark.compiled, pytest.mark.sample]
needs_compiler = pytest.mark.compiled(only=True)


# ---- processes -----------------------------------------------------------------------------------


WAITING = "hexenv: waiting for another process to compile "
DAMAGED = "hexenv: damaged machine code "
KNOWN_LINES = ("hexenv: compiling ", WAITING, DAMAGED, "hexenv: machine code cannot be kept ")


class Output(NamedTuple):
    """What a program printed, and what the package announced meanwhile."""

    text: str
    announcements: list[str]


class Place:
    """A directory with a copy of the packages, a home, and programs that run in it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.user_cache = path / "user" / "cache"
        self.beside = path / "hexenv" / "__pycache__" / "compiled"
        source = Path(compiled_module.__file__).parents[2]
        for package in ("hexenv", "agents"):
            copytree(source / package, path / package, ignore=ignore_patterns("__pycache__"))
            # A program imports only what it names, and no SciPy, which saves half of its time.
            (path / package / "__init__.py").write_text("")
        (path / "scipy.py").write_text("raise ImportError('numba does without')")

    def block(self, directory: Path) -> None:
        """Make a directory that cannot be written to, also by root."""
        directory.parent.mkdir(exist_ok=True)
        directory.write_text("in the way")

    def write(self, name: str, text: str) -> None:
        (self.path / name).parent.mkdir(exist_ok=True)
        (self.path / name).write_text(text)

    def edit(self, name: str, old: str, new: str) -> None:
        text = (self.path / name).read_text()
        assert text.count(old) == 1
        self.write(name, text.replace(old, new))

    def start(self, program: str, **variables: str) -> subprocess.Popen[str]:
        """Start a program: a script's name, or a text."""
        ours = ("NUMBA_", "PYTHON", "XDG_")
        environment = {n: value for n, value in os.environ.items() if not n.startswith(ours)}
        environment |= {
            "HOME": str(self.path / "user"),
            "XDG_CACHE_HOME": str(self.user_cache),
            "LOCALAPPDATA": str(self.user_cache),
            "PYTHONPATH": str(self.path),
            "PYTHONDONTWRITEBYTECODE": "1",  # an edit within a second may be missed otherwise
            "PYTHONWARNINGS": "error",
        }
        return subprocess.Popen(
            [sys.executable, *([program] if program.endswith(".py") else ["-c", program])],
            cwd=self.path,
            env=environment | variables,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, program: str, **variables: str) -> Output:
        return finish(self.start(program, **variables))

    def directories(self) -> list[Path]:
        """Those of functions, in the cache beside the package."""
        return [path for path in self.beside.iterdir() if path.is_dir()]

    def cache(self) -> dict[Path, tuple[int, bytes]]:
        """Every file of the compiler's, wherever it is, with its time and content."""
        files = [*self.path.rglob("*.nbi"), *self.path.rglob("*.nbc")]
        return {file: (file.stat().st_mtime_ns, file.read_bytes()) for file in files}


def finish(process: subprocess.Popen[str]) -> Output:
    stdout, stderr = process.communicate(timeout=300)
    assert process.returncode == 0, stderr
    announcements = stderr.splitlines()
    assert all(line.startswith(KNOWN_LINES) for line in announcements), stderr
    return Output(stdout.strip(), announcements)


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


COUNT_PATHS = """
from hexenv import testing
from hexenv.games import tictactoe
print(testing.perft(tictactoe.new(), 6))
"""
"""A function and a class of the package."""

SUMS = """
from hexenv.compiled import CompiledFunction
def add_up(rule, count):
    total = 0
    for number in range(count):
        total += rule.weigh(number)
    return total
compiled_add_up = CompiledFunction(add_up)
"""
RULE = """
from typing import NamedTuple
from hexenv.compiled import compiled
@compiled
class Rule(NamedTuple):
    offset: int = 0
    def weigh(self, number):
        return 10 * number + self.offset
"""
ADD_UP = """
from rules import Rule
from sums import compiled_add_up
print(compiled_add_up(Rule(), 4))
"""
"""A function and a class from elsewhere: prints 60."""
ONCE = "hexenv: compiling add_up"
ALWAYS = "hexenv: compiling add_up (in every process)"


@pytest.fixture
def sums(place):
    place.write("sums.py", SUMS)
    place.write("rules.py", RULE)
    return place


# ---- what is kept --------------------------------------------------------------------------------


@needs_compiler
def test_later_processes_load_what_the_first_compiled_until_a_rule_is_edited(place):
    first = place.run(COUNT_PATHS)
    kept = place.cache()
    assert first == ("54720", ["hexenv: compiling perft for tictactoe"])
    assert kept
    assert all(file.is_relative_to(place.beside) for file in kept)
    assert place.run(COUNT_PATHS) == ("54720", [])
    assert place.cache() == kept
    place.edit("hexenv/games/tictactoe.py", ", (2, 4, 6),", ",")
    again = place.run(COUNT_PATHS)
    assert again.text == "55440"
    assert re.fullmatch(
        r"hexenv: compiling perft for tictactoe, about \d+ s", again.announcements[0]
    )
    assert len(place.cache()) == len(kept)
    assert not set(place.cache()) & set(kept)
    assert len(place.directories()) == 1


SEARCH = """
import numpy as np
import hexenv.render.ansi
from agents.search import mcts, playout, reward, selection, tree, variant as variants
from hexenv.games import base, tictactoe
game = tictactoe.new()
variant = variants.Variant(selection.UCB1(1.0), playout.Uniform(), reward.WinLoss())
root, state, nodes = base.new_state(game), base.new_state(game), tree.new_tree(5000)
simulation = variants.simulation_for(variant, game)
rng = np.random.default_rng(1)
mcts.compiled_search(game, root, state, nodes, variant, simulation, 500, rng)
print(nodes.visits[1:10].tolist())
"""


@pytest.mark.slow
@needs_compiler
def test_an_edited_kernel_of_a_search_is_compiled_anew_and_nothing_else_is(place):
    before = place.run(SEARCH)
    assert before.announcements == ["hexenv: compiling search for tictactoe"]
    for module in ("hexenv/render/ansi.py", "hexenv/envs/aec.py", "agents/mcts/uct.py"):
        with (place.path / module).open("a") as file:
            file.write("\nEDITED = True\n")
    assert place.run(SEARCH) == (before.text, [])
    with (place.path / "agents/search/selection.py").open("a") as file:
        file.write("\nUCB1.score = lambda self, tree, child, prepared: -float(child)\n")
    after = place.run(SEARCH)
    assert len(after.announcements) == 1
    assert after.text != before.text
    assert len(place.directories()) == 1


# ---- where it is kept ----------------------------------------------------------------------------


@needs_compiler
def test_an_install_that_is_not_writable_keeps_it_in_the_cache_of_the_user(sums):
    sums.block(sums.beside)
    assert len(sums.run(ADD_UP).announcements) == 1
    kept = sums.cache()
    assert kept
    assert all(file.is_relative_to(sums.path / "user") for file in kept)
    assert sums.run(ADD_UP) == ("60", [])
    assert sums.cache() == kept


def within_a_function(text, name):
    body = text.replace("\n", "\n    ")
    return f"def make():\n    {body}\n    return {name}\n{name} = make()\n"


@pytest.mark.slow
@needs_compiler
def test_a_function_with_a_variable_of_another_is_not_kept(sums):
    sums.write(
        "sums.py",
        "from hexenv.compiled import CompiledFunction\n"
        "def make(factor):\n"
        "    def add_up(rule, count): return factor * rule.weigh(count)\n"
        "    return CompiledFunction(add_up)\n"
        "compiled_add_up = make(3)\n",
    )
    assert sums.run(ADD_UP).text == "120"
    assert not sums.cache()


NOT_KEPT = {
    "a class of a script": ({"run.py": RULE + ADD_UP.replace("from rules import Rule\n", "")}, {}),
    "a class within a function": ({"rules.py": within_a_function(RULE, "Rule")}, {}),
    "a function within a function": ({"sums.py": within_a_function(SUMS, "compiled_add_up")}, {}),
    "where nothing is writable": (
        {"hexenv/__pycache__/compiled": "in the way", "user": "in the way"},
        {"XDG_CACHE_HOME": "~nobody-of-this-name/cache"},
    ),
}


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize(("files", "variables"), NOT_KEPT.values(), ids=NOT_KEPT)
def test_code_is_not_kept_where_an_edit_would_not_be_seen(sums, files, variables):
    for name, text in files.items():
        sums.write(name, text)
    for _ in range(2):
        program = "run.py" if "run.py" in files else ADD_UP
        assert sums.run(program, **variables) == ("60", [ALWAYS])
        assert not sums.cache()


@pytest.mark.slow
@needs_compiler
def test_code_is_not_kept_where_an_edit_would_not_change_its_place(sums):
    sums.run(ADD_UP)
    (directory,) = sums.directories()
    rmtree(directory)
    directory.write_text("numba looks for another place, beside the function")
    assert sums.run(ADD_UP) == ("60", [ALWAYS])
    assert not sums.cache()


@needs_compiler
def test_an_edit_that_keeps_the_time_and_the_size_of_a_file_is_seen(sums):
    """As in CI, where the code is kept outside the checkout."""
    assert sums.run(ADD_UP, NUMBA_CACHE_DIR="kept").text == "60"
    kept = sums.cache()
    assert kept
    assert all(file.is_relative_to(sums.path / "kept") for file in kept)
    assert not sums.beside.exists()
    assert sums.run(ADD_UP, NUMBA_CACHE_DIR="kept") == ("60", [])
    file = sums.path / "rules.py"
    before = file.stat()
    sums.edit("rules.py", "10 * number", "20 * number")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file.stat().st_size == before.st_size
    after = sums.run(ADD_UP, NUMBA_CACHE_DIR="kept")
    assert (after.text, len(after.announcements)) == ("120", 1)


@pytest.mark.slow
@needs_compiler
def test_functions_of_the_user_keep_their_own_place_and_are_not_announced(sums):
    sums.write("own/theirs.py", "import numba\n@numba.njit(cache=True)\ndef two(): return 2\n")
    program = ADD_UP + "import numba, own.theirs\nprint(own.theirs.two(), [numba.config.CACHE_DIR])"
    assert sums.run(program) == ("60\n2 ['']", [ONCE])
    kept = sums.cache()
    own = {file.parent for file in kept if file.name.startswith("theirs.two")}
    assert own == {sums.path / "own" / "__pycache__"}
    assert sums.run(program) == ("60\n2 ['']", [])
    assert sums.cache() == kept


DAMAGE = {
    "cut": lambda whole: whole[:40],
    "zeros": lambda whole: whole[: len(whole) // 2] + bytes(64) + whole[len(whole) // 2 + 64 :],
    "garbage": lambda whole: b"garbage" * 100,
}


@needs_compiler
@pytest.mark.parametrize(
    ("kind", "damage"),
    [
        ("nbi", "cut"),
        ("nbc", "zeros"),
        *(
            pytest.param(*each, marks=pytest.mark.slow)
            for each in itertools.product(("nbi", "nbc"), DAMAGE)
            if each not in (("nbi", "cut"), ("nbc", "zeros"))
        ),
    ],
)
def test_a_damaged_file_is_told_and_mended_once(sums, kind, damage):
    sums.run(ADD_UP)
    (file,) = sums.beside.rglob(f"*.{kind}")
    file.write_bytes(DAMAGE[damage](file.read_bytes()))
    text, (told, compiles) = sums.run(ADD_UP)
    assert text == "60"
    assert told.startswith(DAMAGED)
    assert str(file) in told
    assert compiles.startswith(ONCE)
    assert len(sums.cache()) == 2
    assert sums.run(ADD_UP) == ("60", [])


@pytest.mark.slow
@needs_compiler
def test_a_full_disk_is_no_error(sums):
    program = """
from numba.core.caching import IndexDataCacheFile
def save(*_): raise OSError("no space left")
IndexDataCacheFile.save = save
"""
    text, (compiles, told) = sums.run(program + ADD_UP)
    assert (text, compiles) == ("60", ONCE)
    assert "no space left" in told
    assert not sums.cache()


@needs_compiler
def test_code_without_bounds_checks_is_not_loaded_where_they_are_asked_for(place):
    place.write(
        "reading.py",
        "import sys\n"
        "import numpy as np\n"
        "from hexenv.compiled import CompiledFunction\n"
        "def read(numbers, place): return numbers[place]\n"
        "compiled_read = CompiledFunction(read)\n",
    )
    program = "from reading import *\ntry: print(compiled_read(np.arange(5), {}))\n"
    program += "except IndexError: print('no such place')"
    assert place.run(program.format(4)).text == "4"
    assert len(kept := place.cache()) == 2
    checked = place.run(program.format(5), NUMBA_BOUNDSCHECK="1")
    assert checked.text == "no such place"
    assert checked.announcements == ["hexenv: compiling read"]
    assert place.run(program.format(4)) == ("4", [])
    assert kept.keys() <= place.cache().keys()


# ---- games and strategies from elsewhere ---------------------------------------------------------


CORNERS = """
from hexenv.compiled import compiled
from hexenv.games.tictactoe import TicTacToe
STEP = 2
@compiled
class Corners(TicTacToe):
    def legal_actions(self, state, out):
        count = 0
        for cell in range(0, 9, STEP):
            if self.owner(state, cell) < 0:
                out[count] = cell
                count += 1
        return count
"""
COUNT_CORNERS = """
from hexenv import testing
from mygame import Corners
print(testing.perft(Corners(), 3))
"""


@pytest.mark.slow
@needs_compiler
def test_a_game_from_elsewhere_may_change_and_go(place):
    place.write("mygame.py", CORNERS)
    place.write("other.py", CORNERS.replace("STEP = 2", "STEP = 3"))
    both = COUNT_CORNERS.replace("mygame", "other") + COUNT_PATHS
    assert place.run(COUNT_CORNERS).text == "60"
    kept = place.cache()
    place.edit("mygame.py", "STEP = 2", "STEP = 1")
    after = place.run(COUNT_CORNERS)
    assert (after.text, len(after.announcements)) == ("504", 1)
    assert len(place.cache()) == len(kept)
    place.run(both)
    assert len(place.cache()) == 3 * len(kept)
    (place.path / "mygame.py").unlink()
    assert place.run(both) == ("6\n54720", [])


@pytest.mark.slow
@needs_compiler
def test_modules_of_one_name_in_two_places(sums):
    sums.write("one/rules.py", RULE)
    sums.write("two/rules.py", RULE.replace("10 * number", "20 * number"))
    paths = {
        name: os.pathsep.join([str(sums.path / name), str(sums.path)]) for name in ("one", "two")
    }
    sums.write("add_up.py", ADD_UP)
    (sums.path / "rules.py").unlink()
    for expected, announced in (("60", 1), ("60", 0)):
        one = sums.run("add_up.py", PYTHONPATH=paths["one"])
        two = sums.run("add_up.py", PYTHONPATH=paths["two"])
        assert (one.text, len(one.announcements)) == (expected, announced)
        assert (two.text, len(two.announcements)) == (str(2 * int(expected)), announced)


PATCHED = """
import rules
from sums import compiled_add_up
rules.Rule.factor = {factor}
print(compiled_add_up(rules.Rule(), 4))
"""


@needs_compiler
def test_a_constant_that_a_program_sets_is_not_kept_for_others(sums):
    sums.edit("rules.py", "offset: int = 0", "offset: int = 0\n    factor = 10")
    sums.edit("rules.py", "10 * number", "self.factor * number")
    assert sums.run(PATCHED.format(factor=20)).text == "120"
    assert sums.run(ADD_UP).text == "60"


IMPORTS = {
    "from mine.a import weight as a": "a(number)",
    "from .b import *": "weigh_b(number)",
    "from . import c as d": "d.weight(number)",
    "import mine.e.f": "mine.e.f.weight(number)",
    "try:\n    from .g import NUMBER\nexcept ImportError:\n    import sys": "NUMBER",
}
"""Ways to import a helper module, and to use it."""


@needs_compiler
def test_an_edit_of_what_a_game_imports_is_seen(sums):
    helper = "from hexenv.compiled import kernel\n@kernel\ndef weight(number): return 1\n"
    sums.write("mine/__init__.py", "")
    sums.write("mine/a.py", helper)
    sums.write("mine/b.py", "from .e.h import weight as weigh_b\n")
    sums.write("mine/c.py", helper)
    sums.write("mine/e/__init__.py", "")
    sums.write("mine/e/f.py", helper)
    sums.write("mine/e/h.py", "from ..i import ONE\n" + helper.replace("1", "ONE"))
    latin = "# coding: latin-1\nNUMBER = 1  # \xe9\n".encode("latin-1")
    (sums.path / "mine" / "g.py").write_bytes(latin)
    sums.write("mine/i.py", "ONE = 1\n")
    weights = " + ".join(IMPORTS.values())
    sums.write("mine/rules.py", "\n".join(IMPORTS) + RULE.replace("10 * number", weights))
    program = ADD_UP.replace("rules", "mine.rules") + (
        "from hexenv.compiled.cache import _sources\n"
        "print(*[text.split()[0] for text in _sources(['mine.rules'])])"
    )
    ours = (
        "hexenv.compiled hexenv.compiled.cache hexenv.compiled.callees hexenv.compiled.numba_parts"
    )
    followed = f"{ours} mine mine.a mine.b mine.c mine.e mine.e.f mine.e.h mine.g mine.i mine.rules"
    assert sums.run(program).text == f"20\n{followed}"
    sums.write("mine/i.py", "ONE = 11\n")
    assert sums.run(program).text == f"60\n{followed}"


@pytest.mark.slow
@needs_compiler
def test_what_else_a_process_has_loaded_does_not_matter(sums):
    sums.write("mine.py", "import hexenv\n")
    ask = "import mine\nfrom hexenv.compiled.cache import _sources\nprint(_sources(['mine']))"
    others = "", "from hexenv import connect4_v0, hex_v0\n"
    assert len({sums.run(other + ask).text for other in others}) == 1


@pytest.mark.slow
@needs_compiler
def test_an_edit_of_the_installed_package_is_seen_by_a_game_from_elsewhere(tmp_path):
    place = Place(tmp_path / "site-packages")
    place.write("sums.py", SUMS)
    rule = "from hexenv.games.base import DRAW" + RULE.replace("self.offset", "DRAW")
    place.write("rules.py", rule)
    assert place.run(ADD_UP).text == "68"
    place.edit("hexenv/games/contract.py", "DRAW: Final = 2", "DRAW: Final = 12")
    assert place.run(ADD_UP).text == "108"


@pytest.mark.slow
@needs_compiler
def test_a_module_that_only_some_programs_load_does_not_matter(sums):
    names = ("typed", "drawn", "painted", "carved")
    for name in names:
        sums.write(f"{name}.py", "")
    sums.edit(
        "rules.py",
        "from typing import NamedTuple\n",
        "from typing import TYPE_CHECKING, NamedTuple\n"
        "if TYPE_CHECKING:\n    import typed\n"
        "try:\n    from . import drawn\nexcept ImportError:\n    pass\n"
        "def show():\n    import drawn, painted as brush\n    from carved import knife\n",
    )
    assert len(sums.run(ADD_UP).announcements) == 1
    assert sums.run(f"import {', '.join(names)}\n{ADD_UP}") == ("60", [])


@pytest.mark.slow
@needs_compiler
def test_rules_within_tuples_and_within_rules(sums):
    sums.write("weights.py", RULE.replace("Rule", "Weight"))
    sums.edit("rules.py", "offset: int = 0", "weight: object")
    sums.edit("rules.py", "10 * number + self.offset", "self.weight[0].weigh(number)")
    sums.write("sums.py", SUMS.replace("rule.weigh(number)", "rule[0].weigh(number)"))
    program = "from weights import Weight" + ADD_UP.replace("Rule()", "(Rule((Weight(),)), 0)")
    assert sums.run(program).text == "60"
    sums.edit("weights.py", "10 * number", "20 * number")
    assert sums.run(program).text == "120"


@needs_compiler
def test_a_body_that_does_not_compile_is_the_users_error(sums):
    sums.edit("rules.py", "10 * number", "number.upper()")
    program = "import numba\ntry:" + ADD_UP.replace("\n", "\n    ")
    program += "\nexcept numba.TypingError as error: print('upper' in str(error))"
    assert sums.run(program).text == "True"


@needs_compiler
def test_code_that_was_loaded_before_an_edit_is_not_kept_as_the_new(sums):
    program = f"""
import pathlib, time
import rules
time.sleep(0.1)
pathlib.Path("rules.py").write_text({RULE.replace("10 *", "20 *")!r})
time.sleep(0.1)
{ADD_UP}
"""
    assert sums.run(program).text == "60"
    assert not sums.cache()
    assert sums.run(ADD_UP).text == "120"


# ---- at the same time ----------------------------------------------------------------------------


@needs_compiler
def test_two_threads_compile_once(sums):
    program = """
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from rules import Rule
from sums import compiled_add_up
barrier = Barrier(2)
def work(_):
    barrier.wait()
    return compiled_add_up.specialise(Rule(), 4)(Rule(), 4)
with ThreadPoolExecutor(2) as pool:
    print(list(pool.map(work, range(2))))
"""
    assert sums.run(program) == ("[60, 60]", [ONCE])


@pytest.mark.slow
@needs_compiler
def test_two_processes_begin_at_once(sums):
    processes = [sums.start(ADD_UP) for _ in range(2)]
    assert [finish(process).text for process in processes] == ["60", "60"]
    assert sums.run(ADD_UP) == ("60", [])
    sums.edit("rules.py", "10 * number", "20 * number")
    processes = [sums.start(ADD_UP) for _ in range(2)]
    assert [finish(process).text for process in processes] == ["120", "120"]
    assert len(sums.directories()) == 1


STOPS = """
import sys, time
from numba.core import event
class Stop(event.Listener):
    def on_start(self, event):
        if event.data["dispatcher"].py_func.__name__ == "add_up":
            print("compiling", flush=True)
            sys.stdin.readline()
    def on_end(self, event):
        pass
event.register("numba:compile", Stop())
"""
"""What lets a process wait for its input when it begins to compile."""


@needs_compiler
@pytest.mark.parametrize("is_killed", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_who_needs_what_another_process_compiles_waits_and_is_not_blocked_by_its_end(
    sums, is_killed
):
    first = sums.start(STOPS + ADD_UP)
    assert first.stdout.readline() == "compiling\n"
    second = sums.start(ADD_UP)
    waiting = second.stderr.readline()
    assert waiting == f"{WAITING}add_up\n"
    assert not sums.cache()
    if is_killed:
        first.kill()
        first.communicate()
        assert finish(second) == ("60", [ONCE])
    else:
        assert first.communicate("go on\n")[0] == "60\n"
        assert finish(second) == ("60", [])
    assert sums.run(ADD_UP) == ("60", [])


@pytest.mark.slow
@needs_compiler
def test_where_files_cannot_be_locked_nobody_waits(sums):
    program = """
import errno, fcntl
def flock(*_): raise OSError(errno.ENOLCK, "no locks here")
fcntl.flock = flock
"""
    if sys.platform == "win32":
        program = program.replace("fcntl.flock", "msvcrt.locking").replace("fcntl", "msvcrt")
    first = sums.start(program + STOPS + ADD_UP)
    assert first.stdout.readline() == "compiling\n"
    assert sums.run(program + ADD_UP) == ("60", [ONCE])
    assert first.communicate("go on\n")[0] == "60\n"
    assert sums.run(ADD_UP) == ("60", [])


# ---- what a person sees --------------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("expected", [None, 7.4])
def test_a_terminal_shows_a_clock_and_keeps_no_trace_of_it(monkeypatch, expected):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(sys, "__stderr__", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(compiling, "SPIN_SECONDS", 0.001)
    with compiling.shown("compiling x for y", expected):
        while terminal.getvalue().count("compiling x for y") < 3:
            pass
    *pictures, blank, end = terminal.getvalue().split("\r")[1:]
    assert all("hexenv: compiling x for y: 0" in picture for picture in pictures)
    assert all((" of about 7 s" in picture) == (expected is not None) for picture in pictures)
    assert blank == " " * max(map(len, pictures))
    assert end == ""
    assert len(set(pictures)) > 1


@pytest.mark.parametrize("is_own", [True, False])
def test_elsewhere_there_is_one_plain_line(monkeypatch, is_own):
    """Not on a terminal, or on one that a program draws on and catches what is printed."""
    caught = io.StringIO() if is_own else Terminal()
    monkeypatch.setattr(sys, "stderr", caught)
    if is_own:
        monkeypatch.setattr(sys, "__stderr__", caught)
    monkeypatch.setattr(compiling, "_told", "")
    for line in ("compiling x", "compiling x", "compiling y"):
        with compiling.shown(line):
            pass
    assert caught.getvalue() == "hexenv: compiling x\nhexenv: compiling y\n"


class Asked:
    name = "an agent"

    def __init__(self, inner=None):
        self.inner = inner

    @compiled_module.announced
    def act(self, env):
        if self.inner is not None:
            return self.inner.act(None)
        return compiled_module._words("search", (env,))


class WithoutName(Asked):
    name = None


def test_the_words_are_those_of_who_asks_first():
    env = tictactoe_v0.env()
    assert Asked().act(env) == "an agent for tictactoe"
    assert WithoutName(Asked()).act(env) == "WithoutName for tictactoe"
    assert Asked().act(None) == "an agent"
    assert compiled_module._words("search", (env.unwrapped.game,)) == "search for tictactoe"
    assert compiled_module._words("search", (1,)) == "search"


# ---- compiled classes ----------------------------------------------------------------------------


@pytest.mark.parametrize("cls", [str, NamedTuple("Nothing", [])])
def test_classes_without_fields_are_refused(cls):
    with pytest.raises(
        TypeError, match=f"NamedTuple class with at least one field, got {cls.__name__}"
    ):
        compiled(cls)
    assert cls not in CLASSES


@compiled
class Square(NamedTuple):
    """Names of another class's fields, methods and constants, each used otherwise."""

    side: int
    step: float = 0.5

    POINTS = (1, 2, 4)
    TABLE = np.array([[1, 2], [3, 4]])
    name = "square"
    height = property(lambda self: self.side)

    def size(self) -> int:
        return self.side * self._side_of(self.POINTS[0])

    def count(self, value: int = 1, scale: int = 10) -> float:
        return value * scale + self.step

    def _side_of(self, number: int) -> int:
        return number * self.height

    @property
    def area(self) -> int:
        return self.size()


@compiled
class Circle(NamedTuple):
    size: float
    area: float
    _asked = 3

    def step(self, size: float) -> float:
        return self.size + size + self._asked

    def side(self, a: int, b: int, c: int = 7) -> int:
        return a + 10 * b + 100 * c

    def count(self) -> int:
        return 5


def use_names(square, circle, pair):
    of_square = (square.side, square.step, square.size(), square.area, square.height)
    constants = (square.TABLE[1, 0], square.POINTS[2])
    counts = (square.count(), square.count(2), square.count(value=3, scale=4), circle.count())
    of_circle = (circle.size, circle.area, circle.step(0.25), circle.side(1, c=2, b=3))
    return of_square, constants, counts, of_circle, (pair.size, pair.index(2))


class Pair(NamedTuple):
    size: int
    side: int


@needs_compiler
def test_names_belong_to_their_classes():
    values = Square(3), Circle(1.5, 2.5), Pair(1, 2)
    assert CompiledFunction(use_names)(*values) == use_names(*values)
    alike = compiled(NamedTuple("Square", [("side", int), ("step", float)]))  # of the same name
    alike.size = lambda self: 77
    compiled(alike)
    both = CompiledFunction(lambda one, other: (one.size(), other.size()))
    assert both(Square(3), alike(3, 0.5)) == (9, 77)


class Doubled:
    """A mixin."""

    FACTOR = 2

    def doubled(self):
        return self.FACTOR * self.area


@compiled
class LargeSquare(Doubled, Square):
    """Names of base classes, and one of them anew."""

    POINTS = (5, 6, 7)


@needs_compiler
def test_names_of_base_classes_are_found():
    square = LargeSquare(3)
    both = CompiledFunction(lambda square: (square.doubled(), square.TABLE[1, 0], square.step))
    assert both(square) == (90, 3, 0.5)


@needs_compiler
def test_what_a_class_is_given_before_its_first_use_is_used():
    cls = compiled(NamedTuple("Later", [("number", int)]))
    cls.FACTOR = 2
    cls.twice = lambda self: self.FACTOR * self.number
    assert CompiledFunction(lambda value: value.twice())(cls(4)) == 8


@needs_compiler
@pytest.mark.parametrize("name", ["is_absent", "_replace"])
def test_what_a_class_lacks_is_refused(name):
    function = CompiledFunction(eval(f"lambda value: value.{name}()"))
    with pytest.raises(COMPILE_ERRORS, match=name):
        function(Square(3))
    function = CompiledFunction(lambda value: value.size())
    with pytest.raises(COMPILE_ERRORS, match="size"):
        function(Pair(1, 2)._replace(size=Inner()))


class Inner(NamedTuple):
    number: int = 2


@compiled
class Outer(NamedTuple):
    part: object


def test_is_compiled():
    game = tictactoe.new()
    for value in (game, Outer(1), Outer((game, 1))):
        assert is_compiled(value)
    for value in (Outer(Inner()), Outer((1, Inner())), Inner(), (1, 2), None, type(game)):
        assert not is_compiled(value)


def test_a_function_fits_what_it_is_given():
    function = CompiledFunction(copy_the_second)
    assert function.fitting(tictactoe.new()) is function
    assert function.fitting(tictactoe.new(), compiles=False) is copy_the_second
    assert function.fitting(Inner()) is copy_the_second


@needs_compiler
def test_fields_of_other_named_tuples_stay_fields():
    class Settings(NamedTuple):
        step: float
        copy: int

    @numba.njit
    def multiply(settings):
        return settings.step * settings.copy

    assert multiply(Settings(0.5, 3)) == 1.5


def name_of(value):
    return type(value).__name__


@pytest.mark.parametrize("without_compiler", [False, pytest.param(True, marks=needs_compiler)])
def test_interpreted_the_function_itself_runs(monkeypatch, without_compiler):
    function = CompiledFunction(name_of)
    if without_compiler:
        monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    with nullcontext() if without_compiler else interpreted():
        with interpreted():
            pass
        assert function({}) == "dict"
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(function.specialise, {}).result() is name_of


@needs_compiler
@pytest.mark.parametrize("begins", [True, False])
def test_an_agent_that_was_used_before_is_interpreted_and_compiled_again(begins):
    env = tictactoe_v0.env()
    env.reset()
    agent = UCT(simulations=5, seed=0)
    for is_plain in (begins, not begins, begins):
        with interpreted() if is_plain else nullcontext():
            agent.act(env)
        assert (agent.planner.workers[0].kept.run is compiled_search.function) == is_plain


@part
class Normal(NamedTuple):
    """A playout that draws from its generator what machine code has no stream of."""

    scale: float

    def simulate(self, game, state, rng, actions, simulation):
        return min(max(self.scale * rng.standard_normal(), -1.0), 1.0)


@pytest.mark.slow
@needs_compiler
def test_a_part_may_use_all_of_its_generator():
    env = tictactoe_v0.env()
    env.reset()
    found = []
    for route in ("compiled", "interpreted"):
        agent = TreeSearchAgent(Variant(UCB1(1.0), Normal(0.3), WinLoss()), 20, route=route, seed=1)
        agent.act(env)
        found.append(agent.statistics.values.tolist())
    assert found[0] == found[1]


@needs_compiler
def test_after_interpreted_there_is_machine_code_again():
    function = CompiledFunction(copy_the_second)
    records = np.zeros(3, RECORD).view(np.recarray)
    with suppress(ZeroDivisionError), interpreted():
        assert function.specialise(records) is copy_the_second
        raise ZeroDivisionError
    assert function.specialise(records) is not copy_the_second


# ---- copying records -----------------------------------------------------------------------------


RECORD = np.dtype([("cells", np.int8, (3, 5)), ("ply", np.int16), ("hash", np.int64)], align=True)


def copy_the_second(records):
    copy_record(records[1], records[2])


@pytest.mark.parametrize(
    "run",
    [
        pytest.param(copy_the_second, id="interpreted"),
        pytest.param(CompiledFunction(copy_the_second), id="compiled", marks=needs_compiler),
    ],
)
def test_copy_record(run):
    rng = np.random.default_rng(0)
    memory = rng.integers(0, 256, (4, RECORD.itemsize), np.uint8)
    before = memory.copy()
    records = memory.view(RECORD)[:, 0].view(np.recarray)
    run(records)
    assert np.array_equal(memory[[0, 1, 3]], before[[0, 1, 3]])
    assert not np.array_equal(memory[2], before[2])
    for field in RECORD.names:
        assert np.array_equal(records[2][field], records[1][field])


@needs_compiler
def test_records_of_different_dtypes_are_not_copied():
    def copy_between(one, other):
        copy_record(one[0], other[0])

    one = np.zeros(1, RECORD).view(np.recarray)
    other = np.zeros(1, [("ply", np.int16)]).view(np.recarray)
    with pytest.raises(numba.TypingError, match="copy_record"):
        CompiledFunction(copy_between)(one, other)


# ---- the contract, compiled ----------------------------------------------------------------------


def ask_everything(
    game, plies, state, played, stone, legal, mask, planes, buffer, rng, cells, owners
):
    """Play a position and call every method that compiles."""
    game.initial(state)
    for _ in range(plies):
        count = game.legal_actions(state, legal)
        game.step(state, int(legal[(3 * count) // 4]))
    played_last = (3 * count) // 4
    following = game.next_actions(state, legal, count, played_last)
    count = game.legal_actions(state, legal)
    filled = game.cell_of(state, int(legal[0])), game.num_cells()
    game.owners(state, owners)
    game.legal_mask(state, owners, mask)
    for cell in range(len(cells)):
        cells[cell] = game.owner(state, cell)
    for player in range(2):
        game.observe(state, player, owners, planes[player])
    game.copy(state, played)
    game.random_playout(played, rng, buffer)
    game.copy(state, stone)
    empty = 0
    while game.owner(stone, empty) >= 0:
        empty += 1
    game.place(stone, empty, 1)
    return (
        (game.num_actions(), game.max_plies(), count, game.to_play(state), game.last_cell(state)),
        (game.is_terminal(state), game.outcome(state, 0), game.outcome(played, 1), played.winner),
        (game.position_hash(state), game.position_hash(stone)),
        (game.owner(stone, empty), game.completes(stone, empty)),
        (filled[0], filled[1], following),
    )


compiled_ask_everything = CompiledFunction(ask_everything)


def test_everything_of_the_contract_is_asked():
    contract = {
        name
        for name, method in inspect.getmembers(base.StoneGame, inspect.isfunction)
        if not name.startswith("_")
    }
    assert contract - set(base.PLAIN_VERBS) <= set(ask_everything.__code__.co_names)


@needs_compiler
@pytest.mark.parametrize(
    "game",
    [
        hex.new(5, swap=True),
        tictactoe.new(),
        pytest.param(connect4.new(), marks=pytest.mark.slow),
        pytest.param(gomoku.new(9), marks=pytest.mark.slow),
    ],
    ids=lambda game: game.name,
)
@pytest.mark.parametrize("plies", [1, 5])
def test_everything_of_the_contract_compiles(game, plies):
    answers = []
    for run in (ask_everything, compiled_ask_everything):
        states = base.new_states(game, 3)
        legal, buffer = np.zeros((2, game.num_actions()), np.int32)
        mask = np.full(game.num_actions(), 7, np.int8)
        cells = np.zeros(game.rows * game.columns, np.int64)
        owners = np.zeros(len(cells), np.int8)
        planes = np.zeros((2, len(cells), len(game.planes())), np.int8)
        rng = np.random.default_rng(5)
        said = run(game, plies, *states, legal, mask, planes, buffer, rng, cells, owners)
        positions = states[0].tobytes(), states[2].tobytes()
        answers.append([*said, legal, mask, planes, cells, owners, *positions])
    for plain, machine_code in zip(*answers, strict=True):
        assert np.array_equal(plain, machine_code)


# ---- counted references --------------------------------------------------------------------------


@numba.njit
def tail(numbers):
    return numbers[1:]


@kernel
def sum_of_tail(numbers):
    total = 0.0
    for number in tail(numbers):
        total += number
    return total


@needs_compiler
def test_a_kernel_may_call_what_returns_arrays():
    assert CompiledFunction(sum_of_tail)(np.arange(4.0)) == 6
    assert tail(np.arange(3.0)).tolist() == [1, 2]


@kernel
def draw(numbers, index, rng):
    return numbers[index] + rng.random()


@needs_compiler
def test_a_wrong_call_does_not_make_later_ones_count():
    function, numbers = CompiledFunction(draw), np.arange(3)
    with pytest.raises(COMPILE_ERRORS):
        function(numbers, 1.5, np.random.default_rng(1))
    assert function(numbers, 1, np.random.default_rng(1)) == draw(
        numbers, 1, np.random.default_rng(1)
    )
    assert function._dispatchers[frozenset({RandomStream}), False].overloads


@kernel
def tripled(number):
    return 3 * number


@needs_compiler
def test_kernels_become_a_part_of_their_caller():
    names = []

    class Listener(numba_event.Listener):
        def on_start(self, event):
            pass

        def on_end(self, event):
            dispatcher = event.data["dispatcher"]
            names.append(dispatcher.py_func.__name__)
            if names[-1] == "tripled":
                (code,) = dispatcher.overloads.values()
                with pytest.raises(TypeError):
                    code.entry_point(2)

    def add_one(number):
        return tripled(number) + 1

    with numba_event.install_listener("numba:compile", Listener()):
        assert CompiledFunction(add_one)(2) == 7
    assert names == ["tripled", "add_one"]


@needs_compiler
def test_kernels_may_print_and_raise_what_they_found(place):
    place.write(
        "found.py",
        "from hexenv.compiled import CompiledFunction, kernel\n"
        "@kernel\n"
        "def check(number):\n"
        "    print('found', number)\n"
        "    if number > 3: raise ValueError('too many', number)\n"
        "def check_all(numbers):\n"
        "    for number in numbers: check(number)\n"
        "compiled_check = CompiledFunction(check_all)\n",
    )
    program = (
        "from found import compiled_check\n"
        "try: compiled_check((1, 4))\n"
        "except ValueError as error: print(error.args)\n"
    )
    for announcements in (1, 0):
        output = place.run(program)
        assert output.text == "found 1\nfound 4\n('too many', 4)"
        assert len(output.announcements) == announcements


@needs_compiler
def test_values_of_one_class_may_have_two_types():
    function = CompiledFunction(kernel(lambda moment: moment))
    for text in ("2020-01-01", "2020-01-01T00:00:07"):
        assert function(np.datetime64(text)) == np.datetime64(text)
