"""OpenAI's asynchronous client, configured only with the address and the key.

The blocking client is tested as a snippet, and by a driver in clients/.
"""

import asyncio

from tests.support.server import Server

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


def test_the_async_client_gets_every_text_back_concurrently(server: Server) -> None:
    import openai  # takes a second

    async def ask() -> list[str | None]:
        async with openai.AsyncOpenAI(
            base_url=server.base_url, api_key=server.api_key
        ) as client:
            [model] = [model async for model in client.models.list()]
            answers = await asyncio.gather(
                *(
                    client.chat.completions.create(
                        model=model.id,
                        messages=[{"role": "user", "content": text}],
                        max_tokens=2000,
                    )
                    for text in TEXTS
                )
            )
        return [answer.choices[0].message.content for answer in answers]

    assert asyncio.run(ask()) == TEXTS
