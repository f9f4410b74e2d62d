# SPDX-License-Identifier: Apache-2.0
"""neap pipeline: stages, limits, files, exit codes."""

import json
import subprocess

from neap_cli import (DIAMOND, DONE, FAILED, INTERRUPTED, NEAP, OVER_BUDGET, UNPROVEN, USAGE,
                      CliTest, wide_graph)


class Pipeline(CliTest):

    def pipeline(self, *words, stages=3, model="resnet8"):
        return self.report_of("pipeline", model, "--stages", stages, *words)

    def check(self, report):
        """Invariants of any report, from the numbers alone."""
        stages = report["stages"]
        operators = [op for stage in stages for op in stage["operators"]]
        self.assertEqual(len(operators), report["operators"])
        self.assertEqual(len(set(operators)), len(operators))
        self.assertLessEqual(len(stages), report["most_stages"])
        self.assertEqual(max(stage["picoseconds"] for stage in stages), report["bottleneck_picoseconds"])
        self.assertEqual(max(stage["parameter_bytes"] for stage in stages), report["most_parameter_bytes"])
        for stage in stages:
            self.assertLessEqual(stage["activation_peak_lower_bound_bytes"], stage["activation_peak_bytes"])
        made = {tensor["tensor"] for tensor in report["inputs"]}
        for stage in stages:
            self.assertLessEqual({tensor["tensor"] for tensor in stage["inputs"]}, made)
            made |= {tensor["tensor"] for tensor in stage["outputs"]}
        self.assertLessEqual({tensor["tensor"] for tensor in report["outputs"]}, made)
        return report

    def test_exact_is_a_bound_for_every_method(self):
        exact = self.check(self.pipeline(model="resnet-50", stages=4))
        self.assertEqual(exact["status"], "optimal")
        self.assertEqual(exact["gap"], 0)
        self.assertEqual(exact["bottleneck_picoseconds"], exact["lower_bound_picoseconds"])
        for method in ("contiguous", "compiler", "profile", "balanced", "learned"):
            report = self.check(self.pipeline("--method", method, model="resnet-50", stages=4))
            self.assertEqual(report["lower_bound_picoseconds"], exact["lower_bound_picoseconds"])
            self.assertGreaterEqual(report["bottleneck_picoseconds"], exact["bottleneck_picoseconds"])
            self.assertEqual(report["method"], method)

    def test_the_compilers_own_segments(self):
        """Where the Edge TPU compiler cut these networks: google-coral/test_data, folder pipeline."""
        first = {"v1": "Conv2d_11_pointwise/Relu6", "v2": "expanded_conv_13/expand/Relu6"}
        one, two, three = ("_1_Conv2d_2_1x1_256/Relu6", "_2_Conv2d_2_3x3_s2_512/Relu6",
                           "_1_Conv2d_3_1x1_128/Relu6")
        last = "Conv2d_13_pointwise"
        cuts = {"v1": [[[last + "/Relu6"]],
                       [["Conv2d_13_depthwise/Relu6"], [last + "/Relu6", last + one]],
                       [["Conv2d_12_depthwise/Relu6"], [last + "/Relu6"], [last + two, last + three]]],
                "v2": [[["Conv_1/Relu6", "layer_19" + one]],
                       [["expanded_conv_16/project"], ["Conv_1/Relu6", "layer_19" + two, "layer_19" + three]],
                       [["expanded_conv_16/expand/Relu6"], ["Conv_1/Relu6", "layer_19" + one],
                        ["layer_19" + two, "layer_19" + three]]]}
        for version, expected in cuts.items():
            for stages, names in enumerate(expected, 2):
                report = self.pipeline("--method", "compiler", "--max-states", 1000, "--no-simulation",
                                       model=f"ssd-mobilenet-{version}", stages=stages)
                found = [{tensor["name"] for tensor in stage["outputs"]} for stage in report["stages"]]
                # The first map goes to its predictors, which are in the last stage.
                self.assertEqual(found[:-1], [{*part, *([first[version]] if i == 0 else [])}
                                              for i, part in enumerate(names)])

    def test_layers_of_a_published_network(self):
        """Figures of an earlier study with the same machine, to a hundredth of a millisecond."""
        report = self.check(self.pipeline("--layers", model="resnet-152", stages=6))
        self.assertEqual(report["operators"], 515)
        self.assertAlmostEqual(report["bottleneck_milliseconds"], 8.66, delta=0.005)
        self.assertEqual(report["status"], "optimal")

    def test_the_simulation_ends_at_the_slowest_stage(self):
        report = self.pipeline("--items", 200)
        self.assertAlmostEqual(report["simulation"]["interval_milliseconds"],
                               report["bottleneck_milliseconds"], places=5)
        shared = self.pipeline("--items", 200, "--shared-link")
        self.assertGreaterEqual(shared["simulation"]["interval_milliseconds"],
                                report["simulation"]["interval_milliseconds"])
        self.assertIsNone(self.pipeline("--no-simulation")["simulation"])

    def test_a_shared_link_is_part_of_the_objective(self):
        words = ("--items", 2000, "--shared-link")
        exact = self.check(self.pipeline(*words, model="ssd-mobilenet-v1", stages=4))
        self.assertIs(exact["shared_link"], True)
        self.assertGreaterEqual(exact["interval_picoseconds"],
                                max(exact["link_picoseconds"], exact["bottleneck_picoseconds"]))
        self.assertGreaterEqual(exact["interval_picoseconds"], exact["lower_bound_picoseconds"])
        apart = self.pipeline("--items", 2000, model="ssd-mobilenet-v1", stages=4)
        self.assertIsNone(apart["link_picoseconds"])
        self.assertLessEqual(apart["interval_picoseconds"], exact["interval_picoseconds"])
        for method in ("contiguous", "compiler", "profile", "balanced"):
            report = self.pipeline("--method", method, *words, model="ssd-mobilenet-v1", stages=4)
            self.assertEqual(report["lower_bound_picoseconds"], exact["lower_bound_picoseconds"])
            self.assertGreaterEqual(report["interval_picoseconds"], exact["interval_picoseconds"])
            # The minimised number is the simulated one, up to the time of the first item.
            self.assertAlmostEqual(report["simulation"]["interval_milliseconds"] * 1e9,
                                   report["interval_picoseconds"], delta=0.02 * report["interval_picoseconds"])

    def test_objective_of_parameters(self):
        report = self.check(self.pipeline("--objective", "parameters"))
        time = self.pipeline("--objective", "time")
        self.assertLessEqual(report["most_parameter_bytes"], time["most_parameter_bytes"])
        self.assertEqual(report["most_parameter_bytes"], report["most_parameter_bytes_lower_bound"])
        self.assertIsNone(report["lower_bound_picoseconds"])

    def test_limits_are_kept_or_refused(self):
        report = self.check(self.pipeline("--parameter-limit", "40000"))
        self.assertLessEqual(report["most_parameter_bytes"], 40000)
        result = self.expect(OVER_BUDGET, "pipeline", "resnet8", "--stages", 2, "--parameter-limit", "1000")
        self.assertIn(b"no assignment is within the limit", result.stderr)
        result = self.expect(OVER_BUDGET, "pipeline", "resnet8", "--stages", 2, "--activation-limit", "1000",
                             "--json")
        self.assertIn(b"no assignment is within the limit of activations: the operator alone needs", result.stderr)
        self.assertIn(b"'Conv' (conv)", result.stderr)
        report = json.loads(result.stdout)
        self.assertEqual(report["status"], "infeasible")
        self.assertEqual(report["stages"], [])
        self.assertIsNone(report["bottleneck_picoseconds"])
        infeasible = report["infeasible"]
        self.assertEqual((infeasible["limit"], infeasible["operator"], infeasible["limit_bytes"]),
                         ("activations", 0, 1000))
        self.assertEqual(infeasible["needed_bytes"], 32 * 32 * (3 + 16))
        self.expect(DONE, "pipeline", "resnet8", "--stages", 2, "--activation-limit", "64KiB")

    def test_children_together(self):
        report = self.check(self.pipeline("--children-together", "--layers", model="resnet-50", stages=4))
        free = self.pipeline("--layers", model="resnet-50", stages=4)
        self.assertGreaterEqual(report["bottleneck_picoseconds"], free["bottleneck_picoseconds"])

    def test_writes_a_model_for_every_stage(self):
        self.expect(DONE, "zoo", "ds-cnn", "--int8", "-o", "m.tflite")
        report = self.check(self.report_of("pipeline", "m.tflite", "--stages", 3, "-o", "parts"))
        names = [f"m.stage{i + 1}.tflite" for i in range(len(report["stages"]))]
        self.assertEqual(sorted(path.name for path in (self.folder / "parts").iterdir()), names)
        for stage in report["stages"]:
            inspected = self.report_of("inspect", stage["file"])
            self.assertEqual(inspected["operators"], len(stage["operators"]))
        before = (self.folder / "parts" / names[0]).read_bytes()
        self.expect(FAILED, "pipeline", "m.tflite", "--stages", 3, "-o", "parts")  # exist
        self.expect(DONE, "pipeline", "m.tflite", "--stages", 3, "-o", "parts", "--force")
        self.assertEqual((self.folder / "parts" / names[0]).read_bytes(), before)
        self.expect(FAILED, "pipeline", "m.tflite", "--stages", 3, "-o", "absent/parts")

    def test_ends_with_a_bound(self):
        self.write_json("wide.json", wide_graph(200, 1))
        report = self.check(self.report_of("pipeline", "wide.json", "--stages", 4, "--max-states", 2000))
        self.assertEqual(report["status"], "bounded")
        self.assertGreater(report["gap"], 0)
        self.assertLessEqual(report["lower_bound_picoseconds"], report["bottleneck_picoseconds"])
        self.expect(UNPROVEN, "pipeline", "wide.json", "--stages", 4, "--max-states", 2000,
                    "--require-optimal")
        again = self.report_of("pipeline", "wide.json", "--stages", 4, "--max-states", 2000)
        for run in (report, again):
            del run["seconds"]
        self.assertEqual(report, again)

    def test_interrupt_reports_the_best(self):
        self.write_json("wide.json", wide_graph(200, 1))
        process = subprocess.Popen([NEAP, "pipeline", "wide.json", "--stages", "4", "--json",
                                    "--max-states", "100000000000"], cwd=self.folder,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        out, _ = self.interrupt(process)
        self.assertEqual(process.returncode, INTERRUPTED)
        self.assertEqual(json.loads(out)["status"], "bounded")

    def test_graph_json_and_standard_input(self):
        result = self.expect(DONE, "pipeline", "-", "--stages", 2, stdin=json.dumps(DIAMOND).encode())
        self.assertIn(b"5 operators in", result.stdout)
        self.write_json("d.json", DIAMOND)
        result = self.expect(USAGE, "pipeline", "d.json", "--stages", 2, "-o", "parts")
        self.assertIn(b"graph JSON", result.stderr)

    def test_trouble(self):
        for words in (["resnet8"], ["resnet8", "--stages", "0"], ["resnet8", "--stages", "65"],
                      ["resnet8", "--stages", "2", "--device", "tpu"],
                      ["resnet8", "--stages", "2", "--method", "best"],
                      ["resnet8", "--stages", "2", "--parameter-limit", "much"],
                      ["resnet8", "--stages", "2", "--method", "compiler", "--activation-limit", "1"],
                      ["resnet8", "--stages", "2", "--layers", "-o", "parts"],
                      ["resnet8", "--stages", "2", "--dim", "a=1"],
                      ["resnet8", "--stages", "2", "--time-limit", "-1"]):
            self.expect(USAGE, "pipeline", *words)
        self.expect(FAILED, "pipeline", "absent.onnx", "--stages", "2")
        self.write_json("d.json", DIAMOND)
        self.expect(USAGE, "pipeline", "d.json", "--stages", "2", "--layers")
        self.assertIn(b"Examples:", self.expect(DONE, "pipeline", "--help").stdout)

    def test_same_bytes_out(self):
        first = self.pipeline("--layers", model="inception-resnet-v2", stages=6)
        second = self.pipeline("--layers", model="inception-resnet-v2", stages=6)
        for run in (first, second):
            del run["seconds"]
        self.assertEqual(first, second)
