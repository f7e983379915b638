#!/usr/bin/env python3
"""requests, with the exception that it raises for a refusal."""
# program: requests
# environment: dev
# package: requests

import sys

import requests

base_url, api_key, model, variant = sys.argv[1:]
answer = requests.post(
    f"{base_url}/chat/completions",
    headers={"Authorization": f"Bearer {api_key}"},
    json={
        "model": model,
        "messages": [{"role": "user", "content": "Ready to copy?"}],
    },
)
answer.raise_for_status()
print(answer.json()["choices"][0]["message"]["content"])
