#!/usr/bin/env python3
"""httpx, with the exception that it raises for a refusal."""
# program: httpx
# environment: dev
# package: httpx

import sys

import httpx

base_url, api_key, model, variant = sys.argv[1:]
answer = httpx.post(
    f"{base_url}/chat/completions",
    headers={"Authorization": f"Bearer {api_key}"},
    json={
        "model": model,
        "messages": [{"role": "user", "content": "Ready to copy?"}],
    },
)
answer.raise_for_status()
print(answer.json()["choices"][0]["message"]["content"])
