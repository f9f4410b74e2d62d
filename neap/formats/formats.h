// SPDX-License-Identifier: Apache-2.0
//
// The interface to model files: reads .tflite, .onnx and graph JSON into one graph, and writes
// reordered models.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "neap/base/result.h"
#include "neap/graph/graph.h"

namespace neap::formats {

enum class Format : std::uint8_t { kTflite, kOnnx, kGraphJson };
std::string_view NameOf(Format format);  // "tflite", "onnx", "graph JSON"

struct LoadOptions {
  std::map<std::string, std::int64_t> dims;  // values for symbolic dimensions
  // The bytes of all constants, which running a model needs; else .onnx keeps those of small ones
  // only.
  bool weights = false;
  // Of .tflite: outputs without sizes in the file stay so, as in TensorFlow Lite Micro. Else they
  // have the sizes that their operators define (ops::DefinedShapes).
  bool file_shapes = false;
  // Of .tflite: operators that read constants alone are folded, as in Neap's executor. Else their
  // outputs are activations.
  bool folds = false;
};

// The offline memory plan that a TensorFlow Lite file carries in its metadata for TensorFlow Lite
// Micro: the last entry "OfflineMemoryAllocation", which is the one that it uses.
struct CarriedPlan {
  graph::TensorOffsets offsets;  // kNoOffset: left to the runtime's own planner
  // The kernels under which alone the offsets are right, from the metadata entry
  // "neap.overlap_kernels"; "": any.
  std::string kernels;
  std::string problem;  // why the entry cannot be read; the offsets are empty then
};

// A file, as bytes and as a graph that Verify() has accepted. The bytes stay what they were:
// writing a reordered model starts from them. Of a file compressed with gzip, bytes and hash are
// those of its contents.
struct SourceModel {
  std::string path;  // as given; for messages
  Format format = Format::kTflite;
  std::shared_ptr<const std::vector<std::byte>> bytes;
  std::string sha256;  // lower-case hex
  graph::Graph graph;
  std::vector<std::string> notes;           // remarks for the user, a line each
  std::optional<CarriedPlan> carried_plan;  // of .tflite
  // How it was read: LoadOptions of these names, and whether each makes a difference to this file.
  bool file_shapes = false;
  bool folds = false;
  bool defines_shapes = false;
  bool computes_constants = false;
};

// Reads a file ("-": standard input). The format is recognised by content, then by extension. Files
// may be compressed with gzip, up to 256 MiB of text or model, and models of more than 4 MiB up to
// 64 times their size. Every error names the file.
Result<SourceModel> Load(const std::string& path, const LoadOptions& options);
// The same from memory; `path` is for messages and, in .onnx, for the folder of external data.
Result<SourceModel> LoadBytes(std::shared_ptr<const std::vector<std::byte>> bytes,
                              const std::string& path, const LoadOptions& options);

// Recognises the format by the first bytes ("TFL3" at 4, '{', gzip), then from the extension.
Result<Format> RecogniseFormat(std::span<const std::byte> bytes, std::string_view path);

// The same model with the operators of each subgraph in a new order, as bytes. `order[s]` is a
// permutation of the operators of subgraph s (folded ones may be left out: they are put where their
// inputs are ready), or empty: left as it is. Nothing else of the file changes, except that an
// offline memory plan in a .tflite whose operators move is blanked: it was made for another order.
// Fails for graph JSON (kUsage).
Result<std::vector<std::byte>> WriteReordered(
    const SourceModel& model, const IdVector<graph::SubgraphId, std::vector<graph::OpId>>& order);

// The same with an offline memory plan for TensorFlow Lite Micro in place of the file's own;
// .tflite only (kUsage). `offsets` has an entry for every tensor of every subgraph. A file with one
// plan of the right size keeps its length; otherwise everything in the file moves back by a
// multiple of 64 bytes, and positions relative to the start of the file (buffers and options after
// the FlatBuffer, an appended ZIP) are adjusted. Fails with kBadInput for a file whose parts
// overlap.
Result<std::vector<std::byte>> WritePlanned(
    const SourceModel& model, const IdVector<graph::SubgraphId, std::vector<graph::OpId>>& order,
    const graph::TensorOffsets& offsets, const std::string& kernels);

// The same file with other operators: `edited` as a change of the very file. An edited graph is
// model.graph with
//  - operators removed, added, moved within their subgraph, or reading and writing other tensors;
//    one that comes from the file has its index there as `source_index`, and the type, attributes
//    and bodies that it has there; a new one has source_index -1, and no bodies in .onnx;
//  - tensors added behind those of the file, which keep their indices and all that they are (unused
//    ones are left out of the file, or have no elements in it); new constants bring their data, new
//    tensors of .onnx a name that no other tensor has;
//  - in place of inputs and outputs of the main subgraph other tensors of the file: inputs that
//    no operator computes any more, outputs that some operator does. They keep their place, and in
//    the signatures of .tflite their name there;
//  - else the same subgraphs, inputs, outputs, signatures and control edges (by new indices); in
//  .tflite
//    new subgraphs behind those of the file, for new operators to call. Constants there that are
//    the same bytes of memory as those of the file are stored once.
// Operators must be in an order that can be run. Unchanged parts stay as in the file: options,
// buffers, metadata, signatures, fields that Neap does not know. A memory plan for TensorFlow Lite
// Micro is left out: it is for other operators. The result has been read back: it has the operators
// of `edited` at the same indices, and in .tflite the tensors, too; code that is separate from the
// writer checks this. Fails with kUsage for graph JSON and for a graph that is not an edited graph
// of this model, with kBadInput for edits that the format or the file does not allow.
// Deterministic. `options` are those that `model` was read with. Unused constants may be left out.
Result<SourceModel> WriteEdited(const SourceModel& model, const graph::Graph& edited,
                                const LoadOptions& options);

// A part of a model that is a model itself: operators of subgraph 0, none of them folded, in an
// order that can be run; `inputs` are the tensors that they read and do not compute (no constants,
// no variables), `outputs` the computed tensors with other consumers.
struct ModelPart {
  std::vector<graph::OpId> ops;
  std::vector<graph::TensorId> inputs;
  std::vector<graph::TensorId> outputs;
};

// The part as a file of the same format, with the names and types of the tensors, the constants and
// options that it needs, and nothing else: no signatures, no memory plan. .onnx keeps operator
// sets, functions and metadata. `model` was read with its weights. The result has been read back.
// Fails with kUsage for graph JSON, with kBadInput, naming tensor or operator, for parts that
// cannot be copied: data in other files, sparse constants, custom quantisation, unknown element
// types. Deterministic.
Result<std::vector<std::byte>> WritePart(const SourceModel& model, const ModelPart& part);

// A new .onnx model from a graph of ONNX operators whose constants have their data (the zoo):
// subgraph 0, operators in the order of the graph, opset 17. Deterministic.
Result<std::vector<std::byte>> ExportOnnx(const graph::Graph& graph, const std::string& name);

// A new .tflite model from a graph of TensorFlow Lite's operators (domain "tflite") and custom ones
// (domain "custom", attribute "custom_options"), whose constants have their data: all subgraphs,
// operators in the order of the graph (which must be topological), attributes as options under
// their field names, quantisation, signatures, control edges. `name` becomes the description.
// Constants that refer to the same bytes of memory share a buffer. Reading the result returns the
// same graph, with the defaults of options that were left out. Fails with kBadInput for graphs that
// the format cannot represent, or Neap cannot write (operators of StableHLO, more than 2 GiB).
// Deterministic.
Result<std::vector<std::byte>> ExportTflite(const graph::Graph& graph, const std::string& name);

}  // namespace neap::formats
