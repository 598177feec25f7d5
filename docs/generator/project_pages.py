"""Pages of the project, from the files at the top of the repository: changelog, how to cite, ..."""

from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]


def project_pages() -> dict[str, str | bytes]:
    """The pages of the project, by path."""
    return {
        "project/changelog.md": (ROOT / "CHANGELOG.md").read_text(),
        "project/contributing.md": (ROOT / "CONTRIBUTING.md").read_text().replace(
            "```mermaid", "```text"  # a browser would ask the network for what draws it
        ),
        "project/cite.md": cite_page(),
        "project/licence.md": f"# Licence\n\n```text\n{(ROOT / 'LICENSE').read_text()}```\n",
    }  # fmt: skip


def cite_page() -> str:
    """How to cite, in words, as BibTeX and as the file has it."""
    text = (ROOT / "CITATION.cff").read_text()
    about: dict[str, Any] = yaml.safe_load(text)
    authors = " and ".join(f"{{{author['name']}}}" for author in about["authors"])
    entry = {
        "title": f"{{{about['title']}}}",
        "author": authors,
        "version": about["version"],
        "note": f"Software, {about['license']} licence",
    }
    fields = "\n".join(f"  {name:7} = {{{value}}}," for name, value in entry.items())
    return "\n\n".join(
        [
            "---\nsearch: { boost: 2 }\n---\n\n# How to cite (BibTeX)",
            f"{about['message']} Name the version or the commit: figures depend on it.",
            f"```bibtex\n@software{{hexenv,\n{fields}\n}}\n```",
            "The page of each [agent](../agents/index.md) names the papers of its method.",
            "The same as `CITATION.cff`, which tools read:",
            f"```yaml\n{text}```\n",
        ]
    )
