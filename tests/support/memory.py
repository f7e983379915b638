"""What is still in memory."""

import gc
from collections.abc import Iterator
from types import FunctionType, ModuleType

_CODE = (type, ModuleType, FunctionType)


def reachable_from(start: object) -> Iterator[object]:
    """Every object that is kept alive by one, but not through code and its globals."""
    seen = {id(start)}
    waiting = [start]
    while waiting:
        one = waiting.pop()
        yield one
        for other in gc.get_referents(one):
            # Not isinstance, which makes a lazy object of Django evaluate itself.
            if id(other) not in seen and not issubclass(type(other), _CODE):
                seen.add(id(other))
                waiting.append(other)
