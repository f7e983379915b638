"""Workflows, forms and scripts are valid, consistent and without known weaknesses."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import readback
from tests.support.build_context import ROOT
from tests.support.commands import free_port

FORGE = ROOT / ".github"
WORKFLOWS = sorted((FORGE / "workflows").iterdir())
ACTION = ROOT / "action.yml"
SCHEMAS = {
    **dict.fromkeys(WORKFLOWS, "github-workflows"),
    ACTION: "github-actions",
    FORGE / "dependabot.yml": "dependabot",
    FORGE / "ISSUE_TEMPLATE" / "bug.yml": "github-issue-forms",
    FORGE / "ISSUE_TEMPLATE" / "config.yml": "github-issue-config",
}
# A package that does not exist, so that nothing is installed by mistake.
REQUIREMENT = f"readback-does-not-exist==1 --hash=sha256:{'0' * 64}\n"
SHELL = re.compile(r"#!.*\b(?:ba)?sh\n")


def tool(name: str) -> str:
    found = shutil.which(name, path=Path(sys.executable).parent)
    if not found:
        pytest.skip(f"{name} is not installed; run make test")
    return found


def run(*command: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    settings = {"cwd": ROOT, "timeout": 300, **options}
    return subprocess.run(command, capture_output=True, text=True, **settings)


def steps() -> Iterator[dict[str, Any]]:
    yield from yaml.safe_load(ACTION.read_text())["runs"]["steps"]
    for path in WORKFLOWS:
        for job in yaml.safe_load(path.read_text())["jobs"].values():
            yield from job["steps"]


@pytest.mark.parametrize("path", SCHEMAS, ids=lambda path: path.name)
def test_a_file_is_valid_for_its_published_schema(path):
    # Imported here to save 0.3 s in every test process.
    import jsonschema
    from check_jsonschema.builtin_schemas import get_builtin_schema
    from ruamel.yaml import YAML

    # YAML 1.2, in which `on` is a string.
    document = YAML(typ="safe", pure=True).load(path)

    jsonschema.validate(document, get_builtin_schema(f"vendor.{SCHEMAS[path]}"))


def test_every_file_of_the_forge_is_checked():
    assert {*SCHEMAS} == {ACTION, *(path for path in FORGE.rglob("*.*"))}


def test_no_workflow_and_no_action_has_a_known_weakness():
    done = run(tool("zizmor"), "--offline", "--strict-collection", "--no-ignores", ".")

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr.count("completed ./") == len(SCHEMAS) - 2  # two are forms


def test_a_workflow_begins_without_permissions():
    for path in WORKFLOWS:
        assert yaml.safe_load(path.read_text())["permissions"] == {}, path.name


def scripts() -> dict[str, str]:
    """Return every shell script in the repository and in workflow steps."""
    names = run("git", "ls-files", "-z").stdout.split("\0")[:-1]
    texts = {name: (ROOT / name).read_bytes()[:200_000] for name in names}
    found = {
        name: text.decode()
        for name, text in texts.items()
        if name.endswith(".sh") or SHELL.match(text.decode(errors="replace"))
    }
    found |= {step["run"]: step["run"] for step in steps() if "run" in step}
    return found


def test_shellcheck_has_nothing_to_say_about_any_script(tmp_path):
    checked = tmp_path / "checked"
    checked.mkdir()
    for number, (name, text) in enumerate(scripts().items()):
        if not SHELL.match(text):
            text = f"#!/bin/bash\n# {name.splitlines()[0]}\n{text}"
        (checked / str(number)).write_text(text)
    done = run(tool("shellcheck"), *checked.iterdir())

    assert done.returncode == 0, done.stdout
    assert number > 15


def test_the_newest_version_in_the_changelog_is_the_version_of_the_package():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.findall(r"^## \[(\d+\.\d+\.\d+)\]", text, re.MULTILINE)

    assert versions[0] == readback.__version__


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """A copy of the files that the script compares; all of them match."""
    for name in ("scripts/release", "src/readback/__init__.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "src/readback/__init__.py").write_text('__version__ = "2.1.0"\n')
    (tmp_path / "CHANGELOG.md").write_text(
        "# Changelog\n\n## [Unreleased]\n\n## [2.1.0] - 2026-12-24\n\n- New.\n"
    )
    project = (ROOT / "pyproject.toml").read_text()
    (tmp_path / "pyproject.toml").write_text(
        re.sub(r'^# (\w+ = ")\w+:.*?"', r'\1https://a.example/b"', project, flags=re.M)
    )
    return tmp_path


def test_a_release_in_which_everything_fits_names_version_and_image(release):
    done = run(release / "scripts/release", "v2.1.0")

    assert (done.stdout, done.stderr) == ("version=2.1.0\nimage=a.example/b\n", "")


REFUSED = {
    "another tag": ("v2.1.1", "", "", "", "The tag is v2.1.1, but "),
    "a tag without v": ("2.1.0", "", "", "", "The tag is 2.1.0, but "),
    "a suffix": ("v2.1.0rc1", "", "", "", "The tag is v2.1.0rc1, but "),
    "an old changelog": (
        *("v2.1.0", "CHANGELOG.md", "## [2.1.0]", "## [2.0.0]"),
        "CHANGELOG.md does not begin with '## [2.1.0] - ' and a date.",
    ),
    "no date": (
        *("v2.1.0", "CHANGELOG.md", " - 2026-12-24", ""),
        "CHANGELOG.md does not begin with '## [2.1.0] - ' and a date.",
    ),
    "unreleased changes": (
        *("v2.1.0", "CHANGELOG.md", "[Unreleased]\n", "[Unreleased]\n\n- More.\n"),
        "CHANGELOG.md has changes under [Unreleased].",
    ),
    "an owner who is not filled in": (
        *("v2.1.0", "pyproject.toml", "\nImage = ", "\n# Image = "),
        "pyproject.toml has no Image in [project.urls].",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_release_in_which_something_does_not_fit_is_refused(release, case):
    tag, name, old, new, sentence = REFUSED[case]
    if name:
        text = (release / name).read_text()
        assert old in text
        (release / name).write_text(text.replace(old, new))
    done = run(release / "scripts/release", tag)

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(sentence) and done.stderr.count("\n") == 1


def test_python_may_be_in_a_folder_with_a_space_in_its_name(tmp_path):
    folder = tmp_path / "my python"
    folder.mkdir()
    python = folder / "python3"
    python.symlink_to(Path(sys.executable).resolve())

    done = run("scripts/python", env=os.environ | {"PYTHON": str(python)})

    assert (done.stdout, done.stderr) == (f"{python}\n", "")


def test_without_network_the_installation_ends_with_one_sentence(tmp_path):
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    (tmp_path / "requirements").mkdir()
    for name in ("pip.txt", "build.txt", "run.txt"):
        (tmp_path / "requirements" / name).write_text(REQUIREMENT)
    # With this environment, pip gets as far as the download.
    (tmp_path / ".venv").mkdir()
    # Without pyvenv.cfg, a Python from a Linux distribution would not let pip install
    # anything.
    for name in ("bin", "lib", "pyvenv.cfg"):
        (tmp_path / ".venv" / name).symlink_to(Path(sys.prefix, name))

    settings = {
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_INDEX_URL": f"http://127.0.0.1:{free_port()}/simple",
        "PIP_RETRIES": "1",
    }

    done = run("scripts/install", "run", cwd=tmp_path, env=os.environ | settings)

    assert done.returncode == 1
    [sentence] = done.stderr.splitlines()
    assert sentence.startswith("The package index cannot be reached: ")
    assert "Connection refused" in sentence
    # No package was partly installed, so the environment need not be created again.
    assert not (tmp_path / ".venv" / "unfinished").exists()
