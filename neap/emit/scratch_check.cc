// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "neap/emit/scratch.h"

namespace neap::emit {

std::string FindScratchOverlap(const Program& program, std::int64_t end) {
  for (const Segment& segment : program.segments) {
    for (const Call& call : segment.calls) {
      const std::int64_t bytes = ScratchBytesOf(call);
      if (bytes == 0) continue;
      const std::int64_t first = call.scratch;
      const std::int64_t last = first + bytes;
      if (first < 0 || first % kScratchAlignment != 0 || last > end) {
        return call.comment + " has scratch that is not aligned or not inside the arena";
      }
      for (const plan::StreamRange& used : call.used) {
        if (!used.empty() && first < used.last && used.first < last) {
          return call.comment + " has scratch over a tensor that is in use";
        }
      }
    }
  }
  return "";
}

}  // namespace neap::emit
