// SPDX-License-Identifier: Apache-2.0
//
// Integer operators of the PACT tools (Deeploy's models): integers in tensors that are declared as
// float32. All of it is computed in 64-bit integers. Source: the meaning that the golden outputs of
// these models show, and the public C kernels of Deeploy as reference for rounding.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>

#include "neap/execute/families.h"
#include "neap/execute/loops/elementwise.h"
#include "neap/execute/loops/strided.h"
#include "neap/execute/onnx/common.h"

namespace neap::execute::onnx {
namespace {

using enum graph::ElementType;

// A parameter that is an integer, a real or a tensor of one of them.
std::optional<std::int64_t> Parameter(const graph::Op& op, const char* name) {
  const auto found = op.attributes.find(name);
  if (found == op.attributes.end()) return std::nullopt;
  if (const auto* whole = std::get_if<std::int64_t>(&found->second)) return *whole;
  double real = 0;
  if (const auto* number = std::get_if<double>(&found->second)) {
    real = *number;
  } else if (const auto* data = std::get_if<graph::ConstantData>(&found->second)) {
    float value = 0;
    if (data->bytes.size() < sizeof value) return std::nullopt;
    std::memcpy(&value, data->bytes.data(), sizeof value);
    real = static_cast<double>(value);
  } else {
    return std::nullopt;
  }
  if (!(std::fabs(real) < 9e15)) return std::nullopt;
  return static_cast<std::int64_t>(real);
}

Result<std::int64_t> RequiredParameter(const graph::Op& op, const char* name) {
  const auto value = Parameter(op, name);
  if (value) return *value;
  return Fail(BadInput("has no parameter '" + std::string(name) + "'"));
}

Status RequireFloats(const Node& node) {
  for (const Operand& input : node.inputs) {
    if (input.present) NEAP_CHECK_OK(RequireType(input, kFloat32));
  }
  return RequireType(node.Out(), kFloat32);
}

std::int64_t WholeOf(const Cell<float>* cells, std::int64_t index) {
  const float value = cells[index].value;
  return std::fabs(value) < 9e15F ? static_cast<std::int64_t>(value) : 0;
}

std::int64_t FloorDivide(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = a / b;
  return quotient * b != a && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

std::int64_t Wrap(std::uint64_t value) { return static_cast<std::int64_t>(value); }
std::int64_t Times(std::int64_t a, std::int64_t b) {
  return Wrap(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}
std::int64_t Plus(std::int64_t a, std::int64_t b) {
  return Wrap(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

// (x * mul + add) / div, rounded half up, kept in the levels; mul and add one for all or one a
// channel.
Result<RunKernel> PrepareRequantShift(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 3, 3));
  NEAP_CHECK_OK(RequireFloats(node));
  NEAP_CHECK_OK(RequireShape(node.Out(), node.In(0).shape));
  NEAP_TRY(const std::int64_t divisor, RequiredParameter(*node.op, "div"));
  const std::int64_t levels =
      Parameter(*node.op, "n_levels_out").value_or(Parameter(*node.op, "n_levels").value_or(256));
  const bool is_signed = Parameter(*node.op, "signed").value_or(1) != 0;
  NEAP_CHECK_OK(Require(divisor > 0 && levels > 0 && levels <= 1 << 24,
                        "its levels or divisor are out of range"));
  const std::int64_t low = is_signed ? -(levels / 2) : 0;
  const std::int64_t high = is_signed ? levels / 2 - 1 : levels - 1;
  const graph::Shape shape = node.In(0).shape;
  NEAP_TRY(const Strides mul, BroadcastStrides(node.In(1).shape, shape));
  NEAP_TRY(const Strides add, BroadcastStrides(node.In(2).shape, shape));
  return RunKernel([=](const Arguments& arguments) -> Status {
    Odometer<2> at(shape, {&mul, &add});
    const std::int64_t elements = Elements(shape);
    for (std::int64_t i = 0; i < elements; ++i, at.Next()) {
      const std::int64_t x = WholeOf(Input<float>(arguments, 0), i);
      const std::int64_t product = Plus(Times(x, WholeOf(Input<float>(arguments, 1), at.Offset(0))),
                                        WholeOf(Input<float>(arguments, 2), at.Offset(1)));
      Output<float>(arguments)[i].value = static_cast<float>(
          std::clamp(FloorDivide(Plus(product, divisor / 2), divisor), low, high));
    }
    return {};
  });
}

std::int64_t RootOf(std::int64_t value) {
  if (value <= 0) return 0;
  auto root = static_cast<std::int64_t>(std::sqrt(static_cast<double>(value)));
  while (root > 0 && root > value / root) --root;
  while ((root + 1) <= value / (root + 1)) ++root;
  return root;
}

struct Rows {
  std::int64_t count = 0;
  std::int64_t length = 0;
};
Result<Rows> LastRows(const Node& node) {
  NEAP_CHECK_OK(RequireFloats(node));
  NEAP_CHECK_OK(RequireShape(node.Out(), node.In(0).shape));
  NEAP_CHECK_OK(Require(node.In(0).Rank() >= 1, "expected a dimension"));
  const std::int64_t length = node.In(0).shape.back();
  return Rows{length == 0 ? 0 : node.In(0).elements / length, length};
}

// Mean, deviation and quotients truncated to integers; weight and bias one for each element.
// Without mean and bias the result is kept in the levels.
Result<RunKernel> LayerNormKernel(const Node& node, bool centered) {
  NEAP_CHECK_OK(RequireOperands(node, centered ? 3 : 2, centered ? 3 : 2));
  NEAP_TRY(const Rows rows, LastRows(node));
  NEAP_TRY(const std::int64_t divisor, RequiredParameter(*node.op, "D"));
  const std::int64_t levels = Parameter(*node.op, "n_levels").value_or(256);
  NEAP_CHECK_OK(Require(divisor > 0 && levels > 0, "its divisor or levels are out of range"));
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    NEAP_CHECK_OK(Require(node.In(i).elements == rows.length,
                          "expected one number for each element of a row"));
  }
  return RunKernel([=](const Arguments& arguments) -> Status {
    for (std::int64_t r = 0; r < rows.count; ++r) {
      const auto* const in = Input<float>(arguments, 0) + r * rows.length;
      std::int64_t mean = 0;
      for (std::int64_t i = 0; centered && i < rows.length; ++i) mean = Plus(mean, WholeOf(in, i));
      mean /= rows.length;
      std::int64_t squares = 0;
      for (std::int64_t i = 0; i < rows.length; ++i) {
        const std::int64_t x = Plus(WholeOf(in, i), -mean);
        squares = Plus(squares, Times(x, x));
      }
      const std::int64_t deviation =
          std::max<std::int64_t>(RootOf(Plus(squares / rows.length, 1)), 1);
      for (std::int64_t i = 0; i < rows.length; ++i) {
        const std::int64_t x = Plus(WholeOf(in, i), -mean);
        std::int64_t value = Times(x, WholeOf(Input<float>(arguments, 1), i)) / deviation;
        if (centered) value = Plus(value, WholeOf(Input<float>(arguments, 2), i));
        value = FloorDivide(value, divisor);
        if (!centered) value = std::clamp(value, -(levels / 2), (levels + 1) / 2 - 1);
        Output<float>(arguments)[r * rows.length + i].value = static_cast<float>(value);
      }
    }
    return {};
  });
}
Result<RunKernel> PrepareLayerNorm(const Node& node) { return LayerNormKernel(node, true); }
Result<RunKernel> PrepareRmsNorm(const Node& node) { return LayerNormKernel(node, false); }

// Powers of two: 256 >> round((max - x) / 32), divided by their sum.
Result<RunKernel> PrepareItaMax(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 1, 1));
  NEAP_TRY(const Rows rows, LastRows(node));
  const std::int64_t levels = Parameter(*node.op, "n_levels").value_or(256);
  return RunKernel([=](const Arguments& arguments) -> Status {
    for (std::int64_t r = 0; r < rows.count; ++r) {
      const auto* const in = Input<float>(arguments, 0) + r * rows.length;
      std::int64_t most = WholeOf(in, 0);
      for (std::int64_t i = 1; i < rows.length; ++i) most = std::max(most, WholeOf(in, i));
      const auto shift = [&](std::int64_t i) {
        return std::clamp<std::int64_t>((Plus(most, -WholeOf(in, i)) + 16) >> 5, 0, 62);
      };
      std::int64_t sum = 0;
      for (std::int64_t i = 0; i < rows.length; ++i) sum += std::int64_t{256} >> shift(i);
      const std::int64_t inverse = (levels - 1) * 256 / std::max<std::int64_t>(sum, 1);
      for (std::int64_t i = 0; i < rows.length; ++i) {
        Output<float>(arguments)[r * rows.length + i].value =
            static_cast<float>(inverse >> shift(i));
      }
    }
    return {};
  });
}

// exp by a parabola on each interval of log 2.
Result<RunKernel> PrepareSoftmax(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 1, 1));
  NEAP_TRY(const Rows rows, LastRows(node));
  NEAP_TRY(const std::int64_t a, RequiredParameter(*node.op, "coeffA"));
  NEAP_TRY(const std::int64_t b, RequiredParameter(*node.op, "coeffB"));
  NEAP_TRY(const std::int64_t c, RequiredParameter(*node.op, "coeffC"));
  NEAP_TRY(const std::int64_t log2, RequiredParameter(*node.op, "log2"));
  const std::int64_t levels = Parameter(*node.op, "n_levels").value_or(256);
  NEAP_CHECK_OK(Require(log2 > 0, "its logarithm is out of range"));
  return RunKernel([=](const Arguments& arguments) -> Status {
    for (std::int64_t r = 0; r < rows.count; ++r) {
      const auto* const in = Input<float>(arguments, 0) + r * rows.length;
      std::int64_t most = WholeOf(in, 0);
      for (std::int64_t i = 1; i < rows.length; ++i) most = std::max(most, WholeOf(in, i));
      const auto exp = [&](std::int64_t i) {
        const std::int64_t x = Plus(WholeOf(in, i), -most);
        const std::int64_t z = std::clamp<std::int64_t>(-(x / log2), 0, 31);
        const std::int64_t p = Plus(Plus(x, Times(z, log2)), b);
        return Plus(Times(a, Times(p, p)), c) >> z;
      };
      std::int64_t sum = 0;
      for (std::int64_t i = 0; i < rows.length; ++i) sum = Plus(sum, exp(i));
      for (std::int64_t i = 0; i < rows.length; ++i) {
        const std::int64_t value = sum == 0 ? 0 : Times(exp(i), levels - 1) / sum;
        Output<float>(arguments)[r * rows.length + i].value = static_cast<float>(value);
      }
    }
    return {};
  });
}

// x * (1 + erf(x)) / 2, erf by a parabola that ends at -b.
Result<RunKernel> PrepareVendorGelu(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 1, 1));
  NEAP_CHECK_OK(RequireFloats(node));
  NEAP_CHECK_OK(RequireShape(node.Out(), node.In(0).shape));
  NEAP_TRY(const std::int64_t b, RequiredParameter(*node.op, "b"));
  NEAP_TRY(const std::int64_t one, RequiredParameter(*node.op, "one"));
  const std::int64_t elements = node.In(0).elements;
  return RunKernel([=](const Arguments& arguments) -> Status {
    for (std::int64_t i = 0; i < elements; ++i) {
      const std::int64_t x = WholeOf(Input<float>(arguments, 0), i);
      const std::int64_t sign = (x > 0 ? 1 : 0) - (x < 0 ? 1 : 0);
      const std::int64_t d = Plus(std::min(Times(sign, x), -b), b);
      const std::int64_t erf = Times(sign, Plus(-Times(d, d), one));
      Output<float>(arguments)[i].value = static_cast<float>(Times(x, Plus(one, erf) >> 1));
    }
    return {};
  });
}

// x * min(max(x + three, 0), six) * one_over_six
Result<RunKernel> PrepareVendorHardSwish(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 1, 1));
  NEAP_CHECK_OK(RequireFloats(node));
  NEAP_CHECK_OK(RequireShape(node.Out(), node.In(0).shape));
  NEAP_TRY(const std::int64_t three, RequiredParameter(*node.op, "three"));
  NEAP_TRY(const std::int64_t six, RequiredParameter(*node.op, "six"));
  NEAP_TRY(const std::int64_t sixth, RequiredParameter(*node.op, "one_over_six"));
  const std::int64_t elements = node.In(0).elements;
  return RunKernel([=](const Arguments& arguments) -> Status {
    for (std::int64_t i = 0; i < elements; ++i) {
      const std::int64_t x = WholeOf(Input<float>(arguments, 0), i);
      const std::int64_t gate = std::min(std::max<std::int64_t>(Plus(x, three), 0), six);
      Output<float>(arguments)[i].value = static_cast<float>(Times(Times(x, gate), sixth));
    }
    return {};
  });
}

// The mean over the axes, rounded half up.
Result<RunKernel> PrepareIntegerMean(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 1, 1));
  NEAP_CHECK_OK(RequireFloats(node));
  std::vector<std::int64_t> axes = IntsOr(*node.op, "axes", {});
  if (axes.empty()) axes.push_back(IntOr(*node.op, "axes", -1));
  const graph::Shape shape = node.In(0).shape;
  NEAP_TRY(const auto reduced, NormalAxes(axes, shape.size()));
  graph::Shape kept;
  Strides kept_strides;
  graph::Shape gone;
  Strides gone_strides;
  const Strides dense = DenseStrides(shape);
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const bool goes = std::binary_search(reduced.begin(), reduced.end(), d);
    (goes ? gone : kept).push_back(shape[d]);
    (goes ? gone_strides : kept_strides).push_back(dense[d]);
  }
  NEAP_CHECK_OK(Require(Elements(kept) == node.Out().elements,
                        "the size of its output does not match its axes"));
  return RunKernel([=](const Arguments& arguments) -> Status {
    Odometer<1> at(kept, {&kept_strides});
    for (std::int64_t o = 0; o < Elements(kept); ++o, at.Next()) {
      Odometer<1> inner(gone, {&gone_strides});
      std::int64_t sum = 0;
      for (std::int64_t i = 0; i < Elements(gone); ++i, inner.Next()) {
        sum = Plus(sum, WholeOf(Input<float>(arguments, 0), at.Offset(0) + inner.Offset(0)));
      }
      Output<float>(arguments)[o].value = static_cast<float>(
          FloorDivide(Plus(sum, Elements(gone) / 2), std::max<std::int64_t>(Elements(gone), 1)));
    }
    return {};
  });
}

// x * Delta * eta / (y * eta + eps), rounded down.
struct Division {
  std::int64_t delta = 1;
  std::int64_t eta = 1;
  std::int64_t eps = 0;

  std::int64_t Of(std::int64_t x, std::int64_t y) const {
    const std::int64_t above = Times(Times(x, delta), eta);
    const std::int64_t below = Plus(Times(y, eta), eps);
    if (below == 0) return 0;
    return below == -1 ? Times(above, -1) : FloorDivide(above, below);
  }
};

Result<Division> DivisionOf(const Node& node) {
  NEAP_CHECK_OK(RequireFloats(node));
  Division division;
  NEAP_TRY(division.delta, RequiredParameter(*node.op, "Delta"));
  NEAP_TRY(division.eta, RequiredParameter(*node.op, "eta"));
  NEAP_TRY(division.eps, RequiredParameter(*node.op, "eps"));
  return division;
}

Result<RunKernel> PrepareIntegerDiv(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 2, 2));
  NEAP_TRY(const Division division, DivisionOf(node));
  return BinaryKernel<float, float, float>(node, [division](float x, float y) {
    const Cell<float> cells[] = {{x}, {y}};
    return static_cast<float>(division.Of(WholeOf(cells, 0), WholeOf(cells, 1)));
  });
}

Result<RunKernel> PrepareTrueIntegerDiv(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 1, 1));
  NEAP_CHECK_OK(RequireShape(node.Out(), node.In(0).shape));
  NEAP_TRY(const Division division, DivisionOf(node));
  NEAP_TRY(const std::int64_t y, RequiredParameter(*node.op, "y"));
  return MapKernel<float, float>(node.In(0).elements, [division, y](float x) {
    const Cell<float> cells[] = {{x}};
    return static_cast<float>(division.Of(WholeOf(cells, 0), y));
  });
}

constexpr KernelEntry kVendorKernels[] = {
    {"IntegerDiv", PrepareIntegerDiv},      {"TrueIntegerDiv", PrepareTrueIntegerDiv},
    {"RequantShift", PrepareRequantShift},  {"iLayerNorm", PrepareLayerNorm},
    {"iRMSNorm", PrepareRmsNorm},           {"ITAMax", PrepareItaMax},
    {"iSoftmax", PrepareSoftmax},           {"iGELU", PrepareVendorGelu},
    {"iHardswish", PrepareVendorHardSwish}, {"IntegerMean", PrepareIntegerMean},
};

}  // namespace

std::span<const KernelEntry> VendorKernels() { return kVendorKernels; }

}  // namespace neap::execute::onnx
