#!/usr/bin/env python3
"""LlamaIndex's OpenAILike."""
# program: LlamaIndex
# environment: openai-2
# package: llama-index-llms-openai-like

import sys

import openai
from llama_index.llms.openai_like import OpenAILike

base_url, api_key, model, variant = sys.argv[1:]
settings = {}
if variant == "settings":
    settings = {
        "is_chat_model": True,
        "additional_kwargs": {"temperature": openai.omit},
    }
llm = OpenAILike(model=model, api_base=base_url, api_key=api_key, **settings)
print(llm.complete("Ready to copy?"))
