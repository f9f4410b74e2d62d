#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# From a fresh Debian 12 machine to a planned network: installs what is missing, builds the program,
# makes the visual wake words network of MLPerf Tiny and plans its memory.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/install_packages.sh --build
cmake --preset release -DNEAP_TESTS=OFF -DNEAP_BENCHMARKS=OFF
cmake --build --preset release --target neap

neap=build/release/tools/neap
echo
echo "\$ $neap zoo mobilenet-v1-vww --int8 -o build/vww.tflite --force"
$neap zoo mobilenet-v1-vww --int8 -o build/vww.tflite --force
echo
echo "\$ $neap plan build/vww.tflite -o build/small.tflite --force"
$neap plan build/vww.tflite -o build/small.tflite --force
echo
echo "The program is $PWD/$neap. To use it: export PATH=\"$PWD/build/release/tools:\$PATH\""
