"""Random games for the tests of records."""

import numpy as np

from agents.records import GameRecord, Search
from agents.records.record import rules_of
from hexenv.games import base


def random_actions(rules, rng, most=10**6):
    """Legal actions from the start, to the end of the game or so many."""
    state, actions = base.new_state(rules), []
    while not rules.is_terminal(state) and len(actions) < most:
        legal = base.legal_actions(rules, state)
        actions.append(legal[int(rng.random() * len(legal))])
        rules.step(state, actions[-1])
    return tuple(actions)


def random_record(game, options, chance, **about):
    """The record of a random game; one in eight is not played to its end."""
    rng = np.random.default_rng(chance)
    rules = rules_of(game, options)
    most = int(rng.random() * 12) if rng.random() < 0.125 else 10**6
    return GameRecord.of(game, options, random_actions(rules, rng, most), **about)


def with_searches(record, seed):
    """The record of a game, with searches made up for it."""
    rng = np.random.default_rng(seed)
    searches = []
    for state, action in zip(record.states(), record.actions, strict=False):
        legal = base.legal_actions(record.rules(), state)
        visits = {int(each): int(rng.integers(1, 1000)) for each in legal}
        values = {each: round(float(rng.uniform(-1, 1)), 5) for each in visits}
        searches.append(
            Search(0.25, sum(visits.values()), values[action], visits, values, {}, (action,))
        )
    return GameRecord.of(
        record.game,
        record.options,
        record.actions,
        agents=("one", 'zwei \u2665 "]\\'),
        seed=seed,
        opening=min(2, len(searches)),
        seconds=tuple(float(number) for number in range(len(searches))),
        searches=tuple(searches),
    )
