#!/usr/bin/env python3
"""Groq's library, which adds /openai/v1 to every address."""
# program: groq for Python
# environment: sdks
# package: groq

import sys

from groq import Groq

base_url, api_key, model, variant = sys.argv[1:]
if variant == "settings":
    base_url = base_url.removesuffix("/v1")
client = Groq(base_url=base_url, api_key=api_key)
answer = client.chat.completions.create(
    model=model, messages=[{"role": "user", "content": "Ready to copy?"}]
)
print(answer.choices[0].message.content)
