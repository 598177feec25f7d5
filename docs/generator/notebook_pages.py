"""The notebooks as pages: their texts, their code, and what they showed when they were last run."""

import json
from pathlib import Path
from typing import Any

NOTEBOOKS = Path(__file__).parents[2] / "examples" / "notebooks"


def notebook_pages() -> dict[str, str | bytes]:
    """The pages of all notebooks and their pictures, by path."""
    pages: dict[str, str | bytes] = {}
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        name = path.stem.replace("_", "-")
        parts: list[str] = []
        for number, cell in enumerate(cells):
            parts.append(source_of(cell))
            for output in cell.get("outputs", []):
                picture = joined(output.get("data", {}).get("image/svg+xml", ""))
                if picture:
                    pages[f"notebooks/{name}-{number}.svg"] = picture
                    parts.append(f"![What it shows]({name}-{number}.svg){{ .board }}")
                else:
                    parts.append(f"```text\n{output_text(output)}\n```")
        parts.insert(1, f"The notebook `examples/notebooks/{path.name}`, which a test runs.")
        pages[f"notebooks/{name}.md"] = "\n\n".join(parts) + "\n"
    return pages


def source_of(cell: dict[str, Any]) -> str:
    """A cell as Markdown."""
    text = joined(cell["source"])
    return text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```"


def output_text(output: dict[str, Any]) -> str:
    """What a cell has printed, or its value."""
    return (joined(output.get("text", "")) or joined(output["data"]["text/plain"])).rstrip()


def joined(text: str | list[str]) -> str:
    """The text of a field, which the format keeps as one or as lines."""
    return text if isinstance(text, str) else "".join(text)
