#!/usr/bin/env python3
"""The command `llm`, with the model in its file of extra models."""
# program: llm
# environment: openai-3
# package: llm

import json
import os
import sys
from pathlib import Path

base_url, api_key, model, variant = sys.argv[1:]
folder = Path("llm").absolute()
folder.mkdir()
os.environ["LLM_USER_PATH"] = str(folder)
switch = "  can_stream: false\n" if variant == "settings" else ""
(folder / "extra-openai-models.yaml").write_text(
    f"- model_id: echo\n  model_name: {model}\n  api_base: {base_url}\n"
    f"  api_key_name: readback\n{switch}"
)
(folder / "keys.json").write_text(json.dumps({"readback": api_key}))
command = [sys.executable, "-m", "llm", "-m", "echo", "Ready to copy?"]
os.execv(sys.executable, command)
