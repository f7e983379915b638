#!/usr/bin/env python3
"""aiohttp, with the exception that it raises for a refusal."""
# program: aiohttp
# environment: dev
# package: aiohttp

import asyncio
import sys

import aiohttp

base_url, api_key, model, variant = sys.argv[1:]
body = {"model": model, "messages": [{"role": "user", "content": "Ready to copy?"}]}


async def ask() -> None:
    headers = {"Authorization": f"Bearer {api_key}"}
    async with (
        aiohttp.ClientSession(headers=headers) as session,
        session.post(f"{base_url}/chat/completions", json=body) as answer,
    ):
        answer.raise_for_status()
        print((await answer.json())["choices"][0]["message"]["content"])


asyncio.run(ask())
