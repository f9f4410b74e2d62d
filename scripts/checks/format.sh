#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Every C++ file is as clang-format writes it. To mend: git ls-files '*.cc' '*.h' | xargs clang-format-16 -i
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
git -c safe.directory='*' ls-files -z '*.cc' '*.h' | xargs -0 clang-format-16 --dry-run -Werror
