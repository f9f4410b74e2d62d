// SPDX-License-Identifier: Apache-2.0
//
// neap::deliver with the progress lines and the error texts of the command line.
#pragma once

#include "neap/base/result.h"
#include "neap/deliver/deliver.h"
#include "neap/formats/formats.h"

namespace neap::tools {

// The stop flag and the observers of `request` are set for the time of the call. Errors name the
// file.
Result<deliver::Delivery> DeliverWithProgress(const formats::SourceModel& source,
                                              bool shows_progress, deliver::Request* request);

}  // namespace neap::tools
