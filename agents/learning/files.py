"""Networks and checkpoints in files: written whole or not at all, and read without running code.

A *network* is a safetensors file, whose header has its game, its options and a
checksum of them and of the weights. A *checkpoint* has all
that a training run needs to continue; it is written by `torch.save` and read with ``weights_only``.
A file that cannot be read or written is an `OSError`; a damaged one is a `ValueError`.
"""

import json
import os
import pickletools
import re
import zipfile
from collections.abc import Container, Mapping
from types import NoneType
from typing import Any, Final, cast

import torch
from torch import Tensor, nn

from agents.core.files import replacing, write_bytes
from agents.core.formats import Format
from agents.core.reading import as_object, expect_regular, names_file, opened_archive, parse_json
from agents.core.structured import to_structure
from agents.learning.configuration import NetworkOptions, as_dict
from agents.learning.networks import new_network
from agents.learning.saved import MOST_HEADER, NETWORK, SavedNetwork, checksum_of, game_of
from agents.registry import environment_makers
from hexenv.common.extras import library
from hexenv.common.messages import shortened
from hexenv.games.base import Game

CHECKPOINT: Final = Format("hexenv-checkpoint")
MOST_OPERATIONS: Final = 500_000
"""Of the pickle in a checkpoint; a tensor takes about fifty."""
PLAIN: Final = re.compile(
    r"collections OrderedDict|torch\._utils _rebuild_tensor_v2|torch [A-Z]\w*Storage"
)
"""Names in the pickle of a checkpoint: tensors and collections of them."""


def save_network(
    path: str | os.PathLike[str],
    network: nn.Module,
    options: NetworkOptions,
    game: tuple[str, Mapping[str, Any]],
    about: Mapping[str, Any],
) -> None:
    """Write a network to a safetensors file.

    Its game is the name and the options of an environment, for `game_of`; `about` is its origin, as
    values of JSON.
    """
    header = NETWORK.head(
        game=game[0], options=dict(game[1]), network=as_dict(options), about=dict(about)
    )
    tensors = {  # copies, as networks of others may have one tensor under two names
        name: tensor.detach().cpu().clone(memory_format=torch.contiguous_format)
        for name, tensor in weights_of(network).items()
    }
    safetensors, text = library("safetensors.torch", "train"), json.dumps(header)
    about_file = {"hexenv": text, "sha256": checksum(text, tensors)}
    write_bytes(path, safetensors.save(tensors, about_file))


def checksum(header: str, tensors: Mapping[str, Tensor]) -> str:
    """See `agents.learning.saved.checksum_of`."""
    parts = {
        name: (str(one.dtype), tuple(one.shape), one.reshape(-1).view(torch.uint8).numpy().data)
        for name, one in tensors.items()
    }
    return checksum_of(header, parts)


def load_network(
    path: str | os.PathLike[str], game: Game | None = None, trusted: Container[str] | None = ()
) -> SavedNetwork:
    """Read a network; nothing in the file is executed.

    By default it is for the game of `hexenv` that the file names. A file may also name games and
    networks of your own as ``module:name``: those of `trusted` are imported, with None any.
    """
    safe_open: Any = library("safetensors", "train").safe_open
    expect_regular(path)
    with open(path, "rb") as start:
        length = int.from_bytes(start.read(8), "little")
    try:
        if length > MOST_HEADER:
            raise ValueError(f"expected a header of at most {MOST_HEADER} bytes, got {length}")
        with safe_open(str(path), "pt") as file:
            texts = cast("dict[str, str]", file.metadata() or {})
            header = as_object(parse_json(texts.get("hexenv", "{}")))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except Exception as error:  # damaged data can raise anything
        raise ValueError(f"expected a network, got a damaged {path}: {error}") from error
    with names_file(path):
        NETWORK.read_head(header)
    if texts.get("sha256") != checksum(texts["hexenv"], tensors):
        raise ValueError(
            f"expected a network, got a damaged {path}: its weights or its header are not those "
            "that were written (another checksum)"
        )
    try:
        options = to_structure(header["network"], NetworkOptions, "network")
        if game is None:
            if header["game"] not in environment_makers():
                _expect_trusted("a game of hexenv", header["game"], trusted)
            game = game_of(header["game"], header["options"])
        if options.is_own:
            _expect_trusted("a network of hexenv", options.kind, trusted)
        if len(options.layers) > max(len(tensors), len(NetworkOptions().layers)):
            raise ValueError("expected weights for every layer, got fewer")
        if not options.is_own:
            with torch.device("meta"):  # where new weights take no memory
                load_weights(new_network(game, options), tensors, assign=True)
        network = new_network(game, options, seed=0)
        load_weights(network, tensors)
        return SavedNetwork(network.eval(), options, game, header["about"], str(path))
    except (AttributeError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"expected a network in {path}: {error}") from error


def _expect_trusted(expected: str, name: Any, trusted: Container[str] | None) -> None:
    """Refuse what a file wants imported, but for what the caller trusts."""
    if trusted is not None and (not isinstance(name, str) or name not in trusted):
        raise ValueError(
            f"expected {expected}, got {shortened(name)} (own-network:file=FILE, OwnNetworkAgent, "
            "imports what the file names; do so with files that you trust)"
        )


def weights_of(network: nn.Module) -> dict[str, Tensor]:
    """The weights of a network, not copied, without the counters of batches."""
    found = network.state_dict()
    return {
        name: tensor for name, tensor in found.items() if not name.endswith("num_batches_tracked")
    }


def load_weights(
    network: nn.Module, tensors: Mapping[str, Tensor], *, assign: bool = False
) -> None:
    """Set all weights of a network, to copies of these or, to `assign`, to themselves."""
    own, weights = network.state_dict(), weights_of(network)
    counters = {name: own[name] for name in own if name not in weights}
    network.load_state_dict({**counters, **tensors}, assign=assign)


def save_checkpoint(path: str | os.PathLike[str], contents: Mapping[str, Any]) -> None:
    """Write a checkpoint: tensors, numbers, texts, and lists and dictionaries of these.

    Raises:
        ValueError: If there is anything else, as in the state of somebody's own optimiser: it could
            not be read again.
        OSError: If it cannot be written.
    """
    _expect_readable(contents, "")
    everything = CHECKPOINT.head(**contents)
    with replacing(path) as temporary:
        try:
            torch.save(everything, temporary)
        except RuntimeError as error:  # PyTorch's error for a full disk
            raise OSError(f"cannot write {path}: {error}") from error


def _expect_readable(value: Any, where: str) -> None:
    if isinstance(value, Mapping):
        for key, item in cast("Mapping[Any, Any]", value).items():
            _expect_readable(key, f"a key of {where}")
            _expect_readable(item, f"{where}.{key}" if where else str(key))
    elif isinstance(value, list | tuple):
        for number, item in enumerate(cast("list[Any]", value)):
            _expect_readable(item, f"{where}[{number}]")
    elif type(value) not in (Tensor, int, float, str, bool, NoneType):
        raise ValueError(
            f"expected tensors, numbers and texts in a checkpoint, got {where} of "
            f"{type(value).__module__}.{type(value).__qualname__}: {shortened(value)}"
        )


def load_checkpoint(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a checkpoint; nothing in the file is executed."""
    expect_regular(path)
    try:
        with open(path, "rb") as file, opened_archive(file) as archive:
            damaged = archive.testzip()  # PyTorch does not compare checksums
            if damaged is not None:
                raise ValueError(f"another checksum of {damaged}")
            _expect_plain(archive)
        found = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # damaged data can raise anything
        raise ValueError(f"expected a checkpoint, got a damaged {path}: {error}") from error
    with names_file(path):
        return CHECKPOINT.read_head(as_object(found))


def _expect_plain(archive: zipfile.ZipFile) -> None:
    """Refuse members that are compressed, and a pickle of anything but tensors.

    Some of the functions that PyTorch has as safe to call can take any time and memory.
    """
    members = archive.infolist()
    if any(member.compress_type != zipfile.ZIP_STORED for member in members):
        raise ValueError("expected members without compression, got others")
    root = members[0].filename.partition("/")[0]
    pickled = archive.read(f"{root}/data.pkl")
    for number, (operation, argument, _) in enumerate(pickletools.genops(pickled)):
        if number == MOST_OPERATIONS:
            raise ValueError(f"expected at most {MOST_OPERATIONS} operations, got more")
        if operation.name == "GLOBAL" and not PLAIN.fullmatch(str(argument)):
            raise ValueError(f"expected tensors, got {str(argument)[:60]}")
