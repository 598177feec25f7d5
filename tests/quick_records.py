"""NumPy's records with quicker attributes, for tests that run as plain Python.

NumPy looks for each attribute of a record in Python, and there twice. That was a third of the time
of all tests. Here C looks first, and only what it does not find is looked for among the fields.
What is found is the same: `test_suite.py` compares both. Processes that tests start use NumPy as it
is.
"""

from typing import Any

import numpy as np

OF_NUMPY = {
    "record": np.record.__getattribute__,
    "set": np.record.__setattr__,
    "array": np.recarray.__getattribute__,
}
"""How NumPy does it."""
_MAY_HAVE_FIELDS = (np.void, np.ndarray)
_item = np.void.__getitem__
_set_field = np.void.setfield
_field = np.ndarray.getfield
_view = np.ndarray.view


def _field_of_record(self: Any, name: str) -> Any:
    try:
        found = _item(self, name)
    except (ValueError, IndexError):  # no such field; no fields
        raise AttributeError(f"'record' object has no attribute '{name}'") from None
    if isinstance(found, _MAY_HAVE_FIELDS) and found.dtype.names is not None:
        return found.view((self.__class__, found.dtype))
    return found


def _set_field_of_record(self: Any, name: str, value: Any) -> None:
    place = (self.dtype.fields or {}).get(name)
    if place is None:
        OF_NUMPY["set"](self, name, value)
    else:
        _set_field(self, value, place[0], place[1])


def _field_of_array(self: Any, name: str) -> Any:
    place = (self.dtype.fields or {}).get(name)
    if place is None:
        raise AttributeError(f"recarray has no attribute {name}")
    found = _field(self, place[0], place[1])
    if found.dtype.names is None:
        return _view(found, np.ndarray)
    if issubclass(found.dtype.type, np.void):
        return found.view(dtype=(self.dtype.type, found.dtype))
    return found


def make_records_quick() -> None:
    """Let all records of this process have quick attributes."""
    record: Any = np.record
    array: Any = np.recarray
    if "__getattribute__" in vars(record) and "__getattribute__" in vars(array):  # not done yet
        del record.__getattribute__, array.__getattribute__
        record.__getattr__, record.__setattr__ = _field_of_record, _set_field_of_record
        array.__getattr__ = _field_of_array
