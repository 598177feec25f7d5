"""Pools of opponents in folders: members, snapshots and results, for a run that goes on later.

    pool.json             members, settings, results; written last
    snapshot-000007.pt    a policy as Stable-Baselines3 writes it, or weights of a PyTorch module

A file that cannot be read is an `OSError`, one that is damaged a `ValueError` with its path.
"""

import copy
import importlib
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, cast

from msgspec import Meta

from agents.core.files import replacing
from agents.core.formats import Format
from agents.core.reading import expect_regular
from agents.core.structured import Count, to_structure
from agents.policies.models import SB3_LIBRARIES, SB3Model, TorchModule, read_sb3_policy
from agents.policies.network import NetworkAgent
from agents.policies.policy import PolicyAgent
from agents.registry import AGENTS
from hexenv.common.extras import library
from hexenv.common.messages import error_in
from hexenv.learners.members import Drop, Member, Sampling, Tally

if TYPE_CHECKING:
    from hexenv.learners.pool import OpponentPool

FORMAT: Final = Format("hexenv-pool")
SNAPSHOT: Final = re.compile(r"snapshot-\d{6,}\.pt")
PLAIN_NAME: Final = re.compile(r"([\w-]+)(:[a-z_]+=[\w.+/-]+(,[a-z_]+=[\w.+/-]+)*)?")
RUNNING: Final = ("chat", "connectx", "gomocup", "htp", "sb3", "rllib", "puct", "gumbel", "anet")
"""Agents whose parameters name programs, addresses, files with pickles, or further agents: a file
of a stranger could run code by them, so that they are given, as objects are."""

Positive = Annotated[float, Meta(gt=0)]
Positives = Annotated[int, Meta(ge=1)]
NotNegative = Annotated[float, Meta(ge=0)]


@dataclass(frozen=True)
class SavedMember:
    """A member in ``pool.json``.

    Attributes:
        kind: ``name``: `value` is the name of an agent that runs no code of others; ``network``:
            the path of a network; ``sb3``: the class of a policy, whose file is `file`; ``torch``:
            nothing, its weights are in `file`; ``given``: the type of an object in no file.
        planes: As of `PolicyAgent`, of kinds with a file or a path, as are the next two.
    """

    title: str
    number: Count
    weight: Positive
    anchor: bool
    kind: Literal["name", "network", "sb3", "torch", "given"]
    value: str
    file: str | None = None
    temperature: NotNegative = 0.0
    planes: tuple[str, ...] | None = None
    channels_first: bool = False


@dataclass(frozen=True)
class SavedTally:
    """A `Tally` in ``pool.json``."""

    wins: Count
    draws: Count
    losses: Count
    recent: NotNegative
    recent_games: NotNegative


@dataclass(frozen=True)
class SavedPool:
    """What ``pool.json`` has besides its format."""

    sampling: Sampling
    power: float
    newest: float
    at_once: Positives | None
    most: Positives | None
    drop: Drop
    count: Count
    members: tuple[SavedMember, ...]
    results: dict[str, SavedTally]


# ---- writing -------------------------------------------------------------------------------------


def save_pool(pool: "OpponentPool", folder: str | os.PathLike[str]) -> None:
    """See `hexenv.learners.pool.OpponentPool.save`."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    members = tuple(saved_member(one, target) for one in pool.members)
    results = {title: SavedTally(**asdict(tally)) for title, tally in pool.results.items()}
    saved = SavedPool(
        pool.sampling, pool.power, pool.newest, pool.at_once, pool.most,
        pool.drop, pool.count, members, results,
    )  # fmt: skip
    FORMAT.write_json(target / "pool.json", **asdict(saved))
    used = {one.file for one in members}
    for path in target.iterdir():
        if SNAPSHOT.fullmatch(path.name) and path.name not in used:
            path.unlink()


def saved_member(member: Member, folder: Path) -> SavedMember:
    """A member as it is saved; its snapshot is written."""
    common = member.title, member.number, member.weight, member.anchor
    player = member.player
    if isinstance(player, str):
        return SavedMember(*common, "name" if is_plain(player) else "given", player)
    if not isinstance(player, PolicyAgent):
        return SavedMember(*common, "given", type(player).__name__)
    view: dict[str, Any] = {"temperature": player.temperature, "planes": player.own_planes}
    if isinstance(player, NetworkAgent):
        path = str(player.saved.path)
        return SavedMember(*common, "network", path, temperature=player.temperature)
    file, policy = f"snapshot-{member.number:06}.pt", player.policy
    if isinstance(policy, SB3Model) and is_of_sb3(kind := cast("Any", type(policy.network))):
        with replacing(folder / file) as temporary:
            policy.network.save(temporary)
        return SavedMember(*common, "sb3", f"{kind.__module__}:{kind.__name__}", file, **view)
    if isinstance(policy, TorchModule):
        with replacing(folder / file) as temporary:
            library("torch", "torch").save(policy.module.state_dict(), temporary)
        turned = policy.channels_first
        return SavedMember(*common, "torch", "", file, **view, channels_first=turned)
    return SavedMember(*common, "given", type(policy).__name__)


def is_plain(name: str) -> bool:
    """Whether an agent's name runs no code but ours."""
    found = PLAIN_NAME.fullmatch(name)
    return found is not None and found[1] in AGENTS and found[1] not in RUNNING


def is_of_sb3(policy_class: Any) -> bool:
    """Whether it is a class that `load_pool` imports: no other one because a file names it."""
    return policy_class.__module__.partition(".")[0] in SB3_LIBRARIES


# ---- reading -------------------------------------------------------------------------------------


def load_pool(
    pool_class: "type[OpponentPool]",
    folder: str | os.PathLike[str],
    given: Mapping[str, Any],
    module: Any,
) -> "OpponentPool":
    """See `hexenv.learners.pool.OpponentPool.load`."""
    path = Path(folder) / "pool.json"
    found = FORMAT.read_json(path)
    try:
        saved = to_structure(found, SavedPool, complete=True)
        pool = pool_class(
            sampling=saved.sampling, power=saved.power, newest=saved.newest,
            at_once=saved.at_once, most=saved.most, drop=saved.drop,
        )  # fmt: skip
        numbers = [one.number for one in saved.members]
        if len(set(numbers)) < len(numbers) or any(one >= saved.count for one in numbers):
            raise ValueError(f"expected different numbers below {saved.count}, got {numbers}")
    except ValueError as error:
        raise error_in(path, error) from None
    for one in saved.members:
        if one.kind == "name" and not is_plain(one.value) and one.title not in given:
            raise ValueError(
                f"{path}: expected {one.value!r} to be given: an agent of this name may run code"
            )
    absent = [one.title for one in saved.members if one.kind == "given" and one.title not in given]
    if absent:
        raise ValueError(
            f"{path}: expected the members {', '.join(absent)} to be given: they are in no file"
        )
    members = [loaded_member(one, path, given, module) for one in saved.members]
    tallies = {title: Tally(**asdict(one)) for title, one in saved.results.items()}
    pool.restore(members, tallies, saved.count)
    return pool


def loaded_member(saved: SavedMember, path: Path, given: Mapping[str, Any], module: Any) -> Member:
    """A member, and its snapshot from its file."""
    player: Any = given.get(saved.title, saved.value)
    if saved.title not in given and saved.kind == "network":
        player = NetworkAgent(saved.value, saved.temperature)
    elif saved.title not in given and saved.kind in ("sb3", "torch"):
        file = path.parent / expect_snapshot(saved, path)
        expect_regular(file)
        if not file.exists():
            raise FileNotFoundError(f"expected the snapshot of {saved.title}, found none at {file}")
        read = sb3_from if saved.kind == "sb3" else torch_from
        player = PolicyAgent(read(saved, file, module), saved.temperature, planes=saved.planes)
    if isinstance(player, PolicyAgent):
        player.title = saved.title
    return Member(player, saved.title, saved.weight, saved.number, saved.anchor)


def expect_snapshot(saved: SavedMember, path: Path) -> str:
    """The name of a snapshot's file, in the same folder."""
    if saved.file is None or not SNAPSHOT.fullmatch(saved.file):
        raise ValueError(f"{path}: expected a file snapshot-NUMBER.pt, got {saved.file!r}")
    return saved.file


def sb3_from(saved: SavedMember, file: Path, module: Any) -> SB3Model:
    """A policy of Stable-Baselines3; the library reads the file, by pickle."""
    where, _, name = saved.value.partition(":")
    base = where.partition(".")[0]
    if base not in SB3_LIBRARIES or not re.fullmatch(r"[\w.]+:[A-Za-z]\w*", saved.value):
        raise ValueError(
            f"{file}: expected a policy of {' or '.join(SB3_LIBRARIES)}, got {where!r}"
        )
    library(base, "sb3")
    try:
        policy_class: Any = getattr(importlib.import_module(where), name)
        return SB3Model(read_sb3_policy(policy_class, str(file)))
    except Exception as error:  # pickle may raise anything
        raise ValueError(f"{file}: expected a policy of {name}: {error}") from None


def torch_from(saved: SavedMember, file: Path, module: Any) -> TorchModule:
    """A copy of the module with the weights of a file, in which nothing is executed."""
    if module is None:
        raise ValueError(f"expected a module for the weights of {saved.title}, got none")
    network = copy.deepcopy(module).eval()
    try:
        weights = library("torch", "torch").load(file, map_location="cpu", weights_only=True)
        network.load_state_dict(weights)
    except Exception as error:  # a damaged file may raise anything
        raise ValueError(f"{file}: expected weights of the module: {error}") from None
    return TorchModule(network, saved.channels_first)
