"""What is known of Hex: the exact solver, bridges, inferior cells, virtual connections."""
