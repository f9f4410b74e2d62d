# SPDX-License-Identifier: Apache-2.0
"""The lines of `neap batch` conform to their schemas."""

import json
import subprocess
import sys

import pytest

from conftest import SOURCE

jsonschema = pytest.importorskip("jsonschema", reason="no wheel of jsonschema")


def schema(name):
    return json.loads((SOURCE / "schemas" / f"{name}.schema.json").read_text())


def request_validator():
    """With the schema of the graph in its place: references to other files are not followed."""
    request = schema("batch-request")
    request["properties"]["graph"] = {"type": "object"}
    graph = jsonschema.Draft202012Validator(schema("graph"))
    request = jsonschema.Draft202012Validator(request)

    def validate(line):
        request.validate(line)
        if "graph" in line:
            graph.validate(line["graph"])
    return validate


def made_graphs(*words):
    made = subprocess.run([sys.executable, str(SOURCE / "lab/tables/make_random_graphs.py"), *words],
                          stdout=subprocess.PIPE, check=True).stdout.decode().splitlines()
    return [json.loads(line) for line in made]


def answers_of(neap, folder, lines, *options):
    path = folder / "in.jsonl"
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines) + "\n")
    result = neap.run("batch", path, *options)
    assert result.returncode == 0, result.stderr
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(answers) == len(lines)
    answer = schema("batch-answer")
    validator = jsonschema.Draft202012Validator(answer)
    for line in answers:
        validator.validate(line)
        # Every field that the schema has, and no other.
        assert set(line) == set(answer["properties"]) == set(answer["required"])
    return answers


@pytest.mark.parametrize("options", [[], ["--order-only"], ["--runtime", "tflm"]])
def test_lines(neap, tmp_path, options):
    graphs = made_graphs("--count", "6")
    models = []
    for name in ("ds-cnn.tflite", "resnet8.onnx"):
        assert neap.run("zoo", name.split(".")[0], "-o", tmp_path / name).returncode == 0
        models.append({"id": name, "path": str(tmp_path / name), "_note": "passed over"})
    validate = request_validator()
    for line in graphs + models:
        validate(line)
    bad = ["no JSON", '{"id": 1, "path": "absent"}', '{"graph": {}}', ""]
    answers = answers_of(neap, tmp_path, graphs + models + bad, *options)
    assert [answer["status"] == "error" for answer in answers] == [False] * 8 + [True] * 4
    assert [answer["id"] for answer in answers[:8]] == [line["id"] for line in graphs + models]
    for answer in answers[:8]:
        assert (answer["arena_bytes"] is None) == ("--order-only" in options)
    delivered = [answer["delivered_arena_bytes"] is not None for answer in answers]
    tflm = "--runtime" in options
    # TFLM's allocation for operators of .onnx is not known.
    assert delivered == [tflm] * 6 + [True, False] + [False] * 4
    # The schema is no mere list of names.
    validator = jsonschema.Draft202012Validator(schema("batch-answer"))
    for key in answers[0]:
        with pytest.raises(jsonschema.ValidationError):
            validator.validate({**answers[0], key: [None]})
        with pytest.raises(jsonschema.ValidationError):
            validator.validate({other: value for other, value in answers[0].items() if other != key})
    with pytest.raises(jsonschema.ValidationError):
        validator.validate({**answers[0], "peak_bytes": None})
    with pytest.raises(jsonschema.ValidationError):
        validator.validate({**answers[-1], "delivered_arena_bytes": 1})
    with pytest.raises(jsonschema.ValidationError):
        validator.validate({**answers[0], "more": 1})


def test_bounded_lines(neap, tmp_path):
    """A limit that no search gets through."""
    answers = answers_of(neap, tmp_path, made_graphs("--count", "20", "--operators", "60"), "--max-states", "1")
    bounded = [answer for answer in answers if answer["status"] == "bounded"]
    assert bounded
    for answer in bounded:
        assert answer["peak_lower_bound_bytes"] < answer["peak_bytes"]


@pytest.mark.parametrize("line", [
    {}, {"id": 1}, {"id": 1.5, "path": "a"}, {"path": ""}, {"path": "a", "graph": {}}, {"path": "a", "more": 1},
    {"graph": {"tensors": [], "ops": [], "inputs": "none", "outputs": []}}])
def test_requests_that_the_schema_refuses(neap, tmp_path, line):
    """The program refuses them as well."""
    with pytest.raises(jsonschema.ValidationError):
        request_validator()(line)
    assert answers_of(neap, tmp_path, [line])[0]["status"] == "error"
