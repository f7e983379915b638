#!/usr/bin/env python3
"""A function of magentic that returns a text."""
# program: magentic
# environment: sdks
# package: magentic

import sys

from magentic import OpenaiChatModel, prompt

base_url, api_key, model, variant = sys.argv[1:]
chat = OpenaiChatModel(model, base_url=base_url, api_key=api_key)


@prompt("Ready to copy?", model=chat)
def copy() -> str: ...


print(copy())
