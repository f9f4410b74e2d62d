// SPDX-License-Identifier: Apache-2.0
#include "neap/execute/loops/take.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <utility>

#include "neap/execute/loops/strided.h"

namespace neap::execute {
namespace {

bool IsIdentity(const IndexMap& map, std::int64_t size) {
  if (static_cast<std::int64_t>(map.size()) != size) return false;
  for (std::int64_t i = 0; i < size; ++i) {
    if (map[static_cast<std::size_t>(i)] != i) return false;
  }
  return true;
}

void Fill(std::byte* out, std::int64_t bytes, std::span<const std::byte> fill) {
  for (std::int64_t i = 0; i < bytes; i += static_cast<std::int64_t>(fill.size())) {
    std::memcpy(out + i, fill.data(), fill.size());
  }
}

// The entries of an axis that a part has, as indices of the part of the input.
void CutMap(const Within& within, std::size_t axis, IndexMap* map, std::int64_t* size) {
  const Within::Range& out = within.out[axis];
  IndexMap cut(map->begin() + out.first, map->begin() + out.last);
  for (std::int64_t& at : cut) at = at < 0 ? at : at - within.in[axis].first;
  *map = std::move(cut);
  *size = within.in[axis].size();
}

}  // namespace

Status CutMaps(const Within& within, std::size_t row_axis, std::vector<IndexMap>* maps,
               graph::Shape* shape) {
  NEAP_CHECK_OK(Require(maps->size() == 4, "has no kernel for a part of its output"));
  for (std::size_t i = 0; i < 2; ++i) {
    CutMap(within, i, &(*maps)[row_axis + i], &(*shape)[row_axis + i]);
  }
  return {};
}

Result<std::size_t> ElementBytes(graph::ElementType type) {
  const int bits = graph::BitsOf(type);
  if (bits >= 8) return static_cast<std::size_t>(bits) / 8;
  return Fail(BadInput("has no kernel for elements of type " + std::string(graph::NameOf(type))));
}

IndexMap Identity(std::int64_t size) { return Stepped(0, 1, size); }

IndexMap Stepped(std::int64_t begin, std::int64_t step, std::int64_t count) {
  IndexMap map(static_cast<std::size_t>(std::max<std::int64_t>(count, 0)));
  for (std::size_t i = 0; i < map.size(); ++i) map[i] = begin + step * static_cast<std::int64_t>(i);
  return map;
}

void Take(const graph::Shape& shape, const std::vector<IndexMap>& maps, std::size_t element_bytes,
          const std::byte* in, std::span<const std::byte> fill, std::byte* out) {
  auto block = static_cast<std::int64_t>(element_bytes);
  std::size_t rank = shape.size();
  while (rank > 0 && IsIdentity(maps[rank - 1], shape[rank - 1])) block *= shape[--rank];
  graph::Shape places;
  for (std::size_t d = 0; d < rank; ++d)
    places.push_back(static_cast<std::int64_t>(maps[d].size()));
  Strides strides(rank, block);
  for (std::size_t d = rank; d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  const std::int64_t count = Elements(places);
  if (count == 0 || block == 0) return;
  if (rank == 0) {
    std::memmove(out, in, static_cast<std::size_t>(block));
    return;
  }
  const IndexMap& last = maps[rank - 1];
  std::vector<std::size_t> index(rank, 0);
  for (std::int64_t done = 0; done < count; done += places.back()) {
    std::int64_t from = 0;
    bool filled = false;
    for (std::size_t d = 0; d + 1 < rank; ++d) {
      filled = filled || maps[d][index[d]] < 0;
      from += maps[d][index[d]] * strides[d];
    }
    for (const std::int64_t at : last) {
      if (filled || at < 0) {
        Fill(out, block, fill);
      } else {
        std::memmove(out, in + from + at * block, static_cast<std::size_t>(block));
      }
      out += block;
    }
    for (std::size_t d = rank - 1; d-- > 0;) {
      if (++index[d] < maps[d].size()) break;
      index[d] = 0;
    }
  }
}

Result<RunKernel> TakeKernel(const Node& node, std::vector<IndexMap> maps) {
  NEAP_TRY(const std::size_t size, ElementBytes(node.In(0).type));
  NEAP_CHECK_OK(RequireType(node.Out(), node.In(0).type));
  graph::Shape shape;
  for (const IndexMap& map : maps) shape.push_back(static_cast<std::int64_t>(map.size()));
  NEAP_CHECK_OK(RequireShape(node.Out(), shape));
  graph::Shape given = node.In(0).shape;
  if (node.within) {
    const std::size_t row_axis = node.op->domain == "tflite" ? 1 : 2;
    NEAP_CHECK_OK(CutMaps(*node.within, row_axis, &maps, &given));
  }
  return RunKernel([size, in_shape = std::move(given),
                    maps = std::move(maps)](const Arguments& arguments) -> Status {
    constexpr std::byte kZeros[16] = {};
    Take(in_shape, maps, size, arguments.inputs[0].data(), std::span(kZeros).first(size),
         arguments.outputs[0].data());
    return {};
  });
}

Result<RunKernel> CopyKernel(const Node& node, std::size_t input) {
  NEAP_CHECK_OK(Require(node.Has(input) && node.outputs.size() == 1 && node.Out().present,
                        "does not have the inputs and outputs of its type"));
  NEAP_CHECK_OK(RequireType(node.Out(), node.In(input).type));
  NEAP_CHECK_OK(Require(node.In(input).elements == node.Out().elements,
                        "input and output have different numbers of elements"));
  return RunKernel([input](const Arguments& arguments) -> Status {
    if (arguments.inputs[input].empty()) return {};
    std::memmove(arguments.outputs[0].data(), arguments.inputs[input].data(),
                 arguments.inputs[input].size());
    return {};
  });
}

Result<RunKernel> TransposeKernel(const Node& node, const std::vector<std::int64_t>& order) {
  const graph::Shape& in = node.In(0).shape;
  NEAP_TRY(const std::size_t size, ElementBytes(node.In(0).type));
  NEAP_CHECK_OK(RequireType(node.Out(), node.In(0).type));
  NEAP_CHECK_OK(Require(order.size() == in.size(), "its permutation has another rank"));
  const Strides dense = DenseStrides(in);
  graph::Shape out;
  Strides from;
  std::vector<bool> taken(in.size(), false);
  for (const std::int64_t entry : order) {
    NEAP_TRY(const std::size_t d, NormalAxis(entry, in.size()));
    NEAP_CHECK_OK(Require(!taken[d], "its permutation names a dimension twice"));
    taken[d] = true;
    out.push_back(in[d]);
    from.push_back(dense[d]);
  }
  NEAP_CHECK_OK(RequireShape(node.Out(), out));
  return RunKernel([=, to = DenseStrides(out)](const Arguments& arguments) -> Status {
    CopyStrided(out, size, arguments.inputs[0].data(), from, arguments.outputs[0].data(), to);
    return {};
  });
}

Result<RunKernel> ConcatKernel(const Node& node, std::int64_t axis) {
  NEAP_CHECK_OK(RequireOperands(node, node.inputs.size(), node.inputs.size()));
  NEAP_CHECK_OK(Require(!node.inputs.empty(), "has no inputs"));
  const graph::Shape& out = node.Out().shape;
  NEAP_TRY(const std::size_t d, NormalAxis(axis, out.size()));
  NEAP_TRY(const std::size_t size, ElementBytes(node.Out().type));
  std::int64_t along = 0;
  std::vector<std::int64_t> chunks;
  for (const Operand& input : node.inputs) {
    NEAP_CHECK_OK(RequireType(input, node.Out().type));
    graph::Shape expected = out;
    NEAP_CHECK_OK(Require(input.Rank() == out.size(), "its inputs have different ranks"));
    expected[d] = input.shape[d];
    NEAP_CHECK_OK(RequireShape(input, expected));
    along += input.shape[d];
    chunks.push_back(input.shape[d] * Elements(out, d + 1, out.size()) *
                     static_cast<std::int64_t>(size));
  }
  NEAP_CHECK_OK(Require(along == out[d], "the sizes of its inputs do not add up to its output"));
  return RunKernel([chunks, rows = Elements(out, 0, d)](const Arguments& arguments) -> Status {
    std::byte* to = arguments.outputs[0].data();
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::size_t n = 0; n < chunks.size(); ++n) {
        if (chunks[n] == 0) continue;
        std::memmove(to, arguments.inputs[n].data() + row * chunks[n],
                     static_cast<std::size_t>(chunks[n]));
        to += chunks[n];
      }
    }
    return {};
  });
}

Result<RunKernel> SplitKernel(const Node& node, std::size_t input, std::int64_t axis) {
  NEAP_CHECK_OK(Require(node.Has(input) && !node.outputs.empty(), "has no input or no outputs"));
  const graph::Shape& in = node.In(input).shape;
  NEAP_TRY(const std::size_t d, NormalAxis(axis, in.size()));
  NEAP_TRY(const std::size_t size, ElementBytes(node.In(input).type));
  std::int64_t along = 0;
  std::vector<std::int64_t> chunks;
  for (const Operand& output : node.outputs) {
    NEAP_CHECK_OK(Require(output.present && output.Rank() == in.size(),
                          "an output has another rank than its input"));
    NEAP_CHECK_OK(RequireType(output, node.In(input).type));
    graph::Shape expected = in;
    expected[d] = output.shape[d];
    NEAP_CHECK_OK(RequireShape(output, expected));
    along += output.shape[d];
    chunks.push_back(output.shape[d] * Elements(in, d + 1, in.size()) *
                     static_cast<std::int64_t>(size));
  }
  NEAP_CHECK_OK(Require(along == in[d], "the sizes of its outputs do not add up to its input"));
  return RunKernel(
      [input, chunks, rows = Elements(in, 0, d)](const Arguments& arguments) -> Status {
        const std::byte* from = arguments.inputs[input].data();
        for (std::int64_t row = 0; row < rows; ++row) {
          for (std::size_t n = 0; n < chunks.size(); ++n) {
            if (chunks[n] == 0) continue;
            std::memmove(arguments.outputs[n].data() + row * chunks[n], from,
                         static_cast<std::size_t>(chunks[n]));
            from += chunks[n];
          }
        }
        return {};
      });
}

Result<RunKernel> GatherKernel(const Node& node, std::int64_t axis, std::int64_t batch_dims,
                               bool wraps) {
  NEAP_CHECK_OK(RequireOperands(node, 2, 2));
  const graph::Shape& data = node.In(0).shape;
  const graph::Shape& indices = node.In(1).shape;
  const graph::ElementType type = node.In(1).type;
  NEAP_TRY(const std::size_t d, NormalAxis(axis, data.size()));
  NEAP_TRY(const std::size_t size, ElementBytes(node.In(0).type));
  NEAP_CHECK_OK(RequireType(node.Out(), node.In(0).type));
  NEAP_CHECK_OK(Require(type == graph::ElementType::kInt32 || type == graph::ElementType::kInt64,
                        "expected int32 or int64 indices"));
  if (batch_dims < 0) batch_dims += static_cast<std::int64_t>(indices.size());
  const auto batched = static_cast<std::size_t>(batch_dims);
  NEAP_CHECK_OK(Require(batch_dims >= 0 && batched <= d && batched <= indices.size() &&
                            std::equal(data.begin(), data.begin() + batch_dims, indices.begin()),
                        "the batch dimensions of data and indices are not the same"));
  graph::Shape out(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(d));
  out.insert(out.end(), indices.begin() + batch_dims, indices.end());
  out.insert(out.end(), data.begin() + static_cast<std::ptrdiff_t>(d) + 1, data.end());
  NEAP_CHECK_OK(RequireShape(node.Out(), out));
  const std::int64_t batches = Elements(data, 0, batched);
  const std::int64_t outer = Elements(data, batched, d);
  const std::int64_t picks = Elements(indices, batched, indices.size());
  const std::int64_t choices = data[d];
  const std::int64_t block = Elements(data, d + 1, data.size()) * static_cast<std::int64_t>(size);
  return RunKernel([=](const Arguments& arguments) -> Status {
    const std::vector<std::int64_t> wanted = ReadIntegers(type, arguments.inputs[1]);
    std::byte* to = arguments.outputs[0].data();
    for (std::int64_t n = 0; n < batches * outer; ++n) {
      const std::byte* const from = arguments.inputs[0].data() + n * choices * block;
      for (std::int64_t i = 0; i < picks; ++i) {
        std::int64_t index = wanted[static_cast<std::size_t>(n / outer * picks + i)];
        if (wraps && index < 0) index += choices;
        if (index < 0 || index >= choices) {
          return Fail(BadInput("index " + std::to_string(index) + " is outside 0 to " +
                               std::to_string(choices - 1)));
        }
        std::memmove(to, from + index * block, static_cast<std::size_t>(block));
        to += block;
      }
    }
    return {};
  });
}

}  // namespace neap::execute
