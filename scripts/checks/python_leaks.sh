#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the extension module of the Python package with AddressSanitizer and UBSan, and calls each of
# its functions 5 and 100 times: nothing may be found, and the second run may not leak more bytes than
# the first. (The interpreter itself never frees some objects.) Build folder: build/python-dev.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

tools=$(ls -d build/wheel-tools-3.1[0-9] 2>/dev/null | sort -V | tail -n 1)
if [[ -z $tools ]]; then
  echo "run scripts/checks/wheel.sh --packages first" >&2
  exit 1
fi
python=$PWD/$tools/bin/python
cmake --preset dev -B build/python-dev -D NEAP_PYTHON=ON -D NEAP_TESTS=OFF \
  -D Python_EXECUTABLE="$python" >/dev/null
cmake --build build/python-dev -j "$(nproc)" --target neap_python >/dev/null

package=build/python-dev/package
rm -rf "$package"
mkdir -p "$package"
cp -r python/neap "$package/neap"
cp build/python-dev/python/_neap*.so "$package/neap/"

runtime=$(clang++-16 -print-file-name=libclang_rt.asan-x86_64.so)
leaked() {  # CALLS: the bytes that the process leaks
  local report=build/python-dev/leaks-$1
  LD_PRELOAD=$runtime ASAN_OPTIONS=detect_leaks=1:exitcode=0:log_path=$report \
    UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 LSAN_OPTIONS=max_leaks=0:report_objects=0 \
    PYTHONMALLOC=malloc PYTHONPATH=$package "$python" scripts/checks/python_leaks.py "$1" >&2
  cat "$report".* 2>/dev/null | python3 scripts/checks/python_leaks.py --bytes
}
rm -f build/python-dev/leaks-*
few=$(leaked 5)
many=$(leaked 100)
echo "leaked bytes: $few after 5 calls of each function, $many after 100"
[[ $many -le $few ]]
