#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the page (preset `web`) and runs its tests: the program of the page beside the release build, and
# the page in a browser. web.sh [--long] [JUNIT]. --long: every public model below 5 MB. Needs a release
# build.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
junit=
long=0
for argument in "$@"; do
  case "$argument" in
    --long) long=1 ;;
    *) junit=$argument ;;
  esac
done
cmake --preset web
cmake --build --preset web -j "$(nproc)"
export NEAP=$PWD/build/release/tools/neap NEAP_LONG=$long
exec /usr/bin/env python3 -B tests/web/run_tests.py ${junit:+"$junit"}
