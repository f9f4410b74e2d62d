# SPDX-License-Identifier: Apache-2.0
"""The GitHub workflow of the page and the action: they parse, and name scripts, presets, folders and steps that exist."""

import json
import re
import unittest

import markdown

try:
    import yaml
except ImportError:
    yaml = None

WORKFLOWS = sorted((markdown.SOURCE / ".github/workflows").glob("*.yml"))
ACTION = markdown.SOURCE / "action.yml"
NAME = re.compile(r"[\w.-]+/[\w./-]+@v\d+$")


def presets():
    """{name: folder of the build, inherited} of the presets."""
    known = {one["name"]: one for one in json.loads((markdown.SOURCE / "CMakePresets.json").read_text())["configurePresets"]}

    def folder(name):
        one = known[name]
        parents = one.get("inherits", [])
        for parent in [parents] if isinstance(parents, str) else parents:
            one = {"binaryDir": folder(parent), **one}
        return one.get("binaryDir")

    return {name: (folder(name) or "").replace("${sourceDir}/", "").replace("${presetName}", name) for name in known}


def errors_of(text, steps):
    """Errors in the steps of a job or an action; `text` is the file."""
    found = []
    ids = {step["id"] for step in steps if "id" in step}
    for step in steps:
        if ("uses" in step) == ("run" in step):
            found.append(f"a step has one of uses and run: {step}")
        if "uses" in step and not NAME.match(step["uses"]):
            found.append(f"no version: {step['uses']}")
        for script in re.findall(r"(?<![\w/])scripts/[\w./-]+", step.get("run", "")):
            if not (markdown.SOURCE / script).is_file():
                found.append(f"there is no {script}")
        for name in re.findall(r"--preset (\S+)", step.get("run", "")):
            if name not in presets():
                found.append(f"there is no preset {name}")
    for name in re.findall(r"\bsteps\.([\w-]+)\.", text):
        if name not in ids:
            found.append(f"there is no step {name}")
    return found


@unittest.skipIf(yaml is None, "PyYAML is not installed")
class Workflows(unittest.TestCase):
    def test_steps(self):
        self.assertTrue(WORKFLOWS)
        for path in WORKFLOWS:
            text = path.read_text()
            workflow = yaml.safe_load(text)
            self.assertTrue(workflow["jobs"])
            for job in workflow["jobs"].values():
                self.assertIn("runs-on", job)
                self.assertEqual(errors_of(text, job["steps"]), [], path)
        action = yaml.safe_load(ACTION.read_text())
        self.assertEqual(errors_of(ACTION.read_text(), action["runs"]["steps"]), [])

    def test_the_page_is_built_and_published(self):
        workflow = yaml.safe_load((markdown.SOURCE / ".github/workflows/pages.yml").read_text())
        self.assertEqual(workflow["permissions"], {"contents": "read", "pages": "write", "id-token": "write"})
        steps = workflow["jobs"]["page"]["steps"]
        built = [step["run"] for step in steps if "cmake --build --preset web" in step.get("run", "")]
        self.assertEqual(len(built), 1)
        uploaded = [step["with"]["path"] for step in steps if step.get("uses", "").startswith("actions/upload-pages-artifact@")]
        self.assertEqual(uploaded, [presets()["web"] + "/site"])
        self.assertEqual(steps[-1]["uses"].split("@")[0], "actions/deploy-pages")

    def test_errors_are_found(self):
        wrong = [{"uses": "actions/checkout"}, {"run": "scripts/nothing.sh"}, {"run": "cmake --preset nothing"}, {"id": "a"}]
        self.assertEqual(len(errors_of("${{ steps.b.outputs.x }} ${{ steps.a.outputs.x }}", wrong)), 5)


if __name__ == "__main__":
    unittest.main()
