// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "neap/base/bytes.h"
#include "neap/formats/tflite/compression.h"
#include "neap/formats/tflite/element_types.h"
#include "neap/formats/tflite/memory_plan.h"
#include "neap/formats/tflite/model_view.h"
#include "neap/formats/tflite/options.h"
#include "neap/formats/tflite/runtime_view.h"
#include "neap/formats/tflite/tflite.h"
#include "neap/ops/op_table.h"
#include "neap/ops/traits.h"

namespace neap::formats::tflite {
namespace {

using graph::OpId;
using graph::SubgraphId;
using graph::TensorId;
using Bytes = std::shared_ptr<const std::vector<std::byte>>;
using ops::Is;
using ops::OpKind;

// Many offsets may refer to one name or list, so a small file can describe a large graph. Valid
// files share little; this is the limit.
class Budget {
 public:
  explicit Budget(std::size_t file_bytes) : left_(file_bytes * 4 + (std::size_t{1} << 20U)) {}
  Status Spend(std::size_t items, std::size_t bytes_each) {
    const std::size_t cost = items * bytes_each;
    if (cost > left_) {
      return Fail(BadInput("describes a graph that is many times larger than the file"));
    }
    left_ -= cost;
    return {};
  }

 private:
  std::size_t left_;
};

class Reader {
 public:
  Reader(Bytes bytes, const LoadOptions& options, std::vector<std::string>* notes)
      : bytes_(std::move(bytes)),
        file_(*bytes_),
        file_shapes_(options.file_shapes),
        folds_(options.folds),
        notes_(notes),
        budget_(bytes_->size()) {}

  Result<graph::Graph> Run();
  bool defines_shapes() const { return defines_shapes_; }          // DefineShapes()
  bool computes_constants() const { return computes_constants_; }  // FoldConstants()

 private:
  Status ReadSubgraph(const schema::SubGraph& source);
  Result<graph::Tensor> ReadTensor(TensorId id, const schema::Tensor& source);
  Status ReadShape(const schema::Tensor& source, graph::Tensor* tensor);
  Status ReadData(TensorId id, const schema::Tensor& source, graph::Tensor* tensor);
  Status ReadQuantization(const schema::Tensor& source, graph::Tensor* tensor);
  Result<graph::Op> ReadOp(const schema::Operator& source);
  Result<std::vector<std::int32_t>> ReadBodies(const schema::Operator& source,
                                               schema::BuiltinOperator code);
  Result<std::vector<std::int32_t>> ReadStablehloBodies(const schema::Operator& source);
  Result<std::vector<TensorId>> ReadList(const flatbuffers::Vector<std::int32_t>* source);
  template <typename Options>
  Result<const Options*> OptionsAs(const schema::Operator& source, schema::OptionsKind kind);
  template <typename Options>
  Result<const Options*> Options2As(const schema::Operator& source);
  static void SettleWrittenInputs(graph::Subgraph* subgraph);
  void Settle(graph::Subgraph* subgraph);
  void MarkStateful(graph::Graph* graph);
  void NoteDynamic(SubgraphId id, const schema::SubGraph& source, const graph::Subgraph& subgraph);
  void NoteOrder(const graph::Subgraph& subgraph);
  void NoteCompression();
  void Note(std::string text);

  Bytes bytes_;
  std::span<const std::byte> file_;
  bool file_shapes_;
  bool folds_;
  bool defines_shapes_ = false;
  bool computes_constants_ = false;
  std::vector<std::string>* notes_;
  Budget budget_;
  const schema::Model* model_ = nullptr;
  std::optional<CompressedTensors> compressed_;
  graph::Graph graph_;
};

// A damaged file could earn as many notes as it has tensors.
void Reader::Note(std::string text) {
  constexpr std::size_t kMaxNotes = 50;
  if (notes_ != nullptr && notes_->size() < kMaxNotes) notes_->push_back(std::move(text));
}

Result<std::vector<TensorId>> Reader::ReadList(const flatbuffers::Vector<std::int32_t>* source) {
  NEAP_CHECK_OK(budget_.Spend(SizeOf(source), sizeof(std::int32_t)));
  std::vector<TensorId> list;
  list.reserve(SizeOf(source));
  for (std::uint32_t i = 0; i < SizeOf(source); ++i) {
    const std::int32_t index = source->Get(i);
    if (index < -1) return Fail(BadInput("refers to tensor " + std::to_string(index)));
    list.push_back(TensorId(index));
  }
  return list;
}

// The sizes as stored, as runtimes allocate them before an input is resized. An absent shape is a
// scalar's when the file declares the rank as known, and in constants and handles; Settle() decides
// the rest.
Status Reader::ReadShape(const schema::Tensor& source, graph::Tensor* tensor) {
  const auto* shape = source.shape();
  NEAP_CHECK_OK(budget_.Spend(SizeOf(shape), sizeof(std::int32_t)));
  if (shape == nullptr) {
    if (source.has_rank() || source.type() == schema::TensorType::RESOURCE) {
      tensor->shape = graph::Shape{};
    }
    return {};
  }
  tensor->shape = graph::Shape{};
  for (std::uint32_t i = 0; i < shape->size(); ++i) {
    const std::int32_t dimension = shape->Get(i);
    if (dimension < -1) {
      return Fail(BadInput("dimension " + std::to_string(i) + " is " + std::to_string(dimension)));
    }
    tensor->shape->push_back(dimension);
  }
  return {};
}

// A tensor is a constant when it has data. They are passed on only where they are the plain dense
// image of the tensor.
Status Reader::ReadData(TensorId id, const schema::Tensor& source, graph::Tensor* tensor) {
  NEAP_TRY(const std::span<const std::byte> data, BufferData(file_, *model_, source.buffer()));
  tensor->variable = source.is_variable();
  if (tensor->variable) return {};  // data, if any, are its first value
  tensor->constant = !data.empty() || source.external_buffer() != 0;
  tensor->compressed = tensor->constant && compressed_->Has(graph_.subgraphs.size(), id.value());
  if (data.empty() || tensor->compressed || source.sparsity() != nullptr) return {};
  const auto element_bits = static_cast<std::size_t>(graph::BitsOf(tensor->type));
  if (!tensor->shape && data.size() == (element_bits + 7) / 8) tensor->shape = graph::Shape{};
  if (element_bits == 0 || !tensor->shape) return {};
  const auto expected = graph::TensorBytes(*tensor);
  if (expected && static_cast<std::size_t>(*expected) == data.size()) {
    tensor->data = graph::ConstantData{bytes_, data};
  } else if (expected) {
    Note("constant " + graph::Describe(id, *tensor) + " has " + std::to_string(data.size()) +
         " bytes of data, expected by its shape: " + std::to_string(*expected));
  }
  return {};
}

// Parameters of another form (block-wise, custom) or with lists of unlike lengths are left out: no
// plan needs them, and who computes with the values refuses the tensor by name.
Status Reader::ReadQuantization(const schema::Tensor& source, graph::Tensor* tensor) {
  const auto* parameters = source.quantization();
  if (parameters == nullptr || SizeOf(parameters->scale()) == 0) return {};
  if (parameters->details() != nullptr) return {};
  const std::uint32_t count = SizeOf(parameters->scale());
  const std::uint32_t zero_points = SizeOf(parameters->zero_point());
  if (zero_points != 0 && zero_points != count) return {};
  NEAP_CHECK_OK(budget_.Spend(count, sizeof(float) + sizeof(std::int64_t)));
  graph::Quantization& quantization = tensor->quantization.emplace();
  quantization.scales.assign(parameters->scale()->begin(), parameters->scale()->end());
  quantization.zero_points.assign(count, 0);
  for (std::uint32_t i = 0; i < zero_points; ++i) {
    quantization.zero_points[i] = parameters->zero_point()->Get(i);
  }
  quantization.axis = parameters->quantized_dimension();
  return {};
}

Result<graph::Tensor> Reader::ReadTensor(TensorId id, const schema::Tensor& source) {
  constexpr std::size_t kFewestTableBytes = 16;
  NEAP_CHECK_OK(budget_.Spend(1, kFewestTableBytes));
  NEAP_CHECK_OK(budget_.Spend(SizeOf(source.name()), 1));
  graph::Tensor tensor;
  tensor.name = TextOf(source.name());
  tensor.type = ElementTypeOf(source.type());
  Status status = ReadShape(source, &tensor);
  if (status) status = ReadData(id, source, &tensor);
  if (status) status = ReadQuantization(source, &tensor);
  if (!status) {
    status.error().tensor = graph::Describe(id, tensor);
    return Fail(std::move(status).error());
  }
  return tensor;
}

template <typename Options>
Result<const Options*> Reader::OptionsAs(const schema::Operator& source, schema::OptionsKind kind) {
  const auto* options = reinterpret_cast<const Options*>(source.builtin_options());
  if (source.builtin_options_type() != kind || !VerifyOptions(file_, options)) {
    return Fail(BadInput(
        "names no subgraph to call: its options are missing, damaged or of another operator"));
  }
  return options;
}

template <typename Options>
Result<const Options*> Reader::Options2As(const schema::Operator& source) {
  const auto* options = reinterpret_cast<const Options*>(source.builtin_options_2());
  if (!VerifyOptions(file_, options)) return Fail(BadInput("its options are missing or damaged"));
  return options;
}

// Which subgraphs run inside an operator.
Result<std::vector<std::int32_t>> Reader::ReadBodies(const schema::Operator& source,
                                                     schema::BuiltinOperator code) {
  using Code = schema::BuiltinOperator;
  using Kind = schema::OptionsKind;
  using Bodies = std::vector<std::int32_t>;
  if (code == Code::IF) {
    NEAP_TRY(const auto* o, OptionsAs<schema::IfOptions>(source, Kind::IfOptions));
    return Bodies{o->then_subgraph_index(), o->else_subgraph_index()};
  }
  if (code == Code::WHILE) {
    NEAP_TRY(const auto* o, OptionsAs<schema::WhileOptions>(source, Kind::WhileOptions));
    return Bodies{o->cond_subgraph_index(), o->body_subgraph_index()};
  }
  if (code == Code::CALL) {
    NEAP_TRY(const auto* o, OptionsAs<schema::CallOptions>(source, Kind::CallOptions));
    return Bodies{static_cast<std::int32_t>(o->subgraph())};
  }
  if (code == Code::CALL_ONCE) {
    NEAP_TRY(const auto* o, OptionsAs<schema::CallOnceOptions>(source, Kind::CallOnceOptions));
    return Bodies{o->init_subgraph_index()};
  }
  return ReadStablehloBodies(source);
}

// The decomposition of a STABLEHLO_COMPOSITE is a body: a runtime that knows the composite runs a
// kernel of its own instead, but the stock runtime falls back to the decomposition, so its memory
// has to be there, and it is never run from outside. The reducers of STABLEHLO_REDUCE and similar
// are called per element; they are bodies of scalars.
Result<std::vector<std::int32_t>> Reader::ReadStablehloBodies(const schema::Operator& source) {
  using Kind = schema::OptionsKind2;
  using Bodies = std::vector<std::int32_t>;
  switch (source.builtin_options_2_type()) {
    case Kind::NONE:
      break;
    case Kind::StableHLOCompositeOptions: {
      NEAP_TRY(const auto* o, Options2As<schema::StableHLOCompositeOptions>(source));
      if (o->decomposition_subgraph_index() == -1) break;  // it has none
      return Bodies{o->decomposition_subgraph_index()};
    }
    case Kind::StablehloWhileOptions: {
      NEAP_TRY(const auto* o, Options2As<schema::StablehloWhileOptions>(source));
      return Bodies{o->cond_subgraph_index(), o->body_subgraph_index()};
    }
    case Kind::StablehloCaseOptions: {
      NEAP_TRY(const auto* o, Options2As<schema::StablehloCaseOptions>(source));
      const auto* branches = o->branch_subgraph_indices();
      NEAP_CHECK_OK(budget_.Spend(SizeOf(branches), sizeof(std::int32_t)));
      if (branches == nullptr) break;
      return Bodies(branches->begin(), branches->end());
    }
    case Kind::StablehloReduceOptions: {
      NEAP_TRY(const auto* o, Options2As<schema::StablehloReduceOptions>(source));
      return Bodies{o->body_subgraph_index()};
    }
    case Kind::StablehloReduceWindowOptions: {
      NEAP_TRY(const auto* o, Options2As<schema::StablehloReduceWindowOptions>(source));
      return Bodies{o->body_subgraph_index()};
    }
    case Kind::StablehloSortOptions: {
      NEAP_TRY(const auto* o, Options2As<schema::StablehloSortOptions>(source));
      return Bodies{o->comparator_subgraph_index()};
    }
    case Kind::StablehloScatterOptions: {
      NEAP_TRY(const auto* o, Options2As<schema::StablehloScatterOptions>(source));
      return Bodies{o->update_computation_subgraph_index()};
    }
  }
  return Bodies();
}

std::size_t ItemsOf(const graph::Attribute& value) {
  if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&value)) {
    return integers->size();
  }
  if (const auto* text = std::get_if<std::string>(&value)) return text->size();
  const auto* floats = std::get_if<std::vector<double>>(&value);
  return floats == nullptr ? 0 : floats->size();
}

Result<graph::Op> Reader::ReadOp(const schema::Operator& source) {
  constexpr std::size_t kFewestTableBytes = 16;
  constexpr std::size_t kFewestOptionBytes = 8;
  NEAP_CHECK_OK(budget_.Spend(1, kFewestTableBytes));
  if (source.opcode_index() >= SizeOf(model_->operator_codes())) {
    return Fail(BadInput("refers to operator code " + std::to_string(source.opcode_index()) +
                         ", but there are " + std::to_string(SizeOf(model_->operator_codes()))));
  }
  const schema::OperatorCode* entry = model_->operator_codes()->Get(source.opcode_index());
  // Old files have the code in one byte; new ones have both.
  const std::int32_t number = std::max<std::int32_t>(
      entry->deprecated_builtin_code(), static_cast<std::int32_t>(entry->builtin_code()));
  const auto code = static_cast<schema::BuiltinOperator>(number);
  graph::Op op;
  op.domain = code == schema::BuiltinOperator::CUSTOM ? "custom" : "tflite";
  op.type = schema::EnumNameBuiltinOperator(code);
  if (op.type.empty()) op.type = "BUILTIN_" + std::to_string(number);
  if (op.domain == "custom" && SizeOf(entry->custom_code()) > 0) {
    NEAP_CHECK_OK(budget_.Spend(entry->custom_code()->size(), 1));
    op.type = TextOf(entry->custom_code());
  }
  NEAP_TRY(op.inputs, ReadList(source.inputs()));
  NEAP_TRY(op.outputs, ReadList(source.outputs()));
  std::span<const std::byte> custom;
  if (SizeOf(source.custom_options()) > 0) {
    custom =
        std::as_bytes(std::span(source.custom_options()->data(), source.custom_options()->size()));
  }
  if (const std::uint64_t offset = source.large_custom_options_offset(),
      size = source.large_custom_options_size();
      offset > 1 && size > 1) {
    if (offset > file_.size() || size > file_.size() - offset) {
      return Fail(BadInput("its custom options are outside the file"));
    }
    custom = file_.subspan(offset, size);
  }
  NEAP_TRY(op.attributes, ReadOptions(file_, source));
  NEAP_CHECK_OK(budget_.Spend(op.attributes.size(), kFewestOptionBytes));
  for (const auto& [name, value] : op.attributes) {
    NEAP_CHECK_OK(budget_.Spend(ItemsOf(value), sizeof(std::int64_t)));
  }
  if (op.domain == "custom" && !custom.empty()) {
    op.attributes[kCustomOptions] = graph::ConstantData{bytes_, custom};
  }
  // They carry quantisation parameters of LSTM gates, never values: an attribute, no operands.
  if (SizeOf(source.intermediates()) > 0) {
    NEAP_TRY(const auto list, ReadList(source.intermediates()));
    std::vector<std::int64_t> numbers;
    for (const TensorId id : list) numbers.push_back(id.value());
    op.attributes[kIntermediates] = std::move(numbers);
  }
  NEAP_TRY(const auto bodies, ReadBodies(source, code));
  for (const std::int32_t body : bodies) op.bodies.push_back(SubgraphId(body));
  ops::Resolve(&op);
  op.stateful = ops::IsStatefulType(op.domain, op.type);
  for (std::uint32_t i = 0; i < SizeOf(source.mutating_variable_inputs()); ++i) {
    if (source.mutating_variable_inputs()->Get(i) != 0) {
      op.stateful = true;
      break;
    }
  }
  return op;
}

Status Reader::ReadSubgraph(const schema::SubGraph& source) {
  graph::Subgraph subgraph;
  NEAP_CHECK_OK(budget_.Spend(SizeOf(source.name()), 1));
  subgraph.name = TextOf(source.name());
  for (std::uint32_t i = 0; i < SizeOf(source.tensors()); ++i) {
    NEAP_TRY(auto tensor,
             ReadTensor(TensorId(static_cast<std::int32_t>(i)), *source.tensors()->Get(i)));
    subgraph.tensors.push_back(std::move(tensor));
  }
  NEAP_TRY(subgraph.inputs, ReadList(source.inputs()));
  NEAP_TRY(subgraph.outputs, ReadList(source.outputs()));
  for (std::uint32_t i = 0; i < SizeOf(source.operators()); ++i) {
    auto op = ReadOp(*source.operators()->Get(i));
    if (!op) {
      op.error().op =
          "#" + std::to_string(i) + " of subgraph " + std::to_string(graph_.subgraphs.size());
      return Fail(std::move(op).error());
    }
    op->source_index = static_cast<std::int32_t>(i);
    subgraph.ops.push_back(std::move(*op));
  }
  SettleWrittenInputs(&subgraph);
  graph_.subgraphs.push_back(std::move(subgraph));
  return {};
}

// A graph input that operators write to is updated in place: operators before the writer in file
// order read the old value, those behind it the new one. The graph has one value per tensor, so
// writers become consumers (the tensor is live from the start anyway), and control edges keep the
// order of all operators that access it.
void Reader::SettleWrittenInputs(graph::Subgraph* subgraph) {
  const auto contains = [](const std::vector<TensorId>& list, TensorId id) {
    return std::find(list.begin(), list.end(), id) != list.end();
  };
  for (const TensorId input : subgraph->inputs) {
    OpId writer;
    std::vector<OpId> readers;  // since the writer
    bool written = false;
    for (const graph::Op& op : subgraph->ops) written = written || contains(op.outputs, input);
    if (!written || !input.valid()) continue;
    for (const OpId id : subgraph->ops.Ids()) {
      graph::Op& op = subgraph->ops[id];
      const bool writes = contains(op.outputs, input);
      if (!writes && !contains(op.inputs, input)) continue;
      if (writer.valid()) subgraph->control_edges.push_back({writer, id});
      if (!writes) {
        readers.push_back(id);
        continue;
      }
      for (const OpId reader : readers) subgraph->control_edges.push_back({reader, id});
      readers.clear();
      writer = id;
      std::replace(op.outputs.begin(), op.outputs.end(), input, TensorId());
      op.inputs.push_back(input);
    }
  }
}

// Facts that depend on all operators of the subgraph. Ids have been checked.
void Reader::Settle(graph::Subgraph* subgraph) {
  const auto producer = graph::Producers(*subgraph);
  IdVector<TensorId, char> is_input(subgraph->tensors.size(), 0);
  IdVector<TensorId, char> is_read(subgraph->tensors.size(), 0);
  for (const TensorId id : subgraph->inputs) is_input[id] = 1;
  for (const graph::Op& op : subgraph->ops) {
    for (const TensorId id : op.inputs) {
      if (id.valid()) is_read[id] = 1;
    }
  }
  for (const TensorId id : subgraph->tensors.Ids()) {
    graph::Tensor& tensor = subgraph->tensors[id];
    if (producer[id].valid()) {
      // The operator itself keeps the handle that it makes: no bytes among the activations.
      const graph::Op& op = subgraph->ops[producer[id]];
      if (Is(op, OpKind::kVarHandle)) tensor.shape = graph::Shape{0};
      continue;
    }
    // Nothing will ever infer another shape.
    if (!tensor.shape) tensor.shape = graph::Shape{};
    if (tensor.constant || tensor.variable || is_input[id] != 0) continue;
    if (std::find(tensor.shape->begin(), tensor.shape->end(), 0) != tensor.shape->end()) {
      // Writers keep no bytes for a constant without elements.
      tensor.constant = true;
      tensor.data = graph::ConstantData{bytes_, {}};
    } else if (is_read[id] != 0) {
      // Ethos-U files hand their working memory to the operator this way.
      Note("tensor " + graph::Describe(id, tensor) + " is read, but has no producer");
    }
  }
  // A produced tensor without shape may be a scalar or of unknown rank: writers leave out both. It
  // is a scalar for certain where scalars are all that an element-wise operator has to work on.
  for (const graph::Op& op : subgraph->ops) {
    if (!Is(op, OpKind::kDequantize) && !ops::IsElementwise(op)) continue;
    const bool scalars = std::all_of(op.inputs.begin(), op.inputs.end(), [&](TensorId id) {
      return !id.valid() || subgraph->tensors[id].shape == graph::Shape{};
    });
    if (!scalars) continue;
    for (const TensorId id : op.outputs) {
      if (id.valid() && !subgraph->tensors[id].shape) subgraph->tensors[id].shape = graph::Shape{};
    }
  }
}

// An operator is stateful, too, when it touches a variable tensor or calls a subgraph that is.
void Reader::MarkStateful(graph::Graph* graph) {
  IdVector<SubgraphId, std::vector<std::pair<SubgraphId, OpId>>> callers(graph->subgraphs.size());
  IdVector<SubgraphId, char> found(graph->subgraphs.size(), 0);
  std::vector<SubgraphId> open;
  const auto mark = [&](SubgraphId id) {
    if (found[id] == 0) open.push_back(id);
    found[id] = 1;
  };
  for (const SubgraphId s : graph->subgraphs.Ids()) {
    graph::Subgraph& subgraph = graph->subgraphs[s];
    for (const OpId id : subgraph.ops.Ids()) {
      graph::Op& op = subgraph.ops[id];
      for (const auto* list : {&op.inputs, &op.outputs}) {
        for (const TensorId tensor : *list) {
          if (tensor.valid() && subgraph.tensors[tensor].variable) op.stateful = true;
        }
      }
      for (const SubgraphId body : op.bodies) callers[body].emplace_back(s, id);
      if (op.stateful) mark(s);
    }
  }
  while (!open.empty()) {
    const SubgraphId id = open.back();
    open.pop_back();
    for (const auto& [subgraph, op] : callers[id]) {
      graph->subgraphs[subgraph].ops[op].stateful = true;
      mark(subgraph);
    }
  }
}

void Reader::NoteDynamic(SubgraphId id, const schema::SubGraph& source,
                         const graph::Subgraph& subgraph) {
  for (const TensorId tensor : subgraph.inputs) {
    const schema::Tensor* entry = source.tensors()->Get(static_cast<std::uint32_t>(tensor.value()));
    const auto& shape = *subgraph.tensors[tensor].shape;
    const auto* signature = entry->shape_signature();
    std::vector<std::uint32_t> dynamic;
    for (std::uint32_t i = 0; i < SizeOf(signature) && i < shape.size(); ++i) {
      if (signature->Get(i) == -1 && shape[i] != -1) dynamic.push_back(i);
    }
    // A batch of one is the usual case.
    const bool batch_alone = dynamic.size() == 1 && dynamic[0] == 0 && shape.size() > 1;
    if (batch_alone && shape[0] == 1) continue;
    for (const std::uint32_t i : dynamic) {
      Note((id.value() == 0 ? "" : "subgraph " + std::to_string(id.value()) + ": ") + "dimension " +
           std::to_string(i) + " of input " + graph::Describe(tensor, subgraph.tensors[tensor]) +
           " is dynamic, planned as " + std::to_string(shape[i]));
    }
  }
}

// Runtimes run operators in file order and trust that it can be run.
void Reader::NoteOrder(const graph::Subgraph& subgraph) {
  const auto producer = graph::Producers(subgraph);
  for (const OpId id : subgraph.ops.Ids()) {
    for (const TensorId input : subgraph.ops[id].inputs) {
      if (!input.valid() || !producer[input].valid() || producer[input] <= id) continue;
      Note("operator " + graph::Describe(id, subgraph.ops[id]) +
           " reads what a later operator writes: runtimes cannot run the file as it is, a plan "
           "repairs its order");
      return;
    }
  }
}

void Reader::NoteCompression() {
  if (!compressed_->any()) return;
  if (!compressed_->readable()) {
    Note(std::string("the metadata entry ") + kCompressionKey +
         " cannot be read: every constant may be compressed");
    return;
  }
  std::ptrdiff_t count = 0;
  for (const graph::Subgraph& subgraph : graph_.subgraphs) {
    count += std::count_if(subgraph.tensors.begin(), subgraph.tensors.end(),
                           [](const graph::Tensor& tensor) { return tensor.compressed; });
  }
  Note(std::to_string(count) + (count == 1 ? " constant is" : " constants are") + " compressed (" +
       kCompressionKey + "): only TensorFlow Lite Micro can unpack " +
       (count == 1 ? "it" : "them"));
}

Result<graph::Graph> Reader::Run() {
  NEAP_TRY(model_, OpenModel(file_));
  compressed_.emplace(file_, *model_);
  if (SizeOf(model_->subgraphs()) == 0) return Fail(BadInput("has no subgraph"));
  for (std::uint32_t i = 0; i < model_->subgraphs()->size(); ++i) {
    NEAP_CHECK_OK(ReadSubgraph(*model_->subgraphs()->Get(i)));
  }
  for (std::uint32_t i = 0; i < SizeOf(model_->signature_defs()); ++i) {
    const schema::SignatureDef* signature = model_->signature_defs()->Get(i);
    NEAP_CHECK_OK(budget_.Spend(SizeOf(signature->signature_key()) + 4, 1));
    graph_.signatures.push_back(
        {TextOf(signature->signature_key()),
         SubgraphId(static_cast<std::int32_t>(signature->subgraph_index()))});
  }
  NEAP_TRY(const auto control, FindControlDependencies(file_, *model_));
  for (const SubgraphId id : graph_.subgraphs.Ids()) {
    for (const OperatorEdge& edge : control.dependencies[id.index()]) {
      graph_.subgraphs[id].control_edges.push_back({OpId(edge.from), OpId(edge.to)});
    }
  }
  NEAP_CHECK_OK(graph::Verify(graph_));
  for (const SubgraphId id : graph_.subgraphs.Ids()) {
    Settle(&graph_.subgraphs[id]);
    defines_shapes_ = DefineShapes(&graph_.subgraphs[id], !file_shapes_) || defines_shapes_;
    NoteDynamic(id, *model_->subgraphs()->Get(static_cast<std::uint32_t>(id.value())),
                graph_.subgraphs[id]);
    NoteOrder(graph_.subgraphs[id]);
  }
  MarkStateful(&graph_);
  for (graph::Subgraph& subgraph : graph_.subgraphs) {
    computes_constants_ = FoldConstants(&subgraph, folds_) || computes_constants_;
  }
  NoteCompression();
  return std::move(graph_);
}

}  // namespace

Result<graph::Graph> Read(const std::shared_ptr<const std::vector<std::byte>>& bytes,
                          const std::string& path, const LoadOptions& options, SourceModel* model) {
  Reader reader(bytes, options, &model->notes);
  auto graph = reader.Run();
  model->defines_shapes = reader.defines_shapes();
  model->computes_constants = reader.computes_constants();
  if (graph) model->carried_plan = ReadMemoryPlan(*bytes);
  if (graph && !options.dims.empty()) {
    Diagnostic error = UsageError("has no symbolic dimension '" + options.dims.begin()->first +
                                  "': sizes in TensorFlow Lite files are numbers");
    error.hint = "resize the inputs when the file is converted";
    graph = Fail(std::move(error));
  }
  if (!graph) graph.error().file = path;
  return graph;
}

}  // namespace neap::formats::tflite
