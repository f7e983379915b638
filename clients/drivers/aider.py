#!/usr/bin/env python3
"""The command `aider` with one message."""
# program: aider
# environment: aider
# package: aider-chat

import os
import sys

base_url, api_key, model, variant = sys.argv[1:]
os.environ["OPENAI_API_BASE"] = base_url
os.environ["OPENAI_API_KEY"] = api_key
switches = ["--no-stream"] if variant == "settings" else []
quiet = ["--no-git", "--yes-always", "--no-check-update", "--analytics-disable"]
quiet += ["--no-show-model-warnings", "--no-gitignore", "--no-pretty"]
command = [sys.executable, "-m", "aider", "--model", f"openai/{model}", *quiet]
os.execv(sys.executable, [*command, *switches, "--message", "Ready to copy?"])
