#!/usr/bin/env python3
"""An agent of the OpenAI Agents SDK."""
# program: OpenAI Agents SDK
# environment: openai-3
# package: openai-agents

import sys

from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    set_tracing_disabled,
)
from openai import AsyncOpenAI

base_url, api_key, model, variant = sys.argv[1:]
set_tracing_disabled(True)
client = AsyncOpenAI(base_url=base_url, api_key=api_key)
chosen = OpenAIChatCompletionsModel if variant == "settings" else OpenAIResponsesModel
agent = Agent(name="Copier", model=chosen(model=model, openai_client=client))
print(Runner.run_sync(agent, "Ready to copy?").final_output)
