"""OpenAI's Python package, configured only with the address and the key.

Its other client, which blocks, is run as a snippet and as a driver.
"""

import asyncio
from typing import Any

import pytest

from readback import programs
from tests.support.server import Server

MODEL = "vendor-cabinet-preview-echo"
TEXTS = [
    "Hello",
    "Привет, мир",
    "🏠👩‍👩‍👧‍👦🇺🇦",
    "first\nsecond\r\nthird\n\n",
    '"quotes" \\ and \ttabs',
    " white space around \n",
    "\ufeff\u2028\0",
    "я" * 4096,
]


@pytest.fixture(scope="module")
def openai() -> Any:
    # Importing it takes a second, even in processes that run none of these tests.
    import openai

    return openai


def message(text: str) -> list:
    return [{"role": "user", "content": text}]


def test_the_async_client_gets_every_text_back_concurrently(
    server: Server, openai: Any
) -> None:
    async def ask() -> list[str | None]:
        async with openai.AsyncOpenAI(
            base_url=server.base_url, api_key=server.api_key
        ) as client:
            [model] = [model async for model in client.models.list()]
            answers = await asyncio.gather(
                *(
                    client.chat.completions.create(
                        model=model.id, messages=message(text), max_tokens=2000
                    )
                    for text in TEXTS
                )
            )
        return [answer.choices[0].message.content for answer in answers]

    assert asyncio.run(ask()) == TEXTS


@pytest.mark.parametrize("headers", [{}, {"Prefer": "explain"}])
def test_the_client_prints_a_refusal_as_the_table_of_programs_says(
    server: Server, openai: Any, headers: dict
) -> None:
    with (
        openai.OpenAI(
            base_url=server.base_url, api_key=server.api_key, default_headers=headers
        ) as client,
        pytest.raises(openai.BadRequestError) as caught,
    ):
        client.chat.completions.create(
            model=MODEL, messages=message("Hello"), temperature=0
        )
    [row] = [
        program for program in programs.table() if program.name == "openai (Python)"
    ]
    explanation = caught.value.response.headers["X-Error-Detail"]
    assert explanation.startswith("The field temperature is not accepted: ")
    expected = row.explained.replace("…", explanation) if headers else row.prints
    assert str(caught.value) == expected
