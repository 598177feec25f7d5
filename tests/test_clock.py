"""Match clocks: what an agent may use, and what it costs to use more."""

import time

import pytest

from agents import UCT, GreedyAgent, RandomAgent
from agents.arena import Tournament, run_tournament
from agents.arena.clock import MOVES_AHEAD, Clock, TimeControl
from agents.arena.match import play_game
from hexenv import connect4_v0


class Slow(RandomAgent):
    """Takes its time, whatever it is given."""

    def act(self, env):
        time.sleep(0.03)
        return super().act(env)


@pytest.mark.parametrize(
    ("text", "control"), [("60", (60, 0)), (60, (60, 0)), ("1.5+0.25", (1.5, 0.25))]
)
def test_a_clock_from_a_text(text, control):
    assert TimeControl.of(text) == TimeControl(*control)
    assert TimeControl.of(str(TimeControl(*control))) == TimeControl(*control)


@pytest.mark.parametrize("wrong", ["", "a", "1+", "-1", "nan", "1+-2", {"second": 1}, 0, "inf"])
def test_a_wrong_clock(wrong):
    with pytest.raises(ValueError, match="expected"):
        TimeControl.of(wrong)


def test_an_agent_gets_a_share_and_its_own_budget_back():
    agent, clock = UCT(simulations=50), Clock(TimeControl(20.0, 1.0))
    with clock.limited(0, agent):
        assert agent.simulations is None
        assert 20 / MOVES_AHEAD < agent.seconds < 20 / MOVES_AHEAD + 1
    assert (agent.simulations, agent.seconds) == (50, None)
    with Clock(None).limited(0, agent):
        assert (agent.simulations, agent.seconds) == (50, None)


def test_each_side_has_its_own_time_and_gets_more_with_a_move():
    clock = Clock(TimeControl(1.0, 0.5))
    assert clock.count(0, 0.9) is None  # 0.6 left
    assert clock.count(0, 0.6) is None
    assert clock.count(1, 1.1) == "out of time, by 0.100 s of 1+0.5"
    assert clock.count(0, 0.51) is not None


def test_who_runs_out_of_time_loses():
    env = connect4_v0.env()
    env.reset(seed=1)
    result = play_game(env, [Slow(seed=1), GreedyAgent(seed=2)], control=TimeControl(0.05))
    assert (result.outcome, result.forfeited_by) == (-1, 0)
    assert result.forfeit.startswith("out of time")


def test_a_tournament_on_the_clock_and_its_description():
    made = Tournament(
        "tictactoe", ["uct:simulations=7", "random"], pairs=3, clock="2+0.001", opening_plies=0
    )
    assert made.description()["clock"] == {"seconds": 2.0, "increment": 0.001}
    assert Tournament.from_description(made.description()) == made
    found = run_tournament(made, workers=0)
    assert all(agent.forfeits == 0 for agent in found.agents)
    assert found.agents[0].seconds_per_move > 0.01  # not 7 simulations
