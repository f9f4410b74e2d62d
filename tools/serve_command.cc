// SPDX-License-Identifier: Apache-2.0
//
// neap serve: the options of the server.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "neap/serve/serve.h"
#include "tools/common.h"

namespace neap::tools {
namespace {

constexpr const char* kServeFooter =
    "Examples:\n"
    "  neap serve --store plans                       on 127.0.0.1, port 8642\n"
    "  neap serve --store plans --port 0 --jobs 4     on a free port, which is printed\n"
    "  neap serve --store plans --listen 0.0.0.0 --tokens tokens.txt --host neap.example.org\n"
    "  curl --data-binary @model.tflite 'http://127.0.0.1:8642/v1/plans?name=model.tflite'\n"
    "\n"
    "Every plan is computed by a process of its own, with limits of memory, time and files, "
    "without\n"
    "network. Standard output has one line, the address; standard error has the log, a line of "
    "JSON\n"
    "for each event. SIGTERM ends it: plans that are not finished are continued by the next "
    "start.\n"
    "docs/guides/server.md describes the interface and what it protects from.\n"
    "Exit: 0 ended by a signal, 1 the store or the address cannot be used, 2 usage.\n";

struct ServeOptions {
  serve::Settings settings;
  std::string model_bytes = "256MiB";
  std::string store_bytes = "8GiB";
  std::string job_memory = "4GiB";
  std::string job_files = "1GiB";
  double keep_hours = 168;
};

Status ReadSizes(ServeOptions* options) {
  serve::Settings& settings = options->settings;
  NEAP_TRY(settings.model_bytes, ParseSize("--max-model", options->model_bytes));
  NEAP_TRY(settings.store_bytes, ParseSize("--max-store", options->store_bytes));
  NEAP_TRY(settings.job.memory_bytes, ParseSize("--job-memory", options->job_memory));
  NEAP_TRY(settings.job.total_bytes, ParseSize("--job-files", options->job_files));
  settings.job.file_bytes = settings.job.total_bytes;
  constexpr double kSecondsPerHour = 3600;
  settings.keep_seconds = static_cast<std::int64_t>(options->keep_hours * kSecondsPerHour);
  settings.job.wall_seconds = settings.job.cpu_seconds * 3 / 2 + 10;
  return {};
}

void AddLimits(CLI::App* app, ServeOptions* options) {
  serve::Settings& settings = options->settings;
  const std::string group = "Limits";
  const auto add = [&](const std::string& name, std::int64_t* value, std::int64_t max,
                       const std::string& help, const std::string& form = "N") {
    app->add_option(name, *value, fmt::format("{}; default: {}", help, *value))
        ->option_text(form)
        ->check(CLI::Range(std::int64_t{1}, max))
        ->group(group);
  };
  constexpr std::int64_t kMany = 1'000'000;
  add("--jobs", &settings.jobs, 1024, "plans that are computed at the same time");
  add("--queue", &settings.queue, kMany, "plans that wait; more are answered with 429");
  app->add_option("--max-model", options->model_bytes, "of an upload; default: 256MiB")
      ->option_text("SIZE")
      ->group(group);
  app->add_option("--max-store", options->store_bytes,
                  "of models and results together; default: 8GiB")
      ->option_text("SIZE")
      ->group(group);
  app->add_option("--keep-hours", options->keep_hours,
                  "finished plans are removed after that time; default: 168")
      ->option_text("HOURS")
      ->check(CLI::Range(0.0, 1e6))
      ->group(group);
  app->add_option("--job-memory", options->job_memory, "addresses of each job; default: 4GiB")
      ->option_text("SIZE")
      ->group(group);
  add("--job-seconds", &settings.job.cpu_seconds, kMany, "processor time of each job", "SECONDS");
  app->add_option("--job-files", options->job_files, "of all files of a job; default: 1GiB")
      ->option_text("SIZE")
      ->group(group);
  add("--connections", &settings.connections, kMany, "connections at the same time");
  add("--uploads", &settings.uploads, kMany, "uploads at the same time");
  add("--streams", &settings.streams, kMany, "streams of events at the same time");
  add("--drain-seconds", &settings.drain_seconds, kMany,
      "running jobs have after SIGTERM; then the next start repeats them", "SECONDS");
}

}  // namespace

int ServeCommand(std::vector<std::string> args) {
  ServeOptions options;
  serve::Settings& settings = options.settings;
  CLI::App app("Plan models for others over HTTP.", "neap serve");
  app.footer(kServeFooter);
  app.add_option("--store", settings.folder, "folder of plans and results; made if it is absent")
      ->option_text("FOLDER")
      ->required();
  app.add_option("--listen", settings.address,
                 "IP address; other than loopback only with --tokens; default: 127.0.0.1")
      ->option_text("ADDRESS");
  app.add_option("--port", settings.port, "0: a free one; default: 8642")->option_text("N");
  app.add_option(
         "--tokens", settings.token_file,
         "file with one token a line; requests then need 'Authorization: Bearer TOKEN', and "
         "plans belong to their token")
      ->option_text("FILE");
  app.add_option("--host", settings.hosts,
                 "further name that the Host header may have, such as that of a proxy")
      ->option_text("NAME")
      ->allow_extra_args(false);
  app.add_option("--allow-origin", settings.origins,
                 "origin whose pages may use the server: https://neap.example.org")
      ->option_text("ORIGIN")
      ->allow_extra_args(false);
  app.add_option("--page", settings.page, "folder of static files to serve at /")
      ->option_text("FOLDER");
  AddLimits(&app, &options);
  if (const auto code = Parse(&app, std::move(args))) return *code;
  if (const Status status = ReadSizes(&options); !status) {
    return Report("serve", status.error());
  }
  std::error_code error;
  if (!settings.page.empty() && !std::filesystem::is_directory(settings.page, error)) {
    return Report("serve", UsageError("--page: '" + settings.page + "' is not a folder"));
  }
  settings.on_listening = [](const std::string& address, std::uint16_t port) {
    const bool is_v6 = address.find(':') != std::string::npos;
    (void)Print(stdout, fmt::format("http://{}:{}\n", is_v6 ? "[" + address + "]" : address, port));
    std::fflush(stdout);
  };
  const Status status = serve::Serve(settings);
  return status ? kDone : Report("serve", status.error());
}

}  // namespace neap::tools
