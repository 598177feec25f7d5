"""The configuration of a training run: what may be said in it, and what is said of mistakes."""

import dataclasses
import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

from agents.cli import main
from agents.core.reading import read_object
from agents.learning.configuration import (
    DEFAULTS,
    Configuration,
    as_dict,
    defaults,
    described,
    make,
    merged,
    parse_settings,
)

GAMES = ["connect4", "gomoku", "hex", "tictactoe"]


def parameters(kind=Configuration, where=""):
    """The dataclass fields of all sections by their full names."""
    for field in dataclasses.fields(kind):
        inner = field.default_factory
        if dataclasses.is_dataclass(inner):
            yield from parameters(inner, f"{where}{field.name}.")
        else:
            yield f"{where}{field.name}", field


def nested(name, value):
    """``{"a": {"b": value}}`` for the name ``a.b``."""
    for key in reversed(name.split(".")):
        value = {key: value}
    return value


def value_of(configuration, name):
    for key in name.split("."):
        configuration = getattr(configuration, key)
    return configuration


# ---- defaults ------------------------------------------------------------------------------------


def test_every_game_has_defaults_and_hex_is_the_game_that_is_not_named():
    assert sorted(DEFAULTS) == GAMES
    assert make({}) == make({"game": "hex"})
    assert make({}).game == "hex"


@pytest.mark.parametrize("game", GAMES)
def test_the_defaults_of_a_game_are_those_of_all_with_its_own_in_their_place(game):
    found, general = make({"game": game}), Configuration(game=game)
    own = {}
    for key, value in DEFAULTS[game].items():
        own |= (
            {f"{key}.{k}": v for k, v in value.items()} if isinstance(value, dict) else {key: value}
        )
    for name, _ in parameters():
        assert value_of(found, name) == own.get(name, value_of(general, name)), name
    assert set(own) <= {name for name, _ in parameters()}


@pytest.mark.parametrize("game", GAMES)
def test_a_configuration_as_plain_values_is_the_same_configuration(game):
    changed = {"game": game, "options": {"a": [1, 2]}, "learner": {"rate": 0.5}, "seed": 7}
    for found in (make({"game": game}), make(changed)):
        assert make(as_dict(found)) == found
        assert make(json.loads(json.dumps(as_dict(found)))) == found


def test_what_is_given_goes_before_the_defaults_of_the_game():
    found = make({"game": "tictactoe", "network": {"channels": 5}, "search": {"simulations": 3}})
    assert (found.network.channels, found.network.blocks) == (5, 2)
    assert (found.search.simulations, found.search.considered) == (3, 9)


def test_sections_and_options_are_merged_key_by_key():
    first = {"options": {"board_size": 5, "swap": True}, "search": {"c": 2.0, "fpu": 0.5}}
    second = {"options": {"board_size": 7}, "search": {"c": 1.0}}
    assert merged(first, second) == {
        "options": {"board_size": 7, "swap": True},
        "search": {"c": 1.0, "fpu": 0.5},
    }
    assert first["options"] == {"board_size": 5, "swap": True}


def test_two_configurations_share_no_list():
    first, second = make({}), make({})
    first.network.planes.append("side")
    first.network.layers[0]["filters"] = 1
    assert second.network.planes == Configuration().network.planes == []
    assert second.network.layers[0]["filters"] == Configuration().network.layers[0]["filters"] == 32


# ---- what is refused -----------------------------------------------------------------------------

REFUSED = {
    "rounds": (3, "expected a key of game, options, iterations, "),
    "search.depth": (3, "expected a key of method, simulations, .*, got search.depth"),
    "search": (3, "expected a section of values for search, got 3"),
    "learner": ([], r"expected a section of values for learner, got \[\]"),
    "iterations": (1.5, "expected iterations as a whole number, got 1.5"),
    "seed": (True, "expected seed as a whole number, got True"),
    "workers": (0, "expected workers from 1 to 4096, got 0"),
    "gate": (1.01, "expected gate from 0 to 1, got 1.01"),
    "engine": ("steam", "expected engine of processes, local, ray, got 'steam'"),
    "keep_games": (1, "expected keep_games as true or false, got 1"),
    "start": (None, "expected start as text, got None"),
    "options": ([["swap", True]], "expected options as an object, got"),
    "search.simulations": ("50", "expected search.simulations as a whole number, got '50'"),
    "search.c": (float("nan"), "expected search.c from 0 to 1e.06, got nan"),
    "search.fpu": (-1.5, "expected search.fpu from -1 to 1, got -1.5"),
    "search.method": ("minimax", "expected search.method of gumbel, puct, rollouts, got"),
    "learner.rate": (True, "expected learner.rate as a number, got True"),
    "learner.value_weight": (10**400, "expected learner.value_weight as a number, got 1000"),
    "learner.average": (1, "expected learner.average from 0 to 0.99999, got 1.0"),
    "learner.optimiser": ("lion", "expected learner.optimiser of adamw, adam, sgd, rmsprop, "),
    "network.planes": ("side", "expected network.planes as a list, got 'side'"),
    "network.layers": ([3], "expected network.layers as a list of an object, got 3 in it"),
    "replay.most_reuse": (65536, "expected replay.most_reuse from 1 to 65535, got 65536"),
    "self_play.games": (-1, "expected self_play.games from 1 to 65536, got -1"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_wrong_value_is_refused_by_its_name(name):
    value, message = REFUSED[name]
    with pytest.raises(ValueError, match=message):
        make(nested(name, value))


def test_planes_are_a_list_of_texts():
    with pytest.raises(ValueError, match=r"network\.planes as a list of text, got 1 in it"):
        make({"network": {"planes": ["side", 1]}})


@pytest.mark.parametrize("game", ["chess", "", "hex_v0"])
def test_an_unknown_game_is_told_those_there_are(game):
    with pytest.raises(
        ValueError, match="expected a game of connect4, gomoku, hex, tictactoe, got"
    ):
        make({"game": game})


def test_a_game_is_text():
    with pytest.raises(ValueError, match="expected game as text, got 3"):
        make({"game": 3})


def test_a_gate_needs_games_to_be_passed():
    with pytest.raises(ValueError, match="expected duel_games from 2 for a gate, got 1"):
        make({"gate": 0.55, "duel_games": 1})
    assert make({"gate": 0.55, "duel_games": 2}).gate == 0.55
    assert make({"duel_games": 0}).duel_games == 0


def test_a_whole_number_will_do_for_a_number():
    found = make({"learner": {"rate": 1}}).learner.rate
    assert (found, type(found)) == (1.0, float)


@pytest.mark.parametrize(("name", "field"), list(parameters()))
def test_the_bounds_of_every_parameter_are_within_them(name, field):
    least, most = field.metadata["least"], field.metadata["most"]
    if least is None:
        return
    kind = type(value_of(Configuration(), name))
    for value in (least, most):
        game = {"duel_games": 100} if name == "gate" else {}
        found = value_of(make({**game, **nested(name, kind(value))}), name)
        assert found == kind(value)
    for value in (least - 1, most + 1):
        with pytest.raises(ValueError, match=f"expected {name} from "):
            make(nested(name, kind(value)))


# ---- texts ---------------------------------------------------------------------------------------


def test_settings_are_json_or_else_text():
    found = parse_settings(
        [
            "iterations=3",
            "search.c=0.5",
            "search.method=puct",
            "learner.symmetries=false",
            'network.planes=["side", "last_move"]',
            "options.board_size=[3, 5]",
            "start=",
            "engine=a=b",
        ]
    )
    assert found == {
        "iterations": 3,
        "search": {"c": 0.5, "method": "puct"},
        "learner": {"symmetries": False},
        "network": {"planes": ["side", "last_move"]},
        "options": {"board_size": [3, 5]},
        "start": "",
        "engine": "a=b",
    }


def test_of_two_settings_of_one_parameter_the_last_counts():
    assert parse_settings(["seed=1", "search.c=1", "seed=2"]) == {"seed": 2, "search": {"c": 1}}


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (["iterations"], "expected section.key=value, got 'iterations'"),
        (["=3"], "expected section.key=value, got '=3'"),
        (["search=3", "search.c=1"], "got 'search.c=1': search has a value"),
        (["seed.a.b=1", "seed.a.b.c=1"], "got 'seed.a.b.c=1': b has a value"),
    ],
)
def test_what_is_no_setting_is_refused(pairs, message):
    with pytest.raises(ValueError, match=message):
        parse_settings(pairs)


def test_a_file_is_a_json_object(tmp_path):
    path = tmp_path / "config.json"
    path.write_text('{"game": "tictactoe", "seed": 3}', encoding="utf-8")
    assert make(read_object(path)).seed == 3
    for text, message in [
        ("{", "config.json: expected JSON, got "),
        ("[1]", r"config.json: expected a JSON object, got \[1\]"),
        ("\xff", "config.json:1: expected text in UTF-8, got "),
    ]:
        path.write_text(text, encoding="latin-1")
        with pytest.raises(ValueError, match=message):
            read_object(path)
    with pytest.raises(FileNotFoundError):
        read_object(tmp_path / "none.json")


# ---- descriptions --------------------------------------------------------------------------------


def test_every_parameter_is_described_with_its_value():
    found = {name: (value, about) for name, value, about in described(make({"game": "gomoku"}))}
    assert list(found) == [name for name, _ in parameters()]
    for name, field in parameters():
        value, about = found[name]
        assert json.loads(value) == value_of(make({"game": "gomoku"}), name)
        assert field.metadata["about"], name
        assert about.startswith(field.metadata["about"])
        assert all(choice in about for choice in field.metadata["of"]), name


def test_the_command_shows_every_parameter_with_what_was_set(tmp_path):
    path = tmp_path / "config.json"
    path.write_text('{"seed": 5, "search": {"c": 0.5}}', encoding="utf-8")
    arguments = ["train", "hex", "--config", str(path), "--set", "search.c=0.75", "--describe"]
    shown = CliRunner().invoke(main, arguments).stdout
    for name, _ in parameters():
        assert name in shown
    found = json.loads(CliRunner().invoke(main, [*arguments, "--json"]).stdout)
    assert (found["game"], found["seed"], found["search"]["c"]) == ("hex", 5, 0.75)
    assert make(found) == make(merged(defaults("hex"), {"seed": 5, "search": {"c": 0.75}}))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["chess"], "expected a game of connect4, gomoku, hex, tictactoe, got 'chess'"),
        (["hex", "--set", "seed=x"], "expected seed as a whole number, got 'x'"),
        (["hex", "--config", "no.json"], "no.json: No such file or directory"),
        (["hex", "--config", "CONFIG"], "expected a configuration of hex, got one of tictactoe"),
    ],
)
def test_a_mistake_at_the_command_is_one_line(arguments, message, tmp_path):
    path = tmp_path / "config.json"
    path.write_text('{"game": "tictactoe"}', encoding="utf-8")
    words = [str(path) if word == "CONFIG" else word for word in arguments]
    result = CliRunner().invoke(main, ["train", *words, "--describe"])
    assert result.exit_code in (1, 2)
    assert message in " ".join(result.output.split())
    assert isinstance(result.exception, SystemExit)


def test_parameters_are_described_without_pytorch():
    code = (
        "import sys\n"
        "from agents.cli import main\n"
        "main(['train', 'hex', '--describe'], standalone_mode=False)\n"
        "assert 'torch' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "search.simulations" in done.stdout
