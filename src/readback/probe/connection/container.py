"""Whether this program runs in a container, where localhost is the container itself."""

from __future__ import annotations

import os
import re
from pathlib import Path

ROOT = Path("/")
DOCKER, PODMAN, KUBERNETES, OTHER = "docker", "podman", "kubernetes", "other"
_MARKS = {".dockerenv": DOCKER, "run/.containerenv": PODMAN}
_CGROUP = re.compile(r"docker|kubepods|containerd|libpod|lxc")


def kind() -> str:
    """Return the kind of container, or "" outside of one."""
    if "KUBERNETES_SERVICE_HOST" in os.environ:
        return KUBERNETES
    for mark, kind in _MARKS.items():
        if (ROOT / mark).exists():
            return kind
    try:
        groups = (ROOT / "proc/1/cgroup").read_text(errors="replace")
    except OSError:
        return ""
    return OTHER if _CGROUP.search(groups) else ""
