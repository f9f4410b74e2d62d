#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# clang-tidy over every source of the library, the tools and the benchmarks; tests are left out for
# time. It reads the compile commands of a build made before: tidy.sh BUILD_FOLDER [FILES...]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=$1
shift
if [[ $# -eq 0 ]]; then
  mapfile -t sources < <(git -c safe.directory='*' ls-files 'neap/*.cc' 'tools/*.cc' 'bench/*.cc' |
    grep -v -E '(_test|_testing|/test_[a-z_]*)\.cc$')
  set -- "${sources[@]}"
fi
echo "$# sources"
# The build may be g++'s, with flags that clang does not know.
printf '%s\0' "$@" | xargs -0 -P "$(nproc)" -n 4 clang-tidy-16 -p "$build" --quiet \
  --extra-arg=-Wno-unknown-warning-option
