// SPDX-License-Identifier: Apache-2.0
//
// neap bench: runs a suite and writes its report.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

#include "lab/bench/bench.h"
#include "neap/base/version.h"
#include "neap/io/file.h"
#include "tools/common.h"

namespace neap::tools {
namespace {

constexpr const char* kBenchFooter =
    "Examples:\n"
    "  neap bench --list\n"
    "  neap bench serenity --markdown serenity.md --html serenity.html\n"
    "  neap bench order --quick --expect lab/bench/expectations/order.json\n"
    "\n"
    "Without an output file the Markdown goes to stdout. --expect compares peaks, bounds and "
    "arenas\n"
    "with stored ones, never seconds: exit 1 when one is worse.\n";

struct BenchOptions {
  std::string suite;
  std::string json;
  std::string markdown;
  std::string html;
  std::string svg;  // a folder
  std::string expect;
  std::string store;
  bool quick = false;
  bool list = false;
  bool force = false;
  bool quiet = false;
};

std::string ProcessorName() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const std::size_t colon = line.find(':');
    if (line.starts_with("model name") && colon != std::string::npos) {
      return line.substr(std::min(colon + 2, line.size()));
    }
  }
  return "unknown processor";
}

bench::Stamp StampNow(bool quick) {
  bench::Stamp stamp;
  stamp.neap_version = Version();
  stamp.quick = quick;
  const std::time_t now = std::time(nullptr);
  stamp.date = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now));
  utsname system{};
  const bool known = ::uname(&system) == 0;
  stamp.machine =
      fmt::format("{}, {} cores, {}", ProcessorName(), std::thread::hardware_concurrency(),
                  known ? std::string(system.sysname) + " " + system.machine : "");
  double load = 0;
  if (::getloadavg(&load, 1) == 1) stamp.load = load;
  return stamp;
}

Status PrintList() {
  std::string out;
  for (const bench::Suite& suite : bench::Suites()) {
    out += fmt::format("{:<10}  {}\n", suite.name, suite.summary);
  }
  return Print(stdout, out);
}

Result<const bench::Suite*> SuiteNamed(const std::string& name) {
  for (const bench::Suite& suite : bench::Suites()) {
    if (suite.name == name) return &suite;
  }
  Diagnostic diagnostic =
      UsageError(name.empty() ? "expected a SUITE or --list" : "there is no suite '" + name + "'");
  diagnostic.hint = "see 'neap bench --list'";
  return Fail(std::move(diagnostic));
}

// False: something is worse.
Result<bool> CompareWithStored(const BenchOptions& options, const bench::Report& report) {
  NEAP_TRY(const auto bytes, io::ReadFile(options.expect));
  const std::string_view text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  auto compared = bench::Compare(report, text);
  if (!compared) {
    Diagnostic diagnostic = std::move(compared).error();
    diagnostic.file = options.expect;
    return Fail(std::move(diagnostic));
  }
  for (const std::string& line : compared->worse) {
    fmt::print(stderr, "neap bench: worse: {}\n", line);
  }
  if (!options.quiet) {
    for (const std::string& line : compared->better) {
      fmt::print(stderr, "neap bench: better: {}; store it\n", line);
    }
    for (const std::string& line : compared->fresh) {
      fmt::print(stderr, "neap bench: not stored: {}\n", line);
    }
  }
  return compared->worse.empty();
}

// Where the Markdown file finds the drawings.
std::string ImagesFrom(const BenchOptions& options) {
  if (options.svg.empty() || options.markdown.empty() || options.markdown == "-") return "";
  const std::filesystem::path page = std::filesystem::absolute(options.markdown);
  return std::filesystem::absolute(options.svg)
      .lexically_relative(page.parent_path())
      .generic_string();
}

Status WriteDrawings(const BenchOptions& options, const bench::Report& report) {
  if (options.svg.empty()) return {};
  for (const bench::Drawing& drawing : bench::Drawings(report)) {
    NEAP_CHECK_OK(io::WriteFile(options.svg + "/" + drawing.file, drawing.svg, options.force));
  }
  return {};
}

Result<int> Bench(const BenchOptions& options) {
  if (options.list) {
    NEAP_CHECK_OK(PrintList());
    return kDone;
  }
  NEAP_TRY(const bench::Suite* const suite, SuiteNamed(options.suite));
  const std::vector<NamedFile> written = {{"--json", options.json},
                                          {"--markdown", options.markdown},
                                          {"--html", options.html},
                                          {"--store", options.store}};
  NEAP_CHECK_OK(CheckDistinct({{"--expect", options.expect}}, written));
  for (const NamedFile& file : written) NEAP_CHECK_OK(CheckOutput(file.path, options.force));
  if (!options.svg.empty() && !std::filesystem::is_directory(options.svg)) {
    return Fail(UsageError("--svg '" + options.svg + "' is not a folder"));
  }
  const Stopwatch watch;
  bench::Stamp stamp = StampNow(options.quick);
  bench::RunOptions run;
  run.quick = options.quick;
  // No StopOnInterrupt(): half a report is none, so Ctrl-C may end the program at once.
  if (!options.quiet && ::isatty(::fileno(stderr)) != 0) {
    run.progress = [](std::string_view what) { fmt::print(stderr, "{} ...\n", what); };
  }
  NEAP_TRY(const bench::Report report, suite->run(run));
  stamp.seconds = watch.Seconds();
  const auto write = [&](const std::string& path, const std::string& text) -> Status {
    return path.empty() ? Status() : io::WriteFile(path, text, options.force);
  };
  NEAP_CHECK_OK(write(options.json, bench::ToJson(report, stamp)));
  NEAP_CHECK_OK(WriteDrawings(options, report));
  NEAP_CHECK_OK(write(options.markdown, bench::ToMarkdown(report, stamp, ImagesFrom(options))));
  NEAP_CHECK_OK(write(options.html, bench::ToHtml(report, stamp)));
  NEAP_CHECK_OK(write(options.store, bench::ExpectationsJson(report)));
  const bool no_file = options.json.empty() && options.markdown.empty() && options.html.empty() &&
                       options.svg.empty();
  if (no_file && !options.quiet) {
    NEAP_CHECK_OK(Print(stdout, bench::ToMarkdown(report, stamp)));
  }
  if (options.expect.empty()) return kDone;
  NEAP_TRY(const bool good, CompareWithStored(options, report));
  return good ? kDone : kFailed;
}

}  // namespace

int BenchCommand(std::vector<std::string> args) {
  BenchOptions options;
  CLI::App app("Run a suite of measurements on networks of the zoo.", "neap bench");
  app.footer(kBenchFooter);
  app.add_option("SUITE", options.suite, "name of a suite; see --list");
  app.add_flag("--list", options.list, "list all suites");
  app.add_flag("--quick", options.quick, "short form for continuous integration");
  app.add_option("--json", options.json, "write the results; - is stdout")->option_text("FILE");
  app.add_option("--markdown", options.markdown, "write the report as Markdown")
      ->option_text("FILE");
  app.add_option("--html", options.html, "write the report as a page with plots")
      ->option_text("FILE");
  app.add_option("--svg", options.svg, "existing folder for the plots; the Markdown refers to them")
      ->option_text("FOLDER");
  app.add_option("--expect", options.expect,
                 "file of stored qualities: exit with 1 if one got worse")
      ->option_text("FILE");
  app.add_option("--store", options.store, "write the qualities for --expect")->option_text("FILE");
  app.add_flag("--force", options.force, "overwrite existing files");
  app.add_flag("--quiet", options.quiet, "print only errors");
  if (const auto code = Parse(&app, std::move(args))) return *code;
  const Result<int> code = Bench(options);
  return code ? *code : Report("bench", code.error());
}

}  // namespace neap::tools
