"""The pages and the site by axe-core: nothing that hinders a reader seriously.

`AXE_CORE` is the file axe.min.js of the npm package axe-core; ``.ci/run`` gets it where there is
npm. `SITE` may be the folder of the built site.
"""

import os
from pathlib import Path

import pytest
from test_browser import (  # fixtures too
    CHROMIUM,
    DESKTOP,
    PHONE,
    address,
    begin,
    browser,
    move,
    open_page,
    page_file,
)
from test_page import recorded

__all__ = ["address", "browser", "open_page"]

AXE, SITE = (
    Path(path) if (path := os.environ.get(name)) else None for name in ("AXE_CORE", "SITE")
)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on PATH"),
    pytest.mark.skipif(AXE is None, reason="AXE_CORE does not name axe-core's axe.min.js"),
]
SERIOUS = ("serious", "critical")
SITE_PAGES = (
    "index.html", "agents/which.html", "agents/rave.html", "games/hex.html",
    "benchmarks/results.html", "guides/play.html", "tutorials/sb3.html",
    "reference/environments.html",
)  # fmt: skip


def hindrances(page):
    """What axe-core finds that is serious: the rules, each with elements."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run()")["violations"]
    return [
        (each["id"], [node["html"][:120] for node in each["nodes"][:3]])
        for each in found
        if each["impact"] in SERIOUS
    ]


LOOKS = [(scheme, viewport) for scheme in ("light", "dark") for viewport in (DESKTOP, PHONE)]


@pytest.mark.parametrize(("scheme", "viewport"), LOOKS)
@pytest.mark.parametrize(
    ("game", "options", "moves"),
    [
        ("hex", ["board_size=5"], 2),
        ("connect4", ["rows=4", "columns=5", "connect=3"], 2),
        ("tictactoe", [], 5),
        ("gomoku", ["board_size=9"], 2),
    ],
)
def test_the_served_page(open_page, address, game, options, moves, scheme, viewport):
    page = open_page(address, viewport, color_scheme=scheme)
    page.evaluate("document.getElementById('own').open = true")
    assert hindrances(page) == []
    begin(page, game, "uct:simulations=50", options)
    for _ in range(moves):
        move(page)
    assert hindrances(page) == []
    page.keyboard.press("?")
    assert hindrances(page) == []


@pytest.mark.parametrize(("scheme", "viewport"), LOOKS)
def test_the_page_of_a_record(open_page, tmp_path, scheme, viewport):
    record = recorded("hex", ("board_size=4",), ("uct:simulations=50", "rave:simulations=50"))
    page = open_page(page_file(record, tmp_path), viewport, color_scheme=scheme)
    assert hindrances(page) == []
    page.keyboard.press("Home")
    page.keyboard.press("l")
    assert hindrances(page) == []


@pytest.mark.skipif(SITE is None, reason="SITE does not name the folder of the built site")
@pytest.mark.parametrize(("scheme", "viewport"), [("light", DESKTOP), ("dark", PHONE)])
@pytest.mark.parametrize("name", SITE_PAGES)
def test_the_site(browser, name, scheme, viewport):
    context = browser.new_context(viewport=viewport, color_scheme=scheme)
    page = context.new_page()
    page.goto((SITE / name).as_uri())
    assert hindrances(page) == []
    context.close()
