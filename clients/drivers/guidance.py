#!/usr/bin/env python3
"""guidance with an OpenAI model."""
# program: guidance
# environment: sdks
# package: guidance

import sys

from guidance import assistant, gen, models, user

base_url, api_key, model, variant = sys.argv[1:]
chat = models.OpenAI(model, base_url=base_url, api_key=api_key, echo=False)
with user():
    chat += "Ready to copy?"
with assistant():
    chat += gen("answer")
print(chat["answer"])
