#!/usr/bin/env python3
"""Together's library."""
# program: together for Python
# environment: sdks
# package: together

import sys

from together import Together

base_url, api_key, model, variant = sys.argv[1:]
if variant == "settings":
    base_url = base_url.removesuffix("/v1")
client = Together(base_url=base_url, api_key=api_key)
answer = client.chat.completions.create(
    model=model, messages=[{"role": "user", "content": "Ready to copy?"}]
)
print(answer.choices[0].message.content)
