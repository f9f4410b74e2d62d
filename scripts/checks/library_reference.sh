#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Makes the reference of the library, build/reference/html/index.html, from its installed headers. Fails on
# an undocumented name and on any other warning of Doxygen.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
mkdir -p build
doxygen docs/Doxyfile
echo "build/reference/html/index.html: $(find build/reference/html -name '*.html' | wc -l) pages"
