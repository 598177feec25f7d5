"""Games in the browser: the replay page, one file, and the local server to play against agents."""
