// SPDX-License-Identifier: Apache-2.0
#include "tools/words.h"

#include <CLI/CLI.hpp>
#include <string>

#include "neap/base/check.h"

namespace neap::tools {

void AddWords(CLI::App* app, deliver::Words* words, const std::vector<std::string_view>& names) {
  words->prefix = "--";
  for (const std::string_view name : names) {
    const deliver::Option* const option = deliver::OptionNamed(name);
    NEAP_CHECK(option != nullptr, "no option '" + std::string(name) + "'");
    const auto set = [words, name](const std::string& text) {
      const Status status = deliver::Set(name, text, words);
      if (status) return;
      const Diagnostic& error = status.error();
      throw CLI::ValidationError(error.message +
                                 (error.hint.empty() ? "" : " (" + error.hint + ")"));
    };
    const std::string flag = words->Named(name);
    std::string help = option->help;
    if (name == "rewrite") help += "; default: " + words->rewrite;
    if (option->value.empty()) {
      app->add_flag_function(
             flag, [set](std::int64_t) { set(""); }, help)
          ->group(std::string(option->group));
      continue;
    }
    CLI::Option* added = nullptr;
    if (name == "memory") {
      added = app->add_option_function<std::vector<std::string>>(
          flag,
          [set](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) set(text);
          },
          help);
    } else {
      added = app->add_option_function<std::string>(flag, set, help);
    }
    added->option_text(option->value)->group(std::string(option->group));
  }
}

}  // namespace neap::tools
