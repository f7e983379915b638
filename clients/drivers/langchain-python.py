#!/usr/bin/env python3
"""LangChain's ChatOpenAI."""
# program: LangChain
# environment: dev
# package: langchain-openai

import sys

from langchain_openai import ChatOpenAI

base_url, api_key, model, variant = sys.argv[1:]
chat = ChatOpenAI(base_url=base_url, api_key=api_key, model=model)
print(chat.invoke("Ready to copy?").content)
