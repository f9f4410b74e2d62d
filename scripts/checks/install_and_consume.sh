#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs a build into a folder of its own and builds and runs the examples against it, from
# outside the tree: by find_package, by pkg-config and, where rustc is installed, from Rust. Compares
# the symbols of the libraries with their headers. Usage: install_and_consume.sh BUILD_FOLDER
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
installed=$folder/installed
cmake --install "$build" --prefix "$installed" >"$folder/install.log"
"$installed/bin/neap" --version
headers=$(find "$installed/include" -type f | wc -l)
[[ $headers -le 15 ]] || { echo "$headers headers are installed, expected at most 15" >&2; exit 1; }

libraries=$(dirname "$(find "$installed" -name libneap.so)")
functions_of() { grep -ohE '\bneap_[a-z_0-9]+\(' "$@" | tr -d '(' | sort -u; }
symbols_of() { nm -D --defined-only "$1" | awk '$3 ~ /^neap_/ || $2 == "T" {sub(/@.*/, "", $3); print $3}' | sort -u; }
include=$installed/include/neap
diff <(functions_of "$include/neap_c.h" "$include/neap_solvers.h") <(symbols_of "$libraries/libneap.so")
diff <(functions_of "$include/neap_solvers.h") <(symbols_of "$libraries/libneap_solvers.so")

cp -r examples "$folder/examples"
cmake -G Ninja -S "$folder/examples" -B "$folder/build" -DCMAKE_PREFIX_PATH="$installed" \
  >"$folder/configure.log"
cmake --build "$folder/build"
"$folder/build/solver_only"
"$folder/build/architecture_search" 500
"$installed/bin/neap" zoo swiftnet-cell-a -o "$folder/model.onnx" --quiet
model=$folder/model.onnx
"$folder/build/plan_a_model" "$model" "$folder/planned.onnx"
"$installed/bin/neap" inspect "$folder/planned.onnx" --quiet

export PKG_CONFIG_PATH=$libraries/pkgconfig LD_LIBRARY_PATH=$libraries
# shellcheck disable=SC2046
cc -std=c99 examples/solver_only/solver_only.c $(pkg-config --cflags --libs neap-solvers) \
  -o "$folder/solver"
"$folder/solver"
if command -v rustc >/dev/null; then
  rustc --edition 2021 -L native="$libraries" examples/rust/plan.rs -o "$folder/from_rust"
  "$folder/from_rust" "$model"
else
  echo "skipped: rustc is not installed"
fi
