"""What the training examples share: their options, and the matches before and after."""

import argparse
from typing import Any

from agents import PolicyAgent
from agents.arena import play_match, summarise
from agents.naming import make_agent, make_environment


def parser(description: str, steps: int) -> argparse.ArgumentParser:
    """The options that every example takes."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--game", default="Connect4", help="Hex, Connect4, TicTacToe or Gomoku")
    parser.add_argument("--board-size", type=int, help="of Hex and Gomoku")
    parser.add_argument("--steps", type=int, default=steps, help="of the learner")
    parser.add_argument("--games", type=int, default=200, help="of each match")
    parser.add_argument("--against", nargs="*", default=[], help="more opponents in the end")
    parser.add_argument("--seed", type=int, default=0)
    return parser


def game_options(args: argparse.Namespace) -> dict[str, Any]:
    """The options of the game."""
    return {} if args.board_size is None else {"board_size": args.board_size}


def evaluate(policy: PolicyAgent, args: argparse.Namespace, opponents: list[str]) -> None:
    """Play matches over the PettingZoo environment; print the scores with 95 % intervals."""
    options = [f"{key}={value}" for key, value in game_options(args).items()]
    env = make_environment(args.game.lower(), options)
    for opponent in opponents:
        games = play_match(env, [policy, make_agent(opponent)], args.games, seed=args.seed)
        summary = summarise(list(games))
        low, high = summary.interval
        print(
            f"  {opponent}: {summary.wins} won, {summary.draws} drawn, {summary.losses} lost, "
            f"score {summary.score:.3f} ({low:.3f}-{high:.3f}), "
            f"illegal moves {summary.illegal_moves[0]}",
            flush=True,
        )
