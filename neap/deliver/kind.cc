// SPDX-License-Identifier: Apache-2.0
#include "neap/deliver/kind.h"

#include <array>
#include <cstddef>

namespace neap::deliver {

std::string_view NameOf(Kind kind) {
  constexpr std::array<std::string_view, 8> kNames = {
      "as given", "rewritten",           "streamed",   "rewritten and streamed",
      "tiles",    "rewritten and tiles", "recomputed", "rewritten and recomputed"};
  return kNames.at(static_cast<std::size_t>(kind));
}

bool IsRewritten(Kind kind) {
  return kind == Kind::kRewritten || kind == Kind::kRewrittenStreamed ||
         kind == Kind::kRewrittenTiles || kind == Kind::kRewrittenRepeated;
}

bool IsStreamed(Kind kind) { return kind == Kind::kStreamed || kind == Kind::kRewrittenStreamed; }

bool HasTiles(Kind kind) { return kind == Kind::kTiles || kind == Kind::kRewrittenTiles; }

bool HasRepetitions(Kind kind) {
  return kind == Kind::kRepeated || kind == Kind::kRewrittenRepeated;
}

}  // namespace neap::deliver
