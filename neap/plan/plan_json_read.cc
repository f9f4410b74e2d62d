// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "neap/plan/plan_json.h"
#include "neap/plan/stream_json.h"

namespace neap::plan {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kMaxInteger = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMaxIndex = std::numeric_limits<std::int32_t>::max();
// Nests deepest: plan, entries, entry, stream, segments, segment, ops, op, rows, range.
constexpr int kMaxDepth = 12;

// A value and the way to it, which only a message needs.
struct Place {
  const Json* value;
  const Place* parent = nullptr;
  const char* key = nullptr;  // in an object; nullptr: `index` in an array
  std::size_t index = 0;

  std::string Path() const {
    if (parent == nullptr) return "";
    const std::string outer = parent->Path();
    if (key == nullptr) return outer + "[" + std::to_string(index) + "]";
    return outer.empty() ? key : outer + "." + key;
  }
  Place Member(const char* name) const { return {&value->at(name), this, name, 0}; }
};

tl::unexpected<Diagnostic> Refuse(const Place& place, const std::string& expected) {
  constexpr std::size_t kMaxText = 60;
  std::string found = place.value->dump(-1, ' ', false, Json::error_handler_t::replace);
  found.resize(std::min(found.size(), kMaxText));
  if (place.value->is_structured()) found = place.value->type_name();
  const std::string path = place.Path();
  return Fail(BadInput("in the plan, " + (path.empty() ? "the whole" : path) + " is " + found +
                       ", expected " + expected));
}

// An object with exactly these members: a misspelt one must not be ignored.
Status ExpectObject(const Place& place, const std::vector<const char*>& keys) {
  if (!place.value->is_object()) return Refuse(place, "an object");
  for (const char* key : keys) {
    if (!place.value->contains(key)) return Refuse(place, "a member '" + std::string(key) + "'");
  }
  for (const auto& item : place.value->items()) {
    const std::string& key = item.key();
    if (std::none_of(keys.begin(), keys.end(), [&](const char* known) { return key == known; })) {
      return Refuse(place, "no member '" + key.substr(0, 60) + "'");
    }
  }
  return {};
}

Result<std::int64_t> ReadInteger(const Place& place, std::int64_t most) {
  const Json& value = *place.value;
  const bool fits =
      value.is_number_unsigned() && value.get<std::uint64_t>() <= static_cast<std::uint64_t>(most);
  if (!fits) return Refuse(place, "an integer from 0 to " + std::to_string(most));
  return value.get<std::int64_t>();
}

Result<std::int64_t> ReadCount(const Place& object, const char* key) {
  return ReadInteger(object.Member(key), kMaxInteger);
}

Result<std::int32_t> ReadIndex(const Place& object, const char* key) {
  NEAP_TRY(const std::int64_t value, ReadInteger(object.Member(key), kMaxIndex));
  return static_cast<std::int32_t>(value);
}

// null: no such thing.
Result<graph::OpId> ReadOp(const Place& object) {
  const Place place = object.Member("op");
  if (place.value->is_null()) return graph::OpId();
  NEAP_TRY(const std::int32_t value, ReadIndex(object, "op"));
  return graph::OpId(value);
}

Result<std::string> ReadString(const Place& place) {
  if (!place.value->is_string()) return Refuse(place, "a string");
  return place.value->get<std::string>();
}

Result<std::string> ReadHash(const Place& object, const char* key) {
  constexpr std::size_t kDigits = 64;
  const Place place = object.Member(key);
  NEAP_TRY(std::string hash, ReadString(place));
  const bool hex = hash.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (hash.empty() || (hash.size() == kDigits && hex)) return hash;
  return Refuse(place, "64 lower-case hexadecimal digits, or nothing");
}

Result<BoundStatus> ReadStatus(const Place& object, const char* key) {
  const Place place = object.Member(key);
  NEAP_TRY(const std::string word, ReadString(place));
  for (const BoundStatus status : {BoundStatus::kOptimal, BoundStatus::kBounded}) {
    if (word == NameOf(status)) return status;
  }
  return Refuse(place, "'optimal' or 'bounded'");
}

template <typename T>
Result<std::vector<T>> ReadList(const Place& object, const char* key,
                                Result<T> (*read)(const Place&)) {
  const Place list = object.Member(key);
  if (!list.value->is_array()) return Refuse(list, "an array");
  std::vector<T> items;
  items.reserve(list.value->size());
  for (std::size_t i = 0; i < list.value->size(); ++i) {
    NEAP_TRY(T item, read(Place{&(*list.value)[i], &list, nullptr, i}));
    items.push_back(std::move(item));
  }
  return items;
}

Result<Step> ReadStep(const Place& place) {
  const bool move = place.value->is_object() && place.value->contains("move");
  NEAP_CHECK_OK(ExpectObject(place, {"subgraph", move ? "move" : "op"}));
  Step step;
  NEAP_TRY(const std::int32_t subgraph, ReadIndex(place, "subgraph"));
  step.subgraph = graph::SubgraphId(subgraph);
  if (move) {
    NEAP_TRY(const std::int32_t tensor, ReadIndex(place, "move"));
    step.moved = graph::TensorId(tensor);
    return step;
  }
  NEAP_TRY(step.op, ReadOp(place));
  return step;
}

Result<TensorPlacement> ReadTensor(const Place& place) {
  NEAP_CHECK_OK(
      ExpectObject(place, {"subgraph", "tensor", "offset", "bytes", "first", "last", "memory"}));
  TensorPlacement placement;
  NEAP_TRY(const std::int32_t subgraph, ReadIndex(place, "subgraph"));
  NEAP_TRY(const std::int32_t tensor, ReadIndex(place, "tensor"));
  placement.subgraph = graph::SubgraphId(subgraph);
  placement.tensor = graph::TensorId(tensor);
  NEAP_TRY(placement.offset, ReadCount(place, "offset"));
  NEAP_TRY(placement.bytes, ReadCount(place, "bytes"));
  NEAP_TRY(placement.first, ReadIndex(place, "first"));
  NEAP_TRY(placement.last, ReadIndex(place, "last"));
  NEAP_TRY(placement.memory, ReadIndex(place, "memory"));
  return placement;
}

Result<ScratchPlacement> ReadScratch(const Place& place) {
  NEAP_CHECK_OK(ExpectObject(place, {"slot", "offset", "bytes", "memory"}));
  ScratchPlacement placement;
  NEAP_TRY(placement.slot, ReadIndex(place, "slot"));
  NEAP_TRY(placement.offset, ReadCount(place, "offset"));
  NEAP_TRY(placement.bytes, ReadCount(place, "bytes"));
  NEAP_TRY(placement.memory, ReadIndex(place, "memory"));
  return placement;
}

Result<Overlap> ReadOverlap(const Place& place) {
  NEAP_CHECK_OK(ExpectObject(place, {"slot", "subgraph", "input", "output", "kind", "bytes"}));
  Overlap overlap;
  NEAP_TRY(overlap.slot, ReadIndex(place, "slot"));
  NEAP_TRY(const std::int32_t subgraph, ReadIndex(place, "subgraph"));
  NEAP_TRY(const std::int32_t input, ReadIndex(place, "input"));
  NEAP_TRY(const std::int32_t output, ReadIndex(place, "output"));
  overlap.subgraph = graph::SubgraphId(subgraph);
  overlap.input = graph::TensorId(input);
  overlap.output = graph::TensorId(output);
  const Place kind = place.Member("kind");
  NEAP_TRY(const std::string word, ReadString(kind));
  bool known = false;
  for (const OverlapKind candidate :
       {OverlapKind::kInPlace, OverlapKind::kStartsBelow, OverlapKind::kHoldsInput,
        OverlapKind::kHoldsOutput, OverlapKind::kDeadPart, OverlapKind::kCopiedIn}) {
    if (word != NameOf(candidate)) continue;
    overlap.kind = candidate;
    known = true;
  }
  if (!known) {
    return Refuse(kind,
                  "'in-place', 'starts-below', 'holds-input', 'holds-output', 'dead-part' or "
                  "'copied-in'");
  }
  NEAP_TRY(overlap.bytes, ReadCount(place, "bytes"));
  return overlap;
}

template <typename Id>
Result<Id> ReadId(const Place& place) {
  NEAP_TRY(const std::int64_t value, ReadInteger(place, kMaxIndex));
  return Id(static_cast<std::int32_t>(value));
}

Result<std::vector<graph::OpId>> ReadLink(const Place& place) {
  if (!place.value->is_array()) return Refuse(place, "an array");
  std::vector<graph::OpId> ops;
  for (std::size_t i = 0; i < place.value->size(); ++i) {
    NEAP_TRY(const graph::OpId op, ReadId<graph::OpId>({&(*place.value)[i], &place, nullptr, i}));
    ops.push_back(op);
  }
  return ops;
}

Result<CertificatePath> ReadPath(const Place& place) {
  NEAP_CHECK_OK(ExpectObject(place, {"bytes", "tensors", "through"}));
  CertificatePath path;
  NEAP_TRY(path.bytes, ReadCount(place, "bytes"));
  NEAP_TRY(path.tensors, ReadList(place, "tensors", &ReadId<graph::TensorId>));
  NEAP_TRY(path.through, ReadList(place, "through", &ReadLink));
  return path;
}

Result<Certificate> ReadCertificate(const Place& place) {
  NEAP_CHECK_OK(ExpectObject(place, {"kind", "op", "flow", "states", "reversed"}));
  Certificate certificate;
  NEAP_TRY(const std::string kind, ReadString(place.Member("kind")));
  constexpr std::array kKinds = {CertificateKind::kNone, CertificateKind::kSingleOperator,
                                 CertificateKind::kCut, CertificateKind::kSearch};
  const auto named = std::find_if(kKinds.begin(), kKinds.end(),
                                  [&](CertificateKind known) { return NameOf(known) == kind; });
  if (named == kKinds.end()) {
    return Refuse(place.Member("kind"), "'none', 'single-operator', 'cut' or 'search'");
  }
  certificate.kind = *named;
  NEAP_TRY(certificate.op, ReadOp(place));
  NEAP_TRY(certificate.flow, ReadList(place, "flow", &ReadPath));
  NEAP_TRY(certificate.states, ReadCount(place, "states"));
  const Place reversed = place.Member("reversed");
  if (!reversed.value->is_boolean()) return Refuse(reversed, "true or false");
  certificate.reversed = reversed.value->get<bool>();
  return certificate;
}

Result<std::int64_t> ReadBareCount(const Place& place) { return ReadInteger(place, kMaxInteger); }

Result<Memory> ReadMemory(const Place& place) {
  NEAP_CHECK_OK(ExpectObject(place, {"name", "capacity_bytes", "bytes_per_kilocycle"}));
  Memory memory;
  NEAP_TRY(memory.name, ReadString(place.Member("name")));
  NEAP_TRY(memory.capacity_bytes, ReadCount(place, "capacity_bytes"));
  NEAP_TRY(memory.bytes_per_kilocycle, ReadCount(place, "bytes_per_kilocycle"));
  return memory;
}

Result<Rewrite> ReadRewrite(const Place& place) {
  NEAP_CHECK_OK(ExpectObject(place, {"rule", "op", "parameters", "exactness", "bytes_saved"}));
  Rewrite rewrite;
  NEAP_TRY(rewrite.rule, ReadString(place.Member("rule")));
  NEAP_TRY(const std::int32_t op, ReadIndex(place, "op"));
  rewrite.op = graph::OpId(op);
  NEAP_TRY(rewrite.parameters, ReadList(place, "parameters", &ReadBareCount));
  NEAP_TRY(const std::string exactness, ReadString(place.Member("exactness")));
  if (exactness != NameOf(Exactness::kBitwise) && exactness != NameOf(Exactness::kReassociates)) {
    return Refuse(place.Member("exactness"), "'bitwise' or 'reassociates'");
  }
  rewrite.exactness =
      exactness == NameOf(Exactness::kBitwise) ? Exactness::kBitwise : Exactness::kReassociates;
  NEAP_TRY(rewrite.bytes_saved, ReadCount(place, "bytes_saved"));
  return rewrite;
}

Result<EntryPlan> ReadEntry(const Place& place) {
  std::vector<const char*> keys = {"subgraph",
                                   "signature",
                                   "peak_bytes",
                                   "peak_lower_bound_bytes",
                                   "order_status",
                                   "certificate",
                                   "states",
                                   "arena_bytes",
                                   "memory_bytes",
                                   "arena_given_order_lower_bound_bytes",
                                   "arena_lower_bound_bytes",
                                   "arena_status",
                                   "steps",
                                   "tensors",
                                   "scratch",
                                   "overlaps"};
  // These may be left out.
  constexpr const char* kArenaCertificate = "arena_certificate";
  const bool certified = place.value->is_object() && place.value->contains(kArenaCertificate);
  const bool streamed = place.value->is_object() && place.value->contains("stream");
  if (streamed) keys.push_back("stream");
  if (certified) keys.push_back(kArenaCertificate);
  NEAP_CHECK_OK(ExpectObject(place, keys));
  EntryPlan entry;
  if (streamed) {
    NEAP_TRY(entry.stream, ReadStream(*place.Member("stream").value));
  }
  NEAP_TRY(const std::int32_t subgraph, ReadIndex(place, "subgraph"));
  entry.subgraph = graph::SubgraphId(subgraph);
  NEAP_TRY(entry.signature, ReadString(place.Member("signature")));
  NEAP_TRY(entry.peak_bytes, ReadCount(place, "peak_bytes"));
  NEAP_TRY(entry.peak_lower_bound_bytes, ReadCount(place, "peak_lower_bound_bytes"));
  NEAP_TRY(entry.order_status, ReadStatus(place, "order_status"));
  NEAP_TRY(entry.certificate, ReadCertificate(place.Member("certificate")));
  NEAP_TRY(entry.states, ReadCount(place, "states"));
  NEAP_TRY(entry.arena_bytes, ReadCount(place, "arena_bytes"));
  NEAP_TRY(entry.memory_bytes, ReadList(place, "memory_bytes", &ReadBareCount));
  NEAP_TRY(entry.arena_given_order_lower_bound_bytes,
           ReadCount(place, "arena_given_order_lower_bound_bytes"));
  NEAP_TRY(entry.arena_lower_bound_bytes, ReadCount(place, "arena_lower_bound_bytes"));
  NEAP_TRY(entry.arena_status, ReadStatus(place, "arena_status"));
  if (certified) {
    NEAP_TRY(entry.arena_certificate, ReadCertificate(place.Member(kArenaCertificate)));
  }
  NEAP_TRY(entry.steps, ReadList(place, "steps", &ReadStep));
  NEAP_TRY(entry.tensors, ReadList(place, "tensors", &ReadTensor));
  NEAP_TRY(entry.scratch, ReadList(place, "scratch", &ReadScratch));
  NEAP_TRY(entry.overlaps, ReadList(place, "overlaps", &ReadOverlap));
  return entry;
}

Status ExpectVersion(const Place& root) {
  if (!root.value->is_object()) return Refuse(root, "an object");
  if (!root.value->contains("version")) return Refuse(root, "a member 'version'");
  NEAP_TRY(const std::int64_t version, ReadCount(root, "version"));
  if (version == kPlanVersion) return {};
  Diagnostic other = BadInput("is a plan of version " + std::to_string(version) +
                              ", expected version " + std::to_string(kPlanVersion));
  other.hint = "plan the model again with this version of neap";
  return Fail(std::move(other));
}

Result<TiledRegion::Split> ReadSplit(const Place& place) {
  NEAP_CHECK_OK(ExpectObject(place, {"axis", "cuts"}));
  TiledRegion::Split split;
  NEAP_TRY(split.axis, ReadIndex(place, "axis"));
  NEAP_TRY(split.cuts, ReadList(place, "cuts", &ReadBareCount));
  return split;
}

Result<TiledRegion> ReadRegion(const Place& place) {
  NEAP_CHECK_OK(ExpectObject(place, {"operators", "splits"}));
  TiledRegion region;
  NEAP_TRY(region.ops, ReadList(place, "operators", &ReadId<graph::OpId>));
  NEAP_TRY(region.splits, ReadList(place, "splits", &ReadSplit));
  return region;
}

Status ReadCascade(const Place& place, Plan* plan) {
  if (place.value->is_null()) return {};
  std::vector<const char*> members = {"order", "regions"};
  // Left out where tiles are clones.
  plan->tiles_share_bodies = place.value->is_object() && place.value->contains("bodies");
  if (plan->tiles_share_bodies) members.push_back("bodies");
  NEAP_CHECK_OK(ExpectObject(place, members));
  if (plan->tiles_share_bodies && *place.Member("bodies").value != "shared") {
    return Refuse(place.Member("bodies"), "'shared'");
  }
  NEAP_TRY(plan->tiled_order, ReadList(place, "order", &ReadId<graph::OpId>));
  NEAP_TRY(plan->tiled_regions, ReadList(place, "regions", &ReadRegion));
  if (plan->tiled_regions.empty()) return Refuse(place.Member("regions"), "at least one region");
  return {};
}

Result<Plan> ReadPlan(const Json& json) {
  const Place root{&json};
  // Before the members: those of another version may be others.
  NEAP_CHECK_OK(ExpectVersion(root));
  constexpr const char* kCallerOps = "caller_ops";
  constexpr const char* kTarget = "target";
  std::vector<const char*> members = {
      "version",           "neap_version",     "model",          "model_sha256",
      "written_sha256",    "runtime",          "order_strategy", "kernels",
      "memories",          "cascade",          "dims",           "rewrites",
      "accumulator_bytes", "rewritten_sha256", "entries"};
  constexpr const char* kRepeatedOrder = "repeated_order";
  const bool repeats = json.contains(kRepeatedOrder);
  if (repeats) members.push_back(kRepeatedOrder);
  const bool moved = json.contains(kCallerOps);
  if (moved) members.push_back(kCallerOps);
  const bool has_target = json.contains(kTarget);
  if (has_target) members.push_back(kTarget);
  NEAP_CHECK_OK(ExpectObject(root, members));
  Plan plan;
  if (moved) {
    NEAP_TRY(plan.caller_ops, ReadList(root, kCallerOps, &ReadId<graph::OpId>));
    if (plan.caller_ops.empty()) return Refuse(root.Member(kCallerOps), "at least one operator");
  }
  NEAP_TRY(plan.neap_version, ReadString(root.Member("neap_version")));
  NEAP_TRY(plan.model, ReadString(root.Member("model")));
  NEAP_TRY(plan.model_sha256, ReadHash(root, "model_sha256"));
  NEAP_TRY(plan.written_sha256, ReadHash(root, "written_sha256"));
  NEAP_TRY(const std::string runtime, ReadString(root.Member("runtime")));
  const auto known = RuntimeNamed(runtime);
  if (!known) return Refuse(root.Member("runtime"), "a runtime profile");
  plan.runtime = *known;
  if (has_target) {
    NEAP_TRY(const std::string target, ReadString(root.Member(kTarget)));
    plan.target = target::TargetNamed(target);
    if (plan.target == nullptr) return Refuse(root.Member(kTarget), "a target");
  }
  NEAP_TRY(plan.order_strategy, ReadString(root.Member("order_strategy")));
  NEAP_TRY(const std::string kernels, ReadString(root.Member("kernels")));
  const auto library = ops::KernelLibraryNamed(kernels);
  if (!library && kernels != ops::NameOf(ops::KernelLibrary::kNone)) {
    return Refuse(root.Member("kernels"), "'none' or a kernel library");
  }
  plan.kernels = library.value_or(ops::KernelLibrary::kNone);
  NEAP_TRY(plan.memories, ReadList(root, "memories", &ReadMemory));
  if (plan.memories.size() > kMaxMemories) {
    return Refuse(root.Member("memories"), "at most " + std::to_string(kMaxMemories));
  }
  NEAP_CHECK_OK(ReadCascade(root.Member("cascade"), &plan));
  NEAP_TRY(plan.dims, ReadList(root, "dims", &ReadString));
  NEAP_TRY(plan.rewrites, ReadList(root, "rewrites", &ReadRewrite));
  NEAP_TRY(plan.accumulator_bytes, ReadCount(root, "accumulator_bytes"));
  NEAP_TRY(plan.rewritten_sha256, ReadHash(root, "rewritten_sha256"));
  if (repeats) {
    NEAP_TRY(plan.repeated_order, ReadList(root, kRepeatedOrder, &ReadId<graph::OpId>));
    if (plan.repeated_order.empty()) {
      return Refuse(root.Member(kRepeatedOrder), "at least one operator");
    }
  }
  NEAP_TRY(plan.entries, ReadList(root, "entries", &ReadEntry));
  if (plan.entries.empty()) return Refuse(root.Member("entries"), "at least one entry");
  return plan;
}

// Finds errors that the parser's result no longer shows: duplicate members (the later one would
// win) and nesting that no plan has.
class Watch {
 public:
  bool operator()(int depth, Json::parse_event_t event, const Json& parsed) {
    switch (event) {
      case Json::parse_event_t::object_start:
        keys_.emplace_back();
        break;
      case Json::parse_event_t::object_end:
        if (!keys_.empty()) keys_.pop_back();
        break;
      case Json::parse_event_t::key:
        if (!keys_.back().insert(parsed.get<std::string>()).second && !problem_) {
          problem_ = "gives member '" + parsed.get<std::string>().substr(0, 60) + "' twice";
        }
        break;
      default:
        break;
    }
    if (depth > kMaxDepth && !problem_) problem_ = "nests deeper than any plan";
    return !problem_;  // false: what follows is parsed but not kept
  }
  const std::optional<std::string>& Problem() const { return problem_; }

 private:
  std::vector<std::set<std::string>> keys_;  // of the objects that are open
  std::optional<std::string> problem_;
};

}  // namespace

Result<Plan> FromJson(std::string_view text) {
  try {
    Watch watch;
    const Json json = Json::parse(text.begin(), text.end(), std::ref(watch));
    if (watch.Problem()) return Fail(BadInput("the plan " + *watch.Problem()));
    return ReadPlan(json);
  } catch (const Json::parse_error& error) {
    return Fail(
        BadInput("the plan is not JSON: found an error at byte " + std::to_string(error.byte)));
  } catch (const std::exception& error) {
    return Fail(BadInput(std::string("the plan cannot be read: ") + error.what()));
  }
}

}  // namespace neap::plan
