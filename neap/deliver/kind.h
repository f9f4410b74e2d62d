// SPDX-License-Identifier: Apache-2.0
//
// The kinds of plans that Deliver() compares.
#pragma once

#include <cstdint>
#include <string_view>

namespace neap::deliver {

// In the order in which equal plans are preferred.
enum class Kind : std::uint8_t {
  kAsGiven,
  kRewritten,
  kStreamed,
  kRewrittenStreamed,  // parts of the rewritten model are streamed
  kTiles,
  kRewrittenTiles,     // operators of the rewritten model are in tiles
  kRepeated,           // operators run again
  kRewrittenRepeated,  // operators of the rewritten model run again
};
// "as given", "rewritten", "streamed", "rewritten and streamed", "tiles", "rewritten and tiles",
// "recomputed", "rewritten and recomputed".
std::string_view NameOf(Kind kind);
bool IsRewritten(Kind kind);
bool IsStreamed(Kind kind);
bool HasTiles(Kind kind);
bool HasRepetitions(Kind kind);

}  // namespace neap::deliver
