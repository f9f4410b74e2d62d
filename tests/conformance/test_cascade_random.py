# SPDX-License-Identifier: Apache-2.0
"""Random int8 networks in tiles, in stock runtimes: the bytes of the network as it is."""

import pytest

numpy = pytest.importorskip("numpy", reason="no wheel of numpy")
pytest.importorskip("tflite_micro", reason="no wheel of tflite-micro")
flatbuffers = pytest.importorskip("flatbuffers", reason="no wheel of flatbuffers")

import made_networks  # noqa: E402
from tensors import random_tensor, same_bytes  # noqa: E402

SEEDS = (1, 2)


def outputs_tflm(model):
    from tflite_micro import runtime

    interpreter = runtime.Interpreter.from_bytes(bytes(model), arena_size=1 << 20)
    shape = interpreter.get_input_details(0)["shape"]
    found = []
    for seed in SEEDS:
        interpreter.set_input(random_tensor(shape, numpy.int8, seed, 0), 0)
        interpreter.invoke()
        found.append(numpy.array(interpreter.get_output(0)))
    return found


def outputs_litert(model):
    from ai_edge_litert import interpreter as litert

    interpreter = litert.Interpreter(model_content=model, num_threads=1,
                                     experimental_op_resolver_type=litert.OpResolverType.BUILTIN_REF)
    interpreter.allocate_tensors()
    given, = interpreter.get_input_details()
    made, = interpreter.get_output_details()
    found = []
    for seed in SEEDS:
        interpreter.set_tensor(given["index"], random_tensor(given["shape"], numpy.int8, seed, 0))
        interpreter.invoke()
        found.append(numpy.array(interpreter.get_tensor(made["index"])))
    return found


def runtimes():
    found = {"tflm": outputs_tflm}
    try:
        import ai_edge_litert  # noqa: F401
        found["litert"] = outputs_litert
    except ImportError:
        pass
    return found


def test_random_networks(neap, request, table, tmp_path):
    count = 1500 if request.config.getoption("--long") else 60
    cut, varied, overlapped = 0, 0, 0
    for seed in range(count):
        original = tmp_path / "whole.tflite"
        original.write_bytes(made_networks.random_network(seed))
        kernels = ["--overlap", "tflm-reference"] if seed % 2 else []
        whole = neap.plan(original, *kernels)
        # One byte less than it needs without tiles: clones may cost what they cost.
        written = tmp_path / "cut.tflite"
        result = neap.run("plan", original, "--cascade", "auto", "-o", written, "--force",
                          "--budget-activations", whole["delivered"]["arena_bytes"] - 1, *kernels)
        assert result.returncode in (0, 3), result.stderr.decode(errors="replace")
        if result.returncode == 3:
            continue  # nothing needs less
        cut += 1
        for name, outputs_of in runtimes().items():
            # Over inputs only under the kernels that allow it; LiteRT ignores where tensors are.
            before, after = outputs_of(original.read_bytes()), outputs_of(written.read_bytes())
            assert same_bytes(before, after), f"network {seed} in {name}"
            varied += not same_bytes(before[:1], before[1:])
        overlapped += bool(kernels)
    assert cut > count // 4
    assert varied > cut
    table("random int8 networks in tiles, byte by byte", f"{cut} of {count} are cut, {overlapped} of them "
          f"with outputs over inputs, in {' and '.join(runtimes())}")


def test_random_decoders(neap, request, table, tmp_path):
    count = 600 if request.config.getoption("--long") else 40
    cut = 0
    for seed in range(count):
        original, written = tmp_path / "whole.tflite", tmp_path / "cut.tflite"
        original.write_bytes(made_networks.random_network(seed, layers=2, kind=made_networks.Decoder))
        whole = neap.plan(original)
        result = neap.run("plan", original, "--cascade", "auto", "-o", written, "--force",
                          "--budget-activations", whole["delivered"]["arena_bytes"] - 1)
        assert result.returncode in (0, 3), result.stderr.decode(errors="replace")
        if result.returncode == 3:
            continue
        cut += 1
        before, after = outputs_tflm(original.read_bytes()), outputs_tflm(written.read_bytes())
        assert same_bytes(before, after), f"decoder {seed}"
    assert cut > count // 4
    table("random int8 networks in tiles, byte by byte",
          f"{cut} of {count} decoders are cut, in tflm")


@pytest.mark.parametrize(("kind", "networks", "least_part"), [("Tokens", 40, 8), ("Heads", 30, 4), ("Batch", 30, 4),
                                                             ("Signal", 30, 4), ("Placer", 30, 4), ("Divider", 30, 4)])
def test_random_axes(neap, request, table, tmp_path, kind, networks, least_part):
    """Products of rows (time steps, tokens) in tiles of rows; images of a batch one by one; time through operators
    that move its axis; slices and transposed convolutions; parts of operators with several outputs."""
    count = 15 * networks if request.config.getoption("--long") else networks
    cut, varied = 0, 0
    for seed in range(count):
        original, written = tmp_path / "whole.tflite", tmp_path / "cut.tflite"
        original.write_bytes(made_networks.random_network(seed, layers=2, kind=getattr(made_networks, kind)))
        whole = neap.plan(original)
        result = neap.run("plan", original, "--cascade", "auto", "-o", written, "--force",
                          "--budget-activations", whole["delivered"]["arena_bytes"] - 1)
        assert result.returncode in (0, 3), result.stderr.decode(errors="replace")
        if result.returncode == 3:
            continue
        cut += 1
        for name, outputs_of in runtimes().items():
            before, after = outputs_of(original.read_bytes()), outputs_of(written.read_bytes())
            assert same_bytes(before, after), f"network {seed} in {name}"
            varied += not same_bytes(before[:1], before[1:])
    assert cut > count // least_part
    assert varied > cut // 2
    table("random int8 networks in tiles, byte by byte",
          f"{kind}: {cut} of {count} networks are cut, in {' and '.join(runtimes())}")


def test_random_dividers(neap, request, table, tmp_path):
    """Slices in place of operators with several outputs, in plans of the smallest arena."""
    codes = made_networks.OPERATOR
    codes = codes.SPLIT, codes.SPLIT_V, codes.UNPACK
    litert = runtimes().get("litert")
    if litert is None:
        pytest.skip("no wheel of ai-edge-litert")
    count = 450 if request.config.getoption("--long") else 30
    cut = 0
    for seed in range(count):
        original, written = tmp_path / "whole.tflite", tmp_path / "cut.tflite"
        original.write_bytes(made_networks.random_network(seed, layers=2, kind=made_networks.Divider))
        neap.plan(original, "--runtime", "litert", "--cascade", "auto", "-o", written, "--force")
        whole, tiled = original.read_bytes(), written.read_bytes()
        cut += made_networks.count(tiled, *codes) < made_networks.count(whole, *codes)
        assert same_bytes(litert(whole), litert(tiled)), f"network {seed}"
    assert cut > count // 3
    table("random int8 networks in tiles, byte by byte",
          f"{cut} of {count} networks have tiles of operators with several outputs, in litert")


def test_random_networks_with_shared_bodies(neap, request, table, tmp_path):
    """Bodies are for many tiles of large images: of others the operators that call cost more."""
    count = 400 if request.config.getoption("--long") else 60
    shared, varied = 0, 0
    for seed in range(count):
        original, written = tmp_path / "whole.tflite", tmp_path / "cut.tflite"
        plan = tmp_path / "plan.json"
        original.write_bytes(made_networks.random_network(seed, 8, 4))
        kernels = ["--overlap", "tflm-reference"] if seed % 4 else []
        report = neap.plan(original, "--cascade", "auto", "--cascade-bodies", "shared", "-o", written,
                           "--plan", plan, "--force", *kernels)
        if report["cascade"]["bodies"] != "shared":
            continue
        shared += 1
        for name, outputs_of in runtimes().items():
            before, after = outputs_of(original.read_bytes()), outputs_of(written.read_bytes())
            assert same_bytes(before, after), f"network {seed} in {name}"
            varied += not same_bytes(before[:1], before[1:])
        assert neap.run("check", original, plan).returncode == 0
        ran = neap.run("run", original, "--plan", plan, "--compare")
        assert ran.returncode == 0, ran.stderr.decode(errors="replace")
    assert shared > count // 20
    assert varied > shared
    table("random int8 networks in tiles, byte by byte",
          f"{shared} of {count} large ones with shared bodies, in {' and '.join(runtimes())}")
