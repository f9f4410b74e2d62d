// SPDX-License-Identifier: Apache-2.0
//
// The rules that the table of operators refers to, except those of dependence_rules.h, and the
// parts of the table. Private to neap/ops.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "neap/graph/graph.h"
#include "neap/ops/op_table.h"
#include "neap/ops/overlap.h"

namespace neap::ops {

std::span<const OpRow> TfliteRows();
std::span<const OpRow> CustomRows();
std::span<const OpRow> NeapRows();
std::span<const OpRow> OnnxRows();

// Whether the kinds of the rows are consecutive.
constexpr bool AreInOrder(std::span<const OpRow> rows) {
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (static_cast<std::size_t>(rows[i].kind) != static_cast<std::size_t>(rows[0].kind) + i) {
      return false;
    }
  }
  return true;
}

namespace macs {  // macs.cc

using Macs = std::int64_t(const graph::Subgraph&, const graph::Op&);
Macs Conv;  // the first axis of the filters is the output channel
Macs QLinearConv;
Macs LastAxis;  // the last axis of the filters is the output channel
Macs TransposeConv;
Macs ConvTranspose;
Macs FullyConnected;
Macs BatchMatmul;
Macs MatrixProduct;
Macs Recurrent;

}  // namespace macs

namespace overlap {  // overlap.cc

// One operator and one input. All shapes are known.
struct Subject {
  const graph::Subgraph& subgraph;
  const graph::Op& op;
  std::size_t input;
  const graph::Tensor& in;
  const graph::Tensor& out;
  std::int64_t in_bytes;  // of an element
  std::int64_t out_bytes;
  KernelLibrary library;
};

using Rule = std::optional<OverlapRule>(const Subject&);
// Kernels that copy; for every library.
Rule Concatenation;
Rule Reshape;
// Kernels that write their output in ascending order; nullopt for kCopies.
Rule Window;
Rule Resize;
Rule Unary;
Rule Binary;
Rule FullyConnected;
Rule Pad;
Rule Mean;

}  // namespace overlap

namespace scratch {  // tflm_scratch.cc

using Requests = std::optional<std::vector<std::int64_t>>(const graph::Subgraph&, const graph::Op&);
Requests None;
Requests AddN;
Requests DetectionPostprocess;
Requests Lstm;
Requests MirrorPad;
Requests Reduction;
Requests Rfft;
Requests Svdf;
Requests TransposeConv;
Requests UnpackedWeights;

}  // namespace scratch
}  // namespace neap::ops
