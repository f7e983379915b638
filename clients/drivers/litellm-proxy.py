#!/usr/bin/env python3
"""The health check of a LiteLLM proxy that has the model in its configuration."""
# program: LiteLLM proxy
# environment: openai-2
# package: litellm
# runs: `GET /health` of the proxy

import json
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.request import Request, urlopen

START_SECONDS = 60
MASTER_KEY = "sk-proxy"

base_url, api_key, model, variant = sys.argv[1:]
entry = {
    "model_name": "echo",
    "litellm_params": {
        "model": f"openai/{model}",
        "api_base": base_url,
        "api_key": api_key,
    },
}
if variant == "settings":
    entry["model_info"] = {"health_check_max_tokens": 2000}
settings = {"model_list": [entry], "general_settings": {"master_key": MASTER_KEY}}
Path("config.yaml").write_text(json.dumps(settings))
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
code = "from litellm import run_server; run_server()"
options = ["--config", "config.yaml", "--host", "127.0.0.1", "--port", str(port)]
with Path("proxy.log").open("wb") as log:
    command = [sys.executable, "-c", code, *options]
    proxy = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
deadline = time.monotonic() + START_SECONDS
while True:
    try:
        urlopen(f"http://127.0.0.1:{port}/health/liveliness", timeout=5).close()
        break
    except OSError:
        if proxy.poll() is not None or time.monotonic() > deadline:
            sys.exit(Path("proxy.log").read_text()[-2000:])
        time.sleep(0.2)
login = {"Authorization": f"Bearer {MASTER_KEY}"}
with urlopen(Request(f"http://127.0.0.1:{port}/health", headers=login)) as answer:
    health = json.load(answer)
proxy.terminate()
proxy.wait()
if health["healthy_count"] != 1:
    # Its first line; a stack trace of the proxy follows.
    sys.exit(health["unhealthy_endpoints"][0]["error"].splitlines()[0])
print("healthy_count: 1")
