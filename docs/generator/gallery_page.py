"""A page of pictures: every game as it is drawn."""

from agents.naming import environment_makers


def gallery_page() -> dict[str, str | bytes]:
    """The gallery, with the pictures of the games' pages."""
    figures = [
        f'<figure markdown="span">\n![{name}](games/{name}.gif)\n'
        f"<figcaption>{name}</figcaption>\n</figure>"
        for name in environment_makers()
    ]
    body = "\n".join(figures)
    return {"gallery.md": f'# Gallery\n\n<div class="gallery" markdown>\n{body}\n</div>\n'}
