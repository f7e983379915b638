#!/usr/bin/env python3
"""AutoGen's AssistantAgent."""
# program: AutoGen
# environment: openai-3
# package: autogen-agentchat

import asyncio
import sys

from autogen_agentchat.agents import AssistantAgent
from autogen_ext.models.openai import OpenAIChatCompletionClient

base_url, api_key, model, variant = sys.argv[1:]
CAPABILITIES = {
    "vision": False,
    "function_calling": False,
    "json_output": False,
    "family": "unknown",
    "structured_output": False,
}
without_name = {"include_name_in_message": False} if variant == "settings" else {}
without_system = {"system_message": None} if variant == "settings" else {}


async def ask() -> None:
    client = OpenAIChatCompletionClient(
        model=model,
        base_url=base_url,
        api_key=api_key,
        model_info=CAPABILITIES,
        **without_name,
    )
    agent = AssistantAgent("assistant", model_client=client, **without_system)
    answer = await agent.run(task="Ready to copy?")
    print(answer.messages[-1].content)


asyncio.run(ask())
