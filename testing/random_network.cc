// SPDX-License-Identifier: Apache-2.0
#include "testing/random_network.h"

#include <algorithm>
#include <utility>

namespace neap::property {
namespace {

bool IsQuantizedType(ElementType type) {
  return type == ElementType::kInt8 || type == ElementType::kUint8 || type == ElementType::kInt16;
}

bool SameQuantization(const graph::Tensor& a, const graph::Tensor& b) {
  if (!a.quantization || !b.quantization) return !a.quantization && !b.quantization;
  return a.quantization->scales == b.quantization->scales &&
         a.quantization->zero_points == b.quantization->zero_points;
}

constexpr std::int64_t kMaxElements = 160;

}  // namespace

std::int64_t ElementsOf(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t d : shape) count *= d;
  return count;
}

void Network::GiveScale(TensorId id) {
  const ElementType type = TensorOf(id).type;
  if (type == ElementType::kInt8) Quantize(id, 0.05F, 3);
  if (type == ElementType::kUint8) Quantize(id, 0.05F, 120);
  if (type == ElementType::kInt16) Quantize(id, 0.0005F, 0);
}

void Network::Quantize(TensorId id, float scale, std::int64_t zero_point) {
  maker_.Quantize(id, scale, zero_point);
}

TensorId Network::NewInput(ElementType type, const Shape& shape) {
  const TensorId id = maker_.Input(type, shape);
  GiveScale(id);
  there_.push_back(id);
  return id;
}

TensorId Network::Take(ElementType type, const Shape& shape, const Fits& fits) {
  if (random_.Chance(3, 4)) {
    std::vector<TensorId> found;
    for (const TensorId id : there_) {
      const graph::Tensor& tensor = TensorOf(id);
      const bool small = ElementsOf(*tensor.shape) <= kMaxElements;
      if (tensor.type == type && small && fits(tensor)) found.push_back(id);
    }
    // Mostly the latest, so that chains grow.
    if (!found.empty()) return Coin() ? found.back() : found[random_.Below(found.size())];
  }
  return NewInput(type, shape);
}

TensorId Network::TakeShaped(ElementType type, const Shape& shape, TensorId like) {
  const auto fits = [&](const graph::Tensor& tensor) {
    return *tensor.shape == shape && (!like.valid() || SameQuantization(tensor, TensorOf(like)));
  };
  const TensorId id = Take(type, shape, fits);
  if (like.valid() && !SameQuantization(TensorOf(id), TensorOf(like))) {
    // A new input without consumers.
    TensorOf(id).quantization = TensorOf(like).quantization;
  }
  return id;
}

TensorId Network::TakeAny(ElementType type) {
  const auto rank = static_cast<std::size_t>(Draw(1, 4));
  return Take(type, RandomShape(rank), [](const graph::Tensor& tensor) {
    return !tensor.shape->empty() && tensor.shape->size() <= 4;
  });
}

TensorId Network::TakeRank(ElementType type, std::size_t rank) {
  Shape shape = RandomShape(rank, rank == 4 ? 6 : 5);
  if (rank == 4) {
    shape[0] = Rarely() ? 2 : 1;
    shape[3] = std::min<std::int64_t>(shape[3], 4);
  }
  return Take(type, shape,
              [&](const graph::Tensor& tensor) { return tensor.shape->size() == rank; });
}

Shape Network::RandomShape(std::size_t rank, std::int64_t most) {
  Shape shape;
  for (std::size_t d = 0; d < rank; ++d) shape.push_back(Draw(1, most));
  return shape;
}

TensorId Network::Out(ElementType type, const Shape& shape, TensorId like) {
  const TensorId id = maker_.Tensor(type, shape);
  if (like.valid() && IsQuantizedType(type)) {
    TensorOf(id).quantization = TensorOf(like).quantization;
  } else {
    GiveScale(id);
  }
  return id;
}

TensorId Network::Constant(ElementType type, const Shape& shape) {
  const std::int64_t count = ElementsOf(shape);
  if (type == ElementType::kFloat32) {
    return maker_.Constant(type, shape, execute::RandomFloats(count, &random_));
  }
  const auto integers = [&]<typename T>(T /*tag*/, std::int64_t low, std::int64_t high) {
    std::vector<T> values;
    for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<T>(Draw(low, high)));
    return maker_.Constant(type, shape, values);
  };
  TensorId id;
  switch (type) {
    case ElementType::kInt8:
      id = integers(std::int8_t{}, -100, 100);
      break;
    case ElementType::kUint8:
      id = integers(std::uint8_t{}, 0, 255);
      break;
    case ElementType::kInt16:
      id = integers(std::int16_t{}, -3000, 3000);
      break;
    case ElementType::kInt32:
      id = integers(std::int32_t{}, -5, 5);
      break;
    case ElementType::kInt64:
      id = integers(std::int64_t{}, -5, 5);
      break;
    default:
      id = integers(std::uint8_t{}, 0, 1);
  }
  GiveScale(id);
  return id;
}

TensorId Network::Ints(const Numbers& values) {
  return Ints(values, {static_cast<std::int64_t>(values.size())});
}

TensorId Network::Ints(const Numbers& values, const Shape& shape) {
  return maker_.Constant(ElementType::kInt32, shape,
                         std::vector<std::int32_t>(values.begin(), values.end()));
}

TensorId Network::Longs(const Numbers& values) {
  return maker_.Constant(ElementType::kInt64, {static_cast<std::int64_t>(values.size())}, values);
}

TensorId Network::Floats(const std::vector<float>& values, const Shape& shape) {
  return maker_.Constant(ElementType::kFloat32, shape, values);
}

TensorId Network::Bytes(ElementType type, const std::vector<int>& values, const Shape& shape) {
  std::vector<std::uint8_t> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::uint8_t>(value & 0xff));
  return maker_.Constant(type, shape, bytes);
}

TensorId Network::Variable(ElementType type, const Shape& shape) {
  const TensorId id = maker_.Tensor(type, shape);
  TensorOf(id).variable = true;
  return id;
}

TensorId Network::Weights(ElementType type, const Shape& shape, std::int32_t axis) {
  const TensorId id = Constant(type, shape);
  if (type == ElementType::kFloat32) return id;
  graph::Quantization quantization{{0.01F}, {type == ElementType::kUint8 ? 128 : 0}, 0};
  if (type == ElementType::kInt8 && axis >= 0 && Coin()) {
    const auto channels = static_cast<std::size_t>(shape[static_cast<std::size_t>(axis)]);
    quantization.axis = axis;
    quantization.scales.clear();
    for (std::size_t c = 0; c < channels; ++c) {
      quantization.scales.push_back(0.005F * static_cast<float>(1 + c % 4));
    }
    quantization.zero_points.assign(channels, 0);
  }
  TensorOf(id).quantization = quantization;
  return id;
}

TensorId Network::Bias(ElementType data, std::int64_t channels) {
  if (data == ElementType::kFloat32) return Constant(data, {channels});
  Numbers values;
  for (std::int64_t i = 0; i < channels; ++i) values.push_back(Draw(-300, 300));
  const TensorId id = Ints(values);
  Quantize(id, 0.0005F, 0);
  return id;
}

void Network::Add(const std::string& domain, const std::string& type, std::vector<TensorId> inputs,
                  const std::vector<TensorId>& outputs, Attributes attributes, int version) {
  const graph::OpId id = maker_.Op(domain, type, std::move(inputs), outputs, std::move(attributes));
  graph::Op& op = maker_.Main().ops[id];
  op.source_index = static_cast<std::int32_t>(id.index());
  op.version = domain.empty() ? version : 0;
  for (const TensorId output : outputs) {
    if (output.valid()) there_.push_back(output);
  }
}

graph::Graph Network::Finish() {
  graph::Subgraph& main = maker_.Main();
  IdVector<TensorId, char> read(main.tensors.size(), 0);
  for (const graph::Op& op : main.ops) {
    for (const TensorId id : op.inputs) {
      if (id.valid()) read[id] = 1;
    }
  }
  for (const TensorId id : there_) {
    if (read[id] == 0 ? !random_.Chance(1, 8) : random_.Chance(1, 8)) main.outputs.push_back(id);
  }
  if (main.outputs.empty()) main.outputs.push_back(there_.back());
  // A reason for an order that no tensor shows, state, and working memory.
  if (main.ops.size() > 1 && random_.Chance(1, 6)) {
    const graph::OpId before(static_cast<std::size_t>(random_.Below(main.ops.size() - 1)));
    main.control_edges.push_back({before, graph::OpId(main.ops.size() - 1)});
  }
  for (graph::Op& op : main.ops) {
    if (random_.Chance(1, 12)) op.scratch_bytes = Draw(1, 50);
    if (random_.Chance(1, 16)) op.stateful = true;
  }
  return std::move(maker_.graph());
}

const std::vector<OperatorCase>& AllCases() {
  static const std::vector<OperatorCase> cases = [] {
    std::vector<OperatorCase> all = TfliteCases();
    all.insert(all.end(), OnnxCases().begin(), OnnxCases().end());
    return all;
  }();
  return cases;
}

}  // namespace neap::property
