// SPDX-License-Identifier: Apache-2.0
//
// Operators of two or more operands element by element, with broadcasting.
#include <cmath>
#include <type_traits>
#include <utility>

#include "neap/execute/families.h"
#include "neap/execute/loops/elementwise.h"
#include "neap/execute/loops/select.h"
#include "neap/execute/onnx/common.h"

namespace neap::execute::onnx {
namespace {

using enum graph::ElementType;

// Integers are modulo 2^n.
struct Add {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
    } else {
      return a + b;
    }
  }
};
struct Subtract {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
    } else {
      return a - b;
    }
  }
};
struct Multiply {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
    } else {
      return a * b;
    }
  }
};
// Towards zero; cases that C leaves undefined are 0 and the dividend modulo 2^n.
struct Divide {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0) return 0;
      if constexpr (std::is_signed_v<T>) {
        if (b == -1) return Subtract()(T{0}, a);
      }
      return static_cast<T>(a / b);
    } else {
      return a / b;
    }
  }
};
struct Greatest {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(a)) return a;
      return std::isnan(b) || b > a ? b : a;
    } else {
      return b > a ? b : a;
    }
  }
};
struct Least {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(a)) return a;
      return std::isnan(b) || b < a ? b : a;
    } else {
      return b < a ? b : a;
    }
  }
};

// What a fold of `count` operands ends with.
struct AsIs {
  template <typename T>
  T operator()(T value, std::size_t /*count*/) const {
    return value;
  }
};
struct DividedByCount {
  template <typename T>
  T operator()(T sum, std::size_t count) const {
    return static_cast<T>(sum / static_cast<T>(count));
  }
};

// All operands of one type, folded from the left; Finish()(value, how many).
template <typename F, typename Finish = AsIs>
Result<RunKernel> Fold(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, node.inputs.size(), node.inputs.size()));
  NEAP_CHECK_OK(Require(!node.inputs.empty(), "has no inputs"));
  for (const Operand& input : node.inputs) NEAP_CHECK_OK(RequireType(input, node.Out().type));
  return ForType(NumberTypes(), node.Out().type, node, [&](auto tag) -> Result<RunKernel> {
    using T = typename decltype(tag)::Type;
    if (node.inputs.size() == 2) {
      return BinaryKernel<T, T, T>(node, [](T a, T b) { return Finish()(F()(a, b), 2); });
    }
    const FoldElements fold = [](const std::byte* const* elements, std::size_t count,
                                 std::byte* out) {
      const auto element = [&](std::size_t n) {
        return reinterpret_cast<const Cell<T>*>(elements[n])->value;
      };
      T value = element(0);
      for (std::size_t n = 1; n < count; ++n) value = F()(value, element(n));
      reinterpret_cast<Cell<T>*>(out)->value = Finish()(value, count);
    };
    return WalkFold(node, fold, sizeof(T));
  });
}

Result<RunKernel> PrepareAdd(const Node& node) { return Fold<Add>(node); }
Result<RunKernel> PrepareSub(const Node& node) { return Fold<Subtract>(node); }
Result<RunKernel> PrepareMul(const Node& node) { return Fold<Multiply>(node); }
Result<RunKernel> PrepareDiv(const Node& node) { return Fold<Divide>(node); }
Result<RunKernel> PrepareMax(const Node& node) { return Fold<Greatest>(node); }
Result<RunKernel> PrepareMin(const Node& node) { return Fold<Least>(node); }
Result<RunKernel> PrepareMean(const Node& node) { return Fold<Add, DividedByCount>(node); }

// The base's type is the result's; powers of integers are computed in double precision.
Result<RunKernel> PreparePow(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 2, 2));
  NEAP_CHECK_OK(RequireType(node.Out(), node.In(0).type));
  using Types = TypeList<float, double, std::int32_t, std::int64_t, std::uint32_t, std::uint64_t>;
  return ForType(Types(), node.In(0).type, node, [&](auto base) {
    using A = typename decltype(base)::Type;
    return ForType(Types(), node.In(1).type, node, [&](auto exponent) {
      using B = typename decltype(exponent)::Type;
      return BinaryKernel<A, B, A>(node, [](A a, B b) {
        if constexpr (std::is_same_v<A, float> && std::is_same_v<B, float>) {
          return std::pow(a, b);
        } else {
          const double power = std::pow(static_cast<double>(a), static_cast<double>(b));
          if constexpr (std::is_integral_v<A>) {
            const bool fits = power >= static_cast<double>(std::numeric_limits<A>::min()) &&
                              power < static_cast<double>(std::numeric_limits<A>::max());
            return fits ? static_cast<A>(power) : A{0};
          } else {
            return static_cast<A>(power);
          }
        }
      });
    });
  });
}

Result<RunKernel> PreparePRelu(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 2, 2));
  NEAP_CHECK_OK(RequireType(node.In(1), node.In(0).type));
  NEAP_CHECK_OK(RequireType(node.Out(), node.In(0).type));
  return ForType(FloatTypes(), node.In(0).type, node, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return BinaryKernel<T, T, T>(node, [](T x, T slope) { return x < 0 ? slope * x : x; });
  });
}

template <typename F>
Result<RunKernel> Comparison(const Node& node, F /*f*/) {
  NEAP_CHECK_OK(RequireOperands(node, 2, 2));
  NEAP_CHECK_OK(RequireType(node.In(1), node.In(0).type));
  NEAP_CHECK_OK(RequireType(node.Out(), kBool));
  return ForType(NumberTypes(), node.In(0).type, node, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return BinaryKernel<T, T, std::uint8_t>(
        node, [](T a, T b) { return static_cast<std::uint8_t>(F()(a, b) ? 1 : 0); });
  });
}
Result<RunKernel> PrepareEqual(const Node& node) {
  return Comparison(node, [](auto a, auto b) { return a == b; });
}
Result<RunKernel> PrepareGreater(const Node& node) {
  return Comparison(node, [](auto a, auto b) { return a > b; });
}
Result<RunKernel> PrepareGreaterOrEqual(const Node& node) {
  return Comparison(node, [](auto a, auto b) { return a >= b; });
}
Result<RunKernel> PrepareLess(const Node& node) {
  return Comparison(node, [](auto a, auto b) { return a < b; });
}
Result<RunKernel> PrepareLessOrEqual(const Node& node) {
  return Comparison(node, [](auto a, auto b) { return a <= b; });
}

template <typename F>
Result<RunKernel> Logic(const Node& node, F /*f*/) {
  NEAP_CHECK_OK(RequireOperands(node, 2, 2));
  for (const Operand* operand : {&node.In(0), &node.In(1), &node.Out()}) {
    NEAP_CHECK_OK(RequireType(*operand, kBool));
  }
  return BinaryKernel<std::uint8_t, std::uint8_t, std::uint8_t>(
      node, [](std::uint8_t a, std::uint8_t b) {
        return static_cast<std::uint8_t>(F()(a != 0, b != 0) ? 1 : 0);
      });
}
Result<RunKernel> PrepareAnd(const Node& node) {
  return Logic(node, [](bool a, bool b) { return a && b; });
}
Result<RunKernel> PrepareOr(const Node& node) {
  return Logic(node, [](bool a, bool b) { return a || b; });
}
Result<RunKernel> PrepareXor(const Node& node) {
  return Logic(node, [](bool a, bool b) { return a != b; });
}

Result<RunKernel> PrepareWhere(const Node& node) { return SelectKernel(NumberTypes(), node); }

constexpr KernelEntry kBinaryKernels[] = {
    {"Add", PrepareAdd},
    {"Sub", PrepareSub},
    {"Mul", PrepareMul},
    {"Div", PrepareDiv},
    {"Sum", PrepareAdd},
    {"Mean", PrepareMean},
    {"Max", PrepareMax},
    {"Min", PrepareMin},
    {"Pow", PreparePow},
    {"PRelu", PreparePRelu},
    {"Equal", PrepareEqual},
    {"Greater", PrepareGreater},
    {"GreaterOrEqual", PrepareGreaterOrEqual},
    {"Less", PrepareLess},
    {"LessOrEqual", PrepareLessOrEqual},
    {"And", PrepareAnd},
    {"Or", PrepareOr},
    {"Xor", PrepareXor},
    {"Where", PrepareWhere},
};

}  // namespace

std::span<const KernelEntry> BinaryKernels() { return kBinaryKernels; }

}  // namespace neap::execute::onnx
