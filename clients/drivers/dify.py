#!/usr/bin/env python3
"""The check of an OpenAI-compatible model in Dify: its plugin SDK."""
# program: Dify
# environment: openai-2
# package: dify-plugin
# runs: the check when a model is added

import os
import sys

from dify_plugin.errors.model import CredentialsValidateFailedError
from dify_plugin.interfaces.model.openai_compatible.llm import (
    OAICompatLargeLanguageModel,
)

base_url, api_key, model, variant = sys.argv[1:]
credentials = {"endpoint_url": base_url, "api_key": api_key, "mode": "chat"}
if variant == "settings":
    credentials["validate_credentials_max_tokens"] = 2000
try:
    OAICompatLargeLanguageModel([]).validate_credentials(model, credentials)
    print("The credentials are valid.", flush=True)
    code = 0
except CredentialsValidateFailedError as error:
    # Dify shows the text of this exception in its dialogue.
    print(error, flush=True)
    code = 1
# An ordinary exit prints errors of gevent, which patches the interpreter.
os._exit(code)
