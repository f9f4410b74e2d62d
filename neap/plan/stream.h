// SPDX-License-Identifier: Apache-2.0
//
// Streamed plans: segments of the order that are computed block by block, so that most tensors are
// never stored completely. A plan is explicit: it states which box of its output every operator
// computes in every block, and the address of every pixel. Neither the executor nor the checker
// needs to know how the boxes were chosen.
//
// An image is a tensor of four dimensions with batch 1: (1, height, width, channels), in a subgraph
// of ONNX (1, channels, height, width). In a subgraph of ONNX, tensors of three dimensions that
// operators over (1, channels, time) read or write have their time steps as rows, and images whose
// channels are two dimensions (1, groups, channels, height, width) are images, too: ImagesOf(). Of
// any other tensor the first dimension that is not 1 is its rows (time steps, tokens, a batch): it
// is an image one column wide, whose pixels are all that follows; unless only the last dimension is
// not 1: that is one pixel, which contains all bytes. A pixel is all channels at one place, and
// stored together in every order of the dimensions: the caller of a streamed plan of ONNX writes
// inputs and reads outputs in that order.
//
// Blocks. A segment has row steps and column steps; for each row step, for each column step, the
// operators of the segment run in their order, each on the box rows[row step] x columns[column
// step] of its output, which may be empty. Operators read the parts that they need of their inputs
// (neap/ops/dependence.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "neap/graph/graph.h"

namespace neap::plan {

// Where the inputs of the model are.
enum class StreamInput : std::uint8_t {
  kResident,  // in the arena before the first segment, and counted
  kExternal,  // in other memory that can be read at any place, any number of times: not counted
  kRows,      // they come row by row, each once; the rows that are kept are counted
  kSlow,      // in slow memory, as the outputs: the plan has two memories (Stream::slow)
};
// "resident", "external", "rows", "slow": as plan.json and the command line have them.
std::string_view NameOf(StreamInput input);

// Half-open.
struct StreamRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
  bool empty() const { return first >= last; }
  std::int64_t size() const { return empty() ? 0 : last - first; }
  friend bool operator==(const StreamRange&, const StreamRange&) = default;
};

// `pixels` pixels one after the other from `offset`; the pixel after the last is the first again.
struct StreamRing {
  std::int64_t offset = 0;
  std::int64_t pixels = 0;
};

// The addresses of a tensor's pixels during a segment. With rows = rings.size() / columns, pixel
// (y, x) is in ring (y % rows) * columns + x % columns, and has the number (y / rows) * per_row + x
// / columns there, modulo the ring's pixels; per_row = width / columns, rounded up. One ring of all
// pixels is the whole tensor in row-major order.
struct StreamArea {
  graph::TensorId tensor;
  std::vector<StreamRing> rings;
  // More than 1: columns have rings of their own, where some readers leave out columns that others
  // read. It divides the number of rings.
  std::int64_t columns = 1;
};

struct StreamOp {
  // OpId(): the rows of the model's input `fed` are delivered instead (kRows), or the box of `fed`,
  // a tensor in slow memory, is read into its area (kSlow).
  graph::OpId op;
  graph::TensorId fed;
  // A mean over all places (ops::IsMeanOfPlaces) that takes its input part by part: boxes are those
  // of its input, each pixel in one of them; in ascending order, where ops::SumsInOrder. Its sums,
  // ops::SumBytesOf for each byte of the output, start at the output's offset; when the last pixel
  // has been added the output replaces them. In the same way, in ascending order, an operator with
  // a state of which only the last is read (ops::Recurrence::last_only): its sums are the state.
  bool sums = false;
  std::vector<StreamRange> rows;     // of the output, one for each row step
  std::vector<StreamRange> columns;  // one for each column step
  // Of an operator that splits its input (ops::trait::kSplits), or has a state (ops::RecurrenceOf)
  // and several outputs: the only output that this step computes. Without it a whole segment
  // computes all outputs.
  std::optional<std::int32_t> output = std::nullopt;
  // Of a step `fed` from slow memory: its copies begin there and are done at the end of the block.
  // Until then no step accesses their bytes in the arena, and none writes those in slow memory.
  bool ahead = false;
};

// A whole tensor is copied to another place before a segment begins (a memmove).
struct StreamMove {
  graph::TensorId tensor;
  std::int64_t from = 0;
  std::int64_t to = 0;
};

// How the weights of an operator (stream_weights.h) come into fast memory during a segment.
struct StreamWeights {
  graph::OpId op;
  std::int64_t offset = 0;  // of their buffer
  // 0: all of them are read before the first step, and stay until the segment ends. Otherwise they
  // are read for every box of the operator, those of `block` indices of dimension `axis` of its
  // output after the other, and each block of the output is computed before the next one is read.
  std::int64_t block = 0;
  std::int64_t axis = 0;
  // In blocks: the offset of another buffer. The blocks of a box are in the two in turn, and each
  // is copied while the one before it is computed.
  std::optional<std::int64_t> second = std::nullopt;
  // The copy of all weights that stay, or of the first block of a box, begins when this operator
  // begins its last block of weights, or its box where it has one block: in each of its boxes,
  // where it is of the same segment, and in its last one, where it is of the segment before. Until
  // the weights are used no step accesses their bytes in the arena. OpId(): it begins when they
  // are.
  graph::OpId after = graph::OpId();
  // In blocks: the weights of so many indices, the first ones, are a block of their own. They are
  // read to `kept_offset` before the first step, and stay until the segment ends; neither `second`
  // nor `after` is given then. 0: none stay.
  std::int64_t kept = 0;
  std::int64_t kept_offset = 0;
};

// Where an operator with an output for each step (ops::Recurrence, not last_only) has its state,
// ops::Recurrence::state_bytes: from its first box to the end of the segment. All its steps are in
// this segment, each once and in ascending order.
struct StreamState {
  graph::OpId op;
  std::int64_t offset = 0;
};

struct StreamSegment {
  // Without steps: its one operator runs once and as a whole.
  bool whole = false;
  // Of a whole: it runs channel by channel (ops::IsByChannel). Each channel of its input is copied
  // to this offset, row by row, before the same channel of its output is written, which may overlap
  // that of the input.
  std::optional<std::int64_t> channel_plane;
  std::vector<StreamMove> moves;  // in their order
  std::vector<StreamArea> areas;  // of everything that is in the arena during the segment
  // With SlowMemory::weight_bytes: of every operator that has weights.
  std::vector<StreamWeights> weights;
  std::vector<StreamState> states;  // of the operators among `ops` that have one
  std::vector<StreamOp> ops;
};

// Limits of the executor and the checker: bytes of the arena and of one tensor, boxes in all, and
// how many times the pixels of the model may be computed.
inline constexpr std::int64_t kMaxStreamBytes = std::int64_t{1} << 28;
inline constexpr std::int64_t kMaxStreamBoxes = std::int64_t{1} << 23;
inline constexpr std::int64_t kMaxStreamRepeats = 64;

// A whole tensor in slow memory, in row-major order.
struct SlowPlace {
  graph::TensorId tensor;
  std::int64_t offset = 0;
};

// Bytes of each pixel of a region of `from`, which the pixels of `to` need: those at the
// same places, unless it is the last step of a path.
struct SlowPath {
  graph::TensorId from;
  graph::TensorId to;
  std::int64_t bytes = 0;
  bool last = false;  // the path ends: pixels of `to` that have not been computed need them
};

// A part of the proof of a traffic bound: the moment at which one pixel has been computed. The
// paths lead, at each place of a region, from tensors that are known there to operators that have
// not run, and every byte is on one path at most (docs/algorithms/streams.md).
struct SlowMoment {
  graph::TensorId tensor;  // the pixel
  std::int64_t row = 0;
  std::int64_t column = 0;
  StreamRange rows;  // the region
  StreamRange columns;
  std::vector<SlowPath> paths;
};

// Plans with two memories: the arena is fast memory, and every tensor has one home for its whole
// life. Operators access fast memory alone. The area of a tensor whose home is slow memory is a
// buffer of one segment: steps `fed` read boxes into it, a whole segment reads the whole input
// before its operator runs, and each box that an operator writes is written to slow memory at once.
// Inputs and outputs of the model are in slow memory.
struct SlowMemory {
  std::int64_t fast_bytes = 0;     // the limit of the arena for which the plan was made
  std::int64_t bytes = 0;          // height of `tensors`
  std::int64_t read_bytes = 0;     // from slow memory, each access counted
  std::int64_t written_bytes = 0;  // to slow memory
  std::int64_t ahead_bytes = 0;    // of those read, by steps that are `ahead`, and weights that are
                                   // copied while something is computed
  // Of those read, weights: they are in other slow memory than `tensors`, too. nullopt: operators
  // read them where they are, and they are not counted.
  std::optional<std::int64_t> weight_bytes = std::nullopt;
  // No plan that computes every pixel once reads and writes fewer bytes together; without `moments`
  // no plan at all.
  std::int64_t traffic_lower_bound_bytes = 0;
  std::vector<SlowMoment> moments;  // no place of a tensor is `from` in two of them
  std::vector<SlowPlace> tensors;   // by index
  std::int64_t TrafficBytes() const { return read_bytes + written_bytes; }
};

struct Stream {
  StreamInput input = StreamInput::kResident;
  std::vector<StreamSegment> segments;
  std::int64_t macs = 0;            // multiply-accumulates of the plan
  std::int64_t layerwise_macs = 0;  // of the model, every operator once
  // No plan that computes every pixel once, each tensor in row-major order, in this order of
  // operators, has a smaller arena.
  std::int64_t lower_bound_bytes = 0;
  std::int64_t cycles = 0;  // modelled (docs/algorithms/streams.md), for comparison only
  std::int64_t layerwise_cycles = 0;
  std::optional<SlowMemory> slow;  // with kSlow, and only then
};

// A tensor as an image.
struct StreamImage {
  std::int64_t height = 1;
  std::int64_t width = 1;
  std::int64_t pixel_bytes = 0;
  bool channels_first = false;  // in the tensor's dimensions
  // The dimensions of the tensor that are its rows and columns; none: there is one.
  std::optional<std::size_t> row_axis = std::nullopt;
  std::optional<std::size_t> column_axis = std::nullopt;
  std::int64_t bytes() const { return height * width * pixel_bytes; }
  // Whether a pixel's bytes are apart in the order of the dimensions.
  bool IsRearranged(std::int64_t element_bytes) const {
    return channels_first && height * width > 1 && pixel_bytes > element_bytes;
  }
  // Whether bytes are in the order of the dimensions, for elements of any size.
  bool KeepsOrder() const { return !channels_first || height * width == 1; }
};
// Whether the images of a subgraph have their channels first: its operators are those of ONNX.
// O(1).
bool HasChannelsFirst(const graph::Subgraph& subgraph);
// The image that a tensor is by its shape alone; `channels_first`: HasChannelsFirst(). Without a
// known size it has no bytes. ImagesOf() has the same images for a subgraph of .tflite.
StreamImage ImageOf(const graph::Tensor& tensor, bool channels_first = false);

// By tensor.
using StreamImages = IdVector<graph::TensorId, StreamImage>;
// The images that the tensors of a subgraph are, also by the operators that read and write them.
// In ONNX, (1, channels, time) are the data of convolutions and pooling over one axis and of batch
// normalisation, of three dimensions; inputs and outputs of element-wise operators, Concat, Split
// and the like beside them; and images whose rows and columns a reshape makes one axis. (1, groups,
// channels, height, width) are images of which a reshape splits the channels, and transposes of
// them with the same height and width. O(operands of all operators).
StreamImages ImagesOf(const graph::Subgraph& subgraph);

// The tensors that `step`, which runs an operator, computes: its `output`, or all that exist.
std::vector<graph::TensorId> OutputsOf(const graph::Subgraph& subgraph, const StreamOp& step);
// The tensor of which the boxes of `step` are parts: the fed one, the input of sums, the output.
graph::TensorId BoxedBy(const graph::Subgraph& subgraph, const StreamOp& step);
// Whether `step` names an output that its operator, which is known, may compute by itself; or,
// where it names none, `whole` or the operator has one output.
bool NamesOutput(const graph::Subgraph& subgraph, const StreamOp& step, bool whole);

// The bytes of the arena that a tensor has during a segment, in all of its rings; the end of the
// highest byte that the segment uses. `subgraph`: that of the plan; `images`: ImagesOf() of it.
std::int64_t BytesOf(const StreamImages& images, const StreamArea& area);
std::int64_t HeightOf(const graph::Subgraph& subgraph, const StreamImages& images,
                      const StreamSegment& segment);

// Multiply-accumulates of one pixel of the output of `op` (ops/macs.h), of a step where it has a
// state; at most 2^40. And of all pixels or steps.
std::int64_t MacsOfPixel(const graph::Subgraph& subgraph, const StreamImages& images,
                         const graph::Op& op);
std::int64_t MacsOfAll(const graph::Subgraph& subgraph, const StreamImages& images,
                       const graph::Op& op);

}  // namespace neap::plan
