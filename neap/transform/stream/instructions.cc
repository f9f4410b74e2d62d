// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/stream/instructions.h"

#include <algorithm>
#include <cstddef>

namespace neap::stream {
namespace {

using plan::StreamRange;
using plan::StreamRing;

constexpr std::int64_t kUnit = 1024;  // of a rate
constexpr std::size_t kProcessors = 2;

// By processor, Kernel and event, in parts of kUnit.
constexpr std::int32_t kRates[kProcessors][kKernels][kEvents] = {
#include "neap/transform/stream/instruction_rates.inc"
};

std::size_t IndexOf(Processor processor) { return processor == Processor::kCortexM4Dsp ? 0 : 1; }

std::int64_t Ceiling(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// What drivers find for one row of boxes, or two.
struct Found {
  std::int64_t rows = 0;       // calls of the driver
  std::int64_t row_pairs = 0;  // of them with two rows
  std::int64_t calls = 0;      // of the kernel
  std::int64_t runs = 0;       // searches for taps inside of the input
  std::int64_t run_rows = 0;   // of taps
  std::int64_t edges = 0;      // searches for taps that are apart, or padding
  std::int64_t wraps = 0;      // rows of taps in them that the end of a ring divides
  std::int64_t pairs = 0;      // of pixels that are computed together
  std::int64_t singles = 0;
  std::int64_t copies = 0;   // of inputs, where they are copied
  std::int64_t apart = 0;    // of them: of a single tap
  std::int64_t vectors = 0;  // of 16 bytes in them
  std::int64_t blocks = 0;   // of 16 channels, where pixels are as one of more channels

  void Add(const Found& other, std::int64_t times) {
    rows += other.rows * times;
    row_pairs += other.row_pairs * times;
    calls += other.calls * times;
    runs += other.runs * times;
    run_rows += other.run_rows * times;
    edges += other.edges * times;
    wraps += other.wraps * times;
    pairs += other.pairs * times;
    singles += other.singles * times;
    copies += other.copies * times;
    apart += other.apart * times;
    vectors += other.vectors * times;
    blocks += other.blocks * times;
  }
};

// The places of an axis whose taps are all inside of the input.
StreamRange InsideOf(std::int64_t places, std::int64_t taps, std::int64_t stride,
                     std::int64_t dilation, std::int64_t pad, std::int64_t size) {
  const std::int64_t last = size - 1 - (taps - 1) * dilation + pad;  // of the first tap
  const std::int64_t first = pad > 0 ? Ceiling(pad, stride) : 0;
  return {first, last < 0 ? first : std::min(places, last / stride + 1)};
}

bool Contains(const StreamRange& range, std::int64_t place) {
  return range.first <= place && place < range.last;
}

// The drivers and what they pass to kernels: neap_drive_runs, neap_drive_points, neap_drive_strip.
class Driver {
 public:
  Driver(Processor processor, const KernelShape& shape, const Rings& rings)
      : shape_(shape),
        rings_(rings),
        is_dsp_(processor == Processor::kCortexM4Dsp),
        pairs_(shape.kernel == Kernel::kConvolution),
        inside_rows_(InsideOf(shape.rows, shape.taps_high, shape.stride_y, shape.dilation_y,
                              shape.pad_y, shape.in_height)),
        inside_columns_(InsideOf(shape.columns, shape.taps_wide, shape.stride_x, shape.dilation_x,
                                 shape.pad_x, shape.in_width)) {
    constexpr std::int64_t kMaxBytes = 768;
    constexpr std::int64_t kMaxPixels = 127;
    const std::int64_t channels = pairs_ ? shape.inputs : shape.channels;
    const std::int64_t pixels =
        std::clamp<std::int64_t>(kMaxBytes / channels, 1, std::min(shape.in_width, kMaxPixels));
    padded_ = is_dsp_ ? 1 : 1 + (pixels - 1) / shape.stride_x;
  }

  Found All(std::span<const StreamRange> rows, std::span<const StreamRange> columns) const {
    Found all;
    for (const StreamRange& range : columns) {
      if (range.empty()) continue;
      if (range.size() == 1 && pairs_) {
        for (const StreamRange& box : rows) AddOneColumn(box, range.first, &all);
        continue;
      }
      const bool alike = rings_.from.empty() && rings_.to.empty();
      const Found inside =
          alike && !inside_rows_.empty() ? Row(inside_rows_.first, range) : Found();
      for (const StreamRange& box : rows) {
        const StreamRange middle = {std::max(box.first, inside_rows_.first),
                                    std::min(box.last, inside_rows_.last)};
        if (alike) all.Add(inside, middle.size());
        for (std::int64_t y = box.first; y < box.last; ++y) {
          if (!alike || !Contains(middle, y)) all.Add(Row(y, range), 1);
        }
      }
    }
    return all;
  }

 private:
  // Rows of taps outside of the input.
  std::int64_t OutsideOf(std::int64_t y) const {
    std::int64_t outside = 0;
    for (std::int64_t i = 0; i < shape_.taps_high; ++i) outside += IsOutside(RowOf(y, i)) ? 1 : 0;
    return outside;
  }
  std::int64_t RowOf(std::int64_t y, std::int64_t tap) const {
    return y * shape_.stride_y - shape_.pad_y + tap * shape_.dilation_y;
  }
  bool IsOutside(std::int64_t row) const { return row < 0 || row >= shape_.in_height; }

  // One row of a box; without rings, rows with as many taps outside of the input are alike.
  Found Row(std::int64_t y, const StreamRange& columns) const {
    Found found;
    found.rows = 1;
    for (std::int64_t x = columns.first; x < columns.last;) {
      const std::int64_t count =
          std::min(columns.last - x, RestOf(rings_.to, shape_.columns, y, x));
      std::int64_t pixels = 0;
      if (shape_.points) {
        pixels = std::min(count, RestOf(rings_.from, shape_.columns, y, x));
      } else {
        pixels = Find(y, x, count, &found);
      }
      if (is_dsp_ && pairs_ && pixels == 1 && count > 1) {
        if (!shape_.points) (void)Find(y, x + 1, 1, &found);
        found.pairs += 1;
        pixels = 2;
      } else {
        Pass(pixels, shape_.points ? 0 : wrapped_ + OutsideOf(y),
             shape_.points || Contains(inside_columns_, x), &found);
      }
      ++found.calls;
      x += pixels;
    }
    return found;
  }

  // Pixels up to the end of the ring.
  static std::int64_t RestOf(std::span<const StreamRing> rings, std::int64_t width, std::int64_t y,
                             std::int64_t x) {
    constexpr std::int64_t kAll = std::int64_t{1} << 40;
    if (rings.empty()) return kAll;
    const auto count = static_cast<std::int64_t>(rings.size());
    const std::int64_t pixels = rings[static_cast<std::size_t>(y % count)].pixels;
    return pixels - (y / count * width + x) % pixels;
  }

  // For how many pixels taps are found, as neap_find_run and neap_find_edge do it.
  std::int64_t Find(std::int64_t y, std::int64_t x, std::int64_t count, Found* found) const {
    const std::int64_t reach = (shape_.taps_wide - 1) * shape_.dilation_x;
    const bool inside = Contains(inside_columns_, x);
    wrapped_ = 0;
    if (inside && Contains(inside_rows_, y)) {
      const std::int64_t left = x * shape_.stride_x - shape_.pad_x;
      const std::int64_t room = RoomOf(y, left, shape_.in_width - left);
      if (room > reach) {
        ++found->runs;
        found->run_rows += shape_.taps_high;
        return std::min(count, (room - reach - 1) / shape_.stride_x + 1);
      }
      if (shape_.taps_wide == kWrappedTaps) {
        ++found->runs;
        found->run_rows += shape_.taps_high;
        wrapped_ = WrappedOf(y, left);
        return 1;
      }
    }
    ++found->edges;
    return FindEdge(y, x, inside ? count : 1, found);
  }

  // Rows of so many taps are found by neap_find_run also where the end of a ring divides them.
  static constexpr std::int64_t kWrappedTaps = 3;
  std::int64_t WrappedOf(std::int64_t y, std::int64_t left) const {
    const std::int64_t reach = (shape_.taps_wide - 1) * shape_.dilation_x;
    std::int64_t wrapped = 0;
    for (std::int64_t i = 0; i < shape_.taps_high; ++i) {
      wrapped += RestOf(rings_.from, shape_.in_width, RowOf(y, i), left) <= reach ? 1 : 0;
    }
    return wrapped;
  }

  // Pixels that follow each other in all rows of taps.
  std::int64_t RoomOf(std::int64_t y, std::int64_t left, std::int64_t room) const {
    for (std::int64_t i = 0; i < shape_.taps_high && !rings_.from.empty(); ++i) {
      room = std::min(room, RestOf(rings_.from, shape_.in_width, RowOf(y, i), left));
    }
    return room;
  }

  std::int64_t FindEdge(std::int64_t y, std::int64_t x, std::int64_t pixels, Found* found) const {
    const std::int64_t left = x * shape_.stride_x - shape_.pad_x;
    const std::int64_t before =
        left < 0 ? Ceiling(-left, shape_.dilation_x) : 0;  // taps, as those behind the input
    const std::int64_t first = left + before * shape_.dilation_x;
    if (before >= shape_.taps_wide || first >= shape_.in_width) return 1;
    const std::int64_t fitting = (shape_.in_width - 1 - first) / shape_.dilation_x + 1;
    const std::int64_t taps = std::min(shape_.taps_wide - before, fitting);
    const std::int64_t reach = (taps - 1) * shape_.dilation_x + 1;
    std::int64_t room = shape_.in_width - first;
    for (std::int64_t i = 0; i < shape_.taps_high; ++i) {
      const std::int64_t row = RowOf(y, i);
      if (IsOutside(row)) {
        pixels = std::min(pixels, padded_);
        continue;
      }
      const std::int64_t rest = RestOf(rings_.from, shape_.in_width, row, first);
      if (reach > rest) {
        ++found->wraps;
        ++wrapped_;
        pixels = 1;
      } else {
        room = std::min(room, rest);
      }
    }
    if (pixels == 1 || room - reach >= (pixels - 1) * shape_.stride_x) return pixels;
    return (room - reach) / shape_.stride_x + 1;
  }

  // Pixels of one call of the kernel, with `outside` rows of taps apart from each other.
  void Pass(std::int64_t pixels, std::int64_t outside, bool inside, Found* found) const {
    found->pairs += pairs_ ? pixels / 2 : 0;
    found->singles += pairs_ ? pixels % 2 : pixels;
    found->blocks += Ceiling(pixels * shape_.channels, 16);
    const std::int64_t whole = inside ? shape_.taps_high - outside : 0;
    const std::int64_t apart = (shape_.taps_high - whole) * shape_.taps_wide;
    found->copies += pixels * (whole + apart);
    found->apart += pixels * apart;
    found->vectors += pixels * (whole * Ceiling(shape_.taps_wide * shape_.inputs, 16) +
                                apart * Ceiling(shape_.inputs, 16));
  }

  // Boxes of one column, two rows at a time.
  void AddOneColumn(const StreamRange& rows, std::int64_t x, Found* all) const {
    for (std::int64_t y = rows.first; y < rows.last; y += 2) {
      if (y + 1 == rows.last) {
        all->Add(Row(y, {x, x + 1}), 1);
        return;
      }
      ++all->rows;
      ++all->row_pairs;
      ++all->calls;
      ++all->pairs;
      Found two;
      if (shape_.points) {
        Pass(2, 0, true, &two);
      } else if (!FindsPair(y, x, all)) {
        for (std::int64_t row = y; row < y + 2; ++row) {
          ++all->edges;
          wrapped_ = 0;
          (void)FindEdge(row, x, 1, all);
          Pass(1, wrapped_ + OutsideOf(row), Contains(inside_columns_, x), &two);
        }
      } else {
        const std::int64_t left = x * shape_.stride_x - shape_.pad_x;
        for (std::int64_t row = y; row < y + 2; ++row) Pass(1, WrappedOf(row, left), true, &two);
      }
      all->copies += two.copies;
      all->apart += two.apart;
      all->vectors += two.vectors;
    }
  }

  // Whether two rows have one table of taps, as neap_find_pair finds it.
  bool FindsPair(std::int64_t y, std::int64_t x, Found* found) const {
    const bool together = shape_.dilation_y == 1 && shape_.stride_y <= shape_.taps_high;
    if (!together || !Contains(inside_columns_, x) || !Contains(inside_rows_, y) ||
        !Contains(inside_rows_, y + 1)) {
      return false;
    }
    const std::int64_t left = x * shape_.stride_x - shape_.pad_x;
    const std::int64_t room = shape_.in_width - left;
    const std::int64_t reach = (shape_.taps_wide - 1) * shape_.dilation_x;
    const bool follows = std::min(RoomOf(y, left, room), RoomOf(y + 1, left, room)) > reach;
    if (!follows && shape_.taps_wide != kWrappedTaps) return false;
    ++found->runs;
    found->run_rows += shape_.taps_high + shape_.stride_y;
    return true;
  }

  const KernelShape& shape_;
  const Rings& rings_;
  bool is_dsp_;
  bool pairs_;
  StreamRange inside_rows_;
  StreamRange inside_columns_;
  std::int64_t padded_ = 1;
  mutable std::int64_t wrapped_ = 0;  // rows of taps that the last search found apart
};

// Writes events one after the other.
class Writer {
 public:
  explicit Writer(Events* events) : events_(events) {}
  void Put(std::int64_t count) { (*events_)[at_++] = count; }

 private:
  Events* events_;
  std::size_t at_ = 0;
};

void PutDriver(const KernelShape& shape, const Found& found, Writer* out) {
  const std::int64_t high = shape.taps_high;
  out->Put(shape.points ? 0 : found.rows);
  out->Put(shape.points ? 0 : found.row_pairs);
  out->Put(shape.points ? 0 : found.calls);
  out->Put(shape.points ? found.rows : 0);
  out->Put(shape.points ? found.row_pairs : 0);
  out->Put(found.runs);
  out->Put(found.run_rows);
  out->Put(shape.taps_wide == 3 ? 0 : found.run_rows * shape.taps_wide);
  out->Put(found.edges);
  out->Put(found.edges * high);
  out->Put(found.edges * shape.taps());
  out->Put(found.wraps);
  out->Put(found.wraps * shape.taps_wide);
}

// Of the inputs of a pixel in neap_packed_widen: words of four, at the end of such a word or not,
// and bytes that are left of a row of taps.
struct Words {
  std::int64_t whole = 0;
  std::int64_t shifted = 0;
  std::int64_t bytes = 0;
};
Words WordsOf(const KernelShape& shape) {
  Words words;
  const std::int64_t row = shape.taps_wide * shape.inputs;
  for (std::int64_t i = 0; i < shape.taps_high; ++i) {
    (i * row % 4 == 0 ? words.whole : words.shifted) += row / 4;
    words.bytes += row % 4;
  }
  return words;
}

void PutConvolutionDsp(const KernelShape& shape, const Found& found, Writer* out) {
  const std::int64_t length = shape.taps() * shape.inputs;
  const std::int64_t words = length / 2;
  const std::int64_t fours = shape.channels / 4;
  const std::int64_t pixels = 2 * found.pairs + found.singles;
  const std::int64_t left = shape.channels % 4;
  out->Put(found.pairs);
  out->Put(found.singles);
  out->Put(fours > 0 ? found.pairs : 0);
  out->Put(fours > 0 ? found.singles : 0);
  out->Put(found.pairs * fours);
  out->Put(found.singles * fours);
  out->Put(found.pairs * fours * (words / 4));
  out->Put(found.singles * fours * (words / 8));
  out->Put(found.pairs * fours * (words % 4 + length % 2));
  out->Put(found.singles * fours * (words % 8 + length % 2));
  const bool are_fours = shape.inputs % 4 == 0;
  out->Put(are_fours ? found.pairs * shape.taps() : 0);
  out->Put(are_fours ? found.singles * shape.taps() : 0);
  out->Put(are_fours ? found.pairs * length / 4 : 0);
  out->Put(are_fours ? found.singles * length / 4 : 0);
  out->Put(shape.inputs == 1 ? pixels * length : 0);
  // Of three inputs, four taps at a time, and the last one; in runs, two pixels of nine taps.
  const bool threes = shape.inputs == 3 && shape.taps() >= 4 && shape.taps() % 4 < 2;
  const bool nines =
      threes && shape.taps_high == 3 && shape.taps_wide == 3 && shape.dilation_x == 1;
  const std::int64_t nine_pairs =
      nines ? found.pairs - std::min(found.pairs, Ceiling(found.edges, 2)) : 0;
  const std::int64_t three_pixels = threes ? pixels - 2 * nine_pairs : 0;
  out->Put(three_pixels * (shape.taps() / 4));
  out->Put(three_pixels * (shape.taps() % 4));
  const Words packed = WordsOf(shape);
  const std::int64_t others = are_fours || shape.inputs == 1 || threes ? 0 : pixels;
  out->Put(others * shape.taps_high);
  out->Put(others * packed.whole);
  out->Put(others * packed.shifted);
  out->Put(others * packed.bytes);
  out->Put(left >= 2 ? pixels : 0);
  out->Put(left >= 2 ? pixels * words : 0);
  out->Put(left % 2 != 0 ? pixels : 0);
  out->Put(left % 2 != 0 ? pixels * words : 0);
  out->Put(shape.rounded ? pixels * shape.channels : 0);
  out->Put(nine_pairs);
}

void PutConvolutionMve(const KernelShape& shape, const Found& found, Writer* out) {
  const std::int64_t length = shape.taps() * shape.inputs;
  const std::int64_t count = Ceiling(length, 16);
  const std::int64_t fours = shape.channels / 4;
  const std::int64_t left = shape.channels % 4;
  const std::int64_t pixels = 2 * found.pairs + found.singles;
  const bool in_place = shape.taps() == 1 && (length % 16 == 0 || (count == 1 && left == 0));
  const std::int64_t rounded = shape.rounded ? 1 : 0;
  const bool small = count == 1;
  out->Put(in_place ? 0 : pixels);
  out->Put(in_place ? 0 : found.copies);
  out->Put(in_place ? 0 : found.apart);
  out->Put(in_place ? 0 : found.vectors);
  out->Put(found.pairs);
  out->Put(found.singles);
  out->Put(fours > 0 ? found.pairs : 0);
  out->Put(fours > 0 ? found.singles : 0);
  out->Put(small ? found.pairs * fours : 0);
  out->Put(small ? found.singles * fours : 0);
  out->Put(small ? 0 : found.pairs * fours);
  out->Put(small ? 0 : found.singles * fours);
  out->Put(found.pairs * fours * (count - 1));
  out->Put(found.singles * fours * (count - 1));
  out->Put(rounded * found.pairs * fours);
  out->Put(rounded * found.singles * fours);
  out->Put(left != 0 ? pixels : 0);
  out->Put(pixels * left);
  out->Put(pixels * left * count);
  // A kernel of its own, which copies the inputs of two pixels together.
  const bool is_small = small && left == 0;
  out->Put(is_small ? found.calls : 0);
  out->Put(is_small ? found.pairs : 0);
  out->Put(is_small ? found.singles : 0);
  out->Put(is_small && !in_place ? found.pairs : 0);
  out->Put(is_small && !in_place ? found.pairs * shape.taps_high : 0);
}

constexpr std::int64_t kNine = 9;

void PutDepthwiseDsp(const KernelShape& shape, const Found& found, Writer* out) {
  const std::int64_t fours = shape.channels / 4;
  const std::int64_t left = shape.channels % 4;
  const bool is_nine = shape.taps() == kNine && fours > 0;
  const std::int64_t rounded = shape.rounded ? 1 : 0;
  out->Put(is_nine ? found.singles : 0);
  out->Put(is_nine ? found.singles * fours : 0);
  out->Put(is_nine ? 0 : found.singles);
  out->Put(is_nine ? 0 : found.singles * fours);
  out->Put(is_nine ? 0 : found.singles * fours * (shape.taps() / 2));
  out->Put(is_nine ? 0 : found.singles * fours * (shape.taps() % 2));
  out->Put(found.singles * left);
  out->Put(found.singles * left * shape.taps());
  out->Put(rounded * found.singles * shape.channels);
}

void PutDepthwiseMve(const KernelShape& shape, const Found& found, Writer* out) {
  const std::int64_t channels = shape.channels;
  const bool is_nine = shape.taps() == kNine && channels % 4 == 0;
  const bool repeats = is_nine && shape.stride_x == 1 && channels < 16 && 16 % channels == 0;
  const std::int64_t pixels = is_nine && !repeats ? found.singles : 0;
  const std::int64_t all = found.singles * Ceiling(channels, 16);
  const std::int64_t nine = repeats ? found.blocks : is_nine ? all : 0;
  out->Put(pixels);
  out->Put(nine);
  out->Put(repeats ? found.calls : 0);
  out->Put(is_nine ? 0 : found.singles);
  out->Put(is_nine ? 0 : all);
  out->Put(is_nine ? 0 : all * shape.taps());
  out->Put(shape.rounded ? (is_nine ? nine : all) : 0);
}

// Of drivers and kernels of any processor.
void PutSimple(const KernelShape& shape, std::int64_t rows, std::int64_t chunks,
               std::int64_t pixels, Writer* out) {
  out->Put(rows);
  out->Put(chunks);
  out->Put(chunks * shape.taps_high);
  out->Put(pixels);
  out->Put(pixels * shape.taps());
  out->Put(pixels * shape.channels);
  out->Put(pixels * shape.channels * shape.taps());
  out->Put(rows * shape.channels);
  // Of copies, by bytes or by words.
  const bool by_words = shape.channels % 4 == 0;
  out->Put(by_words ? 0 : pixels * shape.channels);
  out->Put(by_words ? pixels * (shape.channels / 16) : 0);
  out->Put(by_words ? pixels * (shape.channels % 16 / 4) : 0);
}

}  // namespace

Events EventsOf(Processor processor, const KernelShape& shape, std::span<const StreamRange> rows,
                std::span<const StreamRange> columns, const Rings& rings) {
  Events events = {};
  if (shape.kernel == Kernel::kNothing) return events;
  Writer out(&events);
  std::int64_t row_boxes = 0;
  std::int64_t height = 0;
  for (const StreamRange& range : rows) {
    row_boxes += range.empty() ? 0 : 1;
    height += range.size();
  }
  constexpr std::int64_t kTapBudget = 18;
  constexpr std::int64_t kMaxPixels = 8;
  const std::int64_t together = std::clamp<std::int64_t>(kTapBudget / shape.taps(), 1, kMaxPixels);
  std::int64_t column_boxes = 0;
  std::int64_t single_columns = 0;
  std::int64_t width = 0;
  std::int64_t chunks = 0;
  for (const StreamRange& range : columns) {
    column_boxes += range.empty() ? 0 : 1;
    single_columns += range.size() == 1 ? 1 : 0;
    width += range.size();
    chunks += Ceiling(range.size(), together);
  }
  const bool is_whole =
      row_boxes * column_boxes == 1 && height == shape.rows && width == shape.columns;
  out.Put(row_boxes * column_boxes);
  if (shape.kernel == Kernel::kSums) {
    // Means of a tensor as a whole have a driver of their own.
    const std::int64_t one = is_whole ? 0 : height * single_columns;
    const std::int64_t several = is_whole ? 0 : height * (column_boxes - single_columns);
    out.Put(one);
    out.Put(one * shape.channels);
    out.Put(several);
    out.Put(several * shape.channels);
    out.Put(is_whole ? 0 : height * (width - single_columns) * shape.channels);
    out.Put(is_whole ? 0 : shape.channels);
    out.Put(is_whole ? shape.channels : 0);
    out.Put(is_whole ? height * shape.channels : 0);
    out.Put(is_whole ? height * width * shape.channels : 0);
    return events;
  }
  if (shape.kernel != Kernel::kConvolution && shape.kernel != Kernel::kDepthwise) {
    PutSimple(shape, height * column_boxes, height * chunks, height * width, &out);
    return events;
  }
  const Found found = Driver(processor, shape, rings).All(rows, columns);
  PutDriver(shape, found, &out);
  const bool is_mve = processor == Processor::kCortexM55Mve;
  if (shape.kernel == Kernel::kConvolution) {
    (is_mve ? PutConvolutionMve : PutConvolutionDsp)(shape, found, &out);
  } else {
    (is_mve ? PutDepthwiseMve : PutDepthwiseDsp)(shape, found, &out);
  }
  return events;
}

std::int64_t MoveInstructions(std::int64_t bytes) { return bytes / 4 * 5; }

std::int64_t InstructionsOf(Processor processor, Kernel kernel, const Events& events) {
  if (kernel == Kernel::kNothing) return 0;
  if (kernel == Kernel::kOther) return events[0] * 20 + events[1] * 150 + events[6] * 8;
  const auto& rates = kRates[IndexOf(processor)][static_cast<std::size_t>(kernel)];
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < kEvents; ++i) sum += events[i] * rates[i];
  return sum / kUnit;
}

}  // namespace neap::stream
