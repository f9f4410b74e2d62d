# The reader and writer of .onnx, with the wire format of protocol buffers that it is made of.
list(APPEND formats_sources
  onnx/model.cc onnx/read.cc onnx/tensor_data.cc onnx/control_flow.cc onnx/order.cc onnx/write.cc
  onnx/wire_read.cc onnx/wire_write.cc)
list(APPEND formats_sources onnx/edit.cc onnx/export.cc onnx/part.cc onnx/parts.cc)
list(APPEND formats_tests onnx/onnx_test.cc onnx/corpus_test.cc onnx/export_test.cc onnx/wire_test.cc)
