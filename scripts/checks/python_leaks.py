# SPDX-License-Identifier: Apache-2.0
"""python_leaks.py CALLS: calls every function of the Python package CALLS times.
python_leaks.py --bytes: reads reports of AddressSanitizer from standard input, prints the leaked bytes of the process,
those of the interpreter included, and fails for every other kind of error."""

import gc
import re
import sys


def call_everything(calls):
    import array

    import neap

    small = {"tensors": [{"bytes": 10}, {"bytes": 20}, {"bytes": 5}], "inputs": [0], "outputs": [2],
             "ops": [{"inputs": [0], "outputs": [1]}, {"inputs": [1], "outputs": [2]}]}
    network = neap.zoo("ds-cnn", int8=True)
    sizes, edges = array.array("q", [10, 100, 200, 10, 10, 5]), [(0, 1), (0, 2), (1, 3), (2, 4), (3, 5), (4, 5)]
    for number in range(calls):
        assert neap.peak(sizes, edges).bytes == 220
        assert not neap.fits((sizes, edges), 219)
        assert neap.fits(small, 100)
        plan = neap.plan(small, runtime="ideal")
        plan.check()
        neap.read_plan(small, plan.to_json()).check()
        str(plan), plan.order, plan.offsets, plan.tensors
        for wrong in (lambda: neap.plan(b"no model"), lambda: neap.plan("absent.tflite"),
                      lambda: neap.plan(small, runtime="none such"), lambda: neap.peak([1], [(0, 7)]),
                      lambda: neap.read_plan(small, "{}")):
            try:
                wrong()
            except neap.NeapError:
                continue
            raise AssertionError("an error was expected")
        if number % 5 == 0:  # as often in both runs, relative to the calls
            plan = neap.plan(network, max_states=1000, progress=lambda seen: None)
            plan.model_bytes()
            plan.to_html()
    gc.collect()


def print_bytes():
    text = sys.stdin.read()
    errors = [line for line in text.splitlines() if "ERROR: AddressSanitizer" in line or "runtime error:" in line]
    if errors:
        sys.exit("\n".join(errors))
    print(sum(int(found) for found in re.findall(r"SUMMARY: AddressSanitizer: (\d+) byte", text)))


if __name__ == "__main__":
    if sys.argv[1] == "--bytes":
        print_bytes()
    else:
        call_everything(int(sys.argv[1]))
