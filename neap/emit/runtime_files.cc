// SPDX-License-Identifier: Apache-2.0
#include "neap/emit/runtime_files.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <vector>

#include "neap/base/check.h"
#include "neap/emit/write.h"

namespace neap::emit {
namespace {

bool IsOfName(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Calls `take` for every stretch of `text` that is a name or is none.
template <typename Take>
void ForEachWord(std::string_view text, const Take& take) {
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at + 1;
    while (end < text.size() && IsOfName(text[end]) == IsOfName(text[at])) ++end;
    take(text.substr(at, end - at));
    at = end;
  }
}

bool IsFile(const std::string& name) {
  for (const RuntimeFile& file : RuntimeFiles()) {
    if (file.name == name) return true;
  }
  return false;
}

}  // namespace

std::string_view TextOf(const std::string& name) {
  for (const RuntimeFile& file : RuntimeFiles()) {
    if (file.name == name) return file.text;
  }
  NEAP_CHECK(false, "a kernel has no file in runtime/");
  return {};
}

std::string MainHeader(bool little_flash) {
  std::string text(TextOf("neap_rt.h"));
  if (!little_flash) return text;
  const std::string guard = "#define NEAP_RT_H\n";
  const std::size_t at = text.find(guard);
  NEAP_CHECK(at != std::string::npos, "neap_rt.h has no include guard");
  return text.insert(at + guard.size(), "#define NEAP_LITTLE_FLASH\n");
}

std::set<std::string> RuntimeFilesOf(const std::set<std::string>& functions) {
  std::set<std::string> files = {"neap_rt.h"};
  std::vector<std::string> open = {"neap_rt.c", "neap_views.c"};
  for (const std::string& function : functions) open.push_back(function + ".c");
  while (!open.empty()) {
    const std::string name = open.back();
    open.pop_back();
    if (!files.insert(name).second) continue;
    // Calls, and files that are included; other mentions of a function do not count.
    const std::string_view text = TextOf(name);
    ForEachWord(text, [&](std::string_view word) {
      const auto end = static_cast<std::size_t>(word.data() + word.size() - text.data());
      const std::string_view rest = text.substr(end);
      const bool header = rest.starts_with(".h\"");
      const bool needs = rest.starts_with("(") || rest.starts_with(".c\"") || header;
      const std::string other = std::string(word) + (header ? ".h" : ".c");
      if (needs && word.starts_with("neap_") && IsFile(other)) open.push_back(other);
    });
  }
  return files;
}

namespace {

// Without the lines that include files of the runtime, which are put in place of the line where
// they are code.
std::string Inlined(std::string_view text, bool with_code) {
  std::string result;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end + 1);
    text.remove_prefix(line.size());
    constexpr std::string_view kInclude = "#include \"neap_";
    if (!line.starts_with(kInclude)) {
      result += line;
      continue;
    }
    const std::size_t from = line.find('"') + 1;
    const std::string name(line.substr(from, line.rfind('"') - from));
    if (with_code && name.ends_with(".c")) result += Inlined(TextOf(name), true);
  }
  return result;
}

std::string Renamed(std::string_view text, const std::string& prefix) {
  std::string result;
  ForEachWord(text, [&](std::string_view word) {
    if (word.starts_with("neap_")) {
      result += prefix + "_rt_" + std::string(word.substr(sizeof("neap_") - 1));
    } else if (word.starts_with("NEAP_")) {
      result += UpperOf(prefix) + "_RT_" + std::string(word.substr(sizeof("NEAP_") - 1));
    } else {
      result += word;
    }
  });
  return result;
}

// Those of `files` but neap_rt.h, each behind those that it includes.
std::vector<std::string> HeadersOf(const std::set<std::string>& files) {
  std::vector<std::string> headers = {"neap_rt.h"};
  const std::function<void(const std::string&)> add = [&](const std::string& name) {
    if (std::find(headers.begin(), headers.end(), name) != headers.end()) return;
    for (const std::string& other : files) {
      const bool includes =
          TextOf(name).find("#include \"" + other + "\"") != std::string_view::npos;
      if (includes) add(other);
    }
    headers.push_back(name);
  };
  for (const std::string& file : files) {
    if (file.ends_with(".h")) add(file);
  }
  headers.erase(headers.begin());
  return headers;
}

}  // namespace

std::string SingleFile(const std::string& tables, const std::set<std::string>& files,
                       const std::string& prefix, bool little_flash) {
  // The tables include other headers of the runtime in the lines behind it.
  const std::string mark = "#include \"neap_rt/neap_rt.h\"\n";
  const std::size_t at = tables.find(mark);
  NEAP_CHECK(at != std::string::npos, "emitted tables do not include the runtime");
  std::string text = tables.substr(0, at);
  text += Renamed(MainHeader(little_flash), prefix) + "\n";
  for (const std::string& file : HeadersOf(files)) {
    text += Renamed(Inlined(TextOf(file), false), prefix) + "\n";
  }
  for (const std::string& file : files) {
    // Those that a file of another type includes are in that one too.
    if (file.ends_with(".c")) text += Renamed(Inlined(TextOf(file), true), prefix) + "\n";
  }
  return text + Renamed(Inlined(std::string_view(tables).substr(at + mark.size()), false), prefix);
}

}  // namespace neap::emit
