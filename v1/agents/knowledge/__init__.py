"""What is known of one game and of no other."""
