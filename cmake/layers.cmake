# The architecture as data: the folder of every module, from the lowest to the highest, and the modules it
# may include, directly. A module has the name of its folder. neap_library() refuses a dependency that is
# not listed here, and the test `layering` compares the #include lines of the tree with this table.
#
# solve/ and census are pure combinatorics: they know no neural network. check links no solver and
# nothing that plans. lab/ is for studies: no other folder includes it but tools/, and it is not installed.
set(NEAP_MODULES
  neap/base neap/io neap/target neap/graph
  neap/solve/schedule neap/solve/arena neap/solve/traffic neap/solve/partition
  neap/solve/rematerialise neap/solve/units neap/learn
  neap/ops neap/formats neap/plan neap/check
  neap/compile neap/transform/stream neap/transform/rewrite neap/transform/cascade
  neap/transform/duplicate
  neap/execute neap/emit neap/deliver neap/stages neap/database neap/batch neap/serve
  neap/show/report neap/show/picture
  neap/session neap/api
  lab/census lab/zoo lab/bench)

# Not built for web pages (preset `web`): shared libraries, a database, a server, measurements.
set(NEAP_NOT_IN_WEB neap/database neap/batch neap/session neap/serve neap/api lab/census lab/bench)

set(NEAP_MAY_USE_base)
set(NEAP_MAY_USE_io        base)
set(NEAP_MAY_USE_target)
set(NEAP_MAY_USE_graph     base)
set(NEAP_MAY_USE_schedule  base)
set(NEAP_MAY_USE_arena     base)
set(NEAP_MAY_USE_traffic   base)
set(NEAP_MAY_USE_partition base)
set(NEAP_MAY_USE_rematerialise base)
set(NEAP_MAY_USE_units     base schedule)
set(NEAP_MAY_USE_learn     base schedule partition)
set(NEAP_MAY_USE_ops       base target graph)
set(NEAP_MAY_USE_formats   base io graph ops)
set(NEAP_MAY_USE_plan      base target graph ops)
set(NEAP_MAY_USE_check     base graph ops plan)
set(NEAP_MAY_USE_compile   base target graph ops schedule rematerialise learn arena traffic plan check)
set(NEAP_MAY_USE_stream    base graph ops schedule plan check compile)
set(NEAP_MAY_USE_rewrite   base graph ops plan check compile)
set(NEAP_MAY_USE_cascade   base graph ops plan check compile)
set(NEAP_MAY_USE_duplicate base graph ops)
set(NEAP_MAY_USE_execute   base graph ops plan)
set(NEAP_MAY_USE_emit    base io target graph ops plan execute)
set(NEAP_MAY_USE_deliver   base io target graph ops formats plan check stream compile rewrite cascade duplicate)
set(NEAP_MAY_USE_stages    base graph ops compile partition learn)
set(NEAP_MAY_USE_database  base)
set(NEAP_MAY_USE_batch     base io graph formats plan compile deliver database)
set(NEAP_MAY_USE_serve     base io deliver database)
set(NEAP_MAY_USE_report    base target graph ops formats plan check compile traffic deliver)
set(NEAP_MAY_USE_picture   base graph ops plan compile report)
set(NEAP_MAY_USE_session   base graph formats plan check cascade execute emit compile deliver)
set(NEAP_MAY_USE_api       base schedule arena graph plan execute emit deliver session)
set(NEAP_MAY_USE_census    base schedule)
set(NEAP_MAY_USE_zoo       base graph execute)
set(NEAP_MAY_USE_bench     base graph ops compile stream rewrite cascade stages partition schedule arena traffic census zoo execute report picture)

# The public headers of the modules: what other modules, tools and tests may include. None of them is
# installed (cmake/install.cmake). The test `layering` checks that they include each other, the standard
# library and tl/expected.hpp only.
set(NEAP_PUBLIC_HEADERS
  neap/base/ahead.h neap/base/bit_cast.h neap/base/bytes.h neap/base/check.h neap/base/diagnostic.h neap/base/id.h
  neap/base/index.h neap/base/limits.h neap/base/nearest.h neap/base/random.h neap/base/result.h neap/base/step_time.h
  neap/base/topological_order.h neap/base/version.h neap/base/work.h
  neap/io/file.h neap/io/gzip.h
  neap/target/board.h neap/target/cmsis_nn.h neap/target/esp_nn.h neap/target/target.h neap/target/window_sizes.h
  neap/graph/element_type.h neap/graph/graph.h
  neap/solve/schedule/check.h neap/solve/schedule/max_flow.h neap/solve/schedule/problem.h neap/solve/schedule/question.h
  neap/solve/schedule/schedule.h
  neap/solve/arena/arena.h neap/solve/arena/check.h neap/solve/arena/csv.h neap/solve/arena/memories.h
  neap/solve/arena/problem.h
  neap/solve/rematerialise/check.h neap/solve/rematerialise/problem.h neap/solve/rematerialise/rematerialise.h
  neap/solve/traffic/blocks.h neap/solve/traffic/check.h neap/solve/traffic/optimum.h
  neap/solve/traffic/policy.h neap/solve/traffic/problem.h neap/solve/traffic/traffic.h
  neap/solve/partition/baselines.h neap/solve/partition/certificate.h neap/solve/partition/check.h
  neap/solve/partition/cut.h neap/solve/partition/partition.h neap/solve/partition/problem.h
  neap/solve/partition/simulate.h
  neap/solve/units/check.h neap/solve/units/problem.h neap/solve/units/units.h
  neap/learn/dag.h neap/learn/dataset.h neap/learn/embedding.h neap/learn/labels.h neap/learn/model.h
  neap/learn/network.h neap/learn/peak.h neap/learn/reference_cases.h neap/learn/repair.h
  neap/learn/sampler.h neap/learn/stages.h
  neap/ops/custom_options.h neap/ops/defined_shapes.h neap/ops/dependence.h neap/ops/litert.h neap/ops/macs.h neap/ops/onnx_shapes.h neap/ops/op_kind.h neap/ops/op_table.h neap/ops/neap_rt.h neap/ops/overlap.h
  neap/ops/recurrence.h neap/ops/resize.h neap/ops/state.h neap/ops/stock_kernels.h neap/ops/tflm_scratch.h neap/ops/traits.h
  neap/ops/window.h
  neap/formats/formats.h
  neap/plan/plan.h neap/plan/plan_json.h neap/plan/profile.h neap/plan/stream.h neap/plan/stream_boxes.h neap/plan/stream_weights.h
  neap/check/channel_check.h neap/check/key_block_check.h neap/check/check.h neap/check/repetition_check.h neap/check/offsets_check.h neap/check/runtime_check.h
  neap/compile/attention_order.h neap/compile/compile.h neap/compile/decompression.h neap/compile/entry_memory.h neap/compile/headline.h neap/compile/peak_question.h
  neap/compile/repetition.h
  neap/transform/stream/entries.h neap/transform/stream/instructions.h neap/transform/stream/options.h neap/transform/stream/stream.h
  neap/transform/rewrite/channels/dead.h neap/transform/rewrite/interface.h neap/transform/rewrite/rewrite.h
  neap/transform/cascade/block_engine.h neap/transform/cascade/copies.h neap/transform/cascade/device.h neap/transform/cascade/plan.h
  neap/transform/cascade/region.h neap/transform/cascade/tiles_check.h
  neap/transform/duplicate/duplicate.h
  neap/emit/emit.h
  neap/execute/compare.h neap/execute/evaluate.h neap/execute/fixed_functions.h neap/execute/fixed_point.h
  neap/execute/inline_calls.h neap/execute/inputs.h
  neap/execute/npz.h neap/execute/run.h neap/execute/value.h
  neap/deliver/advice.h neap/deliver/boards.h neap/deliver/deliver.h neap/deliver/dims.h neap/deliver/edits.h neap/deliver/explain.h neap/deliver/front.h neap/deliver/interface.h
  neap/deliver/kind.h
  neap/deliver/measure.h neap/deliver/options.h neap/deliver/price.h neap/deliver/rewriting.h neap/deliver/written_model.h
  neap/stages/assign.h neap/stages/accelerator.h neap/stages/infeasible.h neap/stages/lower.h neap/stages/parts.h
  neap/database/answers.h neap/database/database.h neap/batch/batch.h
  neap/serve/request.h neap/serve/serve.h
  neap/session/session.h
  neap/show/report/explain_report.h neap/show/report/names.h neap/show/report/printable.h neap/show/report/report.h
  neap/show/report/text.h neap/show/report/traffic_report.h
  neap/show/picture/chart.h neap/show/picture/picture.h
  lab/census/census.h lab/census/natural.h
  lab/zoo/quantize.h lab/zoo/tflite.h lab/zoo/zoo.h
  lab/bench/bench.h)
