# SPDX-License-Identifier: Apache-2.0
"""Peaks of irregular networks against reference values that another search has found and proven."""

import csv

import pytest

from conftest import SHARED, one_in


def rows_of(name):
    path = SHARED / "graphs" / name
    if not path.exists():
        return []
    with open(path, encoding="utf-8") as file:
        lines = [line for line in file if not line.startswith("#")]
    return list(csv.DictReader(lines, delimiter="\t"))


NETWORKS = {row["graph"]: row for row in rows_of("optimum.tsv")}
HARD = {row["graph"]: row for row in rows_of("hard/best.tsv")}


def pytest_generate_tests(metafunc):
    long = metafunc.config.getoption("--long")
    for name, rows, share in (("network", NETWORKS, 2), ("hard", HARD, 6)):
        if name in metafunc.fixturenames:
            names = sorted(rows) if long else one_in(share, sorted(rows))
            metafunc.parametrize(name, names or [
                pytest.param("", marks=pytest.mark.skip(f"no graphs in {SHARED}"))])


def test_network(neap, network):
    row = NETWORKS[network]
    # The reference is of orders alone.
    report = neap.plan(SHARED / "graphs" / network, "--runtime", "ideal", "--order-only",
                       "--rewrite", "none")
    assert report["operators"] == int(row["ops"])
    assert report["file_order"]["peak_bytes"] == int(row["file_order_peak"])
    if row["status"] == "optimal":
        assert report["plan"]["peak_bytes"] == int(row["best_peak"])
        assert report["plan"]["peak_lower_bound_bytes"] == int(row["best_peak"])
    else:
        assert report["plan"]["peak_lower_bound_bytes"] <= int(row["best_peak"])


def test_hard_graph(neap, hard, table):
    """Bounds of two searches may not contradict each other, however far each has come."""
    row = HARD[hard]
    report = neap.plan(SHARED / "graphs/hard" / f"{hard}.json", "--runtime", "ideal", "--order-only",
                       "--max-states", "300000")
    plan = report["plan"]
    assert plan["peak_lower_bound_bytes"] <= int(row["best_peak"])
    assert plan["peak_bytes"] >= int(row["lower_bound"])
    table("hard graphs after 300,000 states: bounds here, bounds of the reference",
          f"{hard}: [{plan['peak_lower_bound_bytes']}, {plan['peak_bytes']}] "
          f"[{row['lower_bound']}, {row['best_peak']}]")
