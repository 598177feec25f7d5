"""``python -m agents.cli`` is the command `hexenv`."""

from agents.cli import main

main()
