// SPDX-License-Identifier: Apache-2.0
//
// Operators of ONNX that move elements or look at shapes.
#include <utility>

#include "testing/random_network.h"

namespace neap::property {
namespace {

using enum ElementType;

void Reshape(Network& n, const OperatorCase& c, ElementType type) {
  const TensorId x = n.TakeAny(type);
  Shape out = n.ShapeOf(x);
  std::vector<TensorId> inputs = {x};
  Attributes attributes;
  if (c.type == "Reshape") {
    out = {ElementsOf(out)};
    if (n.Coin()) out.push_back(1);
    inputs.push_back(n.Longs(out));
  } else if (c.type == "Flatten") {
    const std::int64_t rows = out.front();
    out = {rows, ElementsOf(out) / rows};
    attributes["axis"] = std::int64_t{1};
  } else if (c.type == "Squeeze") {
    std::erase(out, 1);
  } else if (c.type == "Unsqueeze") {
    out.insert(out.begin(), 1);
    inputs.push_back(n.Longs({0}));
  }
  n.Add("", c.type, inputs, {n.Out(type, out)}, std::move(attributes));
}

void Transpose(Network& n, const OperatorCase& c, ElementType type) {
  const TensorId x = n.TakeAny(type);
  const Shape in = n.ShapeOf(x);
  Numbers order;
  for (std::size_t d = 0; d < in.size(); ++d) order.push_back(static_cast<std::int64_t>(d));
  n.random().Shuffle(order);
  Shape out;
  for (const std::int64_t d : order) out.push_back(in[static_cast<std::size_t>(d)]);
  n.Add("", c.type, {x}, {n.Out(type, out)}, {{"perm", order}});
}

void Concat(Network& n, const OperatorCase& c, ElementType type) {
  const TensorId first = n.TakeAny(type);
  Shape out = n.ShapeOf(first);
  const auto axis = static_cast<std::size_t>(n.random().Below(out.size()));
  std::vector<TensorId> inputs = {first};
  for (std::int64_t more = n.Draw(0, 3); more > 0; --more) {
    Shape one = n.ShapeOf(first);
    one[axis] = n.Draw(1, 4);
    inputs.push_back(n.TakeShaped(type, one));
    out[axis] += one[axis];
  }
  n.Add("", c.type, inputs, {n.Out(type, out)}, {{"axis", static_cast<std::int64_t>(axis)}});
}

void Split(Network& n, const OperatorCase& c, ElementType type) {
  const TensorId x = n.TakeAny(type);
  const Shape in = n.ShapeOf(x);
  const auto axis = static_cast<std::size_t>(n.random().Below(in.size()));
  Numbers sizes;
  for (std::int64_t left = in[axis]; left > 0; left -= sizes.back()) {
    sizes.push_back(n.Draw(1, left));
  }
  const TensorId list = n.Longs(sizes);
  std::vector<TensorId> outputs;
  for (const std::int64_t size : sizes) {
    Shape part = in;
    part[axis] = size;
    outputs.push_back(n.Out(type, part));
  }
  n.Add("", c.type, {x, list}, outputs, {{"axis", static_cast<std::int64_t>(axis)}});
}

void Gather(Network& n, const OperatorCase& c, ElementType type) {
  const TensorId x = n.TakeAny(type);
  Shape out = n.ShapeOf(x);
  const auto axis = static_cast<std::size_t>(n.random().Below(out.size()));
  Numbers indices;
  for (std::int64_t i = n.Draw(1, 4); i > 0; --i)
    indices.push_back(n.Draw(-out[axis], out[axis] - 1));
  out[axis] = static_cast<std::int64_t>(indices.size());
  n.Add("", c.type, {x, n.Longs(indices)}, {n.Out(type, out)},
        {{"axis", static_cast<std::int64_t>(axis)}});
}

void Slice(Network& n, const OperatorCase& c, ElementType type) {
  const TensorId x = n.TakeAny(type);
  Shape out = n.ShapeOf(x);
  const auto axis = static_cast<std::size_t>(n.random().Below(out.size()));
  const std::int64_t begin = n.Draw(0, out[axis] - 1);
  const std::int64_t end = n.Draw(begin + 1, out[axis]);
  out[axis] = end - begin;
  const auto at = static_cast<std::int64_t>(axis);
  const TensorId y = n.Out(type, out);
  if (n.Coin()) {
    return n.Add("", c.type, {x}, {y},
                 {{"starts", Numbers{begin}}, {"ends", Numbers{end}}, {"axes", Numbers{at}}}, 9);
  }
  n.Add("", c.type, {x, n.Longs({begin}), n.Longs({end}), n.Longs({at})}, {y});
}

void Pad(Network& n, const OperatorCase& c, ElementType type) {
  const TensorId x = n.TakeAny(type);
  Shape out = n.ShapeOf(x);
  Numbers before;
  Numbers after;
  for (std::int64_t& d : out) {
    before.push_back(n.Draw(0, 1));
    after.push_back(n.Draw(0, 2));
    d += before.back() + after.back();
  }
  before.insert(before.end(), after.begin(), after.end());
  const char* const modes[] = {"constant", "edge", "reflect"};
  n.Add("", c.type, {x, n.Longs(before)}, {n.Out(type, out)},
        {{"mode", std::string(modes[n.Draw(0, 2)])}});
}

void Repeat(Network& n, const OperatorCase& c, ElementType type) {
  const TensorId x = n.TakeAny(type);
  Shape out = n.ShapeOf(x);
  Numbers repeats;
  for (std::int64_t& d : out) {
    const bool grows = c.type == "Tile" || d == 1;
    repeats.push_back(grows ? n.Draw(1, 2) : 1);
    d *= repeats.back();
  }
  const TensorId second = n.Longs(c.type == "Tile" ? repeats : out);
  n.Add("", c.type, {x, second}, {n.Out(type, out)});
}

void ShapeOf(Network& n, const OperatorCase& c, ElementType type) {
  const TensorId x = n.TakeAny(type);
  n.Add("", c.type, {x}, {n.Out(kInt64, {static_cast<std::int64_t>(n.ShapeOf(x).size())})});
}

void ConstantOfShape(Network& n, const OperatorCase& c, ElementType type) {
  const Shape shape = n.RandomShape(2);
  n.Add("", c.type, {n.Longs(shape)}, {n.Out(type, shape)});
}

void Blocks(Network& n, const OperatorCase& c, ElementType type) {
  const Shape deep = {1, 4 * n.Draw(1, 2), n.Draw(1, 3), n.Draw(1, 3)};
  const Shape wide = {1, deep[1] / 4, deep[2] * 2, deep[3] * 2};
  const bool to_space = c.type == "DepthToSpace";
  Attributes attributes = {{"blocksize", std::int64_t{2}}};
  if (to_space && n.Coin()) attributes["mode"] = std::string("CRD");
  n.Add("", c.type, {n.TakeShaped(type, to_space ? deep : wide)},
        {n.Out(type, to_space ? wide : deep)}, std::move(attributes));
}

void Cast(Network& n, const OperatorCase& c, ElementType type) {
  constexpr ElementType kTypes[] = {kFloat32, kInt8, kInt32, kInt64, kBool};
  const TensorId x = n.TakeAny(type);
  n.Add("", c.type, {x}, {n.Out(kTypes[n.random().Below(5)], n.ShapeOf(x))});
}

}  // namespace

void AddOnnxMoves(const AddCases& add) {
  const std::vector<ElementType> any = {kFloat32, kInt8, kUint8, kInt32, kInt64, kBool};
  add(Reshape, any, {"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity"});
  add(Transpose, any, {"Transpose"});
  add(Concat, any, {"Concat"});
  add(Split, any, {"Split"});
  add(Gather, any, {"Gather"});
  add(Slice, any, {"Slice"});
  add(Pad, any, {"Pad"});
  add(Repeat, any, {"Expand", "Tile"});
  add(ShapeOf, any, {"Shape"});
  add(ConstantOfShape, {kFloat32, kInt64}, {"ConstantOfShape"});
  add(Blocks, any, {"DepthToSpace", "SpaceToDepth"});
  add(Cast, {kFloat32, kInt8, kInt32, kInt64, kBool}, {"Cast"});
}

}  // namespace neap::property
