"""Every block of code and every command of the README and the guides, run page by page, in order.

Python blocks of a page share one namespace, and a page has one directory to work in. Budgets are
made small (`SMALLER`); what cannot run here is listed with the reason (`NOT_RUN`).
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from benchmarks import speed

from agents.arena import recommended
from agents.registry import AGENTS
from hexenv.common import extras

ROOT = Path(__file__).parents[1]
GUIDES = ROOT / "docs" / "pages"
PICTURES = GUIDES / "assets"
BENCHMARKS = ROOT / "tests" / "benchmarks"
PAGES = ["README.md", *sorted(str(path.relative_to(ROOT)) for path in GUIDES.rglob("*.md"))]

SMALLER = {
    r"--pairs \d+": "--pairs 1",
    r"--games \d+": "--games 1",
    r"--seeds \d+": "--seeds 1",
    r"simulations=\d[\d_]*": "simulations=20",
    r"seconds=[\d.]+": "seconds=0.02",
    r"num_envs=\d+": "num_envs=8",
    r"range\(500\)": "range(20)",
    r"pairs=\d+": "pairs=2",
    r"--sprt 0,50": "--sprt 0,400",
    r"^(hexenv match (?!.*--games).*)$": r"\1 --games 1",
    r"^(hexenv accuracy .*)$": r"\1 --limit 2 --seeds 1 --workers 0",
    r"^(hexenv tournament (?!.*--engine).*)$": r"\1 --workers 0",
    r"^hexenv openings .*$": "hexenv openings hex random --option board_size=7 --plies 1"
    " --count 10 --games 10 --workers 0 --to openings.txt",
    r"^(hexenv topp .*)$": r"\1 --pairs 1 --workers 0",
    r"^(hexenv train (?!.*--describe).*)$": (
        r"\1 --set iterations=2 --set engine=local --set workers=1 --set duel_games=0"
        " --set save_interval=1 --set network.channels=4 --set network.blocks=0"
        " --set search.simulations=4 --set self_play.games=4 --set self_play.plies=8"
        " --set replay.fill=16 --set learner.batch=8"
    ),
    r"/000(160|060)\.": "/000002.",
    r"Run\((.+), settings\)": (
        r'Run(\1, settings | {"iterations": 2, "engine": "local", "workers": 1, "duel_games": 0,'
        r' "self_play": {"games": 4, "plies": 8}, "replay": {"fill": 16}})'
    ),
}
"""What is written for readers, and what is run: the same with small budgets."""

NOT_CODE = ("bibtex", "dockerfile", "json", "text", "yaml")
"""Languages of files, which are shown and not run."""

INPUT = {"hexenv play": "quit\n", "hexenv gomocup": "END\n", "hexenv htp": "quit\n"}
"""What the commands that converse are told."""

NOT_RUN = {
    "examples/own_training.py": "trains for minutes; tests/test_own_learning.py trains it in small",
    "examples/rl/": "trains for minutes; tests/test_rl.py trains with each in small",
    'pip install -e ".[': "CI installs every extra",
    "python3 -m venv .venv": "CI runs both command lines themselves, in a fresh environment",
    "mkdocs build": "CI builds it, and tests/test_site.py",
    "gomocup:command=./pbrain-rapfi": "needs an outside engine; tests/test_gomocup.py has its own",
    "htp:command=./mohex": "needs an outside engine; tests/test_htp.py has its own",
    "sb3:path=connect4.zip": "needs a model that takes minutes; tests/test_rl.py trains small ones",
    'from_sb3("connect4.zip")': "needs a model that takes minutes; tests/test_rl.py trains one",
    "SelfPlay(pool": "takes minutes; tests/test_rl.py trains for a few steps",
    "share_pool(algorithm": "takes minutes; tests/test_rl.py trains for a few steps",
    "BoardCNN": "needs the extra sb3; tests/test_rl.py trains with it",
    "import supersuit": "needs SuperSuit; tests/test_rl.py plays with each of these wrappers",
    "LogRatings(log": "takes minutes; tests/test_progress_sb3.py trains for a few steps",
    "hexenv learn sb3": "takes minutes; tests/test_progress_sb3.py learns for seconds",
    "hexenv curves league=": "needs runs that take minutes; tests/test_progress.py has small ones",
    "--window": "needs a person at a mouse; tests/test_play_window.py clicks",
    "hexenv compile": "needs machine code; tests/test_cli.py compiles",
    "hexenv bench": "its anchors search for minutes; tests/test_bench.py has those that do not",
    "hexenv tune": "takes minutes; tests/test_tuning.py tunes in small",
    "hexenv serve": "runs until it is stopped; tests/test_serve.py plays on its page",
    "--engine ray": "takes a cluster's start; tests/test_tournament.py does it",
}
"""What is not run, by a text in it, and why."""

NEEDS = {
    "hexenv train": ("torch", "train"),
    "hexenv topp": ("torch", "train"),
    "hexenv network": ("onnx", "train"),
    "alphazero:net": ("torch", "train"),
    "AlphaZero(": ("torch", "train"),
    "agents.learning": ("torch", "train"),
    "agents.learning.data.minari": ("minari", "minari"),
    "--format parquet": ("pyarrow", "parquet"),
    "--format minari": ("minari", "minari"),
    "RecordVideo(": ("moviepy", "video"),
    "runs/from-data": ("torch", "train"),
    "--plot": ("matplotlib", "plot"),
    "search_any_environment.py": ("pygame", "human"),
}
"""What needs an extra: the library to look for, and the extra's name."""

QUICK = (
    "guides/index", "guides/environments", "guides/learners", "guides/evaluate",
    "guides/progress",
    "tutorials/index", "tutorials/sb3", "tutorials/rllib", "tutorials/torchrl", "tutorials/cleanrl",
    "tutorials/tianshou", "tutorials/skrl",
)  # fmt: skip
"""Pages that are run with the other tests; the others compile, play or learn for minutes."""


def name_of(page):
    """A page as the site knows it."""
    return page.removeprefix("docs/pages/").removesuffix(".md")


def read(path):
    """The text of a file of the project."""
    return (ROOT / path).read_text(encoding="utf-8")


def benchmarks(name):
    """The text of the benchmark file that a link of a page names."""
    return read(BENCHMARKS / f"{name.upper()}.md")


class Block(NamedTuple):
    """A block of code of a page."""

    language: str
    code: str


def blocks_of(page):
    """The blocks of a page in order."""
    text = read(page)
    fenced = r"^( *)```(?:{ \.)?(\w+)[^\n]*\n(.*?)^\1```$"
    found = list(re.finditer(fenced, text, re.MULTILINE | re.DOTALL))
    assert 2 * len(found) == text.count("```"), f"{page}: a block that is not understood"
    prose = re.sub(fenced, "", text, flags=re.MULTILINE | re.DOTALL)
    assert not re.search(r"^ *(~~~|\$ |>>> |<pre)|\n\n    \S", prose, re.MULTILINE), f"{page}: code"
    return [Block(one[2], re.sub(f"^{one[1]}", "", one[3], flags=re.MULTILINE)) for one in found]


def commands_of(block):
    """The command lines of a block, without their comments."""
    whole = re.sub(r" *\\\n *", " ", block.code)  # a command may take several lines
    lines = (re.sub(r"(^|\s+)#\s.*$", "", line) for line in whole.splitlines())
    return [line for line in lines if line]


def why_not(code):
    """Why this is not run, or None."""
    for text, reason in NOT_RUN.items():
        if text in code:
            return reason
    for text, (library, extra) in NEEDS.items():
        if text in code and find_spec(library) is None:
            return f"the extra {extra} is not installed"
    return None


def made_small(code):
    """The code with small budgets."""
    for pattern, replacement in SMALLER.items():
        code = re.sub(pattern, replacement, code, flags=re.MULTILINE)
    return code


def run(command, directory):
    """Run a command line as a shell does, in a directory of its own."""
    told = next((text for start, text in INPUT.items() if command.startswith(start)), "")
    paths = [str(Path(sys.executable).parent), os.environ["PATH"]]
    environment = {**os.environ, "PATH": os.pathsep.join(paths), "PYTHONPATH": str(ROOT)}
    if command.startswith("hexenv "):  # of this checkout, whatever is installed
        command = f"{sys.executable} -m agents.apps.cli {command.removeprefix('hexenv ')}"
    done = subprocess.run(
        ["bash", "-c", command], cwd=directory, env=environment, input=told,
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def prepare(page, directory):
    """Put what a page's commands read where they run: examples, and the files the page shows."""
    for folder in ("examples", "examples/games", "examples/parts"):
        for example in (ROOT / folder).glob("*.py"):
            shutil.copy(example, directory)
    shown = [block.code for block in blocks_of(page) if block.language == "json"]
    for name in re.findall(r"(?:--config|--spec) (\w+\.json)", read(page)):
        (directory / name).write_text(made_small(shown[0]), encoding="utf-8")


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[] if name_of(page) in QUICK else [pytest.mark.slow])
        for page in PAGES
    ],
)
def test_a_page_does_what_it_says(page, tmp_path, monkeypatch):
    prepare(page, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    namespace = {"__name__": "guide"}
    left_out = []
    for block in blocks_of(page):
        assert block.language in ("sh", "python", *NOT_CODE), block
        included = re.fullmatch(r'--8<-- "(.+?)(?::\d+)?"\n', block.code)  # from a line on
        if block.language in NOT_CODE:
            continue
        units = commands_of(block) if block.language == "sh" else [block.code]
        for unit in units:
            if reason := why_not(unit):
                left_out.append(reason)
            elif included:
                run(f"{sys.executable} {ROOT / included[1]}", tmp_path)
            elif block.language == "sh":
                run(made_small(unit), tmp_path)
            else:
                exec(compile(made_small(unit), page, "exec"), namespace)
    for picture in PICTURES.iterdir():  # those that the page shows are those that its code makes
        made = tmp_path / picture.name
        if f"assets/{picture.name}" in read(page) and made.exists():
            assert made.read_bytes() == picture.read_bytes(), picture.name
    for reason in left_out:
        if reason.startswith("the extra"):
            pytest.skip(reason)


NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))


def code_cells(notebook):
    """The cells of a notebook that are code."""
    return [cell for cell in json.loads(read(notebook))["cells"] if cell["cell_type"] == "code"]


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, capsys):
    namespace = {"__name__": "__main__"}
    for cell in code_cells(path):
        exec(compile(made_small("".join(cell["source"])), path.name, "exec"), namespace)
    assert capsys.readouterr().out


def test_notebooks_are_kept_as_they_were_run():
    assert len(NOTEBOOKS) == 3
    for path in NOTEBOOKS:
        code = code_cells(path)
        assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
        kinds = {output["output_type"] for cell in code for output in cell["outputs"]}
        assert kinds <= {"execute_result", "stream"}  # no error


def test_what_is_not_run_is_still_there():
    everything = "\n".join(block.code for page in PAGES for block in blocks_of(page))
    for text in [*NOT_RUN, *NEEDS]:
        assert text in everything, text


def test_the_home_page_quotes_the_benchmarks():
    text = read(GUIDES / "index.md")
    measured = text.partition('<div class="measured" markdown>')[2].partition("</div>")[0]
    cards = re.split(r"^- ", measured, flags=re.MULTILINE)[1:]
    assert len(cards) == 3
    for card in cards:
        link = re.search(r"\]\(benchmarks/(\w+)\.md[)#]", card)
        figures = re.findall(r"\d+x|\d\.\d{3}|\d+-\d+|\b\d{3}\b", card[: link.start()])
        assert len(figures) >= 4
        assert [figure for figure in figures if figure not in benchmarks(link[1])] == []


def test_pages_quote_the_benchmarks():
    quote = r"\[([\d][^\]]*)\]\(\.\./benchmarks/(\w+)\.md"
    quotes = [(page, *quoted) for page in PAGES for quoted in re.findall(quote, read(page))]
    assert len(quotes) > 20
    assert [each for each in quotes if each[1] not in benchmarks(each[2])] == []


WHICH = recommended.source()
NAMES = ("title", "game", "take", "with_network")


def test_recommended_agents_are_those_that_were_measured():
    for board in WHICH["board"]:
        told = " ".join(text for key, text in board.items() if key not in NAMES)
        links = re.findall(r"\[([^\]]+)\]\(\.\./benchmarks/(\w+)\.md#[\w-]+\)", told)
        assert links
        for figures, page in links:
            for figure in re.findall(r"\d[\d.]*(?: \([\d.-]+\)| % \([\d-]+\)| of \d+)?", figures):
                assert figure in benchmarks(page), (board["title"], figure)


def test_every_agent_is_in_one_group():
    grouped = [name for group in WHICH["group"] for name in group["agents"]]
    assert sorted(grouped) == sorted(AGENTS)


def test_the_readme_recommends_the_same():
    text = " ".join(read("README.md").split())
    takes = {board["game"]: re.escape(board["take"]) for board in WHICH["board"]}
    takes.pop("TicTacToe")  # where everything will do
    for game, take in takes.items():
        assert re.search(rf"in {game} (?:take )?`{take}`", text, re.IGNORECASE), game


PROJECT = tomllib.loads(read("pyproject.toml"))["project"]


def test_it_is_cited_as_what_it_is():
    cited = read("CITATION.cff")
    about = dict(re.findall(r"^([\w-]+): (.+)$", cited, re.MULTILINE))
    assert {"cff-version", "message", "title", "type"} <= about.keys()
    assert (about["version"], about["license"]) == (PROJECT["version"], PROJECT["license"])
    names = re.findall(r"^  - name: (.+)$", cited, re.MULTILINE)
    assert names == [author["name"] for author in PROJECT["authors"]]
    bibtex = read(GUIDES / "project" / "cite.md")
    quoted = [about["title"].strip('"'), *names, about["version"], about["license"]]
    assert [each for each in quoted if each not in bibtex] == []


def test_the_readme_quotes_the_benchmarks():
    titles = "|".join(board.title for board in speed.BOARDS)
    row = re.compile(rf"^\| (?:{titles}) \|.+\|$", re.MULTILINE)
    measured = row.findall(benchmarks("speed"))[: len(speed.BOARDS)]
    assert row.findall(read("README.md")) == list(map(speed.readme_row, measured))


def test_the_speed_of_a_call_is_measured_beside_the_kernels():
    pytest.importorskip("pyspiel", reason="the extra test is not installed")
    found = speed.search_figures(speed.BOARDS[-1], rounds=2, limit=None, simulations=20)
    assert found.limit is None
    for rates in (found.call, found.kernel, found.openspiel):
        assert rates.shape == (2,)
        assert (rates > 0).all()


def test_a_row_of_speeds_has_the_call_first():
    figures = speed.SearchFigures(*(np.array(each) for each in ([3, 5], [8, 16], [2, 2], [10, 10])))
    row = speed.speed_row(speed.BOARDS[-1], figures)
    assert row == "| TicTacToe | 2.0x | 1.5-2.5 | 40 % | 6.0x | 4.0-8.0 | 120 % |"
    assert speed.readme_row(row) == "| TicTacToe | 2.0x | 6.0x | not played |"
    shares = speed.speed_row(speed.BOARDS[-1], figures._replace(limit=None)).split("|")
    assert not shares[4].strip()


# ---- what can be installed -----------------------------------------------------------------------


def texts():
    """What the project says, to users and in its code: the text of every file, by its path."""
    files = [
        *ROOT.glob("*.md"),
        *(path for folder in ("agents", "docs", "examples", "hexenv", "tests")
          for path in (ROOT / folder).rglob("*") if path.suffix in (".md", ".py", ".js", ".html")),
    ]  # fmt: skip
    return {str(path.relative_to(ROOT)): read(path) for path in files}


def test_nothing_is_installed_by_a_name_that_is_not_published():
    by_name = r"""pip install(?: -\S+)* ["']?hexenv\b"""
    assert {path for path, text in texts().items() if re.search(by_name, text)} == set()


def test_extras_that_are_named_exist():
    named = {}
    for path, text in texts().items():
        for several in re.findall(r"""pip install[^\n]* ["']?\.\[([\w,]+)\]""", text):
            named |= dict.fromkeys(several.split(","), path)
        for extra in re.findall(r"""\b(?:library\([^()]+, |how_to_install\()["'](\w+)["']""", text):
            named[extra] = path
    assert {"docs", "train", "human", "plot", "web", "distributed", "video", "skrl"} <= set(named)
    assert {extra: named[extra] for extra in named.keys() - PROJECT["optional-dependencies"]} == {}


def test_a_missing_library_is_told_with_what_installs_it():
    with pytest.raises(ImportError, match=re.escape('pip install -e ".[train]"')):
        extras.library("hexenv.no_such_library", "train")


def test_links_lead_to_files():
    for page in ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"]:
        for target in re.findall(r"\]\((?!https?://|#)([^)#]+)", read(page)):
            assert (ROOT / target).exists(), f"{page}: {target}"
