"""The replay page as a file: what is in it, and that nothing gets in or out."""

import json
import re
from html.parser import HTMLParser

import pytest
from click.testing import CliRunner
from persons import GAMES

from agents.apps.cli import main
from agents.apps.web.page import play_page, replay_data, replay_page, result_text
from agents.arena.match import play_match
from agents.records import GameRecord, Search, save_record
from agents.records.recorder import Recorder
from agents.registry import make_agent, make_environment
from hexenv.render.look import THEMES

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>&lt;\u2028'\"{{data}}"


class Parts(HTMLParser):
    """The elements of a page with their attributes, and the texts of its styles."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.styles, self.attributes = [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *pair) for pair in attrs]

    def handle_data(self, data):
        if self.tags[-1:] == ["style"]:
            self.styles.append(data)


def recorded(game="tictactoe", options=(), specs=("uct:simulations=60", "greedy"), names=None):
    env = make_environment(game, options)
    agents = [make_agent(spec, 1) for spec in specs]
    recorder = Recorder(game, options, names or specs, agents)
    (result,) = play_match(env, agents, games=1, seed=3, on_move=recorder.on_move)
    return recorder.record(result)


def data_of(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])


@pytest.mark.parametrize(("game", "options"), GAMES.values(), ids=GAMES)
def test_the_frames_are_the_game(game, options):
    record = recorded(game, options, ("greedy", "greedy"))
    data = data_of(replay_page(record))
    assert [frame["move"]["action"] for frame in data["frames"][1:]] == list(record.actions)
    for frame, state in zip(data["frames"], record.states(), strict=True):
        owners = [record.rules().owner(state, cell) for cell in range(len(frame["owners"]))]
        assert ["XO".find(symbol) for symbol in frame["owners"]] == owners
    last = data["frames"][-1]
    assert last["player"] is None
    assert bool(last["winning"]) == (record.outcome != 0)


def test_searches_are_shown_where_they_were_made():
    record = recorded()
    for ply, (frame, search) in enumerate(
        zip(replay_data(record)["frames"], record.searches, strict=False)
    ):
        shown = frame["search"]
        assert (shown is None) == (search is None)
        if search is not None:
            assert shown["value"] == search.value
            visits = {action["action"]: action["visits"] for action in shown["actions"]}
            assert visits == search.visits
            assert list(visits.values()) == sorted(visits.values(), reverse=True)
            line = search.principal_variation
            assert [move["cell"] for move in shown["line"]] == list(line)
            players = [move["player"] for move in shown["line"]]
            assert players == [(ply + number) % 2 for number in range(len(line))]


def test_a_column_is_shown_where_its_stone_would_lie():
    search = Search(0.1, 5, 0.5, visits={3: 4, 2: 1}, principal_variation=(3, 3))
    record = GameRecord.of("connect4", (), (3, 3), searches=(None, search))
    (shown,) = [frame["search"] for frame in replay_data(record)["frames"] if frame["search"]]
    assert [action["cell"] for action in shown["actions"]] == [4 * 7 + 3, 5 * 7 + 2]
    assert [move["cell"] for move in shown["line"]] == [4 * 7 + 3, 3 * 7 + 3]


def test_a_swap_has_no_cell():
    search = Search(0.1, 5, 0.0, visits={9: 5}, principal_variation=(9,))
    options = ("board_size=3", "swap=true")
    record = GameRecord.of("hex", options, (1, 9), searches=(None, search))
    frames = replay_data(record)["frames"]
    assert frames[1]["search"]["actions"][0]["cell"] is None
    assert [frame["owners"] for frame in frames] == ["." * 9, ".X.......", "...O....."]


def test_a_proven_win_has_the_line_that_wins():
    def shown(line):
        search = Search(0.1, 0, 1.0, proven=1, principal_variation=line)
        record = GameRecord.of("tictactoe", (), (0, 3, 1, 4, 2), searches=(None,) * 4 + (search,))
        return replay_data(record)["frames"][4]["search"]

    assert ([move["text"] for move in shown((2,))["line"]], shown((2,))["ends"]) == (["3"], True)
    assert not shown((5,))["ends"]
    assert not shown(())["ends"]


def test_titles_are_in_words():
    titles = {
        "Hex 3 x 3, no swap": ("hex", ("board_size=3",)),
        "Hex 3 x 4, no swap": ("hex", ("board_size=3x4",)),
        "Hex 3 x 3, swap": ("hex", ("board_size=3", "swap=true")),
        "Gomoku 6 x 6, opening swap2": ("gomoku", ("board_size=6", "opening=swap2")),
        "Gomoku 15 x 15, rule renju": ("gomoku", ("rule=renju",)),
        "Connect4 6 x 7": ("connect4", ("connect=4",)),
        "TicTacToe": ("tictactoe", ()),
    }
    for title, (game, options) in titles.items():
        assert replay_data(GameRecord.of(game, options, ()))["title"] == title


def test_names_stay_text():
    page = replay_page(recorded(names=(HOSTILE, HOSTILE)))
    assert Parts(page).tags == Parts(replay_page(recorded())).tags
    assert data_of(page)["names"] == [HOSTILE, HOSTILE]
    assert page.count("<script") == page.count("</script>") == 2


@pytest.mark.parametrize("make", [lambda: replay_page(recorded()), lambda: play_page({})[0]])
def test_nothing_is_loaded(make):
    parts = Parts(make())
    for tag, name, value in parts.attributes:
        assert name not in ("src", "onclick", "onload", "action"), (tag, name)
        assert name != "href" or tag == "a" or value.startswith(("#", "data:"))
    assert not {"iframe", "object", "embed", "img"} & set(parts.tags)
    assert not re.search("@import|http", "".join(parts.styles))


def test_only_the_script_of_the_page_may_run():
    page = replay_page(recorded())
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    assert "default-src &#x27;none&#x27;" in policy
    assert "script-src &#x27;sha256-" in policy
    assert "connect-src" not in policy
    assert "connect-src 'self'" in play_page({})[1]


def test_the_command_writes_the_page(tmp_path):
    record = recorded()
    save_record(record, tmp_path / "a.json")
    path = tmp_path / "a.html"
    command = ["render", str(tmp_path / "a.json"), "--force", "--to", str(path)]
    for options, theme in [([], "auto"), *((["--theme", theme], theme) for theme in THEMES)]:
        result = CliRunner().invoke(main, [*command, *options])
        assert result.exit_code == 0, result.output
        page = path.read_text(encoding="utf-8")
        assert page == replay_page(record, theme=theme)
        assert data_of(page)["theme"] == theme


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: replay_page(recorded(), theme="pink"), "'pink'"),
        (lambda: replay_page(GameRecord("mymodule:env", (), (1, 2), None, None)), "mymodule:env"),
        (lambda: replay_page(GameRecord("tictactoe", (), (1, 1), "22", None)), "illegal action 1"),
    ],
)
def test_what_cannot_be_shown_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("outcome", "reason", "text"),
    [
        (1, None, "a wins"),
        (-1, "resigned", "you win (resigned)"),
        (0, None, "a draw"),
        (None, None, ""),
        (None, "power cut", "stopped: power cut"),
    ],
)
def test_results_in_words(outcome, reason, text):
    assert result_text(outcome, reason, ("a", "you")) == text


def test_a_game_without_searches_or_moves():
    empty = GameRecord.of("hex", ("board_size=3",), ())
    data = data_of(replay_page(empty))
    assert len(data["frames"]) == 1
    assert data["names"] == ["player 0", "player 1"]
    assert data["result"] == ""
