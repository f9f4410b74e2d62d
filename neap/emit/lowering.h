// SPDX-License-Identifier: Apache-2.0
//
// Operators to rows of tables. Private to neap/emit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "neap/base/result.h"
#include "neap/emit/emit.h"
#include "neap/emit/program.h"
#include "neap/graph/graph.h"
#include "neap/ops/op_kind.h"
#include "neap/ops/overlap.h"
#include "neap/target/target.h"

namespace neap::emit {

// Of KernelSet::kCmsisNn.
struct LibraryCalls {
  std::optional<target::Simd> simd = std::nullopt;          // of Options
  ops::KernelLibrary overlaps = ops::KernelLibrary::kNone;  // that they permit
};

// Where the tensors are while an operator runs, and the constants of the program.
class Lowering {
 public:
  // `subgraph` outlives it. Names of constants begin with `prefix`.
  Lowering(const graph::Subgraph& subgraph, std::string prefix,
           KernelSet kernels = KernelSet::kPortable, LibraryCalls library = {});

  const graph::Subgraph& subgraph() const { return subgraph_; }
  KernelSet kernels() const { return kernels_; }
  const LibraryCalls& library() const { return library_; }
  const std::string& prefix() const { return prefix_; }
  const graph::Tensor& Tensor(graph::TensorId id) const { return subgraph_.tensors[id]; }

  // Whether tables take less flash at the price of more instructions: Options::small.
  void SetSmall(bool small) { small_ = small; }
  bool is_small() const { return small_; }

  // How many pixels a packed kernel may compute together, which decides its scratch: 2 unless
  // `limits` has another number; 0: the operator has a portable kernel.
  using PixelLimits = std::map<graph::OpId, std::int64_t>;
  void SetPixelLimits(PixelLimits limits) { limits_ = std::move(limits); }
  std::int64_t MaxPixelsOf(graph::OpId op) const;

  // The addresses of the next operators: those of a whole-tensor plan or of a segment.
  void ClearPlaces() { places_.clear(); }
  void ClearPlace(graph::TensorId tensor) { places_.erase(tensor); }
  struct Place {
    std::vector<plan::StreamRing> rings;
    std::int32_t memory = 0;
    std::int64_t columns = 1;  // plan::StreamArea::columns
  };
  void SetPlace(graph::TensorId tensor, Place place) { places_[tensor] = std::move(place); }
  // nullptr: none.
  const Place* PlaceOf(graph::TensorId tensor) const;
  // How the weights of the operator that is lowered next come into memory 0; nullptr: they are read
  // where they are. It outlives the lowering of that operator.
  void SetSlowWeights(const plan::StreamWeights* weights) { slow_weights_ = weights; }
  const plan::StreamWeights* slow_weights() const { return slow_weights_; }

  // A tensor as the plan sees it: an image, or one pixel. Fails where it has no address.
  Result<View> ImageOf(graph::TensorId tensor);
  // `bytes = height * width * pixel_bytes` of a tensor from byte `skip` on, as another image. Fails
  // where the tensor is in rings.
  struct Form {
    std::int64_t height = 1;
    std::int64_t width = 1;
    std::int64_t pixel_bytes = 0;
    std::int64_t skip = 0;
  };
  Result<View> FormOf(graph::TensorId tensor, const Form& form);
  // Whether both are whole and begin at the same byte.
  bool IsSamePlace(graph::TensorId a, graph::TensorId b) const;

  // The name of a constant table; equal ones are stored once.
  std::string Add(const std::string& name, const std::string& type,
                  std::vector<std::int64_t> values, bool weights = false);
  // `bytes` bytes of the same value.
  std::string Filled(std::int64_t value, std::int64_t bytes);
  std::vector<Constant> TakeConstants();

  // A C expression for the bytes of a constant tensor.
  Result<std::string> Bytes(graph::TensorId tensor);

 private:
  const graph::Subgraph& subgraph_;
  std::string prefix_;
  KernelSet kernels_;
  LibraryCalls library_;
  bool small_ = false;
  PixelLimits limits_;
  std::map<graph::TensorId, Place> places_;
  const plan::StreamWeights* slow_weights_ = nullptr;
  std::vector<Constant> constants_;
  std::map<std::pair<std::string, std::vector<std::int64_t>>, std::string> known_;
  std::map<std::int64_t, std::int64_t> filled_;  // value: longest
};

// The calls of one operator, in order; none where nothing needs to be done. Fails, without naming
// the operator, where it cannot be emitted. `boxed`: it is computed in boxes of the plan, by one
// call at most.
struct Subject {
  const graph::Op& op;
  graph::OpId id;
  bool boxed = false;
  std::optional<std::size_t> output = std::nullopt;  // the only one that is computed
};
using LowerFunction = Result<std::vector<Call>> (*)(Lowering& lowering, const Subject& subject);

struct LowerRow {
  ops::OpKind kind;
  LowerFunction lower;
};

// The outputs of an operator of one byte for all 256 bytes of `input`, by the executor: of an
// element-wise operator, or of a concatenation of that input alone.
Result<std::vector<std::int64_t>> TableOf(const Lowering& lowering, const graph::Op& op,
                                          graph::TensorId input);

// Families, one file each.
std::span<const LowerRow> ConvRows();
std::span<const LowerRow> PoolRows();
std::span<const LowerRow> ElementwiseRows();
std::span<const LowerRow> MoveRows();
std::span<const LowerRow> SpreadRows();
std::span<const LowerRow> RecurrentRows();
// Calls of CMSIS-NN; nullopt: the library has no function for these types, shapes or scales.
Result<std::optional<std::vector<Call>>> LowerCmsisNn(Lowering& lowering, const Subject& subject);

// By the table of all families; fails where there is no row, and where types or sizes have no
// kernel.
Result<std::vector<Call>> Lower(Lowering& lowering, const Subject& subject);

// Helpers of the families.
const graph::Tensor& InputOf(const Lowering& lowering, const graph::Op& op, std::size_t index);
const graph::Tensor& OutputOf(const Lowering& lowering, const graph::Op& op);
bool HasInput(const graph::Op& op, std::size_t index);
Status Require(bool condition, const char* otherwise);
// "neap_add" and "_s8" or "_u8".
std::string KernelFor(const std::string& name, const graph::Tensor& tensor);
std::string InitialiserOf(std::initializer_list<std::string> members);
std::string Number(std::int64_t value);
// As int8_t, from -128 to 127.
std::int64_t SignedByte(std::byte byte);
// The values of an int32 constant; nullopt: it is not one.
std::optional<std::vector<std::int64_t>> Int32sOf(const graph::Tensor& tensor);

}  // namespace neap::emit
