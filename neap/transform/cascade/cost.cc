// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/cascade/cost.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <span>

#include "neap/base/bytes.h"
#include "neap/ops/neap_rt.h"
#include "neap/ops/op_table.h"
#include "neap/ops/traits.h"
#include "neap/ops/window.h"
#include "neap/transform/cascade/bodies.h"

namespace neap::cascade {
namespace {

constexpr std::int64_t kNeverTooMany = std::numeric_limits<std::int64_t>::max();

using graph::Op;
using graph::OpId;
using graph::Shape;
using graph::Subgraph;
using graph::TensorId;
using ops::Box;
using ops::OpKind;

std::int64_t ElementBits(const graph::Tensor& tensor) { return graph::BitsOf(tensor.type); }

std::int64_t BytesOfBox(const graph::Tensor& tensor, const Box& box, const Rules& rules) {
  return AlignUp((ops::ElementsOf(box) * ElementBits(tensor) + 7) / 8, rules.alignment);
}

// A box that is one run of bytes in its tensor, at a multiple of the alignment: where its first
// byte is.
std::optional<std::int64_t> PieceAt(const graph::Tensor& tensor, const Box& box,
                                    const Rules& rules) {
  std::size_t cut = 0;
  while (cut < box.size() && box[cut].size() == 1) ++cut;
  for (std::size_t d = cut + 1; d < box.size(); ++d) {
    if (box[d].size() != (*tensor.shape)[d]) return std::nullopt;
  }
  std::int64_t first = 0;
  for (std::size_t d = 0; d < box.size(); ++d) first = first * (*tensor.shape)[d] + box[d].begin;
  const std::int64_t bits = first * ElementBits(tensor);
  if (bits % (8 * rules.alignment) != 0) return std::nullopt;
  return bits / 8;
}

bool OverlapsInside(const Rules& rules) {
  return rules.kernels == ops::KernelLibrary::kTflmReference ||
         rules.kernels == ops::KernelLibrary::kNeap || rules.kernels == ops::kNeapRt;
}

struct Rows {
  std::int64_t in_bytes = 0;
  std::int64_t out_bytes = 0;
  std::int64_t out_row = 0;  // bytes
  std::int64_t in_row = 0;
  std::int64_t rows = 0;
  std::int64_t stride = 1;
  std::int64_t before = 0;
};

// A kernel that writes row after row needs its input from the first row of its window on.
std::int64_t SavedByRows(const Rows& r) {
  std::int64_t distance = 0;
  for (std::int64_t y = 0; y < r.rows; ++y) {
    const std::int64_t lowest = std::max<std::int64_t>(y * r.stride - r.before, 0) * r.in_row;
    distance = std::max(distance, (y + 1) * r.out_row - lowest);
  }
  return std::clamp<std::int64_t>(r.out_bytes - distance, 0, std::min(r.in_bytes, r.out_bytes));
}

// Follows what is live through all tiles.
class Walk {
 public:
  Walk(const Subgraph& subgraph, const RegionPlan& plan, const Border& border,
       std::span<const Tile> tiles, const std::vector<bool>& dies, const Rules& rules,
       std::int64_t too_many)
      : subgraph_(subgraph),
        plan_(plan),
        tiles_(tiles),
        rules_(rules),
        border_(border),
        dies_(dies),
        too_many_(too_many) {
    for (const TensorId input : border.inputs) {
      input_bytes_.push_back(CountedBytes(subgraph.tensors[input], rules));
    }
  }

  std::optional<Cost> Run() {
    NoteReadings();
    later_.assign(tiles_.size(), std::vector<std::int64_t>(border_.inputs.size(), -1));
    for (std::size_t t = tiles_.size() - 1; t-- > 0;) {
      for (std::size_t i = 0; i < border_.inputs.size(); ++i) {
        std::int64_t low = later_[t + 1][i];
        const Reading& next = readings_[t + 1][i];
        if (next.any) low = low < 0 ? next.first_byte : std::min(low, next.first_byte);
        later_[t][i] = low;
      }
    }
    for (std::size_t t = 0; t < tiles_.size(); ++t) {
      RunTile(t);
      if (cost_.bytes >= too_many_) return std::nullopt;
    }
    const graph::Tensor& output = subgraph_.tensors[border_.outputs[0]];
    const std::int64_t whole = CountedBytes(output, rules_);
    // Parts that are where they belong are the whole already.
    const std::int64_t parts = done_;
    cost_.bytes = std::max(cost_.bytes, parts + (JoinsInPlace() ? 0 : whole) + KeptInputs());
    if (cost_.bytes >= too_many_) return std::nullopt;
    cost_.kept_bytes += kKeptByConcatenation + KeptByTiles();
    for (const OpId id : plan_.ops) cost_.kept_bytes -= KeptBytes(subgraph_, subgraph_.ops[id]);
    if (!rules_.charges_operators) cost_.kept_bytes = 0;
    return cost_;
  }

  // Of all grids with the only tile given, after so many elements of the output. The tiles behind
  // it read every input; where pieces are in its place, it is not known which bytes.
  std::int64_t LeastBytes(std::int64_t elements_before, bool has_next) {
    NoteReadings();
    const bool all = has_next && rules_.kernels == ops::KernelLibrary::kNone;
    const std::int64_t later = all ? 0 : -1;
    later_.assign(1, std::vector<std::int64_t>(border_.inputs.size(), later));
    is_bound_ = true;
    done_ = elements_before * ElementBits(subgraph_.tensors[border_.outputs[0]]) / 8;
    RunTile(0);
    return cost_.bytes;
  }

 private:
  void NoteReadings() {
    for (const Tile& tile : tiles_) {
      readings_.emplace_back();
      for (const TensorId input : border_.inputs)
        readings_.back().push_back(ReadingOf(tile, input));
    }
  }

  std::int64_t KeptInputs() const {
    std::int64_t bytes = 0;
    for (std::size_t i = 0; i < border_.inputs.size(); ++i) {
      if (!dies_[i]) bytes += input_bytes_[i];
    }
    return bytes;
  }

  bool JoinsInPlace() const {
    if (rules_.kernels == ops::KernelLibrary::kNone) return false;
    const graph::Tensor& output = subgraph_.tensors[border_.outputs[0]];
    return std::all_of(tiles_.begin(), tiles_.end(), [&](const Tile& tile) {
      return PieceAt(output, tile.output_box, rules_).has_value();
    });
  }

  // Where the first slice of a border input begins in a tile; all of it, if it is read whole.
  struct Reading {
    std::int64_t first_byte = 0;
    std::size_t last_step = 0;  // that reads the input itself
    bool any = false;
  };
  Reading ReadingOf(const Tile& tile, TensorId input) const {
    Reading reading;
    const auto note = [&](std::size_t step, std::int64_t byte) {
      reading.first_byte = reading.any ? std::min(reading.first_byte, byte) : byte;
      reading.last_step = step;
      reading.any = true;
    };
    for (std::size_t k = 0; k < tile.steps.size(); ++k) {
      const TileStep& step = tile.steps[k];
      if (!step.op.valid()) {
        const TileTensor& out = tile.tensors[static_cast<std::size_t>(step.output)];
        if (step.inputs[0] != kWhole || out.whole != input) continue;
        const auto at = PieceAt(subgraph_.tensors[input], out.box, rules_);
        note(k, rules_.kernels != ops::KernelLibrary::kNone && at ? *at : 0);
        continue;
      }
      const Op& op = subgraph_.ops[step.op];
      for (std::size_t i = 0; i < op.inputs.size(); ++i) {
        if (op.inputs[i] == input && step.inputs[i] == kWhole) note(k, 0);
      }
    }
    return reading;
  }

  // Slices that are pieces of a tensor in its place: they need no bytes while that is live.
  bool IsPiece(const TileTensor& tensor) const {
    return rules_.kernels != ops::KernelLibrary::kNone &&
           PieceAt(subgraph_.tensors[tensor.whole], tensor.box, rules_).has_value();
  }

  void RunTile(std::size_t t) {
    const Tile& tile = tiles_[t];
    FindLives(tile);
    std::int64_t own = done_;  // with the tensors of the tile that live
    for (std::size_t k = 0; k < tile.steps.size(); ++k) {
      own += more_[k];
      std::int64_t live = own;
      for (std::size_t i = 0; i < border_.inputs.size(); ++i) {
        live += InputBytes(tile, k, i, readings_[t][i], later_[t][i]);
      }
      live -= SavedAt(tile, k);
      cost_.bytes = std::max(cost_.bytes, live);
    }
    Charge(tile);
    const graph::Tensor& output = subgraph_.tensors[border_.outputs[0]];
    done_ += BytesOfBox(output, tile.output_box, rules_);
  }

  // The steps that write and that last read each tensor of a tile, and the bytes that each step
  // has more than the one before it. Pieces of an input have none.
  void FindLives(const Tile& tile) {
    const std::size_t count = tile.tensors.size();
    first_.assign(count, 0);
    last_.assign(count, 0);
    is_piece_.assign(count, 0);
    pieces_.clear();
    for (std::size_t k = 0; k < tile.steps.size(); ++k) {
      const TileStep& step = tile.steps[k];
      for (const int input : step.inputs) {
        if (input != kWhole) last_[static_cast<std::size_t>(input)] = k;
      }
      const auto out = static_cast<std::size_t>(step.output);
      first_[out] = last_[out] = k;
      const bool from_outside = !step.op.valid() && step.inputs[0] == kWhole;
      is_piece_[out] = from_outside && IsPiece(tile.tensors[out]) ? 1 : 0;
    }
    if (tile.output != kWhole) last_[static_cast<std::size_t>(tile.output)] = tile.steps.size();
    more_.assign(tile.steps.size() + 2, 0);
    for (std::size_t j = 0; j < count; ++j) {
      const TileTensor& part = tile.tensors[j];
      if (is_piece_[j] != 0) {
        pieces_.push_back(j);
        continue;
      }
      const std::int64_t bytes = BytesOfBox(subgraph_.tensors[part.whole], part.box, rules_);
      more_[first_[j]] += bytes;
      more_[last_[j] + 1] -= bytes;
    }
  }

  std::int64_t InputBytes(const Tile& tile, std::size_t k, std::size_t i, const Reading& here,
                          std::int64_t later) const {
    const TensorId input = border_.inputs[i];
    const std::int64_t whole = input_bytes_[i];
    if (!dies_[i]) return whole;
    // Tensors that are read from now on, whole or in pieces.
    std::int64_t low = later;
    std::int64_t pieces = 0;
    for (const std::size_t j : pieces_) {
      if (tile.tensors[j].whole != input || last_[j] < k) continue;
      const std::int64_t at =
          PieceAt(subgraph_.tensors[input], tile.tensors[j].box, rules_).value();
      low = low < 0 ? -1 : std::min(low, at);
      if (first_[j] <= k) {
        const std::int64_t own = BytesOfBox(subgraph_.tensors[input], tile.tensors[j].box, rules_);
        // Pieces may overlap in the input, which tiles behind this one may keep.
        pieces = is_bound_ ? std::max(pieces, own) : pieces + own;
      }
    }
    if (here.any && k <= here.last_step) {
      return whole - (low < 0 ? here.first_byte : std::min(low, here.first_byte));
    }
    return low < 0 ? pieces : whole - low;
  }

  // The largest saving among the inputs that are freed here.
  std::int64_t SavedAt(const Tile& tile, std::size_t k) const {
    const TileStep& step = tile.steps[k];
    if (!step.op.valid() || !OverlapsInside(rules_)) return 0;
    const Op& op = subgraph_.ops[step.op];
    const TileTensor& out = tile.tensors[static_cast<std::size_t>(step.output)];
    std::int64_t most = 0;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (step.inputs[i] == kWhole) continue;
      const auto j = static_cast<std::size_t>(step.inputs[i]);
      if (last_[j] != k) continue;
      const TileTensor& in = tile.tensors[j];
      const graph::Tensor& in_tensor = subgraph_.tensors[in.whole];
      const graph::Tensor& out_tensor = subgraph_.tensors[out.whole];
      Rows rows;
      rows.in_bytes = BytesOfBox(in_tensor, in.box, rules_);
      rows.out_bytes = BytesOfBox(out_tensor, out.box, rules_);
      if (ops::IsElementwise(op)) {
        most = std::max(most, std::min(rows.in_bytes, rows.out_bytes));
        continue;
      }
      const auto window = ops::WindowOf(subgraph_, op);
      if (!window || i != 0 || in.box.size() != 4) continue;
      rows.rows = out.box[1].size();
      rows.out_row = rows.rows == 0 ? 0 : rows.out_bytes / rows.rows;
      const std::int64_t in_rows = in.box[1].end - in.box[1].begin;
      rows.in_row = in_rows == 0 ? 0 : rows.in_bytes / in_rows;
      rows.stride = window->stride_height;
      rows.before = in.box[1].begin - out.box[1].begin * rows.stride + window->pad_top;
      most = std::max(most, SavedByRows(rows));
    }
    return most;
  }

  std::int64_t KeptByTiles() const {
    if (!rules_.charges_operators) return 0;
    const std::vector<int> bodies = BodiesOf(subgraph_, tiles_, rules_.bodies);
    std::int64_t bytes = 0;
    int known = 0;
    for (std::size_t t = 0; t < tiles_.size(); ++t) {
      if (bodies[t] == kNoBody) {
        bytes += KeptByClones(subgraph_, tiles_[t]);
        continue;
      }
      bytes += KeptByCall(tiles_[t]);
      if (bodies[t] < known) continue;
      bytes += KeptByBody(subgraph_, tiles_[t]);
      known = bodies[t] + 1;
    }
    return bytes;
  }

  // Operators of a tile are in the order of the region.
  void Charge(const Tile& tile) {
    if (macs_.empty()) {
      for (const OpId id : plan_.ops) macs_.push_back(MacsPerElement(subgraph_, subgraph_.ops[id]));
    }
    std::size_t at = 0;
    for (const TileStep& step : tile.steps) {
      if (!step.op.valid()) continue;
      while (plan_.ops[at] != step.op) ++at;
      const Box& box = tile.tensors[static_cast<std::size_t>(step.output)].box;
      cost_.macs += macs_[at] * ops::ElementsOf(box);
    }
  }

  const Subgraph& subgraph_;
  const RegionPlan& plan_;
  const std::span<const Tile> tiles_;
  const Rules& rules_;
  const Border& border_;
  const std::vector<bool>& dies_;
  const std::int64_t too_many_;
  std::vector<std::int64_t> macs_;                // for an element, by operator of the region
  std::vector<std::vector<Reading>> readings_;    // by tile, by border input
  std::vector<std::vector<std::int64_t>> later_;  // first byte that the tiles behind read; -1: none
  std::vector<std::int64_t> input_bytes_;         // of the border inputs, whole
  // Of the tile that runs, by tensor.
  std::vector<std::size_t> first_;
  std::vector<std::size_t> last_;
  std::vector<char> is_piece_;
  std::vector<std::size_t> pieces_;  // the tensors that are
  std::vector<std::int64_t> more_;   // by step
  bool is_bound_ = false;
  std::int64_t done_ = 0;  // bytes of the outputs of tiles that have run
  Cost cost_;
};

}  // namespace

bool Dominates(const Cost& a, const Cost& b) {
  return a.bytes <= b.bytes && a.macs <= b.macs && a.kept_bytes <= b.kept_bytes;
}

std::int64_t CountedBytes(const graph::Tensor& tensor, const Rules& rules) {
  if (tensor.constant || tensor.variable) return 0;
  const auto bytes = graph::TensorBytes(tensor);
  return bytes ? AlignUp(*bytes, rules.alignment) : 0;
}

std::int64_t MacsPerElement(const Subgraph& subgraph, const Op& op) {
  const OpKind kind = ops::KindOfName(op);
  const auto weights = [&](std::size_t input, std::size_t from) -> std::int64_t {
    if (input >= op.inputs.size() || !op.inputs[input].valid()) return 0;
    const auto& shape = subgraph.tensors[op.inputs[input]].shape;
    if (!shape || shape->size() <= from) return 0;
    std::int64_t product = 1;
    for (std::size_t d = from; d < shape->size(); ++d) product *= (*shape)[d];
    return product;
  };
  if (op.domain == "tflite") {
    if (ops::IsAnyOf(kind, OpKind::kConv2d, OpKind::kFullyConnected)) return weights(1, 1);
    if (ops::IsAnyOf(kind, OpKind::kDepthwiseConv2d)) {
      const auto& shape = subgraph.tensors[op.inputs[1]].shape;
      return shape && shape->size() == 4 ? (*shape)[1] * (*shape)[2] : 0;
    }
    return 0;
  }
  if (ops::IsAnyOf(kind, OpKind::kOnnxConv, OpKind::kOnnxConvInteger, OpKind::kOnnxFusedConv)) {
    return weights(1, 1);
  }
  if (ops::IsAnyOf(kind, OpKind::kOnnxQLinearConv)) return weights(3, 1);
  if (ops::IsAnyOf(kind, OpKind::kOnnxGemm, OpKind::kOnnxMatMul)) {
    const auto& shape = subgraph.tensors[op.inputs[0]].shape;
    return shape && !shape->empty() ? std::max<std::int64_t>(shape->back(), 0) : 0;
  }
  return 0;
}

std::int64_t MacsOf(const Subgraph& subgraph, const Op& op) {
  if (op.folded || op.outputs.empty() || !op.outputs[0].valid()) return 0;
  const auto& shape = subgraph.tensors[op.outputs[0]].shape;
  if (!shape) return 0;
  std::int64_t elements = 1;
  for (const std::int64_t d : *shape) {
    const auto product = CheckedMultiply(elements, std::max<std::int64_t>(d, 0));
    if (!product) return 0;
    elements = *product;
  }
  return CheckedMultiply(elements, MacsPerElement(subgraph, op)).value_or(0);
}

std::int64_t MacsOf(const Subgraph& subgraph) {
  std::int64_t sum = 0;
  for (const Op& op : subgraph.ops) sum = CheckedAdd(sum, MacsOf(subgraph, op)).value_or(sum);
  return sum;
}

std::int64_t SavedInside(const Subgraph& subgraph, const Op& op, std::size_t input,
                         const Rules& rules) {
  const auto rule = ops::OverlapRuleOf(subgraph, op, input, rules.kernels);
  const auto view = ops::ViewRuleOf(subgraph, op, 0, rules.kernels);
  const bool is_piece = view && view->input == input;
  if (!rule && !is_piece) return 0;
  const std::int64_t in = CountedBytes(subgraph.tensors[op.inputs[input]], rules);
  const std::int64_t out = CountedBytes(subgraph.tensors[op.outputs[0]], rules);
  if (is_piece) return std::min(in, out);
  if (rule->kind == ops::OverlapRule::Kind::kHoldsInput) return std::min(in, out);
  return std::clamp<std::int64_t>(out - AlignUp(rule->bytes, rules.alignment), 0,
                                  std::min(in, out));
}

Cost CostOf(const Subgraph& subgraph, const RegionPlan& plan, const std::vector<Tile>& tiles,
            const std::vector<bool>& dies, const Rules& rules) {
  const Border border = BorderOf(subgraph, plan.ops);
  return Walk(subgraph, plan, border, tiles, dies, rules, kNeverTooMany).Run().value();
}

std::optional<Cost> CostBelow(std::int64_t too_many, const Subgraph& subgraph,
                              const RegionPlan& plan, const Border& border,
                              const std::vector<Tile>& tiles, const std::vector<bool>& dies,
                              const Rules& rules) {
  return Walk(subgraph, plan, border, tiles, dies, rules, too_many).Run();
}

std::int64_t LeastBytesWith(const Tile& tile, std::int64_t elements_before, bool has_next,
                            const Subgraph& subgraph, const RegionPlan& plan, const Border& border,
                            const std::vector<bool>& dies, const Rules& rules) {
  return Walk(subgraph, plan, border, {&tile, 1}, dies, rules, kNeverTooMany)
      .LeastBytes(elements_before, has_next);
}

}  // namespace neap::cascade
