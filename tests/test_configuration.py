"""The configuration of a training run: what may be said in it, and what is said of mistakes."""

import json
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner
from msgspec import Struct

from agents.apps.cli import main
from agents.core.reading import read_object
from agents.core.structured import fields_of, meta_of
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
    """The types of the parameters of all sections by their full names."""
    for name, inner in fields_of(kind).items():
        if isinstance(inner, type) and issubclass(inner, Struct):
            yield from parameters(inner, f"{where}{name}.")
        else:
            yield f"{where}{name}", inner


PARAMETERS = dict(parameters())


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


@pytest.mark.parametrize("game", GAMES)
def test_the_defaults_of_a_game_are_those_of_all_with_its_own_in_their_place(game):
    assert sorted(DEFAULTS) == GAMES
    found, general = make({"game": game}), Configuration(game=game)
    own = {}
    for key, value in DEFAULTS[game].items():
        own |= (
            {f"{key}.{k}": v for k, v in value.items()} if isinstance(value, dict) else {key: value}
        )
    for name in PARAMETERS:
        assert value_of(found, name) == own.get(name, value_of(general, name)), name
    assert set(own) <= set(PARAMETERS)


@pytest.mark.parametrize("game", GAMES)
def test_a_configuration_as_plain_values_is_the_same_configuration(game):
    changed = {"game": game, "options": {"a": [1, 2]}, "learner": {"rate": 0.5}, "seed": 7}
    for found in (make({"game": game}), make(changed)):
        assert make(json.loads(json.dumps(as_dict(found)))) == found


def test_given_values_go_before_the_defaults_of_the_game():
    assert make({}) == make({"game": "hex"})
    found = make({"game": "tictactoe", "network": {"channels": 5}, "learner": {"rate": 1}})
    assert (found.network.channels, found.network.blocks) == (5, 2)
    assert type(found.learner.rate) is float


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


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("rounds", 3, "options, iterations, .*'rounds'"),
        ("search.depth", 3, "simulations, .*'search.depth'"),
        ("search.simulation", 3, r"'search.simulation' \(did you mean simulations\?\)"),
        ("search", 3, "search as an object, got 3"),
        ("learner", [], r"learner as an object, got \[\]"),
        ("game", 3, "game as a text, got 3"),
        ("game", "hexx", r"connect4, gomoku, .*'hexx' \(did you mean hex\?\)"),
        ("iterations", 1.5, "iterations as a whole number.*got 1.5"),
        ("seed", True, "seed as a whole number.*got True"),
        ("engine", "steam", "engine of processes, local, ray, got 'steam'"),
        ("keep_games", 1, "keep_games as true or false, got 1"),
        ("start", None, "start as a text, got None"),
        ("options", [["swap", True]], "options as an object, got"),
        ("search.simulations", "50", "search.simulations as a whole number.*got '50'"),
        ("search.c", float("nan"), "search.c as .*, got nan"),
        ("search.method", "gumble", "method of gumbel, puct, rollouts, .*mean gumbel"),
        ("learner.rate", True, "learner.rate as a number.*got True"),
        ("learner.value_weight", 10**400, "learner.value_weight as .*got 1000"),
        ("network.planes", ["side", 1], r"network.planes\[1\] as a text, got 1"),
        ("network.planes", {"side"}, r"network\.planes as a list, got"),
        ("network.planes", frozenset({"side"}), r"network\.planes as a list, got"),
        ("network.planes", {}, r"network\.planes as a list, got"),
        ("network.planes", "side", r"network\.planes as a list, got"),
        ("network.layers", [3], r"network.layers\[0\] as an object, got 3"),
    ],
)
def test_a_wrong_value_is_refused_by_its_name(name, value, message):
    with pytest.raises(ValueError, match=message):
        make(nested(name, value))


def test_numbers_and_texts_of_subclasses_become_plain_ones():
    class Count(int):
        pass

    found = make(
        {
            "game": np.str_("hex"),
            "iterations": Count(7),
            "learner": {"rate": np.float64(0.5)},
            "network": {"planes": [np.str_("side")]},
        }
    )
    values = [found.game, found.iterations, found.learner.rate, found.network.planes[0]]
    assert values == ["hex", 7, 0.5, "side"]
    assert [type(value) for value in values] == [str, int, float, str]
    for value in (np.int64(7), np.bool_(True), True):
        with pytest.raises(ValueError, match="iterations as a whole number"):
            make({"iterations": value})


def test_a_gate_needs_games_to_be_passed():
    with pytest.raises(ValueError, match="duel_games from 2"):
        make({"gate": 0.55, "duel_games": 1})
    assert make({"gate": 0.55, "duel_games": 2}).gate == 0.55
    assert make({"duel_games": 0}).duel_games == 0


def test_the_bounds_of_every_parameter_are_allowed_and_nothing_beyond_them():
    bounded = {name: meta_of(kind) for name, kind in PARAMETERS.items()}
    bounded = {name: meta for name, meta in bounded.items() if meta.ge is not None}
    assert len(bounded) > 40
    for name, meta in bounded.items():
        kind = type(value_of(Configuration(), name))
        for value in (meta.ge, meta.le):
            assert value_of(make({"duel_games": 100} | nested(name, kind(value))), name) == value
        for value in (meta.ge - 1, meta.le + 1):
            with pytest.raises(ValueError, match=f"{name} as "):
                make(nested(name, kind(value)))


# ---- texts ---------------------------------------------------------------------------------------


def test_settings_are_json_or_else_text():
    pairs = ["iterations=3", "search.c=1", "search.c=0.5", "search.method=puct", "start="]
    pairs += ["options.board_size=[3, 5]", "engine=a=b", "learner.symmetries=false"]
    assert parse_settings(pairs) == {
        "iterations": 3,
        "search": {"c": 0.5, "method": "puct"},
        "learner": {"symmetries": False},
        "options": {"board_size": [3, 5]},
        "start": "",
        "engine": "a=b",
    }


@pytest.mark.parametrize("pair", ["iterations", "=3", "search.c=1", "seed.a.b.c=1"])
def test_what_is_no_setting_is_refused(pair):
    with pytest.raises(ValueError, match=f"section.key=value, got '{pair}'"):
        parse_settings(["search=3", "seed.a.b=1", pair])


# ---- descriptions --------------------------------------------------------------------------------


def test_every_parameter_is_described_with_its_value():
    configuration = make({"game": "gomoku"})
    found = {name: (value, about) for name, value, about in described(configuration)}
    assert list(found) == list(PARAMETERS)
    for name, kind in PARAMETERS.items():
        value, about = found[name]
        assert json.loads(value) == value_of(configuration, name)
        assert about.startswith(meta_of(kind).description)
    assert all(name in found["learner.optimiser"][1] for name in ("adamw", "sgd"))


def test_the_command_shows_every_parameter_with_what_was_set(tmp_path):
    path = tmp_path / "config.json"
    path.write_text('{"seed": 5, "search": {"c": 0.5}}', encoding="utf-8")
    arguments = ["train", "hex", "--config", str(path), "--set", "search.c=0.75", "--describe"]
    shown = CliRunner().invoke(main, arguments).stdout
    assert all(name in shown for name in PARAMETERS)
    found = json.loads(CliRunner().invoke(main, [*arguments, "--json"]).stdout)
    assert (found["game"], found["seed"], found["search"]["c"]) == ("hex", 5, 0.75)
    assert make(found) == make(merged(defaults("hex"), {"seed": 5, "search": {"c": 0.75}}))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["chess"], "a game of connect4, gomoku, hex, tictactoe, module:function, got 'chess'"),
        (["hex", "--set", "seed=x"], "seed as a whole number"),
        (["hex", "--config", "no.json"], "no.json: No such file or directory"),
        (["hex", "--config", "CONFIG"], "a configuration of hex, got one of tictactoe"),
    ],
)
def test_a_mistake_at_the_command_is_one_line(arguments, message, tmp_path):
    path = tmp_path / "config.json"
    path.write_text('{"game": "tictactoe"}', encoding="utf-8")
    assert make(read_object(path)).game == "tictactoe"
    words = [str(path) if word == "CONFIG" else word for word in arguments]
    result = CliRunner().invoke(main, ["train", *words, "--describe"])
    assert result.exit_code in (1, 2)
    assert message in " ".join(result.output.split())
    assert isinstance(result.exception, SystemExit)


def test_parameters_are_described_without_pytorch():
    code = (
        "import sys\n"
        "from agents.apps.cli import main\n"
        "main(['train', 'hex', '--describe'], standalone_mode=False)\n"
        "assert 'torch' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "search.simulations" in done.stdout
