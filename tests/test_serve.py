"""Games in the browser without a browser: the game's logic, the messages, the server."""

import asyncio
import http.client
import importlib.util
import json
import random
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest
from click.testing import CliRunner
from persons import GAMES, Lowest
from web_games import ready, send, served, serving, settle, state_of

from agents import ForfeitError
from agents.apps.cli import main
from agents.apps.play import session as session_module
from agents.apps.play.session import Answer
from agents.apps.web.choices import (
    KEPT,
    Offer,
    allowed_agents,
    bounded,
    choices,
    fields,
    start,
)
from agents.apps.web.games import MAX_QUEUE, FullError, GameRoom, Games, PageQueue, UnknownGameError
from agents.apps.web.opponents import opponents
from agents.apps.web.protocol import (
    MOST_CHARACTERS,
    Message,
    MessageError,
    Setup,
    parse_message,
    parse_setup,
)
from agents.arena.recommended import strongest
from agents.core.agent import StoppedError
from agents.records import Search, load_record
from agents.registry import agent_classes, parameters
from hexenv import GAMES as GAMES_OF_HEXENV
from hexenv.compiled import on_compiling

needs_server = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("starlette", "uvicorn", "websockets")),
    reason="the extra web is not installed",
)


class Scripted:
    """An agent that plays, or raises, what it is told."""

    statistics = None

    def __init__(self, *answers):
        self.answers = list(answers)

    def reset(self, seed=None):
        pass

    def act(self, env):
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


# ---- a game --------------------------------------------------------------------------------------


def thinking():
    game = ready(player=Scripted(3))
    send(game, "play", action=0)
    return game


def over():
    game = ready(player=Scripted(3, 4))
    for action in (0, 1, 2):
        send(game, "play", action=action)
        settle(game)
    return game


def test_a_game_is_prepared_and_then_moves_are_answered():
    game = served("hex", ["board_size=3"], player=Scripted(8))
    assert game.session.status == "preparing"
    with pytest.raises(MessageError, match="still being prepared"):
        send(game, "play", action=0)
    assert [message["type"] for message in settle(game)] == ["state"]
    board, state = game.greeting()
    assert board["title"] == "Hex 3 x 3, no swap"
    assert board["board"]["svg"].startswith("<svg")
    assert (state["status"], list(state["choices"]["cells"])) == ("yours", list(range(9)))
    assert state["frames"][0]["owners"] == "." * 9
    assert json.dumps(state)
    (state,) = send(game, "play", action=4)
    assert (state["since"], state["status"]) == (0, "thinking")
    (state,) = settle(game)
    assert (state["since"], state["status"]) == (1, "yours")
    assert [frame["owners"] for frame in state["frames"]] == ["....X....", "....X...O"]
    assert [frame["move"]["text"] for frame in state["frames"]] == ["b2", "c3"]
    assert 8 not in state["choices"]["cells"]


@pytest.mark.parametrize(("game", "options"), GAMES.values(), ids=GAMES)
@pytest.mark.parametrize("side", [0, 1])
def test_a_game_to_its_end_is_kept_as_a_record(game, options, side):
    playing = ready(game=game, options=options, side=side)
    rng = random.Random(3)
    while playing.session.status != "over":
        offered = playing.greeting()[-1]["choices"]
        choice = rng.choice([*offered["cells"].values(), *offered["others"]])
        send(playing, "play", action=choice["action"])
        settle(playing)
    record = playing.record_maker()()
    assert (record.game, record.options, record.agents[side]) == (game, options, "human")
    assert len(list(record.replay())) == playing.ply + 1
    words = {1: ("you win", "random wins"), -1: ("random wins", "you win"), 0: ("a draw",) * 2}
    assert state_of(playing)["result"] == words[record.outcome][side]


def test_undo_takes_back_the_own_move_and_the_answer():
    game = ready(player=Scripted(1, 2))
    seen = []
    for action in (0, 4):
        seen.append(state_of(game))
        send(game, "play", action=action)
        settle(game)
    for since in (2, 0):
        (state,) = send(game, "undo")
        assert state["since"] == since
        assert state_of(game) == seen.pop()
    with pytest.raises(MessageError, match="no move of yours"):
        send(game, "undo")


def test_undo_while_the_agent_thinks():
    before = state_of(ready())
    game = thinking()
    task = game.session.next_task()
    send(game, "undo")
    assert task.abandoned.is_set()
    assert game.session.next_task() is None  # the agent is still at it
    assert game.finish(task, Answer(1)) == []
    assert state_of(game) == before
    assert game.session.next_task() is None


def test_a_hint_is_what_the_agent_would_play():
    game = ready(agent="uct:simulations=200")
    (state,) = send(game, "hint")
    assert state["is_asked"]
    state = settle(game)[-1]
    assert state["hint"]["text"] == "5"  # the centre
    assert state["hint"]["cell"] == 4
    assert state["frames"][-1]["search"]["simulations"] == 200
    send(game, "play", action=4)
    assert state_of(game)["hint"] is None
    assert game.record_maker()().searches == ()  # the person chose


def test_a_move_while_the_agent_looks_for_a_hint():
    game = ready(player=Scripted(3))
    send(game, "hint")
    task = game.session.next_task()
    send(game, "play", action=0)
    assert game.finish(task, Answer(8)) == []
    settle(game)
    state = state_of(game)
    assert (state["frames"][-1]["owners"], state["hint"]) == ("X..O.....", None)


def test_resigning():
    game = thinking()
    task = game.session.next_task()
    send(game, "resign")
    assert task.abandoned.is_set()
    state = state_of(game)
    assert (state["status"], state["result"]) == ("over", "random wins (resigned)")
    record = game.record_maker()()
    assert (record.outcome, record.reason) == (-1, "resigned")


def test_after_an_error_the_agent_may_try_again_or_the_move_be_taken_back():
    game = ready(player=Scripted(*[RuntimeError("no memory")] * 2, 1))
    before = state_of(game)
    for way in ("undo", "retry"):
        send(game, "play", action=4)
        settle(game)
        assert state_of(game)["error"] == "RuntimeError: no memory"
        assert game.session.status == "failed"
        send(game, way)
        assert (state_of(game) == before) == (way == "undo")
    settle(game)
    assert (game.session.status, game.ply) == ("yours", 2)


@pytest.mark.parametrize(
    ("make", "message", "why"),
    [
        (ready, {"type": "play", "action": 9, "ply": 0}, "illegal action 9"),
        (ready, {"type": "play", "action": 0, "ply": 1}, "the game has gone on"),
        (ready, {"type": "retry", "ply": 0}, "nothing to try again"),
        (thinking, {"type": "play", "action": 1, "ply": 1}, "not your turn"),
        (thinking, {"type": "hint", "ply": 1}, "not your turn"),
        (over, {"type": "play", "action": 8, "ply": 5}, "the game is over"),
        (over, {"type": "hint", "ply": 5}, "the game is over"),
        (over, {"type": "resign", "ply": 5}, "no game to resign"),
    ],
)
def test_what_cannot_be_done_changes_nothing(make, message, why):
    game = make()
    before = state_of(game)
    with pytest.raises(MessageError, match=why):
        game.handle(Message(**message))
    assert state_of(game) == before


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (4, "illegal action 4"),
        ("x", "illegal action 'x'"),
        (ForfeitError("too late"), "forfeit: too late"),
    ],
)
def test_an_agent_that_breaks_the_rules_loses(answer, why):
    game = ready(player=Scripted(answer))
    send(game, "play", action=4)
    settle(game)
    assert state_of(game)["result"] == f"you win ({why})"


def test_undo_after_the_end():
    game = over()
    send(game, "undo")
    assert (game.session.status, game.ply, state_of(game)["result"]) == ("yours", 4, "")


def test_clocks_count_the_time_of_both():
    now = [0.0]
    game = ready(player=Scripted(3), clock=lambda: now[0])
    now[0] = 5.0
    assert game.greeting()[-1]["turn"] == 5.0
    send(game, "play", action=0)
    state = game.greeting()[-1]
    assert (state["seconds"][0], state["turn"]) == (5.0, 0.0)
    settle(game)
    assert game.record_maker()().seconds[0] == 5.0


def test_the_clock_stands_still_while_nobody_looks():
    now = [0.0]

    async def run():
        room = GameRoom(ready(clock=lambda: now[0]), None, asyncio.Semaphore(1))

        def seconds():
            now[0] += 5.0
            return room.game.greeting()[-1]["turn"]

        assert seconds() == 0.0  # before there is a page
        pages = [room.join(), room.join()]
        assert seconds() == 5.0
        room.receive(Message("away", 0), pages[0])
        assert seconds() == 10.0  # the other is seen
        room.leave(pages[1])
        assert seconds() == 10.0
        assert pages[0].waiting.get_nowait()["type"] == "board"
        while not pages[0].waiting.empty():
            told = pages[0].waiting.get_nowait()
        assert (told["type"], told["is_running"]) == ("clock", False)
        room.receive(Message("back", 7), pages[0])  # of any ply
        assert seconds() == 15.0

    asyncio.run(run())


def test_the_clock_stands_still_while_the_agent_compiles():
    now, told = [0.0], []

    class Compiling(Scripted):
        def act(self, env):
            on_compiling.get()(True)
            told.extend(game.note_compiling(task, True))
            now[0] += 60.0
            on_compiling.get()(False)
            told.extend(game.note_compiling(task, False))
            now[0] += 1.0
            return super().act(env)

    game = ready(player=Compiling(3), clock=lambda: now[0])
    send(game, "play", action=0)
    task = game.session.next_task()
    game.finish(task, task.run())
    assert [(each["turn"], each["is_compiling"]) for each in told] == [(0.0, True), (0.0, False)]
    assert on_compiling.get() is None


def test_seconds_of_compilation_are_not_the_agents(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(session_module.time, "perf_counter", lambda: now[0])

    class Compiling(Scripted):
        def act(self, env):
            for seconds in (60.0, 1.0):  # the second within the first
                on_compiling.get()(True)
                now[0] += seconds
            for _ in range(2):
                on_compiling.get()(False)
            now[0] += 2.0
            return super().act(env)

    game = ready(player=Compiling(3))
    send(game, "play", action=0)
    settle(game)
    assert game.record_maker()().seconds[1] == 2.0


def test_a_cell_that_may_not_be_played_says_why():
    game = ready(player=Scripted(3))
    send(game, "play", action=4)
    settle(game)
    choices = state_of(game)["choices"]
    assert choices["refused"] == {3: "4 is taken", 4: "5 is taken"}
    assert not choices["refused"].keys() & choices["cells"].keys()
    game = ready(game="connect4", options=["rows=4", "columns=4", "connect=3"], player=Lowest())
    for _ in range(2):
        send(game, "play", action=0)
        settle(game)
    refused = state_of(game)["choices"]["refused"]
    assert set(refused) == {0, 4, 8, 12}
    assert set(refused.values()) == {"column 1 is full"}


def test_a_swap_has_a_button_and_no_cell():
    options = ["board_size=3", "swap=true"]
    game = ready(game="hex", options=options, side=1, player=Scripted(4, 9))
    assert state_of(game)["choices"]["others"] == [{"action": 9, "text": "swap"}]
    send(game, "hint")
    hint = settle(game)[-1]["hint"]
    assert (hint["action"], hint["text"], hint["cell"]) == (9, "swap", None)


def test_a_column_is_chosen_by_any_of_its_cells():
    game = ready(game="connect4", player=Lowest())
    send(game, "play", action=0)
    settle(game)
    state = state_of(game)
    assert {cell: choice["action"] for cell, choice in state["choices"]["cells"].items()} == {
        cell: cell % 7 for cell in range(42)
    }
    assert state["choices"]["cells"][0]["cell"] == 3 * 7  # on top of two stones
    before, shown, after = [frame["search"] for frame in state["frames"]]
    assert before is after is None
    assert [action["cell"] for action in shown["actions"]] == [4 * 7]  # on top of one


# ---- searches ------------------------------------------------------------------------------------


def test_a_search_is_shown_while_it_runs(monkeypatch):
    monkeypatch.setattr(session_module, "REPORT_SECONDS", 0.0)
    game = served(agent="uct:simulations=3000", side=1)
    messages = settle(game)
    shown = [message for message in messages if message["type"] == "search"]
    counts = [message["search"]["simulations"] for message in shown]
    assert counts == sorted(counts)
    assert counts[-1] <= 3000
    first = shown[0]["search"]
    assert sum(action["visits"] for action in first["actions"]) > 0
    assert {action["cell"] for action in first["actions"]} <= set(range(9))
    assert first["line"][0]["player"] == 0
    final = messages[-1]["frames"][0]["search"]
    assert final["simulations"] == 3000
    assert final["actions"][0]["visits"] >= final["actions"][1]["visits"]


def test_a_report_that_comes_late_is_not_shown():
    game = thinking()
    task, search = game.session.next_task(), Search(0.1, 5)
    assert game.show_search(task, search)
    send(game, "undo")
    assert game.show_search(task, search) == []
    game.finish(task, Answer(1))
    send(game, "play", action=0)
    task = game.session.next_task()
    game.finish(task, Answer(3))
    before = state_of(game)
    assert game.show_search(task, search) == []
    assert state_of(game) == before


def test_a_search_that_is_not_needed_any_more_ends():
    game = ready(game="hex", options=["board_size=5"], agent="uct:simulations=200000")
    send(game, "play", action=0)
    task = game.session.next_task()
    task.abandoned.set()
    with pytest.raises(StoppedError):
        task.run(lambda search: None)


def test_an_opening_is_shown_without_searches():
    options = ["board_size=6", "opening=swap2"]
    game = served("gomoku", options, agent="greedy", side=1)
    settle(game)
    assert game.ply == 3
    assert all(frame["search"] is None for frame in state_of(game)["frames"])
    assert [other["text"] for other in state_of(game)["choices"]["others"]] == ["swap", "place_two"]
    assert state_of(game)["question"]


# ---- what may be asked for -----------------------------------------------------------------------

NOT_FOR_PAGES = {
    "anet", "chat", "connectx", "gomocup", "gumbel", "htp", "own-network", "puct", "rllib", "sb3",
}  # fmt: skip
"""Agents that take a policy, a path or a command."""


def test_agents_that_need_nothing_from_outside_may_be_started():
    assert set(allowed_agents()) == set(agent_classes()) - NOT_FOR_PAGES


@pytest.mark.parametrize(
    "text",
    [
        "sb3:path=model.zip", "gomocup:command=rm", "htp:command=rm", "os.system:command=true",
        "uct:simulations=1000000000", "uct:simulations=-1", "uct:seconds=nan", "uct:seconds=1e9",
        "uct:max_nodes=100000000", "uct:workers=1000", "uct:route=environment", "uct:simulations",
        "uct:final_move=sequence", "uct:seed=1", "solver:book=/etc/passwd", "uct:playout=os.system",
        "rhmcts:patterns=/etc/passwd", "nrpa:level=9", "uct:c=much",
        "alphazero:net=/etc/passwd", "network:net=../hex5", "nrpa:code=os.system", "", ":",
    ],
)  # fmt: skip
def test_agents_that_pages_may_not_start(text):
    with pytest.raises(ValueError, match="expected"):
        start(Setup("tictactoe", (), text, 0))


@pytest.mark.parametrize("game", ["os:system", "hexenv.hex_v0:env", "go", "", "json:loads"])
def test_games_that_pages_may_not_start(game):
    with pytest.raises(ValueError, match="expected a game of"):
        start(Setup(game, (), "random", 0))


def test_every_budget_is_bounded():
    assert bounded("random") == "random"
    assert bounded("uct") == "uct:seconds=1.0,max_nodes=1000000"
    assert bounded("uct:simulations=5") == "uct:simulations=5,seconds=30.0,max_nodes=1000000"
    assert bounded("alphabeta:depth=3") == "alphabeta:depth=3,seconds=30.0"
    assert bounded("solver") == "solver:seconds=1.0"


def test_who_starts_the_server_may_offer_any_agent():
    text = "uct:simulations=7,workers=2"
    with pytest.raises(ValueError, match="workers"):
        start(Setup("tictactoe", (), text, 0))
    _, agent = start(Setup("tictactoe", (), text, 0), Offer((text,)))
    assert agent.settings.workers == 2
    assert choices(Offer((text,)))["extra"] == [text]


def test_what_is_offered_can_be_started():
    offered = choices()
    for game, options in offered["games"].items():
        pairs = [f"{key}={option['default']}" for key, option in options["options"].items()]
        assert start(Setup(game, tuple(pairs), "random", 0))
        for opponent in options["opponents"]:
            assert start(Setup(game, tuple(pairs), opponent["agent"], 0))
    for agent in offered["agents"]:
        needs_net = agent["parameters"].get("net", {}).get("is_required", False)
        assert start(Setup("hex", (), agent["name"] + (":net=hex11" if needs_net else ""), 0))


NEITHER_OFFERED_NOR_KEPT = {
    "evaluation", "path", "command", "policy", "book", "patterns", "planes", "algorithm", "memory",
    "match_seconds", "tolerance", "setup", "knowledge",
}  # fmt: skip
"""Parameters of agents that name files, commands or objects."""


def test_a_page_may_set_all_that_is_harmless():
    for name in allowed_agents():
        missing = set(parameters(agent_classes()[name])) - set(fields(name)) - set(KEPT)
        assert missing <= NEITHER_OFFERED_NOR_KEPT, name
        for key, field in fields(name).items():
            for value in (*field.words, *field.proposed):
                assert f"{key}={value}" in bounded(f"{name}:{key}={value}")


@pytest.mark.parametrize("name", GAMES_OF_HEXENV)
def test_opponents_go_from_a_beginner_to_the_strongest(name):
    proposed = opponents(name)
    assert proposed[0].title == "a beginner"
    (best,) = [each.agent for each in proposed if each.title == "the strongest without a network"]
    assert best.startswith(strongest(name))
    assert len({each.agent for each in proposed}) == len(proposed)
    assert all(each.about.endswith(".") for each in proposed)
    for each in proposed:
        assert bounded(each.agent).startswith(each.agent)


def test_networks_are_proposed():
    assert opponents("hex")[-1].agent.startswith("hexzero:")  # one for boards of any size
    nets = ("connect4", "hex5", "hex7", "hex9", "hex11", "tictactoe")
    assert fields("alphazero")["net"].words == nets


# ---- messages ------------------------------------------------------------------------------------

GOOD_SETUP = {"game": "hex", "options": ["board_size=3"], "agent": "random", "side": 0, "seed": 1}


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[]", "null", "3", '"play"', "{}", '{"type": "play", "ply": 0}', "[" * 4000,
        '{"type": "play", "action": 1.0, "ply": 0}', '{"type": "play", "action": true, "ply": 0}',
        '{"type": "play", "action": "1", "ply": 0}', '{"type": "play", "action": -1, "ply": 0}',
        '{"type": "play", "action": NaN, "ply": 0}', '{"type": "play", "action": 1e400, "ply": 0}',
        '{"type": "undo", "action": null, "ply": 0}', '{"type": "undo", "action": 1, "ply": 0}',
        '{"type": "play", "action": null, "ply": 0}',
        '{"type": "play", "action": 1, "ply": 0, "more": 1}', '{"type": ["play"], "ply": 0}',
        '{"type": "__class__", "ply": 0}', '{"type": "undo"}', '{"type": "undo", "ply": null}',
        '{"type": "undo", "ply": 99999999999999999999}', b"\xff\xfe\x00", "x" * 100_000,
    ],
)  # fmt: skip
def test_bad_messages_are_refused(text):
    with pytest.raises(MessageError):
        parse_message(text)


@pytest.mark.parametrize(
    "change",
    [
        {"game": 3}, {"game": None}, {"options": "board_size=3"}, {"options": [3]},
        {"options": ["a"] * 17}, {"agent": ["random"]}, {"side": 2}, {"side": True}, {"side": "0"},
        {"seed": -1}, {"seed": 0.5}, {"seed": True}, {"more": 1},
    ],
)  # fmt: skip
def test_bad_setups_are_refused(change):
    assert parse_setup(json.dumps(GOOD_SETUP)).options == ("board_size=3",)
    with pytest.raises(MessageError):
        parse_setup(json.dumps({**GOOD_SETUP, **change}))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a":' * 500 + "1" + "}" * 500, "levels"),
        ('{"type": "undo", "ply": 0, "action": ' + "[" * 900 + "]" * 900 + "}", "levels"),
        ('{"type": "undo", "type": "hint", "ply": 0}', "'type' twice"),
        ('{"type": "undo", "ply": NaN}', "NaN"),
        ("undo", "JSON"),
        (b"\xff", "JSON"),
    ],
)
def test_hostile_json_is_a_refused_message(text, message):
    for parse in (parse_message, parse_setup):
        with pytest.raises(MessageError, match=message):
            parse(text)


@pytest.mark.parametrize("key", GOOD_SETUP)
def test_a_setup_says_everything(key):
    setup = {name: value for name, value in GOOD_SETUP.items() if name != key}
    with pytest.raises(MessageError, match=f"expected {key}, got none"):
        parse_setup(json.dumps(setup))


def test_fuzzed_messages_do_what_they_say_or_nothing():
    """Every state is one that moves have led to, whatever is sent."""
    rng = random.Random(7)
    kinds = ["undo", "hint", "resign", "retry"]
    game = ready()
    values = [0, 1, 4, 8, 9, -1, 2**40, True, None, 0.5, "0", [], {}, "\ud800"]
    for _ in range(600):
        kind = rng.choice([*kinds, "play", "play", "play", "stop", "", None])
        message = {"type": kind, "ply": rng.choice([game.ply, game.ply, rng.choice(values)])}
        if rng.random() < 0.8:
            message["action"] = rng.choice(values)
        text = json.dumps(message)
        if rng.random() < 0.3:
            cut = rng.randrange(len(text))
            text = text[:cut] + rng.choice(["", "}", '"', "\x00"]) + text[cut + 1 :]
        before = state_of(game)
        try:
            parsed = parse_message(text)
            game.handle(parsed)
        except MessageError:
            assert state_of(game) == before
        settle(game)
        assert game.record_maker()().replay()
        if game.session.status == "over":
            game = ready()


# ---- several games -------------------------------------------------------------------------------


def setup_of(**changes):
    return parse_setup(json.dumps({**GOOD_SETUP, **changes}))


def test_games_are_forgotten_when_nobody_looks():
    async def run():
        now = [0.0]
        games = Games(max_games=2, idle_seconds=100.0, clock=lambda: now[0])
        first = await games.create(setup_of())
        page = games.room(first).join()
        now[0] = 10.0
        second = await games.create(setup_of())
        now[0] = 60.0
        third = await games.create(setup_of())  # replaces the second, as the first has a page
        with pytest.raises(UnknownGameError):
            games.room(second)
        other = games.room(third).join()
        with pytest.raises(FullError, match="2 games"):
            await games.create(setup_of())
        games.room(first).leave(page)
        now[0] = 161.0
        with pytest.raises(UnknownGameError):
            games.room(first)
        assert games.room(third).pages == {other}
        assert len(games) == 1
        games.close()
        assert len(games) == 0

    asyncio.run(run())


def test_an_agent_that_comes_when_there_is_no_room_any_more_is_closed(monkeypatch):
    closed = []

    async def run():
        games = Games(max_games=1)
        table = games.room(await games.create(setup_of()))

        def start_slowly(setup, offer):
            env, agent = start(setup, offer)
            agent.close = lambda: closed.append(agent)
            table.pages.add(PageQueue())  # meanwhile somebody looks at the only game that could go
            return env, agent

        monkeypatch.setattr("agents.apps.web.games.start", start_slowly)
        with pytest.raises(FullError):
            await games.create(setup_of())
        assert len(games) == 1

    asyncio.run(run())
    assert len(closed) == 1


@pytest.mark.parametrize("error", [OSError("no file"), ImportError("no torch"), ValueError("no")])
def test_an_agent_that_cannot_be_started_is_told_to_the_page(monkeypatch, error):
    def fail(setup, offer):
        raise error

    monkeypatch.setattr("agents.apps.web.games.start", fail)
    with pytest.raises(MessageError, match=str(error)):
        asyncio.run(Games().create(setup_of()))


def test_a_page_that_takes_no_messages_is_lost():
    page = PageQueue()
    page.send([{}] * MAX_QUEUE)
    assert not page.is_lost
    page.send([{}])
    assert page.is_lost


def test_two_agents_think_at_the_same_time_and_the_loop_goes_on(monkeypatch):
    together = threading.Barrier(3, timeout=60)

    class Waiting(Scripted):
        def act(self, env):
            together.wait()
            return 8

    monkeypatch.setattr(
        "agents.apps.web.games.start", lambda setup, offer: (start(setup)[0], Waiting())
    )

    async def run():
        games = Games(threads=2)
        tables = [games.room(await games.create(setup_of(side=1))) for _ in range(2)]
        for table in tables:
            table.join()
        await asyncio.to_thread(together.wait)  # the third: both agents are at it
        while any(table.game.session.status != "yours" for table in tables):
            await asyncio.sleep(0.01)
        assert [table.game.ply for table in tables] == [1, 1]
        games.close()

    asyncio.run(asyncio.wait_for(run(), 120))


def test_a_search_that_cannot_be_shown_is_an_error_of_the_agent(monkeypatch):
    def fail(*position_and_search):
        raise KeyError("no such cell")

    async def run():
        games = Games()
        room = games.room(await games.create(setup_of(agent="uct:simulations=20", side=1)))
        with monkeypatch.context() as patch:
            patch.setattr("agents.apps.web.page.search_view", fail)
            page = room.join()
            while room.game.session.status in ("preparing", "thinking"):
                await asyncio.sleep(0.01)
        assert (room.game.session.status, room.game.ply) == ("failed", 0)
        while (message := await page.waiting.get()).get("status") != "failed":
            pass
        assert message["error"] == "KeyError: 'no such cell'"
        room.receive(Message("retry", 0), page)
        while room.game.session.status != "yours":
            await asyncio.sleep(0.01)
        assert len(state_of(room.game)["frames"]) == 2
        games.close()

    asyncio.run(asyncio.wait_for(run(), 120))


# ---- the server ----------------------------------------------------------------------------------


def request(port, method, path, body=None, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    found = answer.status, answer.read().decode(), dict(answer.headers)
    connection.close()
    return found


def post(port, setup, content_type="application/json", **headers):
    headers["Content_Type"] = content_type
    return request(port, "POST", "/games", json.dumps({**GOOD_SETUP, **setup}), **headers)[:2]


def new_game(port, **changes):
    status, text = post(port, changes)
    assert status == 201, text
    return json.loads(text)["id"]


def connect(port, name, **options):
    from websockets.sync.client import connect as open_socket

    return open_socket(f"ws://127.0.0.1:{port}/games/{name}/socket", **options)


def receive_until(connection, is_wanted):
    while True:
        message = json.loads(connection.recv(timeout=60))
        if is_wanted(message):
            return message


def is_yours(message):
    return message["type"] == "state" and message["status"] == "yours"


@pytest.fixture(scope="module")
def port():
    with serving() as (port, _):
        yield port


def test_a_game_over_the_websocket_and_again_after_a_break(port, tmp_path):
    name = new_game(port)
    with connect(port, name) as connection:
        assert json.loads(connection.recv(timeout=60))["type"] == "board"
        receive_until(connection, is_yours)
        connection.send('{"type": "play", "action": 4, "ply": 0}')
        state = receive_until(connection, is_yours)
        played = state["frames"][-1]["owners"]
    with connect(port, name) as connection:
        state = receive_until(connection, is_yours)
        assert state["since"] == 0
        assert state["frames"][-1]["owners"] == played
        assert played.count("X") == 1
    status, text, headers = request(port, "GET", f"/games/{name}/record.json")
    assert status == 200
    assert "attachment" in headers["content-disposition"]
    (tmp_path / "record.json").write_text(text, encoding="utf-8")
    record = load_record(tmp_path / "record.json")
    assert record.actions[0] == 4
    assert record.agents == ("human", "random")
    status, text, _ = request(port, "GET", f"/games/{name}/replay")
    assert status == 200
    assert text.startswith("<!DOCTYPE html>")


def test_two_pages_see_the_same_but_what_one_has_done_wrong(port):
    name = new_game(port)
    with connect(port, name) as one, connect(port, name) as other:
        for connection in (one, other):
            receive_until(connection, is_yours)
        illegal = '{"type": "play", "action": 99, "ply": 0}'
        for text in ("{", "x" * (MOST_CHARACTERS + 1), illegal, b"\xff"):
            one.send(text)
            assert json.loads(one.recv(timeout=60))["type"] == "error"
        with pytest.raises(TimeoutError):
            other.recv(timeout=0.05)
        one.send('{"type": "play", "action": 4, "ply": 0}')
        mine, theirs = (receive_until(connection, is_yours) for connection in (one, other))
        assert mine["frames"] == theirs["frames"]
        assert mine["frames"][-1]["owners"].count("X") == 1


def test_a_huge_message_ends_the_connection_and_nothing_else(port):
    from websockets.exceptions import ConnectionClosed

    name = new_game(port)
    with connect(port, name) as connection:
        receive_until(connection, is_yours)
        with pytest.raises(ConnectionClosed):  # noqa: PT012
            connection.send("x" * 1_000_000)
            for _ in range(10):
                connection.recv(timeout=60)
    with connect(port, name) as connection:
        assert receive_until(connection, is_yours)["frames"][-1]["owners"] == "." * 9


def test_a_game_that_is_not_there(port):
    from websockets.exceptions import ConnectionClosed

    with connect(port, "nothing") as connection:
        assert json.loads(connection.recv(timeout=60))["type"] == "gone"
        with pytest.raises(ConnectionClosed) as closed:
            connection.recv(timeout=60)
        assert closed.value.rcvd.code == 4404
    for path in ("", "/record.json", "/replay"):
        assert request(port, "GET", f"/games/nothing{path}")[0] == 404


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"content_type": "text/plain"}, 415),
        ({}, 201),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Host": "evil.example:8000"}, 403),
        ({"Host": "localhost:1"}, 201),
    ],
)
def test_who_may_begin_a_game(port, headers, status):
    assert post(port, {}, **headers)[0] == status
    assert request(port, "POST", "/games", json.dumps(GOOD_SETUP))[0] == 415  # no type at all


@needs_server
@pytest.mark.parametrize(
    ("host", "is_own"),
    [
        ("localhost", True), ("LOCALHOST:8000", True), ("127.0.0.1:8000", True), ("[::1]", True),
        ("[::1]:8000", True), ("192.168.1.2:8000", True), ("box:8000", True), ("box.local", False),
        ("", False), (":8000", False), ("evil.example", False), ("localhost.evil.example", False),
        ("127.0.0.1.evil.example:80", False), ("127.0.0.1@evil.example", False),
    ],
)  # fmt: skip
def test_hosts_that_name_this_machine(host, is_own):
    from agents.apps.web.server import is_own_host

    assert is_own_host(host, frozenset({"box"})) == is_own


def test_a_page_of_another_site_gets_no_socket(port):
    from websockets.exceptions import InvalidStatus

    name = new_game(port)
    with pytest.raises(InvalidStatus, match="403"):
        connect(port, name, origin="http://evil.example")
    with connect(port, name, origin=f"http://127.0.0.1:{port}") as connection:
        receive_until(connection, is_yours)


@pytest.mark.parametrize(
    ("setup", "status", "why"),
    [
        ({"game": "go"}, 400, "a game of"),
        ({"options": ["komi=7"]}, 400, "an option of"),
        ({"agent": "x" * 1_000_000}, 413, "shorter"),
    ],
)
def test_games_that_cannot_begin_say_why(port, setup, status, why):
    found, text = post(port, setup)
    assert (found, why in json.loads(text)["error"]) == (status, True)


def test_the_page_may_load_nothing_and_be_framed_nowhere(port):
    status, text, headers = request(port, "GET", "/")
    assert status == 200
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "script-src 'sha256-" in headers["content-security-policy"]
    assert headers["x-frame-options"] == "DENY"
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")


@needs_server
def test_the_command_serves_until_it_is_interrupted():
    command = [sys.executable, "-m", "agents.apps.cli", "serve", "--port", "0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        line = run.stdout.readline()
        address = line.split("http://")[1].split()[0]
        port = int(address.rpartition(":")[2])
        assert request(port, "GET", "/")[0] == 200
        name = new_game(port, agent="uct:simulations=200000", side=1)
        with connect(port, name) as connection:
            connection.recv(timeout=60)
            run.send_signal(signal.SIGINT)
            time.sleep(0.05)
            run.send_signal(signal.SIGINT)  # of somebody who cannot wait
            output, errors = run.communicate(timeout=60)
        assert run.returncode == 0
        assert output == "stopped\n"
        assert "Traceback" not in errors


@needs_server
def test_the_command_says_what_is_wrong():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        result = CliRunner().invoke(main, ["serve", "--port", port])
        assert result.exit_code == 1
        assert f"127.0.0.1:{port}" in result.output
    assert CliRunner().invoke(main, ["serve", "--agent", "nobody"]).exit_code == 2


@needs_server
def test_serving_others_is_warned_of(monkeypatch):
    monkeypatch.setattr("agents.apps.cli.serve._run", lambda app, listening: listening.close())
    for words, is_warned in (["--host", "0.0.0.0"], True), ([], False):
        result = CliRunner().invoke(main, ["serve", "--port", "0", *words])
        assert ("warning: 0.0.0.0 is reached by other machines" in result.output) == is_warned
