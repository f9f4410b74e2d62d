// SPDX-License-Identifier: Apache-2.0
//
// MatMul, Gemm, MatMulInteger, QLinearMatMul.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "neap/execute/families.h"
#include "neap/execute/loops/strided.h"
#include "neap/execute/onnx/common.h"

namespace neap::execute::onnx {
namespace {

using enum graph::ElementType;

// A stack of products of matrices, by strides.
struct Product {
  std::int64_t rows = 1;
  std::int64_t depth = 1;
  std::int64_t columns = 1;
  Strides a = {0, 0};  // row, depth
  Strides b = {0, 0};  // depth, column
  graph::Shape stack;
  Strides a_stack;
  Strides b_stack;
};

Result<Product> PlanProduct(const Operand& left, const Operand& right, const Operand& output) {
  graph::Shape a = left.shape;
  graph::Shape b = right.shape;
  NEAP_CHECK_OK(Require(!a.empty() && !b.empty(), "has a scalar for a matrix"));
  const bool row = a.size() == 1;
  const bool column = b.size() == 1;
  if (row) a.insert(a.begin(), 1);
  if (column) b.push_back(1);
  Product p;
  p.rows = a[a.size() - 2];
  p.depth = a.back();
  p.columns = b.back();
  NEAP_CHECK_OK(Require(b[b.size() - 2] == p.depth, "its matrices do not fit together"));
  p.a = {p.depth, 1};
  p.b = {p.columns, 1};
  a.resize(a.size() - 2);
  b.resize(b.size() - 2);
  NEAP_TRY(p.stack, BroadcastShape(a, b));
  NEAP_TRY(p.a_stack, BroadcastStrides(a, p.stack));
  NEAP_TRY(p.b_stack, BroadcastStrides(b, p.stack));
  for (std::int64_t& stride : p.a_stack) stride *= p.rows * p.depth;
  for (std::int64_t& stride : p.b_stack) stride *= p.depth * p.columns;
  graph::Shape out = p.stack;
  if (!row) out.push_back(p.rows);
  if (!column) out.push_back(p.columns);
  NEAP_CHECK_OK(RequireShape(output, out));
  return p;
}

// stage(sum, row, column) -> Out.
template <typename A, typename B, typename Acc, typename Out, typename ZeroA, typename ZeroB,
          typename Stage>
void RunProduct(const Product& p, const Cell<A>* a, const Cell<B>* b, Cell<Out>* out,
                const ZeroA& a_zero, const ZeroB& b_zero, const Stage& stage) {
  constexpr std::int64_t kBlock = 256;
  Acc sums[kBlock];
  Odometer<2> at(p.stack, {&p.a_stack, &p.b_stack});
  const std::int64_t count = Elements(p.stack);
  for (std::int64_t n = 0; n < count; ++n, at.Next()) {
    const Cell<A>* const left = a + at.Offset(0);
    const Cell<B>* const right = b + at.Offset(1);
    for (std::int64_t r = 0; r < p.rows; ++r) {
      for (std::int64_t begin = 0; begin < p.columns; begin += kBlock) {
        const std::int64_t width = std::min(kBlock, p.columns - begin);
        std::fill(sums, sums + width, Acc{0});
        for (std::int64_t k = 0; k < p.depth; ++k) {
          const Acc factor = static_cast<Acc>(left[r * p.a[0] + k * p.a[1]].value) - a_zero(r);
          const Cell<B>* const row = right + k * p.b[0] + begin * p.b[1];
          if (p.b[1] == 1) {
            for (std::int64_t c = 0; c < width; ++c) {
              sums[c] = MultiplyAdd<Acc>(sums[c], factor,
                                         static_cast<Acc>(row[c].value) - b_zero(begin + c));
            }
          } else {
            for (std::int64_t c = 0; c < width; ++c) {
              sums[c] = MultiplyAdd<Acc>(
                  sums[c], factor, static_cast<Acc>(row[c * p.b[1]].value) - b_zero(begin + c));
            }
          }
        }
        for (std::int64_t c = 0; c < width; ++c) (out++)->value = stage(sums[c], r, begin + c);
      }
    }
  }
}

Result<RunKernel> PrepareMatMul(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 2, 2));
  NEAP_TRY(const Product product, PlanProduct(node.In(0), node.In(1), node.Out()));
  NEAP_CHECK_OK(RequireType(node.In(1), node.In(0).type));
  NEAP_CHECK_OK(RequireType(node.Out(), node.In(0).type));
  using Types = TypeList<float, double, std::int32_t, std::int64_t>;
  return ForType(Types(), node.In(0).type, node, [&](auto tag) -> Result<RunKernel> {
    using T = typename decltype(tag)::Type;
    return RunKernel([product](const Arguments& arguments) -> Status {
      const auto zero = [](std::int64_t) { return T{0}; };
      RunProduct<T, T, T>(product, Input<T>(arguments, 0), Input<T>(arguments, 1),
                          Output<T>(arguments), zero, zero,
                          [](T sum, std::int64_t, std::int64_t) { return sum; });
      return {};
    });
  });
}

Result<RunKernel> PrepareGemm(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 2, 3));
  const bool turn_a = IntOr(*node.op, "transA", 0) != 0;
  const bool turn_b = IntOr(*node.op, "transB", 0) != 0;
  graph::Shape a = node.In(0).shape;
  graph::Shape b = node.In(1).shape;
  // Stacks of matrices are no ONNX, but files have them.
  NEAP_CHECK_OK(Require(a.size() >= 2 && b.size() >= 2, "expected matrices"));
  Product p;
  graph::Shape a_stack(a.begin(), a.end() - 2);
  graph::Shape b_stack(b.begin(), b.end() - 2);
  a.erase(a.begin(), a.end() - 2);
  b.erase(b.begin(), b.end() - 2);
  NEAP_TRY(p.stack, BroadcastShape(a_stack, b_stack));
  NEAP_TRY(p.a_stack, BroadcastStrides(a_stack, p.stack));
  NEAP_TRY(p.b_stack, BroadcastStrides(b_stack, p.stack));
  for (std::int64_t& stride : p.a_stack) stride *= a[0] * a[1];
  for (std::int64_t& stride : p.b_stack) stride *= b[0] * b[1];
  p.rows = a[turn_a ? 1 : 0];
  p.depth = a[turn_a ? 0 : 1];
  p.columns = b[turn_b ? 0 : 1];
  NEAP_CHECK_OK(Require(b[turn_b ? 1 : 0] == p.depth, "its matrices do not fit together"));
  graph::Shape out = p.stack;
  out.insert(out.end(), {p.rows, p.columns});
  NEAP_CHECK_OK(RequireShape(node.Out(), out));
  p.a = turn_a ? Strides{1, p.rows} : Strides{p.depth, 1};
  p.b = turn_b ? Strides{1, p.depth} : Strides{p.columns, 1};
  const bool has_bias = node.Has(2);
  Strides c = {0, 0};
  if (has_bias) {
    NEAP_CHECK_OK(RequireType(node.In(2), node.In(0).type));
    NEAP_TRY(c, BroadcastStrides(node.In(2).shape, {p.rows, p.columns}));
  }
  NEAP_CHECK_OK(RequireType(node.In(1), node.In(0).type));
  NEAP_CHECK_OK(RequireType(node.Out(), node.In(0).type));
  const double alpha = RealOr(*node.op, "alpha", 1);
  const double beta = RealOr(*node.op, "beta", 1);
  using Types = TypeList<float, double, std::int32_t, std::int64_t>;
  return ForType(Types(), node.In(0).type, node, [&](auto tag) -> Result<RunKernel> {
    using T = typename decltype(tag)::Type;
    const auto alpha_t = static_cast<T>(alpha);
    const auto beta_t = static_cast<T>(beta);
    return RunKernel([=](const Arguments& arguments) -> Status {
      const auto zero = [](std::int64_t) { return T{0}; };
      const auto* const bias = has_bias ? Input<T>(arguments, 2) : nullptr;
      RunProduct<T, T, T>(p, Input<T>(arguments, 0), Input<T>(arguments, 1), Output<T>(arguments),
                          zero, zero, [&](T sum, std::int64_t row, std::int64_t column) {
                            const T product = MultiplyAdd(T{0}, alpha_t, sum);
                            if (bias == nullptr) return product;
                            return MultiplyAdd(product, beta_t,
                                               bias[row * c[0] + column * c[1]].value);
                          });
      return {};
    });
  });
}

using Bytes = TypeList<std::int8_t, std::uint8_t>;

Result<RunKernel> PrepareMatMulInteger(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 2, 4));
  NEAP_TRY(const Product p, PlanProduct(node.In(0), node.In(1), node.Out()));
  NEAP_CHECK_OK(RequireType(node.Out(), kInt32));
  const std::int64_t a_zeros = node.Has(2) ? node.In(2).elements : 0;
  const std::int64_t b_zeros = node.Has(3) ? node.In(3).elements : 0;
  NEAP_CHECK_OK(
      Require((a_zeros <= 1 || a_zeros == p.rows) && (b_zeros <= 1 || b_zeros == p.columns),
              "has no kernel for its zero points"));
  for (std::size_t i = 2; i < 4; ++i) {
    if (node.Has(i)) NEAP_CHECK_OK(RequireType(node.In(i), node.In(i - 2).type));
  }
  return ForType(Bytes(), node.In(0).type, node, [&](auto left) {
    using A = typename decltype(left)::Type;
    return ForType(Bytes(), node.In(1).type, node, [&](auto right) -> Result<RunKernel> {
      using B = typename decltype(right)::Type;
      return RunKernel([=](const Arguments& arguments) -> Status {
        const auto a_zero = [&](std::int64_t r) -> std::int32_t {
          return a_zeros == 0 ? 0 : Input<A>(arguments, 2)[a_zeros == 1 ? 0 : r].value;
        };
        const auto b_zero = [&](std::int64_t c) -> std::int32_t {
          return b_zeros == 0 ? 0 : Input<B>(arguments, 3)[b_zeros == 1 ? 0 : c].value;
        };
        RunProduct<A, B, std::int32_t>(
            p, Input<A>(arguments, 0), Input<B>(arguments, 1), Output<std::int32_t>(arguments),
            a_zero, b_zero, [](std::int32_t sum, std::int64_t, std::int64_t) { return sum; });
        return {};
      });
    });
  });
}

// Inputs: a, its scale and zero point; b, its; the output's.
Result<RunKernel> PrepareQLinearMatMul(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 8, 8));
  NEAP_TRY(const Product p, PlanProduct(node.In(0), node.In(3), node.Out()));
  bool ok = node.In(2).type == node.In(0).type && node.In(5).type == node.In(3).type &&
            node.In(7).type == node.Out().type && node.Out().type == node.In(0).type;
  for (const std::size_t i : {1U, 2U, 4U, 5U, 6U, 7U}) ok = ok && node.In(i).elements == 1;
  for (const std::size_t i : {1U, 4U, 6U}) ok = ok && node.In(i).type == kFloat32;
  NEAP_CHECK_OK(Require(ok, "has no kernel for its scales and zero points"));
  return ForType(Bytes(), node.In(0).type, node, [&](auto left) {
    using T = typename decltype(left)::Type;
    return ForType(Bytes(), node.In(3).type, node, [&](auto right) -> Result<RunKernel> {
      using B = typename decltype(right)::Type;
      return RunKernel([=](const Arguments& arguments) -> Status {
        const auto a_zero = [&](std::int64_t) -> std::int32_t {
          return Input<T>(arguments, 2)->value;
        };
        const auto b_zero = [&](std::int64_t) -> std::int32_t {
          return Input<B>(arguments, 5)->value;
        };
        const float scale = Input<float>(arguments, 1)->value * Input<float>(arguments, 4)->value /
                            Input<float>(arguments, 6)->value;
        const auto zero = static_cast<float>(Input<T>(arguments, 7)->value);
        RunProduct<T, B, std::int32_t>(
            p, Input<T>(arguments, 0), Input<B>(arguments, 3), Output<T>(arguments), a_zero, b_zero,
            [&](std::int32_t sum, std::int64_t, std::int64_t) {
              const float value = std::nearbyint(static_cast<float>(sum) * scale) + zero;
              return static_cast<T>(std::clamp(value,
                                               static_cast<float>(std::numeric_limits<T>::min()),
                                               static_cast<float>(std::numeric_limits<T>::max())));
            });
        return {};
      });
    });
  });
}

constexpr KernelEntry kMatmulKernels[] = {
    {"MatMul", PrepareMatMul},
    {"Gemm", PrepareGemm},
    {"MatMulInteger", PrepareMatMulInteger},
    {"QLinearMatMul", PrepareQLinearMatMul},
};

}  // namespace

std::span<const KernelEntry> MatmulKernels() { return kMatmulKernels; }

}  // namespace neap::execute::onnx
