#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Trains the two networks that come with neap, one thread: train_builtin.sh NEAP_TRAIN FOLDER
# [peak|stages]. Weights, curves and logs are left in the folder; the shipped ones are in
# neap/learn/weights and docs/learned. A run that was ended goes on from its checkpoint.
set -euo pipefail
train=$1
folder=$2
which=${3:-both}
mkdir -p "$folder"

run() {
  local name=$1
  shift
  "$train" --labels exact --reward direct --embedding relative --queue level --hidden 64 \
    --batch 64 --nodes 30 --degree 6 --least-levels 5 --most-levels 20 \
    --test-nodes 30 --test-degree 6 --test-least-levels 5 --test-most-levels 20 \
    --test-graphs 256 --supervised-rate 2e-3 \
    --epoch 50 --test-every 100 --save-every 50 --seed 7 \
    --checkpoint "$folder/$name.ckpt" --curves "$folder/$name.csv" \
    --weights "$folder/$name.neapnet" "$@" | tee -a "$folder/$name.log"
}

if [[ $which != stages ]]; then
  run peak --task peak --mask ready --graphs 4096 --supervised 300 \
    --policy 1200 --policy-rate 5e-4
fi
if [[ $which != peak ]]; then
  run stages --task stages --mask visited --graphs 2048 --supervised 300 --policy 600 \
    --policy-rate 2e-3
fi
