// SPDX-License-Identifier: Apache-2.0
#include "neap/execute/loops/strided.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>

namespace neap::execute {
namespace {

// Puts adjacent dimensions together where both sides step through them evenly: fewer, longer runs.
struct Merged {
  graph::Shape shape;
  Strides from;
  Strides to;
};

Merged Merge(const graph::Shape& shape, const Strides& from, const Strides& to) {
  Merged merged;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;
    if (!merged.shape.empty() && merged.from.back() == from[d] * shape[d] &&
        merged.to.back() == to[d] * shape[d]) {
      merged.shape.back() *= shape[d];
      merged.from.back() = from[d];
      merged.to.back() = to[d];
      continue;
    }
    merged.shape.push_back(shape[d]);
    merged.from.push_back(from[d]);
    merged.to.push_back(to[d]);
  }
  if (merged.shape.empty()) return {{1}, {1}, {1}};
  return merged;
}

}  // namespace

std::int64_t Elements(const graph::Shape& shape) { return Elements(shape, 0, shape.size()); }

std::int64_t Elements(const graph::Shape& shape, std::size_t first, std::size_t last) {
  return std::accumulate(shape.begin() + static_cast<std::ptrdiff_t>(first),
                         shape.begin() + static_cast<std::ptrdiff_t>(last), std::int64_t{1},
                         std::multiplies<>());
}

Strides DenseStrides(const graph::Shape& shape) {
  Strides strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

Result<Strides> BroadcastStrides(const graph::Shape& shape, const graph::Shape& to) {
  Strides strides(to.size(), 0);
  if (shape.size() > to.size()) return Fail(BadInput("a shape does not broadcast: rank too high"));
  const Strides dense = DenseStrides(shape);
  const std::size_t skipped = to.size() - shape.size();
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == to[skipped + d]) {
      strides[skipped + d] = dense[d];
    } else if (shape[d] != 1) {
      return Fail(BadInput("a dimension of " + std::to_string(shape[d]) +
                           " does not broadcast to " + std::to_string(to[skipped + d])));
    }
  }
  return strides;
}

Result<graph::Shape> BroadcastShape(const graph::Shape& a, const graph::Shape& b) {
  graph::Shape shape(std::max(a.size(), b.size()), 1);
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const std::size_t from_end = shape.size() - d;
    const std::int64_t of_a = from_end <= a.size() ? a[a.size() - from_end] : 1;
    const std::int64_t of_b = from_end <= b.size() ? b[b.size() - from_end] : 1;
    if (of_a != of_b && of_a != 1 && of_b != 1) {
      return Fail(BadInput("dimensions " + std::to_string(of_a) + " and " + std::to_string(of_b) +
                           " do not broadcast"));
    }
    shape[d] = of_a == 1 ? of_b : of_a;
  }
  return shape;
}

void CopyStrided(const graph::Shape& shape, std::size_t element_bytes, const std::byte* from,
                 const Strides& from_strides, std::byte* to, const Strides& to_strides) {
  if (Elements(shape) == 0) return;
  Merged merged = Merge(shape, from_strides, to_strides);
  const std::int64_t run = merged.shape.back();
  const std::int64_t from_step = merged.from.back();
  const std::int64_t to_step = merged.to.back();
  merged.shape.pop_back();
  const std::int64_t runs = Elements(merged.shape);
  const auto size = static_cast<std::int64_t>(element_bytes);
  Odometer<2> at(merged.shape, {&merged.from, &merged.to});
  for (std::int64_t r = 0; r < runs; ++r, at.Next()) {
    const std::byte* source = from + at.Offset(0) * size;
    std::byte* target = to + at.Offset(1) * size;
    if (from_step == 1 && to_step == 1) {
      std::memmove(target, source, static_cast<std::size_t>(run * size));
      continue;
    }
    for (std::int64_t i = 0; i < run; ++i) {
      std::memmove(target + i * to_step * size, source + i * from_step * size, element_bytes);
    }
  }
}

}  // namespace neap::execute
