// SPDX-License-Identifier: Apache-2.0
//
// https://flatbuffers.dev/flexbuffers: offsets lead back from where they are stored. A map is a
// vector of values with their types behind it and, in front of it, its size, the width of a key's
// offset and the offset of the vector of keys.
#include "neap/ops/flex_map.h"

#include "neap/base/bit_cast.h"
#include "neap/ops/custom_options.h"

namespace neap::ops {
namespace {

constexpr std::uint64_t kInt = 1;
constexpr std::uint64_t kUInt = 2;
constexpr std::uint64_t kFloat = 3;
constexpr std::uint64_t kIndirectInt = 6;
constexpr std::uint64_t kIndirectUInt = 7;
constexpr std::uint64_t kIndirectFloat = 8;
constexpr std::uint64_t kMap = 9;
constexpr std::uint64_t kBool = 26;

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::optional<std::uint64_t> Unsigned(std::uint64_t at, std::uint64_t width) const {
    if (width != 1 && width != 2 && width != 4 && width != 8) return std::nullopt;
    if (at > bytes_.size() || bytes_.size() - at < width) return std::nullopt;
    std::uint64_t value = 0;
    for (std::uint64_t i = width; i-- > 0;) {
      value = value << 8U | std::to_integer<std::uint64_t>(bytes_[at + i]);
    }
    return value;
  }

  std::optional<std::int64_t> Signed(std::uint64_t at, std::uint64_t width) const {
    const auto value = Unsigned(at, width);
    if (!value) return std::nullopt;
    const std::uint64_t shift = 64 - 8 * width;
    return static_cast<std::int64_t>(*value << shift) >> shift;
  }

  // The target of the offset at `at`.
  std::optional<std::uint64_t> Target(std::uint64_t at, std::uint64_t width) const {
    const auto offset = Unsigned(at, width);
    if (!offset || *offset > at) return std::nullopt;
    return at - *offset;
  }

  bool IsKey(std::uint64_t at, std::string_view key) const {
    if (at > bytes_.size() || bytes_.size() - at <= key.size()) return false;
    for (std::size_t i = 0; i < key.size(); ++i) {
      if (std::to_integer<unsigned char>(bytes_[at + i]) != static_cast<unsigned char>(key[i])) {
        return false;
      }
    }
    return std::to_integer<int>(bytes_[at + key.size()]) == 0;
  }

  std::uint64_t size() const { return bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
};

// A value: where it is, the width of its vector, and its type.
struct Entry {
  std::uint64_t at = 0;
  std::uint64_t width = 0;
  std::uint64_t packed_type = 0;
};

std::optional<std::int64_t> IntegerAt(const Reader& reader, const Entry& entry) {
  auto [at, width, packed_type] = entry;
  const std::uint64_t type = packed_type >> 2U;
  if (type == kIndirectInt || type == kIndirectUInt) {
    const auto target = reader.Target(at, width);
    if (!target) return std::nullopt;
    at = *target;
    width = std::uint64_t{1} << (packed_type & 3U);
  }
  if (type == kInt || type == kIndirectInt) return reader.Signed(at, width);
  if (type != kUInt && type != kIndirectUInt && type != kBool) return std::nullopt;
  const auto value = reader.Unsigned(at, width);
  if (!value || *value > static_cast<std::uint64_t>(INT64_MAX)) return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

std::optional<double> RealAt(const Reader& reader, const Entry& entry) {
  auto [at, width, packed_type] = entry;
  const std::uint64_t type = packed_type >> 2U;
  if (type == kIndirectFloat) {
    const auto target = reader.Target(at, width);
    if (!target) return std::nullopt;
    at = *target;
    width = std::uint64_t{1} << (packed_type & 3U);
  } else if (type != kFloat) {
    const auto whole = IntegerAt(reader, entry);
    return whole ? std::optional(static_cast<double>(*whole)) : std::nullopt;
  }
  const auto bits = width == 4 || width == 8 ? reader.Unsigned(at, width) : std::nullopt;
  if (!bits) return std::nullopt;
  if (width == 8) return BitCast<double>(*bits);
  return static_cast<double>(BitCast<float>(static_cast<std::uint32_t>(*bits)));
}

std::optional<Entry> Find(const Reader& reader, std::string_view key) {
  if (reader.size() < 3) return std::nullopt;
  const std::uint64_t root_width = *reader.Unsigned(reader.size() - 1, 1);
  const std::uint64_t root_type = *reader.Unsigned(reader.size() - 2, 1);
  if (root_type >> 2U != kMap || root_width > reader.size() - 2) return std::nullopt;
  const std::uint64_t width = std::uint64_t{1} << (root_type & 3U);
  const auto values = reader.Target(reader.size() - 2 - root_width, root_width);
  if (!values || *values < 3 * width) return std::nullopt;
  const auto count = reader.Unsigned(*values - width, width);
  const auto key_width = reader.Unsigned(*values - 2 * width, width);
  const auto keys = reader.Target(*values - 3 * width, width);
  if (!count || !key_width || !keys || *count > reader.size()) return std::nullopt;
  for (std::uint64_t i = 0; i < *count; ++i) {
    const auto name = reader.Target(*keys + i * *key_width, *key_width);
    if (!name) return std::nullopt;
    if (!reader.IsKey(*name, key)) continue;
    const auto type = reader.Unsigned(*values + *count * width + i, 1);
    if (!type) return std::nullopt;
    return Entry{*values + i * width, width, *type};
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::int64_t> FlexMapInteger(std::span<const std::byte> bytes, std::string_view key) {
  const Reader reader(bytes);
  const auto entry = Find(reader, key);
  return entry ? IntegerAt(reader, *entry) : std::nullopt;
}

std::optional<double> CustomRealOption(const graph::Op& op, const char* name) {
  const auto found = op.attributes.find("custom_options");
  if (op.domain != "custom" || found == op.attributes.end()) return std::nullopt;
  const auto* data = std::get_if<graph::ConstantData>(&found->second);
  return data == nullptr ? std::nullopt : FlexMapReal(data->bytes, name);
}

std::optional<double> FlexMapReal(std::span<const std::byte> bytes, std::string_view key) {
  const Reader reader(bytes);
  const auto entry = Find(reader, key);
  return entry ? RealAt(reader, *entry) : std::nullopt;
}

}  // namespace neap::ops
