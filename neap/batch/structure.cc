// SPDX-License-Identifier: Apache-2.0
#include "neap/batch/structure.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "neap/base/bit_cast.h"
#include "neap/io/file.h"

namespace neap::batch {
namespace {

// Every number takes eight bytes and every list begins with its length, so that different graphs
// cannot give the same bytes.
class Writer {
 public:
  void Number(std::int64_t value) {
    const auto bits = static_cast<std::uint64_t>(value);
    for (unsigned shift = 0; shift < 64; shift += 8) {
      bytes_.push_back(static_cast<std::byte>((bits >> shift) & 0xFFU));
    }
  }
  void Number(double value) { Number(BitCast<std::int64_t>(value)); }
  void Length(std::size_t length) { Number(static_cast<std::int64_t>(length)); }
  void Text(std::string_view text) {
    Length(text.size());
    for (const char c : text) bytes_.push_back(static_cast<std::byte>(c));
  }
  template <typename Tag>
  void Ids(const std::vector<Id<Tag>>& ids) {
    Length(ids.size());
    for (const Id<Tag> id : ids) Number(std::int64_t{id.value()});
  }

  void Raw(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }

  void Attribute(const graph::Attribute& attribute, bool contents) {
    Length(attribute.index());
    std::visit(
        [&](const auto& value) {
          using T = std::decay_t<decltype(value)>;
          if constexpr (std::is_same_v<T, graph::ConstantData>) {
            // Contents move no tensor, but options of custom operators decide on their scratch.
            Length(value.bytes.size());
            if (contents) Raw(value.bytes);
          } else if constexpr (std::is_same_v<T, std::string>) {
            Text(value);
          } else if constexpr (std::is_arithmetic_v<T>) {
            Number(value);
          } else {
            Length(value.size());
            for (const auto& item : value) {
              if constexpr (std::is_same_v<T, std::vector<std::string>>) {
                Text(item);
              } else {
                Number(item);
              }
            }
          }
        },
        attribute);
  }

  void Tensor(const graph::Tensor& tensor) {
    Number(static_cast<std::int64_t>(tensor.type));
    Number(std::int64_t{tensor.constant} | std::int64_t{tensor.variable} << 1 |
           std::int64_t{tensor.shape.has_value()} << 2 | std::int64_t{tensor.compressed} << 3);
    if (!tensor.shape) return;
    Length(tensor.shape->size());
    for (const std::int64_t dimension : *tensor.shape) Number(dimension);
  }

  void Op(const graph::Op& op) {
    Text(op.domain);
    if (op.domain != "json") Text(op.type);
    Ids(op.inputs);
    Ids(op.outputs);
    Ids(op.captures);
    Ids(op.bodies);
    Number(op.scratch_bytes);
    Number(std::int64_t{op.stateful} | std::int64_t{op.folded} << 1);
    Length(op.attributes.size());
    for (const auto& [name, value] : op.attributes) {
      Text(name);
      Attribute(value, op.domain == "custom");
    }
  }

  void Subgraph(const graph::Subgraph& subgraph) {
    Length(subgraph.tensors.size());
    for (const graph::Tensor& tensor : subgraph.tensors) Tensor(tensor);
    Length(subgraph.ops.size());
    for (const graph::Op& op : subgraph.ops) Op(op);
    Ids(subgraph.inputs);
    Ids(subgraph.outputs);
    Length(subgraph.control_edges.size());
    for (const graph::ControlEdge& edge : subgraph.control_edges) {
      Number(std::int64_t{edge.before.value()});
      Number(std::int64_t{edge.after.value()});
    }
  }

  std::span<const std::byte> Bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace

std::string StructureKey(const graph::Graph& graph, plan::Runtime runtime) {
  Writer writer;
  writer.Number(static_cast<std::int64_t>(runtime));
  writer.Length(graph.subgraphs.size());
  for (const graph::Subgraph& subgraph : graph.subgraphs) writer.Subgraph(subgraph);
  writer.Length(graph.signatures.size());
  for (const graph::Signature& signature : graph.signatures) {
    writer.Number(std::int64_t{signature.subgraph.value()});
  }
  return io::Sha256(writer.Bytes());
}

}  // namespace neap::batch
