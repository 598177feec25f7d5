"""Archives of arrays in files, changed as a stranger could change them."""

import json

import numpy as np


def about(path, **changed):
    """The head of an archive, with other values."""
    with np.load(path) as archive:
        words = json.loads(archive["about"].tobytes()) | changed
    return np.frombuffer(json.dumps(words).encode(), np.uint8)


def rewritten(path, into, **changed):
    """Write an archive with other arrays; None leaves one out."""
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files} | changed
    np.savez(into, **{name: array for name, array in arrays.items() if array is not None})
    return into
