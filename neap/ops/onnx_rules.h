// SPDX-License-Identifier: Apache-2.0
//
// The operator as a shape rule sees it, and the tables of rules. Private to neap/ops. A rule never
// fails: for any file, dimensions that do not follow stay unknown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "neap/graph/graph.h"
#include "neap/ops/onnx_shapes.h"

namespace neap::ops::onnx {

using graph::ElementType;
using graph::Shape;
using MaybeShape = std::optional<Shape>;

// Tensors with more elements than this are never followed by value.
inline constexpr std::int64_t kMaxValues = 4096;
// Ranks above this are refused by every rule: no allocation that a file's numbers decide.
inline constexpr std::size_t kMaxRank = 64;

// One element of a tensor whose values are tracked; `whole` for integers and bool, `real` for
// floats, by the element type.
struct Number {
  bool known = false;
  std::int64_t whole = 0;
  double real = 0;
};
using Values = std::vector<Number>;  // row-major

inline Number Whole(std::int64_t value) { return {true, value, 0}; }
inline Number Real(double value) { return {true, 0, value}; }

bool IsReal(ElementType type);   // float32 and float64: the floats that are followed by value
bool IsWhole(ElementType type);  // bool and the integers of 8 to 64 bits
// nullopt: not followed (type, size, or the bytes do not match `elements`).
std::optional<Values> Decode(const graph::Tensor& tensor);
// nullopt unless every value is known.
std::optional<graph::ConstantData> Encode(ElementType type, const Values& values);
// `value` as the type represents it: integers wrap, float32 rounds.
Number Convert(const Number& value, ElementType from, ElementType to);

// Dimensions: -1 is unknown, and an overflow becomes unknown.
std::int64_t DimAdd(std::int64_t a, std::int64_t b);
std::int64_t DimMul(std::int64_t a, std::int64_t b);
// Product of all, -1 where one is unknown; 0 if one is 0.
std::int64_t Product(std::span<const std::int64_t> dims);
// Elements of a shape if they are known and at most kMaxValues.
std::optional<std::int64_t> FewElements(const MaybeShape& shape);
// Numpy's broadcasting.
MaybeShape Broadcast(std::span<const MaybeShape> shapes);
// `axis` counted from the front; nullopt: out of range.
std::optional<std::size_t> Axis(std::int64_t axis, std::size_t rank);

// One operator while its rule runs.
class OpView {
 public:
  struct Output {
    ElementType type = ElementType::kUnknown;
    MaybeShape shape;
    std::optional<Values> values;
    // The file's word on the type is better than the rule's, where there is one.
    bool weak_type = false;
  };

  OpView(const graph::Subgraph& subgraph, const graph::Op& op, int opset,
         std::vector<std::optional<Values>>* values);

  int opset() const { return opset_; }
  std::size_t inputs() const { return op_.inputs.size(); }
  std::size_t outputs() const { return op_.outputs.size(); }
  // Present, not an optional input that was left out.
  bool Has(std::size_t input) const;
  ElementType TypeOf(std::size_t input) const;  // kUnknown if absent
  const MaybeShape& ShapeOf(std::size_t input) const;
  // Rank and dimension helpers; -1 where not known.
  std::int64_t DimOf(std::size_t input, std::size_t axis) const;
  // The known values of the input, some or all; nullptr: none.
  const Values* ValuesOf(std::size_t input) const;
  // All the values of an integer input, or nullopt.
  std::optional<std::vector<std::int64_t>> WholesOf(std::size_t input) const;
  std::optional<std::vector<double>> RealsOf(std::size_t input) const;

  bool HasAttribute(const char* name) const { return op_.attributes.count(name) != 0; }
  std::int64_t Int(const char* name, std::int64_t otherwise) const;
  double Float(const char* name, double otherwise) const;
  std::string Text(const char* name, std::string_view otherwise) const;
  std::optional<std::vector<std::int64_t>> Ints(const char* name) const;
  std::optional<std::vector<double>> Floats(const char* name) const;
  const graph::ConstantData* Bytes(const char* name) const;
  // From the attribute, or from the input where the attribute is absent (newer opsets).
  std::optional<std::vector<std::int64_t>> IntsOrInput(const char* name, std::size_t input) const;

  void Set(std::size_t output, ElementType type, MaybeShape shape);
  void SetWeak(std::size_t output, ElementType type, MaybeShape shape);
  // Ignored when the count does not fit the shape that was Set().
  void SetValues(std::size_t output, Values values);
  std::vector<Output>& results() { return results_; }

 private:
  const graph::Subgraph& subgraph_;
  const graph::Op& op_;
  int opset_;
  std::vector<std::optional<Values>>* values_;  // by tensor; missing entries are decoded
  std::vector<Output> results_;
};

using RuleFunction = void (*)(OpView&);
struct Rule {
  std::string_view domain;  // "": ai.onnx
  std::string_view type;
  RuleFunction infer;
};

// The tables, by family.
std::span<const Rule> ElementwiseRules();
std::span<const Rule> ConvolutionRules();
std::span<const Rule> NetworkRules();
std::span<const Rule> MoveRules();
std::span<const Rule> IndexRules();
std::span<const Rule> ReduceRules();
std::span<const Rule> VendorRules();

// Shared between families.
void SameAsFirst(OpView& op);       // shape and type of input 0
void SameShapeAsFirst(OpView& op);  // the type too, unless the file knows better
void BroadcastAll(OpView& op);      // type of input 0
void InferReduction(OpView& op);    // axes, keepdims; type of input 0

// nullptr: none.
RuleFunction FindRule(std::string_view domain, std::string_view type);

}  // namespace neap::ops::onnx
