// SPDX-License-Identifier: Apache-2.0
#include "neap/emit/transfers.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "neap/emit/write.h"

namespace neap::emit {

using graph::TensorId;
using plan::StreamRange;

std::string HooksOf(const std::string& prefix) {
  const std::string upper = UpperOf(prefix);
  return InitialiserOf({upper + "_COPY", upper + "_WAIT"});
}

Transfers::Transfers(const plan::Stream& stream, Lowering* lowering) : lowering_(*lowering) {
  if (!stream.slow) return;
  for (const plan::SlowPlace& place : stream.slow->tensors) offsets_[place.tensor] = place.offset;
}

Status Transfers::Load(const plan::StreamOp& step, std::vector<Call>* calls) const {
  NEAP_CHECK_OK(Add(step.fed, true, calls));
  calls->back().rows = step.rows;
  calls->back().columns = step.columns;
  calls->back().ahead = step.ahead;
  return {};
}

namespace {

// The last range that is not empty as `range`, all others empty.
std::vector<StreamRange> AtTheLast(std::vector<StreamRange> ranges, const StreamRange& range) {
  bool found = false;
  for (std::size_t i = ranges.size(); i-- > 0;) {
    const bool last = !found && !ranges[i].empty();
    found = found || last;
    ranges[i] = last ? range : StreamRange{};
  }
  return ranges;
}

bool Reaches(const std::vector<StreamRange>& ranges, std::int64_t end) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const StreamRange& range) { return !range.empty() && range.last == end; });
}

}  // namespace

Status Transfers::StoreOf(const plan::StreamOp& step, std::vector<Call>* calls) const {
  const graph::Op& op = lowering_.subgraph().ops[step.op];
  const TensorId out = step.sums ? op.outputs[0] : plan::BoxedBy(lowering_.subgraph(), step);
  if (!IsSlow(out)) return {};
  if (!step.sums) {
    NEAP_CHECK_OK(Add(out, false, calls));
    calls->back().rows = step.rows;
    calls->back().columns = step.columns;
    return {};
  }
  // The mean is available after the last pixel.
  const plan::StreamImage in = plan::ImageOf(lowering_.Tensor(op.inputs[0]));
  if (!Reaches(step.rows, in.height) || !Reaches(step.columns, in.width)) return {};
  const plan::StreamImage image = plan::ImageOf(lowering_.Tensor(out));
  NEAP_CHECK_OK(Add(out, false, calls));
  calls->back().rows = AtTheLast(step.rows, {0, image.height});
  calls->back().columns = AtTheLast(step.columns, {0, image.width});
  return {};
}

Status Transfers::AroundWhole(const plan::StreamOp& step, std::vector<Call>* calls) const {
  const graph::Op& op = lowering_.subgraph().ops[step.op];
  std::vector<Call> all;
  std::set<TensorId> loaded;
  for (const TensorId tensor : op.inputs) {
    if (!IsSlow(tensor) || !loaded.insert(tensor).second) continue;
    NEAP_CHECK_OK(Add(tensor, true, &all));
  }
  std::move(calls->begin(), calls->end(), std::back_inserter(all));
  for (const TensorId tensor : plan::OutputsOf(lowering_.subgraph(), step)) {
    if (!IsSlow(tensor)) continue;
    NEAP_CHECK_OK(Add(tensor, false, &all));
  }
  *calls = std::move(all);
  return {};
}

Params Transfers::Hooks() const { return {"neap_transfers", HooksOf(lowering_.prefix())}; }

void Transfers::LoadWeights(const graph::Op& op, graph::OpId id, const WeightCopy& copy,
                            std::vector<Call>* calls) const {
  Call call;
  call.driver = "neap_drive_transfer";
  call.params = Hooks();
  call.comment = "weights of " + graph::Describe(id, op);
  View area;
  area.rings = {{copy.offset, 1}};
  area.pixel_bytes = copy.bytes;
  View table;
  table.constant = copy.from;
  table.pixel_bytes = copy.bytes;
  call.views = {std::move(area), std::move(table)};
  calls->push_back(std::move(call));
}

void Transfers::WaitForWeights(const WeightCopy& copy, std::vector<Call>* calls) const {
  Call call;
  call.driver = "neap_drive_wait";
  call.params = Hooks();
  call.comment = "wait for copies";
  View area;
  area.rings = {{copy.offset, 1}};
  area.pixel_bytes = copy.bytes;
  call.views = {std::move(area)};
  calls->push_back(std::move(call));
}

Status Transfers::Add(TensorId tensor, bool loads, std::vector<Call>* calls) const {
  NEAP_TRY(View area, lowering_.ImageOf(tensor));
  View slow = area;
  slow.rings = {{offsets_.at(tensor), slow.height * slow.width}};
  slow.memory = kSlowMemory;
  Call call;
  call.driver = "neap_drive_transfer";
  call.params = Hooks();
  call.comment = std::string(loads ? "from" : "to") +
                 " slow memory: " + graph::Describe(tensor, lowering_.Tensor(tensor));
  call.views = {std::move(loads ? area : slow), std::move(loads ? slow : area)};
  calls->push_back(std::move(call));
  return {};
}

namespace {

bool IsCopy(const Call& call) { return call.driver == "neap_drive_transfer"; }
bool IsLoad(const Call& call) { return call.views[0].memory != kSlowMemory; }

// One pixel in each step that has something in `ranges`.
void Mark(const std::vector<StreamRange>& ranges, std::vector<StreamRange>* marks) {
  // The whole of an operator without steps.
  if (ranges.empty()) (*marks)[0] = {0, 1};
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (!ranges[i].empty()) (*marks)[i] = {0, 1};
  }
}

// A wait for copies of which `call` is one, in the steps that have one of them.
Call WaitFor(const Call& call, std::vector<StreamRange> rows, std::vector<StreamRange> columns) {
  Call wait;
  wait.driver = "neap_drive_wait";
  wait.params = call.params;
  wait.views = {call.views[0]};
  wait.rows = std::move(rows);
  wait.columns = std::move(columns);
  wait.used = call.used;
  wait.comment = "wait for copies";
  return wait;
}

}  // namespace

void AddWaits(Segment* segment) {
  std::vector<Call> calls;
  std::vector<StreamRange> rows(segment->row_steps);
  std::vector<StreamRange> columns(segment->column_steps);
  std::vector<StreamRange> late_rows(segment->row_steps);
  std::vector<StreamRange> late_columns(segment->column_steps);
  std::optional<std::size_t> late;  // a copy that was begun ahead
  for (std::size_t i = 0; i < segment->calls.size(); ++i) {
    calls.push_back(std::move(segment->calls[i]));
    const Call& call = calls.back();
    if (!IsCopy(call)) continue;
    if (call.ahead) {
      Mark(call.rows, &late_rows);
      Mark(call.columns, &late_columns);
      late = calls.size() - 1;
      continue;
    }
    Mark(call.rows, &rows);
    Mark(call.columns, &columns);
    const bool more = i + 1 < segment->calls.size() && IsCopy(segment->calls[i + 1]) &&
                      IsLoad(segment->calls[i + 1]) == IsLoad(call);
    if (more) continue;
    calls.push_back(WaitFor(call, std::move(rows), std::move(columns)));
    rows.assign(segment->row_steps, {});
    columns.assign(segment->column_steps, {});
  }
  if (late) calls.push_back(WaitFor(calls[*late], std::move(late_rows), std::move(late_columns)));
  segment->calls = std::move(calls);
}

}  // namespace neap::emit
