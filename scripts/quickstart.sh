#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# From a fresh Debian 12 machine to a planned network: installs what is missing, builds the program,
# makes a RandWire network of the published size and plans its memory.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/install_packages.sh --build
cmake --preset release -DNEAP_TESTS=OFF -DNEAP_BENCHMARKS=OFF
cmake --build --preset release --target neap

neap=build/release/tools/neap
echo
echo "\$ $neap zoo randwire-ws --seed 1 -o build/randwire.onnx --force"
$neap zoo randwire-ws --seed 1 -o build/randwire.onnx --force
echo
echo "\$ $neap plan build/randwire.onnx -o build/randwire-planned.onnx --force"
$neap plan build/randwire.onnx -o build/randwire-planned.onnx --force
echo
echo "The program is $PWD/$neap: try '$neap --help'."
