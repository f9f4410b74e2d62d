// SPDX-License-Identifier: Apache-2.0
//
// Text for people: names from files, percentages, line width, the capabilities of a terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "neap/base/limits.h"
#include "neap/compile/compile.h"
#include "neap/graph/graph.h"
#include "neap/show/report/printable.h"

namespace neap::report {

// Capabilities of the output device. The default is safe everywhere.
struct Style {
  bool color = false;
  bool ascii = true;  // false: UTF-8 block characters
  int columns = 80;
};

enum class Ink : std::uint8_t { kBold, kDim, kGood, kBad };
// `text` in that ink; unchanged if the style has no colours.
std::string Paint(const Style& style, Ink ink, std::string_view text);

// `text` with every line broken at spaces so that it fits into `columns`. Continued lines are
// indented by two more than the line. Words wider than a line stay whole; escape sequences of
// colours take no columns.
std::string Wrapped(std::string_view text, std::size_t columns);

// "1 operator", "2,000 operators".
std::string CountText(std::int64_t count, std::string_view noun);

// part / whole in tenths of a per cent, rounded half up in integers: "14.3 %"; "under 0.1 %" if it
// would round to 0; "0.0 %" for 0. 0 <= part, 0 < whole.
std::string Percent(std::int64_t part, std::int64_t whole);
// (upper - lower) / upper: the most that a better plan could still save. "0.0 %" if there is none.
std::string Gap(std::int64_t upper, std::int64_t lower);

// "upper 123,904  lower 121,088  gap 2.3 %  states 1,234,567  4.1 s"
std::string ProgressLine(const Progress& progress, double seconds);

// "#12 'CONV_2D'", with the subgraph if it is not the main one: "#3 'ADD' of subgraph #1".
std::string OpText(const graph::Graph& graph, graph::SubgraphId subgraph, graph::OpId op);

// "#12 'CONV_2D': input 'x' 150,528 + output 'y' 150,528", the terms of the sum of live bytes.
std::string LiveTerms(const graph::Graph& graph, const compile::PeakCause& cause);
// The terms alone, at most `max_named` tensors by their names.
std::string TermsText(const graph::Graph& graph, const compile::PeakCause& cause,
                      std::size_t max_named);
// "Peak at operator #12 'CONV_2D': input 'x' 150,528 + output 'y' 150,528 = 301,056 B."; "" if
// nothing runs.
std::string PeakSentence(const graph::Graph& graph, const compile::PeakCause& cause);

// "note: ..." for the first few, one line each, and the number of the others.
std::string NotesText(const std::vector<std::string>& notes, std::string_view indent);

// Of all subgraphs.
struct Counts {
  std::int64_t operators = 0;  // not folded
  std::int64_t tensors = 0;    // in use, neither constants nor variables
};
Counts CountOf(const graph::Graph& graph);

}  // namespace neap::report
