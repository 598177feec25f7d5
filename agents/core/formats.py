"""The formats of the files that users keep: what each says of itself, and how it is refused.

A file begins with a head, ``{"format": "hexenv-tree", "version": 4, ...}``: the object itself in
JSON, the first line of JSON lines, the array ``about`` of an archive. Another format or version is
refused. `agents.core.files` writes files whole, `agents.core.reading` reads them within bounds.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.core.files import replacing, write_text
from agents.core.reading import as_object, load_arrays, names_file, parse_json, read_object
from hexenv.common.messages import shortened
from hexenv.games import base


class Format(NamedTuple):
    """A format: its name, and the only version of it that there is."""

    name: str
    version: int = 1

    def __str__(self) -> str:
        return f"{self.name} of version {self.version}"

    def head(self, **about: Any) -> dict[str, Any]:
        """The head of a file, with what else it says."""
        return {"format": self.name, "version": self.version, **about}

    def read_head(self, head: Mapping[str, Any], **expected: Any) -> dict[str, Any]:
        """What a head says besides the format.

        Raises:
            ValueError: If it is of another format or version, or what is `expected` in it differs.
        """
        for key, value in self.head(**expected).items():
            got = head.get(key)
            if type(got) is not type(value) or got != value:
                raise ValueError(f"expected {key} {value!r}, got {shortened(got)}")
        return {key: value for key, value in head.items() if key not in ("format", "version")}

    # ---- JSON ------------------------------------------------------------------------------------

    def write_json(self, path: str | os.PathLike[str], **about: Any) -> None:
        """Write a file of one object."""
        write_text(path, json.dumps(self.head(**about), indent=1) + "\n")

    def line(self, structure: Any) -> str:
        """A dataclass with a head, as one line of JSON."""
        about = {each.name: getattr(structure, each.name) for each in fields(structure)}
        return json.dumps(self.head(**about), allow_nan=False, default=vars)

    def read_line(self, text: str | bytes) -> dict[str, Any]:
        """The object that `line` has written, without its format."""
        return self.read_head(as_object(parse_json(text)))

    def read_json(self, path: str | os.PathLike[str], **expected: Any) -> dict[str, Any]:
        """The object in a file, without its format; errors name the file."""
        found = read_object(path)
        with names_file(path):
            return self.read_head(found, **expected)

    # ---- archives of arrays ----------------------------------------------------------------------

    def write_arrays(
        self,
        path: str | os.PathLike[str],
        arrays: Mapping[str, NDArray[Any]],
        *,
        compressed: bool = True,
        **about: Any,
    ) -> None:
        """Write an ``npz`` archive."""
        head = np.frombuffer(json.dumps(self.head(**about)).encode(), np.uint8)
        contents: dict[str, Any] = {"about": head, **arrays}  # NumPy 2.0 knows no `allow_pickle`
        save = np.savez_compressed if compressed else np.savez
        with replacing(path) as temporary, temporary.open("wb") as file:
            save(file, **contents)

    def read_arrays(
        self, path: str | os.PathLike[str], *, finite: bool = True, **expected: Any
    ) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """What an archive says of itself, and its other arrays; errors name the file.

        `finite` says whether all numbers of the head are.
        """
        arrays = load_arrays(path, str(self))
        try:
            text = arrays.pop("about", np.zeros(0, np.uint8)).tobytes()
            return self.read_head(as_object(parse_json(text, finite=finite)), **expected), arrays
        except ValueError as error:
            raise ValueError(f"expected {self} in {path}: {error}") from None


def about_game(game: Any) -> dict[str, Any]:
    """What the head of a file says of its game."""
    return {"game": game.name, "parameters": base.parameters(game)}
