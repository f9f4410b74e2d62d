// SPDX-License-Identifier: Apache-2.0
#include "neap/execute/part_views.h"

#include <cstring>
#include <utility>

namespace neap::execute {

namespace {

// The index of the input that index `at` of the output takes.
std::vector<std::int64_t> IndexOfInput(const graph::Shape& in, const graph::Shape& out,
                                       const ops::Box& at, const std::vector<std::size_t>& order) {
  std::vector<std::int64_t> index(in.size());
  if (!order.empty()) {
    for (std::size_t d = 0; d < at.size(); ++d) index[order[d]] = at[d].begin;
    return index;
  }
  std::int64_t number = 0;
  for (std::size_t d = 0; d < at.size(); ++d) number = number * out[d] + at[d].begin;
  for (std::size_t d = in.size(); d-- > 0;) {
    index[d] = number % in[d];
    number /= in[d];
  }
  return index;
}

}  // namespace

Result<RunKernel> MovedPart(const graph::Tensor& in, const ops::Box& in_box,
                            const graph::Tensor& out, const ops::Box& out_box,
                            const std::vector<std::size_t>& order) {
  const auto bits = static_cast<std::int64_t>(graph::BitsOf(in.type));
  const bool whole = bits > 0 && bits % 8 == 0 && in.type == out.type;
  NEAP_CHECK_OK(Require(whole, "has no kernel for a part of its elements"));
  std::vector<std::int64_t> from;  // elements of the part of the input, by element of the output's
  ops::Box at = out_box;           // begin: the current index
  const std::int64_t count = ops::ElementsOf(out_box);
  from.reserve(static_cast<std::size_t>(count));
  for (std::int64_t n = 0; n < count; ++n) {
    const std::vector<std::int64_t> index = IndexOfInput(*in.shape, *out.shape, at, order);
    std::int64_t within = 0;
    for (std::size_t d = 0; d < in_box.size(); ++d) {
      const bool there = index[d] >= in_box[d].begin && index[d] < in_box[d].end;
      NEAP_CHECK_OK(Require(there, "needs an element outside of its dependence"));
      within = within * in_box[d].size() + index[d] - in_box[d].begin;
    }
    from.push_back(within);
    for (std::size_t d = at.size(); d-- > 0;) {
      if (++at[d].begin < out_box[d].end) break;
      at[d].begin = out_box[d].begin;
    }
  }
  const auto size = static_cast<std::size_t>(bits / 8);
  return RunKernel([from = std::move(from), size](const Arguments& arguments) -> Status {
    std::byte* to = arguments.outputs[0].data();
    for (const std::int64_t element : from) {
      std::memcpy(to, arguments.inputs[0].data() + static_cast<std::size_t>(element) * size, size);
      to += size;
    }
    return {};
  });
}

Result<RunKernel> PieceOf(const graph::Tensor& in, const ops::Box& have, const ops::Box& wanted,
                          std::size_t input, std::size_t output) {
  const auto bits = static_cast<std::int64_t>(graph::BitsOf(in.type));
  NEAP_CHECK_OK(Require(bits > 0 && bits % 8 == 0, "has no kernel for a part of its elements"));
  bool inside = have.size() == wanted.size() && !wanted.empty();
  for (std::size_t d = 0; inside && d < have.size(); ++d) {
    inside = wanted[d].begin >= have[d].begin && wanted[d].end <= have[d].end;
  }
  NEAP_CHECK_OK(Require(inside, "needs an element outside of its dependence"));
  // Runs along the last dimension.
  const auto size = static_cast<std::size_t>(bits / 8);
  const std::size_t run = static_cast<std::size_t>(wanted.back().size()) * size;
  std::vector<std::size_t> from;  // their first bytes
  ops::Box at = wanted;           // begin: the current index
  const std::int64_t runs = run == 0 ? 0 : ops::ElementsOf(wanted) / wanted.back().size();
  for (std::int64_t n = 0; n < runs; ++n) {
    std::int64_t within = 0;
    for (std::size_t d = 0; d < have.size(); ++d) {
      within = within * have[d].size() + at[d].begin - have[d].begin;
    }
    from.push_back(static_cast<std::size_t>(within) * size);
    for (std::size_t d = at.size() - 1; d-- > 0;) {
      if (++at[d].begin < wanted[d].end) break;
      at[d].begin = wanted[d].begin;
    }
  }
  return RunKernel(
      [from = std::move(from), run, input, output](const Arguments& arguments) -> Status {
        std::byte* to = arguments.outputs[output].data();
        for (const std::size_t first : from) {
          std::memcpy(to, arguments.inputs[input].data() + first, run);
          to += run;
        }
        return {};
      });
}

RunKernel WithPartOfIndices(RunKernel kernel, std::int64_t from, std::int64_t bytes) {
  return [kernel = std::move(kernel), from, bytes](const Arguments& arguments) -> Status {
    std::vector<std::span<const std::byte>> inputs(arguments.inputs.begin(),
                                                   arguments.inputs.end());
    inputs[1] = inputs[1].subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(bytes));
    return kernel({inputs, arguments.outputs});
  };
}

}  // namespace neap::execute
