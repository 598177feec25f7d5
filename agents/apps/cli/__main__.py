"""``python -m agents.apps.cli`` is the command `hexenv`."""

from agents.apps.cli import main

main()
