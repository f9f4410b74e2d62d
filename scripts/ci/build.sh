#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the program of this checkout without ONNX, for action.yml, and prints its path.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
scripts/install_packages.sh --build >&2
cmake --preset core >&2
cmake --build --preset core --target neap >&2
echo "$PWD/build/core/tools/neap"
