#!/usr/bin/env python3
"""OpenAI's library before its first major line, configured by its module."""
# program: openai for Python 0.28
# environment: openai-0
# package: openai

import sys

import openai

openai.api_base, openai.api_key, model, variant = sys.argv[1:]
answer = openai.ChatCompletion.create(
    model=model, messages=[{"role": "user", "content": "Ready to copy?"}]
)
print(answer.choices[0].message.content)
