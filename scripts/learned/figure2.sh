#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The training runs behind the curves of docs/algorithms/learned.md (Figure 2 of the document, a to f), one
# after another, one thread: figure2.sh NEAP_TRAIN FOLDER [CONFIGURATION...]. Every configuration is
# trained with every seed of SEEDS; a run whose curves exist is skipped, an interrupted run resumes
# from its checkpoint. scripts/learned/seeds.py FOLDER joins the curves and prints mean and spread.
#
#   SEEDS          default: 1 2 3 4 5
#   STEPS          policy steps of a run; default: 400
#   DECODER_STEPS  the same for Transformer decoders, whose steps take some fifteen times as long;
#                  default: 100
#   DOCUMENT=1     the document's settings: hidden width 256, batches of 128, rate 1e-4 (1e-6 for
#                  the configurations), 128,000 graphs, 300 epochs of 1,000 batches. About three days
#                  of one core for each run of an LSTM decoder.
set -euo pipefail
train=$1
folder=$2
shift 2
seeds=${SEEDS:-1 2 3 4 5}
steps=${STEPS:-400}
decoder_steps=${DECODER_STEPS:-100}
mkdir -p "$folder"
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

# In this order: the claims that need the seeds most come first.
configurations=("$@")
if [[ $# -eq 0 ]]; then
  configurations=(asap-degree6 asap-transformer-lstm asap-degree3 asap-degree4 asap-degree5
    alap-degree6 asap-degree3-test3 alap-degree3 alap-relative asap-relative
    asap-lstm-transformer asap-transformer-transformer)
fi

options_of() {  # CONFIGURATION: what differs
  case "$1" in
    asap-degree[3-6]) echo "--labels asap --degree ${1: -1}" ;;
    alap-degree6) echo "--labels alap --degree 6" ;;
    alap-degree3) echo "--labels alap --degree 3 --test-degree 3" ;;
    asap-degree3-test3) echo "--labels asap --degree 3 --test-degree 3" ;;
    # Not in the document: an embedding that includes the height above the sinks.
    alap-relative) echo "--labels alap --degree 6 --embedding relative" ;;
    asap-relative) echo "--labels asap --degree 6 --embedding relative" ;;
    asap-transformer-lstm) echo "--labels asap --degree 6 --encoder transformer" ;;
    asap-lstm-transformer) echo "--labels asap --degree 6 --decoder transformer" ;;
    asap-transformer-transformer)
      echo "--labels asap --degree 6 --encoder transformer --decoder transformer" ;;
    *) echo "$0: no configuration '$1'" >&2; return 1 ;;
  esac
}

# Graphs of 30 nodes, cosine reward from the first step on; tested on graphs of 50 nodes.
run() {  # CONFIGURATION SEED
  local name=$1.seed$2 count=$steps words
  if [[ -f $folder/$name.csv ]]; then return; fi
  read -ra words <<<"$(options_of "$1")"
  [[ $1 == *-lstm-transformer || $1 == *-transformer-transformer ]] && count=$decoder_steps
  if [[ " ${words[*]} " != *" --embedding "* ]]; then words+=(--embedding document); fi
  if [[ ${DOCUMENT:-0} -eq 1 ]]; then
    local rate=1e-4
    [[ $1 == *-lstm || $1 == *-transformer ]] && rate=1e-6
    words+=(--hidden 256 --batch 128 --graphs 128000 --policy 300000 --policy-rate "$rate"
      --epoch 1000 --test-graphs 1024 --test-every 1000 --save-every 1000)
  else
    words+=(--hidden 32 --batch 32 --graphs 4096 --policy "$count" --policy-rate 2e-3
      --epoch 25 --test-graphs 128 --test-every 20 --save-every 100)
  fi
  "$train" --queue number --seed "$2" --test-nodes 50 --test-least-levels 16 \
    --test-most-levels 40 --checkpoint "$folder/$name.ckpt" --curves "$folder/$name.csv" \
    "${words[@]}" | tee "$folder/$name.log"
  rm -f "$folder/$name.ckpt"
}

for configuration in "${configurations[@]}"; do
  for seed in $seeds; do run "$configuration" "$seed"; done
done
