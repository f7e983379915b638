#!/usr/bin/env python3
"""The command `sgpt` of ShellGPT with one prompt."""
# program: ShellGPT
# environment: openai-2
# package: shell-gpt

import os
import sys
from pathlib import Path

base_url, api_key, model, variant = sys.argv[1:]
folder = Path.home() / ".config" / "shell_gpt"
folder.mkdir(parents=True)
(folder / ".sgptrc").write_text(
    f"OPENAI_API_KEY={api_key}\nAPI_BASE_URL={base_url}\nDEFAULT_MODEL={model}\n"
)
switches = ["--no-md", "--no-cache"] if variant == "settings" else []
command = [sys.executable, "-c", "from sgpt import cli; cli()"]
os.execv(sys.executable, [*command, *switches, "Ready to copy?"])
