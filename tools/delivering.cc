// SPDX-License-Identifier: Apache-2.0
#include "tools/delivering.h"

#include <utility>

#include "tools/cascading.h"
#include "tools/common.h"

namespace neap::tools {

Result<deliver::Delivery> DeliverWithProgress(const formats::SourceModel& source,
                                              bool shows_progress, deliver::Request* request) {
  request->compile.limits.stop = StopOnInterrupt();
  ProgressLine progress(shows_progress);
  CascadeProgressLine tiles_progress(shows_progress);
  request->compile.limits.observer = [&](const Progress& seen) { progress.Show(seen); };
  request->tiling.observer = [&](const cascade::SearchProgress& seen) {
    progress.Erase();
    tiles_progress.Show(seen);
  };
  auto delivery = deliver::Deliver(source, *request);
  request->compile.limits.observer = nullptr;
  request->tiling.observer = nullptr;
  tiles_progress.Erase();
  progress.Erase();
  if (!delivery) {
    Diagnostic diagnostic = WithAllSymbols(std::move(delivery).error(), source.graph);
    if (diagnostic.file.empty()) diagnostic.file = source.path;
    return Fail(std::move(diagnostic));
  }
  return delivery;
}

}  // namespace neap::tools
