// SPDX-License-Identifier: Apache-2.0
#include "neap/emit/emit.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "neap/base/bytes.h"
#include "neap/emit/floats.h"
#include "neap/emit/lowering.h"
#include "neap/emit/quantization.h"
#include "neap/emit/runtime_files.h"
#include "neap/emit/scratch.h"
#include "neap/emit/segments.h"
#include "neap/emit/stack.h"
#include "neap/emit/taps.h"
#include "neap/emit/transfers.h"
#include "neap/emit/variables.h"
#include "neap/emit/write.h"
#include "neap/execute/inline_calls.h"
#include "neap/io/file.h"
#include "neap/ops/neap_rt.h"
#include "neap/plan/plan_json.h"

namespace neap::emit {

using graph::Subgraph;
using graph::Tensor;
using graph::TensorId;

std::string PrefixOf(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  const std::string file = slash == std::string::npos ? path : path.substr(slash + 1);
  std::string prefix;
  for (const char c : file.substr(0, file.find('.'))) {
    const auto byte = static_cast<unsigned char>(c);
    prefix += std::isalnum(byte) != 0 ? static_cast<char>(std::tolower(byte)) : '_';
  }
  return IsPrefix(prefix) ? prefix : "model_" + prefix;
}

bool IsPrefix(const std::string& prefix) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  };
  constexpr std::size_t kMaxLength = 64;
  return !prefix.empty() && prefix.size() <= kMaxLength && prefix[0] >= 'a' && prefix[0] <= 'z' &&
         std::all_of(prefix.begin(), prefix.end(), allowed) && prefix != "neap" &&
         !prefix.starts_with("neap_");
}

std::string_view NameOf(KernelSet kernels) {
  switch (kernels) {
    case KernelSet::kDsp:
      return "dsp";
    case KernelSet::kMve:
      return "mve";
    case KernelSet::kCmsisNn:
      return "cmsis-nn";
    default:
      return "portable";
  }
}

std::optional<KernelSet> KernelSetNamed(std::string_view name) {
  for (const KernelSet kernels :
       {KernelSet::kPortable, KernelSet::kDsp, KernelSet::kMve, KernelSet::kCmsisNn}) {
    if (NameOf(kernels) == name) return kernels;
  }
  return std::nullopt;
}

ops::KernelLibrary LibraryOf(KernelSet kernels, std::optional<target::Simd> simd) {
  using ops::KernelLibrary;
  if (kernels != KernelSet::kCmsisNn) return ops::kNeapRt;
  if (!simd) return ops::kNeapRt | KernelLibrary::kCmsisNn;
  return ops::kNeapRt | (*simd == target::Simd::kMve   ? KernelLibrary::kCmsisNnMve
                         : *simd == target::Simd::kDsp ? KernelLibrary::kCmsisNnDsp
                                                       : KernelLibrary::kCmsisNnScalar);
}

namespace {

// Where an input is at the start, or an output at the end.
struct Found {
  std::int64_t offset = 0;
  std::int32_t memory = 0;
};

std::optional<Found> FindWhole(const plan::EntryPlan& entry, TensorId tensor, bool at_end) {
  const plan::TensorPlacement* found = nullptr;
  for (const plan::TensorPlacement& placed : entry.tensors) {
    if (placed.subgraph != entry.subgraph || placed.tensor != tensor) continue;
    const bool better =
        found == nullptr || (at_end ? placed.last > found->last : placed.first < found->first);
    if (better) found = &placed;
  }
  if (found == nullptr) return std::nullopt;
  return Found{found->offset, found->memory};
}

std::optional<Found> FindStreamed(const plan::EntryPlan& entry, const Subgraph& subgraph,
                                  TensorId tensor, bool at_end) {
  if (entry.stream->slow) {
    for (const plan::SlowPlace& place : entry.stream->slow->tensors) {
      if (place.tensor == tensor) return Found{place.offset, kSlowMemory};
    }
    return std::nullopt;
  }
  const auto& segments = entry.stream->segments;
  if (segments.empty()) return std::nullopt;
  const plan::StreamImage image = plan::ImageOf(subgraph.tensors[tensor]);
  for (const plan::StreamArea& area : (at_end ? segments.back() : segments.front()).areas) {
    const bool whole = area.tensor == tensor && area.rings.size() == 1 &&
                       area.rings[0].pixels == image.height * image.width;
    if (whole) return Found{area.rings[0].offset, 0};
  }
  return std::nullopt;
}

// "12 of 20 operators cannot be emitted as C: Conv (5), Add (2), ...; the first is #0 'Conv' ...".
std::string RefusalText(const Refusals& refusals, std::size_t num_operators) {
  constexpr std::size_t kMaxTypes = 6;
  std::map<std::string, std::int64_t> counts;
  std::set<graph::OpId> ops;
  for (const Refusal& refusal : refusals) {
    if (refusal.op.valid() && ops.insert(refusal.op).second) ++counts[refusal.type];
  }
  if (ops.empty()) return "cannot be emitted as C: " + refusals.front().reason;
  std::vector<std::pair<std::string, std::int64_t>> types(counts.begin(), counts.end());
  std::stable_sort(types.begin(), types.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text = FormatCount(static_cast<std::int64_t>(ops.size())) + " of " +
                     FormatCount(static_cast<std::int64_t>(num_operators)) +
                     " operators cannot be emitted as C: ";
  for (std::size_t i = 0; i < types.size() && i < kMaxTypes; ++i) {
    text += (i == 0 ? "" : ", ") + types[i].first + " (" + FormatCount(types[i].second) + ")";
  }
  if (types.size() > kMaxTypes) {
    text += " and " + std::to_string(types.size() - kMaxTypes) + " more types";
  }
  return text + "; the first is " + refusals.front().reason;
}

void RefuseTensor(const Subgraph& subgraph, TensorId tensor, const std::string& what,
                  Refusals* refusals) {
  refusals->push_back(
      {{}, "", "tensor " + graph::Describe(tensor, subgraph.tensors[tensor]) + " " + what});
}

}  // namespace

Port PortOf(const Subgraph& subgraph, TensorId id, Refusals* refusals) {
  const Tensor& tensor = subgraph.tensors[id];
  Port port;
  port.name = tensor.name;
  port.type = IsUint8(tensor) ? "uint8_t" : "int8_t";
  port.bytes = graph::TensorBytes(tensor).value_or(0);
  if (tensor.shape) port.shape = *tensor.shape;
  if (tensor.type == graph::ElementType::kFloat32) {
    port.type = "float";
    return port;
  }
  const auto quant = QuantOf(tensor);
  if (!quant) {
    RefuseTensor(subgraph, id,
                 "is an input or output that is neither of 8 bits with one scale nor of float32",
                 refusals);
  } else {
    port.scale = quant->scale;
    port.zero_point = quant->zero;
  }
  return port;
}

Status RefusedStatus(Refusals* refusals, std::size_t num_operators) {
  if (refusals->empty()) return {};
  // Operators by index, then tensors. A streamed operator may be refused once for each segment.
  const auto rank = [](const Refusal& refusal) {
    return refusal.op.valid() ? refusal.op.value() : std::numeric_limits<std::int32_t>::max();
  };
  std::stable_sort(refusals->begin(), refusals->end(),
                   [&](const Refusal& a, const Refusal& b) { return rank(a) < rank(b); });
  const auto is_same = [](const Refusal& a, const Refusal& b) { return a.reason == b.reason; };
  refusals->erase(std::unique(refusals->begin(), refusals->end(), is_same), refusals->end());
  return Fail(BadInput(RefusalText(*refusals, num_operators)));
}

std::vector<File> FilesOf(const std::string& header, const std::string& source,
                          const std::set<std::string>& functions, const Program& program,
                          const Options& options) {
  const std::set<std::string> runtime = RuntimeFilesOf(functions);
  const std::string& p = options.prefix;
  std::vector<File> files = {{p + ".h", header}};
  if (options.single_file) {
    files.push_back({p + ".c", SingleFile(source, runtime, p, options.small)});
  } else {
    files.push_back({p + ".c", source});
    for (const std::string& name : runtime) {
      files.push_back({"neap_rt/" + name, name == "neap_rt.h" ? MainHeader(options.small)
                                                              : std::string(TextOf(name))});
    }
  }
  if (options.binary_weights) files.push_back({p + "_weights.bin", WeightsOf(program)});
  return files;
}

std::set<std::string> FunctionsOf(const Program& program) {
  std::set<std::string> functions;
  for (const Segment& segment : program.segments) {
    for (const Call& call : segment.calls) {
      functions.insert(call.driver);
      if (!call.kernel.empty()) functions.insert(call.kernel);
      if (call.weights) functions.insert("neap_drive_slow_weights");
    }
  }
  return functions;
}

namespace {

class Emitter {
 public:
  Emitter(const graph::Graph& graph, const plan::Plan& plan, const Options& options,
          const Lowering::PixelLimits& limits)
      : plan_(plan),
        entry_(plan.entries[0]),
        subgraph_(graph.subgraphs[entry_.subgraph]),
        options_(options),
        lowering_(subgraph_, options.prefix, options.kernels,
                  {options.simd, LibraryOf(options.kernels, options.simd)}) {
    lowering_.SetPixelLimits(limits);
    lowering_.SetSmall(options.small);
  }

  // Fewer pixels together, or none, where scratch exceeds the budget. False: there is no such
  // scratch.
  bool Reduce(Lowering::PixelLimits* limits) const {
    if (!options_.budget_bytes) return false;
    bool reduced = false;
    for (const Segment& segment : program_.segments) {
      for (const Call& call : segment.calls) {
        const std::int64_t end = call.scratch + ScratchBytesOf(call) + kStateBytes;
        if (call.pixel_scratch == 0 || !call.op.valid() || end <= *options_.budget_bytes) continue;
        (*limits)[call.op] = IsPacked(call) ? PixelsOf(call) - 1 : 0;
        reduced = true;
      }
    }
    return reduced;
  }

  // Of an Emit() that failed.
  Refusals TakeRefusals() { return std::move(refusals_); }

  Result<Emitted> Emit() {
    NEAP_CHECK_OK(Require(!entry_.stream || options_.kernels != KernelSet::kCmsisNn,
                          "cannot be emitted for CMSIS-NN, which computes whole layers: a streamed "
                          "plan"));
    NEAP_TRY(program_.segments, entry_.stream ? StreamedSegments(entry_, &lowering_, &refusals_)
                                              : WholeSegments(entry_, &lowering_, &refusals_));
    AddPorts();
    program_.variables = VariablesOf(entry_, subgraph_, &refusals_);
    NEAP_CHECK_OK(RefusedStatus(&refusals_, subgraph_.ops.size()));
    program_.constants = lowering_.TakeConstants();
    program_.memory_bytes = plan_.memories.empty() ? std::vector<std::int64_t>{entry_.arena_bytes}
                                                   : entry_.memory_bytes;
    if (entry_.stream && entry_.stream->slow) {
      const plan::SlowMemory& slow = *entry_.stream->slow;
      program_.memory_bytes = {entry_.arena_bytes, slow.bytes};
      program_.slow = SlowTraffic{slow.read_bytes, slow.written_bytes, slow.weight_bytes};
    }
    program_.little_flash = options_.small;
    NEAP_CHECK_OK(PlaceExtra());
    if (options_.budget_bytes && extra_.arena_bytes > *options_.budget_bytes) {
      return Fail(OverBudget("over budget: arena required " + FormatBytes(extra_.arena_bytes) +
                             ", available " + FormatBytes(*options_.budget_bytes)));
    }
    NEAP_TRY(auto files, Write());
    return Emitted{std::move(files), extra_.arena_bytes, StackBytes(program_)};
  }

 private:
  void AddPorts() {
    for (std::size_t i = 0; i < subgraph_.inputs.size(); ++i) {
      const TensorId tensor = subgraph_.inputs[i];
      Port port = PortOf(subgraph_, tensor, &refusals_);
      const bool streamed = entry_.stream.has_value();
      if (streamed && entry_.stream->input == plan::StreamInput::kExternal) {
        port.memory = kExternal + static_cast<std::int32_t>(i);
      } else if (streamed && entry_.stream->input == plan::StreamInput::kRows) {
        port.rows = plan::ImageOf(subgraph_.tensors[tensor]).height;
        if (i > 0 && port.type != program_.inputs[0].type) {
          Refuse(tensor, "is fed by rows and has another type than the first input");
        }
      } else {
        Place(tensor, false, &port);
      }
      program_.inputs.push_back(std::move(port));
    }
    for (const TensorId tensor : subgraph_.outputs) {
      Port port = PortOf(subgraph_, tensor, &refusals_);
      Place(tensor, true, &port);
      program_.outputs.push_back(std::move(port));
    }
  }

  void Place(TensorId tensor, bool at_end, Port* port) {
    const auto found = entry_.stream ? FindStreamed(entry_, subgraph_, tensor, at_end)
                                     : FindWhole(entry_, tensor, at_end);
    if (!found) {
      return Refuse(tensor, at_end ? "is an output that is not one stretch of bytes at the end"
                                   : "is an input that is not one stretch of bytes at the start");
    }
    port->offset = found->offset;
    port->memory = found->memory;
    if (port->type != "float") return;
    if (port->memory == kSlowMemory || port->offset % kFloatBytes != 0) {
      Refuse(tensor, "is of floats in slow memory, or at an offset that 4 does not divide");
    }
  }

  void Refuse(TensorId tensor, const std::string& what) {
    RefuseTensor(subgraph_, tensor, what, &refusals_);
  }

  // Scratch in gaps between the tensors where it fits, then the state of steps.
  Status PlaceExtra() {
    extra_.state = PlaceScratch(&program_);
    extra_.arena_bytes = extra_.state + kStateBytes;
    const std::string overlap = FindScratchOverlap(program_, extra_.state);
    if (!overlap.empty()) return Fail(BadInput("cannot be emitted: " + overlap));
    return {};
  }

  Result<std::vector<File>> Write() const {
    Origin origin{plan_.neap_version, plan_.model, plan_.model_sha256, {}, {}};
    const std::string json = plan::ToJson(plan_);
    origin.plan_sha256 = io::Sha256(std::as_bytes(std::span(json)));
    for (const plan::Memory& memory : plan_.memories) origin.memories.push_back(memory.name);
    NEAP_TRY(const std::string source, SourceText(program_, origin, extra_, options_));
    return FilesOf(HeaderText(program_, origin, extra_, options_), source, FunctionsOf(program_),
                   program_, options_);
  }

  const plan::Plan& plan_;
  const plan::EntryPlan& entry_;
  const Subgraph& subgraph_;
  const Options& options_;
  Lowering lowering_;
  Program program_;
  Extra extra_;
  Refusals refusals_;
};

}  // namespace

Status InlineCalls(graph::Graph* graph, plan::Plan* plan) {
  const graph::SubgraphId main(0);
  if (!execute::HasKnownCalls(*graph, main)) return {};
  for (plan::EntryPlan& entry : plan->entries) {
    if (entry.subgraph != main || entry.stream) continue;
    NEAP_TRY(entry, execute::InlineCalls(*graph, entry));
  }
  *graph = execute::InlineCalls(*graph, main);
  return {};
}

Result<Emitted> Emit(const graph::Graph& graph, const plan::Plan& plan, const Options& options,
                     std::vector<Refusal>* refusals) {
  if (!IsPrefix(options.prefix)) {
    return Fail(UsageError("the prefix is not a C identifier of lower-case letters and digits"));
  }
  NEAP_CHECK_OK(Require(plan.entries.size() == 1 && graph.subgraphs.Has(plan.entries[0].subgraph),
                        "cannot be emitted: a model with several entry subgraphs"));
  NEAP_CHECK_OK(
      Require(plan.entries[0].arena_bytes > 0, "cannot be emitted: a plan without addresses"));
  Lowering::PixelLimits limits;
  for (;;) {
    Emitter emitter(graph, plan, options, limits);
    auto emitted = emitter.Emit();
    const bool over = !emitted && emitted.error().code == ErrorCode::kOverBudget;
    if (over && emitter.Reduce(&limits)) continue;
    if (refusals != nullptr) *refusals = emitter.TakeRefusals();
    return emitted;
  }
}

}  // namespace neap::emit
