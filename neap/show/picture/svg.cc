// SPDX-License-Identifier: Apache-2.0
#include "neap/show/picture/svg.h"

#include <fmt/format.h>

#include "neap/show/report/text.h"

namespace neap::picture {

std::string Escaped(std::string_view text, std::size_t max_columns) {
  std::string out;
  for (const char c : report::Printable(text, max_columns)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string ForScript(std::string json) {
  std::string out;
  out.reserve(json.size());
  for (std::size_t i = 0; i < json.size(); ++i) {
    if (json[i] == '<') {
      out += "\\u003c";
    } else if (json.compare(i, 3, "\xe2\x80\xa8") == 0 || json.compare(i, 3, "\xe2\x80\xa9") == 0) {
      out += json[i + 2] == '\xa8' ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      out += json[i];
    }
  }
  return out;
}

std::string NameMarkup(const report::ShortNames& names, const std::string& name) {
  const std::string shown = names.Of(name);
  const std::string whole = report::Printable(name, 4096);
  if (shown == whole) return Escaped(name);
  return "<span title=\"" + Escaped(name) + "\">" + Escaped(shown) + "</span>";
}

std::string OpenTable(const std::string& label) {
  return "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"" + Escaped(label) +
         "\"><table>";
}

std::string Px(double value) { return fmt::format("{:.1f}", value); }

std::vector<std::int64_t> Ticks(std::int64_t most) {
  if (most <= 0) return {0, 1};
  constexpr std::int64_t kAbout = 5;
  std::int64_t step = 1;
  while (step * kAbout < most) {
    // 1, 2, 5, 10, ...
    std::int64_t head = step;
    while (head >= 10) head /= 10;
    step = head == 2 ? step / 2 * 5 : step * 2;
  }
  std::vector<std::int64_t> ticks;
  for (std::int64_t at = 0; at < most + step; at += step) ticks.push_back(at);
  return ticks;
}

std::string ShortBytes(std::int64_t bytes) {
  constexpr std::int64_t kKilo = 1000;
  constexpr std::int64_t kMega = kKilo * kKilo;
  const auto scaled = [&](std::int64_t unit, const char* name) {
    if (bytes % unit == 0) return fmt::format("{} {}", bytes / unit, name);
    return fmt::format("{:.3g} {}", static_cast<double>(bytes) / static_cast<double>(unit), name);
  };
  if (bytes >= kMega) return scaled(kMega, "MB");
  if (bytes >= kKilo) return scaled(kKilo, "KB");
  return fmt::format("{} B", bytes);
}

}  // namespace neap::picture
