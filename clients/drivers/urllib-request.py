#!/usr/bin/env python3
"""urllib of Python's standard library, which declares a form unless told otherwise."""
# program: urllib
# environment: dev

import json
import sys
from urllib.request import Request, urlopen

base_url, api_key, model, variant = sys.argv[1:]
headers = {"Authorization": f"Bearer {api_key}"}
if variant == "settings":
    headers["Content-Type"] = "application/json"
body = {"model": model, "messages": [{"role": "user", "content": "Ready to copy?"}]}
request = Request(
    f"{base_url}/chat/completions", data=json.dumps(body).encode(), headers=headers
)
with urlopen(request) as answer:
    print(json.load(answer)["choices"][0]["message"]["content"])
