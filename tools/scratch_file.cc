// SPDX-License-Identifier: Apache-2.0
#include "tools/scratch_file.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "neap/base/bytes.h"
#include "neap/io/file.h"

namespace neap::tools {
namespace {

std::string_view Trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) {
    text.remove_suffix(1);
  }
  return text;
}

bool IsIndex(std::string_view text) {
  constexpr std::size_t kMaxDigits = 9;
  return !text.empty() && text.size() <= kMaxDigits &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Of every operator that `what` means; false: there is none.
bool Set(std::string_view what, std::int64_t bytes, graph::Subgraph* main,
         IdVector<graph::OpId, char>* by_index) {
  if (IsIndex(what)) {
    const graph::OpId id(static_cast<std::int32_t>(std::stol(std::string(what))));
    if (!main->ops.Has(id)) return false;
    main->ops[id].scratch_bytes = bytes;
    (*by_index)[id] = 1;
    return true;
  }
  bool any = false;
  for (const graph::OpId id : main->ops.Ids()) {
    if (main->ops[id].type != what) continue;
    any = true;
    if ((*by_index)[id] == 0) main->ops[id].scratch_bytes = bytes;
  }
  return any;
}

}  // namespace

Status ApplyScratchFile(const std::string& path, graph::Graph* graph) {
  NEAP_TRY(const auto file, io::ReadFile(path));
  std::string_view rest(reinterpret_cast<const char*>(file->data()), file->size());
  graph::Subgraph& main = graph->subgraphs[graph::SubgraphId(0)];
  IdVector<graph::OpId, char> by_index(main.ops.size(), 0);
  for (int line = 1; !rest.empty(); ++line) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view text = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    text = Trim(text.substr(0, text.find('#')));
    if (text.empty()) continue;
    const auto refuse = [&](const std::string& why) {
      Diagnostic diagnostic = BadInput("line " + std::to_string(line) + ": " + why);
      diagnostic.file = path;
      return Fail(std::move(diagnostic));
    };
    const std::size_t comma = text.find(',');
    if (comma == std::string_view::npos) return refuse("expected OPERATOR,BYTES");
    const auto bytes = ParseBytes(Trim(text.substr(comma + 1)));
    if (!bytes) return refuse(bytes.error().message);
    const std::string_view what = Trim(text.substr(0, comma));
    if (!Set(what, *bytes, &main, &by_index)) {
      return refuse("the model has no operator '" + std::string(what.substr(0, 60)) + "'");
    }
  }
  return {};
}

}  // namespace neap::tools
