"""Find the objects that another object keeps in memory."""

import gc
from collections.abc import Iterator
from types import FunctionType, ModuleType

_CODE = (type, ModuleType, FunctionType)


def reachable_from(start: object) -> Iterator[object]:
    """Yield every object that this one keeps alive, except through code and globals."""
    seen = {id(start)}
    waiting = [start]
    while waiting:
        kept = waiting.pop()
        yield kept
        for other in gc.get_referents(kept):
            # Not isinstance, which would evaluate Django's lazy objects.
            if id(other) not in seen and not issubclass(type(other), _CODE):
                seen.add(id(other))
                waiting.append(other)
