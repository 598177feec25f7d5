"""Pictures of positions: as text, as RGB frames, and in a window.

A game is drawn by its `style` and what else its contract says; nothing here knows one by name.
"""
