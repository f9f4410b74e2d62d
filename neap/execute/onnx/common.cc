// SPDX-License-Identifier: Apache-2.0
#include "neap/execute/onnx/common.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "neap/base/bit_cast.h"
#include "neap/execute/half.h"
#include "neap/execute/loops/take.h"

namespace neap::execute::onnx {

using enum graph::ElementType;

std::int64_t VersionOf(const graph::Op& op) {
  constexpr std::int64_t kRecent = 22;
  return op.version > 0 ? op.version : kRecent;
}

Result<Window> MakeWindow(const graph::Op& op, const Operand& input, const Operand& output,
                          const std::vector<std::int64_t>& kernel, Space* pad_end) {
  const std::size_t rank = kernel.size();
  constexpr std::int64_t kMax = std::int64_t{1} << 28;
  NEAP_CHECK_OK(
      Require(rank >= 1 && rank <= kSpace && input.Rank() == rank + 2 && output.Rank() == rank + 2,
              "has no kernel for its rank"));
  const auto strides = IntsOr(op, "strides", std::vector<std::int64_t>(rank, 1));
  const auto dilations = IntsOr(op, "dilations", std::vector<std::int64_t>(rank, 1));
  const auto pads = IntsOr(op, "pads", std::vector<std::int64_t>(2 * rank, 0));
  const std::string automatic = TextOr(op, "auto_pad", "NOTSET");
  NEAP_CHECK_OK(
      Require(strides.size() == rank && dilations.size() == rank && pads.size() == 2 * rank,
              "strides, dilations or pads have another rank"));
  Window w;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t d = kSpace - rank + i;
    w.input[d] = input.shape[i + 2];
    w.output[d] = output.shape[i + 2];
    w.kernel[d] = kernel[i];
    w.stride[d] = strides[i];
    w.dilation[d] = dilations[i];
    const auto in_range = [](std::int64_t value, std::int64_t least) {
      return value >= least && value < kMax;
    };
    NEAP_CHECK_OK(Require(in_range(w.kernel[d], 1) && in_range(w.stride[d], 1) &&
                              in_range(w.dilation[d], 1) && in_range(w.input[d], 0) &&
                              in_range(w.output[d], 0) && in_range(pads[i], -kMax) &&
                              in_range(pads[rank + i], -kMax),
                          "its window is out of range"));
    const std::int64_t reach = (w.kernel[d] - 1) * w.dilation[d] + 1;
    const bool same = automatic.starts_with("SAME");
    std::int64_t end = pads[rank + i];
    if (input.part_padding && rank <= 2) {
      const Padding& part = *input.part_padding;
      w.pad[d] = i == 0 ? part.top : part.left;
      end = i == 0 ? part.bottom : part.right;
    } else if (automatic == "NOTSET" || automatic.empty()) {
      w.pad[d] = pads[i];
    } else if (same) {
      const std::int64_t missing =
          std::max<std::int64_t>((w.output[d] - 1) * w.stride[d] + reach - w.input[d], 0);
      w.pad[d] = automatic == "SAME_LOWER" ? missing - missing / 2 : missing / 2;
      end = missing - w.pad[d];
    } else {
      w.pad[d] = end = 0;
    }
    if (pad_end != nullptr) (*pad_end)[d] = end;
    const std::int64_t room = w.input[d] + w.pad[d] + end - reach;
    const std::int64_t places = room < 0 ? 0 : room / w.stride[d] + 1;
    NEAP_CHECK_OK(
        Require((same && !input.part_padding) || w.output[d] == places || w.output[d] == places + 1,
                "the size of its output does not match window and strides"));
  }
  return w;
}

std::vector<std::int64_t> Integers(const Node& node, const Arguments& arguments,
                                   std::size_t input) {
  if (!node.Has(input)) return {};
  return ReadIntegers(node.In(input).type, arguments.inputs[input]);
}

Result<std::vector<std::size_t>> NormalAxes(const std::vector<std::int64_t>& axes,
                                            std::size_t rank) {
  std::vector<std::size_t> normal;
  for (const std::int64_t axis : axes) {
    NEAP_TRY(const std::size_t d, NormalAxis(axis, rank));
    normal.push_back(d);
  }
  std::sort(normal.begin(), normal.end());
  normal.erase(std::unique(normal.begin(), normal.end()), normal.end());
  return normal;
}

Result<Shapes> MoveShapes(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 1, node.inputs.size()));
  NEAP_CHECK_OK(RequireType(node.Out(), node.In(0).type));
  NEAP_TRY(const std::size_t size, ElementBytes(node.In(0).type));
  return Shapes{node.In(0).shape, node.Out().shape, size};
}

Result<QuantLayout> MakeQuantLayout(const Node& node, const Operand& value, const Operand& scale) {
  QuantLayout layout;
  if (scale.elements == 1) return layout;
  NEAP_TRY(const std::size_t axis, NormalAxis(IntOr(*node.op, "axis", 1), value.Rank()));
  const std::int64_t block = IntOr(*node.op, "block_size", 0);
  for (std::size_t d = 0; d < axis; ++d) layout.outer *= value.shape[d];
  for (std::size_t d = axis + 1; d < value.Rank(); ++d) layout.inner *= value.shape[d];
  layout.axis_size = value.shape[axis];
  layout.channels = scale.Rank() == 1 && block == 0 ? scale.shape[0] : 0;
  if (block == 0) {
    NEAP_CHECK_OK(Require(layout.channels == layout.axis_size,
                          "does not have one scale for each index of its axis"));
    return layout;
  }
  NEAP_CHECK_OK(Require(scale.Rank() == value.Rank() && block > 0,
                        "its scales have another rank than its input"));
  layout.blocked = true;
  layout.block = block;
  layout.channels = scale.shape[axis];
  graph::Shape expected = value.shape;
  expected[axis] = (value.shape[axis] + block - 1) / block;
  NEAP_CHECK_OK(RequireShape(scale, expected));
  return layout;
}

bool IsRealType(graph::ElementType type) {
  return type == kFloat16 || type == kBfloat16 || type == kFloat32 || type == kFloat64;
}

bool IsIntegerType(graph::ElementType type) {
  switch (type) {
    case kBool:
    case kInt4:
    case kUint4:
    case kInt8:
    case kUint8:
    case kInt16:
    case kUint16:
    case kInt32:
    case kUint32:
    case kInt64:
    case kUint64:
      return true;
    default:
      return false;
  }
}

void RangeOf(graph::ElementType type, std::int64_t* low, std::int64_t* high) {
  const int bits = graph::BitsOf(type);
  const bool is_signed =
      type == kInt4 || type == kInt8 || type == kInt16 || type == kInt32 || type == kInt64;
  if (bits >= 63) {
    *low = is_signed ? std::numeric_limits<std::int64_t>::min() : 0;
    *high = std::numeric_limits<std::int64_t>::max();
    return;
  }
  *low = is_signed ? -(std::int64_t{1} << (bits - 1)) : 0;
  *high = (std::int64_t{1} << (is_signed ? bits - 1 : bits)) - 1;
}

std::int64_t LoadInteger(graph::ElementType type, std::span<const std::byte> bytes,
                         std::int64_t index) {
  const auto at = static_cast<std::size_t>(index);
  const auto bits = static_cast<std::size_t>(graph::BitsOf(type));
  if (type == kInt4 || type == kUint4) {
    const auto nibble =
        static_cast<std::int64_t>((std::to_integer<unsigned>(bytes[at / 2]) >> (at % 2 * 4)) & 15U);
    return type == kInt4 && nibble >= 8 ? nibble - 16 : nibble;
  }
  const auto values = ReadIntegers(type, bytes.subspan(at * bits / 8, bits / 8));
  return values.empty() ? 0 : values[0];
}

void StoreInteger(graph::ElementType type, std::span<std::byte> bytes, std::int64_t index,
                  std::int64_t value) {
  const auto at = static_cast<std::size_t>(index);
  const auto bits = static_cast<std::size_t>(graph::BitsOf(type));
  if (bits == 4) {
    const unsigned shift = at % 2 * 4;
    // The second of a byte keeps the first; the first clears the byte.
    const unsigned kept = shift == 0 ? 0 : std::to_integer<unsigned>(bytes[at / 2]) & 15U;
    bytes[at / 2] = static_cast<std::byte>(kept | ((static_cast<unsigned>(value) & 15U) << shift));
    return;
  }
  const auto raw = static_cast<std::uint64_t>(value);
  for (std::size_t i = 0; i < bits / 8; ++i) {
    bytes[at * bits / 8 + i] = static_cast<std::byte>((raw >> (8 * i)) & 0xffU);
  }
}

double LoadReal(graph::ElementType type, std::span<const std::byte> bytes, std::int64_t index) {
  switch (type) {
    case kFloat32:
      return static_cast<double>(CellsOf<float>(bytes)[index].value);
    case kFloat64:
      return CellsOf<double>(bytes)[index].value;
    case kFloat16:
      return static_cast<double>(FloatOfHalf(CellsOf<std::uint16_t>(bytes)[index].value));
    case kBfloat16:
      return static_cast<double>(BitCast<float>(
          static_cast<std::uint32_t>(CellsOf<std::uint16_t>(bytes)[index].value) << 16U));
    default:
      return static_cast<double>(LoadInteger(type, bytes, index));
  }
}

void StoreReal(graph::ElementType type, std::span<std::byte> bytes, std::int64_t index,
               double value) {
  const auto store = [&](auto number) {
    reinterpret_cast<Cell<decltype(number)>*>(bytes.data())[index].value = number;
  };
  switch (type) {
    case kFloat32:
      return store(static_cast<float>(value));
    case kFloat64:
      return store(value);
    case kFloat16:
      return store(HalfOfFloat(static_cast<float>(value)));
    case kBfloat16: {
      const auto bits = BitCast<std::uint32_t>(static_cast<float>(value));
      return store(static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16U) & 1U)) >> 16U));
    }
    default: {
      std::int64_t low = 0;
      std::int64_t high = 0;
      RangeOf(type, &low, &high);
      const double whole = std::trunc(value);
      if (std::isnan(whole)) return StoreInteger(type, bytes, index, 0);
      const std::int64_t clamped = whole <= static_cast<double>(low) ? low
                                   : whole >= static_cast<double>(high)
                                       ? high
                                       : static_cast<std::int64_t>(whole);
      return StoreInteger(type, bytes, index, clamped);
    }
  }
}

double RoundEven(double value) { return std::nearbyint(value); }

}  // namespace neap::execute::onnx
