# SPDX-License-Identifier: Apache-2.0
"""The lines of `neap batch` are what their schemas say."""

import json
import subprocess
import sys

import pytest

from conftest import SOURCE

jsonschema = pytest.importorskip("jsonschema", reason="no wheel of jsonschema")


def schema(name):
    return json.loads((SOURCE / "schemas" / f"{name}.schema.json").read_text())


@pytest.mark.parametrize("options", [[], ["--order-only"]])
def test_lines(neap, tmp_path, options):
    made = subprocess.run([sys.executable, str(SOURCE / "bench/make_random_graphs.py"), "--count", "6"],
                          stdout=subprocess.PIPE, check=True).stdout.decode().splitlines()
    request = schema("batch-request")
    request["properties"]["graph"] = {}
    request = jsonschema.Draft202012Validator(request)
    graph = jsonschema.Draft202012Validator(schema("graph"))
    for line in made:
        request.validate(json.loads(line))
        graph.validate(json.loads(line)["graph"])
    bad = ["no JSON", '{"id": 1, "path": "absent"}', '{"graph": {}}', ""]
    path = tmp_path / "in.jsonl"
    path.write_text("\n".join(made + bad) + "\n")
    result = neap.run("batch", path, *options)
    assert result.returncode == 0, result.stderr
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert [answer["status"] == "error" for answer in answers] == [False] * 6 + [True] * 4
    validator = jsonschema.Draft202012Validator(schema("batch-answer"))
    for answer in answers:
        validator.validate(answer)
    for key in answers[0]:
        with pytest.raises(jsonschema.ValidationError):
            validator.validate({**answers[0], key: [None]})
    with pytest.raises(jsonschema.ValidationError):
        validator.validate({**answers[0], "peak_bytes": None})
