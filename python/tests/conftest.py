# SPDX-License-Identifier: Apache-2.0
"""Models that several tests share; all are made here."""

import os
import pathlib
import signal

import pytest

import neap

SOURCE = pathlib.Path(os.environ.get("NEAP_SOURCE_DIR", pathlib.Path(__file__).parents[2]))

# A process that was started in the background of a script ignores interrupts, which tests send to themselves.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def source():
    return SOURCE


@pytest.fixture(scope="session")
def vww():
    """Visual wake words of MLPerf Tiny, int8."""
    return neap.zoo("mobilenet-v1-vww", int8=True)


@pytest.fixture(scope="session")
def ds_cnn():
    return neap.zoo("ds-cnn", int8=True)


@pytest.fixture(scope="session")
def swiftnet():
    return neap.zoo("swiftnet-cell-a")


@pytest.fixture(scope="session")
def branches():
    """Two branches that a third operator joins, as graph JSON: file order needs 310 B, the best order 220 B."""
    return {
        "tensors": [{"name": name, "bytes": size} for name, size in
                    (("in", 10), ("a", 100), ("b", 10), ("c", 200), ("d", 10), ("out", 5))],
        "inputs": ["in"], "outputs": ["out"],
        "ops": [{"name": "A", "inputs": ["in"], "outputs": ["a"]}, {"name": "C", "inputs": ["in"], "outputs": ["c"]},
                {"name": "B", "inputs": ["a"], "outputs": ["b"]}, {"name": "D", "inputs": ["c"], "outputs": ["d"]},
                {"name": "E", "inputs": ["b", "d"], "outputs": ["out"]}],
    }


def hard_graph(nodes=400, seed=1):
    """A graph whose search takes seconds: layers that read at random from the two before them."""
    import random

    draw = random.Random(seed)
    sizes = [draw.randint(1, 1000) for _ in range(nodes)]
    edges = [(before, node) for node in range(40, nodes)
             for before in sorted(draw.sample(range(max(0, node // 40 * 40 - 80), node // 40 * 40), 3))]
    return sizes, edges


def hard_model(nodes=400, seed=1):
    """The same as graph JSON."""
    sizes, edges = hard_graph(nodes, seed)
    reads = [[0] for _ in sizes]
    for before, node in edges:
        reads[node].append(before + 1)
    return {"tensors": [{"bytes": 1}] + [{"bytes": size} for size in sizes], "inputs": [0],
            "outputs": [nodes], "ops": [{"inputs": sorted(set(read[1:] or read)), "outputs": [node + 1]}
                                        for node, read in enumerate(reads)]}
