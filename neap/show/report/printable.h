// SPDX-License-Identifier: Apache-2.0
//
// Names from files, safe for a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace neap::report {

// A name from a file, safe for a terminal: control characters, characters that change the writing
// direction and bytes that are not UTF-8 are escaped. A name wider than `max_columns` (at least 8)
// has "..." in place of its middle.
std::string Printable(std::string_view name, std::size_t max_columns = 48);
// Columns that the result of Printable() takes.
std::size_t ColumnsOf(std::string_view printable);

}  // namespace neap::report
