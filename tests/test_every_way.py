"""One game by every way to play it: the rules, AEC, one learner, many boards, a foreign one."""

import copy
import pickle

import numpy as np
from environments import BOARDS, legal_actions, plain, view
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from pettingzoo.utils import BaseWrapper
from test_example_games import SMALL as EXAMPLES

from agents.planning.foreign import ForeignGame, ForeignState
from hexenv.games import base, notation
from hexenv.games.base import clone
from hexenv.learners.single import SingleEnv
from hexenv.learners.vector import BoardVectorEnv

NAMES = sorted(BOARDS.keys() - {"gomoku-6-swap2"}) + sorted(EXAMPLES)
"""An opening by a rule of its own has other actions than its game."""


class Passed(BaseWrapper):
    """A wrapper of a user's, which hides that the game is ours."""


class ByEveryWay(RuleBasedStateMachine):
    """Moves are chosen by numbers; after each of them all ways must show the same."""

    @initialize(name=st.sampled_from(NAMES), side=st.sampled_from(["first", "second"]))
    def begin(self, name, side):
        module, options = {**BOARDS, **EXAMPLES}[name]
        self.module, self.options = module, options
        self.aec, self.wrapped = module.raw_env(**options), module.env(**options)
        for env in (self.aec, self.wrapped):
            env.reset()
        self.game = self.aec.unwrapped.game
        self.state, self.actions = base.new_state(self.game), []
        self.boards = BoardVectorEnv(module.raw_env, 2, None, **options)
        self.seen, _ = self.boards.reset(seed=1)
        self.side = side

    @rule(number=st.integers(0, 10**6))
    @precondition(lambda self: not self.game.is_terminal(self.state))
    def play(self, number):
        legal = base.legal_actions(self.game, self.state)
        action = int(legal[number % len(legal)])
        self.game.step(self.state, action)
        self.actions.append(action)
        for env in (self.aec, self.wrapped):
            env.step(action)
        self.seen, self.rewards, self.over, _, _ = self.boards.step(np.full(2, action))

    @rule(how=st.sampled_from(["clone", "deepcopy", "pickle"]), plays_on=st.booleans())
    def copied(self, how, plays_on):
        """Go on with copies, after the originals have played on, or were given up."""
        ways = {
            "clone": lambda env: env.clone(),
            "deepcopy": copy.deepcopy,
            "pickle": lambda env: pickle.loads(pickle.dumps(env)),
        }
        before = self.aec, self.wrapped
        self.aec, self.wrapped = map(ways[how], before)
        for env in before:
            if plays_on and legal_actions(env):
                env.step(legal_actions(env)[0])
            else:
                env.reset()
        self.state = clone(self.game, self.state)

    @rule()
    def again(self):
        """Set the position up anew, by its moves and by its bytes."""
        moves = notation.moves_text(self.game, self.actions)
        for env in (self.aec, self.wrapped):
            env.reset(options={"moves": moves} if self.actions else None)
        found = notation.from_bytes(self.game, notation.to_bytes(self.game, self.state))
        owners = [base.cell_owners(self.game, state) for state in (found, self.state)]
        assert plain(owners[0]) == plain(owners[1])
        assert self.game.position_hash(found) == self.game.position_hash(self.state)

    @invariant()
    def all_show_the_same(self):
        game, state = self.game, self.state
        legal, is_over = base.legal_actions(game, state), game.is_terminal(state)
        assert view(self.aec) == view(self.wrapped)
        assert self.aec.state.tobytes() == state.tobytes()
        assert list(self.aec.actions) == self.actions
        mask = np.zeros(game.num_actions(), np.int8)
        mask[legal] = not is_over
        mover = game.to_play(state)
        shown = self.aec.observe(f"player_{mover}")
        assert shown["action_mask"].tolist() == mask.tolist()
        assert legal_actions(self.aec) == ([] if is_over else legal)
        outcome = [game.outcome(state, player) if is_over else 0 for player in range(2)]
        assert outcome[0] == -outcome[1]
        if is_over:
            assert all(self.aec.terminations.values())
            assert [self.aec.rewards[f"player_{player}"] for player in range(2)] == outcome
        else:
            assert not any(self.aec.terminations.values())
            assert self.aec.agent_selection == f"player_{mover}"
            assert self.boards.sides.tolist() == [mover] * 2
            assert plain(self.seen["action_mask"]) == plain(np.stack([mask] * 2))
            foreign = ForeignGame(Passed(self.wrapped))
            root = ForeignState(Passed(self.wrapped))
            assert foreign.legal(root).tolist() == legal
            assert foreign.to_play(root) == mover
        assert plain(self.seen["observation"]) == plain(np.stack([shown["observation"]] * 2))
        if self.actions:
            assert self.over.tolist() == [is_over] * 2
            before = base.new_state(game)
            for action in self.actions[:-1]:
                game.step(before, action)
            assert self.rewards.tolist() == [outcome[game.to_play(before)]] * 2

    def teardown(self):
        if not hasattr(self, "boards"):
            return
        self.boards.close()
        self.as_one_learner()

    def as_one_learner(self):
        """The same moves by a learner and an opponent: the same planes, masks and reward."""
        learner = 0 if self.side == "first" else 1
        movers, state = [], base.new_state(self.game)
        for action in self.actions:
            movers.append(self.game.to_play(state))
            self.game.step(state, action)
        moves = list(zip(self.actions, movers, strict=True))
        replies = iter([action for action, mover in moves if mover != learner])
        is_scripted = True

        def opponent(planes, mask):
            nonlocal is_scripted
            action = next(replies, None)
            is_scripted = action is not None
            return action if is_scripted else int(np.flatnonzero(mask)[0])

        single = SingleEnv(self.module.raw_env, opponent, side=self.side, **self.options)
        seen, info = single.reset(seed=1)
        oracle, reward, done = self.module.raw_env(**self.options), 0.0, False
        oracle.reset()
        for action, mover in moves:
            if mover == learner and is_scripted:
                expected = oracle.observe(oracle.agent_selection)
                assert plain(seen["observation"]) == plain(expected["observation"])
                assert plain(info["action_mask"]) == plain(expected["action_mask"])
                seen, reward, done, _, info = single.step(action)
            oracle.step(action)
        if self.game.is_terminal(state):
            assert done
            assert reward == self.game.outcome(state, learner)
        single.close()


TestByEveryWay = ByEveryWay.TestCase
TestByEveryWay.settings = settings(max_examples=30, stateful_step_count=20)
