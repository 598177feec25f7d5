"""The five systems that the searches began as: each is played by the text that the guide gives."""

import re
from pathlib import Path

import pytest

from agents.registry import make_agent
from hexenv import connect4_v0, gomoku_v0, hex_v0, tictactoe_v0

GUIDE = Path(__file__).parents[1] / "docs" / "pages" / "guides" / "search.md"
GAMES = {
    "hexgamemctc": (hex_v0, {"board_size": 5}),
    "MCTS Connect4 AI": (connect4_v0, {}),
    "a tutorial of MCTS": (tictactoe_v0, {}),
    "AlphaHex": (hex_v0, {"board_size": 5}),
    "RHMCTS": (gomoku_v0, {"board_size": 9}),
}


def texts():
    """Each system of the guide's table, with each text of an agent in its row."""
    section = GUIDE.read_text(encoding="utf-8").partition("## The five systems")[2]
    for row in re.findall(r"(?m)^\| (.+?) \| .+? \| (.+) \|$", section.partition("\n## ")[0])[2:]:
        for text in re.findall(r"`([\w-]+:[^`]+)`", row[1]):
            yield row[0], text


def test_every_system_has_its_row():
    assert {system for system, _ in texts()} == {*GAMES}


@pytest.mark.parametrize(("system", "text"), list(texts()))
def test_it_is_played_by_its_text(system, text):
    if "network:" in text or "net=" in text:
        pytest.importorskip("torch", reason="the extra train is not installed")
    module, options = GAMES[system]
    agent = make_agent(text, seed=1)
    agent.simulations = 8  # those of the text take their time where nothing is compiled
    env = module.env(**options)
    env.reset(seed=1)
    for _ in range(3):
        action = agent.act(env)
        assert env.observe(env.agent_selection)["action_mask"][action] == 1
        assert agent.statistics.simulations >= 8
        env.step(action)
