# SPDX-License-Identifier: Apache-2.0
"""The GitHub action and the pre-commit hook, run as their users run them: the steps of action.yml one after the other as
a runner does, and the hook by pre-commit itself, in a new repository. The step that builds the program from the
checkout is replaced by the program under test."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from conftest import SOURCE

yaml = pytest.importorskip("yaml", reason="no wheel of pre-commit: run scripts/checks/venv.sh")
DONE, OVER_BUDGET = 0, 3


@pytest.fixture(name="project")
def project_with_a_model(neap, tmp_path):
    assert neap.run("zoo", "mobilenet-v1-vww", "--int8", "-o", tmp_path / "vww.tflite").returncode == DONE
    return tmp_path


class Runner:
    """Runs a composite action: expressions of inputs and of outputs of earlier steps, environment, output files."""

    def __init__(self, action, project, inputs, replaced):
        self.project, self.steps, self.replaced = project, {}, replaced
        self.action = yaml.safe_load((action / "action.yml").read_text())
        unknown = set(inputs) - set(self.action["inputs"])
        assert not unknown, unknown
        missing = [name for name, one in self.action["inputs"].items() if one.get("required") and name not in inputs]
        assert not missing, missing
        self.inputs = {name: inputs.get(name, one.get("default", "")) for name, one in self.action["inputs"].items()}
        self.environment = {"GITHUB_ACTION_PATH": str(action), "GITHUB_STEP_SUMMARY": str(project / "summary.md")}

    def value(self, text):
        def one(match):
            words = match[1].split(".")
            if words[0] == "inputs":
                return self.inputs[words[1]]
            assert words[0] == "steps" and words[2] == "outputs", match[0]
            return self.steps[words[1]].get(words[3], "")

        return re.sub(r"\$\{\{ *([^ }]+) *\}\}", one, text)

    def run(self):
        """The exit code of the last step that ran."""
        assert self.action["runs"]["using"] == "composite"
        for step in self.action["runs"]["steps"]:
            if step["id"] in self.replaced:
                self.steps[step["id"]] = self.replaced[step["id"]]
                continue
            outputs = self.project / f"outputs-{step['id']}"
            outputs.write_text("")
            done = subprocess.run(
                [step["shell"], "-e", "-o", "pipefail", "-c", self.value(step["run"])], cwd=self.project, check=False,
                env={**os.environ, **self.environment, "GITHUB_OUTPUT": str(outputs),
                     **{name: self.value(value) for name, value in step.get("env", {}).items()}})
            self.steps[step["id"]] = dict(line.split("=", 1) for line in outputs.read_text().splitlines())
            if done.returncode != 0:
                return done.returncode
        return DONE

    def outputs(self):
        return {name: self.value(one["value"]) for name, one in self.action["outputs"].items()}


def act(project, neap, **inputs):
    runner = Runner(SOURCE, project, {name.replace("_", "-"): value for name, value in inputs.items()},
                    {"build": {"neap": neap.path}})
    return runner.run(), runner.outputs()


def test_the_action(neap, project):
    code, outputs = act(project, neap, models="*.tflite", board="nano-33-ble", reserve="32KiB")
    assert (code, outputs["fits"]) == (DONE, "true")
    report = json.loads((project / outputs["report"]).read_text())
    assert report["reserve_bytes"] == 32 * 1024
    assert json.loads((project / outputs["sarif"]).read_text())["runs"][0]["results"] == []
    assert "vww.tflite" in (project / "summary.md").read_text()
    # The report is the baseline of the next run: the same model has not grown, a smaller baseline has.
    shutil.copy(project / outputs["report"], project / "base.json")
    words = {"models": "vww.tflite", "board": "nano-33-ble", "reserve": "32KiB", "baseline": "base.json", "max_growth": "0"}
    assert act(project, neap, **words)[0] == DONE
    report["models"][0]["total_arena_bytes"] -= 16
    (project / "base.json").write_text(json.dumps(report))
    code, outputs = act(project, neap, **words)
    assert (code, outputs["fits"]) == (OVER_BUDGET, "false")
    (result,) = json.loads((project / outputs["sarif"]).read_text())["runs"][0]["results"]
    assert result["ruleId"] == "memory-grew"


def test_the_action_on_a_board_that_is_too_small(neap, project):
    code, outputs = act(project, neap, models="*.tflite", board="nano-33-iot")
    assert (code, outputs["fits"]) == (OVER_BUDGET, "false")
    assert json.loads((project / outputs["sarif"]).read_text())["runs"][0]["results"]


def test_the_step_that_builds(neap):
    """The program of the action is that of its own checkout."""
    action = yaml.safe_load((SOURCE / "action.yml").read_text())
    (build,) = (step for step in action["runs"]["steps"] if step["id"] == "build")
    script = re.search(r"\$GITHUB_ACTION_PATH/(\S+\.sh)", build["run"])[1]
    assert os.access(SOURCE / script, os.X_OK)
    text = (SOURCE / script).read_text()
    targets = re.findall(r"cmake --build --preset (\w+) --target (\w+)", text)
    presets = {preset["name"] for preset in json.loads((SOURCE / "CMakePresets.json").read_text())["buildPresets"]}
    assert targets and {preset for preset, _ in targets} <= presets


def git(folder, *words):
    subprocess.run(["git", "-c", "user.name=test", "-c", "user.email=test@example.org", *words], cwd=folder, check=True,
                   capture_output=True)


def run_hook(neap, hooks, project, *words):
    """pre-commit with the hooks of a repository, in another one."""
    (project / ".pre-commit-config.yaml").write_text(yaml.safe_dump({"repos": [{
        "repo": str(hooks), "rev": "HEAD", "hooks": [{"id": "neap-check-budget", "args": list(words)}]}]}))
    git(project, "add", "-A")
    done = subprocess.run(
        [sys.executable, "-m", "pre_commit", "run", "--all-files", "--verbose"], cwd=project, check=False,
        capture_output=True, text=True, env={**os.environ, "NEAP": neap.path, "PRE_COMMIT_HOME": str(project.parent / "cache"),
                                             "PRE_COMMIT_ALLOW_NO_CONFIG": "1"})
    return done.returncode, done.stdout + done.stderr


def test_the_hook(neap, project, tmp_path_factory):
    pytest.importorskip("pre_commit", reason="no wheel of pre-commit: run scripts/checks/venv.sh")
    if shutil.which("git") is None:
        pytest.skip("no git")
    # A repository with the files of this checkout that the hook needs.
    hooks = tmp_path_factory.mktemp("hooks")
    for name in (".pre-commit-hooks.yaml", "scripts/ci/check_budget.sh"):
        (hooks / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(SOURCE / name, hooks / name)
    git(hooks, "init", "-q")
    git(hooks, "add", "-A")
    git(hooks, "commit", "-q", "-m", "hooks")
    git(project, "init", "-q")
    code, text = run_hook(neap, hooks, project, "--board", "nano-33-ble")
    assert code == DONE, text
    assert "vww.tflite: passes on nano-33-ble" in text
    code, text = run_hook(neap, hooks, project, "--board", "nano-33-iot", "--cascade", "off")
    assert code != DONE
    assert "arena-over-budget" in text and "exit code: 3" in text
