# `cmake --install`: the program, the two libraries with their three headers, find_package(neap) and
# pkg-config.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# The doors of the modules: what other modules, tools and tests may include. None of them is installed.
# The test `layering` sees to it that they include each other, the standard library and
# tl/expected.hpp only.
set(NEAP_PUBLIC_HEADERS
  arena/arena.h arena/check.h arena/csv.h arena/memories.h arena/problem.h
  base/bytes.h base/check.h base/diagnostic.h base/id.h base/index.h base/limits.h base/random.h base/result.h base/version.h base/work.h
  batch/batch.h
  bench/bench.h
  cascade/copies.h cascade/device.h cascade/plan.h cascade/region.h cascade/stripe.h cascade/tiles_check.h
  census/census.h census/natural.h
  compile/compile.h compile/entry_memory.h compile/headline.h compile/peak_question.h compile/stream.h
  deliver/deliver.h deliver/dims.h deliver/edits.h deliver/interface.h deliver/measure.h deliver/options.h
  deliver/rewriting.h deliver/written_model.h
  execute/compare.h execute/evaluate.h execute/inline_calls.h execute/inputs.h execute/npz.h execute/run.h
  execute/value.h
  formats/formats.h
  graph/element_type.h graph/graph.h
  io/file.h io/gzip.h
  learn/dag.h learn/dataset.h learn/embedding.h learn/labels.h learn/model.h learn/network.h learn/peak.h
  learn/reference_cases.h learn/repair.h learn/sampler.h learn/stages.h
  ops/dependence.h ops/litert.h ops/macs.h ops/onnx_shapes.h ops/overlap.h ops/resize.h ops/state.h ops/stock_kernels.h
  ops/tflm_scratch.h ops/traits.h ops/window.h
  picture/chart.h picture/picture.h
  pipeline/baselines.h pipeline/certificate.h pipeline/check.h pipeline/cut.h pipeline/pipeline.h
  pipeline/problem.h pipeline/simulate.h
  plan/check.h plan/offsets_check.h plan/plan.h plan/plan_json.h plan/profile.h plan/runtime_check.h
  plan/stream.h
  report/report.h report/text.h report/traffic_report.h
  rewrite/interface.h rewrite/rewrite.h
  schedule/check.h schedule/problem.h schedule/question.h schedule/schedule.h
  stages/assign.h stages/device.h stages/infeasible.h stages/lower.h stages/parts.h
  stream/options.h stream/stream.h
  traffic/blocks.h traffic/check.h traffic/optimum.h traffic/policy.h traffic/problem.h traffic/traffic.h
  zoo/quantize.h zoo/tflite.h zoo/zoo.h)

install(TARGETS neap RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS neap_shared EXPORT neapTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS neap_solvers EXPORT neapSolversTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
set(neap_headers neap.h neap_c.h neap_solvers.h)
list(TRANSFORM neap_headers PREPEND ${PROJECT_SOURCE_DIR}/neap/api/)
install(FILES ${neap_headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/neap)
# From where the .pc files are, so that what was installed may be moved.
file(RELATIVE_PATH neap_pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
foreach(library neap neap-solvers)
  configure_file(cmake/${library}.pc.in ${PROJECT_BINARY_DIR}/${library}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${library}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

set(neap_config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/neap)
install(EXPORT neapTargets NAMESPACE neap:: DESTINATION ${neap_config_folder})
install(EXPORT neapSolversTargets NAMESPACE neap:: DESTINATION ${neap_config_folder})
configure_package_config_file(cmake/neapConfig.cmake.in ${PROJECT_BINARY_DIR}/neapConfig.cmake
  INSTALL_DESTINATION ${neap_config_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/neapConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/neapConfig.cmake ${PROJECT_BINARY_DIR}/neapConfigVersion.cmake
        DESTINATION ${neap_config_folder})
install(FILES share/man/neap.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES share/completions/neap.bash RENAME neap
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES share/completions/_neap DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES share/completions/neap.fish
        DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/neap)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/schemas DESTINATION ${CMAKE_INSTALL_DATADIR}/neap
        FILES_MATCHING PATTERN "*.schema.json")
