"""Films of games, and plots."""
