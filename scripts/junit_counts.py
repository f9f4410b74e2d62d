# SPDX-License-Identifier: Apache-2.0
"""Prints "passed failed skipped" of a JUnit report, then a line for each test that did not pass."""

import sys
import xml.etree.ElementTree as ElementTree


def main():
    passed, failed, skipped, lines = 0, 0, 0, []
    for case in ElementTree.parse(sys.argv[1]).getroot().iter("testcase"):
        name = "::".join(filter(None, (case.get("classname"), case.get("name"))))
        if case.find("failure") is not None or case.find("error") is not None:
            failed += 1
            lines.append(f"failed: {name}")
        elif case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
            skipped += 1
            reason = case.find("skipped")
            message = (reason.get("message") or "") if reason is not None else ""
            lines.append(f"skipped: {name}: {message.splitlines()[0] if message else ''}".rstrip(": "))
        else:
            passed += 1
    print(passed, failed, skipped)
    print("\n".join(lines))


if __name__ == "__main__":
    main()
