#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Writes docs/results/orders.md: lab/tables/benchmarks.sh [PROGRAM]. Models that are not there are left out.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
neap=${1:-build/release/tools/neap}
shared=${NEAP_SHARED:-../shared}
page=$(mktemp)
trap 'rm -f "$page"' EXIT

section() {  # TITLE TEXT MODELS_AND_OPTIONS...
  local title=$1 text=$2
  shift 2
  printf '\n## %s\n\n%s\n\n' "$title" "$text" >>"$page"
  lab/tables/order_table.py "$neap" "$@" >>"$page"
}

cat >"$page" <<EOF
# Benchmarks of the order search

Made by \`lab/tables/benchmarks.sh\` with $("$neap" --version) on $(nproc) cores,
$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(date -u +%Y-%m-%d). Seconds are those of the order search
alone (median of eleven runs where a run is under a second, all cores), on a machine that was doing other work: compare
states, and seconds within one table (load average at the start: $(cut -d' ' -f1 /proc/loadavg)). Every plan passed the independent checkers. Graphs and models are not part
of this repository; the sections that need them say where they come from.
EOF

zoo=$(mktemp -d)
hard=$(mktemp -d)
trap 'rm -rf "$page" "$zoo" "$hard"' EXIT
lab/tables/make_hard_graphs.py "$hard" --seeds "${NEAP_SEEDS:-11,12}"
for network in randwire-ws randwire-cell-ws darts-imagenet darts-cifar; do
  "$neap" zoo "$network" --seed 1 -o "$zoo/$network.onnx" --quiet 2>/dev/null ||
    "$neap" zoo "$network" --seed 1 -o "$zoo/$network.onnx" >/dev/null
done
section "Networks of the zoo" "\`neap zoo NAME --seed 1\`, profile ideal." "$zoo"
if [[ -d $shared/graphs ]]; then
  section "Irregular networks" \
    "NASNet-A, AmoebaNet-A, DARTS and RandWire as ONNX without weights; profile ideal." \
    "$shared/graphs"/*.onnx
  section "The same, in place, beside HMCOS" \
    "Profile ideal-inplace, which is HMCOS's memory model. Its seconds are those we measured (lab/tables/hmcos.tsv, other runs on
such a machine); what it publishes is a speed-up of 137 to 283 times over SERENITY, no seconds that we could find." \
    --beside lab/tables/hmcos.tsv "$shared/graphs"/*.onnx -- --runtime ideal-inplace
  section "RandWire with 128 nodes, 10 seconds" "Profile ideal-inplace, \`--time-limit 10\`." --runs 1 \
    "$shared/graphs"/rwcell-sum-n128-s0.onnx -- --runtime ideal-inplace --time-limit 10
fi
if [[ -d $shared/models ]]; then
  section "SwiftNet of the Visual Wake Words challenge" "Profile ideal." \
    "$shared/models/newwhitecheng+vwwc19-submission/swiftnet-vww-224-uint8.tflite" -- \
    --runtime ideal
fi
section "Fresh seeds of hard families, 10 seconds" \
  "Made by \`lab/tables/make_hard_graphs.py FOLDER --seeds 11,12\`; \`--time-limit 10\`. Other seeds: the same command." \
  --runs 1 "$hard" -- --time-limit 10
if [[ -d $shared/graphs/hard ]]; then
  section "Wide and large graphs, 10 seconds" \
    "Random graphs, wide layers and whole networks as graph JSON; \`--time-limit 10\`." \
    --runs 1 "$shared/graphs/hard" -- --time-limit 10
  section "Those that 10 seconds do not prove, 60 seconds" "\`--time-limit 60\`." --runs 1 \
    "$shared/graphs/hard"/layered_n200_*.json "$shared/graphs/hard"/rw_ws160*.json -- --time-limit 60
fi
mkdir -p docs
cp "$page" docs/results/orders.md
echo "wrote docs/results/orders.md"
