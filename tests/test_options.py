"""Options of agents, as they are declared: what is within is taken, what is not is refused."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_variants import OF_LINES

from agents import PolicyAgent
from agents.registry import agent_classes, parameters, type_hints
from hexenv import gomoku_v0, tictactoe_v0
from hexenv.common.options import OneOf, Within
from hexenv.common.options import Option as Declared

NEEDS_MORE = {
    "chat",
    "connectx",
    "gomocup",
    "htp",
    "hexzero",
    "alphazero",
    "network",
    "own-network",
    "rllib",
    "sb3",
}
"""They need a program, a file or PyTorch; their options are declared by the same means."""
TOGETHER = {
    "assume", "discount", "early_stop", "implicit_minimax", "reuse", "route", "seed", "threats",
    "transpositions", "max_nodes", "workers",
}  # fmt: skip
"""Whether they are taken depends on another option, or on the game."""


def ignorant(planes, masks):
    return masks * 0.0, None


GIVEN = {name: {"policy": PolicyAgent(ignorant)} for name in ("puct", "gumbel", "anet")}


def options_of(name):
    """What the class of an agent declares, by name of the option."""
    agent_class = agent_classes()[name]
    hints = type_hints(agent_class, include_extras=True)
    found = {key: Declared.of(hints[key]) for key in parameters(agent_class) if key in hints}
    return {key: each for key, each in found.items() if each.bounds or each.kinds == (bool,)}


AGENTS = sorted(set(agent_classes()) - NEEDS_MORE)
OPTIONS = {name: options_of(name) for name in AGENTS}
ALONE = {
    name: {key: each for key, each in options.items() if key not in TOGETHER}
    for name, options in OPTIONS.items()
}
del ALONE["hexpert"]["solver"]  # its knowledge needs one


def make(name, **options):
    return agent_classes()[name](**GIVEN.get(name, {}), **options)


def values_within(option):
    """Values that an option may have, and how they are kept."""
    if isinstance(option.bounds, OneOf):
        return st.sampled_from(list(option.bounds.words))
    if option.bounds is None:
        return st.booleans()
    least, most = option.bounds
    if int in option.kinds:
        least, most = int(least), int(most)
        return st.integers(least, min(most, least + 30)) | st.sampled_from([least, most])
    return st.floats(least, most) | st.sampled_from([least, most])


def values_outside(option):
    if isinstance(option.bounds, OneOf):
        return st.text().filter(lambda word: word not in option.bounds.words) | st.integers()
    if option.bounds is None:
        return st.sampled_from(["no", "true", 2, -1, 0.5, ()])
    least, most = option.bounds
    below, above = math.nextafter(least, -math.inf), math.nextafter(most, math.inf)
    wrong = [st.sampled_from(["1", math.nan, below]), st.floats(max_value=below)]
    if most < math.inf:
        wrong.append(st.just(above) | st.floats(min_value=above))
    if int in option.kinds:
        wrong.append(st.sampled_from([least + 0.5, int(least) - 1, int(most) + 1]))
    return st.one_of(wrong)


def small_values(option):
    """Values within that take no time."""
    if isinstance(option.bounds, Within) and int in option.kinds:
        least = int(option.bounds.least)
        return st.integers(least, min(int(option.bounds.most), least + 2))
    return values_within(option)


def test_all_options_but_some_texts_are_declared():
    known = {(name, key) for name in AGENTS for key in parameters(agent_classes()[name])}
    undeclared = known - {(name, key) for name in AGENTS for key in OPTIONS[name]}
    texts = {"book", "evaluation", "heuristics", "knowledge", "patterns", "playout", "policy"}
    assert {key for _, key in undeclared} == {*texts, "seed", "without"}


@pytest.mark.parametrize("name", [name for name in AGENTS if ALONE[name]])
@given(data=st.data())
def test_what_is_within_the_declared_range_is_taken(name, data):
    for key, option in ALONE[name].items():
        value = data.draw(values_within(option), label=key)
        if (name, key) == ("mast", "temperature"):
            value = max(value, 0.01)
        assert make(name, **{key: value})._given[key] == value


@pytest.mark.parametrize("name", [name for name in AGENTS if OPTIONS[name]])
@settings(max_examples=10)
@given(data=st.data())
def test_what_is_not_is_refused_by_the_name_of_the_option(name, data):
    for key, option in OPTIONS[name].items():
        value = data.draw(values_outside(option), label=key)
        with pytest.raises(ValueError, match=f"expected .*{key.rstrip('s')}"):
            make(name, **{key: value})


@pytest.mark.parametrize("name", [name for name in AGENTS if ALONE[name] and name[:3] != "hex"])
@settings(max_examples=4)
@given(data=st.data())
def test_an_agent_plays_with_several_options_that_are_declared(name, data):
    env = gomoku_v0.env(5, 4) if name in OF_LINES else tictactoe_v0.env()
    env.reset()
    budget = {"simulations": 3, "depth": 3, "table_entries": 2_000}
    budget = {key: value for key, value in budget.items() if key in ALONE[name]}
    keys = sorted(ALONE[name].keys() - {"seconds", *budget})
    drawn = data.draw(st.sets(st.sampled_from(keys), max_size=3)) if keys else set()
    options = {key: data.draw(small_values(ALONE[name][key])) for key in sorted(drawn)}
    if name == "mast" and "temperature" in options:
        options["temperature"] = max(options["temperature"], 0.01)
    assert env.observe(env.agent_selection)["action_mask"][make(name, **budget, **options).act(env)]
