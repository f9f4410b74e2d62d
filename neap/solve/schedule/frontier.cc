// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/schedule/frontier.h"

#include <algorithm>

namespace neap::schedule {

Frontier::Frontier(const FlatProblem& flat, bool reversed)
    : flat_(flat),
      reversed_(reversed),
      missing_(At(flat.num_ops()), 0),
      adds_(At(flat.num_ops()), 0),
      frees_(At(flat.num_ops()), 0) {
  for (OpIndex op = 0; op < flat.num_ops(); ++op) {
    for (const OpIndex next : After(op)) ++missing_[At(next)];
  }
  for (const Buffer& buffer : flat.problem().buffers) {
    remaining_.push_back(static_cast<std::int32_t>(buffer.users.size()));
    if (AtStart(buffer)) {
      if (!buffer.users.empty() || AtEnd(buffer)) live_ += buffer.bytes;
    } else {
      for (const OpIndex user : buffer.users) adds_[At(user)] += buffer.bytes;
    }
    if (!AtEnd(buffer) && buffer.users.size() == 1) {
      frees_[At(buffer.users.front())] += buffer.bytes;
    }
  }
}

// What the outputs of `op` take over from its inputs. Seen from the end, an input is freed by `op`
// where no user of it has run, and an output begins with `op` where it is the only one left.
std::int64_t Frontier::Shared(OpIndex op) const {
  const auto untouched = [&](BufferIndex index) {
    return remaining_[At(index)] == static_cast<std::int32_t>(flat_.BufferAt(index).users.size());
  };
  const auto alone = [&](BufferIndex index) { return remaining_[At(index)] == 1; };
  if (const InPlace* pair = flat_.InPlaceOf(op)) {
    const BufferIndex early = reversed_ ? pair->output : pair->input;
    const BufferIndex late = reversed_ ? pair->input : pair->output;
    return alone(early) && untouched(late) ? flat_.BufferAt(pair->output).bytes : 0;
  }
  const TakeOver* part = flat_.TakeOverOf(op);
  if (part == nullptr) return 0;
  std::int64_t freed = 0;
  std::int64_t written = 0;
  for (const BufferIndex index : part->inputs) {
    if (reversed_ ? untouched(index) : alone(index)) freed += flat_.BufferAt(index).bytes;
  }
  for (const BufferIndex index : part->outputs) written += flat_.BufferAt(index).bytes;
  return std::min(freed, written);
}

std::int64_t Frontier::Need(OpIndex op) const {
  const std::int64_t need = adds_[At(op)] + flat_.Scratch(op);
  return flat_.Shares(op) ? need - Shared(op) : need;
}

// The first user of a buffer runs: to the others it is no longer new.
void Frontier::Begin(BufferIndex index, OpIndex op, std::vector<OpIndex>* changed) {
  const Buffer& buffer = flat_.BufferAt(index);
  for (const OpIndex user : buffer.users) {
    if (user == op) continue;
    adds_[At(user)] -= buffer.bytes;
    if (IsReady(user)) changed->push_back(user);
  }
}

void Frontier::CreditLastUser(BufferIndex index, std::vector<OpIndex>* changed) {
  const Buffer& buffer = flat_.BufferAt(index);
  for (const OpIndex user : buffer.users) {
    if (HasRun(user)) continue;
    frees_[At(user)] += buffer.bytes;
    if (IsReady(user)) changed->push_back(user);
    return;
  }
}

void Frontier::Run(OpIndex op, std::vector<OpIndex>* changed) {
  live_ += Change(op);
  missing_[At(op)] = -1;
  for (const BufferIndex index : flat_.BuffersOf(op)) {
    const Buffer& buffer = flat_.BufferAt(index);
    const auto users = static_cast<std::int32_t>(buffer.users.size());
    if (!AtStart(buffer) && remaining_[At(index)] == users) Begin(index, op, changed);
    if (--remaining_[At(index)] == 1 && !AtEnd(buffer)) CreditLastUser(index, changed);
  }
  for (const OpIndex next : After(op)) {
    if (--missing_[At(next)] == 0) changed->push_back(next);
  }
}

}  // namespace neap::schedule
