// SPDX-License-Identifier: Apache-2.0
//
// A model as Python holds it, and options as Python passes them.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "neap/deliver/options.h"
#include "neap/formats/formats.h"
#include "neap/session/session.h"
#include "python/errors.h"

namespace neap::python {

// Immutable, and shared with the plans that are made of it.
class Model {
 public:
  explicit Model(session::Model model)
      : model_(std::make_shared<const session::Model>(std::move(model))) {}
  const std::shared_ptr<const session::Model>& Shared() const { return model_; }
  const formats::SourceModel& Source() const { return model_->source; }

 private:
  std::shared_ptr<const session::Model> model_;
};

// Names of neap/deliver/options.h with values; "": a flag.
using Options = std::vector<std::pair<std::string, std::string>>;

inline deliver::Words WordsOf(const Options& options) {
  deliver::Words words;
  for (const auto& [name, value] : options) CheckOrRaise(deliver::Set(name, value, &words));
  return words;
}

}  // namespace neap::python
