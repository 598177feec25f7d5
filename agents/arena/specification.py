"""What a tournament is: the game, the agents, who meets whom, and from which openings."""

import hashlib
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Annotated, Any, Final, Literal, cast, get_args

from msgspec import Meta

from agents.arena.adjudication import Adjudication
from agents.arena.clock import TimeControl
from agents.core.structured import check_fields, convert, expect_keys, to_structure

Kind = Literal["round-robin", "gauntlet", "pair"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
MOST_PAIRS: Final = 10_000_000
OPENING_PLIES: Final = 2
"""The usual length of random openings."""
MOST_AGENTS: Final = 1000
Elo = Annotated[float, Meta(ge=-4000, le=4000)]
ErrorRate = Annotated[float, Meta(ge=1e-6, le=0.4999)]


@dataclass(frozen=True)
class Sprt:
    """When a match of two agents may stop early: a sequential probability ratio test.

    It decides between "the first agent is `elo0` better" and "it is `elo1` better".

    Examples:
        >>> Tournament("hex", ["rave", "uct"], kind="pair", pairs=500, sprt=Sprt(0, 50)).sprt
        Sprt(elo0=0.0, elo1=50.0, alpha=0.05, beta=0.05)

    Attributes:
        elo0: The lower difference, in Elo.
        elo1: The higher.
        alpha: Chance of accepting `elo1` where `elo0` is true.
        beta: Chance of accepting `elo0` where `elo1` is true.
    """

    elo0: Elo = 0.0
    elo1: Elo = 50.0
    alpha: ErrorRate = 0.05
    beta: ErrorRate = 0.05

    def __post_init__(self) -> None:
        check_fields(self, "elo0", "elo1", "alpha", "beta", where="sprt")
        if not self.elo0 < self.elo1:
            raise ValueError(f"expected sprt elo0 below elo1, got {self.elo0} and {self.elo1}")

    @classmethod
    def of(cls, value: Any) -> "Sprt":
        """From a text ``elo0,elo1[,alpha,beta]``, a dictionary, or itself."""
        if isinstance(value, Sprt):
            return value
        if isinstance(value, str):
            try:
                numbers = [float(part) for part in value.split(",")]
            except ValueError:
                raise ValueError(f"expected sprt as numbers, got {value!r}") from None
            if not 2 <= len(numbers) <= len(fields(cls)):
                raise ValueError(f"expected sprt as elo0,elo1[,alpha[,beta]], got {value!r}")
            return cls(*numbers)
        if not isinstance(value, Mapping):
            raise ValueError(f"expected sprt as elo0,elo1 or a dictionary, got {value!r}")
        return to_structure(value, cls, "sprt")


@dataclass(frozen=True)
class Entrant:
    """An agent of a tournament.

    Examples:
        >>> Entrant("mine", "uct:simulations=100,c=0.5").label
        'mine'
        >>> Entrant.of("mine=uct:simulations=100") == Entrant("mine", "uct:simulations=100")
        True

    Attributes:
        label: What the tables call it; unique in a tournament.
        agent: A text as the command line writes it (a checkpoint is a parameter of it, as in
            ``module.Class:path=file``), an object with `act` and `reset`, or a function (see
            `agents.arena.running.CallableAgent`).
    """

    label: str
    agent: Any

    @classmethod
    def of(cls, value: Any) -> "Entrant":
        """From ``text``, ``label=text``, ``{label: text}``, an agent, a function, or itself."""
        if isinstance(value, Entrant):
            return value
        if isinstance(value, str):
            label, equals, text = value.partition("=")
            return cls(label, text) if equals and ":" not in label else cls(value, value)
        if isinstance(value, Mapping):
            named = cast("Mapping[str, Any]", value)
            if len(named) != 1:
                raise ValueError(f"expected an agent as {{label: agent}}, got {dict(named)}")
            return cls(*next(iter(named.items())))
        return cls(describe(value), value)


def describe(thing: Any) -> str:
    """How a text, a function or an object is named in tables and files."""
    if isinstance(thing, str):
        return thing
    is_named = inspect.isroutine(thing) or inspect.isclass(thing)
    named: Any = thing if is_named else cast("type[Any]", type(thing))
    return f"{named.__module__}.{named.__qualname__}"


@dataclass(frozen=True)
class Tournament:
    """A tournament, fully described: the same description gives the same games.

    Every pairing of two agents plays `pairs` pairs of games. Both games of a pair start from the
    same opening, with the sides swapped.

    Examples:
        >>> tournament = Tournament("hex", ["uct", "rave", "greedy"], pairs=10)
        >>> tournament.games
        60
        >>> tournament.labels
        ('uct', 'rave', 'greedy')

    Attributes:
        game: A game of `hexenv`, ``module:function``, or a function that returns an environment.
        agents: Texts, `Entrant`s, agents or functions; afterwards all are `Entrant`s.
        kind: ``"round-robin"``: every two agents meet; ``"gauntlet"``: the first meets each of the
            others; ``"pair"``: there are two agents.
        pairs: Pairs of games in each pairing; with `sprt` the most there can be.
        opening_plies: Length of random openings; 0 for none. It has no effect beside `openings`.
        seed: Of all random numbers: openings, environments and agents.
        options: ``key=value`` texts for the game.
        sprt: When a match of two may stop early; only for ``"pair"``.
        openings: Openings to choose from instead of random ones, each in the notation of the game:
            see `agents.arena.openings.ListedOpenings`.
        adjudicate: When games are ended early, such as ``"proof"``; see
            `agents.arena.adjudication.Adjudication`.
        clock: Seconds of each agent for all its moves of a game, in place of its own budget, and
            more after each move, such as ``"60+0.5"``; see `agents.arena.clock.TimeControl`.

    Raises:
        ValueError: Naming the wrong value.
    """

    game: str | Callable[[], Any]
    agents: Sequence[Any]
    kind: Kind = "round-robin"
    pairs: Annotated[int, Meta(ge=1, le=MOST_PAIRS)] = 10
    opening_plies: Annotated[int, Meta(ge=0)] = OPENING_PLIES
    seed: Annotated[int, Meta(ge=0)] = 0
    options: Sequence[str] = ()
    sprt: Sprt | None = None
    openings: Sequence[str] = ()
    adjudicate: Adjudication | None = None
    clock: TimeControl | None = None
    entrants: tuple[Entrant, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.game, str) and not callable(self.game):
            raise ValueError(f"expected a game as a text or a function, got {self.game!r}")
        agents: Any = self.agents
        if not isinstance(agents, Sequence) or isinstance(agents, str):
            raise ValueError(f"expected agents as a list, got {agents!r}")
        options = tuple(convert(self.options, Sequence[str], "options"))
        object.__setattr__(self, "options", options)
        object.__setattr__(
            self, "openings", tuple(convert(self.openings, Sequence[str], "openings"))
        )
        if self.options and not isinstance(self.game, str):
            raise ValueError(f"expected no options for a function, got {list(self.options)}")
        check_fields(self, "kind", "pairs", "opening_plies", "seed")
        entrants = _with_unique_labels(self.agents)
        count = len(entrants)
        if count < 2 or (self.kind == "pair" and count > 2):
            wanted = "two agents" if self.kind == "pair" else "at least two agents"
            raise ValueError(f"expected {wanted}, got {count}")
        objects = [id(e.agent) for e in entrants if hasattr(e.agent, "act")]
        if len(set(objects)) < len(objects):
            raise ValueError("expected an agent object of its own for each entrant, got one twice")
        object.__setattr__(self, "entrants", entrants)
        object.__setattr__(self, "agents", entrants)
        if self.sprt is not None:
            if self.kind != "pair":
                raise ValueError(f'expected kind "pair" for an sprt, got {self.kind!r}')
            object.__setattr__(self, "sprt", Sprt.of(self.sprt))
        if self.adjudicate is not None:
            object.__setattr__(self, "adjudicate", Adjudication.of(self.adjudicate))
        if self.clock is not None:
            object.__setattr__(self, "clock", TimeControl.of(self.clock))

    @property
    def labels(self) -> tuple[str, ...]:
        """What the tables call the agents."""
        return tuple(entrant.label for entrant in self.entrants)

    @property
    def pairings(self) -> tuple[tuple[int, int], ...]:
        """Who meets whom: numbers of agents, the lower first."""
        count = len(self.entrants)
        if self.kind == "gauntlet":
            return tuple((0, other) for other in range(1, count))
        return tuple((i, j) for i in range(count) for j in range(i + 1, count))

    @property
    def games(self) -> int:
        """How many games there are, without an early stop."""
        return 2 * self.pairs * len(self.pairings)

    def description(self) -> dict[str, Any]:
        """All of it as what JSON knows; agents that are objects by their class alone."""
        return {
            "game": describe(self.game),
            "options": list(self.options),
            "agents": [{entrant.label: describe(entrant.agent)} for entrant in self.entrants],
            "kind": self.kind,
            "pairs": self.pairs,
            "opening_plies": self.opening_plies,
            "seed": self.seed,
            "sprt": None if self.sprt is None else asdict(self.sprt),
            "openings": list(self.openings),
            "adjudicate": None if self.adjudicate is None else asdict(self.adjudicate),
            "clock": None if self.clock is None else asdict(self.clock),
        }

    @classmethod
    def from_description(cls, description: Mapping[str, Any]) -> "Tournament":
        """A tournament from the keys that `description` writes; all but two may be left out."""
        missing = [key for key in ("game", "agents") if key not in description]
        expect_keys(description, [item.name for item in fields(cls) if item.init])
        if missing:
            raise ValueError(f"expected a tournament with {' and '.join(missing)}, got none")
        return cls(**description)


def digest(description: Mapping[str, Any]) -> str:
    """A hash of what determines the games of a tournament: all but the number of pairs.

    A game is determined by its number, so a tournament can go on with more pairs.
    """
    determining = {key: value for key, value in description.items() if key != "pairs"}
    return hashlib.sha256(json.dumps(determining, sort_keys=True).encode()).hexdigest()


def _with_unique_labels(agents: Sequence[Any]) -> tuple[Entrant, ...]:
    """Entrants; a number is added to the labels of equal agents."""
    if len(agents) > MOST_AGENTS:
        raise ValueError(f"expected at most {MOST_AGENTS} agents, got {len(agents)}")
    found: list[Entrant] = []
    labels: set[str] = set()
    for value in agents:
        entrant = Entrant.of(value)
        is_named = isinstance(value, (Entrant, Mapping)) or entrant.label != describe(entrant.agent)
        label, number = entrant.label, 1
        if not isinstance(cast("Any", label), str) or not label.strip():
            raise ValueError(f"expected a label for every agent, got {label!r}")
        while label in labels:
            if is_named:
                raise ValueError(f"expected different labels, got {label!r} twice")
            number += 1
            label = f"{entrant.label} ({number})"
        if not isinstance(entrant.agent, str) and not (
            hasattr(entrant.agent, "act") or callable(entrant.agent)
        ):
            raise ValueError(f"expected a text, an agent or a function, got {entrant.agent!r}")
        found.append(Entrant(label, entrant.agent))
        labels.add(label)
    return tuple(found)
