#!/usr/bin/env python3
"""DSPy's LM, called directly."""
# program: DSPy
# environment: openai-2
# package: dspy

import sys

import dspy

base_url, api_key, model, variant = sys.argv[1:]
lm = dspy.LM(f"openai/{model}", api_base=base_url, api_key=api_key)
print(lm("Ready to copy?")[0])
