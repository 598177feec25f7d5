"""What people start: play, pages, protocols and the command line."""
