// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "neap/formats/tflite/options.h"

#include "neap/ops/op_table.h"

namespace neap::formats::tflite {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::voffset_t;

Diagnostic WrongValue(const OptionField& field, const char* expected) {
  return BadInput("attribute '" + std::string(field.name) + "' is not " + expected);
}

// A field with its value: the number, or the position of a list or text, which is outside of the
// table. Empty ones are left out, like any default.
struct Prepared {
  const OptionField* field = nullptr;
  flatbuffers::Offset<void> outside;
  std::int64_t integer = 0;
  double real = 0;
};

struct Limits {
  std::int64_t low = 0;
  std::int64_t high = 0;
};
Limits LimitsOf(OptionType type) {
  switch (type) {
    case OptionType::kByte:
      return {std::numeric_limits<std::int8_t>::min(), std::numeric_limits<std::int8_t>::max()};
    case OptionType::kBool:
      return {0, 1};
    case OptionType::kLong:
      return {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
    default:
      return {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()};
  }
}

bool Within(std::int64_t value, const Limits& limits) {
  return value >= limits.low && value <= limits.high;
}

Result<Prepared> PrepareList(const OptionField& field, const graph::Attribute& value,
                             FlatBufferBuilder* builder) {
  Prepared prepared;
  prepared.field = &field;
  if (field.type == OptionType::kText) {
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr) return Fail(WrongValue(field, "a text"));
    if (!text->empty()) prepared.outside = builder->CreateString(*text).Union();
  } else if (field.type == OptionType::kInts) {
    const auto* list = std::get_if<std::vector<std::int64_t>>(&value);
    const Limits limits = LimitsOf(OptionType::kInt);
    if (list == nullptr || !std::all_of(list->begin(), list->end(),
                                        [&](std::int64_t i) { return Within(i, limits); })) {
      return Fail(WrongValue(field, "a list of 32-bit integers"));
    }
    const std::vector<std::int32_t> numbers(list->begin(), list->end());
    if (!numbers.empty()) prepared.outside = builder->CreateVector(numbers).Union();
  } else {
    const auto* list = std::get_if<std::vector<double>>(&value);
    if (list == nullptr) return Fail(WrongValue(field, "a list of numbers"));
    std::vector<float> floats;
    for (const double item : *list) floats.push_back(static_cast<float>(item));
    if (!floats.empty()) prepared.outside = builder->CreateVector(floats).Union();
  }
  return prepared;
}

Result<Prepared> Prepare(const OptionField& field, const graph::Attribute& value,
                         FlatBufferBuilder* builder) {
  switch (field.type) {
    case OptionType::kInts:
    case OptionType::kFloats:
    case OptionType::kText:
      return PrepareList(field, value, builder);
    case OptionType::kFloat: {
      const auto* real = std::get_if<double>(&value);
      if (real == nullptr) return Fail(WrongValue(field, "a number with a fraction"));
      return Prepared{.field = &field, .outside = {}, .integer = 0, .real = *real};
    }
    default: {
      const auto* integer = std::get_if<std::int64_t>(&value);
      if (integer == nullptr || !Within(*integer, LimitsOf(field.type))) {
        return Fail(WrongValue(field, "an integer of its size"));
      }
      return Prepared{.field = &field, .outside = {}, .integer = *integer, .real = 0};
    }
  }
}

void Add(const Prepared& prepared, FlatBufferBuilder* builder) {
  const OptionField& field = *prepared.field;
  const auto add = [&](auto value) {
    builder->AddElement(OffsetOf(field), value, static_cast<decltype(value)>(field.default_value));
  };
  switch (field.type) {
    case OptionType::kByte:
      return add(static_cast<std::int8_t>(prepared.integer));
    case OptionType::kBool:
      return add(static_cast<std::uint8_t>(prepared.integer));
    case OptionType::kInt:
      return add(static_cast<std::int32_t>(prepared.integer));
    case OptionType::kLong:
      return add(prepared.integer);
    case OptionType::kFloat:
      return add(static_cast<float>(prepared.real));
    case OptionType::kInts:
    case OptionType::kFloats:
    case OptionType::kText:
      return builder->AddOffset(OffsetOf(field), prepared.outside);
  }
}

}  // namespace

Result<flatbuffers::Offset<schema::OperatorOptions>> WriteOptions(
    const graph::Op& op, std::span<const std::string_view> elsewhere, FlatBufferBuilder* builder) {
  using Options = flatbuffers::Offset<schema::OperatorOptions>;
  const std::uint8_t kind = OptionsKindOf(ops::KindOf(op));
  const OptionTable* known = OptionTableOf(kind);
  const auto fields = known == nullptr ? std::span<const OptionField>() : known->fields;
  for (const auto& attribute : op.attributes) {
    const std::string& name = attribute.first;
    const bool apart =
        std::find(elsewhere.begin(), elsewhere.end(), std::string_view(name)) != elsewhere.end();
    const bool has_field = std::any_of(fields.begin(), fields.end(),
                                       [&](const OptionField& f) { return f.name == name; });
    if (!apart && !has_field) {
      return Fail(BadInput("attribute '" + name + "' is not an option of this operator"));
    }
  }
  if (kind == 0) return Options();
  std::vector<Prepared> prepared;
  for (const OptionField& field : fields) {
    const auto found = op.attributes.find(std::string(field.name));
    if (found == op.attributes.end()) continue;
    NEAP_TRY(Prepared ready, Prepare(field, found->second, builder));
    prepared.push_back(ready);
  }
  const auto start = builder->StartTable();
  for (const Prepared& item : prepared) Add(item, builder);
  return Options(builder->EndTable(start));
}

}  // namespace neap::formats::tflite
