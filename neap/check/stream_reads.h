// SPDX-License-Identifier: Apache-2.0
//
// What boxes of operators read, as counts of pixels, for the checker's bound of streamed plans.
// Private to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "neap/check/stream_pixels.h"
#include "neap/ops/dependence.h"

namespace neap::check {

class PixelReading;

// Pixels of a tensor that the same operators read.
struct PixelGroup {
  std::int64_t width = 0;       // of the tensor
  std::int64_t block_rows = 1;  // most rows of a box that computes it
  std::vector<std::int32_t>
      corner;  // [y * (width + 1) + x]: those above y and left of x; none: all
  std::vector<const PixelReading*> readers;  // none: they stay
  std::int64_t Corner(std::int64_t y, std::int64_t x) const;
  // Among the first pixels, at least.
  std::int64_t First(std::int64_t pixels) const;
};

// The pixels of `to` are computed from those of `from`.
class PixelReading {
 public:
  // One axis: the needed indices of `from`, by index of `to`.
  struct Axis {
    std::vector<std::int64_t> end;    // [i]: the indices before i need nothing from it on
    std::vector<std::int64_t> begin;  // [i]: the indices from i on need nothing before
    std::vector<bool> read;
  };

  // The minimum number of pixels of `from` that exist when `pixels` of `to` do; `reached`: and
  // more, up to the end of a box.
  std::int64_t Needs(std::int64_t pixels, bool reached) const;
  // The maximum number of pixels of the group that `to` no longer needs when `pixels` of it exist;
  // `begun`: or fewer, from the start of a box on.
  std::int64_t Gone(const PixelGroup& group, std::int64_t pixels, bool begun) const;

  std::size_t from = 0;
  std::size_t to = 0;
  std::int64_t from_pixels = 0;
  std::int64_t from_width = 1;
  std::int64_t to_rows = 1;
  std::int64_t to_width = 1;
  std::int64_t block_rows = 1;
  bool from_by_rows = false;  // in row-major order
  bool at_once = false;
  bool unclear = false;   // between nothing and everything
  bool replaces = false;  // pixels of `to` may take the place of those of `from`
  bool adds = false;      // the mean of all places: it needs no pixel again
  Axis rows;
  Axis columns;
};

struct PixelTensor {
  graph::TensorId id;
  std::int64_t width = 1;
  std::int64_t pixels = 0;
  std::int64_t pixel_bytes = 0;
  bool at_once = false;
  bool given = false;  // complete from the start
  bool fed = false;    // row by row
  bool kept = false;   // to the end
  bool by_rows = false;
  std::vector<const PixelReading*> readers;
  std::vector<const PixelReading*> made_from;
  std::vector<PixelGroup> groups;
};

// Pixels [from, to) of these tensors are computed.
struct PixelEvent {
  std::vector<std::size_t> tensors;
  std::int64_t from = 0;
  std::int64_t to = 0;
  bool Has(std::size_t tensor) const;
};

class PixelReads {
 public:
  // `apart`: pixels that not all operators read are a group, also of tensors in boxes of several
  // rows.
  PixelReads(const graph::Subgraph& subgraph, const PixelPlans& plans, bool apart);

  // There are such pixels.
  bool HasApart() const { return has_apart_; }
  const std::vector<PixelTensor>& Tensors() const { return tensors_; }
  // Each tensor after those from which it is computed.
  const std::vector<std::size_t>& Ascending() const { return ascending_; }
  // Outputs of one operator that exist together.
  const std::vector<std::pair<std::size_t, std::size_t>>& Together() const { return together_; }
  std::vector<PixelEvent> Events() const;
  std::vector<PixelEvent> Near(const PixelEvent& event) const;

 private:
  std::optional<std::size_t> Index(graph::TensorId id) const;
  void AddTensor(graph::TensorId id, bool at_once);
  void AddOperator(graph::OpId id);
  bool Streams(const graph::Op& op) const;
  void AddReading(const graph::Op& op, std::size_t input, std::size_t output);
  std::optional<std::pair<PixelReading::Axis, PixelReading::Axis>> AxesOf(const graph::Op& op,
                                                                          std::size_t input,
                                                                          std::size_t output) const;
  void AddGroups(PixelTensor* tensor);
  PixelEvent EventAt(std::size_t tensor, std::int64_t pixel) const;

  const graph::Subgraph& subgraph_;
  const PixelPlans& plans_;
  const bool apart_;
  bool has_apart_ = false;
  plan::StreamImages images_;
  IdVector<graph::TensorId, std::int64_t> index_;  // -1: not in the arena
  std::vector<PixelTensor> tensors_;
  std::vector<std::unique_ptr<PixelReading>> readings_;
  std::vector<std::size_t> ascending_;
  std::vector<std::pair<std::size_t, std::size_t>> together_;
};

}  // namespace neap::check
