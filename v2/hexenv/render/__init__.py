"""Pictures of positions: as text, as RGB frames, as SVG, and in a window.

A game is drawn by its `style` and the other methods of its contract; no game is named here.

* `look`: themes, colours, sizes; `geometry`: where cells and labels are;
* `drawing`: the things to show in a position and their shapes, for `rgb` and `svg`;
* `overlay`: numbers and move numbers on top of a position; `ansi`: positions as text;
* `display`: the render modes of an environment; `window`: a window on the screen.
"""
