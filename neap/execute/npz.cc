// SPDX-License-Identifier: Apache-2.0
#include "neap/execute/npz.h"

#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "neap/base/bytes.h"

namespace neap::execute {
namespace {

using graph::ElementType;

constexpr std::uint32_t kEndOfDirectory = 0x06054b50;
constexpr std::uint32_t kDirectoryEntry = 0x02014b50;
constexpr std::uint32_t kLocalHeader = 0x04034b50;
constexpr std::size_t kEndBytes = 22;
constexpr std::size_t kEntryBytes = 46;
constexpr std::size_t kLocalBytes = 30;

Diagnostic Malformed(std::string_view what) {
  return BadInput("is not a readable .npz: " + std::string(what));
}

template <typename T>
std::optional<T> Read(std::span<const std::byte> file, std::size_t at) {
  T value = 0;
  if (at > file.size() || file.size() - at < sizeof(T)) return std::nullopt;
  std::memcpy(&value, file.data() + at, sizeof(T));
  return value;
}

struct Entry {
  std::string name;
  std::uint16_t method = 0;
  std::uint32_t packed_bytes = 0;
  std::uint32_t bytes = 0;
  std::uint32_t local_header = 0;
};

Result<std::size_t> FindEnd(std::span<const std::byte> file) {
  constexpr std::size_t kMaxComment = 65535;
  if (file.size() < kEndBytes) return Fail(Malformed("it is too short"));
  const std::size_t last = file.size() - kEndBytes;
  for (std::size_t back = 0; back <= std::min(last, kMaxComment); ++back) {
    if (Read<std::uint32_t>(file, last - back) == kEndOfDirectory) return last - back;
  }
  return Fail(Malformed("it has no directory"));
}

Result<std::vector<Entry>> ReadDirectory(std::span<const std::byte> file) {
  NEAP_TRY(const std::size_t end, FindEnd(file));
  const std::size_t count = *Read<std::uint16_t>(file, end + 10);
  std::size_t at = *Read<std::uint32_t>(file, end + 16);
  std::vector<Entry> entries;
  for (std::size_t i = 0; i < count; ++i) {
    if (at > file.size() || file.size() - at < kEntryBytes ||
        Read<std::uint32_t>(file, at) != kDirectoryEntry) {
      return Fail(Malformed("its directory is cut off"));
    }
    Entry entry;
    entry.method = *Read<std::uint16_t>(file, at + 10);
    entry.packed_bytes = *Read<std::uint32_t>(file, at + 20);
    entry.bytes = *Read<std::uint32_t>(file, at + 24);
    entry.local_header = *Read<std::uint32_t>(file, at + 42);
    const std::size_t name = *Read<std::uint16_t>(file, at + 28);
    const std::size_t extra = *Read<std::uint16_t>(file, at + 30);
    const std::size_t comment = *Read<std::uint16_t>(file, at + 32);
    if (file.size() - at - kEntryBytes < name) return Fail(Malformed("its directory is cut off"));
    entry.name.assign(reinterpret_cast<const char*>(file.data() + at + kEntryBytes), name);
    at += kEntryBytes + name + extra + comment;
    entries.push_back(std::move(entry));
  }
  return entries;
}

Result<std::vector<std::byte>> Inflate(std::span<const std::byte> packed, std::size_t bytes) {
  std::vector<std::byte> out(bytes);
  z_stream stream = {};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return Fail(Malformed("zlib refuses"));
  // zlib's input is not const for historical reasons only.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int status = inflate(&stream, Z_FINISH);
  const bool whole = status == Z_STREAM_END && stream.avail_out == 0;
  inflateEnd(&stream);
  if (!whole) return Fail(Malformed("a member does not decompress to the size it states"));
  return out;
}

Result<std::vector<std::byte>> Extract(std::span<const std::byte> file, const Entry& entry,
                                       std::int64_t* bytes_left) {
  const std::size_t at = entry.local_header;
  if (at > file.size() || file.size() - at < kLocalBytes ||
      Read<std::uint32_t>(file, at) != kLocalHeader) {
    return Fail(Malformed("a member is outside the file"));
  }
  const std::size_t begin =
      at + kLocalBytes + *Read<std::uint16_t>(file, at + 26) + *Read<std::uint16_t>(file, at + 28);
  if (begin > file.size() || file.size() - begin < entry.packed_bytes) {
    return Fail(Malformed("a member is outside the file"));
  }
  *bytes_left -= entry.bytes;
  if (*bytes_left < 0) return Fail(BadInput("its arrays exceed the memory limit"));
  const auto packed = file.subspan(begin, entry.packed_bytes);
  if (entry.method == 8) return Inflate(packed, entry.bytes);
  if (entry.method != 0 || entry.packed_bytes != entry.bytes) {
    return Fail(Malformed("a member is neither stored nor deflated"));
  }
  return std::vector<std::byte>(packed.begin(), packed.end());
}

constexpr std::pair<std::string_view, ElementType> kTypes[] = {
    {"|b1", ElementType::kBool},      {"|i1", ElementType::kInt8},
    {"|u1", ElementType::kUint8},     {"<i2", ElementType::kInt16},
    {"<u2", ElementType::kUint16},    {"<f2", ElementType::kFloat16},
    {"<i4", ElementType::kInt32},     {"<u4", ElementType::kUint32},
    {"<f4", ElementType::kFloat32},   {"<i8", ElementType::kInt64},
    {"<u8", ElementType::kUint64},    {"<f8", ElementType::kFloat64},
    {"<c8", ElementType::kComplex64}, {"<c16", ElementType::kComplex128},
};

// The text after `'key': ` in a header, up to the comma or bracket that ends it.
std::string_view FieldOf(std::string_view header, std::string_view key) {
  const std::string quoted = "'" + std::string(key) + "':";
  const std::size_t found = header.find(quoted);
  if (found == std::string_view::npos) return {};
  std::string_view rest = header.substr(found + quoted.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  if (!rest.empty() && rest.front() == '(') return rest.substr(0, rest.find(')'));
  return rest.substr(0, rest.find_first_of(",}"));
}

Result<graph::Shape> ParseShape(std::string_view text) {
  if (text.empty() || text.front() != '(') return Fail(Malformed("an array has no shape"));
  text.remove_prefix(1);
  graph::Shape shape;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(" ,"), text.size()));
    if (text.empty()) return shape;
    std::int64_t size = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), size);
    if (error != std::errc() || size < 0 || shape.size() >= 64) {
      return Fail(Malformed("an array has a malformed shape"));
    }
    shape.push_back(size);
    text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
  }
}

Result<Value> ParseNpy(std::span<const std::byte> file) {
  constexpr std::string_view kMagic = "\x93NUMPY";
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (text.size() < 12 || !text.starts_with(kMagic))
    return Fail(Malformed("a member is not a .npy"));
  const bool wide = text[6] != 1;
  const std::size_t header_begin = wide ? 12 : 10;
  const std::size_t header_bytes =
      wide ? *Read<std::uint32_t>(file, 8) : *Read<std::uint16_t>(file, 8);
  if (text.size() - header_begin < header_bytes) return Fail(Malformed("an array is cut off"));
  const std::string_view header = text.substr(header_begin, header_bytes);
  std::string_view type = FieldOf(header, "descr");
  if (type.size() < 2 || type.front() != '\'' || type.back() != '\'') {
    return Fail(Malformed("an array has no simple type"));
  }
  type = type.substr(1, type.size() - 2);
  Value value;
  for (const auto& [name, element] : kTypes) {
    if (name == type) value.type = element;
  }
  if (value.type == ElementType::kUnknown) {
    return Fail(BadInput("an array has the type '" + std::string(type) +
                         "', expected little-endian numbers"));
  }
  NEAP_TRY(value.shape, ParseShape(FieldOf(header, "shape")));
  if (FieldOf(header, "fortran_order") == "True" && value.shape.size() > 1) {
    return Fail(BadInput("an array is in Fortran order, expected C order"));
  }
  graph::Tensor tensor;
  tensor.type = value.type;
  tensor.shape = value.shape;
  NEAP_TRY(const std::int64_t bytes, graph::TensorBytes(tensor));
  const auto data = file.subspan(header_begin + header_bytes);
  if (static_cast<std::int64_t>(data.size()) != bytes) {
    return Fail(Malformed("the bytes of an array do not match its shape"));
  }
  value.bytes.assign(data.begin(), data.end());
  return value;
}

std::string_view TypeText(ElementType type) {
  if (type == ElementType::kBfloat16) return "<u2";
  if (type == ElementType::kFloat8) return "|u1";
  for (const auto& [name, element] : kTypes) {
    if (element == type) return name;
  }
  return {};
}

void AppendBytes(std::vector<std::byte>* out, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  const std::size_t at = out->size();
  out->resize(at + bytes);
  std::memcpy(out->data() + at, from, bytes);
}
void Append(std::vector<std::byte>* out, std::string_view text) {
  AppendBytes(out, text.data(), text.size());
}
template <typename T>
void AppendNumber(std::vector<std::byte>* out, T value) {
  AppendBytes(out, &value, sizeof value);
}

Result<std::vector<std::byte>> NpyOf(const Value& value) {
  const std::string_view type = TypeText(value.type);
  if (type.empty()) {
    return Fail(BadInput("elements of type " + std::string(graph::NameOf(value.type)) +
                         " cannot be written"));
  }
  std::string header = "{'descr': '" + std::string(type) + "', 'fortran_order': False, 'shape': (";
  for (const std::int64_t size : value.shape) header += std::to_string(size) + ", ";
  if (value.shape.size() > 1) header.resize(header.size() - 2);
  if (value.shape.size() == 1) header.resize(header.size() - 1);
  header += "), }";
  constexpr std::size_t kAlignment = 64;
  while ((10 + header.size() + 1) % kAlignment != 0) header += ' ';
  header += '\n';
  std::vector<std::byte> file;
  Append(&file, std::string_view("\x93NUMPY\x01\x00", 8));
  AppendNumber(&file, static_cast<std::uint16_t>(header.size()));
  Append(&file, header);
  AppendBytes(&file, value.bytes.data(), value.bytes.size());
  return file;
}

struct Member {
  std::string name;
  std::uint32_t checksum = 0;
  std::uint32_t bytes = 0;
  std::uint32_t local_header = 0;
};

// The fields that a local header and a directory entry have in common, from "version needed" on.
void AppendFacts(std::vector<std::byte>* out, const Member& member) {
  constexpr std::uint16_t kVersion = 20;
  constexpr std::uint16_t kUtf8 = 0x800;
  constexpr std::uint16_t kFirstDay = 0x21;  // 1980-01-01
  AppendNumber(out, kVersion);
  AppendNumber(out, kUtf8);
  AppendNumber(out, std::uint16_t{0});  // stored
  AppendNumber(out, std::uint16_t{0});  // midnight
  AppendNumber(out, kFirstDay);
  AppendNumber(out, member.checksum);
  AppendNumber(out, member.bytes);
  AppendNumber(out, member.bytes);
  AppendNumber(out, static_cast<std::uint16_t>(member.name.size()));
  AppendNumber(out, std::uint16_t{0});  // no extra field
}

}  // namespace

Result<std::vector<NamedValue>> ReadNpz(std::span<const std::byte> file, std::int64_t max_bytes) {
  NEAP_TRY(const std::vector<Entry> entries, ReadDirectory(file));
  std::vector<NamedValue> values;
  for (const Entry& entry : entries) {
    NEAP_TRY(const auto member, Extract(file, entry, &max_bytes));
    auto value = ParseNpy(member);
    if (!value) {
      Diagnostic error = std::move(value).error();
      error.tensor = "'" + entry.name + "'";
      return Fail(std::move(error));
    }
    std::string name = entry.name;
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    values.push_back({std::move(name), std::move(*value)});
  }
  return values;
}

Result<std::vector<std::byte>> WriteNpz(std::span<const NamedValue> values) {
  constexpr std::size_t kMax = std::numeric_limits<std::uint32_t>::max() / 2;
  std::vector<std::byte> file;
  std::vector<Member> members;
  for (const NamedValue& named : values) {
    const bool packed = graph::BitsOf(named.value.type) < 8;
    NEAP_TRY(const auto array, NpyOf(packed ? Unpacked(named.value) : named.value));
    Member member;
    member.name = named.name + ".npy";
    member.local_header = static_cast<std::uint32_t>(file.size());
    member.bytes = static_cast<std::uint32_t>(array.size());
    if (array.size() > kMax || file.size() > kMax - array.size() || member.name.size() > 65535) {
      return Fail(BadInput("the arrays are too large for one .npz"));
    }
    member.checksum = static_cast<std::uint32_t>(
        crc32_z(0, reinterpret_cast<const Bytef*>(array.data()), array.size()));
    AppendNumber(&file, kLocalHeader);
    AppendFacts(&file, member);
    Append(&file, member.name);
    AppendBytes(&file, array.data(), array.size());
    members.push_back(std::move(member));
  }
  const auto directory = static_cast<std::uint32_t>(file.size());
  for (const Member& member : members) {
    AppendNumber(&file, kDirectoryEntry);
    AppendNumber(&file, std::uint16_t{20});  // made by
    AppendFacts(&file, member);
    for (int i = 0; i < 3; ++i) AppendNumber(&file, std::uint16_t{0});  // comment, disk, attributes
    AppendNumber(&file, std::uint32_t{0});
    AppendNumber(&file, member.local_header);
    Append(&file, member.name);
  }
  const auto directory_bytes = static_cast<std::uint32_t>(file.size()) - directory;
  AppendNumber(&file, kEndOfDirectory);
  AppendNumber(&file, std::uint32_t{0});  // one disk
  AppendNumber(&file, static_cast<std::uint16_t>(members.size()));
  AppendNumber(&file, static_cast<std::uint16_t>(members.size()));
  AppendNumber(&file, directory_bytes);
  AppendNumber(&file, directory);
  AppendNumber(&file, std::uint16_t{0});  // no comment
  return file;
}

Value Unpacked(const Value& value) {
  const auto bits = static_cast<unsigned>(graph::BitsOf(value.type));
  const bool is_signed = value.type == ElementType::kInt4 || value.type == ElementType::kInt2;
  Value out;
  out.type = is_signed ? ElementType::kInt8 : ElementType::kUint8;
  out.shape = value.shape;
  std::size_t elements = 1;
  for (const std::int64_t size : value.shape) elements *= static_cast<std::size_t>(size);
  const unsigned mask = (1U << bits) - 1U;
  for (std::size_t i = 0; i < elements; ++i) {
    const auto byte = std::to_integer<unsigned>(value.bytes[i * bits / 8]);
    unsigned element = (byte >> (i * bits % 8)) & mask;
    if (is_signed && (element >> (bits - 1)) != 0) element |= ~mask;
    out.bytes.push_back(static_cast<std::byte>(element & 0xffU));
  }
  return out;
}

Result<Value> Packed(const Value& value, ElementType type) {
  const auto bits = static_cast<unsigned>(graph::BitsOf(type));
  const unsigned mask = (1U << bits) - 1U;
  Value out;
  out.type = type;
  out.shape = value.shape;
  out.bytes.resize((value.bytes.size() * bits + 7) / 8);
  for (std::size_t i = 0; i < value.bytes.size(); ++i) {
    const unsigned element = std::to_integer<unsigned>(value.bytes[i]) & mask;
    out.bytes[i * bits / 8] |= static_cast<std::byte>(element << (i * bits % 8));
  }
  if (Unpacked(out).bytes == value.bytes) return out;
  return Fail(BadInput("a value does not fit into " + std::string(graph::NameOf(type))));
}

}  // namespace neap::execute
