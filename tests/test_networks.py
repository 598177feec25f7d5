"""Networks: what they see, what they say, and the files that they are kept in."""

import json
import resource

import numpy as np
import pytest
from environments import BOARDS, make, random_action
from msgspec.structs import replace

from agents.arena import play_match
from agents.registry import make_agent
from agents.search.evaluator import PolicyError
from hexenv import connect4_v0, hex_v0, tictactoe_v0
from hexenv.envs.observation import plane_names
from hexenv.games import base

torch = pytest.importorskip("torch", reason="the extra train is not installed")
safetensors = pytest.importorskip("safetensors.torch", reason="the extra train is not installed")

from agents.learning import saved as saved_files  # noqa: E402
from agents.learning.configuration import Configuration, NetworkOptions, as_dict  # noqa: E402
from agents.learning.configuration import make as configured  # noqa: E402
from agents.learning.evaluator import NetworkEvaluator, traced  # noqa: E402
from agents.learning.files import checksum, load_network, save_network, weights_of  # noqa: E402
from agents.learning.learner import Learner  # noqa: E402
from agents.learning.networks import folded, new_network, parameter_table  # noqa: E402
from agents.learning.replay import Batch  # noqa: E402
from agents.learning.saved import find_network, game_of  # noqa: E402
from agents.policies.network import NetworkAgent  # noqa: E402

SMALL = {"channels": 6, "blocks": 2, "head_channels": 3, "value_units": 5}
LAYERS = [
    {"type": "convolution", "filters": 4, "kernel": 3, "activation": "tanh"},
    {"type": "dense", "units": 7, "activation": "sigmoid"},
    {"type": "dense", "units": 6, "activation": "linear"},
]
KINDS = {
    "dense": NetworkOptions(**SMALL, heads="dense"),
    "convolutional": NetworkOptions(**SMALL, heads="convolutional"),
    "anet": NetworkOptions(kind="anet", layers=LAYERS),
    "anet-no-value": NetworkOptions(kind="anet", layers=LAYERS, value=False),
}
GAMES = ["hex-3", "hex-2x4", "hex-3-swap", "connect4-4x5", "tictactoe", "gomoku-4", "gomoku-7x9"]


def game_on(board):
    return make(board).unwrapped.game


def planes_for(game, count, extra=(), seed=0):
    """Planes of ones and zeros, ``(count, rows, columns, K)``."""
    shape = count, game.rows, game.columns, len(plane_names(game, extra))
    return torch.from_numpy((np.random.default_rng(seed).random(shape) < 0.4).astype(np.float32))


def judged(network, planes):
    with torch.inference_mode():
        return network(planes)


def trained(game, options, steps=6):
    """A network after some steps, so that its normalisations are not those it was made with."""
    configuration = Configuration(network=options)
    learner = Learner(configuration, game)
    rng = np.random.default_rng(1)
    names = plane_names(game, tuple(options.planes))
    for _ in range(steps):
        planes = (rng.random((16, game.rows, game.columns, len(names))) < 0.4).astype(np.int8)
        policies = rng.dirichlet(np.ones(game.num_actions()), 16).astype(np.float32)
        values = rng.uniform(-1, 1, 16).astype(np.float32)
        learner.step(Batch(planes, policies, values, values, np.zeros(16, np.int8)), 0.0, rng)
    return learner.network


def all_close(found, expected, tolerance=1e-5):
    return all(
        np.allclose(a, b, rtol=0, atol=tolerance) for a, b in zip(found, expected, strict=True)
    )


# ---- what they say -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("board", GAMES)
def test_a_network_says_a_logit_for_every_action_and_a_value(board, kind):
    game = game_on(board)
    extra = ("side", "last_move") if kind in ("dense", "anet") else ()
    network = new_network(game, replace(KINDS[kind], planes=list(extra)), seed=1).eval()
    for count in (1, 5):
        logits, values = judged(network, 9 * planes_for(game, count, extra))
        assert logits.shape == (count, game.num_actions())
        assert values.shape == (count,)
        assert torch.isfinite(logits).all()
        assert (values.abs() <= 1).all()
    assert logits.std() > 0
    assert (values == 0).all() == (kind == "anet-no-value")


@pytest.mark.parametrize("kind", KINDS)
def test_every_weight_learns(kind):
    game = game_on("hex-3-swap")
    network = new_network(game, KINDS[kind], seed=1)
    logits, values = network(planes_for(game, 8))
    (logits.square().sum() + values.sum()).backward()
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0 or name.endswith(("conv.bias",)), name


def test_the_same_seed_gives_the_same_weights_and_leaves_the_stream_of_pytorch_alone():
    game = game_on("tictactoe")
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    weights = [new_network(game, KINDS["dense"], seed).state_dict() for seed in (1, 1, 2, None)]
    assert torch.equal(torch.rand(3), expected)
    for name, tensor in weights[0].items():
        assert torch.equal(tensor, weights[1][name]), name
    for others in weights[2:]:
        assert not torch.equal(weights[0]["stem.weight"], others["stem.weight"])


# ---- canonical Hex -------------------------------------------------------------------------------


def mirrored(planes, names):
    """Positions with the board transposed, the colours and the player to move swapped."""
    turned = planes.transpose(1, 2).clone()
    turned[..., names.index("side")] = 1 - turned[..., names.index("side")]
    return turned


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("swap", "extra"), [(False, ("last_move",)), (True, ())])
def test_a_canonical_network_plays_both_sides_of_hex_alike(kind, swap, extra):
    env = hex_v0.env(board_size=4, swap=swap)
    game, rng = env.unwrapped.game, np.random.default_rng(3)
    options = replace(KINDS[kind], canonical=True, planes=list(extra))
    network = trained(game, options).eval()
    evaluator = NetworkEvaluator(network, game, extra)
    states = random_states(env, rng, 20)
    names = plane_names(game, extra)
    planes = torch.from_numpy(evaluator.planes_of(game, states)).float()
    assert set(planes[:, 0, 0, names.index("side")].tolist()) == {0.0, 1.0}
    logits, values = judged(network, planes)
    others, other_values = judged(network, mirrored(planes, names))
    cells = logits[:, :16].reshape(-1, 4, 4), others[:, :16].reshape(-1, 4, 4)
    assert np.allclose(cells[0], cells[1].transpose(1, 2), rtol=0, atol=1e-5)
    assert np.allclose(logits[:, 16:], others[:, 16:], rtol=0, atol=1e-5)
    assert np.allclose(values, other_values, rtol=0, atol=1e-5)
    assert not np.allclose(cells[0], cells[1], rtol=0, atol=1e-2)


def test_a_canonical_network_sees_whose_edges_are_where():
    """One stone beside the mover's own edge, or beside the other's: no convolution tells them."""
    game = game_on("hex-5")
    options = NetworkOptions(**SMALL, heads="convolutional", canonical=True)
    network = new_network(game, options, seed=1).eval()
    planes = torch.zeros(2, 5, 5, 3)
    planes[..., 2] = 1.0
    planes[0, 0, 2, 0] = planes[1, 2, 0, 0] = 1.0
    logits, _ = judged(network, planes)
    fields = logits.reshape(2, 5, 5)
    assert not np.allclose(fields[0], fields[1].T, rtol=0, atol=1e-3)


@pytest.mark.parametrize("board", ["hex-2x4", "tictactoe", "gomoku-4"])
def test_canonical_is_for_hex_on_a_square_board(board):
    with pytest.raises(ValueError, match=r"network\.canonical for Hex on a square board, got"):
        new_network(game_on(board), NetworkOptions(canonical=True))


# ---- for play ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("board", "canonical"), [("hex-3-swap", True), ("connect4-4x5", False)])
def test_a_network_traced_for_play_says_the_same(board, canonical, kind):
    game = game_on(board)
    network = trained(game, replace(KINDS[kind], canonical=canonical)).eval()
    statistics = [b for name, b in network.named_buffers() if name.endswith("running_mean")]
    assert all(mean.abs().max() > 1e-4 for mean in statistics)
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    planes = planes_for(game, 7, seed=4)
    expected = judged(network, planes)
    alone = folded(network)
    graph = traced(alone, planes.shape[-1], (game.rows, game.columns))
    for _ in range(4):  # a graph is made faster while it runs
        assert all_close(judged(alone, planes), expected)
        assert all_close(judged(graph, planes), expected)
    assert all_close(judged(graph, planes[:1]), [part[:1] for part in expected])
    assert not any(isinstance(m, torch.nn.BatchNorm2d) for m in alone.modules())
    assert all(torch.equal(tensor, before[name]) for name, tensor in network.state_dict().items())


def test_an_evaluator_keeps_its_weights_until_it_is_given_others(monkeypatch):
    game = game_on("tictactoe")
    first, second = (new_network(game, KINDS["dense"], seed).eval() for seed in (1, 2))
    evaluator = NetworkEvaluator(first, game, ())
    states = base.new_states(game, 3)
    before = evaluator.evaluate(game, states)
    with torch.no_grad():
        first.policy.weight.add_(1.0)
    assert all_close(evaluator.evaluate(game, states), before, 0)
    monkeypatch.delattr(torch.jit, "trace")  # every graph leaves some megabytes behind
    evaluator.update(second)
    found = evaluator.evaluate(game, states)
    logits, values = judged(second, torch.from_numpy(evaluator.planes_of(game, states)).float())
    assert all_close(found, (torch.softmax(logits, 1), values))
    assert not all_close(found, before, 1e-3)


def test_an_agent_thinks_in_one_thread_and_leaves_pytorch_as_it_was(monkeypatch):
    evaluate, seen = NetworkEvaluator.evaluate, []

    def watched(*arguments):
        seen.append(torch.get_num_threads())
        return evaluate(*arguments)

    monkeypatch.setattr(NetworkEvaluator, "evaluate", watched)
    env = make("tictactoe")
    env.reset()
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        make_agent("alphazero:net=tictactoe,simulations=2", seed=1).act(env)
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)
    assert set(seen) == {1}


def random_states(env, rng, count):
    """Positions of random games, of which none is over."""
    game = env.unwrapped.game
    states = base.new_states(game, count)
    for state in states:
        env.reset()
        for _ in range(int(rng.integers(0, 9))):
            env.step(random_action(env, rng))
            if any(env.terminations.values()):
                env.reset()
        game.copy(env.unwrapped.state, state)
    return states


@pytest.mark.parametrize("board", GAMES)
@pytest.mark.parametrize("extra", [(), ("last_move", "side")])
def test_an_evaluator_sees_what_the_environment_shows(board, extra):
    env, rng = make(board, planes=extra), np.random.default_rng(2)
    game = env.unwrapped.game
    network = new_network(game, replace(KINDS["dense"], planes=list(extra)), seed=1)
    evaluator = NetworkEvaluator(network, game, extra)
    states = base.new_states(game, 60)
    shown = []
    env.reset()
    for state in states:
        game.copy(env.unwrapped.state, state)
        shown.append(env.observe(env.agent_selection)["observation"].copy())
        env.step(random_action(env, rng))
        if any(env.terminations.values()):
            env.reset()
    assert np.array_equal(evaluator.planes_of(game, states), np.stack(shown))
    assert len({seen.tobytes() for seen in shown}) > 20


# ---- another board -------------------------------------------------------------------------------


def save(path, board, options, seed=1, network=None, **about):
    """Write a network, and return it."""
    network = network or new_network(game_on(board), options, seed).eval()
    module, arguments = BOARDS[board]
    name = module.__name__.removeprefix("hexenv.").removesuffix("_v0")
    save_network(path, network, options, (name, arguments), about)
    return network


def test_a_convolutional_network_plays_on_other_boards(tmp_path):
    path = tmp_path / "hex.safetensors"
    save(path, "hex-5", NetworkOptions(**SMALL, heads="convolutional", canonical=True))
    for size in (3, 5, 7):
        env = hex_v0.env(board_size=size)
        players = [make_agent(f"network:net={path}"), make_agent("random", 1)]
        for result in play_match(env, players, 2, seed=0):
            assert len(result.actions) >= 2 * size - 1
            assert result.illegal is None
    saved = load_network(path)
    assert saved.why_not(game_of("hex", {"board_size": 7})) is None
    assert saved.why_not(game_of("hex", {"board_size": [3, 5]})) == (
        "expected a square board, got 3 x 5"
    )
    assert saved.why_not(game_of("hex", {"board_size": 5, "swap": True})) == (
        "expected swap of False, as in training, got True"
    )


def test_a_convolutional_network_says_the_same_on_every_board_far_from_its_edges(tmp_path):
    """That it is the same network: a stone's surroundings look alike on any board."""
    options = NetworkOptions(**{**SMALL, "blocks": 1}, heads="convolutional", pooling=False)
    save(tmp_path / "gomoku", "gomoku-7x9", options)
    network = load_network(tmp_path / "gomoku").network
    small, large = torch.zeros(1, 9, 9, 3), torch.zeros(1, 15, 15, 3)
    small[0, 4, 4, 0] = large[0, 7, 7, 0] = 1.0
    found = [judged(network, x[..., :2])[0].reshape(x.shape[1:3]) for x in (small, large)]
    assert np.allclose(found[0][3:6, 3:6], found[1][6:9, 6:9], rtol=0, atol=1e-6)
    assert found[0].std() > 0


@pytest.mark.parametrize(
    ("kind", "env", "message"),
    [
        ("dense", lambda: hex_v0.env(board_size=5), "rows of 3"),
        ("anet", lambda: hex_v0.env(board_size=5), "rows of 3"),
        ("convolutional", connect4_v0.env, "got connect4"),
        ("convolutional", lambda: hex_v0.env(board_size=3, swap=True), "swap of False"),
    ],
)
def test_a_wrong_game_is_refused_with_the_reason(tmp_path, kind, env, message):
    path = tmp_path / "net.safetensors"
    save(path, "hex-3", KINDS[kind])
    playing = env()
    playing.reset()
    for agent in (f"network:net={path}", f"alphazero:net={path},simulations=2"):
        with pytest.raises(PolicyError, match=message) as found:
            make_agent(agent).act(playing)
        assert str(path) in str(found.value)


# ---- by name -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("board", "extra"),
    [("hex-3-swap", ("last_move",)), ("connect4-4x5", ()), ("gomoku-4", ("last_move",))],
)
def test_a_network_by_name_plays_its_likeliest_legal_action(tmp_path, board, extra):
    path = tmp_path / "net.safetensors"
    network = save(path, board, replace(KINDS["dense"], planes=list(extra)))
    agent = make_agent(f"network:net={path}")
    assert type(agent) is NetworkAgent
    shown, env, rng = make(board, planes=extra), make(board), np.random.default_rng(5)
    for _ in range(3):
        shown.reset(), env.reset()
        agent.reset()
        while not any(env.terminations.values()):
            seen = shown.observe(shown.agent_selection)
            planes = torch.from_numpy(seen["observation"][None]).float()
            logits = judged(network, planes)[0][0].numpy()
            logits[seen["action_mask"] == 0] = -np.inf
            assert agent.act(env) == logits.argmax()
            action = random_action(env, rng)
            env.step(action), shown.step(action)


def test_alphazero_by_name_searches_with_the_network(tmp_path):
    path = tmp_path / "net.safetensors"
    network = save(path, "tictactoe", KINDS["dense"])
    env = tictactoe_v0.env()
    agent = make_agent(f"alphazero:net={path},simulations=300", seed=1)
    env.reset(options={"moves": "1 4 2 5"})  # 3 wins
    assert agent.act(env) == 2
    assert agent.statistics.proven == 1
    env.reset()
    agent.act(env)
    assert agent.statistics.simulations == 300
    with torch.no_grad():  # the search follows the priors: one action only has one
        network.logits.weight.zero_()
        network.logits.bias.zero_()
        network.logits.bias[7] = 50.0
    save_network(path, network, KINDS["dense"], ("tictactoe", {}), {})
    env.reset()
    assert make_agent(f"alphazero:net={path},simulations=5").act(env) == 7


@pytest.mark.parametrize("name", ["network", "alphazero"])
def test_a_network_that_is_not_there_is_told_those_that_are(tmp_path, monkeypatch, name):
    monkeypatch.setattr(saved_files, "SHIPPED", tmp_path)
    save(tmp_path / "tictactoe.safetensors", "tictactoe", KINDS["dense"])
    save(tmp_path / "hex5.safetensors", "hex-5", KINDS["dense"])
    assert find_network("hex5") == tmp_path / "hex5.safetensors"
    message = "expected a network's file, or one of hex5, tictactoe; got 'chess'"
    with pytest.raises(FileNotFoundError, match=message):
        find_network("chess")
    with pytest.raises(ValueError, match=f"{name}: {message}"):
        make_agent(f"{name}:net=chess" + (",simulations=1" if name == "alphazero" else ""))
    assert make_agent("network:net=tictactoe").saved.game.name == "tictactoe"


# ---- layers --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("layer", "key", "value"),
    [
        ({"type": "pool"}, "type", "'pool'"),
        ({}, "type", "None"),
        ({"type": "dense", "units": 3, "activation": "swish"}, "activation", "swish"),
        ({"type": "dense", "units": 3, "activation": []}, "activation", ""),
        ({"type": "dense", "units": 0}, "units", "0"),
        ({"type": "dense"}, "units", "none"),
        ({"type": "convolution", "filters": 2, "kernel": 2.5}, "kernel", "2.5"),
        ({"type": "convolution", "filters": True, "kernel": 3}, "filters", "True"),
        ({"type": "dense", "units": 3, "kernel": 3}, "kernel", ""),
        ({"type": "convolution", "filters": 2, "kernel": 3}, "type", "dense"),  # after a dense one
    ],
)
def test_a_wrong_layer_is_refused_by_its_place(layer, key, value):
    convolution, dense = {"type": "convolution", "filters": 2, "kernel": 3}, {"type": "dense"}
    layers = [{**dense, "units": 4} if layer == convolution else convolution, layer]
    with pytest.raises(ValueError, match=rf"layers\[1\]\.{key}.*{value}"):
        new_network(game_on("tictactoe"), NetworkOptions(kind="anet", layers=layers))


def test_an_anet_without_layers_is_linear():
    game = game_on("tictactoe")
    network = new_network(game, NetworkOptions(kind="anet", layers=[]), seed=1)
    a, b = planes_for(game, 1, seed=1), planes_for(game, 1, seed=2)
    logits = [judged(network, x)[0] for x in (a, b, a + b, torch.zeros_like(a))]
    assert np.allclose(logits[0] + logits[1], logits[2] + logits[3], rtol=0, atol=1e-5)


def test_an_anet_has_the_layers_that_were_listed():
    network = new_network(game_on("tictactoe"), KINDS["anet"], seed=1)
    assert [type(layer).__name__ for layer in network.layers] == [
        "Conv2d", "Tanh", "Flatten", "Linear", "Sigmoid", "Linear", "Identity",
    ]  # fmt: skip
    assert network.layers[0].weight.shape == (4, 2, 3, 3)
    assert network.layers[3].weight.shape == (7, 36)


def test_an_unknown_plane_is_told_those_there_are():
    with pytest.raises(ValueError, match="expected planes of own, opponent, side, last_move, got"):
        new_network(game_on("tictactoe"), NetworkOptions(planes=["liberties"]))


def test_a_table_counts_every_weight():
    network = new_network(game_on("hex-3"), KINDS["dense"])
    table = parameter_table(network)
    assert sum(count for _, _, count in table) == sum(p.numel() for p in network.parameters())
    assert ("stem.weight", "6 x 3 x 3 x 3", 162) in table


# ---- files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("board", "kind"),
    [
        ("hex-2x4", "dense"),
        ("hex-3-swap", "convolutional"),
        ("connect4-4x5", "anet"),
        ("gomoku-4", "anet-no-value"),
    ],
)
def test_a_saved_network_is_the_same_network(tmp_path, board, kind):
    game = game_on(board)
    options = replace(KINDS[kind], planes=["last_move"])
    network = trained(game, options).eval()
    save(tmp_path / "n", board, options, network=network, iteration=3)
    saved = load_network(tmp_path / "n")
    planes = planes_for(game, 5, ("last_move",))
    assert all_close(judged(saved.network, planes), judged(network, planes), 0)
    assert saved.options == options
    assert (saved.game.name, base.parameters(saved.game)) == (game.name, base.parameters(game))
    assert saved.about == {"iteration": 3}
    assert saved.path == str(tmp_path / "n")
    assert not saved.network.training
    assert [file.name for file in tmp_path.iterdir()] == ["n"]


def header_of(**changes):
    header = {
        "format": "hexenv-network",
        "version": 2,
        "game": "tictactoe",
        "options": {},
        "network": as_dict(KINDS["dense"]),
        "about": {},
    }
    return {key: value for key, value in {**header, **changes}.items() if value is not ...}


def write(path, header, tensors=None, sha256=None):
    network = new_network(game_on("tictactoe"), KINDS["dense"], seed=1)
    found = {name: tensor.contiguous() for name, tensor in weights_of(network).items()}
    found = found if tensors is None else tensors(found)
    text = header if isinstance(header, str) else json.dumps(header)
    about_file = {"hexenv": text, "sha256": sha256 or checksum(text, found)}
    path.write_bytes(safetensors.save(found, about_file))


def test_a_network_that_its_file_does_not_hold_takes_no_memory(tmp_path):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    giant = {**as_dict(KINDS["dense"]), "channels": 1024, "blocks": 100}  # of 7 GB
    write(tmp_path / "net", header_of(network=giant))
    with pytest.raises(ValueError, match=r"(?s)expected a network in .*Missing key"):
        load_network(tmp_path / "net")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000  # kB
    write(tmp_path / "net", header_of(about="x" * (1 << 20)))
    with pytest.raises(ValueError, match="expected a header of at most"):
        load_network(tmp_path / "net")


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (header_of(format="onnx"), "net: expected format .*got 'onnx'"),
        (header_of(version=3), "expected version 2, got 3"),
        (header_of(version=1), "expected version 2, got 1"),
        (header_of(version=[1]), "expected version 2, got"),
        ([1], "expected a JSON object"),
        ("{", "damaged .*net"),
        (header_of(game="chess"), "net.*chess"),
        (header_of(game=...), "net.*game"),
        (header_of(about=...), "net.*about"),
        (header_of(network=3), "net"),
        (header_of(options={"size": 3}), "net.*size"),
        (header_of(network={"channels": 0}), "network.channels .*, got 0"),
        (header_of(network={"depth": 1}), "expected a key of kind, .*, got 'network.depth'"),
        (header_of(network={"channels": 5}), r"expected a network in .*net: .*size mismatch"),
        (header_of(game="connect4"), r"expected a network in .*net: .*size mismatch"),
    ],
)
def test_another_header_is_refused(tmp_path, header, message):
    write(tmp_path / "net", header)
    with pytest.raises(ValueError, match=f"(?s){message}"):
        load_network(tmp_path / "net")


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        (lambda found: {**found, "more": torch.ones(2)}, 'Unexpected key.* "more"'),
        (lambda found: {k: v for k, v in found.items() if k != "stem.weight"}, "Missing key"),
        (lambda found: {**found, "stem.weight": torch.ones(2)}, "size mismatch for stem.weight"),
    ],
)
def test_other_weights_are_refused(tmp_path, tensors, message):
    write(tmp_path / "net", header_of(), tensors)
    with pytest.raises(ValueError, match=f"(?s)expected a network in .*{message}"):
        load_network(tmp_path / "net")


def test_damaged_files_are_refused_by_name(tmp_path):
    path = tmp_path / "net.safetensors"
    write(path, header_of())
    whole = path.read_bytes()
    assert load_network(path).game.name == "tictactoe"
    for damaged in (b"", b"PK\x03\x04", whole[:40], whole[:-1], whole + b"x", b"\xff" * 64):
        path.write_bytes(damaged)
        with pytest.raises(
            ValueError, match=r"expected a network, got a damaged .*net.safetensors"
        ):
            load_network(path)
    path.write_bytes(safetensors.save({"a": torch.ones(1)}))
    with pytest.raises(ValueError, match=r"expected format 'hexenv-network', got None"):
        load_network(path)
    with pytest.raises(FileNotFoundError):
        load_network(tmp_path / "none")
    with pytest.raises(IsADirectoryError):
        load_network(tmp_path)


def with_flipped_bit(data, place, bit):
    return data[:place] + bytes([data[place] ^ (1 << bit)]) + data[place + 1 :]


def test_a_flipped_bit_is_refused_wherever_it_is(tmp_path):
    """In the weights by the checksum; elsewhere too, but where it changes nothing."""
    path, rng = tmp_path / "net.safetensors", np.random.default_rng(1)
    save(path, "tictactoe", NetworkOptions(kind="anet", layers=[]))
    whole, saved = path.read_bytes(), load_network(path)
    weights = len(whole) - sum(4 * p.numel() for p in saved.network.parameters())
    in_weights = rng.integers(weights, len(whole), 40)
    for place in [*in_weights.tolist(), *rng.integers(0, weights, 200).tolist()]:
        path.write_bytes(with_flipped_bit(whole, place, int(rng.integers(8))))
        if place >= weights:
            with pytest.raises(ValueError, match=r"damaged .*net.*another checksum"):
                load_network(path)
            continue
        try:
            found = load_network(path)
        except ValueError as error:
            assert "net.safetensors" in str(error)  # noqa: PT017
            continue
        assert (found.about, found.options) == (saved.about, saved.options)
        pairs = zip(found.network.parameters(), saved.network.parameters(), strict=True)
        assert all(torch.equal(one, other) for one, other in pairs)


@pytest.mark.parametrize("name", ["connect4", "hex5", "hex7", "hex9", "hex11", "tictactoe"])
def test_a_shipped_network_has_a_checksum(tmp_path, name):
    whole = find_network(name).read_bytes()
    path = tmp_path / "net.safetensors"
    path.write_bytes(with_flipped_bit(whole, len(whole) - 1000, 3))
    with pytest.raises(ValueError, match=r"damaged .*net.*another checksum"):
        load_network(path)


def test_a_network_with_another_checksum_is_refused(tmp_path):
    write(tmp_path / "net", header_of(), sha256="0" * 64)
    with pytest.raises(ValueError, match=r"damaged .*net.*another checksum"):
        load_network(tmp_path / "net")


def test_a_network_that_cannot_be_written_leaves_the_one_before(tmp_path, monkeypatch):
    path = tmp_path / "net.safetensors"
    save(path, "tictactoe", KINDS["dense"])
    before = path.read_bytes()

    def full(self, data):
        with self.open("wb") as file:
            file.write(data[:100])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    with pytest.raises(OSError, match="No space left on device") as found:
        save(path, "tictactoe", KINDS["dense"], seed=2)
    assert found.value.filename == str(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("game", ["hex", "connect4", "tictactoe", "gomoku"])
def test_the_network_of_every_games_defaults_can_be_made(game):
    options = configured({"game": game}).network
    network = new_network(game_of(game, {}), options, seed=0).eval()
    planes = planes_for(game_of(game, {}), 2, tuple(options.planes))
    assert judged(network, planes)[0].shape == (2, game_of(game, {}).num_actions())


def test_a_file_cannot_have_anything_imported(tmp_path):
    options = {"cmd": f"touch {tmp_path / 'ran'}"}
    path = tmp_path / "net.safetensors"
    write(path, header_of(game="subprocess:getoutput", options=options))
    with pytest.raises(ValueError, match="expected a game of hexenv, got 'subprocess:getoutput'"):
        load_network(path)
    assert not (tmp_path / "ran").exists()
