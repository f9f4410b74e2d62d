# Made by scripts/make_reference.py.
_neap() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
  local verb=${COMP_WORDS[1]} options= words=
  if [[ $COMP_CWORD -eq 1 ]]; then
    mapfile -t COMPREPLY < <(compgen -W "explain plan boards check-budget inspect check run emit zoo batch place pareto bench pipeline units serve traffic" -- "$word"; compgen -f -- "$word")
    return
  fi
  case "$verb" in
    explain)
      options="--dim --runtime --time-limit --json --quiet --color -h --help"
      case "$before" in
        --color) words="auto never" ;;
      esac ;;
    plan)
      options="--dim -o --output --plan --emit-c --html --svg --csv --scratch --require-optimal --force --json --quiet --color --runtime --target --board --reserve --budget --budget-activations --budget-total --overlap --integer-io --effort --registered --time-limit --order --seed --forced --slack --step-states --soft-budget --order-only --no-memory-plan --keep-inputs --memory --moves --rewrite --rules --rewrite-work --accumulator-bytes --recompute --cascade --cascade-bodies --device --max-region-operators --max-region-tiles --max-tile-aspect --tile-grids --stream --input --fast --prefetch --slow-weights --max-macs --block-columns --max-states --max-memory --threads --skip -h --help --help-all"
      case "$before" in
        --color) words="auto never" ;;
        --overlap) words="copies tflm-reference cmsis-nn cmsis-nn-scalar cmsis-nn-dsp cmsis-nn-mve esp-nn neap neap-rt" ;;
        --integer-io) words="inputs outputs both" ;;
        --effort) words="quick default thorough" ;;
        --forced) words="none single sets proven relaxed" ;;
        --moves) words="none compact best" ;;
        --rewrite) words="none bitwise reassociate serenity" ;;
        --accumulator-bytes) words="4 1" ;;
        --cascade) words="auto off" ;;
        --cascade-bodies) words="clones shared" ;;
        --tile-grids) words="auto all" ;;
        --stream) words="auto off" ;;
        --input) words="resident external rows" ;;
      esac ;;
    boards)
      options="--dim --reserve --cascade --cascade-bodies --max-states --time-limit --max-memory --json --quiet --color -h --help --help-all"
      case "$before" in
        --cascade) words="auto off" ;;
        --cascade-bodies) words="clones shared" ;;
        --color) words="auto never" ;;
      esac ;;
    check-budget)
      options="--baseline --max-growth --sarif --force --board --reserve --overlap --cascade --cascade-bodies --max-states --time-limit --max-memory --json --quiet --color -h --help --help-all"
      case "$before" in
        --overlap) words="copies tflm-reference cmsis-nn cmsis-nn-scalar cmsis-nn-dsp cmsis-nn-mve esp-nn neap neap-rt" ;;
        --cascade) words="auto off" ;;
        --cascade-bodies) words="clones shared" ;;
        --color) words="auto never" ;;
      esac ;;
    inspect)
      options="--dim --runtime --top --all --ascii --html --svg --csv --trace --timeline --dot --model-explorer --force --json --quiet --color -h --help"
      case "$before" in
        --color) words="auto never" ;;
      esac ;;
    check)
      options="--dim --scratch --replay --max-states --json --quiet --color -h --help"
      case "$before" in
        --color) words="auto never" ;;
      esac ;;
    run)
      options="--plan --inputs --random-inputs --save-inputs --outputs --trace --compare --tolerance --kernels --subgraph --max-memory --dim --force --json --quiet --color -h --help"
      case "$before" in
        --kernels) words="tflm litert onnx" ;;
        --color) words="auto never" ;;
      esac ;;
    emit)
      options="--dim -o --output --plan --received-plans --binary-plan --prefix --single-file --weights --kernels --max-slowdown --optimize --force --json --quiet --color --runtime --target --board --reserve --budget --budget-activations --budget-total --overlap --integer-io --effort --registered --time-limit --order --seed --forced --slack --step-states --soft-budget --order-only --no-memory-plan --keep-inputs --memory --moves --rewrite --rules --rewrite-work --accumulator-bytes --recompute --cascade --cascade-bodies --device --max-region-operators --max-region-tiles --max-tile-aspect --tile-grids --stream --input --fast --prefetch --slow-weights --max-macs --block-columns --max-states --max-memory --threads --skip -h --help --help-all"
      case "$before" in
        --weights) words="c bin" ;;
        --optimize) words="speed flash" ;;
        --color) words="auto never" ;;
        --overlap) words="copies tflm-reference cmsis-nn cmsis-nn-scalar cmsis-nn-dsp cmsis-nn-mve esp-nn neap neap-rt" ;;
        --integer-io) words="inputs outputs both" ;;
        --effort) words="quick default thorough" ;;
        --forced) words="none single sets proven relaxed" ;;
        --moves) words="none compact best" ;;
        --rewrite) words="none bitwise reassociate serenity" ;;
        --accumulator-bytes) words="4 1" ;;
        --cascade) words="auto off" ;;
        --cascade-bodies) words="clones shared" ;;
        --tile-grids) words="auto all" ;;
        --stream) words="auto off" ;;
        --input) words="resident external rows" ;;
      esac ;;
    zoo)
      options="--list -o --output --format --int8 --seed --width --nodes --width-multiplier --resolution --force --quiet -h --help"
      case "$before" in
        --format) words="onnx tflite" ;;
      esac ;;
    batch)
      options="-o --output --resume --shard --store --jobs --order-only --dim --max-states --runtime --rewrite --rules --rewrite-work --accumulator-bytes --time-limit --max-memory --strict --force --quiet -h --help --help-all"
      case "$before" in
        --rewrite) words="none bitwise reassociate serenity" ;;
        --accumulator-bytes) words="4 1" ;;
      esac ;;
    place)
      options="-o --output --capacity --max-states --time-limit --seed --require-optimal --force --json --quiet --color -h --help"
      case "$before" in
        --color) words="auto never" ;;
      esac ;;
    pareto)
      options="--dim --runtime --criteria --features --input --target --plans --html --force --time-limit --json --quiet --color --device --overlap --integer-io --max-region-operators --max-region-tiles --max-tile-aspect --tile-grids -h --help --help-all"
      case "$before" in
        --features) words="all tiles" ;;
        --input) words="resident external rows" ;;
        --target) words="cortex-m4 cortex-m55" ;;
        --color) words="auto never" ;;
        --overlap) words="copies tflm-reference cmsis-nn cmsis-nn-scalar cmsis-nn-dsp cmsis-nn-mve esp-nn neap neap-rt" ;;
        --integer-io) words="inputs outputs both" ;;
        --tile-grids) words="auto all" ;;
      esac ;;
    bench)
      options="--list --quick --json --markdown --html --svg --expect --store --force --quiet -h --help"
      case "$before" in
      esac ;;
    pipeline)
      options="--stages --device --method --weights --objective --children-together --parameter-limit --activation-limit --layers --dim -o --output --items --queue --shared-link --no-simulation --max-states --time-limit --require-optimal --force --json --quiet --color -h --help"
      case "$before" in
        --objective) words="time parameters" ;;
        --color) words="auto never" ;;
      esac ;;
    units)
      options="--dim --runtime --units --makespan --budget --front --html --max-states --time-limit --require-optimal --force --json --quiet --color -h --help"
      case "$before" in
        --color) words="auto never" ;;
      esac ;;
    serve)
      options="--store --listen --port --tokens --host --allow-origin --page --jobs --queue --max-model --max-store --keep-hours --job-memory --job-seconds --job-files --connections --uploads --streams --drain-seconds -h --help --help-all"
      case "$before" in
      esac ;;
    traffic)
      options="--dim --runtime --plan --on-chip --block --ends --max-states --json --quiet --color -h --help"
      case "$before" in
        --ends) words="on-chip off-chip" ;;
        --color) words="auto never" ;;
      esac ;;
  esac
  if [[ -n $words ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
  elif [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
  fi
}
complete -o filenames -F _neap neap
