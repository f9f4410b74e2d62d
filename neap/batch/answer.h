// SPDX-License-Identifier: Apache-2.0
//
// From a line to its answer. Private to neap/batch.
#pragma once

#include <string_view>

#include "neap/batch/batch.h"
#include "neap/batch/lines.h"
#include "neap/batch/memo.h"
#include "neap/batch/store.h"

namespace neap::batch {

// Everything that is wrong, a defect of ours and lack of memory included, ends up in Answer::error.
// Sets *repeated when the memo or the store had the numbers. `store` may be nullptr. Thread-safe.
Answer AnswerOf(std::string_view line, const Options& options, Memo* memo, Store* store,
                bool* repeated);

}  // namespace neap::batch
