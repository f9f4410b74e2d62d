#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The program built without ONNX plans graph JSON, and refuses .onnx with a clear line.
# Usage: core_program.sh PROGRAM
set -euo pipefail
program=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

cat >graph.json <<'JSON'
{"tensors": [{"name": "a", "bytes": 64}, {"name": "b", "bytes": 128}, {"name": "c", "bytes": 32}],
 "inputs": ["a"], "outputs": ["c"],
 "ops": [{"name": "first", "inputs": ["a"], "outputs": ["b"]},
         {"name": "second", "inputs": ["b"], "outputs": ["c"]}]}
JSON
"$program" plan graph.json --json | grep -q '"peak_bytes": *192'
if ldd "$program" | grep -i protobuf; then
  echo "the program without ONNX is linked with protobuf"
  exit 1
fi
printf '\x08\x08' >model.onnx
status=0
"$program" plan model.onnx 2>error || status=$?
cat error
[[ $status -eq 1 ]] && grep -q NEAP_ONNX=ON error
