#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs one libFuzzer target of the preset `dev` for a while, from seeds that the release build
# makes: fuzz.sh TARGET [SECONDS]; fuzz.sh --list names the targets, fuzz.sh --seeds makes the seeds
# again. Crashing inputs are kept in build/fuzz/crashes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
if [[ $1 == --list ]]; then
  sed -n 's/^ *neap_fuzz_target(\([a-z_]*\).*/\1/p' tests/fuzz/CMakeLists.txt
  exit 0
fi
seeds=build/fuzz/seeds
if [[ $1 == --seeds || ! -e $seeds/complete ]]; then
  python3 tests/fuzz/make_seeds.py --neap build/release/tools/neap --out "$seeds"
  touch "$seeds/complete"
  [[ $1 != --seeds ]] || exit 0
fi
target=$1
seconds=${2:-20}
mkdir -p "build/fuzz/corpus/$target" build/fuzz/crashes
# A file may make a reader use memory in proportion to its size, no more; 20 s for one input is a hang.
exec "build/dev/tests/fuzz/fuzz_$target" "build/fuzz/corpus/$target" "$seeds/$target" \
  -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -malloc_limit_mb=1024 \
  -max_len=65536 -print_final_stats=1 -artifact_prefix="build/fuzz/crashes/$target-"
