// SPDX-License-Identifier: Apache-2.0
//
// Operators of TensorFlow Lite that move elements or look at shapes.
#include <algorithm>
#include <utility>

#include "testing/random_network.h"

namespace neap::property {
namespace {

using enum ElementType;

void Reshape(Network& n, const OperatorCase& c, ElementType type) {
  const TensorId x = n.TakeAny(type);
  Shape out = n.ShapeOf(x);
  std::vector<TensorId> inputs = {x};
  if (c.type == "EXPAND_DIMS") {
    const std::int64_t axis = n.Draw(0, static_cast<std::int64_t>(out.size()));
    out.insert(out.begin() + axis, 1);
    inputs.push_back(n.Ints({axis}));
  } else if (c.type == "SQUEEZE") {
    std::erase(out, 1);
    if (out.empty()) out = {1};
  } else {
    if (n.Coin()) out = {ElementsOf(out)};
    if (n.Coin()) out.insert(out.begin(), 1);
    inputs.push_back(n.Ints(out));
  }
  n.Add("tflite", c.type, inputs, {n.Out(type, out, x)});
}

void Concatenation(Network& n, const OperatorCase& c, ElementType type) {
  const TensorId first = n.TakeAny(type);
  Shape out = n.ShapeOf(first);
  // Rows of one image are pieces of the whole, columns are not.
  std::size_t axis = 0;
  while (axis + 1 < out.size() && (out[axis] == 1 ? n.random().Chance(4, 5) : n.Rarely())) ++axis;
  std::vector<TensorId> inputs = {first};
  for (std::int64_t more = n.Draw(0, 3); more > 0; --more) {
    Shape one = n.ShapeOf(first);
    one[axis] = n.Draw(1, 4);
    const auto fits = [&](const graph::Tensor& tensor) {
      Shape seen = *tensor.shape;
      if (seen.size() == one.size()) seen[axis] = one[axis];
      return seen == one &&
             tensor.quantization.has_value() == n.TensorOf(first).quantization.has_value();
    };
    TensorId next = n.Take(type, one, fits);
    if (n.random().Chance(1, 8)) next = n.Constant(type, one);
    inputs.push_back(next);
    out[axis] += n.ShapeOf(next)[axis];
  }
  n.Add("tflite", c.type, inputs, {n.Out(type, out, first)},
        {{"axis", static_cast<std::int64_t>(axis) -
                      (n.Coin() ? static_cast<std::int64_t>(out.size()) : 0)}});
}

void Split(Network& n, const OperatorCase& c, ElementType type) {
  const TensorId x = n.TakeAny(type);
  const Shape in = n.ShapeOf(x);
  std::size_t axis = 0;
  while (axis + 1 < in.size() && (in[axis] == 1 ? true : n.Rarely())) ++axis;
  Numbers sizes;
  if (c.type == "SPLIT") {
    std::int64_t parts = n.Draw(1, 3);
    if (in[axis] % parts != 0) parts = in[axis];
    sizes.assign(static_cast<std::size_t>(parts), in[axis] / parts);
  } else {
    for (std::int64_t left = in[axis]; left > 0; left -= sizes.back()) {
      sizes.push_back(n.Draw(1, left));
    }
  }
  const TensorId along = n.Ints({static_cast<std::int64_t>(axis)}, {});
  const TensorId list = c.type == "SPLIT" ? TensorId() : n.Ints(sizes);
  std::vector<TensorId> outputs;
  for (const std::int64_t size : sizes) {
    Shape part = in;
    part[axis] = size;
    outputs.push_back(n.Out(type, part, x));
  }
  const auto parts = static_cast<std::int64_t>(sizes.size());
  if (c.type == "SPLIT")
    return n.Add("tflite", c.type, {along, x}, outputs, {{"num_splits", parts}});
  n.Add("tflite", c.type, {x, list, along}, outputs, {{"num_splits", parts}});
}

void Pack(Network& n, const OperatorCase& c, ElementType type) {
  const TensorId x = n.TakeAny(type);
  Shape shape = n.ShapeOf(x);
  if (c.type == "UNPACK") {
    const auto axis = static_cast<std::size_t>(n.random().Below(shape.size()));
    const std::int64_t parts = shape[axis];
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
    std::vector<TensorId> outputs;
    for (std::int64_t i = 0; i < parts; ++i) outputs.push_back(n.Out(type, shape, x));
    return n.Add("tflite", c.type, {x}, outputs,
                 {{"axis", static_cast<std::int64_t>(axis)}, {"num", parts}});
  }
  std::vector<TensorId> inputs = {x};
  for (std::int64_t more = n.Draw(0, 2); more > 0; --more) {
    inputs.push_back(n.TakeShaped(type, shape, x));
  }
  const auto count = static_cast<std::int64_t>(inputs.size());
  const auto axis = static_cast<std::int64_t>(n.random().Below(shape.size() + 1));
  shape.insert(shape.begin() + axis, count);
  n.Add("tflite", c.type, inputs, {n.Out(type, shape, x)},
        {{"axis", axis}, {"values_count", count}});
}

void Transpose(Network& n, const OperatorCase& c, ElementType type) {
  const TensorId x = n.TakeAny(type);
  const Shape in = n.ShapeOf(x);
  Numbers order;
  for (std::size_t d = 0; d < in.size(); ++d) order.push_back(static_cast<std::int64_t>(d));
  n.random().Shuffle(order);
  Shape out;
  for (const std::int64_t d : order) out.push_back(in[static_cast<std::size_t>(d)]);
  n.Add("tflite", c.type, {x, n.Ints(order)}, {n.Out(type, out, x)});
}

void Slice(Network& n, const OperatorCase& c, ElementType type) {
  const TensorId x = n.TakeAny(type);
  const Shape in = n.ShapeOf(x);
  const bool strided = c.type == "STRIDED_SLICE";
  Numbers begins;
  Numbers ends;
  Numbers steps;
  Shape out;
  // Mostly whole rows, which are one stretch of bytes.
  const auto cut = static_cast<std::size_t>(n.random().Below(in.size()));
  for (std::size_t d = 0; d < in.size(); ++d) {
    const bool whole = d > cut || (d < cut && n.Coin());
    const std::int64_t begin = whole ? 0 : n.Draw(0, in[d] - 1);
    const std::int64_t end = whole ? in[d] : n.Draw(begin + 1, in[d]);
    const std::int64_t step = strided && !whole && n.Rarely() ? 2 : 1;
    begins.push_back(begin);
    ends.push_back(end);
    steps.push_back(step);
    out.push_back((end - begin + step - 1) / step);
  }
  const TensorId y = n.Out(type, out, x);
  if (strided) {
    return n.Add("tflite", c.type, {x, n.Ints(begins), n.Ints(ends), n.Ints(steps)}, {y});
  }
  n.Add("tflite", c.type, {x, n.Ints(begins), n.Ints(out)}, {y});
}

void Pad(Network& n, const OperatorCase& c, ElementType type) {
  const TensorId x = n.TakeAny(type);
  const Shape in = n.ShapeOf(x);
  const bool mirror = c.type == "MIRROR_PAD";
  const std::int64_t mode = n.Draw(0, 1);
  Shape out = in;
  Numbers amounts;
  for (std::size_t d = 0; d < in.size(); ++d) {
    const std::int64_t most = mirror ? std::min<std::int64_t>(in[d] - (mode == 0 ? 1 : 0), 2) : 2;
    for (int side = 0; side < 2; ++side) amounts.push_back(n.Coin() ? n.Draw(0, most) : 0);
    out[d] += amounts[2 * d] + amounts[2 * d + 1];
  }
  std::vector<TensorId> inputs = {x, n.Ints(amounts, {static_cast<std::int64_t>(in.size()), 2})};
  if (c.type == "PADV2") inputs.push_back(n.Constant(type, {1}));
  Attributes attributes;
  if (mirror) attributes["mode"] = mode;
  n.Add("tflite", c.type, inputs, {n.Out(type, out, x)}, std::move(attributes));
}

void Tile(Network& n, const OperatorCase& c, ElementType type) {
  const TensorId x = n.TakeAny(type);
  Shape out = n.ShapeOf(x);
  Numbers repeats;
  for (std::int64_t& d : out) {
    repeats.push_back(n.Draw(1, 2));
    d *= repeats.back();
  }
  n.Add("tflite", c.type, {x, n.Ints(repeats)}, {n.Out(type, out, x)});
}

void Gather(Network& n, const OperatorCase& c, ElementType type) {
  const TensorId x = n.TakeAny(type);
  Shape out = n.ShapeOf(x);
  const auto axis = static_cast<std::size_t>(n.random().Below(out.size()));
  Numbers indices;
  for (std::int64_t i = n.Draw(1, 4); i > 0; --i) indices.push_back(n.Draw(0, out[axis] - 1));
  out[axis] = static_cast<std::int64_t>(indices.size());
  n.Add("tflite", c.type, {x, n.Ints(indices)}, {n.Out(type, out, x)},
        {{"axis", static_cast<std::int64_t>(axis)}});
}

void ShapeOf(Network& n, const OperatorCase& c, ElementType type) {
  const TensorId x = n.TakeAny(type);
  const auto rank = static_cast<std::int64_t>(n.ShapeOf(x).size());
  n.Add("tflite", c.type, {x}, {n.Out(n.Coin() ? kInt32 : kInt64, {rank})});
}

void ArgBest(Network& n, const OperatorCase& c, ElementType type) {
  const TensorId x = n.TakeAny(type);
  Shape out = n.ShapeOf(x);
  const auto axis = static_cast<std::int64_t>(n.random().Below(out.size()));
  out.erase(out.begin() + axis);
  n.Add("tflite", c.type, {x, n.Ints({axis}, {})}, {n.Out(n.Coin() ? kInt32 : kInt64, out)});
}

void Blocks(Network& n, const OperatorCase& c, ElementType type) {
  Shape deep = {1, n.Draw(1, 3), n.Draw(1, 3), 4 * n.Draw(1, 2)};
  Shape wide = {1, deep[1] * 2, deep[2] * 2, deep[3] / 4};
  const bool to_space = c.type == "DEPTH_TO_SPACE";
  const TensorId x = n.TakeShaped(type, to_space ? deep : wide);
  n.Add("tflite", c.type, {x}, {n.Out(type, to_space ? wide : deep, x)},
        {{"block_size", std::int64_t{2}}});
}

void Batches(Network& n, const OperatorCase& c, ElementType type) {
  const Numbers block = {n.Draw(1, 2), n.Draw(1, 2)};
  const std::int64_t depth = n.Draw(1, 3);
  const Shape small = {block[0] * block[1], n.Draw(1, 3), n.Draw(1, 3), depth};
  const Numbers cut = {n.Draw(0, block[0] - 1), 0, 0, n.Draw(0, block[1] - 1)};
  const Shape large = {1, small[1] * block[0] - cut[0], small[2] * block[1] - cut[3], depth};
  const bool to_batch = c.type == "SPACE_TO_BATCH_ND";
  const TensorId x = n.TakeShaped(type, to_batch ? large : small);
  n.Add("tflite", c.type, {x, n.Ints(block), n.Ints(cut, {2, 2})},
        {n.Out(type, to_batch ? small : large, x)});
}

void Cast(Network& n, const OperatorCase& c, ElementType type) {
  constexpr ElementType kTypes[] = {kFloat32, kInt8, kInt32, kInt64, kBool};
  const TensorId x = n.TakeAny(type);
  const ElementType to = kTypes[n.random().Below(type == kBool ? 4 : 5)];
  n.Add("tflite", c.type, {x}, {n.Out(to, n.ShapeOf(x))});
}

}  // namespace

void AddTfliteMoves(const AddCases& add) {
  const std::vector<ElementType> any = {kFloat32, kInt8, kUint8, kInt16, kInt32, kInt64, kBool};
  add(Reshape, any, {"RESHAPE", "SQUEEZE", "EXPAND_DIMS"});
  add(Concatenation, any, {"CONCATENATION"});
  add(Split, any, {"SPLIT", "SPLIT_V"});
  add(Pack, any, {"PACK", "UNPACK"});
  add(Transpose, any, {"TRANSPOSE"});
  add(Slice, any, {"SLICE", "STRIDED_SLICE"});
  add(Pad, any, {"PAD", "PADV2", "MIRROR_PAD"});
  add(Tile, any, {"TILE"});
  add(Gather, any, {"GATHER"});
  add(ShapeOf, any, {"SHAPE"});
  add(ArgBest, {kFloat32, kInt8, kUint8, kInt32}, {"ARG_MAX", "ARG_MIN"});
  add(Blocks, any, {"DEPTH_TO_SPACE", "SPACE_TO_DEPTH"});
  add(Batches, any, {"SPACE_TO_BATCH_ND", "BATCH_TO_SPACE_ND"});
  add(Cast, {kFloat32, kInt8, kInt32, kInt64, kBool}, {"CAST"});
}

}  // namespace neap::property
