"""A page of pictures: every game in every theme, what searches thought, films, text."""

from pictures import as_text, end_of, searched
from writing import Pages, page, section

from agents.registry import environment_makers
from hexenv.render.look import THEMES


def gallery_page() -> Pages:
    """The gallery and its pictures, by path."""
    games = list(environment_makers())
    themes: Pages = {
        f"gallery/{game}-{theme}.svg": end_of(game, theme) for game in games for theme in THEMES
    }
    thoughts: Pages = {
        f"gallery/{game}-{overlay}.svg": picture
        for game in games
        for overlay in ("visits", "values")
        if (picture := searched(game, overlay)) is not None
    }
    text = page(
        "Gallery",
        "Each game in each theme, with the numbers of the moves: `--theme` of `hexenv render`, or "
        "`theme` of an environment with a `render_mode`. [How pictures are "
        "made](guides/records.md).",
        section("Themes", grid(list(themes))),
        section(
            "What a search found",
            "Visits are shares in per cent; values are in hundredths, for the player to move.",
            grid(list(thoughts)),
        ),
        section("Films", grid([f"games/{game}.gif" for game in games])),
        section("As text", *(f"```text\n{as_text(game)}```" for game in games)),
    )
    return {"gallery.md": text, **themes, **thoughts}


def grid(paths: list[str]) -> str:
    """Pictures beside each other, each above its name."""
    figures = [
        f'<figure markdown="span">\n![{name(path)}]({path})\n'
        f"<figcaption>{name(path)}</figcaption>\n</figure>"
        for path in paths
    ]
    return '<div class="gallery" markdown>\n' + "\n".join(figures) + "\n</div>"


def name(path: str) -> str:
    """What a picture shows, by its file's name."""
    return path.rpartition("/")[2].partition(".")[0].replace("-", ", ")
