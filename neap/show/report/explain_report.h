// SPDX-License-Identifier: Apache-2.0
//
// The report of `neap explain`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "neap/deliver/explain.h"
#include "neap/formats/formats.h"
#include "neap/show/report/text.h"

namespace neap::report {

// Most lines and columns of ExplainText(). A path that is longer than a line is not broken.
inline constexpr int kExplainLines = 25;
inline constexpr int kExplainColumns = 100;

// What C of `neap emit` needs, with its default options.
struct CodeNeed {
  std::int64_t arena_bytes = 0;  // all that the caller provides
  std::int64_t stack_bytes = 0;
  std::int64_t weights_bytes = 0;  // in flash, without code and tables
};

// Pointers are not owned and not null.
struct ExplainReport {
  const formats::SourceModel* source = nullptr;
  const deliver::Explanation* explanation = nullptr;
  std::optional<CodeNeed> code;    // nullopt: the model has no such code
  std::vector<std::string> dims;   // "batch=1": repeated in commands
  std::vector<std::string> notes;  // of the reader
  double seconds = 0;
};

// A suggestion: the command that makes the plan of a feature.
struct NextStep {
  enum class Why : std::uint8_t {
    kFree,     // fewest bytes with the same outputs, interface, kernels and multiplications
    kRuntime,  // fewest bytes on the given runtime, where they are fewer
    kAny,      // fewest bytes on any runtime, where they are fewer
    kCode,     // C, where its arena is smaller than the total arena of the steps before; takes the
               // place of a plan that only Neap's executor runs
  };
  Why why = Why::kFree;
  const deliver::Feature* feature = nullptr;  // kCode: nullptr
  std::int64_t arena_bytes = 0;
  std::string command;  // of a POSIX shell
};
std::string_view NameOf(NextStep::Why why);  // "free", "runtime", "any runtime", "code"
// In the order of Why. Empty: no feature needs less than the model in file order.
std::vector<NextStep> NextStepsOf(const ExplainReport& report);

// Need, cause, limit, a table of features, commands. Without times, so that equal input gives equal
// text. Ends with a newline.
std::string ExplainText(const ExplainReport& report, const Style& style);
// schemas/explain-report.schema.json; ends with a newline.
std::string ExplainJson(const ExplainReport& report);

}  // namespace neap::report
