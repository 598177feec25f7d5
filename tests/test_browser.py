"""The pages in a real browser: the replay page from a file, and games against a server."""

import json
import re
import shutil
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import numpy as np
import pytest
from test_page import HOSTILE, recorded
from web_games import serving

from agents import explain
from agents.apps.web.page import explain_page, replay_page
from agents.records import GameRecord, Search, load_record
from agents.records.review import review
from agents.records.sgf import read_variations
from agents.registry import make_environment
from hexenv.games import base
from hexenv.render.overlay import Move, Overlay
from hexenv.render.svg import render_svg

pytest.importorskip("playwright", reason="the extra browser is not installed")
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on PATH")
DESKTOP, PHONE = {"width": 1280, "height": 800}, {"width": 375, "height": 667}


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture
def open_page(browser):
    """Opens pages that fail the test if they say anything on the console, or ask others."""
    contexts, said, asked = [], [], []

    def open_one(url, viewport=DESKTOP, **options):
        context = browser.new_context(viewport=viewport, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: said.append(dialog.message))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(url)
        return page

    open_one.said, open_one.asked = said, asked
    yield open_one
    for context in contexts:
        context.close()
    assert said == []


def stones(page, player):
    return page.locator(f'#board .stones [href="#stone-{player}"]').count()


def wait_for(page, expression):
    """Wait until an expression holds. (Playwright's own way is forbidden by the page's policy.)"""
    for _ in range(2000):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(30)
    raise AssertionError(f"expected {expression}")


def text(page, selector):
    return page.locator(selector).inner_text()


# ---- the replay page -----------------------------------------------------------------------------


def page_file(record, folder):
    """The address of a file with a record's page."""
    path = folder / "game.html"
    path.write_text(replay_page(record), encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="module")
def record():
    return recorded("hex", ("board_size=4",), ("uct:simulations=300", "rave:simulations=200"))


@pytest.fixture(scope="module")
def file(record, tmp_path_factory):
    return page_file(record, tmp_path_factory.mktemp("replay"))


@pytest.fixture
def replay(open_page, file):
    page = open_page(file)
    page.keyboard.press("Home")
    yield page
    assert open_page.asked == [file]  # nothing but the file itself


def ply_of(page):
    return int(page.locator("#slider").input_value())


def test_stepping_by_buttons_keys_slider_and_moves(replay, record):
    last = len(record.actions)
    assert text(replay, "#where") == f"0 / {last}"
    replay.click('[data-step="on"]')
    replay.keyboard.press("ArrowRight")
    assert ply_of(replay) == 2
    assert (stones(replay, 0), stones(replay, 1)) == (1, 1)
    replay.keyboard.press("ArrowLeft")
    assert (stones(replay, 0), stones(replay, 1)) == (1, 0)
    replay.keyboard.press("End")
    assert text(replay, "#where") == f"{last} / {last}"
    assert replay.locator("#board .win polyline").count() == 2
    replay.keyboard.press("Home")
    assert stones(replay, 0) == 0
    replay.locator("#slider").fill("3")
    assert ply_of(replay) == 3
    replay.locator("#moves button").nth(1).click()
    assert ply_of(replay) == 2
    assert replay.locator('#moves [aria-current="true"]').inner_text().split()[0] == "2"
    for step, ply in (("last", last), ("back", last - 1), ("first", 0)):
        replay.click(f'[data-step="{step}"]')
        assert ply_of(replay) == ply


def test_every_frame_has_its_stones(replay, record):
    for ply in range(len(record.actions) + 1):
        assert stones(replay, 0) + stones(replay, 1) == ply
        assert replay.locator("#board .last use").count() == min(ply, 1)
        replay.keyboard.press("ArrowRight")


def test_playing_and_pausing(replay, record):
    replay.select_option("#speed", "10")
    replay.locator("body").press(" ")
    assert "Pause" in text(replay, "#play")
    wait_for(replay, "document.getElementById('slider').value >= 2")
    replay.locator("body").press(" ")
    assert "Play" in text(replay, "#play")
    where = ply_of(replay)
    replay.wait_for_timeout(300)
    assert ply_of(replay) == where
    replay.click("#play")
    last = len(record.actions)
    wait_for(replay, f"document.getElementById('slider').value == {last}")
    wait_for(replay, "document.getElementById('play').textContent.includes('Play')")
    replay.keyboard.press("-")
    assert replay.locator("#speed").input_value() == "4"


def test_overlays_show_the_search(replay, record):
    search = record.searches[0]
    discs = replay.locator("#board .overlay circle")
    figures = replay.locator("#board .overlay text")
    assert discs.count() == len(search.visits)
    shares = sorted(int(figure) for figure in figures.all_text_contents() if figure)
    assert shares[-1] == round(100 * max(search.visits.values()) / sum(search.visits.values()))
    replay.keyboard.press("2")
    best = max(search.values.values())
    assert f"{round(100 * best):+d}".replace("+0", "0") in figures.all_text_contents()
    assert replay.locator('[data-overlay="values"]').get_attribute("aria-pressed") == "true"
    replay.click('[data-overlay="none"]')
    assert discs.count() == 0
    assert replay.locator("#priors").is_disabled()
    row = replay.locator("#actions tr").first.inner_text().split()
    assert int(row[1].replace(",", "")) == max(search.visits.values())


def test_the_expected_line_is_text_and_ghosts(replay, record):
    line = record.searches[0].principal_variation
    rules = record.rules()
    assert text(replay, "#line").split() == [rules.action_text(action) for action in line]
    ghosts = replay.locator("#board .ghosts use")
    assert ghosts.count() == 0
    replay.keyboard.press("l")
    assert ghosts.count() == len(line)
    replay.keyboard.press("l")
    replay.hover("#line")
    assert ghosts.count() == len(line)


def test_actions_from_a_cell_to_another_are_arrows(open_page, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "examples" / "games"))
    env = make_environment("breakthrough:env", ["rows=5", "columns=2"])
    game = env.unwrapped.game
    ahead, aslant = (game.parse_action(move) for move in ("a2a3", "a2b3"))
    visits, values = {ahead: 3, aslant: 1}, {ahead: 0.5, aslant: -1.0}
    search = Search(0.1, 4, 0.5, visits, values, {}, (ahead,))
    record = GameRecord.of(
        "breakthrough:env", ("rows=5", "columns=2"), (ahead,), searches=(search,)
    )
    path = tmp_path / "game.html"
    path.write_text(replay_page(record, env=env), encoding="utf-8")
    page = open_page(path.as_uri())
    page.keyboard.press("Home")
    assert page.locator("#board .overlay text").all_text_contents() == ["25", "75"]
    arrows = page.locator("#board .overlay g")
    assert [arrows.nth(i).get_attribute("data-to") for i in (0, 1)] == ["5", "4"]
    drawn = render_svg(game, base.new_state(game), overlay=Overlay([np.nan] * 10, moves=[
        Move("a2a3", (6, 4), 1.0, "")
    ]))  # fmt: skip
    expected = re.search('<polygon points="(.+?)"', drawn.partition("data-from")[2])[1]
    points = arrows.nth(1).locator("polygon").get_attribute("points")
    found, given = ([float(n) for n in re.split("[ ,]", each)] for each in (points, expected))
    assert found == pytest.approx(given, abs=0.01)


def test_priors_are_shown_where_there_are_some(open_page, tmp_path):
    search = Search(0.1, 5, 1.0, {4: 5}, {4: 1.0}, {0: 0.25, 4: 0.75}, (4,))
    record = GameRecord.of("tictactoe", (), (4,), searches=(search,))
    page = open_page(page_file(record, tmp_path))
    page.keyboard.press("Home")
    page.keyboard.press("3")
    assert page.locator("#board .overlay text").all_text_contents() == ["75", "25"]
    assert page.locator("#actions td").all_inner_texts()[:4] == ["5", "5", "+99", "75.0 %"]


def test_a_proven_win_has_the_line_in_place_of_numbers(open_page, tmp_path):
    searches = (
        Search(0.1, 0, 1.0, {5: 1}, {5: 1.0}, proven=1, principal_variation=(1, 4, 2)),
        Search(0.1, 9, -0.5, {5: 8, 8: 1}, {5: -0.5, 8: -0.9}),
        Search(0.1, 0, 1.0, {5: 1}, {5: 1.0}, proven=1),
    )
    record = GameRecord.of(
        "tictactoe", (), (0, 3, 1, 4, 2), agents=("a", "b"), searches=(None, None, *searches)
    )
    page = open_page(page_file(record, tmp_path))
    assert text(page, "#summary") == "Before move 5, a wins:"
    assert text(page, "#line") == "3"  # the move that was played, as the search has no line
    assert page.locator("#actions-box").is_hidden()
    page.locator("#slider").fill("2")
    assert text(page, "#summary") == "A wins in 3:"
    assert text(page, "#line").split() == ["2", "5", "3"]
    page.keyboard.press("ArrowRight")
    rows = [row.split()[0] for row in page.locator("#actions tr").all_inner_texts()]
    assert rows == ["6", "9", "5"]  # the one that was played is there, without a visit
    assert page.locator("#actions tr.chosen").inner_text().split() == ["5"]


def test_the_bar_shows_who_is_better(replay, record):
    bar = replay.locator("#bar")
    assert bar.get_attribute("aria-valuenow") == str(round(100 * record.searches[0].value))
    replay.keyboard.press("ArrowRight")
    value = -record.searches[1].value
    assert bar.get_attribute("aria-valuenow") == str(round(100 * value))
    assert (
        text(replay, "#bar") == f"+{round(100 * abs(value))} for {'uct' if value >= 0 else 'rave'}"
    )
    replay.keyboard.press("End")
    assert bar.get_attribute("aria-valuenow") == str(100 * record.outcome)


def test_a_record_opens_at_its_end_and_shows_no_clocks_of_zero(open_page, tmp_path, file):
    seconds = (0.0, 0.25, 0.0, 61.0, 0.0)
    record = GameRecord.of("tictactoe", (), (0, 3, 1, 4, 2), seconds=seconds)
    page = open_page(page_file(record, tmp_path))
    assert text(page, "#where") == "5 / 5"
    clocks = [page.locator(f"#clock-{player}") for player in (0, 1)]
    assert [clock.text_content() for clock in clocks] == ["", "1:01.3"]
    page.locator("#slider").fill("2")
    assert [clock.text_content() for clock in clocks] == ["", "250 ms"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_names_have_the_colours_of_the_stones(open_page, file, scheme):
    page = open_page(file, color_scheme=scheme)
    for player in (0, 1):
        stone, shown = (
            page.evaluate(f"getComputedStyle(document.querySelector('{where}')).{what}")
            for where, what in (
                (
                    f'#board .stones [href="#stone-{player}"]',
                    f"getPropertyValue('--stone-{player}')",
                ),
                (f"#name-{player} b", "backgroundColor"),
            )
        )
        red_green_blue = ", ".join(str(part) for part in bytes.fromhex(stone.removeprefix("#")))
        assert shown == f"rgb({red_green_blue})"


@pytest.mark.parametrize(("options", "viewport"), [
    (("gomoku", ("board_size=20",)), PHONE), (("hex", ("board_size=11",)), PHONE),
    (("tictactoe", ()), {"width": 1280, "height": 500}),
])  # fmt: skip
def test_boards_are_large_enough_to_read(open_page, tmp_path, options, viewport):
    page = open_page(page_file(GameRecord.of(*options, ()), tmp_path), viewport=viewport)
    assert page.locator("#board svg").bounding_box()["width"] > 192
    wait_for(page, "document.getElementById('board').offsetHeight > 0")
    if viewport == PHONE:
        size = "Number(document.querySelector('#board .labels > g').getAttribute('font-size'))"
        scale = "document.querySelector('#board svg').getScreenCTM().a"
        wait_for(page, f"{size} * {scale} >= 9")  # after the first layout


def test_the_curve_leads_to_a_move(replay, record):
    told = [search for search in record.searches if search.value is not None]
    assert replay.locator("#curve circle").count() == len(told)
    box = replay.locator("#curve").bounding_box()
    replay.mouse.click(box["x"] + box["width"] - 2, box["y"] + 20)
    assert ply_of(replay) == len(record.actions)
    replay.mouse.click(box["x"] + 2, box["y"] + 20)
    assert ply_of(replay) == 0


def test_themes_follow_the_system_and_the_reader(open_page, file):
    page = open_page(file, color_scheme="dark")
    board = page.locator("#board svg")
    assert board.get_attribute("class") == "hexenv hexagons dark"
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.select_option("#theme", "light")
    assert board.get_attribute("class") == "hexenv hexagons light"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != dark
    page.locator("body").press("t")
    page.locator("body").press("t")
    assert board.get_attribute("class") == "hexenv hexagons colorblind"


def test_help_is_a_key_away(replay):
    replay.keyboard.press("?")
    assert replay.locator("#help").is_visible()
    replay.keyboard.press("ArrowRight")
    assert ply_of(replay) == 0
    replay.keyboard.press("Escape")
    assert replay.locator("#help").is_hidden()


def test_all_controls_have_names_and_can_be_reached(replay):
    controls = replay.locator("button:visible, select:visible, input:visible")
    names = controls.evaluate_all(
        "all => all.map(one => one.ariaLabel || one.textContent.trim() || one.labels?.length)"
    )
    assert len(names) > 15
    assert all(names)
    assert "the board after the start" in replay.locator("#board svg").get_attribute("aria-label")
    reached = set()
    for _ in range(12):
        replay.keyboard.press("Tab")
        reached.add(replay.evaluate("document.activeElement.outerHTML.slice(0, 60)"))
    assert len(reached) == 12


@pytest.mark.parametrize("viewport", [PHONE, {"width": 320, "height": 568}])
def test_a_phone_shows_it_without_scrolling_sideways(open_page, file, viewport):
    page = open_page(file, viewport=viewport, has_touch=True, is_mobile=True)
    width = viewport["width"]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    box = page.locator("#board svg").bounding_box()
    assert width * 0.9 <= box["width"] <= width
    page.tap('[data-step="first"]')
    page.tap('[data-step="on"]')
    assert ply_of(page) == 1


def test_names_run_nothing(open_page, tmp_path):
    file = page_file(recorded(names=(HOSTILE, HOSTILE)), tmp_path)
    page = open_page(file)
    assert page.locator("img").count() == 0
    name = HOSTILE.partition(":")[0]
    assert page.locator("#name-0 b").text_content() == name
    page.keyboard.press("End")
    assert open_page.asked == [file]


def test_the_page_cannot_reach_the_network(open_page, file):
    page = open_page(file)
    reached = page.evaluate(
        "fetch('http://127.0.0.1:9/').then(() => 'reached', error => error.message)"
    )
    assert reached != "reached"
    assert any("Content Security Policy" in message for message in open_page.said)
    open_page.said.clear()


# ---- the served page -----------------------------------------------------------------------------

GAMES = {
    "tictactoe": ((), "uct:simulations=50"),
    "connect4": (("rows=4", "columns=5", "connect=3"), "uct:simulations=50"),
    "hex": (("board_size=4",), "uct:simulations=50"),
    "gomoku": (("board_size=6", "opening=swap2"), "greedy"),
}


@pytest.fixture(scope="module")
def address():
    with serving() as (port, _):
        yield f"http://127.0.0.1:{port}"


def begin(page, game, agent, options=(), side=0):
    """Begin a game with the form."""
    name, _, parameters = agent.partition(":")
    page.wait_for_selector("#setup[open]")
    page.select_option("#game", game)
    page.evaluate("document.getElementById('own').open = true")
    page.select_option("#agent", name)
    for pair in [*options, *filter(None, parameters.split(","))]:
        key, _, value = pair.partition("=")
        field = page.locator(f"#setup [name={key}]")
        if field.evaluate("field => field.tagName") == "SELECT":
            field.select_option(value)
        else:
            field.fill(value)
    page.check(f"[name=side][value='{side}']")
    with page.expect_navigation(url="**/games/*"):
        page.click("#start")


def state(page):
    return page.evaluate("play.state")


def wait_for_turn(page):
    wait_for(page, "play.state && ['yours', 'over'].includes(play.state.status)")
    return state(page)


def move(page):
    """Click the last cell that may be played, or else another choice; returns the state then."""
    before = wait_for_turn(page)
    if before["status"] == "over":
        return before
    ply = page.evaluate("play.viewer.lastPly()")
    if before["choices"]["others"]:
        page.locator("#others button").first.click()
    else:
        cell = list(before["choices"]["cells"])[-1]
        page.click(f'#board .cells [data-cell="{cell}"]')
    wait_for(page, f"play.viewer.lastPly() > {ply}")
    return wait_for_turn(page)


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("side", [0, 1])
def test_a_game_is_played_to_its_end_by_clicks(open_page, address, game, side):
    options, agent = GAMES[game]
    page = open_page(address)
    begin(page, game, agent, options, side)
    for _ in range(40):
        if move(page)["status"] == "over":
            break
    assert state(page)["status"] == "over"
    assert "The game is over" in text(page, "#status")
    with page.expect_download() as download:
        page.click("#record")
    record = load_record(download.value.path())
    assert record.game == game
    assert len(record.actions) == page.evaluate("play.viewer.frames.length") - 1
    assert record.agents[side] == "human"
    if agent != "greedy":
        assert any(record.searches)


def test_opponents_are_proposed_and_their_parameters_unfold(open_page, address):
    page = open_page(address)
    titles = page.locator("#opponents b").all_inner_texts()
    assert titles[0] == "a beginner"
    assert "the strongest without a network" in titles
    assert titles[-1] == "an agent of your choice"
    assert page.locator("#parameters").is_hidden()
    page.get_by_text("the strongest without a network").click()
    chosen = text(page, "#text")
    name, _, parameters = chosen.partition(":")
    page.click("#own summary")
    assert page.input_value("#agent") == name
    for pair in parameters.split(","):
        key, _, value = pair.partition("=")
        assert page.input_value(f"#parameters [name={key}]") == value
    page.fill("#parameters [name=playout]", "decisive")
    assert "playout=decisive" in text(page, "#text")
    assert page.locator("#opponents label:last-child input").is_checked()
    page.select_option("#game", "connect4")
    page.get_by_text("a beginner").click()
    assert text(page, "#text") == "greedy"
    with page.expect_navigation(url="**/games/*"):
        page.click("#start")
    wait_for_turn(page)
    assert text(page, "#title") == "Connect4 6 x 7"
    assert text(page, "#name-1") == "greedy"


def test_a_taken_cell_says_so(open_page, address):
    page = open_page(address)
    begin(page, "tictactoe", "random")
    move(page)
    cell = page.evaluate("play.viewer.frames.at(-1).owners.indexOf('X')")
    page.click(f'#board .cells [data-cell="{cell}"]')
    assert text(page, "#status") == f"{cell + 1} is taken."
    assert page.evaluate("play.viewer.lastPly()") == 2


def test_the_clock_stops_while_the_page_is_away(open_page, address):
    page = open_page(address)
    begin(page, "tictactoe", "random")
    wait_for_turn(page)
    for is_hidden in (True, False):
        page.evaluate(
            """(value) => {
            Object.defineProperty(document, "hidden", { value, configurable: true });
            document.dispatchEvent(new Event("visibilitychange"));
        }""",
            is_hidden,
        )
        wait_for(page, f"play.state.is_running == {json.dumps(not is_hidden)}")
    move(page)


def test_a_small_cell_asks_for_a_second_tap(open_page, address):
    page = open_page(address, viewport=PHONE, has_touch=True, is_mobile=True)
    begin(page, "hex", "uct:simulations=50", ["board_size=11"])
    wait_for_turn(page)
    for cell in (12, 60):  # the second thought counts
        page.tap(f'#board .cells [data-cell="{cell}"]')
        wait_for(page, f"play.picked?.cell == {cell}")
    assert page.evaluate("play.viewer.lastPly()") == 0
    assert "f6: tap it again" in text(page, "#status")
    assert text(page, "#others button") == "Play f6"
    page.tap('#board .cells [data-cell="60"]')
    wait_for(page, "play.viewer.frames.length == 3")
    assert page.evaluate("play.viewer.frames[1].last") == 60
    wait_for_turn(page)
    summary = page.locator("#summary").bounding_box()
    assert summary["y"] + summary["height"] <= PHONE["height"]  # without scrolling
    assert "simulations" in text(page, "#summary")


def test_two_games_at_once_and_a_reload_in_the_middle(open_page, address):
    pages = [open_page(address) for _ in range(2)]
    begin(pages[0], "tictactoe", "uct:simulations=50")
    begin(pages[1], "hex", "uct:simulations=50", ["board_size=4"])
    assert pages[0].url != pages[1].url
    for page in pages:
        move(page)
    shown = [page.evaluate("play.viewer.frames") for page in pages]
    pages[0].reload()
    wait_for_turn(pages[0])
    assert pages[0].evaluate("play.viewer.frames") == shown[0]
    assert text(pages[0], "#where") == "2 / 2"
    for page in pages:
        while move(page)["status"] != "over":
            pass
    assert [len(state(page)["frames"][-1]["owners"]) for page in pages] == [9, 16]


def test_a_dropped_connection_comes_back_with_all(open_page, address):
    page, other = open_page(address), open_page(address)
    begin(page, "tictactoe", "random")
    wait_for_turn(page)
    page.evaluate("play.connection.socket.close(); play.connection.wait = 100_000")
    wait_for(page, "play.link == 'lost'")
    other.goto(page.url)  # goes on meanwhile
    move(other)
    assert "is lost" in text(page, "#status")
    assert page.locator("#undo").is_disabled()
    page.evaluate("play.connection.connect()")
    wait_for(page, "play.link == 'open' && play.viewer.frames.length == 3")
    move(page)


def test_searches_are_shown_while_the_agent_thinks(open_page, address):
    page = open_page(address)
    begin(page, "hex", "uct:simulations=,seconds=3", ["board_size=5"], side=1)
    wait_for(page, "play.state?.status == 'thinking' && play.viewer.frames[0].search")
    first = page.evaluate("play.viewer.frames[0].search?.simulations ?? 0")
    wait_for(page, f"play.viewer.frames[0].search.simulations > {first}")
    assert page.locator("#board .overlay circle").count() > 0
    page.click("#resign")
    wait_for(page, "play.state.status == 'over'")
    assert "you" not in text(page, "#status").split(":")[1].split()[0]


def test_the_last_search_stays_on_the_board_while_it_is_your_turn(open_page, address):
    page = open_page(address)
    begin(page, "hex", "uct:simulations=50", ["board_size=4"])
    assert move(page)["status"] == "yours"
    frames = page.evaluate("play.viewer.frames")
    search, played = frames[1]["search"], frames[2]["move"]["action"]
    assert frames[2]["search"] is None
    shown = [each for each in search["actions"] if each["visits"] and each["action"] != played]
    assert page.locator("#board .overlay circle").count() == len(shown) > 0
    page.click("#line-toggle")
    assert page.locator("#board .overlay circle").count() == 0
    assert page.locator("#board .ghosts use").count() == len(search["line"]) - 1 > 0


def test_hint_undo_and_looking_back(open_page, address):
    page = open_page(address)
    begin(page, "tictactoe", "uct:simulations=100")
    wait_for_turn(page)
    page.click("#hint")
    wait_for(page, "play.state.hint")
    assert f"uct would play {state(page)['hint']['text']}" in text(page, "#status")
    assert page.locator("#board .marks circle").count() == 1
    page.click('#board .cells [data-cell="4"]')
    wait_for(page, "play.viewer.frames.length == 3")
    page.locator("body").press("Home")
    assert "looking back" in text(page, "#status")
    page.click('#board .cells [data-cell="0"]')  # leads to the last move, and plays nothing
    assert text(page, "#where") == "2 / 2"
    page.click("#undo")
    wait_for(page, "play.viewer.frames.length == 1")
    assert stones(page, 0) == 0


def test_a_double_click_is_one_move(open_page, address):
    page = open_page(address)
    begin(page, "hex", "uct:simulations=2000", ["board_size=5"])
    wait_for_turn(page)
    page.evaluate("""() => {
        play.notes = [];
        const set = play.setNote.bind(play);
        play.setNote = (note) => { play.notes.push(note); set(note); };
    }""")
    page.dblclick('#board .cells [data-cell="12"]')
    wait_for(page, "play.viewer.frames.length == 3")
    wait_for_turn(page)
    # The state may come between the clicks: then the second one is told so, and no more.
    assert set(page.evaluate("play.notes")) <= {"", "It is not your turn yet."}
    assert stones(page, 0) == 1


def test_the_theme_stays_with_the_reader(open_page, address):
    page = open_page(address)
    page.locator("body").press("Escape")  # the form
    page.select_option("#theme", "dark")
    page.reload()
    assert page.input_value("#theme") == "dark"


def test_a_game_can_be_played_with_the_keyboard_alone(open_page, address):
    page = open_page(address)
    begin(page, "tictactoe", "random")
    wait_for_turn(page)
    page.focus("#board svg")
    page.keyboard.press("ArrowRight")
    assert page.locator("#board .cell-cursor").count() == 1
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    wait_for(page, "play.viewer.frames.length == 3")
    assert page.evaluate("play.viewer.frames[1].owners") == ".X......."


def test_a_server_that_was_started_anew_says_so(open_page):
    with serving() as (port, _):
        page = open_page(f"http://127.0.0.1:{port}")
        begin(page, "tictactoe", "random")
        wait_for_turn(page)
        move(page)
    wait_for(page, "play.link == 'lost'")
    assert "The connection to the server is lost" in text(page, "#status")
    with serving(port=port):
        wait_for(page, "play.link == 'gone'")
        assert "This game is not on the server" in text(page, "#status")
        assert stones(page, 0) == 1  # what is known stays
        page.reload()
        wait_for(page, "play.link == 'gone'")
        assert "Begin a new game" in text(page, "#status")
        page.click("#new")
        begin(page, "tictactoe", "random")
        wait_for_turn(page)
    # The browser itself notes refused connections, and the 404 of the page.
    failed = re.compile("ERR_CONNECTION|status of 404|WebSocket connection")
    assert all(failed.search(message) for message in open_page.said), open_page.said
    open_page.said.clear()


def test_what_is_wrong_with_a_new_game_is_said_in_the_form(open_page, address):
    page = open_page(address)
    page.fill("[name=board_size]", "99")
    page.click("#start")
    wait_for(page, "document.getElementById('setup-error').textContent")
    assert "board size" in text(page, "#setup-error")
    assert any("status of 400" in message for message in open_page.said)
    open_page.said.clear()


def test_a_phone_can_play(open_page, address):
    page = open_page(address, viewport=PHONE, has_touch=True, is_mobile=True)
    begin(page, "connect4", "random")
    wait_for_turn(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
    page.tap('#board .cells [data-cell="0"]')
    wait_for(page, "play.viewer.frames.length == 3")
    assert page.evaluate("play.viewer.frames[1].last") == 35  # the stone fell


def test_the_replay_of_a_served_game(open_page, address):
    page = open_page(address)
    begin(page, "tictactoe", "uct:simulations=50")
    move(page)
    replay = open_page(page.url + "/replay")
    assert text(replay, "#where") == "2 / 2"
    assert stones(replay, 0) == stones(replay, 1) == 1
    assert json.loads(replay.locator("#data").text_content())["names"] == [
        "human",
        "uct:simulations=50",
    ]


# ---- a review ------------------------------------------------------------------------------------


def test_the_reader_learns_from_the_mistakes(open_page, tmp_path):
    """A worse move is refused with what it loses, a better one counts; typed or clicked."""
    game = GameRecord.of("tictactoe", (), (4, 0, 1, 2, 7), agents=("me", "you"))
    found = review(game, "solver")
    path = tmp_path / "review.html"
    path.write_text(replay_page(found.record, errors=found.errors), encoding="utf-8")
    page = open_page(path.as_uri())
    page.locator("#learn").click()
    assert not page.locator(".search").is_visible()  # it has the answers
    assert "you played 3, a blunder" in text(page, "#status")
    page.locator('#board .cells use[data-cell="3"]').click()
    assert "Not 4: it loses 50 %" in text(page, "#status")
    page.locator("#guess").fill("8")
    page.keyboard.press("Enter")
    assert text(page, "#status").startswith("Right: 8.")
    page.locator("#lesson-next").click()
    assert text(page, "#status") == "Found: 0 of 1."  # it was not the first try
    page.locator("#learn").click()
    page.locator('#board .cells use[data-cell="7"]').click()
    page.locator("#lesson-end").click()
    assert text(page, "#status") == "Found: 1 of 1."
    assert page.locator(".search").is_visible()


# ---- the analysis board --------------------------------------------------------------------------


def test_a_position_is_analysed_with_variations_and_shared(open_page, address):
    """Moves by clicks, a variation, two agents, a link that shows the same on a phone."""
    page = open_page(f"{address}/analysis#game=tictactoe&moves=4.0")
    wait_for(page, "analysis.tree.node.choices !== null")
    page.locator('#board .cells use[data-cell="8"]').click()
    wait_for(page, "analysis.tree.node.choices !== null && analysis.viewer.lastPly() === 3")
    page.keyboard.press("ArrowLeft")
    page.locator('#board .cells use[data-cell="1"]').click()  # another move: a variation
    wait_for(page, "analysis.tree.node.frame !== null && analysis.tree.node.action === 1")
    page.locator("#typed").fill("nine")
    page.keyboard.press("Enter")
    assert text(page, "#status") == "nine is no move here."
    page.keyboard.press("Tab")
    page.locator("#typed").fill("3")
    page.keyboard.press("Enter")
    wait_for(page, "analysis.tree.node.frame !== null && analysis.tree.node.action === 2")
    page.locator("#delete").click()
    page.locator("#comment").fill('a "better" (move) ü!')
    page.select_option("#agent-0", "solver")
    page.select_option("#agent-1", index=1)
    page.keyboard.press("Tab")
    page.locator("#go").click()
    wait_for(page, "document.querySelectorAll('.lines:not([hidden])').length === 2")
    assert "simulations" in text(page, "#lines-0 caption")
    page.locator("#go").click()
    page.locator("#share").click()
    link = page.input_value("#link")
    picture = unquote(page.get_attribute("#picture", "href").partition(",")[2])
    assert ElementTree.fromstring(picture).tag.endswith("svg")
    assert "4.0.8%281%21%22" in link
    phone = open_page(link, PHONE)
    wait_for(phone, "analysis.tree.node.choices !== null")
    assert [stones(phone, player) for player in (0, 1)] == [2, 1]
    assert phone.evaluate("analysis.tree.node.action") == 1
    assert phone.input_value("#comment") == 'a "better" (move) ü!'
    assert phone.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    phone.locator("#promote").click()
    assert "4.0.1%21%22" in phone.url
    phone.locator("#delete").click()
    assert "4.0%21.8" in phone.url


def test_stones_are_placed_and_games_pasted(open_page, address):
    page = open_page(f"{address}/analysis#game=hex&option=board_size%3D4")
    wait_for(page, "analysis.tree.node.choices !== null")
    page.locator("#new").click()
    page.locator("#edit").click()
    for cell, clicks in ((0, 1), (5, 2), (6, 3)):
        for _ in range(clicks):
            page.locator(f'#board .cells use[data-cell="{cell}"]').click()
    page.get_by_role("button", name="Done").click()
    wait_for(page, "analysis.tree.node.choices !== null")
    assert [stones(page, player) for player in (0, 1)] == [1, 1]
    page.locator("#new").click()
    page.locator("#pasted").fill("z9")
    page.locator("#read").click()
    wait_for(page, "document.getElementById('setup-error').textContent !== ''")
    page.locator("#pasted").fill("https://hexworld.org/board/#5c1,c3b2d4")
    page.locator("#read").click()
    wait_for(page, "analysis.viewer.lastPly() === 3")
    assert text(page, "#title") == "Hex 5 x 5, no swap"


def test_a_connection_that_wins_is_marked(open_page, address):
    page = open_page(f"{address}/analysis#game=hex&option=board_size%3D4&moves=5.0.9")
    wait_for(page, "analysis.tree.node.choices !== null")
    page.select_option("#agent-0", "uct:simulations=100")
    page.locator("#go").click()
    wait_for(
        page, "analysis.tree.node.win !== undefined && analysis.tree.node.frame.search !== null"
    )
    assert text(page, "#win") == "first wins by the connection that is marked."
    assert page.locator("#board circle.mark").count() == 4
    page.keyboard.press("ArrowLeft")
    wait_for(page, "document.getElementById('win').hidden")


def test_a_game_is_saved_and_opened_from_a_file(open_page, address, tmp_path):
    """Nothing is lost: variations, comments, and what only other programs know."""
    page = open_page(f"{address}/analysis#game=tictactoe")
    wait_for(page, "analysis.tree.node.choices !== null")
    given = "(;GM[11]SZ[4]GN[x];B[a1]C[first](;W[b2]TE[1];B[c3])(;W[b1](;B[c1]C[two])(;B[c2])))"
    (tmp_path / "given.sgf").write_text(given, encoding="utf-8")
    page.locator("#new").click()
    page.set_input_files("#file", tmp_path / "given.sgf")
    wait_for(page, "analysis.tree.node.choices !== null && analysis.viewer.lastPly() === 3")
    assert text(page, "#branches") == ""
    page.locator("#share").click()
    with page.expect_download() as saved:
        page.locator("#save").click()
    assert saved.value.suggested_filename == "hex.sgf"
    (found,) = read_variations(saved.value.path().read_text(encoding="utf-8"))
    (wanted,) = read_variations(given)
    assert found == wanted
    with page.expect_download() as saved:
        page.locator("#save-gif").click()
    assert saved.value.path().read_bytes()[:4] == b"GIF8"
    with page.expect_download() as saved:
        page.locator("#save-png").click()
    assert saved.value.path().read_bytes()[:4] == b"\x89PNG"


def test_the_reader_chooses_an_agent_with_its_parameters(open_page, address):
    page = open_page(f"{address}/analysis#game=tictactoe")
    wait_for(page, "analysis.tree.node.choices !== null")
    page.select_option("#agent-0", label="an agent of your choice ...")
    page.select_option("#agent", "rave")
    page.fill("#parameters [name=simulations]", "40")
    page.get_by_role("button", name="Take it").click()
    wait_for(page, "document.getElementById('agent-0').value !== '?'")  # the dialog tells it later
    assert page.input_value("#agent-0") == "rave:simulations=40"
    page.locator("#go").click()
    wait_for(page, "document.querySelector('#lines-0 tbody tr') !== null")
    assert text(page, "#lines-0 caption").startswith("rave:simulations=40")
    page.select_option("#agent-1", label="an agent of your choice ...")
    page.locator("#choose").get_by_role("button", name="Close").click()
    wait_for(page, "document.getElementById('agent-1').value !== '?'")
    assert page.input_value("#agent-1") == ""
    assert page.input_value("#agent-0") == "rave:simulations=40"


# ---- a search step by step -----------------------------------------------------------------------


def test_a_search_is_stepped_through(open_page, tmp_path):
    """Phases by keys and buttons; the tree, the scores and the board are those of the steps."""
    env = make_environment("connect4", ())
    env.reset(options={"moves": "4453"})
    found = explain(env, "uct:seed=1", 40)
    (tmp_path / "search.html").write_text(explain_page(found), encoding="utf-8")
    page = open_page((tmp_path / "search.html").as_uri(), PHONE)
    last = found.steps[-1]
    page.keyboard.press("End")
    assert text(page, "#where") == "40 / 40"
    assert page.locator("#tree circle").count() == 1 + len({step.actions for step in found.steps})
    assert page.locator("#way button").count() == 1 + len(last.actions)
    page.keyboard.press("ArrowLeft")
    assert "playout" in text(page, "#phases [aria-current]")
    owners = base.cell_owners(found.game, last.end)
    assert [stones(page, player) for player in (0, 1)] == [(owners == one).sum() for one in (0, 1)]
    page.locator("#way button").first.click()
    assert text(page, "#children tr.chosen td:first-child") == found.game.action_text(
        last.actions[0]
    )
    page.locator("#back").click()
    assert "expansion" in text(page, "#phases [aria-current]")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


@pytest.mark.parametrize(
    ("link", "left_out"),
    [
        ("#nonsense", "the address names no game"),
        ("#game=tictactoe&moves=4.0%21zzz", "the moves of the address"),
    ],
)
def test_a_damaged_link_says_what_was_not_read(open_page, address, link, left_out):
    page = open_page(f"{address}/analysis{link}")
    page.wait_for_function(
        "text => document.getElementById('status').textContent.includes(text)", arg=left_out
    )
    assert "Not all could be read" in page.locator("#status").inner_text()
