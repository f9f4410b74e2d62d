# SPDX-License-Identifier: Apache-2.0
"""All JSON output of the program conforms to its schema in schemas/."""

import json

import pytest

from conftest import SHARED, SOURCE, one_in, shared_files

jsonschema = pytest.importorskip("jsonschema", reason="no wheel of jsonschema")

MODELS = [f"models/{file}" for file in shared_files("models", ".tflite", ".onnx")
          if not file.startswith("bad/")]
GRAPHS = [f"graphs/{file}" for file in shared_files("graphs", ".json")]
GRAPH = {"tensors": [{"name": "a", "bytes": 8}, {"bytes": 3}], "inputs": ["a"], "outputs": [1],
         "ops": [{"name": "op", "inputs": [0], "outputs": [1], "scratch_bytes": 5}]}


def pytest_generate_tests(metafunc):
    if "model" in metafunc.fixturenames:
        files = MODELS + GRAPHS
        files = files if metafunc.config.getoption("--long") else one_in(12, files)
        metafunc.parametrize("model", files or [
            pytest.param("", marks=pytest.mark.skip(f"no files in {SHARED}"))])


def read_schema(path):
    return json.loads(path.read_text())


def validator(name):
    """Schemas refer to each other by file name."""
    from referencing import Registry, Resource

    files = (SOURCE / "schemas").glob("*.schema.json")
    registry = Registry().with_resources(
        [(path.name, Resource.from_contents(read_schema(path))) for path in files])
    schema = read_schema(SOURCE / "schemas" / f"{name}.schema.json")
    cls = jsonschema.validators.validator_for(schema)
    cls.check_schema(schema)
    return cls(schema, registry=registry)


@pytest.mark.parametrize("path", sorted(path.name for path in (SOURCE / "schemas").glob("*.schema.json")))
def test_schema_is_one(path):
    validator(path.removesuffix(".schema.json"))


def check_all(neap, model, tmp_path):
    plan = tmp_path / "plan.json"
    result = neap.run("plan", model, "--json", "--plan", plan, "--max-states", "20000")
    if result.returncode == 1:
        pytest.skip(result.stderr.decode(errors="replace").strip())
    assert result.returncode == 0, result.stderr
    validator("plan-report").validate(json.loads(result.stdout))
    validator("plan").validate(json.loads(plan.read_text()))
    validator("inspect-report").validate(json.loads(neap.run("inspect", model, "--json").stdout))
    check = neap.run("check", model, plan, "--json")
    assert check.returncode == 0, check.stderr
    validator("check-report").validate(json.loads(check.stdout))
    traffic = neap.run("traffic", model, "--plan", plan, "--json", "--max-states", "5000")
    assert traffic.returncode == 0, traffic.stderr
    validator("traffic").validate(json.loads(traffic.stdout))
    # A front has up to a schedule for each operator: that of a large graph takes most of a minute.
    front = ["--front"] if len(read_schema(plan)["entries"][0]["steps"]) <= 150 else []
    units = neap.run("units", model, "--units", "2", *front, "--max-states", "1000", "--json")
    if b"it calls subgraphs, whose orders are not included" in units.stderr:
        assert units.returncode == 1
    else:
        assert units.returncode == 0, units.stderr
        validator("units-report").validate(json.loads(units.stdout))
    run = neap.run("run", model, "--plan", plan, "--compare", "--json")
    if b"no kernel for" not in run.stderr and run.stdout:
        validator("run-report").validate(json.loads(run.stdout))
    return json.loads(plan.read_text())


def test_model(neap, model, tmp_path):
    check_all(neap, SHARED / model, tmp_path)


def test_graph_json(neap, tmp_path):
    validator("graph").validate(GRAPH)
    path = tmp_path / "graph.json"
    path.write_text(json.dumps(GRAPH))
    plan = check_all(neap, path, tmp_path)
    del plan["entries"][0]["peak_bytes"]
    with pytest.raises(jsonschema.ValidationError):
        validator("plan").validate(plan)


@pytest.mark.parametrize("network", ["randwire-ws", "darts-cifar"])
def test_zoo(neap, network, tmp_path):
    path = tmp_path / "zoo.onnx"
    assert neap.run("zoo", network, "-o", path).returncode == 0
    check_all(neap, path, tmp_path)


def test_batch(neap, tmp_path):
    requests = [{"id": "good", "graph": GRAPH}, {"id": 2, "path": "absent.onnx"}, {"graph": {}}]
    for request in requests[:2]:
        validator("batch-request").validate(request)
    manifest = tmp_path / "manifest.jsonl"
    manifest.write_text("".join(json.dumps(request) + "\n" for request in requests))
    result = neap.run("batch", manifest)
    assert result.returncode == 0, result.stderr
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert [answer["status"] for answer in answers] == ["optimal", "error", "error"]
    for answer in answers:
        validator("batch-answer").validate(answer)


def test_place(neap, tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("id,lower,upper,size\na,0,2,4\nb,1,3,4\n")
    for options, code in (([], 0), (["--capacity", "8"], 0), (["--capacity", "7"], 3)):
        result = neap.run("place", table, "--json", *options)
        assert result.returncode == code, result.stderr
        validator("place").validate(json.loads(result.stdout))


def test_bench(neap, tmp_path):
    path = tmp_path / "report.json"
    result = neap.run("bench", "place", "--quick", "--json", path)
    assert result.returncode == 0, result.stderr
    validator("bench").validate(json.loads(path.read_text()))


@pytest.mark.parametrize("words", [[], ["--method", "compiler", "--no-simulation"],
                                   ["--objective", "parameters", "--shared-link"]])
def test_pipeline(neap, tmp_path, words):
    result = neap.run("pipeline", "resnet8", "--stages", "3", "--json", *words)
    assert result.returncode == 0, result.stderr
    validator("pipeline-report").validate(json.loads(result.stdout))
    result = neap.run("pipeline", "resnet8", "--stages", "3", "--json", "-o", tmp_path / "stages", *words)
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    validator("pipeline-report").validate(report)
    assert len(report["written"]) == len(report["stages"])
