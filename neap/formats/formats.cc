// SPDX-License-Identifier: Apache-2.0
#include "neap/formats/formats.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <optional>
#include <utility>

#include "neap/formats/edit_check.h"
#include "neap/formats/json/json.h"
#include "neap/formats/onnx/onnx.h"
#include "neap/formats/tflite/tflite.h"
#include "neap/io/file.h"
#include "neap/io/gzip.h"

namespace neap::formats {
namespace {

std::string_view TextOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::optional<Format> ByExtension(std::string_view path) {
  if (path.ends_with(".gz")) path.remove_suffix(3);
  const std::size_t dot = path.find_last_of("./");
  if (dot == std::string_view::npos || path[dot] != '.') return std::nullopt;
  std::string extension(path.substr(dot));
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (extension == ".tflite" || extension == ".lite") return Format::kTflite;
  if (extension == ".onnx") return Format::kOnnx;
  if (extension == ".json") return Format::kGraphJson;
  return std::nullopt;
}

bool StartsAsJson(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{';
}

// An ONNX model is a protobuf without identifier. Writers put its first field, ir_version (a small
// number), first; what follows is another field of the model: strings, messages, or model_version.
bool StartsAsOnnx(std::string_view text) {
  constexpr char kIrVersionTag = 0x08;
  constexpr char kMaxIrVersion = 64;
  constexpr std::array<char, 8> kNextTags = {0x12, 0x1a, 0x22, 0x28, 0x32, 0x3a, 0x42, 0x72};
  return text.size() > 2 && text[0] == kIrVersionTag && text[1] > 0 && text[1] < kMaxIrVersion &&
         std::find(kNextTags.begin(), kNextTags.end(), text[2]) != kNextTags.end();
}

using SharedBytes = std::shared_ptr<const std::vector<std::byte>>;

// The contents of a gzip file; other bytes as they are. Limited, so that a small file cannot
// exhaust the machine: text to what reading it can take in memory, models, which are read in place,
// to 64 times the size of a large file.
Result<SharedBytes> Expand(SharedBytes bytes) {
  constexpr std::int64_t kMaxTextBytes = std::int64_t{256} << 20;
  constexpr std::int64_t kMaxModelBytes = std::numeric_limits<std::int32_t>::max();
  constexpr std::int64_t kMaxRatio = 64;
  if (!io::IsGzip(*bytes)) return bytes;
  const auto packed_bytes = static_cast<std::int64_t>(bytes->size());
  const auto limit = [&](std::span<const std::byte> head) -> std::int64_t {
    const auto format = RecogniseFormat(head, "");
    if (!format || *format == Format::kGraphJson) return kMaxTextBytes;
    return std::clamp(packed_bytes * kMaxRatio, kMaxTextBytes, kMaxModelBytes);
  };
  NEAP_TRY(std::vector<std::byte> expanded, io::ExpandGzip(*bytes, limit));
  if (io::IsGzip(expanded)) return Fail(BadInput("is compressed with gzip more than once"));
  return std::make_shared<const std::vector<std::byte>>(std::move(expanded));
}

Result<graph::Graph> ReadGraph(SourceModel* model, const LoadOptions& options) {
  switch (model->format) {
    case Format::kTflite:
      return tflite::Read(model->bytes, model->path, options, model);
    case Format::kGraphJson:
      if (!options.dims.empty()) {
        return Fail(UsageError("has no symbolic dimension '" + options.dims.begin()->first +
                               "': tensors of graph JSON have bytes"));
      }
      return json::Read(*model->bytes, model->path);
    case Format::kOnnx:
      return onnx::Read(model->bytes, model->path, options, &model->notes);
  }
  return Fail(UsageError("unknown format"));
}

template <typename T>
Result<T> AtFile(Result<T> result, const std::string& path) {
  if (!result && result.error().file.empty()) result.error().file = path;
  return result;
}

}  // namespace

std::string_view NameOf(Format format) {
  switch (format) {
    case Format::kTflite:
      return "tflite";
    case Format::kOnnx:
      return "onnx";
    case Format::kGraphJson:
      return "graph JSON";
  }
  return "unknown";
}

Result<Format> RecogniseFormat(std::span<const std::byte> bytes, std::string_view path) {
  const std::string_view text = TextOf(bytes);
  const auto refuse = [&](std::string message, std::string hint) {
    Diagnostic error = BadInput(std::move(message));
    error.file = std::string(path);
    error.hint = std::move(hint);
    return Fail(std::move(error));
  };
  if (text.empty()) return refuse("is empty", "");
  if (text.starts_with("version https://git-lfs.github.com/spec/")) {
    return refuse("is a git-lfs pointer, not the model itself", "fetch it with git lfs pull");
  }
  if (text.size() >= 8 && text.substr(4, 4) == "TFL3") return Format::kTflite;
  if (StartsAsJson(text) || io::IsGzip(bytes)) return Format::kGraphJson;
  if (const auto format = ByExtension(path)) return *format;
  if (StartsAsOnnx(text)) return Format::kOnnx;
  return refuse("is in no format that Neap reads", "expected .tflite, .onnx or graph JSON");
}

Result<SourceModel> Load(const std::string& path, const LoadOptions& options) {
  const auto accept = [&path](std::span<const std::byte> head, std::int64_t file_bytes) -> Status {
    NEAP_TRY(const Format format, RecogniseFormat(head, path));
    Status status;
    if (format == Format::kTflite) status = tflite::CheckHead(head);
    if (format == Format::kOnnx) status = onnx::CheckSize(file_bytes);
    return AtFile(std::move(status), path);
  };
  NEAP_TRY(auto bytes, io::ReadFile(path, accept));
  return LoadBytes(std::move(bytes), path, options);
}

Result<SourceModel> LoadBytes(std::shared_ptr<const std::vector<std::byte>> bytes,
                              const std::string& path, const LoadOptions& options) {
  const auto load = [&]() -> Result<SourceModel> {
    SourceModel model;
    model.path = path;
    model.file_shapes = options.file_shapes;
    model.folds = options.folds;
    NEAP_TRY(model.bytes, Expand(std::move(bytes)));
    NEAP_TRY(model.format, RecogniseFormat(*model.bytes, path));
    NEAP_TRY(model.graph, ReadGraph(&model, options));
    NEAP_CHECK_OK(graph::Verify(model.graph));
    model.sha256 = io::Sha256(*model.bytes);
    return model;
  };
  return AtFile(load(), path);
}

Result<std::vector<std::byte>> WriteReordered(
    const SourceModel& model, const IdVector<graph::SubgraphId, std::vector<graph::OpId>>& order) {
  const auto write = [&]() -> Result<std::vector<std::byte>> {
    switch (model.format) {
      case Format::kTflite:
        return tflite::WriteReordered(model, order);
      case Format::kOnnx:
        return onnx::WriteReordered(model, order);
      case Format::kGraphJson:
        break;
    }
    return Fail(UsageError("is graph JSON: only .tflite and .onnx can be written back"));
  };
  return AtFile(write(), model.path);
}

Result<std::vector<std::byte>> WritePlanned(
    const SourceModel& model, const IdVector<graph::SubgraphId, std::vector<graph::OpId>>& order,
    const graph::TensorOffsets& offsets, const std::string& kernels) {
  if (model.format == Format::kTflite) {
    return AtFile(tflite::WritePlanned(model, order, offsets, kernels), model.path);
  }
  return AtFile<std::vector<std::byte>>(
      Fail(UsageError("is not a .tflite: no other format has a memory plan")), model.path);
}

Result<SourceModel> WriteEdited(const SourceModel& model, const graph::Graph& edited,
                                const LoadOptions& options) {
  const auto write = [&]() -> Result<std::vector<std::byte>> {
    NEAP_CHECK_OK(CheckEdit(model, edited));
    if (model.format == Format::kTflite) return tflite::WriteEdited(model, edited);
    if (model.format == Format::kOnnx) {
      return onnx::WriteEdited(model, edited, options.dims.empty());
    }
    return Fail(UsageError("is graph JSON: only .tflite and .onnx can be written back"));
  };
  NEAP_TRY(std::vector<std::byte> bytes, AtFile(write(), model.path));
  LoadOptions load = options;
  load.file_shapes = model.file_shapes;
  load.folds = model.folds;
  auto written =
      LoadBytes(std::make_shared<const std::vector<std::byte>>(std::move(bytes)), model.path, load);
  std::string why;
  if (written) {
    why = FindDifference(model, edited, written->graph);
    if (why.empty()) return written;
  } else {
    why = "it " + written.error().message;
  }
  Diagnostic error = BadInput("could not be edited: read back, " + why);
  error.file = model.path;
  return Fail(std::move(error));
}

Result<std::vector<std::byte>> WritePart(const SourceModel& model, const ModelPart& part) {
  const auto write = [&]() -> Result<std::vector<std::byte>> {
    if (model.format == Format::kTflite) return tflite::WritePart(model, part);
    if (model.format == Format::kOnnx) return onnx::WritePart(model, part);
    return Fail(UsageError("is graph JSON: only .tflite and .onnx can be written back"));
  };
  NEAP_TRY(std::vector<std::byte> bytes, AtFile(write(), model.path));
  const auto written =
      LoadBytes(std::make_shared<const std::vector<std::byte>>(bytes), model.path, {});
  if (written) return bytes;
  return Fail(written.error());
}

Result<std::vector<std::byte>> ExportOnnx(const graph::Graph& graph, const std::string& name) {
  return onnx::Export(graph, name);
}

Result<std::vector<std::byte>> ExportTflite(const graph::Graph& graph, const std::string& name) {
  return tflite::Export(graph, name);
}

}  // namespace neap::formats
