"""What RL libraries need besides Gymnasium and PettingZoo: a module for each library."""
