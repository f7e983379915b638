#!/usr/bin/env python3
"""An agent of Strands; as settings, everything that it lets its user turn off."""
# program: Strands Agents
# environment: sdks
# package: strands-agents

import sys

import openai
from strands import Agent
from strands.models.openai import OpenAIModel

base_url, api_key, model, variant = sys.argv[1:]
settings = {}
if variant == "settings":
    settings = {"stream": False, "params": {"tools": openai.omit}}
chat = OpenAIModel(
    client_args={"base_url": base_url, "api_key": api_key}, model_id=model, **settings
)
print(Agent(model=chat, callback_handler=None)("Ready to copy?"))
