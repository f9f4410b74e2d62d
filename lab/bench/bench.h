// SPDX-License-Identifier: Apache-2.0
//
// Suites of measurements: each is a function from options to a Report, which is data. The same code
// turns every report into JSON, Markdown and one page, and `--quick` compares its qualities with
// stored ones. docs/results/suites.md describes how to add a suite.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "neap/base/result.h"
#include "neap/show/picture/chart.h"

namespace neap::bench {

// A cell of a table. Real numbers are shown with `decimals` digits.
struct Value {
  std::variant<std::monostate, std::string, std::int64_t, double> value;
  int decimals = 2;
};
Value None();
Value Text(std::string text);
Value Count(std::int64_t count);
Value Real(double number, int decimals = 2);

struct Column {
  std::string key;    // in the JSON
  std::string title;  // for people
};

struct Table {
  std::string id;
  std::string title;
  std::vector<Column> columns;
  std::vector<std::vector<Value>> rows;  // each as many as columns
};

struct Plot {
  std::string id;
  std::string title;
  std::variant<picture::Bars, picture::Lines> drawing;
};

struct Section {
  std::string id;
  std::string title;
  std::vector<std::string> text;  // paragraphs: the graphs, and why numbers differ
  std::vector<Table> tables;
  std::vector<Plot> plots;
};

// A deterministic integer that no change may make worse. Never a time.
struct Quality {
  std::string name;  // "swiftnet-a.peak_bytes", unique in the suite
  std::int64_t value = 0;
  bool more_is_better = false;
};

struct Report {
  std::string suite;
  std::string title;
  std::vector<std::string> intro;
  std::vector<Section> sections;
  std::vector<Quality> qualities;
};

struct RunOptions {
  bool quick = false;                              // a short form, same qualities every time
  const std::atomic<bool>* stop = nullptr;         // not owned
  std::function<void(std::string_view)> progress;  // the present measurement; may be empty
};

struct Suite {
  std::string_view name;
  std::string_view summary;  // one line
  Result<Report> (*run)(const RunOptions& options);
};
std::span<const Suite> Suites();

// Where and when a report was made.
struct Stamp {
  std::string neap_version;
  std::string date;     // UTC, ISO 8601
  std::string machine;  // processor, cores, system
  double load = 0;      // one-minute load average at the start
  double seconds = 0;   // of the whole run
  bool quick = false;
};

std::string ToJson(const Report& report, const Stamp& stamp);  // schemas/bench.schema.json
// `images`: where the files of Drawings() are, as a path from the Markdown file; "": no images.
std::string ToMarkdown(const Report& report, const Stamp& stamp, const std::string& images = "");
std::string ToHtml(const Report& report, const Stamp& stamp);

struct Drawing {
  std::string file;  // "serenity-budget-plot.svg"
  std::string svg;
};
// The plots of a report, a file each.
std::vector<Drawing> Drawings(const Report& report);

// The qualities as a file to be stored, one line each.
std::string ExpectationsJson(const Report& report);
struct Comparison {
  std::vector<std::string> worse;   // a line each; also for missing ones
  std::vector<std::string> better;  // a line each: store them
  std::vector<std::string> fresh;   // not stored yet
};
// Fails with kBadInput when `json` is not a file of expectations, or of another suite.
Result<Comparison> Compare(const Report& report, std::string_view json);

// For suites.
double GeometricMean(const std::vector<double>& ratios);  // NaN of none
double Ratio(std::int64_t before, std::int64_t after);    // NaN where after is 0

}  // namespace neap::bench
