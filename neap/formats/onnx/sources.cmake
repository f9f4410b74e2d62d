# The reader and writer of .onnx; the generated code is built without our warnings.
add_custom_command(
  OUTPUT ${generated}/neap_onnx.pb.cc ${generated}/neap_onnx.pb.h
  COMMAND protobuf::protoc --proto_path=${PROJECT_SOURCE_DIR}/schemas --cpp_out=${generated}
          ${PROJECT_SOURCE_DIR}/schemas/neap_onnx.proto
  DEPENDS ${PROJECT_SOURCE_DIR}/schemas/neap_onnx.proto
  VERBATIM)
add_library(neap_onnx_proto OBJECT ${generated}/neap_onnx.pb.cc ${generated}/neap_onnx.pb.h)
target_include_directories(neap_onnx_proto SYSTEM PUBLIC ${generated})
target_link_libraries(neap_onnx_proto PUBLIC protobuf::libprotobuf-lite)

list(APPEND formats_sources
  onnx/model.cc onnx/read.cc onnx/tensor_data.cc onnx/control_flow.cc onnx/order.cc onnx/write.cc)
list(APPEND formats_sources onnx/edit.cc onnx/export.cc onnx/part.cc onnx/parts.cc)
list(APPEND formats_tests onnx/onnx_test.cc onnx/corpus_test.cc onnx/export_test.cc)
list(APPEND formats_libs $<BUILD_INTERFACE:neap_onnx_proto> protobuf::libprotobuf-lite)
