"""Players that speak: what they are asked, and every kind of answer."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from agents import RandomAgent, TextAgent
from agents.arena import play_match
from agents.core.agent import ForfeitError
from agents.policies.text_agent import ChatAgent, moves_in, question
from hexenv import connect4_v0, gomoku_v0, hex_v0, tictactoe_v0


def at(env, moves=""):
    env.reset(options={"moves": moves} if moves else None)
    return env


class Speaker:
    """Says its answers one after another, the last for ever."""

    def __init__(self, *answers):
        self.answers, self.asked = list(answers), []

    def __call__(self, prompt):
        self.asked.append(prompt)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


@pytest.mark.parametrize(
    ("answer", "moves"),
    [
        ("move: b2", "b2"),
        ("**Move:** B2", "b2"),
        ("I like a1 and c3.\nmove: b2.", "b2"),
        ("b2", "b2"),
        ("I think that b2 is best here", "b2"),
        ("a1 or b2", "a1 b2"),
        ("move: a1\nno, wait\nmove: b2", "a1 b2"),
        ("move: c3", ""),  # taken
        ("move: z9", ""),
        ("", ""),
        ("x" * 10_000_000 + "\nmove: b2", "b2"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_answers_are_read_without_guessing(answer, moves):
    env = at(hex_v0.env(board_size=4), "c3")
    found = {env.unwrapped.game.action_text(action) for action in moves_in(env, answer)}
    assert found == set(moves.split())


@pytest.mark.parametrize("make", [hex_v0.env, connect4_v0.env, tictactoe_v0.env, gomoku_v0.env])
def test_a_question_has_the_rules_the_board_and_the_moves(make):
    env = at(make())
    env.step(int(env.unwrapped.game.parse_action(next(iter(legal_texts(env))))))
    asked = question(env)
    assert env.unwrapped.game.name in asked.lower()
    assert "X" in asked
    assert "You are player 1, O" in asked
    assert "A state " not in asked
    assert "Legal moves" not in asked
    assert f"Legal moves: {' '.join(legal_texts(env))}" in question(env, legal_moves=True)
    assert "my rules" in question(env, "my rules")


def legal_texts(env):
    game = env.unwrapped.game
    return [game.action_text(a) for a in range(game.num_actions()) if env.unwrapped.is_legal(a)]


def test_a_mistake_is_told_and_asked_again():
    speaker = Speaker("9 or 8", "move: 5", "move: 1")
    agent = TextAgent(speaker)
    assert agent.act(at(tictactoe_v0.env(), "5")) == 0
    assert agent.refused == 2
    assert "more than one legal move" in speaker.asked[1]
    assert "no legal move" in speaker.asked[2]
    assert [exchange.action for exchange in agent.exchanges] == [None, None, 0]
    agent.reset()
    assert agent.exchanges == []
    assert agent.refused == 0


def test_after_the_last_attempt():
    env = at(tictactoe_v0.env())
    silent = TextAgent(Speaker(""), attempts=2)
    with pytest.raises(ForfeitError):
        silent.act(env)
    assert silent.refused == 2
    lucky = TextAgent(Speaker(""), attempts=2, otherwise="random", seed=1)
    assert env.unwrapped.is_legal(lucky.act(env))
    assert (lucky.refused, lucky.replaced) == (2, 1)


def test_a_speaker_plays_matches():
    """One that says the first legal move plays to the end; one that is silent forfeits."""

    def first(prompt):
        return f"move: {prompt.partition('Legal moves: ')[2].split()[0]}"

    for ask, forfeits in ((first, False), (Speaker("?"), True)):
        agents = [TextAgent(ask, legal_moves=True), RandomAgent(seed=1)]
        results = list(play_match(tictactoe_v0.env(), agents, games=4))
        assert all((one.forfeit is not None) == forfeits for one in results)


class Endpoint(BaseHTTPRequestHandler):
    """Answers as the chat-completions protocol has it; the model's name says how."""

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.seen.append((self.path, self.headers.get("Authorization"), asked))
        found = {"choices": [{"message": {"role": "assistant", "content": "move: 5"}}]}
        body = b"no JSON" if asked["model"] == "broken" else json.dumps(found).encode()
        self.send_response(500 if asked["model"] == "down" else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def endpoint():
    server = HTTPServer(("127.0.0.1", 0), Endpoint)
    server.seen = []
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_model_behind_an_endpoint_plays(endpoint, monkeypatch):
    monkeypatch.setenv("HEXENV_CHAT_KEY", "secret")
    url = f"http://127.0.0.1:{endpoint.server_port}/v1/"
    env = at(tictactoe_v0.env())
    agent = ChatAgent(url, "good")
    assert agent.act(env) == 4
    path, key, asked = endpoint.seen[0]
    assert (path, key, asked["model"]) == ("/v1/chat/completions", "Bearer secret", "good")
    assert asked["messages"][0]["content"] == agent.exchanges[0].prompt
    assert "secret" not in repr(agent.exchanges)
    for model in ("down", "broken"):
        with pytest.raises(ForfeitError, match="Error"):
            ChatAgent(url, model).act(env)


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="http"):
        ChatAgent("file:///etc/passwd", "x")
    with pytest.raises(ValueError, match="otherwise"):
        TextAgent(str, otherwise="resign")
