"""What is known of Hex: the exact solver, bridges, distances."""
