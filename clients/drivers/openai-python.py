#!/usr/bin/env python3
"""OpenAI's library for Python, as its README shows it."""
# program: openai (Python)
# environment: dev openai-2 openai-1
# package: openai

import sys

from openai import OpenAI

base_url, api_key, model, variant = sys.argv[1:]
client = OpenAI(base_url=base_url, api_key=api_key)
answer = client.chat.completions.create(
    model=model, messages=[{"role": "user", "content": "Ready to copy?"}]
)
print(answer.choices[0].message.content)
