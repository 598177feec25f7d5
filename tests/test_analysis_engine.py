"""The analysis engine: queries of other programs, in KataGo's form, and their answers."""

import io
import json
import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.apps.protocols.analysis_engine import LONGEST_LINE, AnalysisEngine
from agents.apps.protocols.conversation import raw_lines
from agents.registry import make_agent
from hexenv import hex_v0

FOREVER = 10**9


class Client:
    """Sends queries, and keeps the answers."""

    def __init__(self, agent="uct:simulations=30", game="hex", options=("board_size=5",), **more):
        self.answers = []
        self.engine = AnalysisEngine(agent, game, options, self.answers.append, seed=1, **more)

    def send(self, **query):
        self.engine.take(json.dumps(query).encode())

    def results(self):
        """All answers, after the last one has come."""
        self.engine.finish()
        return self.answers


def answer_to(**query):
    client = Client(query.pop("agent", "uct:simulations=30"), query.pop("game", "hex"), ())
    client.send(**query)
    (answer,) = client.results()
    return answer


def test_an_answer_has_the_fields_of_katago():
    answer = answer_to(id="foo", moves=[["B", "C3"]], boardXSize=5, boardYSize=5, maxVisits=40)
    assert (answer["id"], answer["turnNumber"], answer["isDuringSearch"]) == ("foo", 1, False)
    assert answer["rootInfo"]["currentPlayer"] == "W"
    assert answer["rootInfo"]["visits"] == 40
    moves = answer["moveInfos"]
    assert [move["order"] for move in moves] == list(range(len(moves)))
    for move in moves:
        assert move["pv"][0] == move["move"]
        assert 0 <= move["lcb"] <= move["winrate"] <= 1
    assert "error" not in answer


def test_an_answer_is_what_the_agent_finds():
    answer = answer_to(id="1", moves=[["B", "a1"], ["W", "b2"]], boardXSize=4, boardYSize=4)
    env = hex_v0.env(4)
    env.reset(options={"moves": "a1 b2"})
    agent = make_agent("uct:simulations=30", 1)
    best = env.unwrapped.game.action_text(agent.act(env))
    assert answer["moveInfos"][0]["move"] == best
    visits = {move["move"]: move["visits"] for move in answer["moveInfos"]}
    seen = agent.statistics.visits
    for action in range(16):
        assert visits.get(env.unwrapped.game.action_text(action), 0) == seen[action]


def test_the_example_of_katagos_documentation_is_answered_at_every_turn():
    client = Client(options=())
    client.send(
        id="foo",
        initialStones=[["B", "Q4"], ["B", "C4"]],
        moves=[["W", "P5"], ["B", "P6"]],
        rules="tromp-taylor",
        komi=7.5,
        boardXSize=19,
        boardYSize=19,
        analyzeTurns=[0, 1, 2],
        maxVisits=5,
    )
    answers = client.results()
    assert sorted(answer["turnNumber"] for answer in answers) == [0, 1, 2]
    assert [answer["rootInfo"]["currentPlayer"] for answer in answers] == ["W", "B", "W"]
    taken = {"q4", "c4", "p5", "p6"}
    assert not taken & {move["move"] for move in answers[2]["moveInfos"]}


def test_proofs_and_distances_are_told():
    answer = answer_to(
        agent="solver", game="tictactoe", id="x", moves=[["B", "1"], ["W", "4"], ["B", "2"]]
    )
    first = answer["moveInfos"][0]
    assert (first["move"], first["proven"], first["pliesLeft"]) == ("3", -1, 4)
    loses = next(move for move in answer["moveInfos"] if move["move"] == "5")
    assert (loses["proven"], loses["pliesLeft"], loses["winrate"]) == (-1, 2, 0)
    assert answer["rootInfo"]["proven"] == -1


def only(player, *moves):
    return {"moves": list(moves), "player": player, "untilDepth": 1}


EVERY = [f"{column}{row}" for column in "abcdefghijk" for row in range(1, 12)]


@pytest.mark.parametrize(
    ("field", "query"),
    [
        ("id", {}),
        ("id", {"id": 3}),
        ("moves", {"id": "a", "moves": [["B", "z9"]]}),
        ("moves", {"id": "a", "moves": [["W", "a1"]]}),
        ("moves", {"id": "a", "moves": [["B", "a1"], ["W", "a1"]]}),
        ("moves", {"id": "a", "moves": [["X", "a1"]]}),
        ("moves", {"id": "a", "moves": "a1"}),
        ("boardXSize", {"id": "a", "boardXSize": 1}),
        ("boardXSize", {"id": "a", "boardXSize": 10**9}),
        ("boardYSize", {"id": "a", "boardYSize": -1}),
        ("analyzeTurns", {"id": "a", "analyzeTurns": [1]}),
        ("analyzeTurns", {"id": "a", "analyzeTurns": [0] * 20_000}),
        ("maxVisits", {"id": "a", "maxVisits": 0}),
        ("maxTime", {"id": "a", "maxTime": 0}),
        ("initialPlayer", {"id": "a", "initialPlayer": "W"}),
        ("initialStones", {"id": "a", "initialStones": [["B", "a1"], ["W", "a1"]]}),
        ("initialStones", {"id": "a", "initialStones": [["B", "q1"]]}),
        ("avoidMoves", {"id": "a", "avoidMoves": [{"moves": ["a1"], "player": "B"}]}),
        ("allowMoves", {"id": "a", "allowMoves": [only("B", "z9")]}),
        ("allowMoves", {"id": "a", "allowMoves": [only("B", "a1") | {"untilDepth": 2}]}),
        ("avoidMoves", {"id": "a", "avoidMoves": [only("B", *EVERY)]}),
        ("overrideSettings", {"id": "a", "overrideSettings": None}),
        ("maxTime", {"id": "a", "overrideSettings": {"maxTime": "long"}}),
        ("action", {"id": "a", "action": "dance"}),
        ("action", {"id": "a", "action": ["terminate"]}),
        ("terminateId", {"id": "a", "action": "terminate"}),
        ("turnNumbers", {"id": "a", "action": "terminate", "terminateId": "a", "turnNumbers": 1}),
    ],
)
def test_a_bad_field_is_named(field, query):
    client = Client("random")
    client.send(**query)
    (answer,) = client.results()
    assert answer["field"] == field
    assert "expected" in answer["error"] or field == "moves"
    assert answer.get("id") == (query.get("id") if isinstance(query.get("id"), str) else None)


def test_a_turn_after_the_end_is_refused():
    moves = [[["B", "W"][ply % 2], move] for ply, move in enumerate(["1", "4", "2", "5", "3"])]
    client = Client("random", "tictactoe", ())
    client.send(id="a", moves=moves)
    client.send(id="b", moves=moves, analyzeTurns=[4])
    refused, answer = client.results()
    assert refused["field"] == "analyzeTurns"
    assert (answer["id"], answer["turnNumber"]) == ("b", 4)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)
FIELDS = st.sampled_from(
    ["id", "moves", "action", "analyzeTurns", "maxTime", "initialStones", "overrideSettings"]
)


@given(st.dictionaries(FIELDS, JSON) | JSON, st.binary(max_size=30))
def test_every_line_is_answered(query, rubbish):
    client = Client("random")
    for line in (json.dumps(query).encode(), rubbish):
        before = len(client.answers)
        client.engine.take(line)
        assert len(client.answers) > before or (
            isinstance(query, dict) and isinstance(query.get("id"), str)
        )
    client.results()
    client = Client("random")
    client.send(id="still there")
    assert client.results()[0]["moveInfos"]


def test_an_unknown_field_is_told_and_ignored():
    client = Client("random")
    client.send(id="a", maxVisit=3)
    warning, answer = client.results()
    assert (warning["field"], warning["id"]) == ("maxVisit", "a")
    assert "maxVisits" in warning["warning"]
    assert answer["moveInfos"]


def test_a_failing_agent_is_told():
    client = Client("rhmcts:simulations=5")  # plays no Hex
    client.send(id="a")
    (answer,) = client.results()
    assert (answer["id"], answer["turnNumber"]) == ("a", 0)
    assert "error" in answer


def test_fifty_queries_at_once_some_of_them_terminated():
    client = Client("uct", threads=2)
    for number in range(50):
        client.send(id=str(number), maxVisits=20 if number % 2 else FOREVER)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        for number in range(0, 50, 2):
            client.send(id="t", action="terminate", terminateId=str(number))
        if client.engine._waiting.empty():
            break
        time.sleep(0.01)
    results = client.results()
    ends = [one for one in results if one.get("isDuringSearch") is False]
    assert sorted(int(one["id"]) for one in ends) == list(range(50))
    for one in ends:
        assert "moveInfos" in one or (one["noResults"] and int(one["id"]) % 2 == 0)
        if int(one["id"]) % 2:
            assert one["rootInfo"]["visits"] == 20


def test_a_search_reports_while_it_goes_on_until_it_is_terminated():
    client = Client("uct")
    client.send(id="a", maxVisits=FOREVER, reportDuringSearchEvery=0.01)
    deadline = time.monotonic() + 60
    while len(client.answers) < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    client.send(id="t", action="terminate", terminateId="a", turnNumbers=[7])
    assert "a" in {task.query.id for task in client.engine._open.values()}
    client.send(id="t", action="terminate_all")
    *during, last = [one for one in client.results() if one["id"] == "a"]
    assert len(during) >= 3
    assert all(one["isDuringSearch"] for one in during)
    assert not last["isDuringSearch"]
    visits = [one["rootInfo"]["visits"] for one in (*during, last)]
    assert visits == sorted(visits)


def test_urgent_queries_come_first():
    client = Client("uct")
    client.send(id="first", maxVisits=FOREVER)
    deadline = time.monotonic() + 60
    while not client.engine._waiting.empty() and time.monotonic() < deadline:
        time.sleep(0.01)
    for number, priority in enumerate([0, 2, 1, 2]):
        client.send(id=f"{priority}-{number}", maxVisits=5, priority=priority)
    client.send(id="t", action="terminate", terminateId="first")
    order = [one["id"] for one in client.results() if "moveInfos" in one]
    assert order == ["first", "2-1", "2-3", "1-2", "0-0"]


def test_too_many_positions_are_refused():
    client = Client("uct")
    client.send(id="a", maxVisits=FOREVER)
    client.send(id="b", analyzeTurns=[0] * 10_000)
    client.send(id="t", action="terminate_all")
    assert any("10000" in one.get("error", "") for one in client.results())


def test_a_line_beyond_the_bound_is_told_and_passed_over():
    stream = io.BytesIO(b'{"id": "' + b"x" * 3 * LONGEST_LINE + b'"}\n\n  \n{"id": "b"}')
    client = Client("random")
    for line in raw_lines(stream, LONGEST_LINE):
        client.engine.take(line)
    refused, answer = client.results()
    assert str(LONGEST_LINE) in refused["error"]
    assert answer["id"] == "b"


def test_the_program_answers_all_queries_before_it_ends():
    queries = [{"id": str(number), "maxVisits": 3} for number in range(5)]
    done = subprocess.run(
        [sys.executable, "-m", "agents.apps.cli", "analyse", "tictactoe", "--stdin"],
        input="\n".join(map(json.dumps, queries)),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert sorted(answer["id"] for answer in answers) == ["0", "1", "2", "3", "4"]


def test_moves_may_be_avoided_or_be_the_only_ones():
    """In this position of Connect4 the columns 1 and 5 win."""
    moves = [["BW"[ply % 2], move] for ply, move in enumerate("443322")]
    client = Client("solver:seconds=2", "connect4", ())
    client.send(id="all", moves=moves)
    client.send(id="avoid", moves=moves, avoidMoves=[only("B", "1", "5")])
    client.send(id="allow", moves=moves, allowMoves=[only("B", "5", "7")])
    client.send(id="other", moves=moves, allowMoves=[only("W", "7")])  # it is not its turn
    answers = {one["id"]: one["moveInfos"] for one in client.results()}
    assert {one["move"] for one in answers["all"][:2]} == {"1", "5"}
    assert {one["move"] for one in answers["avoid"]} == {"2", "3", "4", "6", "7"}
    assert [one["move"] for one in answers["allow"]] == ["5", "7"]
    assert answers["allow"][0]["proven"] == 1
    assert answers["allow"][0]["pliesLeft"] == 1
    proven = {one["move"]: one["proven"] for one in answers["all"]}
    assert {one["move"]: one["proven"] for one in answers["other"]} == proven
    assert all(
        one["proven"] == proven[one["move"]] for one in answers["avoid"] if one["move"] in proven
    )
