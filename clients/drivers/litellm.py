#!/usr/bin/env python3
"""The completion function of LiteLLM."""
# program: LiteLLM
# environment: openai-2
# package: litellm

import sys

from litellm import completion

base_url, api_key, model, variant = sys.argv[1:]
answer = completion(
    model=f"openai/{model}",
    api_base=base_url,
    api_key=api_key,
    messages=[{"role": "user", "content": "Ready to copy?"}],
)
print(answer.choices[0].message.content)
