#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of the page, run_tests.py [JUNIT], and writes their report as JUnit."""

import sys
import time
import unittest
import xml.etree.ElementTree as ElementTree

import test_program
import test_web


class Report(unittest.TextTestResult):
    """Cases with their seconds, as JUnit."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.suite = ElementTree.Element("testsuite", name="web")
        self.case = None

    def startTest(self, test):  # noqa: N802
        super().startTest(test)
        self.begun = time.monotonic()
        _, _, name = test.id().rpartition(".")
        self.case = ElementTree.SubElement(self.suite, "testcase", classname="web", name=name)

    def stopTest(self, test):  # noqa: N802
        self.case.set("time", f"{time.monotonic() - self.begun:.1f}")
        super().stopTest(test)

    def mark(self, kind, message):
        if self.case is None:  # setUpClass
            self.case = ElementTree.SubElement(self.suite, "testcase", classname="web", name="setUpClass")
        if self.case.find(kind) is None:
            ElementTree.SubElement(self.case, kind, message=message)

    def addFailure(self, test, err):  # noqa: N802
        super().addFailure(test, err)
        self.mark("failure", str(err[1]))

    def addError(self, test, err):  # noqa: N802
        super().addError(test, err)
        self.mark("failure", str(err[1]))

    def addSubTest(self, test, subtest, err):  # noqa: N802
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.mark("failure", f"{subtest}: {err[1]}")

    def addSkip(self, test, reason):  # noqa: N802
        super().addSkip(test, reason)
        self.mark("skipped", reason)


def main():
    suite = unittest.TestSuite(unittest.defaultTestLoader.loadTestsFromModule(module)
                               for module in (test_program, test_web))
    result = unittest.TextTestRunner(resultclass=Report, verbosity=2).run(suite)
    if len(sys.argv) > 1:
        ElementTree.ElementTree(result.suite).write(sys.argv[1])
    sys.exit(0 if result.wasSuccessful() else 1)


if __name__ == "__main__":
    main()
