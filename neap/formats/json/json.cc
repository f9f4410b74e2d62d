// SPDX-License-Identifier: Apache-2.0
//
// The rules beyond json.h, as in schemas/graph.schema.json.
//  - "tensors", "inputs", "outputs" and "ops" must be there. Names are optional and unique;
//  "inputs"
//    and "outputs" of an operator may be left out.
//  - Keys that begin with "_" are the writer's own and are ignored. Other unknown keys are refused:
//    a misspelt "scratch_bytes" would otherwise be a plan that is wrong.
//  - A tensor that an operator reads is written by an operator or listed in "inputs". Constants do
//    not occur: memory that no plan moves is left out of the file.
#include "neap/formats/json/json.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "neap/ops/macs.h"

namespace neap::formats::json {
namespace {

using graph::TensorId;
using Json = nlohmann::json;

// In bits a tensor's size still fits in 63 bits.
constexpr std::int64_t kMaxTensorBytes = (std::int64_t{1} << 60) - 1;

// The library's values are destroyed recursively, so depth is limited before they exist.
Status CheckDepth(std::string_view text) {
  constexpr int kMaxDepth = 32;
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxDepth) {
        return Fail(BadInput("is nested more than " + std::to_string(kMaxDepth) + " deep at byte " +
                             std::to_string(i)));
      }
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return {};
}

Result<Json> Parse(std::string_view text) {
  NEAP_CHECK_OK(CheckDepth(text));
  try {
    return Json::parse(text.begin(), text.end());
  } catch (const Json::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ...": drop the tag.
    const std::string_view what = error.what();
    const std::size_t tag = what.find("] ");
    return Fail(BadInput("is not JSON: " +
                         std::string(tag == std::string_view::npos ? what : what.substr(tag + 2))));
  }
}

std::string Quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

Status CheckKeys(const Json& object, std::initializer_list<std::string_view> known) {
  for (const auto& [key, value] : object.items()) {
    if (key.starts_with('_') || std::find(known.begin(), known.end(), key) != known.end()) continue;
    Diagnostic error = BadInput("has the unknown key " + Quoted(key));
    error.hint = "expected one of";
    for (const std::string_view name : known) error.hint += " " + std::string(name);
    error.hint += "; keys that begin with _ are ignored";
    return Fail(std::move(error));
  }
  return {};
}

// Empty where the key is absent.
Result<std::string> Text(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return std::string();
  if (!found->is_string()) return Fail(BadInput(Quoted(key) + " must be a string"));
  return found->get<std::string>();
}

Result<std::int64_t> Size(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return Fail(BadInput("has no " + Quoted(key)));
  if (found->is_number_integer()) {
    // Numbers above the signed range are unsigned in the library.
    const bool fits = found->is_number_unsigned()
                          ? found->get<std::uint64_t>() <= std::uint64_t{kMaxTensorBytes}
                          : found->get<std::int64_t>() >= 0;
    if (fits) return found->get<std::int64_t>();
  }
  return Fail(BadInput(Quoted(key) + " must be a whole number from 0 to " +
                       std::to_string(kMaxTensorBytes) + ", found " + found->dump()));
}

Result<const Json*> List(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return Fail(BadInput("has no " + Quoted(key)));
  if (!found->is_array()) return Fail(BadInput(Quoted(key) + " must be a list"));
  return &*found;
}

class Reader {
 public:
  Result<graph::Graph> Run(const Json& root);

 private:
  Status ReadTensor(const Json& source);
  Status ReadOp(const Json& source);
  Result<std::vector<TensorId>> ReadRefs(const Json& object, const char* key);
  Status CheckWritten() const;

  graph::Subgraph subgraph_;
  std::map<std::string, TensorId, std::less<>> named_;
};

Status Reader::ReadTensor(const Json& source) {
  if (!source.is_object()) return Fail(BadInput("must be an object with 'bytes'"));
  NEAP_CHECK_OK(CheckKeys(source, {"name", "bytes"}));
  graph::Tensor tensor;
  NEAP_TRY(tensor.name, Text(source, "name"));
  NEAP_TRY(const std::int64_t bytes, Size(source, "bytes"));
  tensor.type = graph::ElementType::kUint8;
  tensor.shape = graph::Shape{bytes};
  const TensorId id(subgraph_.tensors.size());
  if (!tensor.name.empty()) {
    const auto [entry, first] = named_.emplace(tensor.name, id);
    if (!first) {
      return Fail(
          BadInput("has the same name as tensor #" + std::to_string(entry->second.value())));
    }
  }
  subgraph_.tensors.push_back(std::move(tensor));
  return {};
}

Result<std::vector<TensorId>> Reader::ReadRefs(const Json& object, const char* key) {
  NEAP_TRY(const Json* list, List(object, key));
  std::vector<TensorId> refs;
  for (const Json& item : *list) {
    if (item.is_string()) {
      const auto found = named_.find(item.get_ref<const std::string&>());
      if (found == named_.end()) {
        return Fail(BadInput(Quoted(key) + " refers to " +
                             Quoted(item.get_ref<const std::string&>()) +
                             ", which is not the name of a tensor"));
      }
      refs.push_back(found->second);
    } else if (item.is_number_unsigned() && item.get<std::uint64_t>() < subgraph_.tensors.size()) {
      refs.push_back(TensorId(static_cast<std::size_t>(item.get<std::uint64_t>())));
    } else {
      return Fail(BadInput(Quoted(key) + " holds " + item.dump() +
                           ": expected the name of a tensor or an index below " +
                           std::to_string(subgraph_.tensors.size())));
    }
  }
  return refs;
}

Status Reader::ReadOp(const Json& source) {
  if (!source.is_object()) return Fail(BadInput("must be an object with 'inputs' and 'outputs'"));
  NEAP_CHECK_OK(CheckKeys(source, {"name", "inputs", "outputs", "scratch_bytes", "cost"}));
  graph::Op op;
  op.domain = "json";
  NEAP_TRY(op.type, Text(source, "name"));
  if (op.type.empty()) op.type = "op";
  if (source.contains("inputs")) {
    NEAP_TRY(op.inputs, ReadRefs(source, "inputs"));
  }
  if (source.contains("outputs")) {
    NEAP_TRY(op.outputs, ReadRefs(source, "outputs"));
  }
  if (source.contains("scratch_bytes")) {
    NEAP_TRY(op.scratch_bytes, Size(source, "scratch_bytes"));
  }
  if (source.contains(ops::kCost)) {
    NEAP_TRY(op.attributes[ops::kCost], Size(source, ops::kCost));
  }
  op.source_index = static_cast<std::int32_t>(subgraph_.ops.size());
  subgraph_.ops.push_back(std::move(op));
  return {};
}

Status Reader::CheckWritten() const {
  IdVector<TensorId, char> written(subgraph_.tensors.size(), 0);
  for (const TensorId id : subgraph_.inputs) written[id] = 1;
  for (const graph::Op& op : subgraph_.ops) {
    for (const TensorId id : op.outputs) written[id] = 1;
  }
  const auto unwritten = [&](TensorId id) {
    Diagnostic error = BadInput("has no producer and is not a graph input");
    error.tensor = graph::Describe(id, subgraph_.tensors[id]);
    return error;
  };
  for (const graph::OpId op : subgraph_.ops.Ids()) {
    for (const TensorId id : subgraph_.ops[op].inputs) {
      if (written[id] != 0) continue;
      Diagnostic error = unwritten(id);
      error.op = graph::Describe(op, subgraph_.ops[op]);
      return Fail(std::move(error));
    }
  }
  for (const TensorId id : subgraph_.outputs) {
    if (written[id] == 0) return Fail(unwritten(id));
  }
  return {};
}

Result<graph::Graph> Reader::Run(const Json& root) {
  if (!root.is_object()) return Fail(BadInput("must be a JSON object"));
  NEAP_CHECK_OK(CheckKeys(root, {"name", "tensors", "inputs", "outputs", "ops"}));
  NEAP_TRY(subgraph_.name, Text(root, "name"));
  NEAP_TRY(const Json* tensors, List(root, "tensors"));
  for (const Json& tensor : *tensors) {
    Status status = ReadTensor(tensor);
    if (status) continue;
    status.error().tensor = "#" + std::to_string(subgraph_.tensors.size());
    if (const auto name = tensor.is_object() ? Text(tensor, "name") : std::string();
        name && !name->empty()) {
      status.error().tensor += " '" + *name + "'";
    }
    return Fail(std::move(status).error());
  }
  NEAP_TRY(subgraph_.inputs, ReadRefs(root, "inputs"));
  NEAP_TRY(subgraph_.outputs, ReadRefs(root, "outputs"));
  NEAP_TRY(const Json* ops, List(root, "ops"));
  for (const Json& op : *ops) {
    Status status = ReadOp(op);
    if (status) continue;
    status.error().op = "#" + std::to_string(subgraph_.ops.size());
    if (const auto name = op.is_object() ? Text(op, "name") : std::string();
        name && !name->empty()) {
      status.error().op += " '" + *name + "'";
    }
    return Fail(std::move(status).error());
  }
  NEAP_CHECK_OK(CheckWritten());
  graph::Graph graph;
  graph.subgraphs.push_back(std::move(subgraph_));
  NEAP_CHECK_OK(graph::Verify(graph));
  return graph;
}

}  // namespace

Result<graph::Graph> Read(std::span<const std::byte> bytes, const std::string& path) {
  const auto read = [&]() -> Result<graph::Graph> {
    NEAP_TRY(const Json root, Parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
    return Reader().Run(root);
  };
  auto graph = read();
  if (!graph) graph.error().file = path;
  return graph;
}

}  // namespace neap::formats::json
