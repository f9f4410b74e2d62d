#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the program of this checkout for action.yml, and prints its path.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
scripts/install_packages.sh --build >&2
cmake --preset release -D NEAP_TESTS=OFF -D NEAP_BENCHMARKS=OFF >&2
cmake --build --preset release --target neap >&2
echo "$PWD/build/release/tools/neap"
