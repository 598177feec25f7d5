"""What is known of Connect4: the exact solver."""
