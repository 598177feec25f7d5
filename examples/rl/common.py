"""What the training examples share: their options, and the matches before and after."""

import argparse
from typing import Any

from agents import PolicyAgent
from agents.arena import play_match, summarise
from agents.registry import make_agent, make_environment


def parser(description: str, steps: int) -> argparse.ArgumentParser:
    """The options that every example takes."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    games = ["Hex", "Connect4", "TicTacToe", "Gomoku"]
    parser.add_argument("--game", default="Connect4", choices=games)
    parser.add_argument("--board-size", type=int, help="of Hex and Gomoku")
    parser.add_argument("--steps", type=int, default=steps, help="of the learner")
    parser.add_argument("--games", type=int, default=200, help="of each match")
    parser.add_argument(
        "--against",
        nargs="*",
        type=agent_name,
        default=["uct:simulations=50", "uct:simulations=200"],
        help="opponents in the end, besides random and greedy",
    )
    parser.add_argument("--seed", type=int, default=0)
    return parser


def agent_name(text: str) -> str:
    """The name of an agent, looked up before hours of training rather than after them."""
    try:
        make_agent(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


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
            f"score {summary.score:.3f} ({low:.3f}-{high:.3f}), {summary.distinct} distinct, "
            f"illegal moves {summary.illegal_moves[0]}",
            flush=True,
        )
