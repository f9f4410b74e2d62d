// SPDX-License-Identifier: Apache-2.0
#include "neap/serve/metrics.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>

namespace neap::serve {
namespace {

std::string Decimal(double value) {
  char text[64];
  (void)std::snprintf(text, sizeof(text), "%.9g", value);
  return text;
}

}  // namespace

void Metrics::Histogram::Observe(double seconds) {
  for (std::size_t i = 0; i < kBounds.size(); ++i) {
    if (seconds <= kBounds.at(i)) ++counts.at(i);
  }
  ++count;
  sum += seconds;
}

void Metrics::Histogram::Append(const std::string& name, std::string* text) const {
  *text += "# TYPE " + name + " histogram\n";
  for (std::size_t i = 0; i < kBounds.size(); ++i) {
    *text += name + "_bucket{le=\"" + Decimal(kBounds.at(i)) + "\"} " +
             std::to_string(counts.at(i)) + "\n";
  }
  *text += name + "_bucket{le=\"+Inf\"} " + std::to_string(count) + "\n" + name + "_sum " +
           Decimal(sum) + "\n" + name + "_count " + std::to_string(count) + "\n";
}

void Metrics::CountRequest(const std::string& route, int status, double seconds) {
  const std::lock_guard lock(mutex_);
  ++requests_[{route, status}];
  latency_.Observe(seconds);
}

void Metrics::CountJob(bool done, double seconds, std::int64_t peak_bytes) {
  const std::lock_guard lock(mutex_);
  ++(done ? done_ : failed_);
  jobs_.Observe(seconds);
  peak_bytes_ = std::max(peak_bytes_, peak_bytes);
}

void Metrics::Add(const std::string& name, std::int64_t value) {
  const std::lock_guard lock(mutex_);
  totals_[name] += value;
}

std::string Metrics::Text(const std::vector<std::pair<std::string, std::int64_t>>& gauges) const {
  const std::lock_guard lock(mutex_);
  std::string text = "# TYPE neap_requests_total counter\n";
  for (const auto& [key, count] : requests_) {
    text += "neap_requests_total{route=\"" + key.first + "\",status=\"" +
            std::to_string(key.second) + "\"} " + std::to_string(count) + "\n";
  }
  latency_.Append("neap_request_seconds", &text);
  text += "# TYPE neap_jobs_total counter\nneap_jobs_total{state=\"done\"} " +
          std::to_string(done_) + "\nneap_jobs_total{state=\"failed\"} " + std::to_string(failed_) +
          "\n";
  jobs_.Append("neap_job_seconds", &text);
  text += "# TYPE neap_job_peak_resident_bytes gauge\nneap_job_peak_resident_bytes " +
          std::to_string(peak_bytes_) + "\n";
  for (const auto& [name, total] : totals_) {
    text += "# TYPE " + name + " counter\n" + name + " " + std::to_string(total) + "\n";
  }
  for (const auto& [name, value] : gauges) {
    text += "# TYPE " + name + " gauge\n" + name + " " + std::to_string(value) + "\n";
  }
  return text;
}

void Log(const std::string& event, const LogFields& fields) {
  static std::mutex mutex;
  const std::time_t now = std::time(nullptr);
  std::tm utc = {};
  ::gmtime_r(&now, &utc);
  char time[32];
  (void)std::strftime(time, sizeof(time), "%Y-%m-%dT%H:%M:%SZ", &utc);
  nlohmann::ordered_json line;
  line["time"] = time;
  line["event"] = event;
  for (const auto& [name, value] : fields) line[name] = value;
  const std::string text =
      line.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  const std::lock_guard lock(mutex);
  (void)!::write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace neap::serve
