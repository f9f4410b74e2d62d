set(tflite_schema ${PROJECT_SOURCE_DIR}/schemas/tflite.fbs)
add_custom_command(
  OUTPUT ${generated}/tflite_generated.h
  COMMAND ${NEAP_FLATC} --cpp --scoped-enums -o ${generated} ${tflite_schema}
  DEPENDS ${tflite_schema}
  COMMENT "Generating the reader of schemas/tflite.fbs")
list(APPEND formats_sources
  ${generated}/tflite_generated.h
  tflite/compression.cc
  tflite/control_dependencies.cc
  tflite/edit.cc
  tflite/element_types.cc
  tflite/export.cc
  tflite/memory_plan.cc
  tflite/model_view.cc
  tflite/op_version.cc
  tflite/options.cc
  tflite/options_write.cc
  tflite/part.cc
  tflite/parts.cc
  tflite/read.cc
  tflite/runtime_view.cc
  tflite/splice.cc
  tflite/write.cc
  tflite/zip_shift.cc)
list(APPEND formats_tests
  tflite/compression_test.cc
  tflite/control_dependencies_test.cc
  tflite/export_test.cc
  tflite/options_test.cc
  tflite/read_test.cc
  tflite/write_test.cc
  tflite/write_plan_test.cc
  tflite/zip_shift_test.cc
  tflite/hostile_test.cc
  tflite/public_models_test.cc)
