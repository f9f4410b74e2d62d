// SPDX-License-Identifier: Apache-2.0
#include "neap/formats/onnx/tensor_data.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <memory>
#include <system_error>
#include <utility>

#include "neap/base/bit_cast.h"
#include "neap/base/bytes.h"
#include "neap/ops/onnx_shapes.h"

namespace neap::formats::onnx {
namespace {

namespace fs = std::filesystem;

constexpr int kExternal = 1;  // TensorProto.data_location

Diagnostic AtConstant(const std::string& name, std::string message) {
  Diagnostic error = BadInput(std::move(message));
  error.tensor = "'" + name + "'";
  return error;
}

struct Place {
  std::string location;
  std::int64_t offset = 0;
  std::int64_t length = -1;  // -1: to the end of the file
};

Result<std::int64_t> ParseCount(const pb::TensorProto& tensor, const std::string& text) {
  std::int64_t count = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, count);
  if (error == std::errc() && rest == end && count >= 0) return count;
  return Fail(
      AtConstant(tensor.name.str(), "external data: '" + text + "' is not an offset or length"));
}

Result<Place> ParsePlace(const pb::TensorProto& tensor) {
  Place place;
  for (const auto& entry : tensor.external_data) {
    if (entry.key == "location") place.location = entry.value.str();
    if (entry.key == "offset") {
      NEAP_TRY(place.offset, ParseCount(tensor, entry.value.str()));
    }
    if (entry.key == "length") {
      NEAP_TRY(place.length, ParseCount(tensor, entry.value.str()));
    }
  }
  const fs::path path(place.location);
  const bool leaves =
      std::any_of(path.begin(), path.end(), [](const fs::path& part) { return part == ".."; });
  if (place.location.empty() || path.is_absolute() || leaves ||
      place.location.find('\0') != std::string::npos) {
    return Fail(AtConstant(tensor.name.str(), "external data: '" + place.location +
                                                  "' is not a file inside the model's folder"));
  }
  return place;
}

bool IsInside(const fs::path& file, const fs::path& folder) {
  const auto [rest, unused] = std::mismatch(folder.begin(), folder.end(), file.begin(), file.end());
  return rest == folder.end();
}

template <typename Field, typename Bits>
void AppendLittleEndian(const Field& field, std::size_t size, Bits bits,
                        std::vector<std::byte>* out) {
  for (const auto value : field) {
    const std::uint64_t raw = bits(value);
    for (std::size_t i = 0; i < size; ++i) {
      out->push_back(static_cast<std::byte>((raw >> (8 * i)) & 0xffU));
    }
  }
}

// The values of the field that holds this type, little-endian; sub-byte and complex types and
// strings, which no shape arithmetic reads, return nothing.
std::vector<std::byte> TypedData(const pb::TensorProto& tensor, graph::ElementType type) {
  using enum graph::ElementType;
  std::vector<std::byte> out;
  const std::size_t size = static_cast<std::size_t>(graph::BitsOf(type)) / 8;
  const auto as_is = [](auto value) { return static_cast<std::uint64_t>(value); };
  switch (type) {
    case kFloat32:
      AppendLittleEndian(
          tensor.float_data.values, size, [](float value) { return BitCast<std::uint32_t>(value); },
          &out);
      break;
    case kFloat64:
      AppendLittleEndian(
          tensor.double_data.values, size,
          [](double value) { return BitCast<std::uint64_t>(value); }, &out);
      break;
    case kInt64:
      AppendLittleEndian(tensor.int64_data.values, size, as_is, &out);
      break;
    case kUint32:
    case kUint64:
      AppendLittleEndian(tensor.uint64_data.values, size, as_is, &out);
      break;
    case kBool:
    case kInt8:
    case kUint8:
    case kFloat8:
    case kInt16:
    case kUint16:
    case kFloat16:
    case kBfloat16:
    case kInt32:
      AppendLittleEndian(tensor.int32_data.values, size, as_is, &out);
      break;
    default:
      break;
  }
  return out;
}

// The type and shape, and the bytes that its data must have (-1: the size does not follow from the
// type).
Result<std::int64_t> ReadType(const pb::TensorProto& proto, graph::Tensor* tensor) {
  tensor->type = ops::OnnxElementType(proto.data_type.value_or(0));
  tensor->shape = proto.dims;
  for (const std::int64_t dim : *tensor->shape) {
    if (dim < 0) {
      return Fail(AtConstant(tensor->name, "a constant has dimension " + std::to_string(dim)));
    }
  }
  if (graph::BitsOf(tensor->type) == 0) return -1;
  auto bytes = graph::TensorBytes(*tensor);
  if (!bytes) return Fail(AtConstant(tensor->name, bytes.error().message));
  return *bytes;
}

}  // namespace

ExternalData::ExternalData(const std::string& model_path, bool weights)
    : folder_(model_path == "-" ? fs::path() : fs::path(model_path).parent_path()),
      weights_(weights) {
  if (folder_.empty()) folder_ = ".";
}

bool ExternalData::Usable(const std::string& location) {
  const auto known = usable_.find(location);
  if (known != usable_.end()) return known->second;
  std::error_code error;
  const fs::path folder = fs::canonical(folder_, error);
  const fs::path file = error ? fs::path() : fs::canonical(folder_ / location, error);
  // A link may lead out of the folder, and a device may never end.
  const bool usable = !error && IsInside(file, folder) && fs::is_regular_file(file, error);
  usable_.emplace(location, usable);
  return usable;
}

Result<std::optional<std::vector<std::byte>>> ExternalData::Read(const pb::TensorProto& tensor,
                                                                 std::int64_t wanted) {
  using Data = std::optional<std::vector<std::byte>>;
  NEAP_TRY(const Place place, ParsePlace(tensor));
  if (!Usable(place.location)) {
    ++missing_[place.location];
    return Data();
  }
  if (place.length >= 0 && wanted > place.length) {
    return Fail(AtConstant(tensor.name.str(), "external data: found " +
                                                  std::to_string(place.length) +
                                                  " bytes, expected " + std::to_string(wanted)));
  }
  if (wanted <= 0) return Data();
  std::ifstream file(folder_ / place.location, std::ios::binary);
  std::vector<std::byte> bytes(static_cast<std::size_t>(wanted));
  file.seekg(place.offset);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(wanted));
  if (!file || file.gcount() != static_cast<std::streamsize>(wanted)) {
    ++missing_[place.location];
    return Data();
  }
  return Data(std::move(bytes));
}

void ExternalData::Report(std::vector<std::string>* notes) const {
  if (!usable_.empty()) {
    notes->push_back("weights are in '" + usable_.begin()->first + "'" +
                     (usable_.size() > 1 ? " and other files" : "") +
                     ": copy them to the folder of every copy of the model");
  }
  for (const auto& [location, constants] : missing_) {
    notes->push_back("external data file '" + location +
                     "' is missing or too short: " + std::to_string(constants) +
                     (constants == 1 ? " constant has" : " constants have") + " no values");
  }
}

Status ReadConstant(const pb::TensorProto& proto, ExternalData* external, graph::Tensor* tensor) {
  tensor->constant = true;
  NEAP_TRY(const std::int64_t expected, ReadType(proto, tensor));
  const int bits = graph::BitsOf(tensor->type);
  const bool small = external->weights()
                         ? bits > 0 && bits <= 64
                         : bits >= 8 && bits <= 64 && expected / (bits / 8) <= kMaxConstantElements;
  std::vector<std::byte> bytes;
  bool present = false;
  if (proto.data_location == kExternal) {
    NEAP_TRY(auto data, external->Read(proto, small ? expected : 0));
    present = data.has_value();
    if (present) bytes = std::move(*data);
  } else if (!proto.raw_data.empty()) {
    const auto found = static_cast<std::int64_t>(proto.raw_data.size());
    if (expected >= 0 && found != expected) {
      return Fail(AtConstant(tensor->name, "found " + std::to_string(found) +
                                               " bytes of data, expected " +
                                               std::to_string(expected)));
    }
    present = small;
    if (small) {
      const auto* begin = reinterpret_cast<const std::byte*>(proto.raw_data.data());
      bytes.assign(begin, begin + proto.raw_data.size());
    }
  } else if (small) {
    bytes = TypedData(proto, tensor->type);
    present = !bytes.empty() || expected == 0;
    if (present && static_cast<std::int64_t>(bytes.size()) != expected) {
      return Fail(AtConstant(tensor->name,
                             "found " +
                                 std::to_string(bytes.size() * 8 / static_cast<std::size_t>(bits)) +
                                 " values, expected " + std::to_string(expected * 8 / bits)));
    }
  }
  if (!present) return {};
  auto owner = std::make_shared<std::vector<std::byte>>(std::move(bytes));
  graph::ConstantData data;
  data.bytes = *owner;
  data.owner = std::move(owner);
  tensor->data = std::move(data);
  return {};
}

}  // namespace neap::formats::onnx
