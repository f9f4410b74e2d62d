#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# clang-tidy over every source of the library, the tools and the benchmarks; tests are left out for
# time: tidy.sh BUILD_FOLDER [FILES...]. It reads the compile commands of a build made before. Where
# that compiles in batches, batches are what is looked at, which parses every header once a batch; to
# look at single FILES, name a build that compiles them by themselves (preset `edit`).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=$1
shift
if [[ $# -eq 0 ]]; then
  mapfile -t sources < <(python3 - "$build" <<'END'
import json, os, re, sys
root = os.getcwd()
for entry in json.load(open(os.path.join(sys.argv[1], 'compile_commands.json'))):
    path = os.path.relpath(os.path.join(entry['directory'], entry['file']), root)
    ours = re.match(r'(neap|tools|bench)/', path) or '/Unity/' in path
    target = re.search(r'CMakeFiles/([^/]*)\.dir/', entry['command']).group(1)
    test = re.search(r'_(test|testing|cases)\.(cc|dir)|/test_|neap_test_headers|neap_onnx_proto',
                     path + ' ' + target + '.dir')
    if ours and not test and not re.match(r'tests/|fuzz_', os.path.relpath(path, sys.argv[1])):
        print(path)
END
  )
  set -- "${sources[@]}"
fi
echo "$# sources or batches"
# The build may be g++'s, with flags that clang does not know; a batch includes sources, on purpose.
printf '%s\0' "$@" | xargs -0 -P "$(nproc)" -n 1 clang-tidy-16 -p "$build" --quiet \
  --extra-arg=-Wno-unknown-warning-option --checks=-bugprone-suspicious-include
