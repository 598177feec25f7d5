"""The notebooks as pages: their texts, their code, and what they showed when they were last run."""

import json
from pathlib import Path
from typing import Any

from writing import Pages

NOTEBOOKS = Path(__file__).parents[2] / "examples" / "notebooks"


def notebook_pages() -> Pages:
    """The pages of all notebooks and their pictures, by path."""
    pages: Pages = {}
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        name = path.stem.replace("_", "-")
        parts: list[str] = []
        for number, cell in enumerate(json.loads(path.read_text(encoding="utf-8"))["cells"]):
            parts.append(source_of(cell))
            for output in cell.get("outputs", []):
                shown = output.get("data", {})
                if "image/svg+xml" in shown:
                    pages[f"notebooks/{name}-{number}.svg"] = joined(shown["image/svg+xml"])
                    parts.append(f"![What it shows]({name}-{number}.svg){{ .board }}")
                else:
                    text = joined(output.get("text") or shown["text/plain"]).rstrip()
                    parts.append(f"```text\n{text}\n```")
        parts.insert(1, f"The notebook `examples/notebooks/{path.name}`, which a test runs.")
        pages[f"notebooks/{name}.md"] = "\n\n".join(parts) + "\n"
    return pages


def source_of(cell: dict[str, Any]) -> str:
    """A cell as Markdown."""
    text = joined(cell["source"])
    return text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```"


def joined(text: str | list[str]) -> str:
    """A text of a notebook, which may be a list of its lines."""
    return "".join(text)
