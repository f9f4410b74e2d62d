// SPDX-License-Identifier: Apache-2.0
//
// Walks over tensors by explicit strides. Private to neap/execute.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "neap/base/result.h"
#include "neap/graph/graph.h"

namespace neap::execute {

using Strides = std::vector<std::int64_t>;

// Of a dense row-major tensor, in elements.
Strides DenseStrides(const graph::Shape& shape);
std::int64_t Elements(const graph::Shape& shape);
// Elements of dimensions [first, last).
std::int64_t Elements(const graph::Shape& shape, std::size_t first, std::size_t last);

// The strides by which `shape` broadcasts to `to`, per dimension of `to`; 0 where it is repeated.
// Fails when it does not broadcast.
Result<Strides> BroadcastStrides(const graph::Shape& shape, const graph::Shape& to);
// The shape that two shapes broadcast to together.
Result<graph::Shape> BroadcastShape(const graph::Shape& a, const graph::Shape& b);

// Copies shape[0] x shape[1] x ... elements of `element_bytes` from `from` to `to`, in row-major
// order of `shape`; strides are in elements and may be negative or 0.
void CopyStrided(const graph::Shape& shape, std::size_t element_bytes, const std::byte* from,
                 const Strides& from_strides, std::byte* to, const Strides& to_strides);

// A counter over `shape` in row-major order that carries N offsets along.
template <std::size_t N>
class Odometer {
 public:
  // `strides` outlive it.
  Odometer(const graph::Shape& shape, const Strides* const (&strides)[N])
      : shape_(shape), index_(shape.size(), 0) {
    for (std::size_t n = 0; n < N; ++n) strides_[n] = strides[n];
  }
  std::int64_t Offset(std::size_t n) const { return offsets_[n]; }
  const std::vector<std::int64_t>& index() const { return index_; }
  void Next() {
    for (std::size_t d = shape_.size(); d-- > 0;) {
      ++index_[d];
      for (std::size_t n = 0; n < N; ++n) offsets_[n] += (*strides_[n])[d];
      if (index_[d] < shape_[d]) return;
      for (std::size_t n = 0; n < N; ++n) offsets_[n] -= (*strides_[n])[d] * shape_[d];
      index_[d] = 0;
    }
  }

 private:
  graph::Shape shape_;
  std::vector<std::int64_t> index_;
  const Strides* strides_[N] = {};
  std::int64_t offsets_[N] = {};
};

}  // namespace neap::execute
