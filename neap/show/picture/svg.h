// SPDX-License-Identifier: Apache-2.0
//
// The few things that drawings need. Private to neap/picture.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "neap/show/report/names.h"

namespace neap::picture {

// `text` as HTML or XML text and attribute value: control characters and invalid UTF-8 escaped as
// report::Printable does, then the five characters of markup.
std::string Escaped(std::string_view text, std::size_t max_columns = 4096);

// A JSON document that is safe inside <script>: no '<', no line separators of JavaScript.
std::string ForScript(std::string json);

// A tensor's name: short, the whole name in a tooltip.
std::string NameMarkup(const report::ShortNames& names, const std::string& name);

// A table that scrolls by itself where it is too wide, also by keyboard. `label`: its accessible
// name.
std::string OpenTable(const std::string& label);
inline constexpr const char* kCloseTable = "</table></div>";

// Coordinates with one decimal.
std::string Px(double value);

// Round numbers from 0 to at least `most`, about five of them; {0, 1} for nothing.
std::vector<std::int64_t> Ticks(std::int64_t most);

// "150 KB": for axes; bytes in thousands, as a tick needs.
std::string ShortBytes(std::int64_t bytes);

}  // namespace neap::picture
