#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints how `neap.distributed.plan_many` scales with its workers, as docs/results/python.md has it.

Usage: python_scaling.py [--workers 1,2] [--graphs 20000] [--models 200] [--runs 3] [--engines local,ray,dask]. Each figure
is the median of the runs. An engine that is not installed is left out. Starting the cluster is not counted, but the
processes of "local" and the actors of "ray" are, which belong to the call.
"""

import argparse
import contextlib
import importlib.util
import random
import statistics
import sys
import time

import numpy as np

import neap
from neap.distributed import plan_many


def random_graph(draw, nodes):
    """Each operator reads its predecessor and up to two of the eight before it."""
    sizes = np.array([draw.randint(1, 64) * 256 for _ in range(nodes)])
    edges = sorted({(before, node) for node in range(1, nodes)
                    for before in (node - 1, *(draw.randint(max(0, node - 8), node - 1) for _ in range(draw.randint(0, 2))))})
    return sizes, np.array(edges)


def distinct_models(count):
    """The same network in `count` files that differ: no answer serves twice."""
    given = neap.zoo("swiftnet", int8=True)
    return [given + number.to_bytes(4, "little") for number in range(count)]


@contextlib.contextmanager
def cluster(engine, workers):
    """The arguments of plan_many for an engine with that many workers, all of them started."""
    if engine == "local":
        yield {"engine": engine, "workers": workers}
    elif engine == "ray":
        import ray
        ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False, logging_level="error")
        try:
            yield {"engine": engine}
        finally:
            ray.shutdown()
    else:
        from distributed import Client, LocalCluster
        with LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as made, Client(made) as client:
            # A first call per worker imports the package there.
            plan_many([random_graph(random.Random(at), 50) for at in range(64 * workers)], engine="dask", client=client)
            yield {"engine": engine, "client": client}


def seconds_of(items, arguments, runs):
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        answers = plan_many(items, **arguments)
        times.append(time.perf_counter() - start)
        assert all(answer.error is None for answer in answers), next(answer.error for answer in answers if answer.error)
    return statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--workers", default="1,2")
    parser.add_argument("--graphs", type=int, default=20000)
    parser.add_argument("--models", type=int, default=200)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--engines", default="local,ray,dask")
    given = parser.parse_args()
    draw = random.Random(1)
    graphs, models = [random_graph(draw, 50) for _ in range(given.graphs)], distinct_models(given.models)
    start = time.perf_counter()
    for graph in graphs:
        neap.peak(*graph)
    alone_graphs = time.perf_counter() - start
    start = time.perf_counter()
    for model in models:
        neap.plan(model, threads=1, name="model.tflite")
    alone_models = time.perf_counter() - start
    print("| engine | workers | graphs per second | models per second |\n|---|---|---|---|")
    print(f"| none: a loop over `neap.peak`, `neap.plan` | 1 | {given.graphs / alone_graphs:,.0f} | {given.models / alone_models:.1f} |")
    modules = {"local": "multiprocessing", "ray": "ray", "dask": "distributed"}
    for engine in given.engines.split(","):
        if importlib.util.find_spec(modules[engine]) is None:
            print(f"{engine}: not installed", file=sys.stderr)
            continue
        for workers in map(int, given.workers.split(",")):
            with cluster(engine, workers) as arguments:
                rates = [count / seconds_of(items, arguments, given.runs)
                         for count, items in ((given.graphs, graphs), (given.models, models))]
            print(f"| {engine} | {workers} | {rates[0]:,.0f} | {rates[1]:.1f} |", flush=True)


if __name__ == "__main__":
    main()
