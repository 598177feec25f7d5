"""Monte-Carlo tree search: the agent around the search, and a module for each variant."""
