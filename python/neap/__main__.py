# SPDX-License-Identifier: Apache-2.0
"""The command line: ``neap`` and ``python -m neap``."""

from __future__ import annotations

import signal
import sys

from neap import _neap


def main() -> int:
    """Runs the command line with the words of ``sys.argv`` and returns the exit code."""
    # As in any other program: a closed pipe ends it, and Ctrl-C is the verb's own business.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _neap.run_program(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
