"""The Tournament of Progressive Policies, on runs whose networks are made by hand."""

import functools
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from training_runs import call

from agents.apps.cli import INTERRUPTED
from agents.arena import TournamentRun, run_tournament
from agents.learning.configuration import GuidedSearchOptions, NetworkOptions, as_dict, make
from agents.learning.topp import (
    check_results,
    chosen_games,
    evenly_spread,
    new_topp,
    options_of,
    ratings,
    search_agent,
)
from agents.records import GameRecord, load_record
from agents.records.films import film_of
from agents.registry import make_agent
from hexenv.common.extras import how_to_install

pytestmark = pytest.mark.compiled  # it plays whole games with networks

run = functools.partial(call, "topp")

SIZE = 5
OPTIONS = NetworkOptions(kind="anet", layers=[], value=False)
"""A policy of one linear layer, without a value."""
LEARNING = {0: -1.0, 5: 0.0, 10: 1.0}
"""By iteration, how much a network likes the middle of the board, where Hex is decided."""


def save(directory, iteration, liking):
    """Write a network that prefers the cells in the middle, or those at the edge."""
    torch = pytest.importorskip("torch", reason="the extra train is not installed")
    pytest.importorskip("safetensors", reason="the extra train is not installed")
    from agents.learning.files import save_network
    from agents.learning.networks import new_network
    from agents.learning.saved import game_of

    network = new_network(game_of("hex", {"board_size": SIZE}), OPTIONS, seed=1)
    away = np.abs(np.arange(SIZE) - (SIZE - 1) / 2)
    order = np.random.default_rng(5).normal(size=SIZE * SIZE) / 2
    with torch.no_grad():
        network.logits.weight[:] = 0.0
        network.logits.bias[:] = torch.from_numpy(order - liking * np.add.outer(away, away).ravel())
    path = directory / "networks" / f"{iteration:06}.safetensors"
    save_network(path, network, OPTIONS, ("hex", {"board_size": SIZE}), {"iteration": iteration})


def configured(directory, **values):
    configuration = {"game": "hex", "options": {"board_size": SIZE}, **values}
    (directory / "networks").mkdir(parents=True)
    (directory / "config.json").write_text(json.dumps(as_dict(make(configuration))))
    return directory


@pytest.fixture
def learnt(tmp_path):
    """The directory of a run that has learnt something."""
    directory = configured(tmp_path / "run", self_play={"opening_plies": 1})
    for iteration, liking in LEARNING.items():
        save(directory, iteration, liking)
    return directory


def found_by(*arguments):
    return json.loads(run(*arguments, "--workers", 0, "--json").stdout)


# ---- what it says --------------------------------------------------------------------------------


def test_a_run_that_learns_rises(learnt):
    topp = new_topp(learnt, pairs=10)
    rows = ratings(topp, run_tournament(topp.tournament, workers=0))
    assert [(row.iteration, row.plays) for row in rows] == [(i, "policy") for i in LEARNING]
    assert rows[0].elo == 0 < rows[1].elo < rows[2].elo
    assert rows[2].low > rows[0].high
    assert rows[0].better is None
    assert rows[1].better > 0.9 < rows[2].better
    assert all(row.games == 40 == row.wins + row.draws + row.losses for row in rows)


def test_networks_play_with_a_search_as_well(learnt):
    topp = new_topp(learnt, most=2, pairs=4, simulations=12)
    assert [(each.iteration, each.plays) for each in topp.participants] == [
        (0, "policy"), (10, "policy"), (0, "search"), (10, "search"),
    ]  # fmt: skip
    rows = ratings(topp, run_tournament(topp.tournament, workers=0))
    assert rows[2].better is None  # of the first search: a policy is before it
    assert rows[2].elo > 0  # a search makes up for the worst of policies
    assert rows[2].games == 4 * 2 * 3


def test_the_search_is_that_of_the_run():
    options = GuidedSearchOptions(considered=5, c_scale=0.25, c_visit=1e-05, c=2.0, fpu=-0.5)
    net = Path("/some where/000005.safetensors")
    made = search_agent(net, "gumbel", 12, options)
    assert made == (
        f"gumbel:policy=network:net={net},simulations=12,considered=5,c_visit=1e-05,c_scale=0.25"
    )
    made = search_agent(net, "alphazero", 12, options)
    assert made == f"alphazero:net={net},simulations=12,c=2.0,fpu=-0.5"
    with pytest.raises(ValueError, match="'uct'"):
        search_agent(net, "uct", 12, options)


@pytest.mark.parametrize(
    ("method", "search", "name"),
    [
        ("gumbel", None, "gumbel"),
        ("puct", None, "alphazero"),
        ("rollouts", None, "alphazero"),
        ("puct", "gumbel", "gumbel"),
    ],
)
def test_searches_are_agents(tmp_path, method, search, name):
    directory = configured(tmp_path / "run", search={"method": method, "c": 1.5})
    for iteration in (0, 3):
        save(directory, iteration, 0.0)
    topp = new_topp(directory, simulations=9, search=search)
    agent = make_agent(topp.participants[-1].agent)
    assert agent.name == name
    assert agent.simulations == 9 or name == "gumbel"


@pytest.mark.parametrize(
    ("count", "most", "kept"),
    [
        (3, 8, [0, 1, 2]),
        (9, 5, [0, 2, 4, 6, 8]),
        (10, 2, [0, 9]),
        (11, 4, [0, 3, 7, 10]),
    ],
)
def test_networks_are_thinned_out_evenly(count, most, kept):
    paths = [Path(str(number)) for number in range(count)]
    assert evenly_spread(paths, most) == [paths[number] for number in kept]


def test_options_become_texts():
    configuration = make({"game": "hex", "options": {"board_size": [3, 5], "swap": True}})
    assert options_of(configuration) == ["board_size=3x5", "swap=True"]


def test_openings_are_those_of_the_run_and_long_enough(learnt, tmp_path):
    assert new_topp(learnt).tournament.opening_plies == 2
    directory = configured(tmp_path / "other", self_play={"opening_plies": 5})
    for iteration in (0, 3):
        save(directory, iteration, 0.0)
    assert new_topp(directory).tournament.opening_plies == 5
    with pytest.raises(ValueError, match="opening_plies"):
        new_topp(directory, opening_plies=0)
    topp = new_topp(directory, opening_plies=0, temperature=0.5)
    assert make_agent(topp.participants[0].agent).temperature == 0.5


# ---- the file of results -------------------------------------------------------------------------


@pytest.mark.parametrize("change", ["another network", "another seed", "the same name"])
def test_results_of_others_are_refused(learnt, change):
    found_by(learnt, "--pairs", 1)
    arguments = [learnt, "--pairs", 1, "--workers", 0]
    if change == "another network":
        save(learnt, 15, 2.0)
    elif change == "another seed":
        arguments += ["--seed", 3]
    else:  # of a run that was put back, and learnt something else
        save(learnt, 10, 0.5)
    words = " ".join(run(*arguments, status=2).output.split())
    assert "got other" in words
    assert "--results" in words


@pytest.mark.parametrize("simulations", [0, 4])
def test_a_run_that_was_moved_goes_on_with_its_tournament(learnt, tmp_path, simulations):
    options = ["--pairs", 1, "--simulations", simulations]
    before = found_by(learnt, *options)
    name = f"topp-{simulations}.jsonl" if simulations else "topp.jsonl"
    played = (learnt / name).read_text().splitlines()[1:]
    moved = tmp_path / "elsewhere" / "moved run"
    moved.parent.mkdir()
    learnt.rename(moved)
    assert found_by(moved, *options)["ratings"] == before["ratings"]
    header, *lines = (moved / name).read_text().splitlines()
    assert lines == played  # none is played again
    assert str(learnt) not in header
    found_by(moved, "--pairs", 2, "--simulations", simulations)  # and it goes on
    assert (moved / name).read_text().splitlines()[1:][: len(played)] == played


def test_a_run_that_was_moved_and_has_other_networks_is_refused(learnt, tmp_path):
    found_by(learnt, "--pairs", 1)
    moved = learnt.rename(tmp_path / "moved")
    before = (moved / "topp.jsonl").read_bytes()
    save(moved, 10, 0.5)
    words = " ".join(run(moved, "--pairs", 1, "--workers", 0, status=2).output.split())
    assert "got other agents" in words
    assert (moved / "topp.jsonl").read_bytes() == before


def test_a_file_that_is_no_results_is_left_to_those_who_know(learnt, tmp_path):
    topp = new_topp(learnt)
    check_results(tmp_path / "none", topp.tournament)
    (tmp_path / "no results").write_text("[1, 2]\n")
    check_results(tmp_path / "no results", topp.tournament)
    words = run(learnt, "--results", tmp_path / "no results", status=2).output
    assert "expected a JSON object" in " ".join(words.split())


# ---- the command ---------------------------------------------------------------------------------


def test_the_command_prints_the_table(learnt):
    output = run(learnt, "--pairs", 3, "--workers", 0).stdout
    assert "18 of 18 games played" in output
    rows = [line.split() for line in output.splitlines() if " policy " in line]
    assert [row[0] for row in rows] == ["0", "5", "10"]
    assert rows[0][2] == "0"
    assert all("…" not in cell for row in rows for cell in row)


@pytest.mark.parametrize("count", [0, 4])
def test_ctrl_c_shows_what_was_played(learnt, count, monkeypatch):
    play = TournamentRun.__iter__

    def some(self):
        games = play(self)
        for _ in range(count):
            yield next(games)
        raise KeyboardInterrupt

    monkeypatch.setattr(TournamentRun, "__iter__", some)
    result = run(learnt, "--pairs", 3, "--workers", 0, "--json", status=INTERRUPTED)
    found = json.loads(result.stdout)
    assert found["interrupted"]
    assert found["standings"]["played"] == count
    assert [row["better"] is None for row in found["ratings"]] == [True] + [count == 0] * 2
    assert count > 0 or not found["written"]  # there is nothing to plot
    monkeypatch.undo()
    assert found_by(learnt, "--pairs", 3)["standings"]["played"] == 18


def test_the_plot(learnt):
    pytest.importorskip("matplotlib", reason="the extra plot is not installed")
    found = found_by(learnt, "--pairs", 1, "--simulations", 2, "--most", 2)
    assert found["written"] == [str(learnt / "topp.png")]
    with Image.open(learnt / "topp.png") as image:
        assert image.width > image.height > 300
    path = learnt / "other.svg"
    found = found_by(learnt, "--pairs", 1, "--simulations", 2, "--most", 2, "--plot", path)
    assert found["written"] == [str(path)]
    lines = path.read_text()
    for words in ("policy", "search", "hex (board_size=5): 12 games, searches of 2 simulations"):
        assert f"<!-- {words} -->" in lines


def damaged(directory):
    (directory / "networks" / "000005.safetensors").write_bytes(b"nothing")
    return directory


@pytest.mark.parametrize(
    ("make_wrong", "message"),
    [
        (damaged, "000005.safetensors"),
        (lambda run: run / "none", "the directory of a run"),
        (lambda run: configured(run.parent / "new"), "two saved networks"),
        (lambda run: run.rename(run.parent / "a,b"), "without a comma"),
    ],
)
def test_what_is_no_run_is_refused(learnt, make_wrong, message):
    directory = make_wrong(learnt)
    words = "".join(run(directory, status=2).output.split())
    assert "".join(message.split()) in words
    assert not (directory / "topp.jsonl").exists()


def test_without_pytorch_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    words = " ".join(run(tmp_path, status=2).output.split())
    assert f"expected torch ({how_to_install('train')})" in words


# ---- games to look at ----------------------------------------------------------------------------


def test_the_last_network_is_looked_at(learnt):
    topp = new_topp(learnt, pairs=2)
    playing = TournamentRun(topp.tournament, workers=0)
    for _ in playing:
        pass
    chosen = chosen_games(topp, playing.results, 4)
    against = [
        (record.game.pair, {topp.participants[n].iteration for n in record.game.agents})
        for record in chosen
    ]
    assert against == [(0, {0, 10}), (0, {5, 10}), (0, {0, 10}), (0, {5, 10})]
    begun = [topp.participants[r.game.agents[r.game.first]].iteration for r in chosen]
    assert begun == [10, 5, 0, 10]
    assert len(chosen_games(topp, playing.results, 100)) == 8


def test_records_are_kept_of_all_games(learnt, tmp_path):
    found_by(learnt, "--pairs", 1, "--simulations", 4, "--records", tmp_path / "games")
    lines = [json.loads(line) for line in (learnt / "topp-4.jsonl").read_text().splitlines()[1:]]
    records = {int(path.stem): load_record(path) for path in (tmp_path / "games").iterdir()}
    assert {line["game"] + 1 for line in lines} == set(records)
    for line in lines:
        record = records[line["game"] + 1]
        assert (record.game, list(record.actions)) == ("hex", line["actions"])
        assert record.agents[line["first"]].startswith(line["agents"][0])
        assert any(record.searches) == any("search" in label for label in line["agents"])


def test_games_become_gifs(learnt):
    found = found_by(learnt, "--pairs", 2, "--gifs", 2)
    paths = [Path(path) for path in found["written"] if path.endswith(".gif")]
    assert [path.parent for path in paths] == [learnt / "gifs"] * 2
    assert paths[0].name.startswith("policy-000010-000000-game-")
    number = int(paths[0].stem.rpartition("-")[2])
    lines = [json.loads(line) for line in (learnt / "topp.jsonl").read_text().splitlines()[1:]]
    (game,) = (line for line in lines if line["game"] == number)
    record = GameRecord.of("hex", [f"board_size={SIZE}"], game["actions"])
    with Image.open(paths[0]) as gif:
        assert gif.n_frames == len(game["actions"]) + 1
        gif.seek(gif.n_frames - 1)
        shown = np.array(gif.convert("RGB")).astype(int)
    assert np.abs(shown - film_of(record)[-1]).mean() < 4
