#!/usr/bin/env python3
"""Haystack's OpenAIChatGenerator."""
# program: Haystack
# environment: openai-3
# package: haystack-ai

import sys

import openai
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.utils import Secret

base_url, api_key, model, variant = sys.argv[1:]
generator = OpenAIChatGenerator(
    api_key=Secret.from_token(api_key), api_base_url=base_url, model=model
)
settings = {"n": openai.omit} if variant == "settings" else None
answer = generator.run(
    [ChatMessage.from_user("Ready to copy?")], generation_kwargs=settings
)
print(answer["replies"][0].text)
