"""Networks without PyTorch: NumPy says what PyTorch says, and reads files as strictly."""

import re

import numpy as np
import pytest
from environments import make as board_env

from agents.learning.configuration import NetworkOptions
from agents.learning.plain import PlainNetwork, load_plain
from agents.learning.saved import SHIPPED, SavedNetwork
from agents.policies import network as network_module
from agents.policies.network import NetworkAgent
from agents.registry import make_agent, make_environment
from hexenv.envs.observation import plane_names

NETS = sorted(path.stem for path in SHIPPED.glob("*.safetensors"))
SMALL = {"channels": 6, "blocks": 2, "head_channels": 3, "value_units": 5}


@pytest.fixture
def without_pytorch(monkeypatch):
    monkeypatch.setattr(network_module, "has_pytorch", lambda: False)


@pytest.mark.parametrize("net", NETS)
def test_a_shipped_network_plays(net, without_pytorch):
    game, size = re.fullmatch(r"(?:\w+-)?(connect4|[a-z]+)(\d*)", net).groups()
    env = make_environment(game, (f"board_size={size}",) if size else ())
    env.reset(seed=1)
    agent = NetworkAgent(net)
    assert isinstance(agent.saved, SavedNetwork)
    while not any(env.terminations.values()):
        env.step(agent.act(env))
    env.reset()
    state = env.unwrapped.state
    priors, values = agent.evaluate(env.unwrapped.game, state.reshape(1))
    assert priors.sum() == pytest.approx(1, abs=1e-5)
    assert -1 <= values[0] <= 1


@pytest.mark.parametrize("text", ["alphazero:net=connect4,simulations=20", "hexzero:simulations=8"])
def test_searches_use_it(text, without_pytorch):
    env = make_environment("hex" if text.startswith("hex") else "connect4")
    env.reset()
    agent = make_agent(f"{text},seed=1")
    assert env.unwrapped.is_legal(agent.act(env))


@pytest.mark.parametrize("net", NETS)
def test_it_says_what_pytorch_says(net):
    pytest.importorskip("torch", reason="the extra train is not installed")
    pytest.importorskip("safetensors", reason="the extra train is not installed")
    from agents.learning.evaluator import NetworkPolicy
    from agents.learning.files import load_network

    path = SHIPPED / f"{net}.safetensors"
    plain, saved = load_plain(path), load_network(path)
    assert (plain.options, plain.about) == (saved.options, saved.about)
    game = plain.game
    planes = random_planes(game, tuple(plain.options.planes), 8)
    masks = np.ones((8, game.num_actions()), np.int8)
    for found, wanted in zip(
        plain.network(planes), NetworkPolicy(saved.network)(planes, masks), strict=True
    ):
        np.testing.assert_allclose(found, wanted, atol=2e-4)


def random_planes(game, extra, count):
    shape = count, game.rows, game.columns, len(plane_names(game, extra))
    return (np.random.default_rng(5).random(shape) < 0.4).astype(np.int8)


@pytest.mark.parametrize("board", ["hex-3", "hex-3-swap", "hex-2x4", "connect4-4x5", "tictactoe"])
@pytest.mark.parametrize("heads", ["dense", "convolutional"])
@pytest.mark.parametrize("canonical", [False, True])
def test_all_forms_of_a_network(board, heads, canonical):
    torch = pytest.importorskip("torch", reason="the extra train is not installed")
    from agents.learning.networks import new_network

    if canonical and board not in ("hex-3", "hex-3-swap"):
        pytest.skip("for Hex on a square alone")
    game = board_env(board).unwrapped.game
    options = NetworkOptions(**SMALL, heads=heads, canonical=canonical, planes=["side"])
    theirs = new_network(game, options, seed=2)
    planes = random_planes(game, ("side",), 64)
    theirs.train()
    with torch.no_grad():  # so that the averages of the normalisation are not those of the start
        theirs(torch.from_numpy(planes).float())
    theirs.eval()
    weights = {name: part.numpy() for name, part in theirs.state_dict().items()}
    ours = PlainNetwork(weights, options, plane_names(game, ("side",)), game.num_actions())
    planes[:, :, :, plane_names(game, ("side",)).index("side")] = np.arange(64)[:, None, None] % 2
    with torch.no_grad():
        wanted = theirs(torch.from_numpy(planes).float())
    for found, other in zip(ours(planes), wanted, strict=True):
        np.testing.assert_allclose(found, other.numpy(), atol=1e-4)


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-100],
        lambda data: data[:100],
        lambda data: b"",
        lambda data: data[:-1] + bytes([data[-1] ^ 1]),
        lambda data: (1 << 40).to_bytes(8, "little") + data[8:],
        lambda data: data.replace(b'"F32"', b'"F16"', 1),
        lambda data: data.replace(b"tictactoe", b"tictactow", 1),
        lambda data: data.replace(b'"data_offsets":[0', b'"data_offsets":[9', 1),
    ],
)
def test_a_damaged_file_is_refused(damage, tmp_path):
    data = (SHIPPED / "tictactoe.safetensors").read_bytes()
    path = tmp_path / "damaged.safetensors"
    path.write_bytes(damage(data))
    with pytest.raises(ValueError, match="expected"):
        load_plain(path)


def test_a_network_of_another_kind_is_refused():
    with pytest.raises(ValueError, match="residual"):
        PlainNetwork({}, NetworkOptions(kind="anet"), (), 9)


def test_a_game_of_other_rules_is_refused(without_pytorch):
    env = make_environment("hex", ("board_size=5",))
    env.reset()
    with pytest.raises(Exception, match="expected the game of connect4"):
        NetworkAgent("connect4").act(env)
