"""The fields of the contract's answers, and what has been added to them. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

COMPLETION = {
    "id": "",
    "object": "",
    "created": 0,
    "model": "",
    "choices": [
        {
            "index": 0,
            "message": {"role": "", "content": ""},
            "finish_reason": "",
        }
    ],
    "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
}
ERROR = {"error": {"code": "", "message": ""}}
"""An operator may have enabled `message`."""


def added(content: Any, known: Any, path: str = "") -> Iterator[str]:
    """Yield the paths of the fields that a known answer does not have."""
    if isinstance(content, dict) and isinstance(known, dict):
        for name, value in content.items():
            here = f"{path}.{name}" if path else name
            if name in known:
                yield from added(value, known[name], here)
            else:
                yield here
    elif isinstance(content, list) and isinstance(known, list):
        for value in content:
            yield from added(value, known[0], path)


def without_added(content: Any, known: Any) -> Any:
    """Return the content with the known fields only."""
    if isinstance(content, dict) and isinstance(known, dict):
        return {
            name: without_added(value, known[name])
            for name, value in content.items()
            if name in known
        }
    if isinstance(content, list) and isinstance(known, list):
        return [without_added(value, known[0]) for value in content]
    return content
