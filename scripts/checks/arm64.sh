#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Cross-compiles the program for arm64 and compares its plans, outputs and files with those of the
# release build, byte for byte, under emulation: arm64.sh [options of tests/processors/compare.py].
# Needs a release build; installs the compiler, the emulator and the arm64 libraries where they lack.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
if [[ $(uname -m) != x86_64 ]]; then
  echo "$0: compares with x86-64, and this machine is $(uname -m)" >&2
  exit 2
fi
scripts/install_packages.sh --build --arm64
cmake --preset arm64
cmake --build --preset arm64 --target neap
libraries=$PWD/build/arm64-sysroot
exec python3 -B tests/processors/compare.py --one build/release/tools/neap --other "qemu-aarch64 \
  -L /usr/aarch64-linux-gnu \
  -E LD_LIBRARY_PATH=$libraries/usr/lib/aarch64-linux-gnu:$libraries/lib/aarch64-linux-gnu \
  build/arm64/tools/neap" "$@"
