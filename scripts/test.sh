#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs the tests: test.sh [--fast] [--long]. The last line is "N passed, M failed[, K skipped]", and
# the exit status is 0 only when nothing failed. Logs: build/test-logs. Without options, long tests run in
# their short form, and the sanitizer build runs a part of its tests (below).
#   --fast: only the optimised build and its tests, with the installed packages
#   --long: every test in full, neap-train with its tests (libtorch is installed from Debian's packages),
#     and the program for arm64, compared with the optimised build
# Tests without their requirements count as skipped and are named. CONTRIBUTING.md has the time of
# each stage.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fast=0
long=0
for argument in "$@"; do
  case "$argument" in
    --fast) fast=1 ;;
    --long) long=1 ;;
    *) echo "usage: $0 [--fast] [--long]" >&2; exit 2 ;;
  esac
done

jobs=$(nproc)
logs=$PWD/build/test-logs
rm -rf "$logs"
mkdir -p "$logs"
passed=0
failed=0
skipped=0
not_passed=()

# Sets processor_seconds to the processor time of all commands of this shell so far. Must not run in a
# subshell of its own, where `times` starts from zero.
measure_processor_seconds() {
  local file=$logs/times.$BASHPID
  times >"$file"
  processor_seconds=$(awk 'NR == 2 { gsub(/[ms]/, " "); print int($1 * 60 + $2 + $3 * 60 + $4) }' \
    "$file")
}

# run NAME COMMAND...: runs it with its output in a log; prints its seconds (elapsed and of the
# processors, for busy machines) and, when it fails, the end of the log. Counts nothing.
run() {
  local name=$1 start=$SECONDS status=0 before
  shift
  measure_processor_seconds
  before=$processor_seconds
  "$@" >"$logs/$name.log" 2>&1 </dev/null || status=$?
  measure_processor_seconds
  printf '%-24s %4d s  (processor %4d s)  %s\n' "$name" $((SECONDS - start)) \
    $((processor_seconds - before)) \
    "$([[ $status -eq 0 ]] && echo ok || echo FAILED)"
  [[ $status -eq 0 ]] || show "$name"
  return $status
}

# The relevant part of a log: the lines with errors, then the end.
show() {
  echo "----- $logs/$1.log"
  grep -n -E '(error|warning|FAILED|\*\*\*Failed|Sanitizer|Traceback|^E  )' "$logs/$1.log" | head -n 60
  echo "----- last lines"
  tail -n 40 "$logs/$1.log"
  echo "-----"
}

# check NAME COMMAND...: one test.
check() {
  if run "$@"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    not_passed+=("failed: $1")
  fi
}

skip() {
  printf '%-30s         skipped: %s\n' "$1" "$2"
  skipped=$((skipped + 1))
  not_passed+=("skipped: $1: $2")
}

# counted NAME JUNIT COMMAND...: as many tests as the report in JUNIT has. A command that fails
# without a failed test in its report (a crash of the test driver) is one failure.
counted() {
  local name=$1 junit=$2 status=0 counts p f s
  shift 2
  rm -f "$junit"
  run "$name" "$@" || status=$?
  counts=$(/usr/bin/env python3 scripts/junit_counts.py "$junit" 2>>"$logs/$name.log") || counts="0 0 0"
  read -r p f s <<<"$(head -n 1 <<<"$counts")"
  if [[ $f -eq 0 && ($status -ne 0 || $((p + s)) -eq 0) ]]; then
    f=1
    not_passed+=("failed: $name: see $logs/$name.log")
  fi
  echo "    $name: $p passed, $f failed, $s skipped"
  while read -r line; do [[ -n $line ]] && not_passed+=("$line"); done < <(tail -n +2 <<<"$counts")
  passed=$((passed + p))
  failed=$((failed + f))
  skipped=$((skipped + s))
}

# begin NAME COMMAND...: runs in the background, for commands that wait for the network; `wait_for
# NAME` waits, also in a subshell, and fails if it failed.
declare -A begun
begin() {
  local name=$1
  shift
  rm -f "$logs/$name.status"
  {
    "$@" >"$logs/$name.log" 2>&1 </dev/null
    echo $? >"$logs/$name.status"
  } &
  begun[$name]=$!
}
wait_for() {
  while [[ ! -s $logs/$1.status ]] && kill -0 "${begun[$1]}" 2>/dev/null; do sleep 1; done
  [[ $(cat "$logs/$1.status" 2>/dev/null) == 0 ]]
}

# beside NAME STAGES: runs the function STAGES beside later stages; `collect NAME` waits for it and adds
# its counts. Alone, most stages leave a processor without work at times: the last long test, a link.
beside() {
  local name=$1
  shift
  rm -f "$logs/$name.counts"
  (
    passed=0 failed=0 skipped=0 not_passed=()
    "$@"
    printf '%s\n' "$passed $failed $skipped" "${not_passed[@]}" >"$logs/$name.counts"
  ) &
  begun[$name]=$!
}
collect() {
  local p f s line
  wait "${begun[$1]}"
  if ! read -r p f s 2>/dev/null <"$logs/$1.counts"; then
    p=0 f=1 s=0
    not_passed+=("failed: $1: it ended early")
  else
    while read -r line; do [[ -n $line ]] && not_passed+=("$line"); done < <(tail -n +2 "$logs/$1.counts")
  fi
  passed=$((passed + p))
  failed=$((failed + f))
  skipped=$((skipped + s))
}

build() {  # PRESET [TARGETS...]
  local preset=$1
  shift
  cmake --preset "$preset" && cmake --build --preset "$preset" -j "$jobs" ${@:+--target "$@"}
}

tests_of() {  # PRESET [ctest options]
  local preset=$1
  shift
  counted "$preset-tests" "$logs/$preset.xml" \
    ctest --preset "$preset" -j "$jobs" --timeout 300 --output-junit "$logs/$preset.xml" "$@"
}

ended_well() {  # FUZZ TARGET
  cat "$logs/$1.fuzz"
  test -e "$logs/$1.fuzz-ok"
}

# fuzz_together TARGETS...: each on a processor of its own, for as long as the others; a test each.
fuzz_together() {
  local target seconds=10
  [[ $long -eq 0 ]] || seconds=300
  for target in "$@"; do
    { scripts/checks/fuzz.sh "$target" $seconds && touch "$logs/$target.fuzz-ok"; } \
      >"$logs/$target.fuzz" 2>&1 </dev/null &
  done
  wait
  for target in "$@"; do check "fuzz-$target" ended_well "$target"; done
}

finish() {
  echo
  if [[ ${#not_passed[@]} -gt 0 ]]; then printf '%s\n' "${not_passed[@]}"; fi
  echo "total time: $((SECONDS / 60)) min $((SECONDS % 60)) s"
  local line="$passed passed, $failed failed"
  [[ $skipped -eq 0 ]] || line+=", $skipped skipped"
  echo "$line"
  [[ $failed -eq 0 && $passed -gt 0 ]]
  exit
}

# Long tests read this; see tests/README.md.
[[ $long -eq 1 ]] && export NEAP_LONG=1
# Of scripts/conformance: in the short form, a few small models.
every_plan=()
[[ $long -eq 1 ]] || every_plan=(--models 'ad01_int8|kws_ref_model|okay_nabu|trained_lstm_int8|hello_world')

if [[ $fast -eq 0 ]]; then
  # The first command of the README; it is configured without tests, which the preset turns on again.
  check quickstart scripts/quickstart.sh
  run packages scripts/install_packages.sh --build --test ||
    { failed=$((failed + 1)); not_passed+=("failed: packages"); }
  begin venv scripts/checks/venv.sh
  begin python-packages scripts/checks/wheel.sh --packages
fi

check release-build build release
# In the short form, a quarter of the random cases. --fast runs all of them.
release_tests() {
  if [[ $fast -eq 1 || $long -eq 1 ]]; then
    tests_of release
  else
    NEAP_PROPERTY_FACTOR=0.25 tests_of release
  fi
}
if [[ $fast -eq 1 ]]; then
  release_tests
  finish
fi
# What the optimised build serves, and all that is compiled otherwise: one beside the other.
optimised_stages() {
  release_tests
  check install-and-consume scripts/checks/install_and_consume.sh build/release
  if wait_for python-packages; then
    while read -r name; do skip "python-package-$name" "it could not be installed, see $logs/python-packages.log"; done \
      < <(sed -n 's/^missing: //p' "$logs/python-packages.log")
    counted python "$logs/python.xml" scripts/checks/wheel.sh "$logs/python.xml"
    sed -n '/^interpreters:/p' "$logs/python-packages.log"
    if [[ $long -eq 1 ]]; then check python-leaks scripts/checks/python_leaks.sh; fi
  else
    show python-packages
    skip python "no interpreter, or packages could not be installed, see $logs/python-packages.log"
  fi
  if wait_for venv; then
    while read -r name; do skip "python-package-$name" "no wheel could be installed, see $logs/venv.log"; done \
      < <(sed -n 's/^missing: //p' "$logs/venv.log")
    local together=()
    if .venv/bin/python -c 'import xdist' 2>/dev/null; then together=(-n "$jobs" --dist worksteal); fi
    counted conformance "$logs/conformance.xml" .venv/bin/python -m pytest -q -p no:cacheprovider \
      tests/conformance --junitxml "$logs/conformance.xml" --neap build/release/tools/neap \
      "${together[@]}" ${NEAP_LONG:+--long}
    sed -n '/^table:/,/^$/p' "$logs/conformance.log"
    if [[ -d ${NEAP_SHARED:-../shared}/models ]]; then
      check every-plan scripts/conformance --jobs "$jobs" "${every_plan[@]}"
    else
      skip every-plan "no public models"
    fi
  else
    show venv
    skip conformance "pytest could not be installed, see $logs/venv.log"
  fi
}

other_stages() {
  if command -v clang++-16 >/dev/null; then
    check dev-build build dev
  else
    dev_build() {
      cmake --preset dev -D CMAKE_CXX_COMPILER=g++ -D NEAP_FUZZERS=OFF && cmake --build --preset dev -j "$jobs"
    }
    skip fuzz "clang-16 is not installed"
    check dev-build dev_build
  fi
  if [[ $long -eq 1 ]]; then
    tests_of dev
  else
    local left_out
    left_out=$(grep -v -E '^(#|$)' tests/not_sanitized.txt | paste -s -d '|')
    NEAP_PROPERTY_FACTOR=0.1 tests_of dev -E "$left_out"
  fi

  if [[ $long -eq 1 ]]; then
    if run train-packages scripts/install_packages.sh --train; then
      check train-build build train neap-train train_test
      counted train-tests "$logs/train.xml" ctest --preset train -j "$jobs" --timeout 300 \
        --output-junit "$logs/train.xml" -R '^(Policy|Training)\.'
    else
      skip train "libtorch-dev could not be installed, see $logs/train-packages.log"
    fi
  fi

  if [[ $long -eq 1 ]]; then
    if [[ $(uname -m) != x86_64 ]]; then
      skip arm64 "it is compared with x86-64, and this machine is $(uname -m)"
    elif run arm64-packages scripts/install_packages.sh --arm64; then
      check arm64 scripts/checks/arm64.sh --long
    else
      skip arm64 "the packages could not be installed, see $logs/arm64-packages.log"
    fi
  fi

  if [[ -x $(command -v em++) && -x $(command -v node) ]]; then
    counted web "$logs/web.xml" scripts/checks/web.sh ${NEAP_LONG:+--long} "$logs/web.xml"
  else
    skip web "emscripten is not installed"
  fi
  check format scripts/checks/format.sh
  if command -v doxygen >/dev/null; then
    check library-reference scripts/checks/library_reference.sh
  else
    skip library-reference "doxygen is not installed"
  fi

  if command -v clang-tidy-16 >/dev/null; then
    check tidy scripts/checks/tidy.sh build/release
  else
    skip tidy "clang-tidy-16 is not installed"
  fi
}

beside others other_stages
optimised_stages
collect others

if command -v clang++-16 >/dev/null; then
  check fuzz-seeds scripts/checks/fuzz.sh --seeds
  scripts/checks/fuzz.sh --list >"$logs/fuzz-targets"
  # One a processor: they are timed and alone.
  while mapfile -t -n "$jobs" targets && [[ ${#targets[@]} -gt 0 ]]; do
    fuzz_together "${targets[@]}"
  done <"$logs/fuzz-targets"
fi

finish
