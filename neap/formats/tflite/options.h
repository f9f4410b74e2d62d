// SPDX-License-Identifier: Apache-2.0
//
// The fields of the options of TensorFlow Lite's built-in operators, as one table for reading and
// writing: for every kind of options its fields by slot, type and default. A field becomes the
// attribute of the same name (graph::Op::attributes): integers, booleans and enumerations as
// integers, floats as doubles, lists and texts as such. Source: slot numbers, names and defaults of
// the public format, version 3. Private to neap/formats/tflite.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "neap/base/result.h"
#include "neap/formats/tflite/model_view.h"
#include "neap/graph/graph.h"
#include "neap/ops/op_kind.h"

namespace neap::formats::tflite {

// Attributes of operators that are not in their options: the bytes of a custom operator, and the
// tensors (as numbers) whose quantisation an LSTM of integers needs.
inline constexpr char kCustomOptions[] = "custom_options";
inline constexpr char kIntermediates[] = "intermediates";

enum class OptionType : std::uint8_t { kByte, kBool, kInt, kLong, kFloat, kInts, kFloats, kText };

struct OptionField {
  std::string_view name;
  std::uint16_t slot = 0;
  OptionType type = OptionType::kInt;
  std::int64_t default_value = 0;  // of numbers; lists and texts are empty by default
};
// Byte offset in the vtable of the entry that locates the field.
constexpr std::uint16_t OffsetOf(const OptionField& field) {
  return static_cast<std::uint16_t>(4 + 2 * field.slot);
}

// The number of builtin_options_type and the fields of such a table.
struct OptionTable {
  std::uint8_t kind = 0;
  std::span<const OptionField> fields;
};

// nullptr: options without fields that Neap knows (the subgraphs of control flow are bodies, not
// attributes).
const OptionTable* OptionTableOf(std::uint8_t kind);

// The kind of options that such operators carry; 0: none.
std::uint8_t OptionsKindOf(ops::OpKind op);

// All fields of the operator's options, absent ones with their defaults. Nothing when it has no
// options or options of a kind that has no table. Fails with kBadInput when a field is outside the
// file.
Result<std::map<std::string, graph::Attribute>> ReadOptions(std::span<const std::byte> file,
                                                            const schema::Operator& source);

// The options of a built-in operator as a table in the file that `builder` writes; a null offset
// for operators without options. Fields without an attribute get their default. Fails with
// kBadInput when an attribute is not an option of operators of this type, or has a value that its
// field cannot represent; the attributes named in `elsewhere` are not for the table.
Result<flatbuffers::Offset<schema::OperatorOptions>> WriteOptions(
    const graph::Op& op, std::span<const std::string_view> elsewhere,
    flatbuffers::FlatBufferBuilder* builder);

}  // namespace neap::formats::tflite
