// SPDX-License-Identifier: Apache-2.0
//
// Counters of a server, and its log. Private to neap/serve.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace neap::serve {

// Thread-safe.
class Metrics {
 public:
  void CountRequest(const std::string& route, int status, double seconds);
  void CountJob(bool done, double seconds, std::int64_t peak_bytes);
  // Adds to a number that is shown by its name: "neap_upload_bytes_total".
  void Add(const std::string& name, std::int64_t value);

  // In the text format of Prometheus; `gauges` are shown as they are.
  std::string Text(const std::vector<std::pair<std::string, std::int64_t>>& gauges) const;

 private:
  static constexpr std::array<double, 10> kBounds = {0.001, 0.0025, 0.005, 0.01, 0.025,
                                                     0.05,  0.1,    0.5,   1,    10};
  struct Histogram {
    std::array<std::int64_t, kBounds.size()> counts = {};
    std::int64_t count = 0;
    double sum = 0;
    void Observe(double seconds);
    void Append(const std::string& name, std::string* text) const;
  };

  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, std::int64_t> requests_;
  std::map<std::string, std::int64_t> totals_;
  Histogram latency_;
  Histogram jobs_;
  std::int64_t done_ = 0;
  std::int64_t failed_ = 0;
  std::int64_t peak_bytes_ = 0;
};

// One line of JSON on standard error: the time, `event` and the fields. Thread-safe.
using LogFields = std::vector<std::pair<std::string, std::string>>;
void Log(const std::string& event, const LogFields& fields);

}  // namespace neap::serve
