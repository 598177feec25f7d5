"""AlphaHex with parts of a user's own: a network, an optimiser, a game, by name, resumable."""

import json
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace
from training_runs import call, differences, end_of, tiny, train

from agents.learning.configuration import NetworkOptions
from agents.learning.configuration import make as configured
from agents.registry import environment_name, make_agent, make_environment
from hexenv import hex_v0, tictactoe_v0
from hexenv.envs.observation import cell_symmetries
from hexenv.games import base

torch = pytest.importorskip("torch", reason="the extra train is not installed")
pytest.importorskip("safetensors", reason="the extra train is not installed")

import own_learning  # noqa: E402

from agents import NetworkAgent, OwnNetworkAgent  # noqa: E402
from agents.learning.evaluator import NetworkEvaluator  # noqa: E402
from agents.learning.files import load_network, save_network  # noqa: E402
from agents.learning.networks import new_network  # noqa: E402
from agents.learning.topp import new_topp  # noqa: E402
from agents.learning.training import Run, StoppedError  # noqa: E402

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
GAME = tictactoe_v0.raw_env().game
NET = NetworkOptions(kind="own_learning:Net", arguments={"units": 3})
OWN = {
    "network": {"kind": "own_learning:Net", "arguments": {"units": 5}},
    "learner": {"optimiser": "own_learning:Decaying", "optimiser_arguments": {"decay": 0.5}},
}
BREAKTHROUGH = {"rows": 4, "columns": 3}


@pytest.fixture(autouse=True)
def examples(monkeypatch):
    for folder in ("games", "."):
        monkeypatch.syspath_prepend(str(EXAMPLES / folder))


def stopped(directory, settings, iterations):
    """A run that is stopped on its way, as by Ctrl-C."""
    run = Run(directory, settings)

    def report(figures):
        if figures["iteration"] == iterations:
            run._stop = True

    with pytest.raises(StoppedError):
        run.run(report)


# ---- networks ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["own_learning:Net", "own_learning:BatchBound"])
def test_a_network_of_ones_own_plays_as_it_says(kind):
    network = new_network(GAME, NetworkOptions(kind=kind), seed=1).eval()
    evaluator = NetworkEvaluator(network, GAME, ())
    states = base.new_states(GAME, 7)
    for number, state in enumerate(states):
        GAME.step(state, number)
    planes = torch.from_numpy(evaluator.planes_of(GAME, states)).float()
    with torch.no_grad():
        logits, values = network(planes)
    priors, found = evaluator.evaluate(GAME, states)
    assert np.allclose(priors, torch.softmax(logits, 1), atol=1e-6)
    assert np.allclose(found, values, atol=1e-6)
    others = new_network(GAME, NetworkOptions(kind=kind), seed=2).eval()
    evaluator.update(others)
    with torch.no_grad():
        assert np.allclose(evaluator.evaluate(GAME, states)[1], others(planes)[1], atol=1e-6)


def test_a_network_of_ones_own_has_a_board_its_arguments_and_a_seed():
    networks = [new_network(GAME, NET, seed) for seed in (1, 1, 2)]
    assert networks[0].board == (3, 3, ("own", "opponent"), 9)
    assert networks[0].hidden.out_features == 3
    weights = [network.logits.weight for network in networks]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])
    assert networks[0].norm.num_batches_tracked == 0  # trying it has left no trace


def test_values_beyond_one_are_cut():
    network = new_network(GAME, NET, seed=1).eval()
    network.forward = lambda planes: (planes.flatten(1)[:, :9], 5.0 * torch.ones(len(planes)))
    values = NetworkEvaluator(network, GAME, ()).evaluate(GAME, base.new_states(GAME, 2))[1]
    assert values.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ValueAsColumn", r"expected values of shape \(3,\) \(batch\), got a tensor of .*\(3, 1\)"),
        ("LogitsAlone", r"expected two tensors, logits and values, got a tensor of .*\(3, 9\)"),
        (
            "CellsForActions",
            r"expected logits of shape \(3, 9\) \(batch, actions\), got .*\(3, 8\)",
        ),
        (
            "ChannelsFirst",
            r"forward failed for planes of \(3, 3, 3, 2\) \(batch, rows, columns, pl",
        ),
        ("NotNumbers", "expected logits as finite floats, got tensor"),
        ("WithoutGradient", "expected logits that depend on its parameters"),
        ("Unreadable", r"expected tensors alone in its state, got _extra_state \{1, 2\}"),
        ("no_module", r"expected a torch.nn.Module, got Board\(rows=3"),
        ("nothing_to_learn", "expected parameters that learn, got none"),
        ("Missing", "expected a name to import, got own_learning.Missing"),
    ],
)
def test_a_wrong_network_is_refused_before_it_plays(tmp_path, name, message):
    settings = tiny(network={"kind": f"own_learning:{name}"})
    with pytest.raises(ValueError, match=f"network.kind own_learning:{name}: .*{message}"):
        Run(tmp_path / "run", settings)
    assert not (tmp_path / "run").exists()


def test_wrong_arguments_of_a_network_are_refused():
    options = replace(NET, arguments={"depth": 3})
    with pytest.raises(ValueError, match=r"cannot make it of Board\(rows=3.*TypeError.*'depth'"):
        new_network(GAME, options)


def test_a_canonical_board_is_for_our_networks():
    game = hex_v0.raw_env(board_size=3).game
    assert not configured(
        {"game": "hex", "network": {"kind": "own_learning:Net"}}
    ).network.canonical
    with pytest.raises(ValueError, match=r"network\.canonical false for a network of your own"):
        new_network(game, replace(NET, canonical=True))


@pytest.mark.parametrize(
    ("section", "key", "message"),
    [
        ("network", "kind", r"network: expected kind of residual, anet, module:Net, got 'resid'"),
        (
            "learner",
            "optimiser",
            r"learner: expected optimiser of adamw, .*module:Class, got 'resid'",
        ),
    ],
)
def test_a_name_of_nothing_is_told_those_there_are(section, key, message):
    with pytest.raises(ValueError, match=message):
        configured({section: {key: "resid"}})


def test_classes_may_stand_for_their_names():
    values = tiny(network={"kind": own_learning.Net}, learner={"optimiser": own_learning.momentum})
    found = configured(values)
    assert found.network.kind == "own_learning:Net"
    assert found.learner.optimiser == "own_learning:momentum"

    class Local(own_learning.Net):
        pass

    for wrong in (Local, lambda board: None):
        with pytest.raises(ValueError, match=r"network\.kind as a class or function of a module"):
            configured({"network": {"kind": wrong}})


# ---- files ---------------------------------------------------------------------------------------


def test_a_file_of_ones_own_network_is_read_by_who_trusts_it(tmp_path):
    path = tmp_path / "net.safetensors"
    network = new_network(GAME, NET, seed=3).eval()
    save_network(path, network, NET, ("tictactoe", {}), {})
    message = "expected a network of hexenv, got 'own_learning:Net' .*own-network:file=FILE"
    for load in (load_network, NetworkAgent, lambda net: make_agent(f"alphazero:net={net}")):
        with pytest.raises(ValueError, match=message):
            load(str(path))
    for load in (OwnNetworkAgent, lambda net: make_agent(f"own-network:file={net}")):
        saved = load(str(path)).saved
        pairs = zip(saved.network.state_dict().values(), network.state_dict().values(), strict=True)
        assert all(torch.equal(one, other) for one, other in pairs)
    saved = load_network(path, trusted=("own_learning:Net",))
    assert saved.options == NET
    env = tictactoe_v0.env()
    env.reset()
    assert make_agent(f"puct:policy=own-network:file={path},simulations=4").act(env) in range(9)


def test_a_file_cannot_have_its_network_imported(tmp_path):
    path = tmp_path / "net.safetensors"
    options = NetworkOptions(kind="subprocess:getoutput", arguments={})
    save_network(path, new_network(GAME, NET), options, ("tictactoe", {}), {})
    with pytest.raises(ValueError, match="expected a network of hexenv, got 'subprocess:getout"):
        load_network(path)


# ---- optimisers ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("optimiser", "message"),
    [
        ("own_learning:no_optimiser", r"expected a torch\.optim\.Optimizer, got 0\.002"),
        ("own_learning:Missing", "expected a name to import"),
        ("torch.optim:LBFGS", r"expected step\(\) without arguments, got closure"),
        ("os:getcwd", "cannot make it: TypeError"),
    ],
)
def test_a_wrong_optimiser_is_refused(tmp_path, optimiser, message):
    with pytest.raises(ValueError, match=message):
        Run(tmp_path / "run", tiny(learner={"optimiser": optimiser}))
    assert not (tmp_path / "run").exists()


def test_arguments_of_an_optimiser_reach_it(tmp_path):
    run = Run(tmp_path, tiny(learner={"optimiser_arguments": {"eps": 0.125}}))
    assert run.learner.optimiser.defaults["eps"] == 0.125
    with pytest.raises(ValueError, match=r"learner.optimiser adamw: cannot make it: TypeError.*ep"):
        Run(tmp_path / "other", tiny(learner={"optimiser_arguments": {"epsilon": 1}}))


@pytest.mark.compiled(only=True)
def test_what_a_checkpoint_could_not_give_back_is_refused(tmp_path):
    message = r"in a checkpoint, got learner\.optimiser\.state\.0\.seen of builtins\.set: \{1\}"
    with pytest.raises(ValueError, match=message):
        train(tmp_path, tiny(iterations=3, learner={"optimiser": "own_learning:Odd"}))


# ---- runs ----------------------------------------------------------------------------------------


@pytest.mark.compiled(only=True)
@pytest.mark.parametrize("engine", ["local", pytest.param("processes", marks=pytest.mark.slow)])
def test_a_run_of_ones_own_parts_goes_on_as_if_unbroken(tmp_path, engine):
    settings = tiny(iterations=3, engine=engine, **OWN)
    train(tmp_path / "whole", settings)
    stopped(tmp_path / "broken", settings, 2)
    run = train(tmp_path / "broken", {})
    assert type(run.learner.optimiser) is own_learning.Decaying
    ends = [end_of(tmp_path / name, None) for name in ("whole", "broken")]
    assert differences(*ends) == []
    state = run.learner.optimiser.state_dict()["state"][0]
    assert state["steps"] == run.learner.steps > 0


@pytest.mark.compiled(only=True)
def test_the_example_trains_its_parts_and_goes_on(tmp_path):
    import own_training

    settings = tiny(
        **{key: own_training.SETTINGS[key] for key in ("game", "network", "learner")},
        options=BREAKTHROUGH,
        iterations=2,
        duel_games=2,
    )
    settings["learner"] = {**settings["learner"], "batch": 16}
    stopped(tmp_path, settings, 1)
    run = train(tmp_path, {})
    assert (run.iteration, run.game.name) == (2, "breakthrough")
    assert run.learner.steps > 0
    topp = new_topp(tmp_path, pairs=1, simulations=2)
    assert topp.participants[0].agent.startswith("own-network:file=")
    env = make_environment("breakthrough:env", (), **BREAKTHROUGH)
    env.reset()
    for participant in topp.participants:
        assert make_agent(participant.agent).act(env) in range(env.unwrapped.game.num_actions())


def test_a_run_starts_from_a_network_of_its_own_kind(tmp_path):
    settings = tiny(iterations=1, network={"kind": NET.kind, "arguments": NET.arguments})
    options = configured(settings).network
    path = tmp_path / "start.safetensors"
    network = new_network(GAME, options, seed=9)
    save_network(path, network, options, ("tictactoe", {}), {})
    run = Run(tmp_path / "run", {**settings, "start": str(path)})
    assert torch.equal(run.learner.network.logits.weight, network.logits.weight)
    with pytest.raises(ValueError, match="expected a network of hexenv, got 'own_learning:Net'"):
        Run(tmp_path / "other", tiny(start=str(path)))


# ---- games ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("breakthrough:Breakthrough-v0", "breakthrough:env"),
        ("hexenv/Hex-v0", "hex"),
        ("hex", "hex"),
        ("breakthrough:env", "breakthrough:env"),
        ("Nothing-v0", "Nothing-v0"),
    ],
)
def test_a_registered_name_is_a_game(name, expected):
    assert environment_name(name) == expected
    if expected in ("breakthrough:env", "hex"):
        assert configured({"game": name}).game == expected
        assert make_environment(name).unwrapped.game.name == expected.partition(":")[0]
    else:
        with pytest.raises(ValueError, match=r"expected a game of connect4, .*got 'Nothing-v0'"):
            configured({"game": name})


def test_a_game_of_moves_is_turned_as_its_pieces_are():
    game = make_environment("breakthrough:env", (), **BREAKTHROUGH).unwrapped.game
    cells = np.arange(12).reshape(4, 3)
    assert np.array_equal(cell_symmetries(game), [cells.ravel(), cells[:, ::-1].ravel()])


def test_a_game_whose_symmetries_cannot_be_shown_trains_without_them(tmp_path, monkeypatch):
    game = make_environment("breakthrough:env", (), **BREAKTHROUGH).unwrapped.game
    monkeypatch.setattr(type(game), "cells_of_action", lambda self, state, action: ())
    settings = {"game": "breakthrough:env", "options": BREAKTHROUGH}
    with pytest.raises(ValueError, match=r"shown on cells, got Break.*learner.symmetries=false"):
        Run(tmp_path, tiny(**settings))
    learner = {"symmetries": False}
    assert Run(tmp_path, tiny(**settings, learner=learner)).iteration == 0


def test_the_command_knows_ones_own_parts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ("--set", "network.kind=own_learning:Net", "--describe", "--json")
    for name in ("breakthrough:env", "breakthrough:Breakthrough-v0"):
        found = json.loads(call("train", name, *words).stdout)
        assert (found["game"], found["network"]["kind"]) == ("breakthrough:env", "own_learning:Net")
    path = tmp_path / "net.safetensors"
    save_network(path, new_network(GAME, NET), NET, ("tictactoe", {}), {})
    said = call("network", path, status=2).output
    assert "own-network:file=FILE" in " ".join(said.split())
