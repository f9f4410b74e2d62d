// SPDX-License-Identifier: Apache-2.0
//
// The messages of an ONNX file by the public field numbers of the format. Codes are plain numbers,
// an absent field differs from one that is zero, and unknown fields are kept, so that a file that
// is written again loses nothing. Messages that Neap does not read are kept as bytes (Unread, or
// Text where they are repeated). Private to neap/formats/onnx.
//
// Visit(message, visitor) calls visitor(number, field) for every field in the order of the numbers,
// which is the order in a written file.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "neap/formats/onnx/fields.h"

namespace neap::formats::onnx::pb {

struct GraphProto;

struct StringStringEntryProto {
  Text key;
  Text value;
  Unknown unknown;

  static void Visit(auto& m, const auto& visitor) {
    visitor(1, m.key);
    visitor(2, m.value);
  }
};

struct TensorProto {
  std::vector<std::int64_t> dims;
  std::optional<std::int32_t> data_type;
  Unread segment;
  Packed<float> float_data;
  Packed<std::int32_t> int32_data;
  std::vector<Text> string_data;
  Packed<std::int64_t> int64_data;
  Text name;
  Text raw_data;
  Packed<double> double_data;
  Packed<std::uint64_t> uint64_data;
  Text doc_string;
  std::vector<StringStringEntryProto> external_data;
  std::optional<std::int32_t> data_location;  // 0: here, 1: in another file
  std::vector<Unread> metadata_props;
  Unknown unknown;

  static void Visit(auto& m, const auto& visitor) {
    visitor(1, m.dims);
    visitor(2, m.data_type);
    visitor(3, m.segment);
    visitor(4, m.float_data);
    visitor(5, m.int32_data);
    visitor(6, m.string_data);
    visitor(7, m.int64_data);
    visitor(8, m.name);
    visitor(9, m.raw_data);
    visitor(10, m.double_data);
    visitor(11, m.uint64_data);
    visitor(12, m.doc_string);
    visitor(13, m.external_data);
    visitor(14, m.data_location);
    visitor(16, m.metadata_props);
  }
};

struct SparseTensorProto {
  Box<TensorProto> values;
  Unread indices;
  std::vector<std::int64_t> dims;
  Unknown unknown;

  std::string_view Name() const { return values ? values->name.view() : std::string_view(); }

  static void Visit(auto& m, const auto& visitor) {
    visitor(1, m.values);
    visitor(2, m.indices);
    visitor(3, m.dims);
  }
};

struct Dimension {
  std::optional<std::int64_t> dim_value;
  Text dim_param;
  Text denotation;
  Unknown unknown;

  // A dimension is a value or a name: the last in the file counts.
  void KeepOnly(int number) {
    if (number == 1) dim_param.Clear();
    if (number == 2) dim_value.reset();
  }

  static void Visit(auto& m, const auto& visitor) {
    visitor(1, m.dim_value);
    visitor(2, m.dim_param);
    visitor(3, m.denotation);
  }
};

struct TensorShapeProto {
  std::vector<Dimension> dim;
  Unknown unknown;

  static void Visit(auto& m, const auto& visitor) { visitor(1, m.dim); }
};

struct TensorTypeProto {
  std::optional<std::int32_t> elem_type;
  Box<TensorShapeProto> shape;
  Unknown unknown;

  static void Visit(auto& m, const auto& visitor) {
    visitor(1, m.elem_type);
    visitor(2, m.shape);
  }
};

struct TypeProto {
  Box<TensorTypeProto> tensor_type;
  Unread sequence_type;
  Unread map_type;
  Text denotation;
  Unread opaque_type;
  Unread sparse_tensor_type;
  Unread optional_type;
  Unknown unknown;

  bool IsOtherKind() const {
    return sequence_type.bytes.present() || map_type.bytes.present() ||
           opaque_type.bytes.present() || sparse_tensor_type.bytes.present() ||
           optional_type.bytes.present();
  }
  // A type is of one kind: the last in the file counts.
  void KeepOnly(int number) {
    if (number == 6) return;
    if (number != 1) tensor_type.Clear();
    if (number != 4) sequence_type.bytes.Clear();
    if (number != 5) map_type.bytes.Clear();
    if (number != 7) opaque_type.bytes.Clear();
    if (number != 8) sparse_tensor_type.bytes.Clear();
    if (number != 9) optional_type.bytes.Clear();
  }

  static void Visit(auto& m, const auto& visitor) {
    visitor(1, m.tensor_type);
    visitor(4, m.sequence_type);
    visitor(5, m.map_type);
    visitor(6, m.denotation);
    visitor(7, m.opaque_type);
    visitor(8, m.sparse_tensor_type);
    visitor(9, m.optional_type);
  }
};

struct ValueInfoProto {
  Text name;
  Box<TypeProto> type;
  Text doc_string;
  std::vector<Unread> metadata_props;
  Unknown unknown;

  static void Visit(auto& m, const auto& visitor) {
    visitor(1, m.name);
    visitor(2, m.type);
    visitor(3, m.doc_string);
    visitor(4, m.metadata_props);
  }
};

struct AttributeProto {
  Text name;
  std::optional<float> f;
  std::optional<std::int64_t> i;
  Text s;
  Box<TensorProto> t;
  Box<GraphProto> g;
  std::vector<float> floats;
  std::vector<std::int64_t> ints;
  std::vector<Text> strings;
  std::vector<TensorProto> tensors;
  std::vector<GraphProto> graphs;
  Text doc_string;
  Unread tp;
  std::vector<Unread> type_protos;
  // 1 float, 2 int, 3 string, 4 tensor, 5 graph, 6 floats, 7 ints, 8 strings, 9 tensors, 10 graphs,
  // 11 sparse tensor, 12 sparse tensors, 13 type, 14 types
  std::optional<std::int32_t> type;
  Text ref_attr_name;
  Box<SparseTensorProto> sparse_tensor;
  std::vector<Unread> sparse_tensors;
  Unknown unknown;

  static void Visit(auto& m, const auto& visitor) {
    visitor(1, m.name);
    visitor(2, m.f);
    visitor(3, m.i);
    visitor(4, m.s);
    visitor(5, m.t);
    visitor(6, m.g);
    visitor(7, m.floats);
    visitor(8, m.ints);
    visitor(9, m.strings);
    visitor(10, m.tensors);
    visitor(11, m.graphs);
    visitor(13, m.doc_string);
    visitor(14, m.tp);
    visitor(15, m.type_protos);
    visitor(20, m.type);
    visitor(21, m.ref_attr_name);
    visitor(22, m.sparse_tensor);
    visitor(23, m.sparse_tensors);
  }
};

struct NodeProto {
  std::vector<Text> input;
  std::vector<Text> output;
  Text name;
  Text op_type;
  std::vector<AttributeProto> attribute;
  Text doc_string;
  Text domain;
  Text overload;
  std::vector<Unread> metadata_props;
  Unknown unknown;

  static void Visit(auto& m, const auto& visitor) {
    visitor(1, m.input);
    visitor(2, m.output);
    visitor(3, m.name);
    visitor(4, m.op_type);
    visitor(5, m.attribute);
    visitor(6, m.doc_string);
    visitor(7, m.domain);
    visitor(8, m.overload);
    visitor(9, m.metadata_props);
  }
};

struct GraphProto {
  std::vector<NodeProto> node;
  Text name;
  std::vector<TensorProto> initializer;
  Text doc_string;
  std::vector<ValueInfoProto> input;
  std::vector<ValueInfoProto> output;
  std::vector<ValueInfoProto> value_info;
  std::vector<Unread> quantization_annotation;
  std::vector<SparseTensorProto> sparse_initializer;
  std::vector<Unread> metadata_props;
  Unknown unknown;

  static void Visit(auto& m, const auto& visitor) {
    visitor(1, m.node);
    visitor(2, m.name);
    visitor(5, m.initializer);
    visitor(10, m.doc_string);
    visitor(11, m.input);
    visitor(12, m.output);
    visitor(13, m.value_info);
    visitor(14, m.quantization_annotation);
    visitor(15, m.sparse_initializer);
    visitor(16, m.metadata_props);
  }
};

struct OperatorSetIdProto {
  Text domain;
  std::optional<std::int64_t> version;
  Unknown unknown;

  static void Visit(auto& m, const auto& visitor) {
    visitor(1, m.domain);
    visitor(2, m.version);
  }
};

struct ModelProto {
  std::optional<std::int64_t> ir_version;
  Text producer_name;
  Text producer_version;
  Text domain;
  std::optional<std::int64_t> model_version;
  Text doc_string;
  Box<GraphProto> graph;
  std::vector<OperatorSetIdProto> opset_import;
  std::vector<Unread> metadata_props;
  std::vector<Unread> training_info;
  std::vector<Unread> functions;
  Unknown unknown;

  static void Visit(auto& m, const auto& visitor) {
    visitor(1, m.ir_version);
    visitor(2, m.producer_name);
    visitor(3, m.producer_version);
    visitor(4, m.domain);
    visitor(5, m.model_version);
    visitor(6, m.doc_string);
    visitor(7, m.graph);
    visitor(8, m.opset_import);
    visitor(14, m.metadata_props);
    visitor(20, m.training_info);
    visitor(25, m.functions);
  }
};

}  // namespace neap::formats::onnx::pb
