# SPDX-License-Identifier: Apache-2.0
"""Orders of the trained network: valid, repeatable, with a gap to a proven bound."""

import json

from neap_cli import DONE, FAILED, SOURCE, UNPROVEN, USAGE, CliTest, wide_graph


NETWORKS = ("xception", "resnet-50", "resnet-101", "resnet-152", "densenet-121", "resnet-101-v2",
            "resnet-152-v2", "densenet-169", "densenet-201", "inception-resnet-v2")


class Learned(CliTest):

    def plan(self, *words):
        return json.loads(self.expect(DONE, "plan", *words, "--json").stdout)["plan"]

    def test_order_is_valid_and_has_a_gap(self):
        self.zoo("m.onnx")
        learned = self.plan("m.onnx", "--order", "learned", "--plan", "plan.json")
        exact = self.plan("m.onnx")
        self.assertGreaterEqual(learned["peak_bytes"], exact["peak_bytes"])
        self.assertLessEqual(learned["peak_lower_bound_bytes"], exact["peak_bytes"])
        self.assertGreater(learned["peak_lower_bound_bytes"], 0)
        self.expect(DONE, "check", "m.onnx", "plan.json")

    def test_same_bytes_twice(self):
        self.write_json("g.json", wide_graph(150, 3))
        for name in ("one.json", "two.json"):
            self.expect(DONE, "plan", "g.json", "--order", "learned", "--plan", name)
        first = json.loads((self.folder / "one.json").read_text())
        self.assertEqual(first, json.loads((self.folder / "two.json").read_text()))

    def test_better_than_a_random_order_on_a_wide_graph(self):
        self.write_json("g.json", wide_graph(150, 3))
        learned = self.plan("g.json", "--order", "learned", "--order-only")["peak_bytes"]
        for seed in ("1", "2", "3"):
            drawn = self.plan("g.json", "--order", "random", "--seed", seed, "--order-only")
            self.assertLess(learned, drawn["peak_bytes"])

    def test_claims_no_proof_where_there_is_none(self):
        self.write_json("g.json", wide_graph(150, 3))
        plan = self.plan("g.json", "--order", "learned", "--order-only")
        self.assertLess(plan["peak_lower_bound_bytes"], plan["peak_bytes"])
        self.assertEqual(plan["order_status"], "bounded")
        self.expect(UNPROVEN, "plan", "g.json", "--order", "learned", "--order-only",
                    "--require-optimal")

    def weights(self, task):
        """A network that comes with the program, as a file that may be changed."""
        return bytearray((SOURCE / f"neap/learn/weights/{task}.neapnet").read_bytes())

    def test_weights_from_a_file_are_the_built_in_ones(self):
        (self.folder / "stages.neapnet").write_bytes(self.weights("stages"))
        built_in = self.pipeline("inception-resnet-v2", 4)
        read = self.pipeline("inception-resnet-v2", 4, "--weights", "stages.neapnet")
        self.assertEqual(read["bottleneck_picoseconds"], built_in["bottleneck_picoseconds"])

    def test_weights_that_are_none_are_refused_in_one_line(self):
        words = ["pipeline", "resnet-50", "--layers", "--stages", "4", "--method", "learned", "--weights"]
        damaged, wide = self.weights("stages"), self.weights("stages")
        damaged[1000] ^= 1
        wide[32:36] = b"\xff\xff\xff\xff"
        for name, data in (("empty", b""), ("short", self.weights("stages")[:5000]),
                           ("damaged", damaged), ("wide", wide), ("other", b"PK\x03\x04" * 100)):
            (self.folder / name).write_bytes(data)
            result = self.expect(FAILED, *words, name)
            self.assertEqual(result.stderr.count(b"\n"), 1, name)
            self.assertIn(name.encode(), result.stderr)
            self.assertIn(b"not a usable weights file", result.stderr)
        (self.folder / "peak.neapnet").write_bytes(self.weights("peak"))
        self.assertIn(b"expected one for stages", self.expect(FAILED, *words, "peak.neapnet").stderr)
        self.expect(FAILED, *words, "nosuch")
        words[words.index("learned")] = "exact"
        self.expect(USAGE, *words, "peak.neapnet")

    def test_too_many_operators_are_refused(self):
        tensors = [{"name": f"t{i}", "bytes": 1} for i in range(10_002)]
        ops = [{"inputs": [i], "outputs": [i + 1]} for i in range(10_001)]
        self.write_json("g.json", {"tensors": tensors, "inputs": [0], "outputs": [10_001], "ops": ops})
        result = self.expect(USAGE, "plan", "g.json", "--order", "learned", "--order-only")
        self.assertIn(b"at most 10000 operators", result.stderr)

    def pipeline(self, network, stages, *words):
        return json.loads(self.expect(DONE, "pipeline", network, "--layers", "--stages", str(stages),
                                      "--method", "learned", "--no-simulation", "--json", *words).stdout)

    def test_ten_networks_are_within_three_per_cent_on_average(self):
        ratios = []
        for network in NETWORKS:
            for stages in (4, 5, 6):
                report = self.pipeline(network, stages)
                bound = report["lower_bound_picoseconds"]
                self.assertGreaterEqual(report["bottleneck_picoseconds"], bound)
                ratios.append(report["bottleneck_picoseconds"] / bound)
        self.assertLess(sum(ratios) / len(ratios), 1.03)

    def test_children_stay_together_where_asked(self):
        free = self.pipeline("inception-resnet-v2", 4)
        ruled = self.pipeline("inception-resnet-v2", 4, "--children-together")
        self.assertGreaterEqual(ruled["bottleneck_picoseconds"], ruled["lower_bound_picoseconds"])
        self.assertGreaterEqual(ruled["lower_bound_picoseconds"], free["lower_bound_picoseconds"])
