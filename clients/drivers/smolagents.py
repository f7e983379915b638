#!/usr/bin/env python3
"""smolagents' OpenAIModel, called directly with the parts that its agents send."""
# program: smolagents
# environment: openai-3
# package: smolagents

import sys

from smolagents import OpenAIModel

base_url, api_key, model, variant = sys.argv[1:]
settings = {"flatten_messages_as_text": True} if variant == "settings" else {}
chat = OpenAIModel(model_id=model, api_base=base_url, api_key=api_key, **settings)
parts = [{"type": "text", "text": "Ready to copy?"}]
print(chat([{"role": "user", "content": parts}]).content)
