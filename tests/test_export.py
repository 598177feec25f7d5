"""Networks for other programs, and the command that shows and writes them."""

import functools
import json
import sys

import numpy as np
import pytest
from msgspec.structs import replace
from PIL import Image
from training_runs import call

from agents.learning.configuration import NetworkOptions

torch = pytest.importorskip("torch", reason="the extra train is not installed")
pytest.importorskip("safetensors", reason="the extra train is not installed")

from agents.learning import export  # noqa: E402
from agents.learning.evaluator import NetworkEvaluator  # noqa: E402
from agents.learning.fast_graph import has_openvino  # noqa: E402
from agents.learning.files import load_network, save_network  # noqa: E402
from agents.learning.networks import new_network, parameter_table  # noqa: E402
from agents.learning.saved import game_of  # noqa: E402
from hexenv.common.extras import how_to_install  # noqa: E402
from hexenv.envs.observation import plane_names  # noqa: E402
from hexenv.games import base, notation  # noqa: E402
from hexenv.render.overlay import overlay_of_shares  # noqa: E402
from hexenv.render.rgb import render_rgb  # noqa: E402

run = functools.partial(call, "network")
SMALL = NetworkOptions(channels=8, blocks=2, head_channels=4, value_units=16)
CONVOLUTIONAL = replace(SMALL, heads="convolutional")
CANONICAL = replace(CONVOLUTIONAL, canonical=True)
ANET = NetworkOptions(kind="anet", planes=["last_move"], value=False)
KINDS = {
    "dense": ("connect4", {}, SMALL),
    "by columns": ("connect4", {}, CONVOLUTIONAL),
    "canonical with swap": ("hex", {"board_size": 5, "swap": True}, CANONICAL),
    "anet without value": ("tictactoe", {}, ANET),
}


def saved_as(path, kind):
    """A network's file; its normalisations have seen something."""
    name, options, about = KINDS[kind]
    game = game_of(name, options)
    network = new_network(game, about, seed=3)
    shape = game.rows, game.columns, len(plane_names(game, tuple(about.planes)))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(4)
        for _ in range(20):
            network.train()((torch.rand(32, *shape) > 0.6).float())
    save_network(path, network, about, (name, options), {"iteration": 7, "positions": 1234})
    return load_network(path)


def boards(saved, count):
    """Boards that might be, as far as a network can tell."""
    shape = (count, *export.example(saved).shape[1:])
    return torch.from_numpy(np.random.default_rng(count).integers(0, 2, shape)).float()


def answers(saved, planes):
    with torch.no_grad():
        return [answer.numpy() for answer in saved.network(planes)]


@pytest.fixture(scope="module")
def connect4(tmp_path_factory):
    path = tmp_path_factory.mktemp("networks") / "connect4.safetensors"
    saved_as(path, "dense")
    return path


# ---- files for other programs --------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_onnx_runtime_says_what_the_network_says(kind, tmp_path):
    for module in ("onnx", "onnxscript"):
        pytest.importorskip(module, reason="the extra train is not installed")
    runtime = pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed")
    saved = saved_as(tmp_path / "net.safetensors", kind)
    export.write_onnx(saved, tmp_path / "net.onnx")
    assert {path.name for path in tmp_path.iterdir()} == {"net.safetensors", "net.onnx"}
    session = runtime.InferenceSession(tmp_path / "net.onnx", providers=["CPUExecutionProvider"])
    for count in (1, 2, 7, 64):
        planes = boards(saved, count)
        found = session.run(["logits", "values"], {"planes": planes.numpy()})
        for one, other in zip(found, answers(saved, planes), strict=True):
            np.testing.assert_allclose(one, other, atol=1e-5)
    about = json.loads(session.get_modelmeta().custom_metadata_map["hexenv"])
    assert about == json.loads(json.dumps(export.description(saved)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")  # of reading it, here
@pytest.mark.filterwarnings("ignore:`torch.jit:FutureWarning")
def test_torchscript_says_what_the_network_says(kind, tmp_path):
    saved = saved_as(tmp_path / "net.safetensors", kind)
    export.write_torchscript(saved, tmp_path / "net.pt")
    extra = {"hexenv.json": ""}
    loaded = torch.jit.load(tmp_path / "net.pt", _extra_files=extra)
    for count in (1, 2, 7, 64):
        planes = boards(saved, count)
        for one, other in zip(loaded(planes), answers(saved, planes), strict=True):
            np.testing.assert_allclose(one.detach().numpy(), other, atol=1e-5)
    about = json.loads(extra["hexenv.json"])
    assert about["about"] == {"iteration": 7, "positions": 1234}
    assert len(about["planes"]) == planes.shape[-1]


@pytest.mark.filterwarnings("ignore")  # of TensorBoard's reader
def test_tensorboard_shows_the_graph(tmp_path):
    reader = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator",
        reason="the extra train is not installed",
    )
    saved = saved_as(tmp_path / "net.safetensors", "canonical with swap")
    export.write_graph(saved, tmp_path / "board")
    events = reader.EventAccumulator(str(tmp_path / "board"))
    events.Reload()
    names = {node.name for node in events.Graph().node}
    for part in ("stem", "blocks", "policy", "value_out"):
        assert any(f"[{part}]" in name or f"/{part}" in name for name in names), (part, names)


def test_what_was_there_stays_when_a_file_cannot_be_written(connect4, tmp_path):
    path = tmp_path / "none" / "net.pt"
    result = run(connect4, "--torchscript", path, status=1)
    assert f"{path}: No such file or directory" in result.output.replace("\n", "")
    assert list(tmp_path.iterdir()) == []


# ---- what it says of a position ------------------------------------------------------------------


def test_a_judgement_is_that_of_who_plays_with_the_network(connect4):
    saved = load_network(connect4)
    found = export.evaluate_position(saved, "444444 5")
    states = base.new_states(saved.game, 1)
    saved.game.copy(found.state, states[0])
    priors, values = NetworkEvaluator(saved.network, saved.game, ()).evaluate(saved.game, states)
    precision = 0.05 if has_openvino() else 1e-6
    assert found.value == pytest.approx(values[0], abs=precision)
    legal = base.legal_mask_of(saved.game, found.state) != 0
    assert legal.tolist() == [True] * 3 + [False] + [True] * 3
    assert found.policy[3] == 0
    np.testing.assert_allclose(
        found.policy[legal], priors[0, legal] / priors[0, legal].sum(), atol=precision
    )


# ---- the command ---------------------------------------------------------------------------------


def test_the_command_shows_what_a_network_is(connect4):
    saved = load_network(connect4)
    output = run(connect4).output
    rows = parameter_table(saved.network)
    total = sum(count for _, _, count in rows)
    assert total == sum(p.numel() for p in saved.network.parameters())
    for words in ("connect4 (rows=6, columns=7, connect=4)", "own, opponent", "1234", f"{total:,}"):
        assert words in output
    for name, shape, _ in rows:
        assert f"{name} " in output
        assert shape in output
    assert "layers" not in output  # of another kind of network


def test_the_command_speaks_json(connect4):
    found = json.loads(run(connect4, "--json").output)
    assert (found["game"], found["num_actions"], found["planes"]) == (
        "connect4", 7, ["own", "opponent"],
    )  # fmt: skip
    assert found["about"]["iteration"] == 7
    assert found["written"] == []
    assert "policy" not in found


def test_the_command_draws_what_the_network_thinks(connect4, tmp_path):
    path = tmp_path / "heat.png"
    found = json.loads(run(connect4, "--moves", "4453", "--heat", path, "--json").output)
    position = export.evaluate_position(load_network(connect4), "4453")
    assert found["to_play"] == "X"
    assert found["value"] == pytest.approx(position.value)
    assert list(found["policy"]) == [str(1 + a) for a in np.argsort(-position.policy)]
    assert sum(found["policy"].values()) == pytest.approx(1)
    game = load_network(connect4).game
    state = notation.play(game, [3, 3, 4, 2])
    drawn = render_rgb(game, state, overlay=overlay_of_shares(game, state, position.policy))
    assert np.array_equal(np.array(Image.open(path)), drawn)
    words = run(connect4, "--moves", "4453").output
    assert f"value {position.value:+.3f} for X" in words
    assert f"policy {next(iter(found['policy']))} " in words


def test_the_command_writes_files(connect4, tmp_path):
    path = tmp_path / "net.pt"
    assert f"written: {path}" in run(connect4, "--torchscript", path).output.replace("\n", "")
    assert path.stat().st_size > 10_000


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["none.safetensors"], 1, "expected a network's file, or one of"),
        (["NET", "--moves", "49"], 2, "move 2 of 2: expected a column from 1 to 7, got '9'"),
        (["NET", "--moves", "4444444"], 2, "column 4 is full"),
        (["NET", "--moves", "4142434"], 2, "after which the game goes on"),  # four in column 4
        (["NET", "--heat", "x.what"], 2, "unknown file extension"),
    ],
)
def test_mistakes_are_lines(connect4, arguments, status, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run(*[str(connect4) if word == "NET" else word for word in arguments], status=status)
    assert message in " ".join(result.output.split())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("module", ["onnx", "onnxscript", "tensorboard"])
def test_what_is_missing_is_named(connect4, module, tmp_path, monkeypatch):
    if module == "onnxscript":
        pytest.importorskip("onnx", reason="the extra train is not installed")
    monkeypatch.setitem(sys.modules, module, None)
    option = "--tensorboard" if module == "tensorboard" else "--onnx"
    result = run(connect4, option, tmp_path / "out", status=2)
    words = f"expected {module} ({how_to_install('train')})"
    assert words in " ".join(result.output.split())
    assert list(tmp_path.iterdir()) == []
