#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The check of action.yml: its inputs are in NEAP_* variables. Writes the report for people to the
# job summary, the SARIF file, and the outputs `fits` and `report`. Needs no token and no network.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
: "${NEAP_BOARD:?the input 'board' is empty}" "${NEAP_MODELS:?the input 'models' is empty}"
summary=${GITHUB_STEP_SUMMARY:-/dev/null}
outputs=${GITHUB_OUTPUT:-/dev/null}
report=${NEAP_REPORT:-neap-budget.json}
sarif=${NEAP_SARIF:-neap-budget.sarif}

options=(--board "$NEAP_BOARD")
[[ -z ${NEAP_RESERVE:-} ]] || options+=(--reserve "$NEAP_RESERVE")
[[ -z ${NEAP_OVERLAP:-} ]] || options+=(--overlap "$NEAP_OVERLAP")
[[ -z ${NEAP_BASELINE:-} ]] || options+=(--baseline "$NEAP_BASELINE")
[[ -z ${NEAP_MAX_GROWTH:-} ]] || options+=(--max-growth "$NEAP_MAX_GROWTH")
# Patterns of the input are expanded here: one a word, as in a shell.
shopt -s nullglob globstar
models=()
for pattern in $NEAP_MODELS; do models+=("$pattern"); done
if [[ ${#models[@]} -eq 0 ]]; then
  echo "action.sh: no file matches: $NEAP_MODELS" >&2
  exit 1
fi

code=0
"$here/check_budget.sh" "${options[@]}" --json --sarif "$sarif" --force "${models[@]}" >"$report" || code=$?
echo "report=$report" >>"$outputs"
echo "sarif=$sarif" >>"$outputs"
if [[ $code -ne 0 && $code -ne 3 ]]; then exit "$code"; fi
fits=true
[[ $code -eq 0 ]] || fits=false
echo "fits=$fits" >>"$outputs"
text=$("$here/check_budget.sh" "${options[@]}" "${models[@]}") || true
printf '%s\n' "$text"
printf '```\n%s\n```\n' "$text" >>"$summary"
exit "$code"
