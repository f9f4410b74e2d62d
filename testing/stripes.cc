// SPDX-License-Identifier: Apache-2.0
#include "testing/stripes.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>
#include <type_traits>
#include <utility>

namespace neap::cascade {
namespace {

__extension__ using Wide = __int128;

std::optional<Fraction> Narrow(Wide numerator, Wide denominator) {
  if (denominator == 0) return std::nullopt;
  if (denominator < 0) {
    numerator = -numerator;
    denominator = -denominator;
  }
  Wide a = numerator < 0 ? -numerator : numerator;
  Wide b = denominator;
  while (b != 0) {
    const Wide rest = a % b;
    a = b;
    b = rest;
  }
  if (a > 1) {
    numerator /= a;
    denominator /= a;
  }
  constexpr Wide kMax = Wide{1} << 62;
  if (numerator > kMax || numerator < -kMax || denominator > kMax) return std::nullopt;
  return Fraction{static_cast<std::int64_t>(numerator), static_cast<std::int64_t>(denominator)};
}

std::optional<Fraction> Add(const std::optional<Fraction>& a, const std::optional<Fraction>& b) {
  if (!a || !b) return std::nullopt;
  // Half of 128 bits each: a common denominator is looked for first.
  const std::int64_t shared = std::gcd(a->denominator, b->denominator);
  const Wide left = Wide{a->numerator} * (b->denominator / shared);
  const Wide right = Wide{b->numerator} * (a->denominator / shared);
  constexpr Wide kMax = Wide{1} << 125;
  if (left > kMax || left < -kMax || right > kMax || right < -kMax) return std::nullopt;
  return Narrow(left + right, Wide{a->denominator} * (b->denominator / shared));
}

std::optional<Fraction> Multiply(const Fraction& a, const Fraction& b) {
  const auto left = Narrow(a.numerator, b.denominator);
  const auto right = Narrow(b.numerator, a.denominator);
  if (!left || !right) return std::nullopt;
  return Narrow(Wide{left->numerator} * right->numerator,
                Wide{left->denominator} * right->denominator);
}

std::int64_t Ceil(const Fraction& value) {
  const std::int64_t whole = value.numerator / value.denominator;
  return whole + (value.numerator % value.denominator > 0 ? 1 : 0);
}

bool IsZero(const Fraction& value) { return value.numerator == 0; }

// One row of the matrix with a vector of sizes and the augmenting one.
template <typename Number>
std::optional<Fraction> RowTimes(const std::vector<Fraction>& row, const std::vector<Number>& sizes,
                                 bool constant) {
  std::optional<Fraction> sum = constant ? row.back() : Fraction{};
  for (std::size_t j = 0; j < sizes.size(); ++j) {
    Fraction size;
    if constexpr (std::is_same_v<Number, Fraction>) {
      size = sizes[j];
    } else {
      size = {sizes[j], 1};
    }
    sum = Add(sum, Multiply(row[j], size));
  }
  return sum;
}

}  // namespace

std::optional<Fraction> MakeFraction(std::int64_t numerator, std::int64_t denominator) {
  return Narrow(numerator, denominator);
}

std::optional<StripeConfig> Propagator::Propagate(const StripeConfig& output) const {
  const std::size_t rank = output.shape.size();
  const std::size_t in_rank = offset.size();
  if (matrix.size() != in_rank + 1 || output.extent.size() != rank ||
      output.strides.size() != rank || output.order.size() != rank || output.count.size() != rank ||
      output.offset.size() != rank) {
    return std::nullopt;
  }
  StripeConfig input;
  for (std::size_t i = 0; i < in_rank; ++i) {
    const std::vector<Fraction>& row = matrix[i];
    if (row.size() != rank + 1) return std::nullopt;
    const auto shape = RowTimes(row, output.shape, true);
    const auto extent = RowTimes(row, output.extent, true);
    const auto stride = RowTimes(row, output.strides, false);
    if (!shape || !extent || !stride) return std::nullopt;
    input.shape.push_back(Ceil(*shape));
    input.extent.push_back(Ceil(*extent));
    input.strides.push_back(*stride);
    std::int64_t order = 0;
    std::int64_t count = 0;
    std::int64_t begin = offset[i];
    for (std::size_t j = 0; j < rank; ++j) {
      if (IsZero(row[j])) continue;
      order += output.order[j];
      count += output.count[j];
      begin += output.offset[j];
    }
    input.order.push_back(order);
    input.count.push_back(std::max<std::int64_t>(count, 1));
    input.offset.push_back(begin);
  }
  return input;
}

bool Propagator::IsConstant() const {
  for (std::size_t i = 0; i + 1 < matrix.size(); ++i) {
    for (std::size_t j = 0; j + 1 < matrix[i].size(); ++j) {
      if (!IsZero(matrix[i][j])) return false;
    }
  }
  return true;
}

std::optional<Propagator> Compose(const Propagator& first, const Propagator& second) {
  if (first.matrix.empty() || second.matrix.empty() ||
      first.matrix[0].size() != second.matrix.size()) {
    return std::nullopt;
  }
  Propagator both;
  const std::size_t columns = second.matrix[0].size();
  for (const std::vector<Fraction>& row : first.matrix) {
    std::vector<Fraction> product;
    for (std::size_t j = 0; j < columns; ++j) {
      std::optional<Fraction> sum = Fraction{};
      for (std::size_t k = 0; k < second.matrix.size(); ++k) {
        sum = Add(sum, Multiply(row[k], second.matrix[k][j]));
      }
      if (!sum) return std::nullopt;
      product.push_back(*sum);
    }
    both.matrix.push_back(std::move(product));
  }
  // The offset of the part between is in its indices.
  for (std::size_t i = 0; i < first.offset.size(); ++i) {
    std::optional<Fraction> at = Fraction{first.offset[i], 1};
    for (std::size_t k = 0; k < second.offset.size(); ++k) {
      at = Add(at, Multiply(first.matrix[i][k], {second.offset[k], 1}));
    }
    if (!at) return std::nullopt;
    std::int64_t whole = at->numerator / at->denominator;
    if (at->numerator % at->denominator < 0) --whole;
    both.offset.push_back(whole);
  }
  return both;
}

std::map<std::vector<std::int64_t>, std::int64_t> CountStripes(const StripeConfig& config,
                                                               bool sliding) {
  std::map<std::vector<std::int64_t>, std::int64_t> counts = {{{}, 1}};
  for (std::size_t d = 0; d < config.shape.size(); ++d) {
    std::map<std::int64_t, std::int64_t> sizes;
    std::int64_t done = 0;  // indices before it belong to predecessors
    for (std::int64_t k = 0; k < config.count[d]; ++k) {
      const auto step = Multiply(config.strides[d], {k, 1});
      if (!step) return {};
      std::int64_t start = step->numerator / step->denominator;
      if (step->numerator % step->denominator < 0) --start;
      start += config.offset[d];
      const std::int64_t end = std::min(start + config.shape[d], config.extent[d]);
      const std::int64_t low = std::max(sliding ? std::max(start, done) : start, std::int64_t{0});
      if (end > low) ++sizes[end - low];
      done = std::max(done, end);
    }
    std::map<std::vector<std::int64_t>, std::int64_t> longer;
    for (const auto& [shape, count] : counts) {
      for (const auto& [size, times] : sizes) {
        std::vector<std::int64_t> extended = shape;
        extended.push_back(size);
        longer[extended] += count * times;
      }
    }
    counts = std::move(longer);
  }
  return counts;
}

std::optional<std::int64_t> BufferBytes(const StripeConfig& config,
                                        const std::vector<std::int64_t>& tensor,
                                        std::int64_t element_bytes, Buffering buffering,
                                        Fraction ratio) {
  if (tensor.size() != config.shape.size()) return std::nullopt;
  std::size_t rolling = 0;
  bool found = false;
  for (std::size_t d = 0; d < tensor.size(); ++d) {
    if (config.count[d] <= 1 || config.order[d] == 0) continue;
    if (!found || config.order[d] < config.order[rolling]) rolling = d;
    found = true;
  }
  std::optional<Fraction> bytes = Multiply({element_bytes, 1}, ratio);
  for (std::size_t d = 0; d < tensor.size() && bytes; ++d) {
    const bool whole =
        buffering == Buffering::kFull || (buffering == Buffering::kRolling && d != rolling);
    bytes = Multiply(*bytes, {whole ? tensor[d] : config.shape[d], 1});
  }
  if (bytes && buffering == Buffering::kDouble) bytes = Multiply(*bytes, {2, 1});
  return bytes ? std::optional(Ceil(*bytes)) : std::nullopt;
}

namespace {

StripeConfig ConfigOf(const std::vector<std::int64_t>& whole,
                      const std::vector<std::int64_t>& shape, std::size_t outermost) {
  StripeConfig config;
  const std::size_t rank = whole.size();
  config.shape = shape;
  config.extent = whole;
  config.offset.assign(rank, 0);
  config.order.assign(rank, 0);
  for (std::size_t d = 0; d < rank; ++d) {
    config.strides.push_back({shape[d], 1});
    config.count.push_back((whole[d] + shape[d] - 1) / shape[d]);
    // A rotation of the axes, from the outermost loop on.
    config.order[(outermost + d) % rank] = static_cast<std::int64_t>(d) + 1;
  }
  return config;
}

}  // namespace

std::vector<StripeConfig> GenerateStripes(const std::vector<std::int64_t>& shape,
                                          const std::vector<Propagator>& propagators,
                                          const StripeOptions& options) {
  const std::size_t rank = shape.size();
  std::vector<std::vector<std::int64_t>> sizes(rank);
  for (std::size_t d = 0; d < rank; ++d) {
    std::set<std::int64_t> of_axis = {shape[d]};
    bool follows = false;
    for (const Propagator& propagator : propagators) {
      for (std::size_t i = 0; i + 1 < propagator.matrix.size(); ++i) {
        follows = follows || (d < propagator.matrix[i].size() && !IsZero(propagator.matrix[i][d]));
      }
    }
    const std::int64_t quantum =
        d < options.quantum.size() ? std::max<std::int64_t>(options.quantum[d], 1) : 1;
    for (int k = 0; options.striping && follows && k < options.factors; ++k) {
      const bool least = k + 1 == options.factors;
      const std::int64_t divisor = std::int64_t{1} << std::min(k, 40);
      const std::int64_t part =
          least ? 1 : (shape[d] + divisor * quantum - 1) / (divisor * quantum);
      of_axis.insert(std::min(shape[d], std::max<std::int64_t>(part, 1) * quantum));
    }
    sizes[d].assign(of_axis.rbegin(), of_axis.rend());
  }
  std::vector<StripeConfig> configs;
  std::vector<std::int64_t> stripe = shape;
  std::function<void(std::size_t, int)> choose = [&](std::size_t d, int split) {
    if (d == rank) {
      if (split == 0) configs.push_back(ConfigOf(shape, stripe, 0));
      for (std::size_t i = 0; i < rank && split > 0; ++i) {
        if (stripe[i] != shape[i]) configs.push_back(ConfigOf(shape, stripe, i));
      }
      return;
    }
    for (const std::int64_t size : sizes[d]) {
      const bool cut = size != shape[d];
      if (cut && split > 0 && !options.several_axes) continue;
      stripe[d] = size;
      choose(d + 1, split + (cut ? 1 : 0));
    }
    stripe[d] = shape[d];
  };
  choose(0, 0);
  return configs;
}

std::vector<std::vector<graph::OpId>> CascadeGroups(const graph::Subgraph& subgraph,
                                                    std::size_t most) {
  using graph::OpId;
  const auto producers = graph::Producers(subgraph);
  // Pairs of operators that may be in one group because of each other.
  IdVector<OpId, std::set<OpId>> joined(subgraph.ops.size());
  IdVector<OpId, std::set<OpId>> apart(subgraph.ops.size());
  for (const OpId id : subgraph.ops.Ids()) {
    const graph::Op& op = subgraph.ops[id];
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (!op.inputs[i].valid()) continue;
      const OpId producer = producers[op.inputs[i]];
      if (!producer.valid()) continue;
      const auto propagator = PropagatorOf(subgraph, op, i);
      auto& list = propagator && !propagator->IsConstant() ? joined : apart;
      list[id].insert(producer);
      list[producer].insert(id);
    }
  }
  std::set<std::vector<OpId>> groups;
  std::vector<std::vector<OpId>> last;
  for (const OpId id : subgraph.ops.Ids()) {
    if (subgraph.ops[id].folded) continue;
    last.push_back({id});
    groups.insert({id});
  }
  constexpr std::size_t kMaxGroups = 100'000;  // a limit of work: further groups are left out
  for (std::size_t size = 1; size < most && !last.empty() && groups.size() < kMaxGroups; ++size) {
    std::vector<std::vector<OpId>> next;
    for (const std::vector<OpId>& group : last) {
      for (const OpId member : group) {
        for (const OpId other : joined[member]) {
          if (std::binary_search(group.begin(), group.end(), other)) continue;
          const bool fits = std::none_of(group.begin(), group.end(),
                                         [&](OpId one) { return apart[one].contains(other); });
          if (!fits) continue;
          std::vector<OpId> larger = group;
          larger.insert(std::upper_bound(larger.begin(), larger.end(), other), other);
          if (groups.insert(larger).second) next.push_back(std::move(larger));
        }
      }
    }
    last = std::move(next);
  }
  return {groups.begin(), groups.end()};
}

}  // namespace neap::cascade
