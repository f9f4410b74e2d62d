// SPDX-License-Identifier: Apache-2.0
#include "neap/deliver/interface.h"

#include <string>
#include <utility>

#include "neap/deliver/edits.h"
#include "neap/transform/rewrite/interface.h"

namespace neap::deliver {
namespace {

constexpr const char* kNoInput = "no float input has a QUANTIZE as its only consumer";
constexpr const char* kNoOutput = "no float output is the only consumer of a DEQUANTIZE";

std::string WhyNot(const rewrite::Ends& ends) {
  if (ends.inputs && ends.outputs) return std::string(kNoInput) + ", and " + kNoOutput;
  return ends.inputs ? kNoInput : kNoOutput;
}

}  // namespace

Result<Interfaced> WithIntegerIo(const formats::SourceModel& source, IntegerIo which,
                                 const formats::LoadOptions& options) {
  Interfaced out;
  if (which == IntegerIo::kNone) {
    out.model = source;
    return out;
  }
  const rewrite::Ends ends{which != IntegerIo::kOutputs, which != IntegerIo::kInputs};
  out.caller_ops = rewrite::ConversionsAtEnds(source.graph, ends);
  if (out.caller_ops.empty()) {
    Diagnostic error = BadInput("an integer interface is not applicable: " + WhyNot(ends));
    error.file = source.path;
    return Fail(std::move(error));
  }
  NEAP_TRY(out.model, InterfacedModel(source, out.caller_ops, options));
  return out;
}

}  // namespace neap::deliver
