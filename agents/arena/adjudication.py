"""Adjudication: games end as soon as their outcome is clear, which saves the rest of their time."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, NamedTuple

from agents.core.structured import Count, check_fields, to_structure

SURE: Final = 0.95
"""From this value on, -1 to 1, an agent is sure that it wins."""


@dataclass(frozen=True)
class Adjudication:
    """When a game is ended. The agents are believed: only a proof is more than their opinion.

    A game ends with the outcome that the search of an agent has proven, always. It ends as well by
    the rules below, which therefore never say anything else than a proof that is there.

    Examples:
        >>> Adjudication.of("values=6,plies=200")
        Adjudication(values=6, plies=200)
        >>> Adjudication.of("proof")
        Adjudication(values=0, plies=0)

    Attributes:
        values: After so many plies in a row in which both agents are sure of the same winner, by
            values of at least `SURE`; 0: never. Less than 2 would ask one agent alone.
        plies: After so many plies the game is a draw; 0: never.
    """

    values: Count = 0
    plies: Count = 0

    def __post_init__(self) -> None:
        check_fields(self, "values", "plies", where="adjudicate")
        if self.values == 1:
            raise ValueError("expected adjudicate values of at least 2, got 1")

    @classmethod
    def of(cls, value: Any) -> "Adjudication":
        """From a text ``proof``, ``values=6,plies=200``, a dictionary, or itself."""
        if isinstance(value, Adjudication):
            return value
        if isinstance(value, str):
            known = [each.name for each in fields(cls)]
            pairs = [part.partition("=") for part in value.split(",") if part != "proof"]
            for key, _, number in pairs:
                if key not in known or not number.isdecimal():
                    raise ValueError(
                        f"expected adjudicate as proof, values=6 or plies=200, got {value!r}"
                    )
            value = {key: int(number) for key, _, number in pairs}
        if not isinstance(value, Mapping):
            raise ValueError(f"expected adjudicate as a text or a dictionary, got {value!r}")
        return to_structure(value, cls, "adjudicate")


class Verdict(NamedTuple):
    """How a game was ended.

    Attributes:
        outcome: For agent 0: 1 won, 0 drawn, -1 lost.
        reason: ``proof``, ``values`` or ``plies``.
    """

    outcome: int
    reason: str


class Judge:
    """Follows one game; without a rule it lets the game be."""

    def __init__(self, rule: Adjudication | None) -> None:
        self._rule = rule
        self._winner, self._sure = 0, 0

    def after(self, number: int, action: int, statistics: Any, plies: int) -> Verdict | None:
        """The verdict after an action of agent `number`, which its search, if any, has chosen.

        `plies` is how many there were since the start of the game.
        """
        if self._rule is None:
            return None
        side = -1 if number else 1
        proven = getattr(statistics, "proven", None)
        if proven is not None and getattr(statistics, "assumed", None) is None:
            return Verdict(side * int(proven), "proof")
        value = 0.0 if statistics is None else side * float(statistics.values[action])
        winner = 1 if value >= SURE else -1 if value <= -SURE else 0  # 0 where it is no number
        self._sure = self._sure + 1 if winner and winner == self._winner else abs(winner)
        self._winner = winner
        if self._rule.values and self._sure >= self._rule.values:
            return Verdict(winner, "values")
        if self._rule.plies and plies >= self._rule.plies:
            return Verdict(0, "plies")
        return None
