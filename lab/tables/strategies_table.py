#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Results, proofs and limits of each order strategy, as Markdown tables.

    lab/tables/strategies_table.py build/tools/neap GRAPH... [--max-states N] [--time-limit S]

GRAPH is a model or graph file, `zoo:NAME` or `zoo:NAME:NODES` (made by `neap zoo`), or
`three-cells:OPERATORS` (three randomly wired cells with about so many operators in all, made here, the
same every time).
--compact: one table for all graphs, a row each, of the strategies that prove. States and peaks repeat
exactly where the limit on states ended a search; seconds, and everything that the time limit ended,
depend on the machine.
"""
import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile

STRATEGIES = [
    ("exact", []),
    ("serenity-dp", []),
    ("serenity-dc", []),
    ("serenity", []),
    ("best-first", ["--forced", "none"]),
    ("best-first", ["--forced", "single"]),
    ("best-first", ["--forced", "proven"]),
    ("best-first", ["--forced", "sets"]),
    ("exhaustive", []),
    ("beam", []),
    ("greedy", []),
    ("kahn", []),
    ("dfs", []),
    ("file", []),
]


def three_cells(operators):
    """The first network of three cells that has at least so many operators."""
    nodes = 1
    while len((graph := cells_of(nodes))["ops"]) < operators:
        nodes += 1
    return graph


def cells_of(nodes, seed=3, cells=3):
    """A graph of cells with one input and one output each, wired at random inside."""
    draw = random.Random(seed)
    tensors = [{"name": "in", "bytes": 4096}]
    operators = []

    def add(inputs, size):
        name = f"t{len(operators)}"
        tensors.append({"name": name, "bytes": size})
        operators.append({"name": f"op{len(operators)}", "inputs": inputs, "outputs": [name]})
        return name

    at = "in"
    for _ in range(cells):
        inside = [at]
        read = set()
        for _ in range(nodes):
            inputs = draw.sample(inside, min(len(inside), draw.randint(1, 2)))
            read.update(inputs)
            inside.append(add(inputs, 1024 * draw.randint(1, 8)))
        ends = [name for name in inside[1:] if name not in read]
        while len(ends) > 1:
            ends.append(add([ends.pop(0), ends.pop(0)], 1024 * draw.randint(1, 8)))
        at = add(ends, 4096)
    return {
        "tensors": tensors,
        "inputs": ["in"],
        "outputs": [at],
        "ops": operators,
    }


def file_of(graph, program, folder):
    if graph.startswith("three-cells:"):
        path = folder / f"{graph.replace(':', '-')}.json"
        path.write_text(json.dumps(three_cells(int(graph.split(":")[1]))))
        return path
    if not graph.startswith("zoo:"):
        return pathlib.Path(graph)
    _, name, *nodes = graph.split(":")
    path = folder / f"{'-'.join([name, *nodes])}.onnx"
    command = [program, "zoo", name, "--quiet", "-o", str(path)]
    if nodes:
        command += ["--nodes", nodes[0]]
    subprocess.run(command, check=True)
    return path


def plan(program, path, strategy, options, limits):
    command = [program, "plan", str(path), "--order-only", "--json", "--order", strategy]
    done = subprocess.run([*command, *options, *limits], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 130):  # 130: the time limit ended the search
        sys.exit(f"{path}: {strategy}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def outcome_of(strategy, options, found, seconds, arguments):
    if strategy in ("beam", "greedy", "kahn", "dfs", "file") or "sets" in options:
        return "meets its bound" if found["order_status"] == "optimal" else "proves nothing"
    if found["order_status"] == "optimal":
        if found["states"] >= arguments.max_states:
            return f"stopped at {arguments.max_states:,} states, meets its bound"
        return "proven"
    if found["states"] >= arguments.max_states:
        return f"stopped at {arguments.max_states:,} states"
    if seconds >= arguments.time_limit:
        return f"stopped at {arguments.time_limit:g} s"
    return "stopped at its memory"


def table(program, graph, path, arguments):
    limits = ["--max-states", str(arguments.max_states), "--time-limit", str(arguments.time_limit)]
    print(f"### {path.stem}\n")
    for row, (strategy, options) in enumerate(STRATEGIES):
        report = plan(program, path, strategy, options, limits)
        found = report["plan"]
        if row == 0:
            print(f"{report['operators']} operators, {report['tensors']} tensors.\n")
            print("| strategy | peak bytes | proven bound | states | seconds | outcome |")
            print("|---|---:|---:|---:|---:|---|")
        seconds = report["seconds"]["order"]
        outcome = outcome_of(strategy, options, found, seconds, arguments)
        print(
            f"| `{' '.join([strategy, *options])}` | {found['peak_bytes']:,} "
            f"| {found['peak_lower_bound_bytes']:,} | {found['states']:,} | {seconds:.3f} | {outcome} |",
            flush=True,
        )
    print()


PROVING = [
    (strategy, options)
    for strategy, options in STRATEGIES
    if strategy in ("exact", "serenity-dp", "serenity-dc", "serenity")
    or (strategy == "best-first" and "sets" not in options)
]


def compact(program, graphs, folder, arguments):
    limits = ["--max-states", str(arguments.max_states), "--time-limit", str(arguments.time_limit)]
    names = [f"`{' '.join([strategy, *options[1:]])}`" for strategy, options in PROVING]
    print("| graph | operators | " + " | ".join(names) + " |")
    print("|---|---:|" + "---|" * len(PROVING))
    for graph in graphs:
        path = file_of(graph, program, folder)
        cells = []
        for strategy, options in PROVING:
            report = plan(program, path, strategy, options, limits)
            found = report["plan"]
            seconds = report["seconds"]["order"]
            what = ""
            if found["order_status"] != "optimal":
                what = f", stopped; bound {found['peak_lower_bound_bytes']:,}"
            elif found["states"] >= arguments.max_states:
                what = ", stopped; meets a bound"
            cells.append(f"{found['peak_bytes']:,} ({found['states']:,} states, {seconds:.3f} s{what})")
        print(f"| {path.stem} | {report['operators']} | " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("graphs", nargs="+")
    parser.add_argument("--max-states", type=int, default=3_000_000)
    parser.add_argument("--time-limit", type=float, default=20)
    parser.add_argument("--compact", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if arguments.compact:
            compact(arguments.program, arguments.graphs, pathlib.Path(folder), arguments)
            return
        for graph in arguments.graphs:
            path = file_of(graph, arguments.program, pathlib.Path(folder))
            table(arguments.program, graph, path, arguments)


if __name__ == "__main__":
    main()
