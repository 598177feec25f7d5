"""Score-bounded search of a game of scores (Cazenave and Saffidine 2010): bounds become exact."""

from coins import Coins

from agents.search.backups import ScoreBoundedBackup
from agents.search.playout import Uniform
from agents.search.reward import WinLoss
from agents.search.selection import UCB1
from agents.search.tree import ROOT, children
from agents.search.variant import Variant
from hexenv.testing import grow_tree

BOUNDED = Variant(UCB1(c=0.3), Uniform(), WinLoss(), backup=ScoreBoundedBackup())

if __name__ == "__main__":
    game = Coins(10)
    for simulations in (100, 1_000, 10_000):
        tree = grow_tree(BOUNDED, game, simulations=simulations, seed=1)
        for child in range(children(tree, ROOT).start, children(tree, ROOT).stop):
            low, high = tree.backed_up.lower[child], tree.backed_up.upper[child]
            lead = [round(7 * game.length * (2 * bound - 1)) for bound in (low, high)]
            print(simulations, "left" if tree.action[child] == 0 else "right", "leads by", lead)
