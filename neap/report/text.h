// SPDX-License-Identifier: Apache-2.0
//
// How Neap writes for people: names that a file chose, percentages, the terminal's abilities.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "neap/base/limits.h"
#include "neap/compile/compile.h"
#include "neap/graph/graph.h"

namespace neap::report {

// What the place where the text goes to can show. The default is safe everywhere.
struct Style {
  bool color = false;
  bool ascii = true;  // false: UTF-8 block characters
  int columns = 80;
};

enum class Ink : std::uint8_t { kBold, kDim, kGood, kBad };
// `text` in that ink, or as it is where the style has no colours.
std::string Paint(const Style& style, Ink ink, std::string_view text);

// A name from a file, fit for a terminal: control characters, characters that turn the direction of
// writing and bytes that are not UTF-8 are escaped; the middle of a name that would take more than
// `most_columns` (at least 8) gives way to "...".
std::string Printable(std::string_view name, std::size_t most_columns = 48);
// Columns that the result of Printable() takes.
std::size_t ColumnsOf(std::string_view printable);

// part / whole to a tenth of a per cent, rounded half up in integers: "14.3 %"; "under 0.1 %" for
// what would round to nothing; "0.0 %" for nothing. 0 <= part, 0 < whole.
std::string Percent(std::int64_t part, std::int64_t whole);
// (upper - lower) / upper: how much a better plan could still save. "0.0 %" where there is none.
std::string Gap(std::int64_t upper, std::int64_t lower);

// "upper 123,904  lower 121,088  gap 2.3 %  states 1,234,567  4.1 s"
std::string ProgressLine(const Progress& progress, double seconds);

// "#12 'CONV_2D'", with the subgraph where it is not the main one: "#3 'ADD' of subgraph #1".
std::string OpText(const graph::Graph& graph, graph::SubgraphId subgraph, graph::OpId op);

// "Peak at operator #12 'CONV_2D': input 'x' 150,528 + output 'y' 150,528."; "" when nothing runs.
std::string PeakSentence(const graph::Graph& graph, const compile::PeakCause& cause);

// "note: ..." for the first few, a line each, and how many more there are.
std::string NotesText(const std::vector<std::string>& notes, std::string_view indent);

// What a planner has to deal with, over all subgraphs.
struct Counts {
  std::int64_t operators = 0;  // that run: not folded
  std::int64_t tensors = 0;    // that are used and are neither constants nor variables
};
Counts CountOf(const graph::Graph& graph);

}  // namespace neap::report
