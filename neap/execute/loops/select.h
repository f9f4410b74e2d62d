// SPDX-License-Identifier: Apache-2.0
//
// One of two operands for each element, with broadcasting: Where, SELECT_V2. Private to
// neap/execute.
#pragma once

#include "neap/execute/kernel.h"
#include "neap/execute/loops/strided.h"

namespace neap::execute {

// Inputs: booleans, values where they are true, values where they are false; types of `types`.
template <typename... Types>
Result<RunKernel> SelectKernel(TypeList<Types...> types, const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 3, 3));
  NEAP_CHECK_OK(RequireType(node.In(0), graph::ElementType::kBool));
  NEAP_CHECK_OK(RequireType(node.In(2), node.In(1).type));
  NEAP_CHECK_OK(RequireType(node.Out(), node.In(1).type));
  const graph::Shape shape = node.Out().shape;
  NEAP_TRY(const Strides pick, BroadcastStrides(node.In(0).shape, shape));
  NEAP_TRY(const Strides yes, BroadcastStrides(node.In(1).shape, shape));
  NEAP_TRY(const Strides no, BroadcastStrides(node.In(2).shape, shape));
  return ForType(types, node.In(1).type, node, [&](auto tag) -> Result<RunKernel> {
    using T = typename decltype(tag)::Type;
    return RunKernel([=](const Arguments& arguments) -> Status {
      Odometer<3> at(shape, {&pick, &yes, &no});
      const std::int64_t elements = Elements(shape);
      for (std::int64_t i = 0; i < elements; ++i, at.Next()) {
        const bool first = Input<std::uint8_t>(arguments, 0)[at.Offset(0)].value != 0;
        Output<T>(arguments)[i].value = first ? Input<T>(arguments, 1)[at.Offset(1)].value
                                              : Input<T>(arguments, 2)[at.Offset(2)].value;
      }
      return {};
    });
  });
}

}  // namespace neap::execute
