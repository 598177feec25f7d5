"""Of `.ci/run`: when any command that it starts fails, it fails.

The commands are stand-ins, which do nothing and fail when told to.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NAMES = ("python3", "python3.12", "npm", "apt-get", "env")
INSTALLED = ("python", "pip", "ruff", "pyright", "mkdocs", "hexenv")
STAND_IN = f"""#!/bin/bash
call=$(echo "${{0##*/}} $*" | sed "s:$SCRATCH/[^/ ]*:SCRATCH:g" | head -n 1)
echo "$call" >>"$SCRATCH.calls"
[ "$call" != "$FAILS" ] || exit 1
case "${{0##*/}} $*" in
"python3 -c"*) exec {sys.executable} "$@" ;;
*" -m venv "*) mkdir -p "$3/bin" && for name in {" ".join(INSTALLED)}; do cp "$0" "$3/bin/$name"; done ;;
*freeze) echo torch==1 ;;
*" -m pytest "*)
    skipped=${{PYTEST_ADDOPTS##*--skipped-to=}}
    if [ -n "$skipped" ]; then echo tests/test_one.py >"$skipped"; fi ;;
esac
"""  # noqa: E501
pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")
ALLOWED = "python3.12 -c "
"""What may fail: where there is no such Python, this is said."""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A checkout with the script, and programs that stand for those that it starts."""
    folder = tmp_path_factory.mktemp("ci")
    for name in (".ci/run", "README.md", "pyproject.toml", "examples/own_training.py"):
        (folder / "checkout" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / "checkout" / name)
    (folder / "checkout" / "examples" / "one.py").touch()
    subprocess.run(["git", "init", "-q", folder / "checkout"], check=True)
    (folder / "bin").mkdir()
    for name in NAMES:
        (folder / "bin" / name).write_text(STAND_IN)
        (folder / "bin" / name).chmod(0o755)
    (folder / "scratch").mkdir()
    return folder / "checkout"


def ran(checkout, fails=""):
    """Run the script; the status, what it printed, and the calls of programs."""
    folder = checkout.parent
    calls = folder / "scratch.calls"
    calls.write_text("")
    environment = {
        "PATH": f"{folder / 'bin'}:/usr/bin:/bin",
        "HOME": str(folder),
        "TMPDIR": str(folder / "scratch"),
        "SCRATCH": str(folder / "scratch"),
        "FAILS": fails,
    }
    done = subprocess.run(
        ["bash", ".ci/run"], cwd=checkout, env=environment, capture_output=True, text=True
    )
    return (
        done.returncode,
        done.stdout + done.stderr,
        list(dict.fromkeys(calls.read_text().splitlines())),
    )


def steps_of(text):
    return re.findall(r"^=== (.+) \(after", text, re.MULTILINE)


@pytest.mark.slow
def test_every_command_that_fails_fails_the_run(checkout):
    status, text, calls = ran(checkout)
    assert status == 0, text
    assert steps_of(text)[-1] == "passed"
    assert len(calls) > 30
    for call in calls:
        status, text, _ = ran(checkout, call)
        assert (status != 0) != call.startswith(ALLOWED), (call, text)
        assert ("passed" in steps_of(text)) == call.startswith(ALLOWED), call


def test_a_python_that_is_missing_is_said(checkout):
    assert "NOT TESTED on Python 3.14" in ran(checkout)[1]
