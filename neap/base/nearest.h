// SPDX-License-Identifier: Apache-2.0
//
// The name that was probably meant, for errors about a misspelled one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace neap {

// The name that the fewest changes lead to: a letter inserted, deleted or replaced, or two
// neighbours swapped (optimal string alignment). Case, '-' and '_' do not count. "": every name is
// more than a third of the letters of `text` away. Of equally near names the first. O(names x
// length^2).
std::string_view NearestName(std::string_view text, std::span<const std::string_view> names);

// "" without a near name, otherwise "did you mean 'NAME'?".
std::string DidYouMean(std::string_view text, std::span<const std::string_view> names);

}  // namespace neap
