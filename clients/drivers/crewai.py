#!/usr/bin/env python3
"""CrewAI's LLM, called directly; its agents add a system message."""
# program: CrewAI
# environment: crewai
# package: crewai

import sys

from crewai import LLM

base_url, api_key, model, variant = sys.argv[1:]
llm = LLM(model=f"openai/{model}", base_url=base_url, api_key=api_key)
print(llm.call("Ready to copy?"))
