// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "neap/show/report/json_parts.h"
#include "neap/show/report/report.h"

namespace neap::report {
namespace {

bool HasOneScale(const InterfaceChange& change) {
  return change.quantization && change.quantization->scales.size() == 1 &&
         change.quantization->zero_points.size() == 1;
}

}  // namespace

std::string InterfaceText(const std::vector<InterfaceChange>& changes) {
  constexpr int kMaxNameColumns = 60;
  std::string out;
  for (const InterfaceChange& change : changes) {
    std::string scale;
    if (HasOneScale(change)) {
      scale = fmt::format(" (scale {}, zero point {})", change.quantization->scales[0],
                          change.quantization->zero_points[0]);
    }
    out +=
        fmt::format("Interface changed: {} '{}' is {}{} instead of {}; the caller computes {}.\n",
                    change.is_input ? "input" : "output", Printable(change.name, kMaxNameColumns),
                    graph::NameOf(change.new_type), scale, graph::NameOf(change.type),
                    Printable(change.op, kMaxNameColumns));
  }
  return out;
}

std::string InterfaceJson(const std::vector<InterfaceChange>& changes) {
  Json list = Json::array();
  for (const InterfaceChange& change : changes) {
    Json one;
    one["side"] = change.is_input ? "input" : "output";
    one["operator"] = change.op;
    one["name"] = change.name;
    one["new_name"] = change.new_name;
    one["type"] = graph::NameOf(change.type);
    one["new_type"] = graph::NameOf(change.new_type);
    one["scale"] = HasOneScale(change) ? Json(change.quantization->scales[0]) : Json(nullptr);
    one["zero_point"] =
        HasOneScale(change) ? Json(change.quantization->zero_points[0]) : Json(nullptr);
    list.push_back(std::move(one));
  }
  return Dump(list);
}

}  // namespace neap::report
