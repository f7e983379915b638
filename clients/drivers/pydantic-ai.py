#!/usr/bin/env python3
"""An agent of pydantic-ai; `openai:` speaks the Responses API, `openai-chat:` not."""
# program: pydantic-ai
# environment: openai-3
# package: pydantic-ai-slim

import os
import sys

from pydantic_ai import Agent

base_url, api_key, model, variant = sys.argv[1:]
os.environ["OPENAI_BASE_URL"] = base_url
os.environ["OPENAI_API_KEY"] = api_key
provider = "openai-chat" if variant == "settings" else "openai"
print(Agent(f"{provider}:{model}").run_sync("Ready to copy?").output)
