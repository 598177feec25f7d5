"""Which agent to take for a game and a budget, from `agents.arena.recommended`."""

from typing import NamedTuple

from writing import page, section, table

from agents.arena.recommended import source

BUDGETS = {
    "10 ms a move; 20 ms is the nearest that was measured": "at_20_ms",
    "0.1 s a move": "at_100_ms",
    "1 s a move": "at_1_s",
}
"""The rows that every board has, and the keys of the source."""

HOW_TO_READ = """\
The textbook's baseline in every game is `UCT()`: compare with it, at an equal budget. An agent
plays by time, `seconds=0.1`, or by `simulations=1000`, which give the same move on every machine.
"""

HOW_MEASURED = """\
Agents are written as the command line takes them. Figures are shares of the points against the
agent that is named, a draw counting a half, with intervals of 95 %; each links to its measurement.
Times were taken on a busy machine. To know what is best on yours, with your budget:

```sh
hexenv tournament connect4 uct:playout=decisive,seconds=1 uct:seconds=1 \\
    --kind pair --pairs 20
```
"""


class Group(NamedTuple):
    """Agents that are told of together."""

    title: str
    about: str
    agents: list[str]


def groups() -> list[Group]:
    """The agents in groups."""
    return [Group(**group) for group in source()["group"]]


def which_agent_page() -> str:
    """The page."""
    boards = source()["board"]
    takes = {board["game"]: board["take"] for board in boards}
    of_groups = [
        f"* **{group.title}**: {', '.join(f'[`{name}`]({name}.md)' for name in group.agents)}. "
        f"{group.about}"
        for group in groups()
    ]
    of_boards = [f"### {board['title']}\n\n{budgets(board)}" for board in boards]
    return page(
        "Which agent should I use?",
        "In short, of those that need no network and no other program:",
        "\n".join(f"* {game}: `{take}`" for game, take in takes.items()),
        HOW_TO_READ.rstrip(),
        section("Best of what was measured", HOW_MEASURED.rstrip(), *of_boards),
        section("All agents", "\n".join(of_groups)),
    )


def budgets(board: dict[str, str]) -> str:
    """What is best on a board by budget, what to compare with, and what to avoid."""
    rows = [[budget, board.get(key, "not measured")] for budget, key in BUDGETS.items()]
    if "by_simulations" in board:
        rows.append(["By simulations", board["by_simulations"]])
    rows += [["Textbook baseline", "`uct`"], ["Better not", board["avoid"]]]
    return table(["", ""], rows, "which")
