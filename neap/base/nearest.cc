// SPDX-License-Identifier: Apache-2.0
#include "neap/base/nearest.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace neap {
namespace {

constexpr std::size_t kMaxLetters = 64;  // names are short; a longer text is none of them

std::string Letters(std::string_view name) {
  std::string letters;
  for (const char c : name) {
    if (c == '-' || c == '_') continue;
    letters += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return letters;
}

std::size_t Changes(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> least(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        least[i][j] = i + j;
        continue;
      }
      const std::size_t replaced = least[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      least[i][j] = std::min({replaced, least[i - 1][j] + 1, least[i][j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        least[i][j] = std::min(least[i][j], least[i - 2][j - 2] + 1);
      }
    }
  }
  return least[a.size()][b.size()];
}

}  // namespace

std::string_view NearestName(std::string_view text, std::span<const std::string_view> names) {
  const std::string wanted = Letters(text);
  if (wanted.empty() || wanted.size() > kMaxLetters) return {};
  std::string_view nearest;
  std::size_t least = wanted.size() / 3 + 1;
  for (const std::string_view name : names) {
    if (name.size() > kMaxLetters) continue;
    const std::size_t changes = Changes(wanted, Letters(name));
    if (changes >= least) continue;
    least = changes;
    nearest = name;
  }
  return nearest;
}

std::string DidYouMean(std::string_view text, std::span<const std::string_view> names) {
  const std::string_view nearest = NearestName(text, names);
  return nearest.empty() ? "" : "did you mean '" + std::string(nearest) + "'?";
}

}  // namespace neap
