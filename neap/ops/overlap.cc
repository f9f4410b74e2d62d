// SPDX-License-Identifier: Apache-2.0
#include "neap/ops/overlap.h"
#include "neap/ops/neap_rt.h"

#include <algorithm>
#include <array>
#include <vector>

#include "neap/ops/dependence.h"
#include "neap/ops/library_overlap.h"
#include "neap/ops/op_rules.h"
#include "neap/ops/op_table.h"
#include "neap/ops/resize.h"
#include "neap/ops/window.h"

namespace neap::ops {
namespace {

using graph::Op;
using graph::Shape;
using graph::Subgraph;
using graph::Tensor;

// Sets before their parts: NameOf() takes the first that fits.
constexpr std::array<KernelLibraryInfo, 9> kLibraries = {{
    {KernelLibrary::kCopies, "copies", "any library: only copies that stay where they are"},
    {KernelLibrary::kTflmReference, "tflm-reference",
     "TensorFlow Lite Micro's reference kernels; not CMSIS-NN, not ESP-NN"},
    {KernelLibrary::kCmsisNn, "cmsis-nn", "CMSIS-NN on every Cortex-M"},
    {KernelLibrary::kCmsisNnScalar, "cmsis-nn-scalar", "CMSIS-NN on Cortex-M0 and M3"},
    {KernelLibrary::kCmsisNnDsp, "cmsis-nn-dsp", "CMSIS-NN on Cortex-M4, M7 and M33"},
    {KernelLibrary::kCmsisNnMve, "cmsis-nn-mve", "CMSIS-NN on Cortex-M55 and M85"},
    {KernelLibrary::kEspNn, "esp-nn", "ESP-NN in C (ESP32, ESP32-C3); not the ESP32-S3"},
    {KernelLibrary::kNeap, "neap", "Neap's own executor (neap run)"},
    {kNeapRt, "neap-rt", "the runtime of emitted C (neap emit)"},
}};

using overlap::kNever;

// Whole bytes of an element; 0 for packed and unsized types, which kernels unpack elsewhere.
std::int64_t ElementBytes(const Tensor& tensor) {
  const int bits = graph::BitsOf(tensor.type);
  return bits > 0 && bits % 8 == 0 ? bits / 8 : 0;
}

std::int64_t Elements(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t d : shape) count *= d;
  return count;
}

// Gathers the distance of a kernel that writes its output from the first byte to the last: after
// each write, the output must not have passed what the kernel still reads.
class Distance {
 public:
  // The output is written up to `end`; from now on the lowest input byte that is read is `lowest`.
  void Written(std::int64_t end, std::int64_t lowest) {
    if (lowest != kNever) bytes_ = std::max(bytes_, end - lowest);
  }
  std::int64_t Bytes() const { return bytes_; }

 private:
  std::int64_t bytes_ = 0;
};

// The first index of a window that is in the input, along one dimension; `size` when none is.
std::int64_t FirstInside(std::int64_t start, std::int64_t kernel, std::int64_t dilation,
                         std::int64_t size) {
  std::int64_t first = start;
  if (first < 0) first += (-first + dilation - 1) / dilation * dilation;
  return first < size && first <= start + (kernel - 1) * dilation ? first : size;
}

}  // namespace

std::vector<std::int64_t> overlap::LowestReads(const ops::Window& w, std::int64_t in_bytes) {
  std::vector<std::int64_t> lowest;
  lowest.reserve(static_cast<std::size_t>(w.batches * w.out_height * w.out_width));
  for (std::int64_t b = 0; b < w.batches; ++b) {
    for (std::int64_t y = 0; y < w.out_height; ++y) {
      const std::int64_t row = FirstInside(y * w.stride_height - w.pad_top, w.kernel_height,
                                           w.dilation_height, w.in_height);
      for (std::int64_t x = 0; x < w.out_width; ++x) {
        const std::int64_t column = FirstInside(x * w.stride_width - w.pad_left, w.kernel_width,
                                                w.dilation_width, w.in_width);
        const bool any = row < w.in_height && column < w.in_width;
        const std::int64_t pixel = (b * w.in_height + row) * w.in_width + column;
        lowest.push_back(any ? pixel * w.in_channels * in_bytes : kNever);
      }
    }
  }
  return lowest;
}

namespace {

using overlap::LowestReads;

struct PixelChannels {
  std::int64_t in = 1;
  std::int64_t out = 1;
  bool per_channel = false;  // an output channel reads one channel of the input
};

// Loops: batch, row, column, output channel; each output element after all that it reads, of which
// `lowest` has the first byte for each pixel.
std::int64_t PixelDistance(const std::vector<std::int64_t>& lowest, const PixelChannels& channels,
                           std::int64_t in_bytes, std::int64_t out_bytes) {
  Distance distance;
  std::int64_t later = kNever;  // of all pixels behind this one
  for (std::size_t at = lowest.size(); at-- > 0;) {
    const std::int64_t own = lowest[at];
    const std::int64_t first = static_cast<std::int64_t>(at) * channels.out;
    distance.Written((first + channels.out) * out_bytes, later);
    if (own == kNever) continue;
    if (channels.per_channel) {
      // After c channels, c / multiplier of the input have been read. The distance is convex in the
      // channels of the input: the first one and the last two determine it.
      const std::int64_t multiplier = channels.out / channels.in;
      const std::int64_t last = channels.out - 1;
      const std::int64_t group = last / multiplier;
      for (const std::int64_t q : {std::int64_t{multiplier == 1}, group - 1, group}) {
        const std::int64_t c = std::min(q * multiplier + multiplier - 1, last);
        if (c < 1) continue;
        distance.Written((first + c) * out_bytes, std::min(own + q * in_bytes, later));
      }
    } else if (channels.out > 1) {
      distance.Written((first + channels.out - 1) * out_bytes, std::min(own, later));
    }
    later = std::min(later, own);
  }
  return distance.Bytes();
}

std::int64_t WindowDistance(const Window& w, std::int64_t in_bytes, std::int64_t out_bytes) {
  return PixelDistance(LowestReads(w, in_bytes), {w.in_channels, w.out_channels, w.per_channel},
                       in_bytes, out_bytes);
}

// Bilinear: as above, channel by channel. Nearest: a pixel is copied as a whole, by memcpy, which
// must not meet its own source.
using ResizeIndices = std::vector<std::int64_t> (*)(const Resize&, std::int64_t, std::int64_t);
std::int64_t ResizeDistance(const Resize& resize, const Shape& in, const Shape& out,
                            std::int64_t bytes, ResizeIndices indices) {
  const std::vector<std::int64_t> rows = indices(resize, in[1], out[1]);
  const std::vector<std::int64_t> columns = indices(resize, in[2], out[2]);
  const std::int64_t pixel = in[3] * bytes;
  std::vector<std::int64_t> lowest;
  for (std::int64_t b = 0; b < in[0]; ++b) {
    for (const std::int64_t row : rows) {
      for (const std::int64_t column : columns) {
        lowest.push_back(((b * in[1] + row) * in[2] + column) * pixel);
      }
    }
  }
  if (!resize.nearest) return PixelDistance(lowest, {in[3], out[3], true}, bytes, bytes);
  Distance distance;
  std::int64_t later = kNever;
  for (std::size_t at = lowest.size(); at-- > 0;) {
    later = std::min(later, lowest[at]);
    distance.Written((static_cast<std::int64_t>(at) + 1) * pixel, later);
  }
  return distance.Bytes();
}

// Element i is written after element i was read, before element i + 1 is.
std::int64_t ElementwiseDistance(std::int64_t elements, std::int64_t in_bytes,
                                 std::int64_t out_bytes) {
  Distance distance;
  if (elements > 1) {
    distance.Written(out_bytes, in_bytes);
    distance.Written((elements - 1) * out_bytes, (elements - 1) * in_bytes);
  }
  return distance.Bytes();
}

// Loops: batch, output; each output after the whole row of its batch.
std::int64_t FullyConnectedDistance(std::int64_t batches, std::int64_t depth, std::int64_t outputs,
                                    std::int64_t in_bytes, std::int64_t out_bytes) {
  Distance distance;
  for (std::int64_t b = 0; b < batches; ++b) {
    if (outputs > 1) {
      distance.Written((b * outputs + outputs - 1) * out_bytes, b * depth * in_bytes);
    }
    if (b + 1 < batches) {
      distance.Written((b + 1) * outputs * out_bytes, (b + 1) * depth * in_bytes);
    }
  }
  return distance.Bytes();
}

// One pass over the output; elements outside the input are filled in on the way. The number of
// output elements before an input element, minus the number of input elements before it, only
// grows.
std::int64_t PadDistance(const Shape& in, const Shape& out, const std::vector<std::int64_t>& before,
                         std::int64_t bytes) {
  Distance distance;
  std::int64_t last_in = 0;
  std::int64_t last_out = 0;
  for (std::size_t d = 0; d < in.size(); ++d) {
    last_in = last_in * in[d] + (in[d] - 1);
    last_out = last_out * out[d] + (before[d] + in[d] - 1);
  }
  distance.Written(last_out * bytes, last_in * bytes);
  return distance.Bytes();
}

using overlap::Subject;

// MEAN over height and width of one image: all sums before the first write, in Neap alone.
bool IsSpatialMean(const Subject& s) {
  const Tensor* axes = graph::Operand(s.subgraph, s.op.inputs, 1);
  if (s.in.shape->size() != 4 || s.in.shape->front() != 1 || axes == nullptr || !axes->data) {
    return false;
  }
  const auto bytes = axes->data->bytes;
  return axes->type == graph::ElementType::kInt32 && bytes.size() == 8 &&
         bytes[0] == std::byte{1} && bytes[4] == std::byte{2} &&
         Elements(*s.out.shape) == s.in.shape->back();
}

std::optional<OverlapRule> Below(std::int64_t distance) {
  return OverlapRule{OverlapRule::Kind::kStartsBelow, distance};
}

bool HaveEqualScales(const Tensor& a, const Tensor& b) {
  if (!a.quantization || !b.quantization) return !a.quantization && !b.quantization;
  return a.quantization->scales == b.quantization->scales &&
         a.quantization->zero_points == b.quantization->zero_points;
}

// No order of accesses is known then.
bool OnlyCopies(const Subject& s) { return s.library == KernelLibrary::kCopies; }

}  // namespace

std::optional<std::vector<std::int64_t>> overlap::PaddingsBefore(const Tensor* paddings,
                                                                 std::size_t rank) {
  if (paddings == nullptr || !paddings->data) return std::nullopt;
  const auto bytes = paddings->data->bytes;
  const auto element = static_cast<std::size_t>(ElementBytes(*paddings));
  const bool integers =
      paddings->type == graph::ElementType::kInt32 || paddings->type == graph::ElementType::kInt64;
  if (!integers || bytes.size() != rank * 2 * element) return std::nullopt;
  std::vector<std::int64_t> before;
  for (std::size_t d = 0; d < rank; ++d) {
    std::uint64_t value = 0;
    for (std::size_t k = element; k-- > 0;) {
      value = value << 8U | std::to_integer<std::uint64_t>(bytes[d * 2 * element + k]);
    }
    before.push_back(element == 4 ? static_cast<std::int32_t>(static_cast<std::uint32_t>(value))
                                  : static_cast<std::int64_t>(value));
  }
  return before;
}

// Every input of a concatenation along the outermost dimension that is not 1 is one piece of the
// output.
std::optional<OverlapRule> overlap::Concatenation(const Subject& s) {
  const Shape& out = *s.out.shape;
  std::int64_t axis = IntegerAttribute(s.op, "axis", 0);
  if (axis < 0) axis += static_cast<std::int64_t>(out.size());
  if (axis < 0 || axis >= static_cast<std::int64_t>(out.size())) return std::nullopt;
  for (std::int64_t d = 0; d < axis; ++d) {
    if (out[static_cast<std::size_t>(d)] != 1) return std::nullopt;
  }
  std::int64_t at = 0;  // elements before the part
  std::optional<OverlapRule> rule;
  for (std::size_t i = 0; i < s.op.inputs.size(); ++i) {
    const Tensor* part = graph::Operand(s.subgraph, s.op.inputs, i);
    if (part == nullptr || !part->shape || part->type != s.out.type) return std::nullopt;
    // Kernels of uint8 bring their inputs to the scale of the output: no copy.
    if (part->type == graph::ElementType::kUint8 && !HaveEqualScales(*part, s.out)) {
      return std::nullopt;
    }
    if (i == s.input) {
      rule = OverlapRule{OverlapRule::Kind::kHoldsInput, at * s.out_bytes};
    } else if (s.op.inputs[i] == s.op.inputs[s.input]) {
      return std::nullopt;  // twice the same tensor has no one place
    }
    at += Elements(*part->shape);
  }
  return rule;
}

// Kernels that move nothing when source and destination are one.
std::optional<OverlapRule> overlap::Reshape(const Subject& s) {
  if (s.input != 0 || s.in_bytes != s.out_bytes ||
      Elements(*s.in.shape) != Elements(*s.out.shape)) {
    return std::nullopt;
  }
  return OverlapRule{OverlapRule::Kind::kHoldsInput, 0};
}

std::optional<OverlapRule> overlap::Window(const Subject& s) {
  const auto window = WindowOf(s.subgraph, s.op);
  if (OnlyCopies(s) || s.input != 0 || !window) return std::nullopt;
  return Below(WindowDistance(*window, s.in_bytes, s.out_bytes));
}

std::optional<OverlapRule> overlap::Resize(const Subject& s) {
  const auto resize = ResizeOf(s.subgraph, s.op);
  if (OnlyCopies(s) || s.input != 0 || !resize) return std::nullopt;
  return Below(ResizeDistance(*resize, *s.in.shape, *s.out.shape, s.in_bytes, LowestIndices));
}

std::optional<OverlapRule> overlap::Unary(const Subject& s) {
  if (OnlyCopies(s) || *s.in.shape != *s.out.shape || s.input != 0) return std::nullopt;
  return Below(ElementwiseDistance(Elements(*s.in.shape), s.in_bytes, s.out_bytes));
}

std::optional<OverlapRule> overlap::Binary(const Subject& s) {
  if (OnlyCopies(s) || *s.in.shape != *s.out.shape || s.input > 1 || s.in.type != s.out.type) {
    return std::nullopt;
  }
  return Below(0);
}

std::optional<OverlapRule> overlap::FullyConnected(const Subject& s) {
  if (OnlyCopies(s) || s.input != 0) return std::nullopt;
  const std::int64_t outputs = s.out.shape->empty() ? 0 : s.out.shape->back();
  if (outputs <= 0) return std::nullopt;
  const std::int64_t batches = Elements(*s.out.shape) / outputs;
  const std::int64_t elements = Elements(*s.in.shape);
  if (batches <= 0 || elements % batches != 0) return std::nullopt;
  return Below(
      FullyConnectedDistance(batches, elements / batches, outputs, s.in_bytes, s.out_bytes));
}

std::optional<OverlapRule> overlap::Pad(const Subject& s) {
  if (OnlyCopies(s) || s.input != 0) return std::nullopt;
  const auto before =
      PaddingsBefore(graph::Operand(s.subgraph, s.op.inputs, 1), s.in.shape->size());
  if (!before || s.in.shape->size() != s.out.shape->size() || s.in.shape->size() > 5 ||
      s.in.type != s.out.type) {
    return std::nullopt;
  }
  return Below(PadDistance(*s.in.shape, *s.out.shape, *before, s.in_bytes));
}

// The stock kernels set their output to 0 before they read.
std::optional<OverlapRule> overlap::Mean(const Subject& s) {
  const bool fits = s.library == KernelLibrary::kNeap && s.input == 0 && IsSpatialMean(s) &&
                    s.in.type == s.out.type;
  return fits ? Below(0) : std::nullopt;
}

std::int64_t LeastResizeDistance(const Subgraph& subgraph, const Op& op) {
  const auto resize = ResizeOf(subgraph, op);
  if (!resize) return 0;
  const Tensor& in = subgraph.tensors[op.inputs[0]];
  const Tensor& out = subgraph.tensors[op.outputs[0]];
  return ResizeDistance(*resize, *in.shape, *out.shape, ElementBytes(in), LatestIndices);
}

std::span<const KernelLibraryInfo> KernelLibraries() { return kLibraries; }

std::vector<KernelLibrary> LibrariesOf(KernelLibrary set) {
  std::vector<KernelLibrary> libraries;
  for (std::uint32_t bit = 1; bit != 0; bit <<= 1U) {
    const auto library = static_cast<KernelLibrary>(bit);
    if (Includes(set, library)) libraries.push_back(library);
  }
  return libraries;
}

std::string NameOf(KernelLibrary library) {
  std::string names;
  KernelLibrary named = KernelLibrary::kNone;
  for (const KernelLibraryInfo& info : kLibraries) {
    if (!Includes(library, info.library) || Includes(named, info.library)) continue;
    names += (names.empty() ? "" : ",") + std::string(info.name);
    named = named | info.library;
  }
  return names.empty() ? "none" : names;
}

std::optional<KernelLibrary> KernelLibraryNamed(std::string_view names) {
  KernelLibrary set = KernelLibrary::kNone;
  for (std::size_t begin = 0; begin <= names.size();) {
    const std::size_t end = std::min(names.find(',', begin), names.size());
    const std::string_view name = names.substr(begin, end - begin);
    const auto* const found =
        std::find_if(kLibraries.begin(), kLibraries.end(),
                     [&](const KernelLibraryInfo& info) { return info.name == name; });
    if (found == kLibraries.end()) return std::nullopt;
    set = set | found->library;
    begin = end + 1;
  }
  return set;
}

KernelLibrary LibraryOfTarget(const target::Target& target) {
  switch (target.kernels) {
    case target::Kernels::kReference:
      return KernelLibrary::kTflmReference;
    case target::Kernels::kCmsisNn:
      return target.simd == target::Simd::kMve   ? KernelLibrary::kCmsisNnMve
             : target.simd == target::Simd::kDsp ? KernelLibrary::kCmsisNnDsp
                                                 : KernelLibrary::kCmsisNnScalar;
    case target::Kernels::kEspNn:
      return target.simd == target::Simd::kNone ? KernelLibrary::kEspNn : KernelLibrary::kNone;
  }
  return KernelLibrary::kNone;
}

bool HoldsOnTarget(KernelLibrary library, const target::Target& target) {
  if (library == KernelLibrary::kNone || Includes(library, KernelLibrary::kCopies)) return true;
  const KernelLibrary own = LibraryOfTarget(target);
  return own != KernelLibrary::kNone && Includes(library, own);
}

namespace {

// Of one library.
std::optional<OverlapRule> RuleOf(Subject subject, KernelLibrary library) {
  const auto rule_of = RowOf(KindOf(subject.op)).overlap;
  subject.library = library;
  const bool has_own = Includes(KernelLibrary::kCmsisNn | KernelLibrary::kEspNn | kNeapRt, library);
  if (has_own) {
    // Kernels that copy are TensorFlow Lite Micro's, or do the same.
    subject.library = KernelLibrary::kCopies;
    if (const auto copies = rule_of == nullptr ? std::nullopt : rule_of(subject)) return copies;
    subject.library = library;
    return library == KernelLibrary::kEspNn ? overlap::EspNn(subject)
           : library == kNeapRt             ? overlap::NeapRt(subject)
                                            : overlap::CmsisNn(subject);
  }
  return rule_of == nullptr ? std::nullopt : rule_of(subject);
}

// Right under both.
std::optional<OverlapRule> Both(const std::optional<OverlapRule>& a,
                                const std::optional<OverlapRule>& b) {
  if (!a || !b || a->kind != b->kind) return std::nullopt;
  if (a->kind == OverlapRule::Kind::kHoldsInput && a->bytes != b->bytes) return std::nullopt;
  return OverlapRule{a->kind, std::max(a->bytes, b->bytes)};
}

}  // namespace

std::optional<OverlapRule> OverlapRuleOf(const Subgraph& subgraph, const Op& op, std::size_t input,
                                         KernelLibrary library) {
  if (library == KernelLibrary::kNone || !op.bodies.empty()) return std::nullopt;
  const Tensor* in = graph::Operand(subgraph, op.inputs, input);
  const Tensor* out = graph::Operand(subgraph, op.outputs, 0);
  if (in == nullptr || out == nullptr || op.outputs.size() != 1) return std::nullopt;
  const auto in_total = graph::TensorBytes(*in);
  const auto out_total = graph::TensorBytes(*out);
  const Subject subject{subgraph,           op,     input, *in, *out, ElementBytes(*in),
                        ElementBytes(*out), library};
  if (!in_total || !out_total || *in_total == 0 || *out_total == 0 || subject.in_bytes == 0 ||
      subject.out_bytes == 0) {
    return std::nullopt;
  }
  // Read in a second place, in another order.
  const bool twice = std::count(op.inputs.begin(), op.inputs.end(), op.inputs[input]) > 1;
  if (twice && RowOf(KindOf(op)).overlap != &overlap::Binary) return std::nullopt;
  std::optional<OverlapRule> rule;
  for (const KernelLibrary each : LibrariesOf(library)) {
    const auto own = RuleOf(subject, each);
    rule = each == LibrariesOf(library).front() ? own : Both(rule, own);
    if (!rule) return std::nullopt;
  }
  const bool useless =
      rule && rule->kind == OverlapRule::Kind::kStartsBelow && rule->bytes >= *out_total;
  return useless ? std::nullopt : rule;
}

std::int64_t FirstByteRead(const Subgraph& subgraph, const Op& op, std::size_t input) {
  if (!Is(op, OpKind::kSlice) || input != 0 || op.outputs.size() != 1) return 0;
  const Tensor* in = graph::Operand(subgraph, op.inputs, 0);
  const Tensor* out = graph::Operand(subgraph, op.outputs, 0);
  if (in == nullptr || out == nullptr || !in->shape || !out->shape) return 0;
  const auto bytes = graph::TensorBytes(*in);
  const auto need = NeedOf(subgraph, op, 0, WholeBox(*out->shape));
  if (!bytes || !need || IsEmpty(need->box)) return 0;
  std::int64_t first = 0;
  for (std::size_t d = 0; d < need->box.size(); ++d) {
    first = first * (*in->shape)[d] + need->box[d].begin;
  }
  return first * ElementBytes(*in);
}

bool CopiesIntoBody(const Op& op, KernelLibrary library) {
  const bool stock = library != KernelLibrary::kNone && !Includes(library, KernelLibrary::kNeap) &&
                     !Includes(library, kNeapRt);
  return stock && Is(op, OpKind::kIf) && !op.bodies.empty();
}

}  // namespace neap::ops
