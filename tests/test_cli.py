"""The command line: matches, games against a person, lists, and what it says of mistakes."""

import functools
import inspect
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner
from environments import hearing_interrupts

import hexenv
from agents.apps.cli import INTERRUPTED, main
from agents.mcts.settings import Settings
from agents.mcts.tree_search import TreeSearchAgent
from agents.policies.policy import PolicyAgent
from agents.records import load_record
from agents.registry import (
    agent_classes,
    environment_makers,
    make_agent,
    make_environment,
    parameters,
    parse_options,
    parse_value,
    type_hints,
)

GAMES = ["connect4", "gomoku", "hex", "tictactoe"]
AGENTS = [
    "alphabeta", "alphazero", "anet", "chat", "connectx", "distance", "dqn", "flat", "gomocup",
    "gomoku-engine", "gomokupert", "grave", "greedy", "gumbel", "hex-alphabeta", "hexpert",
    "hexzero", "history", "htp", "lgr",
    "mast", "network", "nrpa", "own-network", "ppo", "puct", "quality", "random", "rave", "rhmcts",
    "rllib", "sb3", "solver", "transposition", "ucb1-tuned", "uct",
]  # fmt: skip
NEED_A_MODEL = {
    "alphazero", "anet", "dqn", "gumbel", "hexzero", "network", "own-network", "ppo", "puct",
    "rllib", "sb3",
}  # fmt: skip
NEED_AN_ENGINE = {"chat", "connectx", "gomocup", "htp"}


def run(*arguments, typed=None, status=0):
    """Run a command in this process and return what it printed."""
    result = CliRunner().invoke(main, [str(argument) for argument in arguments], input=typed)
    assert result.exit_code == status, result.output
    if result.exception is not None:
        assert isinstance(result.exception, SystemExit), result.exc_info
    return result


def run_json(*arguments):
    return json.loads(run(*arguments, "--json").stdout)


def table_of(output):
    """The rows of a match's table, each a list of words."""
    lines = output.splitlines()
    rule = next(number for number, line in enumerate(lines) if set(line.strip()) == {"─"})
    return [line.split() for line in lines[rule + 1 :] if line.strip()]


# ---- match ---------------------------------------------------------------------------------------


def test_a_match_prints_a_table():
    output = run("match", "tictactoe", "greedy", "random", "--games", 6).stdout
    assert re.match(r"6 games, [2-6] distinct\n", output)
    header = next(line for line in output.splitlines() if "won" in line)
    assert re.split(r"\s{2,}", header.strip()) == [
        "won", "drawn", "lost", "score (95 %)", "moving first", "illegal", "ms/move",
    ]  # fmt: skip
    (first, *of_first), (second, *of_second) = table_of(output)
    assert "A = greedy\nB = random\n" in output
    assert (first, second) == ("A", "B")
    won, drawn, lost = map(int, of_first[:3])
    assert won + drawn + lost == 6
    assert [lost, drawn, won] == list(map(int, of_second[:3]))
    scores = [float(row[3]) for row in (of_first, of_second)]
    assert scores == pytest.approx([(won + drawn / 2) / 6, (lost + drawn / 2) / 6], abs=0.01)
    assert sum(scores) == pytest.approx(1, abs=0.011)
    for row in (of_first, of_second):
        low, high = map(float, re.fullmatch(r"\((.*)-(.*)\)", row[4]).groups())
        assert 0 <= low <= float(row[3]) <= high <= 1
        assert re.fullmatch(r"[0-3]/3", row[5])
        assert row[6] == "0"
        assert float(row[7]) >= 0


@pytest.mark.parametrize("width", [20, 60, 80, 200])
def test_the_table_shows_all_figures_at_every_width(width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    name = "uct:simulations=5,final_move=lcb,playout=generic"
    output = run("match", "tictactoe", name, "random", "--games", 1).stdout
    assert output.startswith(f"1 game, 1 distinct\nA = {name}\n")
    lengths = [9, 9] if width >= 80 else [3, 3, 3, 7, 4, 3, 3]  # turned: a line for each column
    assert [len(row) for row in table_of(output)] == lengths
    assert "ms/move" in output
    if width == 60:
        assert max(map(len, output.splitlines())) <= width


KEYS = [
    "game", "options", "agents", "seed", "opening_plies", "interrupted", "games", "distinct",
    "opened", "wins", "draws", "losses", "score", "interval", "wins_moving_first",
    "games_moving_first", "illegal_moves", "seconds_per_move", "plies", "forfeits", "reasons",
    "assumed",
]  # fmt: skip


def test_a_match_as_json():
    found = run_json("match", "hex", "greedy", "random", "--games", 5, "--option", "board_size=3")
    assert list(found) == KEYS
    about = ["hex", ["board_size=3"], ["greedy", "random"], 0, None, False]
    assert list(found.values())[:6] == about
    assert found["games"] == found["wins"] + found["draws"] + found["losses"] == 5
    assert found["score"] == (found["wins"] + found["draws"] / 2) / 5
    assert found["interval"][0] < found["score"] < found["interval"][1] or found["score"] in (0, 1)
    assert found["games_moving_first"] == [3, 2]
    lost_moving_first = found["games_moving_first"][1] - found["wins_moving_first"][1]
    assert found["wins"] == found["wins_moving_first"][0] + lost_moving_first - found["draws"]
    assert found["illegal_moves"] == [0, 0]
    assert min(found["seconds_per_move"]) > 0
    assert 5 <= found["plies"] <= 9


REPEATING = ("match", "tictactoe", "competitors.First", "competitors.Last", "--games", 12)


def test_a_game_that_is_repeated_adds_nothing_to_the_interval():
    pair = run_json(*REPEATING[:-1], 2)
    found = run_json(*REPEATING, "--opening-plies", 0)
    assert (found["games"], found["distinct"], found["opened"]) == (12, 2, 0)
    assert found["interval"] == pytest.approx(pair["interval"])
    output = run(*REPEATING, "--opening-plies", 0).stdout
    assert output.startswith("12 games, 2 distinct\n")
    assert "10 of 12 (more --opening-plies" in output


def test_agents_that_leave_nothing_to_chance_play_from_openings(tmp_path):
    found = run_json(*REPEATING, "--records", tmp_path / "games")
    assert (found["opening_plies"], found["opened"]) == (None, 8)
    assert found["distinct"] == 2 + 8
    records = [load_record(path) for path in sorted((tmp_path / "games").glob("*.json"))]
    assert [record.opening for record in records] == [0] * 4 + [2] * 8
    starts = [record.actions[:2] for record in records[4:]]
    assert starts[::2] == starts[1::2]
    assert len(set(starts)) == 4
    output = run(*REPEATING).stdout
    assert "(--opening-plies 0 plays without)" in output
    found = run_json(*REPEATING, "--opening-plies", 1)
    assert (found["opened"], found["distinct"]) == (12, 12)
    result = run(*REPEATING, "--opening-plies", 9, status=2)
    assert "expected an opening of 9 plies" in result.stderr


def test_json_is_all_there_is_on_standard_output():
    result = run("match", "tictactoe", "random", "random", "--render", "ansi", "--json")
    assert json.loads(result.stdout)["games"] == 10
    assert "X to play" in result.stderr


def test_boards_are_shown_on_request():
    output = run("match", "tictactoe", "random", "greedy", "--games", 1, "--render", "ansi").stdout
    boards = re.findall(r"(random|greedy) plays ([1-9])\n((?:.*\n){3})(.*)\n", output)
    assert len(boards) >= 5
    assert [who for who, *_ in boards] == [["random", "greedy"][n % 2] for n in range(len(boards))]
    assert len({move for _, move, *_ in boards}) == len(boards)
    for ply, (_, _, board, line) in enumerate(boards, 1):
        assert board.count("X") + board.count("O") == ply
        assert f"(ply {ply})" in line
    assert re.search("has won|draw", boards[-1][-1])
    assert "X to play" not in run("match", "tictactoe", "random", "greedy", "--games", 1).stdout


@pytest.mark.parametrize(
    ("game", "options", "plies"),
    [
        ("hex", ["board_size=5"], (9, 25)),
        ("hex", ["board_size=2x3"], (3, 6)),
        ("hex", ["board_size=(2,3)"], (3, 6)),
        ("hex", ["board_size=2", "swap=true"], (3, 5)),
        ("hex", ["board_size=2", "swap=off"], (3, 4)),
        ("gomoku", ["board_size=5", "rule=standard"], (9, 25)),
        ("gomoku", ["connect=3", "board_size=3"], (5, 9)),
        ("connect4", ["rows=4", "columns=5", "connect=3"], (5, 20)),
        ("connect4", [], (7, 42)),
    ],
)
def test_options_of_games(game, options, plies):
    given = [part for option in options for part in ("--option", option)]
    found = run_json("match", game, "random", "random", "--games", 4, *given)
    assert found["options"] == options
    assert found["games"] == 4
    assert plies[0] <= found["plies"] <= plies[1]


@pytest.mark.parametrize(
    "agents",
    [
        ("uct:simulations=50", "random"),
        ("uct:simulations=50,c=0.7,final_move=lcb,playout=generic", "uct:simulations=20,c=.5"),
        ("uct:seconds=1e-3", "greedy:route=interpreted"),
        ("uct:simulations=1_0,seconds=none,max_nodes=100", "random:seed=3"),
        ("agents.mcts.uct.UCT:simulations=5", "agents.core.baselines.RandomAgent"),
    ],
)
def test_agents_with_parameters(agents):
    found = run_json("match", "tictactoe", *agents, "--games", 2)
    assert found["agents"] == list(agents)
    assert found["games"] == 2


def test_one_seed_one_result():
    def match(seed):
        agents = ("uct:simulations=10", "greedy")
        found = run_json("match", "connect4", *agents, "--games", 4, "--seed", seed)
        return [found[key] for key in ("wins", "draws", "wins_moving_first", "plies")]

    assert match(1) == match(1)
    assert len({repr(match(seed)) for seed in range(4)}) > 1


# ---- mistakes ------------------------------------------------------------------------------------

MATCH = ("match", "tictactoe", "random", "random")
BAD_AGENTS = {
    "foo": f"an agent of {', '.join(AGENTS)}, got 'foo'",
    "random,random": "got 'random,random'",
    "uct:depth=3": "a parameter of simulations, seconds",
    "uct:simulations": "key=value, got 'simulations'",
    "uct:simulations=": "simulations as a whole number, got ''",
    "uct:simulations=1_": "a whole number, got '1_'",
    "uct:simulations=1.5": "a whole number, got '1.5'",
    "uct:simulations=0": "expected simulations from 1",
    "uct:seconds=-1": "expected seconds from",
    "uct:seconds=inf": "seconds .*got inf",
    "uct:c=inf": r"c from 0 .*got inf",
    "uct:c=.": "c as a number, got '.'",
    "uct:c=1.2.3": "c as a number, got '1.2.3'",
    "uct:final_move=x": "final_move of visits, value",
    "uct:route=x": "route of auto, compiled, interpreted",
    "uct:max_nodes=9": "max_nodes above the 121 actions",
    "nosuch.Agent": "got nosuch.Agent: No module named 'nosuch'",
    "agents.mcts.uct.Foo": "got agents.mcts.uct.Foo: module 'agents.mcts.uct' has no",
    ".Foo": "a name to import, got .Foo",
    "..Foo": "a name to import, got ..Foo",
    "math.pi": "a class or a function, got math.pi",
    "json.loads": "json.loads: expected a value for s, got none",
}
BAD_GAMES = {
    "chess": "a game of connect4, gomoku, hex, tictactoe, got 'chess'",
    "nosuch:env": "got nosuch.env: No module named 'nosuch'",
    "os:nosuch": "got os.nosuch: module 'os' has no attribute",
    ":env": "a name to import, got .env",
    "math:pi": "a class or a function, got math.pi",
    "tictactoe board_size=3": "no options, got 'board_size'",
    "hex swap": "key=value, got 'swap'",
    "hex size=5": "an option of board_size, swap, got 'size'",
    "hex board_size=5.5": "board_size as 5x7 or a whole number, got '5.5'",
    "hex board_size=3x4x5": "a whole number, got '3x4x5'",
    "hex board_size=99": "a board size from 2 to 19, .* got 99",
    "hex swap=maybe": "swap as true or false, got 'maybe'",
    "hex board_size=5x7 swap=1": "a square board for the swap",
    "gomoku rule=omok": "rule of freestyle, standard, renju, caro, got 'omok'",
    "connect4 rows=20": "at most 63",
}
BAD_COMMANDS = [
    (("nosuch",), "expected a command of .*, got 'nosuch'"),
    (("plya", "hex", "uct"), r"\(did you mean play\?\)"),
    (("accuracy", "hexx", "uct"), r"\(did you mean hex\?\)"),
    (("match", "tictactoe", "random"), "takes 2 values"),
    ((*MATCH, "--games", "0"), "0 is not in the range"),
    ((*MATCH, "--games", "x"), "'x' is not a valid integer"),
    ((*MATCH, "--seed", "-1"), "-1 is not in the range"),
    ((*MATCH, "--render", "video"), "'video' is not one of 'ansi', 'human'"),
    ((*MATCH, "--nosuch"), "No such option"),
    (("play", "chess", "random"), "a game of connect4"),
    (("play", "tictactoe", "foo"), "an agent of .*, got 'foo'"),
    (("play", "tictactoe", "random", "--side", "third"), "'third' is not one of"),
    (("play", "tictactoe", "random", "--moves", "1x"), "move 2 of 2: .* from 1 to 9"),
    (("play", "tictactoe", "random", "--moves", "11"), "move 2 of 2: .* 1 is taken"),
    (("play", "hex", "uct:max_nodes=9"), "max_nodes above the 121 actions"),
    (("list", "more"), "unexpected extra argument"),
    (("compile", "conect4", "uct"), r"a game or an agent of .*\(did you mean connect4\?\)"),
    (("compile", "connect4", "uct:simulation=5"), r"\(did you mean simulations\?\)"),
    (("compile", "hex", "uct", "--option", "size=5"), "an option of board_size, swap, got 'size'"),
]
BAD_INPUT = [(("match", "hex", agent, "random"), why) for agent, why in BAD_AGENTS.items()]
for text, why in BAD_GAMES.items():
    name, *options = text.split()
    flags = [part for option in options for part in ("--option", option)]
    BAD_INPUT.append((("match", name, "random", "random", *flags), why))


@pytest.mark.parametrize(("arguments", "message"), [*BAD_INPUT, *BAD_COMMANDS])
def test_mistakes_are_explained_in_a_line(arguments, message):
    result = run(*arguments, status=2)
    assert result.stdout == ""
    error = result.stderr.splitlines()[-1]
    assert re.search(message, error), error
    assert error.startswith("Error: ")
    assert "Traceback" not in result.stderr


def test_help_has_whole_sentences():
    text = run("--help").output.partition("Commands:")[2]
    assert "..." not in text
    for name in main.list_commands(click.Context(main)):
        assert f"\n  {name} " in text


# ---- compile -------------------------------------------------------------------------------------


def run_hexenv(*arguments):
    """What a process of its own printed."""
    command = [sys.executable, "-m", "agents.apps.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True)


PLAY_WITH_ALL = """
import gymnasium, hexenv
from agents import GreedyAgent
from hexenv import tictactoe_v0
env = tictactoe_v0.env()
env.reset()
env.step(GreedyAgent().act(env))
env.last()
for opponent in ("random", "greedy", "uct:simulations=2", None):
    envs = gymnasium.make_vec("hexenv/TicTacToe-v0", num_envs=3, opponent=opponent)
    envs.reset(seed=1)
    envs.step(envs.unwrapped.action_masks().argmax(axis=1))
    if opponent is not None:
        env = gymnasium.make("hexenv/TicTacToe-v0", opponent=opponent)
        env.reset(seed=1)
        env.step(env.unwrapped.action_masks().argmax())
"""


@pytest.mark.slow
@pytest.mark.compiled(only=True)
def test_what_was_compiled_beforehand_is_not_compiled_again():
    first, second = (
        json.loads(
            run_hexenv(
                "compile", "tictactoe", "greedy", "uct", "--workers", workers, "--json"
            ).stdout
        )
        for workers in ("2", "0")
    )
    assert list(first) == ["compiled", "in_cache", "cache", "left_out", "failed"]
    assert first["left_out"] == first["failed"] == {}
    assert second["compiled"] == 0
    assert second["in_cache"] == first["compiled"] + first["in_cache"] > 10
    assert list(Path(second["cache"]).glob("search-*/*/*.nbc"))
    played = subprocess.run(
        [sys.executable, "-c", PLAY_WITH_ALL], capture_output=True, text=True, check=True
    )
    assert played.stderr == ""


def test_nothing_is_compiled_without_a_compiler():
    assert "nothing is compiled" in run("compile", "tictactoe", status=1).stderr


class Refusing:
    """An agent that does not play, or (`broken`) fails."""

    def __init__(self, broken: bool = False) -> None:
        self.broken = broken

    def prepare(self, env):
        raise RuntimeError("no memory left") if self.broken else ValueError("not this game")

    def act(self, env):
        return 0

    def reset(self, seed=None):
        pass


REFUSED = [
    ("test_cli.Refusing", "expected an agent for these games, got test_cli.Refusing"),
    ("test_cli.Refusing:broken=true", "1 of 4 could not be compiled"),
]


@pytest.mark.parametrize(("agent", "error"), REFUSED)
def test_an_agent_that_cannot_be_compiled_is_an_error_after_all_others(monkeypatch, agent, error):
    monkeypatch.setattr("agents.apps.cli.compile_all.uses_machine_code", lambda: True)
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    names = "tictactoe", agent, "rhmcts", "greedy"
    result = run("compile", *names, "--workers", 0, status=1)
    assert result.stderr.splitlines()[-1] == f"Error: {error}"
    lines = [line for line in result.stderr.splitlines() if agent in line and ": " in line]
    why = "(RuntimeError: no memory left|Refusing: not this game)"
    assert re.fullmatch(rf"(left out|failed): {agent} for tictactoe: {why}", lines[0])
    assert "greedy for tictactoe" in result.stderr
    assert "compiled, " in result.stdout


# ---- mistakes of extras --------------------------------------------------------------------------


def test_a_window_without_pygame_is_a_mistake(monkeypatch):
    monkeypatch.setattr("hexenv.render.display.find_spec", lambda name: None)
    result = run(*MATCH, "--render", "human", status=2)
    assert 'render_mode "human" needs pygame' in result.stderr


# ---- values --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "hint", "value"),
    [
        ("7", int, 7),
        ("-7", int, -7),
        ("1_000", int, 1000),
        ("7", int | None, 7),
        ("none", int | None, None),
        ("None", float | None, None),
        ("7", float, 7.0),
        (".5", float, 0.5),
        ("5.", float, 5.0),
        ("-1.5e-3", float | None, -0.0015),
        ("inf", float, math.inf),
        ("-Inf", float | None, -math.inf),
        ("true", bool, True),
        ("Off", bool, False),
        ("1", bool, True),
        ("5x7", int | tuple[int, int], (5, 7)),
        ("5,7", int | tuple[int, int], (5, 7)),
        ("(5,7)", int | tuple[int, int], (5, 7)),
        ("5", int | tuple[int, int], 5),
        ("visits", str, "visits"),
        ("7", str, "7"),
        ("what", object, "what"),
    ],
)
def test_values_are_read_as_their_types(text, hint, value):
    found = parse_value(text, hint)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "hint", "expected"),
    [
        ("x", int, "a whole number"),
        ("1.5", int, "a whole number"),
        ("x", int | None, "a whole number"),
        ("x", float, "a number"),
        ("1e", float, "a number"),
        ("infinity", float, "a number"),
        ("nan", float, "a number"),
        ("inf", int, "a whole number"),
        ("2", bool, "true or false"),
        ("5x", int | tuple[int, int], "5x7 or a whole number"),
    ],
)
def test_values_of_other_types_are_refused(text, hint, expected):
    with pytest.raises(ValueError, match=f"^{expected}$"):
        parse_value(text, hint)


def test_options_without_a_type_are_texts():
    assert parse_options(lambda depth, name="x": None, ["depth=3"], "maker") == {"depth": "3"}


@pytest.mark.parametrize("name", sorted({*AGENTS} - NEED_A_MODEL - NEED_AN_ENGINE))
def test_agents_are_made_by_name(name):
    text = name if name == "random" else f"{name}:route=interpreted"  # which compiles nothing
    if "simulations" in parameters(agent_classes()[name]):
        text += ",simulations=20"
    agent = make_agent(text, seed=4)
    assert type(agent) is agent_classes()[name]
    env = hexenv.hex_v0.env(board_size=3) if name.startswith("hex") else hexenv.tictactoe_v0.env()
    env.reset()
    separator = "," if ":" in text else ":"
    assert agent.act(env) == make_agent(f"{text}{separator}seed=4").act(env)


POLICY = {"policy": PolicyAgent(lambda planes, masks: np.zeros(masks.shape))}
NEEDS = {"alphazero": {"net": "tictactoe"}, "puct": POLICY, "gumbel": POLICY, "anet": POLICY}


@pytest.mark.parametrize(
    "name", sorted({*AGENTS} - NEED_AN_ENGINE - {"network", "own-network", "rllib", "sb3"})
)
def test_the_defaults_of_base_classes_are_what_an_agent_has(name, monkeypatch):
    """What an agent leaves to its base class comes there as it is listed for the agent."""
    if name in ("alphazero", "hexzero"):
        pytest.importorskip("torch", reason="the extra train is not installed")
    agent_class = agent_classes()[name]
    listed = parameters(agent_class)
    came = {}

    def recording(base):
        original, signature = base.__init__, inspect.signature(base.__init__)

        @functools.wraps(original)
        def record(self, *args, **options):
            bound = signature.bind(self, *args, **options)
            bound.apply_defaults()
            came.update(bound.arguments)
            original(self, *args, **options)

        return record

    for base in [*agent_class.__mro__[1:-1], Settings]:
        if "__init__" in vars(base):
            monkeypatch.setattr(base, "__init__", recording(base))
    agent_class(**NEEDS.get(name, {}))
    inherited = listed.keys() - inspect.signature(agent_class.__init__).parameters.keys()
    assert bool(inherited) == issubclass(agent_class, TreeSearchAgent)
    assert {key: came[key] for key in inherited} == {key: listed[key].default for key in inherited}


@pytest.mark.parametrize("name", sorted({*AGENTS} - NEED_A_MODEL - NEED_AN_ENGINE))
def test_defaults_are_read_as_they_are_listed(name):
    """Each parameter given as the text of its default makes an agent, "inf" too."""
    for key, parameter in parameters(agent_classes()[name]).items():
        make_agent(f"{name}:{key}={parameter.default}")


@pytest.mark.parametrize("name", sorted({*AGENTS} - NEED_A_MODEL - NEED_AN_ENGINE))
def test_only_what_may_be_infinite_takes_it(name):
    agent_class = agent_classes()[name]
    hints = type_hints(agent_class)
    numbers = [key for key in parameters(agent_class) if hints[key] in (float, float | None)]
    for key in numbers:
        for text in ("inf", "-inf"):
            if (key, text) != ("fpu", "inf"):
                with pytest.raises(ValueError, match=rf"{name}: expected .*, got {text}"):
                    make_agent(f"{name}:{key}={text}")


# ---- list ----------------------------------------------------------------------------------------


def test_list_names_all_games_and_agents():
    assert list(environment_makers()) == GAMES
    assert list(agent_classes()) == AGENTS
    text = run("list").stdout
    begun = [line.split()[0] for line in text.splitlines() if line[1:2].strip()]
    assert [word for word in begun if word in {*GAMES, *AGENTS}] == [*GAMES, *AGENTS]
    for parameter in ("board_size=11", "swap=False", "rows=6", "rule=freestyle", "c=1.0"):
        assert parameter in text
    assert text.count("max_nodes=5000000") == 1 + 1  # of all searches together, and of gumbel
    listed = json.loads(run("list", "--json").stdout)["agents"]
    words = set(text.split())
    for name, options in listed.items():  # nothing is lost
        assert {f"{key}={value}" for key, value in options.items()} <= words, name


@pytest.mark.parametrize("columns", ["40", "60"])
def test_the_list_wraps_in_a_narrow_window(columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", columns)
    lines = run("list").stdout.splitlines()
    assert max(map(len, lines)) <= int(columns)
    assert not any("\u2026" in line for line in lines)  # nothing is cut off
    listed = json.loads(run("list", "--json").stdout)["agents"]
    values = {f"{key}={value}" for options in listed.values() for key, value in options.items()}
    assert columns == "40" or values <= set(" ".join(lines).split())  # nor is a value split


def test_list_as_json():
    found = json.loads(run("list", "--json").stdout, parse_constant=pytest.fail)  # such as Infinity
    assert found["agents"]["uct"]["fpu"] == "inf"
    assert list(found) == ["games", "agents"]
    gomoku = {"board_size": 15, "connect": 5, "rule": "freestyle"}
    assert found["games"] == {
        "connect4": {"rows": 6, "columns": 7, "connect": 4},
        "gomoku": gomoku | {"forbidden": "masked", "opening": None},
        "hex": {"board_size": 11, "swap": False},
        "tictactoe": {},
    }
    assert list(found["agents"]) == AGENTS
    assert found["agents"]["uct"]["c"] == 1.0
    assert found["agents"]["random"] == {"seed": None}
    assert found["agents"]["sb3"]["path"] == "..."  # it must be given


@pytest.mark.parametrize("command", [(), ("match",), ("play",), ("list",)])
def test_help(command):
    output = run(*command, "--help").stdout
    assert output.startswith("Usage: ")
    assert run(*command, "-h").stdout == output


# ---- play ----------------------------------------------------------------------------------------

LOWEST = """
import time

class Lowest:
    '''Plays the lowest legal action.'''

    name = "lowest"
    statistics = None

    def __init__(self, skip: int = 0, pause: float = 0.0):
        self.skip, self.pause = skip, pause

    def reset(self, seed=None):
        pass

    def act(self, env):
        time.sleep(self.pause)
        mask = env.observe(env.agent_selection)["action_mask"]
        return int(mask.nonzero()[0][self.skip])


class Cheat(Lowest):
    def act(self, env):
        return 99


class Seeded(Lowest):
    def __init__(self, seed):
        super().__init__()
        self.seed = seed


class Needy(Lowest):
    def __init__(self, depth: int):
        super().__init__()


def env(handicap: bool = False, board_size: int = 4):
    from hexenv import hex_v0
    return hex_v0.env(board_size=board_size - handicap)


def drawn(render_mode):
    from hexenv import hex_v0
    return hex_v0.env(render_mode=render_mode)
"""


@pytest.fixture
def users_module(tmp_path, monkeypatch):
    """The name of a module of a user's, where Python finds it."""
    name = "module_of_a_user"
    (tmp_path / f"{name}.py").write_text(LOWEST)
    monkeypatch.syspath_prepend(tmp_path)
    yield name
    sys.modules.pop(name, None)


@pytest.fixture
def lowest(users_module):
    return f"{users_module}.Lowest"


def play(agent, *moves, game="tictactoe", options=(), end="\n"):
    """What is printed when a person types these lines."""
    return run("play", game, agent, *options, typed="\n".join(moves) + end).stdout


def moves_from(moves):
    return ("--moves", moves)


SECOND = ("--side", "second")
WON, LOST, STOPPED = "you have won", "the agent has won", "stopped"
TRANSCRIPTS = [  # options, lines typed, what is said meanwhile, the result and the moves
    ((), "5 3 7", ("you are X; type help for help\n", "you played 5\nthe agent played 1\n",
     "you played 3\nthe agent played 2\n", "X to play (ply 2)"), WON, "51327"),
    ((), "9 8 5", (), LOST, "918253"),
    ((), "2 4 5 7 9", (), "a draw", "214356789"),
    (SECOND, "5 3 7", (), WON, "152347"),
    (moves_from("1524"), "3", (), WON, "15243"),
    ((*SECOND, *moves_from("1524")), "6", (), LOST, "15243"),
    ((*SECOND, *moves_from("14253")), "", (), LOST, "14253"),
    (moves_from("14253"), "", (), WON, "14253"),
    (moves_from("152"), "3 quit", ("for help\nthe agent played 3\n", "3 is taken (ply 4)"),
     STOPPED, "1523"),
    ((), "5 zz 5 10  3 7", ("got 'zz'; type help", "5 is taken (ply 2); type help",
     "got '10'; type help"), WON, "51327"),
    ((), "moves 5 moves quit", ("your move: moves\nnone yet\n", "your move: moves\n51\n"),
     STOPPED, "51"),
    ((), "undo 5 9 undo 3 undo undo undo 4 quit", ("nothing to take back",) * 2, STOPPED, "41"),
    (SECOND, "5 undo 6 quit", (), STOPPED, "162"),  # the agent's first move stays
    (moves_from("15"), "3 undo undo quit", ("nothing to take back",), STOPPED, "15"),
    ((), "hint 5 hint quit", ("the agent would play 1\n", "the agent would play 2\n"),
     STOPPED, "51"),
    ((), "5 exit", (), STOPPED, "51"),
    ((), "5 Q", (), STOPPED, "51"),
    ((), "?", ("Type a move (5)",), STOPPED, ""),  # and the end of input
]  # fmt: skip


@pytest.mark.parametrize(("options", "typed", "said", "result", "moves"), TRANSCRIPTS)
def test_a_game_line_by_line(lowest, options, typed, said, result, moves):
    output = play(lowest, *typed.split(" "), options=options)
    for text in said:
        assert output.count(text) >= said.count(text)
    assert output.count("nothing to take back") == said.count("nothing to take back")
    assert output.endswith(f"{result}\nmoves: {moves}\n")


def test_a_person_may_write_as_they_like(lowest):
    output = play(lowest, "  B2 ", "QUIT", game="hex", options=("--option", "board_size=3"))
    assert "you played b2" in output
    assert output.endswith("stopped\nmoves: b2 a1\n")


def test_a_hint_of_a_searching_agent_has_a_value():
    output = play("uct:simulations=500", "hint", "quit", options=("--moves", "1425"))
    assert "the agent would play 3 (value +1.00)" in output


def test_a_seed_settles_the_agent():
    def game(seed):
        return play("random", "5", "quit", options=("--seed", seed))

    assert game(1) == game(1)
    assert len({game(seed) for seed in range(6)}) > 1


@pytest.mark.parametrize("game", GAMES)
def test_every_game_can_be_played(game, lowest):
    output = play(lowest, "help", "quit", game=game)
    example = re.search(r"Type a move \((\w+)\)", output)[1]
    assert f"you played {example}" in play(lowest, example, "quit", game=game)


# ---- what users bring ----------------------------------------------------------------------------


def test_an_agent_of_a_user(users_module):
    agents = (f"{users_module}.Lowest:skip=1,pause=0", f"{users_module}.Lowest")
    found = run_json("match", "tictactoe", *agents, "--games", 2)
    assert found["agents"] == list(agents)
    assert found["games"] == 2


def test_what_is_given_by_us_needs_no_value_from_the_user(users_module):
    agent = make_agent(f"{users_module}.Seeded", seed=3)
    assert agent.seed == 3
    assert make_environment(f"{users_module}:drawn", (), render_mode="ansi").render_mode == "ansi"
    with pytest.raises(ValueError, match=r"drawn: expected a value for render_mode, got none"):
        make_environment(f"{users_module}:drawn")


def test_an_agent_that_cheats_loses(users_module):
    agents = (f"{users_module}.Cheat", "random")
    found = run_json("match", "tictactoe", *agents, "--games", 4)
    assert (found["wins"], found["losses"], found["illegal_moves"]) == (0, 4, [4, 0])
    assert found["plies"] == 0.5  # only legal ones count


@pytest.mark.parametrize(
    ("agent", "message"),
    [
        ("Lowest:skip=x", "Lowest: expected skip as a whole number, got 'x'"),
        ("Lowest:jump=1", "Lowest: expected a parameter of skip, pause, got .*'jump'"),
        ("Needy", "Needy: expected a value for depth, got none"),
        ("Nobody", "Nobody: module 'module_of_a_user' has no attribute 'Nobody'"),
    ],
)
def test_mistakes_with_an_agent_of_a_user(users_module, agent, message):
    result = run("match", "tictactoe", f"{users_module}.{agent}", "random", status=2)
    assert re.search(message, result.stderr.splitlines()[-1])


def test_an_environment_of_a_user(users_module):
    arguments = ("match", f"{users_module}:env", "random", "random", "--games", 2)
    assert 7 <= run_json(*arguments)["plies"] <= 16
    found = run_json(*arguments, "--option", "handicap=true", "--option", "board_size=3")
    assert 3 <= found["plies"] <= 4


def test_an_environment_of_a_user_that_does_not_render(users_module):
    arguments = ("match", f"{users_module}:env", "random", "random", "--render", "ansi")
    result = run(*arguments, status=2)
    assert "unexpected keyword argument 'render_mode'" in result.stderr.splitlines()[-1]


def test_an_environment_of_pettingzoos():
    pytest.importorskip("pygame")
    game = "pettingzoo.classic.connect_four.connect_four:env"
    assert 7 <= run_json("match", game, "greedy", "random", "--games", 2)["plies"] <= 42
    result = run("play", game, "random", status=2)
    assert "expected a game of hexenv to play" in result.stderr


# ---- as a program --------------------------------------------------------------------------------

SCRIPT = shutil.which("hexenv", path=str(Path(sys.executable).parent))
PROGRAMS = {"module": [sys.executable, "-m", "agents.apps.cli"], "script": [SCRIPT or "hexenv"]}
over_programs = pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)


@pytest.fixture(autouse=True)
def _skip_what_is_not_installed(request):
    if "script" in request.node.name and SCRIPT is None:
        pytest.skip("the command is not installed beside this Python")


@over_programs
def test_the_program_runs_and_says_what_is_wrong(program):
    def told(*arguments):
        result = subprocess.run([*program, *arguments], capture_output=True, text=True, check=False)
        return result.returncode, result.stdout, result.stderr.splitlines()[-1:]

    assert told("--version") == (0, f"hexenv, version {hexenv.__version__}\n", [])
    wrong = "Error: expected a game of connect4, gomoku, hex, tictactoe, got 'chess'"
    assert told("match", "chess", "random", "random") == (2, "", [wrong])


@pytest.mark.skipif(SCRIPT is None, reason="the command is not installed beside this Python")
def test_modules_where_the_command_runs_are_found_and_hide_none_of_ours(tmp_path):
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "__init__.py").write_text("a package of the user")
    (tmp_path / "mine.py").write_text("from agents import RandomAgent as Mine\n")
    command = [SCRIPT, "tournament", "tictactoe", "mine.Mine", "random", "--pairs", "1"]
    result = subprocess.run(
        [*command, "--workers", "2", "--json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(result.stdout)["played"] == 2


WAITING = """
import sys
from agents import RandomAgent

class Teller(RandomAgent):
    '''Tells on standard error when it has begun a fourth game.'''

    name = "teller"
    games = 0

    def reset(self, seed=None):
        self.games += 1
        if self.games == 4:
            print("three games are over", file=sys.stderr, flush=True)
        super().reset(seed)
"""


def interrupted(tmp_path, program, *options):
    """Start a match without an end, interrupt it after three games, and return how it ended."""
    (tmp_path / "module_of_a_user.py").write_text(WAITING)
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    agents = ("module_of_a_user.Teller", "random")
    with hearing_interrupts():
        process = subprocess.Popen(
            [*program, "match", "tictactoe", *agents, "--games", "1000000000", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": path},
        )
    try:
        for line in process.stderr:
            if "three games are over" in line:
                break
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert "Traceback" not in stderr
    assert process.returncode == INTERRUPTED == 130
    return stdout, stderr


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT to send")
def test_an_interrupted_match_prints_the_table_so_far(tmp_path):
    stdout, stderr = interrupted(tmp_path, PROGRAMS["module"])
    games = int(re.match(r"(\d+) games", stdout)[1])
    assert games >= 3
    assert f"interrupted after {games} of 1000000000 games" in stderr
    first, second = (row for row in table_of(stdout) if len(row) > 2)
    assert sum(map(int, first[1:4])) == games
    assert first[1:4] == second[3:0:-1]


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT to send")
@over_programs
def test_an_interrupted_match_prints_json_so_far(tmp_path, program):
    stdout, _ = interrupted(tmp_path, program, "--json")
    found = json.loads(stdout)
    assert found["interrupted"] is True
    assert found["games"] == found["wins"] + found["draws"] + found["losses"] >= 3
    assert sum(found["games_moving_first"]) == found["games"]
