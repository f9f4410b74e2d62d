// SPDX-License-Identifier: Apache-2.0
//
// An edited file is the old file with a new front. A FlatBuffer is built from its end, so the old
// file goes in first, byte for byte, and new parts are built before it: lists that refer to old
// parts in place and to new ones, the tables of the subgraphs that change, new operators, tensors,
// codes and buffers, and a root. Unreferenced parts remain as bytes, as in any edited FlatBuffer,
// unless they are a large part of the file: converters put constants in front of everything that
// refers to tensors and operators, so that the old file can be cut behind its constants. Those that
// are still used are copied to the new front.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "neap/base/bytes.h"
#include "neap/formats/tflite/control_dependencies.h"
#include "neap/formats/tflite/memory_plan.h"
#include "neap/formats/tflite/model_view.h"
#include "neap/formats/tflite/parts.h"
#include "neap/formats/tflite/splice.h"
#include "neap/formats/tflite/tflite.h"
#include "neap/formats/tflite/zip_shift.h"

namespace neap::formats::tflite {
namespace {

using flatbuffers::Offset;
using flatbuffers::voffset_t;
using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::SubgraphId;
using graph::TensorId;

template <typename T>
using Offsets = PartWriter::Offsets<T>;

// Whether `table` has only fields that this program knows.
bool IsKnown(const void* table, std::size_t fields) {
  const auto* as_table = static_cast<const flatbuffers::Table*>(table);
  const auto* vtable = as_table->GetVTable();
  const std::size_t slots = flatbuffers::ReadScalar<voffset_t>(vtable) / sizeof(voffset_t) - 2;
  for (std::size_t field = fields; field < slots; ++field) {
    const auto at = static_cast<voffset_t>((2 + field) * sizeof(voffset_t));
    if (as_table->GetOptionalFieldOffset(at) != 0) return false;
  }
  return true;
}

std::vector<PartWriter::CodeKey> CodesOf(const schema::Model& model) {
  std::vector<PartWriter::CodeKey> codes;
  for (std::uint32_t i = 0; i < SizeOf(model.operator_codes()); ++i) {
    const schema::OperatorCode* code = model.operator_codes()->Get(i);
    const std::int32_t number = std::max<std::int32_t>(
        code->deprecated_builtin_code(), static_cast<std::int32_t>(code->builtin_code()));
    codes.emplace_back(static_cast<schema::BuiltinOperator>(number), TextOf(code->custom_code()),
                       code->version());
  }
  return codes;
}

// Which tensors anything of a subgraph refers to.
IdVector<TensorId, char> Referred(const Subgraph& subgraph) {
  IdVector<TensorId, char> referred(subgraph.tensors.size(), 0);
  const auto mark = [&](const std::vector<TensorId>& list) {
    for (const TensorId id : list) {
      if (referred.Has(id)) referred[id] = 1;
    }
  };
  mark(subgraph.inputs);
  mark(subgraph.outputs);
  for (const Op& op : subgraph.ops) {
    mark(op.inputs);
    mark(op.outputs);
    const auto found = op.attributes.find("intermediates");
    if (found == op.attributes.end()) continue;
    const auto* list = std::get_if<std::vector<std::int64_t>>(&found->second);
    if (list == nullptr) continue;
    for (const std::int64_t number : *list) {
      const TensorId id(static_cast<std::int32_t>(number));
      if (referred.Has(id)) referred[id] = 1;
    }
  }
  return referred;
}

std::size_t PlaceOfTable(std::span<const std::byte> file, const void* table) {
  const auto* as_table = static_cast<const flatbuffers::Table*>(table);
  return std::min(PlaceOf(file, table), PlaceOf(file, as_table->GetVTable()));
}

// The start of the part of the file with all tables but those of buffers and those that are made
// again in an edited file.
std::size_t StructurePlace(std::span<const std::byte> file, const schema::Model& model) {
  std::size_t first = file.size();
  const auto add = [&](const auto* list) {
    for (std::uint32_t i = 0; i < SizeOf(list); ++i) {
      first = std::min(first, PlaceOfTable(file, list->Get(i)));
    }
  };
  add(model.operator_codes());
  add(model.subgraphs());
  for (std::uint32_t i = 0; i < SizeOf(model.subgraphs()); ++i) {
    add(model.subgraphs()->Get(i)->tensors());
    add(model.subgraphs()->Get(i)->operators());
  }
  return first;
}

// Positions that count from the start of the file.
bool HasFilePositions(std::span<const std::byte> file, const schema::Model& model) {
  for (std::uint32_t i = 0; i < SizeOf(model.buffers()); ++i) {
    if (model.buffers()->Get(i)->offset() > 1) return true;
  }
  for (std::uint32_t s = 0; s < SizeOf(model.subgraphs()); ++s) {
    const auto* operators = model.subgraphs()->Get(s)->operators();
    for (std::uint32_t i = 0; i < SizeOf(operators); ++i) {
      if (operators->Get(i)->large_custom_options_offset() > 1) return true;
    }
  }
  return model.external_buffers() != nullptr || model.external_buffer_groups() != nullptr ||
         !FindZipOffsets(file).empty();
}

// Buffers that tensors of the edited graph and metadata refer to.
std::vector<char> UsedBuffers(const SourceModel& source, const graph::Graph& edited,
                              const schema::Model& model) {
  std::vector<char> used(SizeOf(model.buffers()), 0);
  const auto use = [&](std::uint32_t index) {
    if (index < used.size()) used[index] = 1;
  };
  std::map<const std::byte*, std::uint32_t> index_of;
  for (std::uint32_t i = 0; i < used.size(); ++i) {
    const auto bytes = BufferData(*source.bytes, model, i);
    if (bytes && !bytes->empty()) index_of.emplace(bytes->data(), i);
  }
  for (const SubgraphId id : edited.subgraphs.Ids()) {
    const Subgraph& subgraph = edited.subgraphs[id];
    const bool old = id.index() < source.graph.subgraphs.size();
    const auto is = Referred(subgraph);
    const auto was = old ? Referred(source.graph.subgraphs[id]) : is;
    for (const TensorId t : subgraph.tensors.Ids()) {
      const bool in_file = old && t.index() < was.size();
      const bool left = is[t] == 0 && in_file && was[t] != 0 && !subgraph.tensors[t].variable;
      if (left) continue;
      if (in_file) {
        const auto* from = model.subgraphs()->Get(static_cast<std::uint32_t>(id.value()));
        use(from->tensors()->Get(static_cast<std::uint32_t>(t.value()))->buffer());
      }
      const auto& data = subgraph.tensors[t].data;
      const auto found = data ? index_of.find(data->bytes.data()) : index_of.end();
      if (found != index_of.end()) use(found->second);
    }
  }
  for (std::uint32_t i = 0; i < SizeOf(model.metadata()); ++i) {
    use(model.metadata()->Get(i)->buffer());
  }
  for (std::uint32_t i = 0; i < SizeOf(model.metadata_buffer()); ++i) {
    use(static_cast<std::uint32_t>(model.metadata_buffer()->Get(i)));
  }
  return used;
}

// The bytes at the start of the old file that an edited one does without: 0, or a multiple of
// kSpliceAlignment that saves at least a quarter of the file.
std::size_t UnusedFront(std::span<const std::byte> file, const schema::Model& model,
                        const std::vector<char>& used) {
  constexpr std::size_t kBytesOfTable = 64;
  constexpr std::size_t kLeastShare = 4;
  if (HasFilePositions(file, model)) return 0;
  const std::size_t cut = StructurePlace(file, model) / kSpliceAlignment * kSpliceAlignment;
  std::size_t copied = 0;
  for (std::uint32_t i = 0; i < used.size(); ++i) {
    copied += kBytesOfTable;
    if (used[i] != 0) copied += SizeOf(model.buffers()->Get(i)->data());
  }
  return copied + file.size() / kLeastShare <= cut ? cut : 0;
}

bool HasCompressed(const graph::Graph& graph) {
  return std::any_of(graph.subgraphs.begin(), graph.subgraphs.end(), [](const Subgraph& subgraph) {
    return std::any_of(subgraph.tensors.begin(), subgraph.tensors.end(),
                       [](const graph::Tensor& tensor) { return tensor.compressed; });
  });
}

class Editor {
 public:
  // `cut`: UnusedFront(), which is left out.
  Editor(const SourceModel& source, const graph::Graph& edited, const schema::Model& model,
         std::vector<char> used, std::size_t cut)
      : source_(source),
        edited_(edited),
        model_(model),
        file_(*source.bytes),
        used_(std::move(used)),
        cut_(cut),
        padded_bytes_(static_cast<std::size_t>(
            AlignUp(static_cast<std::int64_t>(file_.size() - cut), kSpliceAlignment))),
        parts_(&builder_, CodesOf(model), SizeOf(model.buffers())) {}

  Result<std::vector<std::byte>> Run() {
    NEAP_CHECK_OK(CheckFits());
    for (std::uint32_t i = 0; i < SizeOf(model_.buffers()); ++i) {
      if (const auto bytes = BufferData(file_, model_, i)) parts_.KnowBuffer(i, *bytes);
    }
    const auto old = file_.subspan(cut_);
    const std::size_t padding = padded_bytes_ - old.size();
    builder_.PushBytes(std::vector<std::uint8_t>(padding, 0).data(), padding);
    builder_.PushBytes(reinterpret_cast<const std::uint8_t*>(old.data()), old.size());
    builder_.Align(kSpliceAlignment);
    Offsets<schema::SubGraph> subgraphs;
    for (const SubgraphId id : edited_.subgraphs.Ids()) {
      NEAP_TRY(const auto subgraph, AddSubgraph(id));
      subgraphs.push_back(subgraph);
    }
    NEAP_TRY(const Offsets<schema::Metadata> metadata, AddMetadata());
    NEAP_TRY(const auto signatures, AddSignatures());
    const auto codes = WithOld(model_.operator_codes(), parts_.AddCodes());
    const auto buffers = AddBuffers();
    const auto description = OldText(model_.description());
    const auto metadata_buffer = OldNumbers(model_.metadata_buffer());
    const auto subgraph_list = builder_.CreateVector(subgraphs);
    const auto metadata_list = model_.metadata() == nullptr && metadata.empty()
                                   ? Offset<flatbuffers::Vector<Offset<schema::Metadata>>>()
                                   : builder_.CreateVector(metadata);
    builder_.Finish(
        schema::CreateModel(builder_, model_.version(), codes, subgraph_list, description, buffers,
                            metadata_buffer, metadata_list, signatures,
                            Old(model_.external_buffer_groups()), Old(model_.external_buffers())),
        schema::ModelIdentifier());
    const auto* begin = reinterpret_cast<const std::byte*>(builder_.GetBufferPointer());
    std::vector<std::byte> out(begin, begin + builder_.GetSize() - padding);
    if (cut_ > 0) return out;
    NEAP_CHECK_OK(ShiftOldFile(file_, model_, out.size() - file_.size(), &out));
    return out;
  }

  // A part that was cut off would be needed: the result is not a model.
  bool LostAny() const { return lost_any_; }

 private:
  bool IsThere(const void* part) const { return PlaceOf(file_, part) >= cut_; }

  // A part of the old file, for the builder: its distance from the end.
  template <typename T>
  Offset<T> Old(const T* part) {
    if (part == nullptr) return Offset<T>();
    lost_any_ = lost_any_ || !IsThere(part);
    return Offset<T>(
        static_cast<flatbuffers::uoffset_t>(padded_bytes_ + cut_ - PlaceOf(file_, part)));
  }
  Offset<flatbuffers::String> OldText(const flatbuffers::String* text) {
    if (text == nullptr || IsThere(text)) return Old(text);
    return builder_.CreateString(text->c_str(), text->size());
  }
  Offset<flatbuffers::Vector<std::int32_t>> OldNumbers(
      const flatbuffers::Vector<std::int32_t>* numbers) {
    if (numbers == nullptr || IsThere(numbers)) return Old(numbers);
    return builder_.CreateVector(std::vector<std::int32_t>(numbers->begin(), numbers->end()));
  }

  Offset<flatbuffers::Vector<Offset<schema::Buffer>>> AddBuffers() {
    if (cut_ == 0) return WithOld(model_.buffers(), parts_.AddBuffers());
    Offsets<schema::Buffer> all;
    for (std::uint32_t i = 0; i < SizeOf(model_.buffers()); ++i) {
      const schema::Buffer* buffer = model_.buffers()->Get(i);
      if (IsThere(buffer)) {
        all.push_back(Old(buffer));
        continue;
      }
      std::span<const std::byte> data;
      if (const auto bytes = BufferData(file_, model_, i); bytes && used_[i] != 0) data = *bytes;
      all.push_back(parts_.AddBuffer(data));
    }
    const Offsets<schema::Buffer> added = parts_.AddBuffers();
    all.insert(all.end(), added.begin(), added.end());
    return builder_.CreateVector(all);
  }

  template <typename T>
  Offset<flatbuffers::Vector<Offset<T>>> WithOld(const flatbuffers::Vector<Offset<T>>* old,
                                                 const Offsets<T>& added) {
    if (added.empty() && (old == nullptr || IsThere(old))) return Old(old);
    Offsets<T> all;
    for (std::uint32_t i = 0; i < SizeOf(old); ++i) all.push_back(Old(old->Get(i)));
    all.insert(all.end(), added.begin(), added.end());
    return builder_.CreateVector(all);
  }

  // The builder ends the program when a file outgrows the format; every item is taken for larger
  // than it can be.
  Status CheckFits() const {
    constexpr std::int64_t kRootFields = 10;
    if (!IsKnown(&model_, kRootFields)) {
      return Fail(BadInput("has fields in its root table that are newer than this program"));
    }
    // Its entries name tensors by their index, and a part of such a constant has no bytes.
    if (HasCompressed(source_.graph)) {
      return Fail(
          BadInput("has compressed constants (COMPRESSION_METADATA): its operators cannot "
                   "be replaced"));
    }
    constexpr std::int64_t kTableBytes = 1024;
    std::int64_t total = static_cast<std::int64_t>(padded_bytes_) + kTableBytes;
    const auto add = [&](std::int64_t bytes) {
      total = CheckedAdd(total, bytes).value_or(kMaxBytes);
    };
    for (const SubgraphId id : edited_.subgraphs.Ids()) {
      const Subgraph& subgraph = edited_.subgraphs[id];
      const std::size_t old = IsNew(id) ? 0 : source_.graph.subgraphs[id].tensors.size();
      for (std::size_t t = old; t < subgraph.tensors.size(); ++t) {
        const graph::Tensor& tensor = subgraph.tensors[TensorId(t)];
        add(static_cast<std::int64_t>(tensor.name.size()) + kTableBytes);
        if (tensor.shape) add(static_cast<std::int64_t>(tensor.shape->size() * 8));
        if (tensor.data) add(static_cast<std::int64_t>(tensor.data->bytes.size()));
        if (tensor.quantization) {
          add(static_cast<std::int64_t>(tensor.quantization->scales.size() * 16));
        }
      }
      for (const Op& op : subgraph.ops) {
        add(kTableBytes + static_cast<std::int64_t>((op.inputs.size() + op.outputs.size()) * 16));
        for (const auto& [key, value] : op.attributes) {
          add(kTableBytes);
          if (const auto* text = std::get_if<std::string>(&value)) {
            add(static_cast<std::int64_t>(text->size()));
          }
          if (const auto* ints = std::get_if<std::vector<std::int64_t>>(&value)) {
            add(static_cast<std::int64_t>(ints->size() * 8));
          }
          if (const auto* data = std::get_if<graph::ConstantData>(&value)) {
            add(static_cast<std::int64_t>(data->bytes.size()));
          }
        }
      }
      add(static_cast<std::int64_t>(old) * kTableBytes / 8);
      add(static_cast<std::int64_t>(subgraph.control_edges.size() * 16));
    }
    add(static_cast<std::int64_t>(SizeOf(model_.buffers())) * 8);
    if (total < static_cast<std::int64_t>(FLATBUFFERS_MAX_BUFFER_SIZE)) return {};
    return Fail(BadInput("the edited model needs more than the 2 GiB that one file can hold"));
  }

  static bool SameWiring(const Op& a, const Op& b) {
    return a.inputs == b.inputs && a.outputs == b.outputs;
  }

  static bool SameEnds(const Subgraph& a, const Subgraph& b) {
    return a.inputs == b.inputs && a.outputs == b.outputs;
  }
  bool IsNew(SubgraphId id) const { return id.index() >= source_.graph.subgraphs.size(); }

  bool IsChanged(SubgraphId id) const {
    const Subgraph& before = source_.graph.subgraphs[id];
    const Subgraph& after = edited_.subgraphs[id];
    if (!SameEnds(before, after)) return true;
    if (before.ops.size() != after.ops.size() || before.tensors.size() != after.tensors.size()) {
      return true;
    }
    for (const OpId op : after.ops.Ids()) {
      if (after.ops[op].source_index != op.value() || !SameWiring(before.ops[op], after.ops[op])) {
        return true;
      }
    }
    return false;
  }

  // All of it comes from the graph.
  Result<Offset<schema::SubGraph>> AddNewSubgraph(const Subgraph& subgraph) {
    Offsets<schema::Tensor> tensors;
    for (const TensorId id : subgraph.tensors.Ids()) {
      NEAP_TRY(const auto added, AddTensor(subgraph, id));
      tensors.push_back(added);
    }
    return parts_.AddSubgraph(subgraph, tensors);
  }

  Result<Offset<schema::Tensor>> AddTensor(const Subgraph& subgraph, TensorId id) {
    auto added = parts_.AddTensor(subgraph.tensors[id], false, false);
    if (!added) added.error().tensor = graph::Describe(id, subgraph.tensors[id]);
    return added;
  }

  Result<Offset<schema::SubGraph>> AddSubgraph(SubgraphId id) {
    if (IsNew(id)) return AddNewSubgraph(edited_.subgraphs[id]);
    const auto* old = model_.subgraphs()->Get(static_cast<std::uint32_t>(id.value()));
    if (!IsChanged(id)) return Old(old);
    constexpr std::size_t kSubgraphFields = 6;
    if (!IsKnown(old, kSubgraphFields)) {
      return Fail(BadInput("has fields in a subgraph that are newer than this program"));
    }
    NEAP_TRY(const auto tensors, AddTensors(id, *old));
    const Subgraph& subgraph = edited_.subgraphs[id];
    Offsets<schema::Operator> operators;
    for (const OpId op : subgraph.ops.Ids()) {
      auto added = AddOperator(id, *old, subgraph.ops[op]);
      if (!added) {
        added.error().op = graph::Describe(op, subgraph.ops[op]);
        return Fail(std::move(added).error());
      }
      operators.push_back(*added);
    }
    const auto tensor_list = builder_.CreateVector(tensors);
    const auto operator_list = builder_.CreateVector(operators);
    const bool same = SameEnds(source_.graph.subgraphs[id], subgraph);
    const auto inputs =
        same ? Old(old->inputs()) : builder_.CreateVector(NumbersOf(subgraph.inputs));
    const auto outputs =
        same ? Old(old->outputs()) : builder_.CreateVector(NumbersOf(subgraph.outputs));
    return schema::CreateSubGraph(builder_, tensor_list, inputs, outputs, operator_list,
                                  Old(old->name()), old->debug_metadata_index());
  }

  Result<Offsets<schema::Tensor>> AddTensors(SubgraphId id, const schema::SubGraph& old) {
    const Subgraph& before = source_.graph.subgraphs[id];
    const Subgraph& after = edited_.subgraphs[id];
    const auto was = Referred(before);
    const auto is = Referred(after);
    const std::vector<std::int32_t> no_elements = {0};
    Offsets<schema::Tensor> tensors;
    for (const TensorId t : after.tensors.Ids()) {
      if (t.index() >= before.tensors.size()) {
        NEAP_TRY(const auto added, AddTensor(after, t));
        tensors.push_back(added);
        continue;
      }
      const auto* tensor = old.tensors()->Get(static_cast<std::uint32_t>(t.value()));
      const bool left = was[t] != 0 && is[t] == 0 && !before.tensors[t].variable;
      // Runtimes allocate every tensor of the list: an unused one gets no bytes.
      tensors.push_back(left ? schema::CreateTensor(builder_, builder_.CreateVector(no_elements),
                                                    tensor->type(), 0, Old(tensor->name()))
                             : Old(tensor));
    }
    return tensors;
  }

  Result<Offset<schema::Operator>> AddOperator(SubgraphId id, const schema::SubGraph& old,
                                               const Op& op) {
    if (op.source_index < 0) return parts_.AddOp(edited_.subgraphs[id], op);
    const Op& before = source_.graph.subgraphs[id].ops[OpId(op.source_index)];
    const auto* source = old.operators()->Get(static_cast<std::uint32_t>(op.source_index));
    if (SameWiring(before, op)) return Old(source);
    constexpr std::size_t kOperatorFields = 14;
    const bool plain = SizeOf(source->inputs()) == before.inputs.size() &&
                       SizeOf(source->outputs()) == before.outputs.size();
    if (!plain || source->large_custom_options_offset() > 1 || !IsKnown(source, kOperatorFields)) {
      return Fail(BadInput(
          "cannot have other inputs or outputs: it overwrites an input, has options behind the "
          "model, or fields that are newer than this program"));
    }
    const auto inputs = builder_.CreateVector(NumbersOf(op.inputs));
    const auto outputs = builder_.CreateVector(NumbersOf(op.outputs));
    return schema::CreateOperator(
        builder_, source->opcode_index(), inputs, outputs, source->builtin_options_type(),
        Old(source->builtin_options()), Old(source->custom_options()),
        source->custom_options_format(), Old(source->mutating_variable_inputs()),
        Old(source->intermediates()), 0, 0, source->builtin_options_2_type(),
        Old(source->builtin_options_2()), source->debug_metadata_index());
  }

  // The old ones, with the tensors that have become inputs and outputs under the names of those
  // before.
  Result<Offset<flatbuffers::Vector<Offset<schema::SignatureDef>>>> AddSignatures() {
    const auto* old = model_.signature_defs();
    const Subgraph& before = source_.graph.subgraphs[SubgraphId(0)];
    const Subgraph& after = edited_.subgraphs[SubgraphId(0)];
    if (old == nullptr || (SameEnds(before, after) && IsThere(old))) return Old(old);
    constexpr std::size_t kSignatureFields = 5;
    constexpr std::size_t kMapFields = 2;
    Offsets<schema::SignatureDef> signatures;
    for (std::uint32_t i = 0; i < SizeOf(old); ++i) {
      const schema::SignatureDef* signature = old->Get(i);
      if (signature->subgraph_index() != 0) {
        signatures.push_back(Old(signature));
        continue;
      }
      bool known = IsKnown(signature, kSignatureFields);
      const auto renumbered = [&](const auto* maps, const std::vector<TensorId>& was,
                                  const std::vector<TensorId>& is) {
        Offsets<schema::TensorMap> list;
        for (std::uint32_t m = 0; m < SizeOf(maps); ++m) {
          const schema::TensorMap* map = maps->Get(m);
          known = known && IsKnown(map, kMapFields);
          std::uint32_t tensor = map->tensor_index();
          for (std::size_t k = 0; k < was.size(); ++k) {
            if (was[k].index() != map->tensor_index()) continue;
            tensor = static_cast<std::uint32_t>(is[k].value());
            break;
          }
          list.push_back(schema::CreateTensorMap(builder_, OldText(map->name()), tensor));
        }
        return builder_.CreateVector(list);
      };
      const auto inputs = renumbered(signature->inputs(), before.inputs, after.inputs);
      const auto outputs = renumbered(signature->outputs(), before.outputs, after.outputs);
      if (!known) {
        return Fail(BadInput("has fields in a signature that are newer than this program"));
      }
      signatures.push_back(schema::CreateSignatureDef(
          builder_, inputs, outputs, OldText(signature->signature_key()),
          OldText(signature->unused_tag()), signature->subgraph_index()));
    }
    return builder_.CreateVector(signatures);
  }

  // The old entries, but for memory plans, which are about other operators, and for control
  // dependencies, whose operators have other numbers.
  Result<Offsets<schema::Metadata>> AddMetadata() {
    NEAP_TRY(auto control, FindControlDependencies(file_, model_));
    if (control.present) NEAP_CHECK_OK(Renumber(&control.dependencies));
    Offsets<schema::Metadata> list;
    for (std::uint32_t i = 0; i < SizeOf(model_.metadata()); ++i) {
      const schema::Metadata* entry = model_.metadata()->Get(i);
      const std::string name = TextOf(entry->name());
      if (name == kMemoryPlanKey || name == kOverlapKernelsKey) continue;
      if (control.present && entry->buffer() == control.buffer && name == kControlDependenciesKey) {
        const auto bytes = SerializeControlDependencies(
            control.dependencies, ShortestControlDependencies(control.dependencies));
        if (!bytes) return Fail(BadInput("its control dependencies cannot be written"));
        control_ = *bytes;
        const std::uint32_t buffer = parts_.NewBuffer(control_);
        list.push_back(schema::CreateMetadata(builder_, OldText(entry->name()), buffer));
        continue;
      }
      constexpr std::size_t kMetadataFields = 2;
      if (IsThere(entry)) {
        list.push_back(Old(entry));
      } else {
        lost_any_ = lost_any_ || !IsKnown(entry, kMetadataFields);
        list.push_back(schema::CreateMetadata(builder_, OldText(entry->name()), entry->buffer()));
      }
    }
    return list;
  }

  Status Renumber(ControlDependencies* dependencies) const {
    dependencies->resize(edited_.subgraphs.size());
    for (const SubgraphId id : source_.graph.subgraphs.Ids()) {
      const Subgraph& after = edited_.subgraphs[id];
      std::vector<std::int32_t> new_index(source_.graph.subgraphs[id].ops.size(), -1);
      for (const OpId op : after.ops.Ids()) {
        const std::int32_t from = after.ops[op].source_index;
        if (from >= 0) new_index[static_cast<std::size_t>(from)] = op.value();
      }
      for (OperatorEdge& edge : (*dependencies)[id.index()]) {
        edge = {new_index[static_cast<std::size_t>(edge.from)],
                new_index[static_cast<std::size_t>(edge.to)]};
        if (edge.from < 0 || edge.to < 0) {
          return Fail(BadInput("an operator of its control dependencies was removed"));
        }
      }
    }
    return {};
  }

  const SourceModel& source_;
  const graph::Graph& edited_;
  const schema::Model& model_;
  std::span<const std::byte> file_;
  std::vector<char> used_;    // buffers
  std::size_t cut_;           // bytes at the start of the old file that are left out
  std::size_t padded_bytes_;  // of the rest
  bool lost_any_ = false;
  flatbuffers::FlatBufferBuilder builder_;
  PartWriter parts_;
  std::vector<std::byte> control_;
};

}  // namespace

Result<std::vector<std::byte>> WriteEdited(const SourceModel& model, const graph::Graph& edited) {
  NEAP_TRY(const schema::Model* root, OpenModel(*model.bytes));
  if (SizeOf(root->subgraphs()) != model.graph.subgraphs.size()) {
    return Fail(UsageError("the edited graph describes another file"));
  }
  std::vector<char> used = UsedBuffers(model, edited, *root);
  const std::size_t cut = UnusedFront(*model.bytes, *root, used);
  if (cut > 0) {
    Editor editor(model, edited, *root, used, cut);
    auto smaller = editor.Run();
    // Files of other writers may have their parts in another order.
    if (smaller && !editor.LostAny() && OpenModel(*smaller)) return smaller;
  }
  return Editor(model, edited, *root, std::move(used), 0).Run();
}

}  // namespace neap::formats::tflite
