#!/usr/bin/env python3
"""Anthropic's library, with the key as a token, which it sends as we read it."""
# program: anthropic for Python
# environment: sdks
# package: anthropic

import sys

from anthropic import Anthropic

base_url, api_key, model, variant = sys.argv[1:]
if variant == "settings":
    base_url = base_url.removesuffix("/v1")
client = Anthropic(base_url=base_url, auth_token=api_key)
answer = client.messages.create(
    model=model,
    max_tokens=2000,
    messages=[{"role": "user", "content": "Ready to copy?"}],
)
print(answer.content[0].text)
