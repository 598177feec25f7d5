"""What all rooms share: messages, imports on demand, and libraries of extras."""
