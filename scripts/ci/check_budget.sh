#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs neap check-budget for a hook or a continuous integration:
#   check_budget.sh --board BOARD [OPTIONS of neap check-budget] MODEL...
# NEAP is the program (default: neap in PATH). NEAP_VERSION, if it is set, is the version that it must
# have: another one could have other numbers. Exit: that of neap check-budget.
set -euo pipefail
neap=${NEAP:-neap}
if ! command -v "$neap" >/dev/null; then
  echo "check_budget.sh: no program '$neap': install Neap or set NEAP" >&2
  exit 1
fi
if [[ -n ${NEAP_VERSION:-} ]]; then
  version=$("$neap" --version)
  if [[ $version != "neap $NEAP_VERSION" ]]; then
    echo "check_budget.sh: '$version' is not the pinned version $NEAP_VERSION" >&2
    exit 1
  fi
fi
exec "$neap" check-budget "$@"
