#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Makes .venv for tests/conformance. Packages are installed one by one: for an unavailable one a
# line "missing: NAME" is printed, and the tests that need it skip. A requirement with the comment
# "no-deps" is installed without its dependencies. Fails without pytest.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
requirements=tests/conformance/requirements.txt
stamp=.venv/requirements.installed
if cmp -s "$requirements" "$stamp"; then exit 0; fi
rm -f "$stamp"
python=/usr/bin/python3
[[ -x $python ]] || python=python3
"$python" -m venv .venv || exit 1
complete=1
while read -r line; do
  case "$line" in ''|'#'*) continue ;; esac
  options=(--quiet --disable-pip-version-check)
  if [[ $line == *'# no-deps' ]]; then options+=(--no-deps); fi
  if ! .venv/bin/pip install "${options[@]}" "${line%% *}"; then
    echo "missing: ${line%%=*}"
    complete=0
  fi
done <"$requirements"
.venv/bin/python -c 'import pytest' || exit 1
[[ $complete -eq 0 ]] || cp "$requirements" "$stamp"
