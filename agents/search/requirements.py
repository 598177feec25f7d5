"""What planning by clone and step needs of an environment, and where it is so.

A clone holds all there is: the cards of both players, and what the dice will show. A search over
clones is fair only where that tells no player more than the rules do:

* the agents act in turn (and there are two of them: see `agents.search.foreign.ForeignGame`);
* perfect information: what the agent to move has seen decides all that anybody is shown;
* nothing is left to chance between the moves.

What is so is declared by an environment, or known by its name, or told by OpenSpiel. Where none of
them says it, `agents.search.trial` plays some moves to find out.
"""

import re
import threading
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, cast
from weakref import finalize

from agents.search.environment import (
    TRANSPARENT,
    UnfitEnvironmentError,
    check_clone,
    class_name,
    is_over,
    layers_of,
)
from agents.search.trial import tried_faults

PERFECT_INFORMATION: Final = "perfect information"
"""What an agent may be told to assume."""


class Traits(NamedTuple):
    """What is so of an environment; its `metadata` may declare it under these names."""

    is_turn_based: bool
    """The agents act one after the other, and each knows what the other did."""
    has_perfect_information: bool
    """Both agents know all that has happened."""
    is_deterministic: bool
    """What follows an action is certain, once the environment has been reset."""

    def faults(self) -> tuple[str, ...]:
        """What planning by clone and step lacks."""
        words = ("simultaneous moves", "hidden information", "chance between moves")
        return tuple(word for word, is_so in zip(words, self, strict=True) if not is_so)


FIT: Final = Traits(True, True, True)
CARDS: Final = Traits(True, False, False)

CLASSIC: Final = {
    "backgammon": Traits(True, True, False),
    "checkers": FIT,
    "chess": FIT,
    "connect_four": FIT,
    "dou_dizhu": CARDS,
    "gin_rummy": CARDS,
    "go": FIT,
    "hanabi": CARDS,
    "leduc_holdem": CARDS,
    "mahjong": CARDS,
    "rps": Traits(False, True, True),
    "texas_holdem": CARDS,
    "texas_holdem_no_limit": CARDS,
    "tictactoe": FIT,
    "uno": CARDS,
}
"""PettingZoo's classic environments, of all its versions, by name without a version."""

OWN: Final = "hexenv.envs.aec.BoardEnv"
"""The class whose every instance declares what `hexenv.games.contract` demands of its game."""


def known_traits(env: Any) -> Traits | None:
    """What is known of an environment without playing in it; None where nothing is.

    What it lacks, it lacks under any wrapper. What it has, a subclass or a wrapper could take away:
    that counts only for the class that says so, and under wrappers that change nothing.
    """
    raw: Any = env.unwrapped
    layers = layers_of(env)
    wrappers = layers[: next((i for i, each in enumerate(layers) if each is raw), len(layers))]
    is_bare = TRANSPARENT.issuperset(map(class_name, wrappers))
    about: Any = getattr(raw, "metadata", None)
    metadata = cast("Mapping[str, Any]", about if isinstance(about, Mapping) else {})
    name = class_name(raw)
    by_class: Any = metadata if name == OWN else raw.__class__.__dict__.get("metadata")
    family = re.sub(r"_v\d+$", "", str(metadata.get("name", "")))
    for found, is_its_own in (
        (_of_openspiel(getattr(raw, "game_type", None)), True),
        (_declared(metadata), by_class is metadata),
        (CLASSIC.get(family), name.startswith("pettingzoo.classic.")),
    ):
        if found is not None and (found.faults() or (is_its_own and is_bare)):
            return found
    return None


def _declared(metadata: Mapping[str, Any]) -> Traits | None:
    """What `metadata` says; None if something is left out, and nothing is lacking."""
    said = [metadata.get(name) for name in Traits._fields]
    found = Traits(*(value is not False for value in said))
    return found if found.faults() or None not in said else None


def _of_openspiel(game_type: Any) -> Traits | None:
    """What a ``pyspiel.GameType`` says, which Shimmy's environments have as `game_type`."""
    kinds = [getattr(game_type, name, None) for name in ("dynamics", "information", "chance_mode")]
    if None in kinds:
        return None
    dynamics, information, chance = (getattr(kind, "name", str(kind)) for kind in kinds)
    return Traits(
        dynamics == "SEQUENTIAL", information == "PERFECT_INFORMATION", chance == "DETERMINISTIC"
    )


# ---- refusing ------------------------------------------------------------------------------------

_tried: Final[dict[int, tuple[str, ...]]] = {}
"""What trials found, by `id`: an environment may have no hash, or be equal to another."""
_lock: Final = threading.RLock()


def check_planning(env: Any, assume: str | None = None) -> str | None:
    """Refuse an environment in which a search over clones would know more than its player.

    An environment of which nothing is known is tried out once, when it is first seen.

    Args:
        env: A two-agent environment after `reset`. It is only looked at and cloned.
        assume: ``"perfect information"``: refuse nothing for that.

    Returns:
        What is assumed although it is not so; None where nothing has to be.

    Raises:
        UnfitEnvironmentError: If agents do not act in turn, something is hidden from a player or
            left to chance, or a clone is no faithful copy.
    """
    traits = known_traits(env)
    faults = () if traits is None else traits.faults()
    if faults and assume is None:
        raise _unfit(env, faults)
    if is_over(env):
        return assume if faults else None
    check_clone(env)
    if traits is None:
        faults = _tried_once(env)
        if faults and assume is None:
            raise _unfit(env, faults)
    return assume if faults else None


def _tried_once(env: Any) -> tuple[str, ...]:
    """What a trial has found, now or before."""
    with _lock:
        if id(env) not in _tried:
            _tried[id(env)] = tried_faults(env)
            finalize(env, _tried.pop, id(env))
        return _tried[id(env)]


def _unfit(env: Any, faults: tuple[str, ...]) -> UnfitEnvironmentError:
    return UnfitEnvironmentError(
        "expected a game in turn, of perfect information and without chance, to plan over clones, "
        f"got {env.unwrapped}, which has {' and '.join(faults)} (an agent with "
        f"assume={PERFECT_INFORMATION!r} plans all the same, if there is an action mask, and knows "
        "what its player cannot know)"
    )


def check_assume(assume: str | None) -> None:
    """Refuse what cannot be assumed.

    Raises:
        ValueError: If it is neither None nor ``"perfect information"``.
    """
    if assume not in (None, PERFECT_INFORMATION):
        raise ValueError(f'expected assume as None or "{PERFECT_INFORMATION}", got {assume!r}')
