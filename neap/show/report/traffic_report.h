// SPDX-License-Identifier: Apache-2.0
//
// The report of `neap traffic`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "neap/show/report/text.h"
#include "neap/solve/traffic/traffic.h"

namespace neap::report {

struct OrderTraffic {
  std::int64_t peak_bytes = 0;
  std::int64_t without_traffic_bytes = 0;  // smallest memory with compulsory traffic only
  std::int64_t compulsory_bytes = 0;
  std::vector<traffic::Row> rows;  // size by size
};

struct TrafficReport {
  std::string model;
  std::string model_sha256;
  std::string runtime;
  std::string plan_file;  // "": planned here
  bool ends_on_chip = true;
  std::int64_t block_bytes = 0;
  std::string order_status;  // "optimal", "bounded"
  OrderTraffic file_order;
  OrderTraffic planned;
  std::vector<std::string> notes;
  double seconds = 0;
};

std::string TrafficText(const TrafficReport& report, const Style& style);
// schemas/traffic.schema.json; ends with a newline.
std::string TrafficJson(const TrafficReport& report);

}  // namespace neap::report
