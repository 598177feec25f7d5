"""The games: one readable file each, over the contract in `hexenv.games.contract`."""
