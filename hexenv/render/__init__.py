"""Pictures of positions: as text, as RGB frames, as SVG, and in a window.

A game is drawn by its `style` and what else its contract says; nothing here knows one by name.
`look` has the colours, `board` the geometry, and `drawing` says what there is to see, for pixels
(`canvas`, `rgb`) and SVG (`svg`, `animation`) alike; `overlay` is what is laid over it.
"""
