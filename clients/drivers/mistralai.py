#!/usr/bin/env python3
"""Mistral's library, with the address as its own server."""
# program: mistralai for Python
# environment: sdks
# package: mistralai

import sys

from mistralai.client import Mistral

base_url, api_key, model, variant = sys.argv[1:]
if variant == "settings":
    base_url = base_url.removesuffix("/v1")
client = Mistral(api_key=api_key, server_url=base_url)
answer = client.chat.complete(
    model=model, messages=[{"role": "user", "content": "Ready to copy?"}]
)
print(answer.choices[0].message.content)
