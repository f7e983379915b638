#!/usr/bin/env python3
"""Semantic Kernel's OpenAIChatCompletion."""
# program: Semantic Kernel
# environment: openai-3
# package: semantic-kernel

import asyncio
import sys

from openai import AsyncOpenAI
from semantic_kernel.connectors.ai.open_ai import (
    OpenAIChatCompletion,
    OpenAIChatPromptExecutionSettings,
)
from semantic_kernel.contents import ChatHistory

base_url, api_key, model, variant = sys.argv[1:]


async def ask() -> None:
    client = AsyncOpenAI(base_url=base_url, api_key=api_key)
    service = OpenAIChatCompletion(ai_model_id=model, async_client=client)
    history = ChatHistory()
    history.add_user_message("Ready to copy?")
    settings = OpenAIChatPromptExecutionSettings()
    print(await service.get_chat_message_content(history, settings))


asyncio.run(ask())
