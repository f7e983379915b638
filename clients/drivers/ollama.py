#!/usr/bin/env python3
"""Ollama's library, which sends a key only in a header that its user sets."""
# program: ollama for Python
# environment: sdks
# package: ollama

import sys

from ollama import Client

base_url, api_key, model, variant = sys.argv[1:]
if variant == "settings":
    base_url = base_url.removesuffix("/v1")
client = Client(host=base_url, headers={"Authorization": f"Bearer {api_key}"})
answer = client.chat(
    model=model, messages=[{"role": "user", "content": "Ready to copy?"}]
)
print(answer.message.content)
