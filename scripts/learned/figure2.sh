#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The training runs behind the curves of docs/learned.md (Figure 2 of the document, a to f), one
# after another, one thread: figure2.sh NEAP_TRAIN FOLDER. A run whose curves exist is skipped, one
# that was ended goes on from its checkpoint. STEPS: of each run; default 400.
set -euo pipefail
train=$1
folder=$2
steps=${STEPS:-400}
mkdir -p "$folder"

# name, then what differs: graphs of 30 nodes, cosine reward from the first step on, the document's
# embedding; tested on 128 graphs of 50 nodes and degree 6.
run() {
  local name=$1
  shift
  if [[ -f $folder/$name.csv ]]; then return; fi
  "$train" --embedding "${embedding:-document}" --queue number --hidden 32 --batch 32 --graphs 4096 \
    --policy "$steps" --policy-rate 2e-3 --epoch 25 --seed 2026 \
    --test-nodes 50 --test-least-levels 16 --test-most-levels 40 --test-graphs 128 \
    --test-every 20 --save-every 100 \
    --checkpoint "$folder/$name.ckpt" --curves "$folder/$name.csv" "$@" | tee "$folder/$name.log"
  rm -f "$folder/$name.ckpt"
}

run asap-degree6 --labels asap --degree 6
run asap-degree5 --labels asap --degree 5
run asap-degree4 --labels asap --degree 4
run asap-degree3 --labels asap --degree 3
run alap-degree6 --labels alap --degree 6
run alap-degree3 --labels alap --degree 3 --test-degree 3
run asap-degree3-test3 --labels asap --degree 3 --test-degree 3
# Not in the document: ALAP with an embedding that tells the height above the sinks.
embedding=relative run alap-relative --labels alap --degree 6
embedding=relative run asap-relative --labels asap --degree 6
run asap-transformer-lstm --labels asap --degree 6 --encoder transformer
run asap-lstm-transformer --labels asap --degree 6 --decoder transformer
run asap-transformer-transformer --labels asap --degree 6 --encoder transformer --decoder transformer
