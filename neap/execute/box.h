// SPDX-License-Identifier: Apache-2.0
//
// Kernels for parts of an operator's output: the operator's own kernel, prepared for the shapes of
// the part and of its inputs, so that every element is computed by the same operations in the same
// order as in a run of the whole. Private to neap/execute.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "neap/base/result.h"
#include "neap/execute/program.h"
#include "neap/plan/stream.h"

namespace neap::execute {

// Rows and columns of an image (neap/plan/stream.h).
struct ImagePart {
  plan::StreamRange rows;
  plan::StreamRange columns;
  bool empty() const { return rows.empty() || columns.empty(); }
  std::int64_t pixels() const { return rows.size() * columns.size(); }
};

struct BoxNeed {
  std::vector<ImagePart> inputs;  // of every input; empty for constants and absent ones
  const RunKernel* kernel = nullptr;
};

class BoxKernels {
 public:
  // Both outlive it.
  BoxKernels(const Program& program, const plan::StreamImages& images)
      : program_(program), images_(images) {}

  // For a part of the only output of `op`, or of output `output` of one that splits its input,
  // whose other outputs are not written. Fails when the operator's kernel cannot compute parts:
  // only operators can whose output at a place depends on their inputs around some place
  // (windows, element-wise operators, resampling, moves of data, padding, reductions). The kernel
  // is valid until the next call.
  Result<BoxNeed> Prepare(graph::OpId op, const ImagePart& part, std::size_t output = 0);

 private:
  struct Shapes;
  Result<Shapes> ShapesOf(graph::OpId op, const ImagePart& part, std::size_t output) const;
  Result<BoxNeed> PrepareWithin(graph::OpId op, const ImagePart& part, Shapes* shapes);
  Result<BoxNeed> PrepareMoved(graph::OpId op, const ImagePart& part, Shapes* shapes);
  Result<BoxNeed> PreparePiece(graph::OpId op, const ImagePart& part, std::size_t output,
                               Shapes* shapes);
  Result<std::optional<plan::StreamRange>> IndicesOf(const graph::Op& op, const ImagePart& part,
                                                     const Shapes& shapes,
                                                     Program::PartShapes* prepared) const;

  const Program& program_;
  const plan::StreamImages& images_;
  std::map<std::vector<std::int64_t>, RunKernel> kernels_;
  RunKernel within_;  // of the last part that was prepared by itself
};

}  // namespace neap::execute
