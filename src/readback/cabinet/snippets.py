"""Programs that connect, ready to run: the files of snippets/, filled in.

A file is one way to connect, with <BASE_URL>, <API_KEY> and <MODEL> where these
belong. Pages show the files filled in, and a test runs each of them.
"""

from functools import cache
from pathlib import Path
from typing import NamedTuple

from readback.contract import MODEL

FOLDER = Path(__file__).parent / "snippets"

# In the order of the page.
NAMES = {
    "curl.sh": "curl",
    "openai.py": "Python: openai",
    "requests.py": "Python: requests",
    "langchain.py": "Python: LangChain",
    "litellm.py": "Python: LiteLLM",
    "openai.mjs": "Node: openai",
    "fetch.mjs": "Node: fetch",
    "ai-sdk.mjs": "Node: Vercel AI SDK",
}
DIALOGUE = "settings.txt"


class Snippet(NamedTuple):
    name: str
    file: str
    text: str


class Setting(NamedTuple):
    """One line of a program's settings dialogue."""

    name: str
    value: str


def filled(base_url: str, api_key: str) -> list[Snippet]:
    """Give every program with the address and the key in their places."""
    return [
        Snippet(name, file, _fill(file, base_url, api_key))
        for file, name in NAMES.items()
    ]


def dialogue(base_url: str, api_key: str) -> list[Setting]:
    """Give what to type into a program that asks for it in a window."""
    lines = _fill(DIALOGUE, base_url, api_key).splitlines()
    return [Setting(*line.split(": ", 1)) for line in lines]


def _fill(file: str, base_url: str, api_key: str) -> str:
    text = _read(file).replace("<MODEL>", MODEL)
    return text.replace("<BASE_URL>", base_url).replace("<API_KEY>", api_key)


@cache
def _read(file: str) -> str:
    return (FOLDER / file).read_text(encoding="utf-8")
