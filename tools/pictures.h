// SPDX-License-Identifier: Apache-2.0
//
// The pictures that `neap inspect` and `neap plan` draw.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "neap/base/result.h"
#include "neap/deliver/deliver.h"
#include "neap/formats/formats.h"
#include "neap/plan/profile.h"
#include "tools/common.h"

namespace CLI {  // NOLINT(readability-identifier-naming): theirs
class App;
}  // namespace CLI

namespace neap::tools {

struct PictureOptions {
  std::string html;  // "": none, here and below
  std::string svg;
  std::string csv;    // a folder
  std::string trace;  // of inspect only, as are those below
  std::string timeline;
  std::string dot;
  std::string model_explorer;

  bool Any() const;
  // One of them is standard output.
  bool TakesStdout() const;
  // All that will be written.
  std::vector<NamedFile> Files() const;
};
void AddPageOptions(CLI::App* app, PictureOptions* options);
void AddViewerOptions(CLI::App* app, PictureOptions* options);

// Fails early where writing would fail after planning.
Status CheckPictures(const PictureOptions& options, bool force);

// The page of --html: the plan beside file order.
Result<std::string> PageOf(const formats::SourceModel& source, const deliver::Delivery& delivery,
                           const std::optional<std::int64_t>& budget_bytes);

// The plan beside file order. Appends the names of the files that were written.
Status DrawDelivery(const PictureOptions& options, const formats::SourceModel& source,
                    const deliver::Delivery& delivery,
                    const std::optional<std::int64_t>& budget_bytes, bool force,
                    std::vector<std::string>* written);

// All files but page and drawing show file order; these show `delivery` beside it, which is not
// null where one of them is wanted.
Status DrawFileOrder(const PictureOptions& options, const formats::SourceModel& source,
                     plan::Runtime runtime, const deliver::Delivery* delivery, bool force,
                     std::vector<std::string>* written);

}  // namespace neap::tools
