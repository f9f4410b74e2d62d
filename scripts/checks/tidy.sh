#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# clang-tidy over every source of the library, the tools and the benchmarks; tests are left out for
# time. Generated sources do not count.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
cmake --preset tidy -DNEAP_TESTS=OFF >/dev/null
# Sources include the readers that the build generates from the schemas.
cmake --build --preset tidy \
  --target neap/formats/generated/tflite_generated.h neap/formats/generated/neap_onnx.pb.h
sources=$(git ls-files 'neap/*.cc' 'tools/*.cc' 'bench/*.cc' | grep -v -E '(_test|_testing|/test_[a-z_]*)\.cc$')
wc -w <<<"$sources" | sed 's/$/ sources/'
# shellcheck disable=SC2086
printf '%s\n' $sources | xargs -P "$(nproc)" -n 4 clang-tidy-16 -p build/tidy --quiet
