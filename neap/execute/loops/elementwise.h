// SPDX-License-Identifier: Apache-2.0
//
// Element by element, with broadcasting. Private to neap/execute.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "neap/execute/kernel.h"
#include "neap/execute/loops/strided.h"

namespace neap::execute {

// A function f of elements is compiled once for each type of its operands, as one of the three
// below; the walks around it, in elementwise.cc, once for all. `state` is f, or nullptr where f has
// no data.
// out[i] = f(in[i]) for `count` elements.
using MapElements = void (*)(const void* state, const std::byte* in, std::byte* out,
                             std::int64_t count);
// out[i] = f(a[i * a_step], b[i * b_step]) for `count` elements; steps are 0 or 1.
using CombineElements = void (*)(const void* state, const std::byte* a, std::int64_t a_step,
                                 const std::byte* b, std::int64_t b_step, std::byte* out,
                                 std::int64_t count);
// out = f(elements[0], ..., elements[count - 1]).
using FoldElements = void (*)(const std::byte* const* elements, std::size_t count, std::byte* out);

RunKernel WalkMap(MapElements map, std::shared_ptr<const void> state, std::int64_t elements);
// Of types of a_bytes, b_bytes and out_bytes. Fails where the inputs do not broadcast to the
// output.
Result<RunKernel> WalkBinary(const Node& node, CombineElements combine,
                             std::shared_ptr<const void> state, std::size_t a_bytes,
                             std::size_t b_bytes, std::size_t out_bytes);
// Of any number of inputs of one type of `bytes`. Fails where one does not broadcast to the output.
Result<RunKernel> WalkFold(const Node& node, FoldElements fold, std::size_t bytes);

template <typename F>
constexpr bool kHasNoData = std::is_empty_v<F> && std::is_default_constructible_v<F>;
template <typename F>
std::shared_ptr<const void> StateOf(const F& f) {
  if constexpr (kHasNoData<F>) {
    return nullptr;
  } else {
    return std::make_shared<const F>(f);
  }
}
// use(f), of the f that StateOf() was given.
template <typename F, typename Use>
void WithFunction(const void* state, Use use) {
  if constexpr (kHasNoData<F>) {
    use(F());
  } else {
    use(*static_cast<const F*>(state));
  }
}

// out[i] = f(in[i]); as many elements.
template <typename In, typename Out, typename F>
Result<RunKernel> MapKernel(std::int64_t elements, F f) {
  const MapElements map = [](const void* state, const std::byte* in, std::byte* out,
                             std::int64_t count) {
    WithFunction<F>(state, [&](const F& function) {
      const auto* const from = reinterpret_cast<const Cell<In>*>(in);
      auto* const to = reinterpret_cast<Cell<Out>*>(out);
      for (std::int64_t i = 0; i < count; ++i) to[i].value = function(from[i].value);
    });
  };
  return WalkMap(map, StateOf(f), elements);
}

// out[i] = f(a[i], b[i]).
template <typename A, typename B, typename Out, typename F>
Result<RunKernel> BinaryKernel(const Node& node, F f) {
  const CombineElements combine = [](const void* state, const std::byte* a, std::int64_t a_step,
                                     const std::byte* b, std::int64_t b_step, std::byte* out,
                                     std::int64_t count) {
    WithFunction<F>(state, [&](const F& function) {
      const auto* const from_a = reinterpret_cast<const Cell<A>*>(a);
      const auto* const from_b = reinterpret_cast<const Cell<B>*>(b);
      auto* const to = reinterpret_cast<Cell<Out>*>(out);
      for (std::int64_t i = 0; i < count; ++i) {
        to[i].value = function(from_a[i * a_step].value, from_b[i * b_step].value);
      }
    });
  };
  return WalkBinary(node, combine, StateOf(f), sizeof(A), sizeof(B), sizeof(Out));
}

}  // namespace neap::execute
