#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs a build into a folder of its own and builds and runs examples/consumer against it, from
# outside the tree. Usage: install_and_consume.sh BUILD_FOLDER
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cmake --install "$build" --prefix "$folder/installed"
"$folder/installed/bin/neap" --version
cp -r examples/consumer "$folder/consumer"
cmake -G Ninja -S "$folder/consumer" -B "$folder/build" -DCMAKE_PREFIX_PATH="$folder/installed"
cmake --build "$folder/build"
"$folder/build/consumer"
