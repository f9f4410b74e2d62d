# SPDX-License-Identifier: Apache-2.0
"""The distances of `--overlap cmsis-nn` and `esp-nn` against the kernels themselves: every kernel
runs with its output that far below its input, where the output must be equal, and one byte nearer,
where it must differ for some input. The sources are those of the package bakenn: CMSIS-NN 4.0.0 on
the host (without vector instructions), on an emulated Cortex-M4 and Cortex-M55, and ESP-NN 1.2.6 in
C on the host. Nothing of either is in this repository."""

import pathlib
import random
import shutil
import subprocess
import sysconfig

import pytest

from conftest import SHARED, SOURCE

KERNELS = SOURCE / "tests/conformance/kernels"
CONVOLUTION, DEPTHWISE, FULLY_CONNECTED, AVERAGE_POOL, MAX_POOL, ADD, MUL = range(7)
LIBRARIES = ("cmsis-nn-scalar", "cmsis-nn-dsp", "cmsis-nn-mve", "esp-nn")
FIELDS = ("kernel", "n", "h", "w", "c", "kh", "kw", "oh", "ow", "oc", "sh", "sw", "dh", "dw", "ph",
          "pw")
# Inputs of each case: a byte that is overwritten too early does not always change a rounded result.
SEEDS = {"cmsis-nn-scalar": 60, "esp-nn": 60, "cmsis-nn-dsp": 6, "cmsis-nn-mve": 6}
# Of random cases a library: the emulated boards have fewer.
RANDOM_CASES = 400
CORPUS = ("mlcommons+tiny/vww_96_int8.tflite", "mlcommons+tiny/pretrainedResnet_quant.tflite",
          "mlcommons+tiny/kws_ref_model.tflite", "tensorflow+tflite-micro/person_detect.tflite")
# What one emulated board can hold and compute in a test.
MAX_BYTES = 1 << 21
MAX_MACS = 12_000_000
MAX_PLANNED_MACS = 2_500_000
BOARDS = {  # library -> flags of the compiler, machine, origins of code and data, bytes of data
    "cmsis-nn-dsp": (("-mcpu=cortex-m4", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"), "mps2-an386",
                     0x0, 0x21000000, 16 << 20),
    "cmsis-nn-mve": (("-mcpu=cortex-m55", "-mfloat-abi=hard"), "mps3-an547", 0x0, 0x60000000,
                     64 << 20),
}


def vendor(name):
    root = pathlib.Path(sysconfig.get_paths()["purelib"]) / "bakenn/backend" / name / "vendor"
    if not root.is_dir():
        pytest.skip("no package bakenn: run scripts/checks/venv.sh")
    return root


def distances(neap, lines=(), models=()):
    program = pathlib.Path(neap).parents[1] / "tests/overlap_distances"
    if not program.exists():
        pytest.skip(f"{program} is not built")
    text = "".join(" ".join(map(str, line)) + "\n" for line in lines)
    done = subprocess.run([program, *map(str, models)], input=text, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr
    rows = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    return [(row[:len(FIELDS)], dict(zip(LIBRARIES, row[len(FIELDS):]))) for row in rows]


def by_output(neap, model):
    """{index of the output: (operator, distances)} of a model."""
    done = subprocess.run([pathlib.Path(neap).parents[1] / "tests/overlap_distances", "--outputs", model],
                          capture_output=True, text=True, check=True)
    rows = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    return {row[0]: (row[1:1 + len(FIELDS)], dict(zip(LIBRARIES, row[1 + len(FIELDS):]))) for row in rows}


def random_line(rng):
    """An operator as stock models have it, small; the last number is 1 for padding SAME."""
    kernel = rng.choice((CONVOLUTION, CONVOLUTION, DEPTHWISE, DEPTHWISE, AVERAGE_POOL, MAX_POOL,
                         FULLY_CONNECTED, ADD, MUL))
    n = rng.choice((1, 1, 1, 2)) if kernel in (CONVOLUTION, DEPTHWISE, FULLY_CONNECTED) else 1
    channels = rng.choice((1, 2, 3, 4, 5, 8, 16, 17, 24, 32, rng.randint(1, 40)))
    if kernel == FULLY_CONNECTED:
        return (kernel, n, 1, 1, rng.randint(1, 90), 1, 1, 1, 1, rng.randint(1, 40), 1, 1, 1, 1, 0)
    if kernel in (ADD, MUL):
        size = (rng.randint(1, 9), rng.randint(1, 9))
        return (kernel, 1, *size, channels, 1, 1, *size, channels, 1, 1, 1, 1, 0)
    filters = rng.choice(((1, 1), (1, 1), (3, 3), (3, 3), (5, 5), (1, 3), (2, 2), (7, 3)))
    strides = rng.choice(((1, 1), (1, 1), (2, 2), (1, 2), (3, 2)))
    dilation = (1, 1)
    if kernel in (CONVOLUTION, DEPTHWISE) and strides == (1, 1) and rng.random() < 0.15:
        dilation = (2, rng.choice((1, 2)))
    same = rng.random() < 0.6
    size, out = [], []
    if kernel == DEPTHWISE and rng.random() < 0.1:
        channels = rng.choice((124, 125, 130, 256))
    for k, s, d in zip(filters, strides, dilation):
        reach = (k - 1) * d + 1
        size.append(reach + rng.randint(0, 14 if channels < 100 else 5))
        out.append(-(-size[-1] // s) if same else (size[-1] - reach) // s + 1)
    out_channels = channels
    if kernel == CONVOLUTION:
        out_channels = rng.choice((1, 2, 3, 4, 7, 8, 16, rng.randint(1, 40)))
    elif kernel == DEPTHWISE and channels < 20:
        out_channels = channels * rng.choice((1, 1, 1, 2, 4, 8))
    return (kernel, n, *size, channels, *filters, *out, out_channels, *strides, *dilation, int(same))


def macs(case):
    f = dict(zip(FIELDS, case))
    if f["kernel"] == FULLY_CONNECTED:
        return f["n"] * f["h"] * f["w"] * f["c"] * f["oc"]
    per = f["kh"] * f["kw"] * (f["c"] if f["kernel"] == CONVOLUTION else 1)
    return f["n"] * f["oh"] * f["ow"] * f["oc"] * per


def bytes_of(case):
    f = dict(zip(FIELDS, case))
    return (f["n"] * f["h"] * f["w"] * f["c"], f["n"] * f["oh"] * f["ow"] * f["oc"])


def header(cases, library):
    """cases.h of overlap_runner.c: each case with its distance."""
    rows = []
    for case, distance in cases:
        for variant in (0, 1) if library == "esp-nn" else (0,):
            rows.append("{" + ", ".join(map(str, (*case, distance, variant))) + "}")
    in_bytes = max(bytes_of(case)[0] for case, _ in cases) + 64
    out_bytes = max(bytes_of(case)[1] for case, _ in cases) + 64
    weights = channels = scratch = 64
    for case, _ in cases:
        f = dict(zip(FIELDS, case))
        column = f["kh"] * f["kw"] * f["c"]
        if f["kernel"] == FULLY_CONNECTED:
            column = f["h"] * f["w"] * f["c"]
        weights = max(weights, column * (f["oc"] if f["kernel"] in (CONVOLUTION, FULLY_CONNECTED)
                                         else max(1, f["oc"] // f["c"])) + 64)
        channels = max(channels, f["oc"] + 16)
        scratch = max(scratch, 2 * column + 256, f["c"] + 64, 130 * f["kh"] * f["kw"] + 64)
    return f"""#include <stdint.h>
struct Case {{ int32_t {", ".join(FIELDS)}, distance, variant; }};
static const struct Case kCases[] = {{{", ".join(rows)}}};
enum {{ kCaseCount = {len(rows)} }};
#define SEEDS {SEEDS[library]}
#define INPUT_BYTES {in_bytes}
#define OUTPUT_BYTES {out_bytes}
#define SHARED_BYTES {in_bytes + 2 * out_bytes + 128}
#define WEIGHT_BYTES {weights}
#define CHANNELS {channels}
#define SCRATCH_WORDS {scratch}
"""


def cmsis_sources():
    root = vendor("cmsis_nn")
    files = [f for f in sorted(root.glob("cmsis_nn/Source/*/*.c")) if "bakenn" not in f.name]
    includes = ["-I", root / "cmsis_nn/Include", "-I", root / "cmsis_core/Include"]
    return files, includes


def run(command):
    """Its output; QEMU prints a program's semihosting output on standard error."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True,
                          check=False, timeout=1500)
    assert done.returncode == 0, (done.stderr + done.stdout)[-3000:]
    return done.stdout or done.stderr


def executed(folder, library, cases):
    """(equal at the distance, equal one byte beyond) for each row of cases.h."""
    (folder / "cases.h").write_text(header(cases, library))
    runner = [KERNELS / "overlap_runner.c", "-I", folder, "-std=gnu11", "-O1", "-w"]
    program = folder / "runner"
    if library == "esp-nn":
        compiler = shutil.which("gcc") or shutil.which("cc")
        if compiler is None:
            pytest.skip("no C compiler")
        root = vendor("esp_nn") / "esp_nn"
        names = ("convolution/esp_nn_conv_ansi.c", "convolution/esp_nn_conv_opt.c",
                 "convolution/esp_nn_depthwise_conv_ansi.c",
                 "convolution/esp_nn_depthwise_conv_opt.c",
                 "fully_connected/esp_nn_fully_connected_ansi.c", "pooling/esp_nn_avg_pool_ansi.c",
                 "pooling/esp_nn_max_pool_ansi.c", "basic_math/esp_nn_add_ansi.c",
                 "basic_math/esp_nn_mul_ansi.c")
        run([compiler, *runner, KERNELS / "host.c", "-I", root / "include", "-I", root / "src/common",
             *[root / "src" / name for name in names], "-o", program])
        output = run([program])
    elif library == "cmsis-nn-scalar":
        compiler = shutil.which("gcc") or shutil.which("cc")
        if compiler is None:
            pytest.skip("no C compiler")
        files, includes = cmsis_sources()
        run([compiler, *runner, "-DUSE_CMSIS_NN", "-D__GNUC_PYTHON__", "-D__RESTRICT=__restrict__", *includes, KERNELS / "host.c",
             *files, "-o", program])
        output = run([program])
    else:
        flags, machine, code, data, size = BOARDS[library]
        if shutil.which("arm-none-eabi-gcc") is None or shutil.which("qemu-system-arm") is None:
            pytest.skip("no arm-none-eabi-gcc or qemu-system-arm")
        files, includes = cmsis_sources()
        run(["arm-none-eabi-gcc", *flags, "-mthumb", "-O2", "-ffreestanding", "-fno-builtin",
             "-fno-tree-loop-distribute-patterns", *runner, "-DUSE_CMSIS_NN", *includes,
             KERNELS / "board.c", *files, "-nostartfiles", "-nostdlib", "-lgcc", "-T",
             KERNELS / "board.ld", f"-Wl,--defsym=CODE_ORIGIN={code}",
             f"-Wl,--defsym=DATA_ORIGIN={data}", f"-Wl,--defsym=STACK_TOP={data + size}", "-o",
             program])
        output = run(["qemu-system-arm", "-M", machine, "-nographic", "-monitor", "none",
                      "-semihosting-config", "enable=on,target=native", "-kernel", program])
    rows = [tuple(map(int, line.split())) for line in output.splitlines()]
    variants = 2 if library == "esp-nn" else 1
    assert [row[0] for row in rows] == list(range(variants * len(cases))), output[-300:]
    return [(min(row[1] for row in rows[i:i + variants]),
             min(row[2] for row in rows[i:i + variants])) for i in range(0, len(rows), variants)]


def check_cases(folder, library, cases, table):
    """`cases`: operators with their distances, which may be -1."""
    seeds = SEEDS[library]
    claimed = [(case, each[library]) for case, each in cases if each[library] >= 0]
    assert claimed
    results = executed(folder, library, claimed)
    wrong = [(claim, result) for claim, result in zip(claimed, results) if result[0] != seeds]
    assert not wrong, f"{len(wrong)} of {len(claimed)} differ at their distance: {wrong[:3]}"
    # A distance of 0 is the least that plans use, whether or not the kernel allows less.
    tight = [(claim, result) for claim, result in zip(claimed, results) if claim[1] > 0]
    loose = [(claim, result) for claim, result in tight
             if result[1] == seeds and claim[0][0] != MAX_POOL]
    assert not loose, f"{len(loose)} of {len(tight)} are equal one byte beyond: {loose[:3]}"
    assert len(tight) > len(claimed) // 4
    table("overlap distances run by the kernels themselves",
          f"{library}: {len(claimed)} operators equal at their distance, {len(tight)} of them above "
          f"0 bytes, {len(tight) - sum(r[1] == seeds for _, r in tight)} differ one byte beyond")


@pytest.mark.parametrize("library", LIBRARIES)
def test_random_operators(library, neap, table, tmp_path):
    rng = random.Random("overlap " + library)
    count = RANDOM_CASES if library in ("cmsis-nn-scalar", "esp-nn") else RANDOM_CASES // 2
    cases = distances(neap.path, [random_line(rng) for _ in range(count)])
    assert len(cases) == count
    check_cases(tmp_path, library, cases, table)


@pytest.mark.parametrize("library", LIBRARIES)
def test_operators_of_models(library, neap, table, tmp_path):
    models = [SHARED / "models" / name for name in CORPUS if (SHARED / "models" / name).exists()]
    if len(models) != len(CORPUS):
        pytest.skip("the models are not here: set NEAP_SHARED")
    unique = dict(distances(neap.path, models=models))
    cases = [(case, each) for case, each in unique.items()
             if max(bytes_of(case)) <= MAX_BYTES and macs(case) <= MAX_MACS]
    assert len(cases) > 20
    check_cases(tmp_path, library, cases, table)


@pytest.mark.parametrize("library", ["cmsis-nn-dsp", "cmsis-nn-mve"])
def test_overlapped_operators_of_plans(library, neap, request, table, tmp_path):
    """Every operator that the plans of docs/results/overlap.md overlap, under this library and under all of
    CMSIS-NN. Depthwise convolutions of MobileNetV2 with many rows take long on the emulated boards: by
    default a part of them."""
    models = [SHARED / "models" / name for name in CORPUS if (SHARED / "models" / name).exists()]
    if len(models) != len(CORPUS):
        pytest.skip("the models are not here: set NEAP_SHARED")
    models.append(tmp_path / "mobilenet-v2.tflite")
    assert neap.run("zoo", "mobilenet-v2", "--int8", "-o", models[-1]).returncode == 0
    # The models as they are, and as they are written with rewrites.
    rewritten = []
    for index, model in enumerate(models):
        rewritten.append(tmp_path / f"rewritten-{index}.tflite")
        neap.plan(model, "--overlap", library, "-o", rewritten[-1])
    cases, overlapped = {}, 0
    for model in models + rewritten:
        operators = by_output(neap.path, model)
        for kernels in (library, "cmsis-nn"):
            for overlap in neap.plan(model, "--rewrite", "none", "--overlap", kernels)["overlaps"]:
                if overlap["kind"] != "starts-below":
                    continue
                case, each = operators[overlap["output"]["index"]]
                # The plan may keep more than this library needs, never less.
                assert 0 <= each[library] <= overlap["bytes"], (model, kernels, overlap)
                overlapped += 1
                cases[case] = each
    assert len(cases) > 10
    count = len(cases)
    if not request.config.getoption("--long"):
        cases = {case: each for case, each in cases.items() if macs(case) <= MAX_PLANNED_MACS}
    table("overlapped operators of plans, executed",
          f"{library}: {len(cases)} of {count} operators of {overlapped} overlaps in plans of {2 * len(models)} models")
    check_cases(tmp_path, library, list(cases.items()), table)
