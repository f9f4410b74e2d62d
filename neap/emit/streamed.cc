// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "neap/emit/segments.h"
#include "neap/emit/slow_weights.h"
#include "neap/emit/transfers.h"
#include "neap/ops/dependence.h"
#include "neap/plan/stream_boxes.h"
#include "neap/plan/stream_weights.h"

namespace neap::emit {
namespace {

using graph::OpId;
using graph::Subgraph;
using graph::TensorId;
using plan::StreamOp;
using plan::StreamRange;
using plan::StreamSegment;

// Of a segment with one operator.
void JoinBoxes(Segment* made) {
  if (made->calls.size() != 1 || !made->calls[0].op.valid()) return;
  Call& call = made->calls[0];
  if (call.weights && call.weights->block > 0) return;  // which are read for every box
  plan::StreamBoxes boxes = plan::JoinedBoxes({std::move(call.rows), std::move(call.columns)});
  call.rows = std::move(boxes.rows);
  call.columns = std::move(boxes.columns);
  if (call.columns.size() == 1) made->column_steps = 1;
  if (call.rows.size() == 1) made->row_steps = 1;
}

class Streamed {
 public:
  Streamed(const plan::EntryPlan& entry, Lowering* lowering, Refusals* refusals)
      : stream_(*entry.stream),
        subgraph_(lowering->subgraph()),
        lowering_(*lowering),
        refusals_(*refusals),
        producers_(graph::Producers(subgraph_)),
        transfers_(stream_, lowering) {}

  std::vector<Segment> Segments() {
    std::vector<Segment> segments;
    std::vector<std::size_t> made_at;  // by segment of the plan
    for (std::size_t s = 0; s < stream_.segments.size(); ++s) {
      const StreamSegment& segment = stream_.segments[s];
      at_ = s;
      TakeAreas(segment);
      Segment made;
      for (const plan::StreamMove& move : segment.moves) {
        const std::int64_t bytes = ComputedBytes(move.tensor);
        if (bytes > 0) made.moves.push_back({move.from, move.to, bytes, 0, 0});
      }
      if (segment.whole) {
        AddWhole(segment, &made);
      } else {
        AddBlocks(segment, &made);
        if (EarlyBytes(s).empty()) JoinBoxes(&made);
      }
      AddStaying(segment, &made, &segments);
      SplitAll(&made);
      const std::vector<StreamRange> used = UsedBytes(segment);
      made_at.push_back(segments.size());
      for (Call& call : made.calls) call.used = used;
      AddWaits(&made);
      Remember(segment);
      if (!made.moves.empty() || !made.calls.empty()) segments.push_back(std::move(made));
    }
    for (const Begin& begin : begins_) AddBegin(begin, &segments[made_at[begin.segment]].calls);
    return segments;
  }

 private:
  // Copies of weights that begin with another operator (plan::StreamWeights::after).
  struct Begin {
    OpId op;
    OpId after;
    std::size_t segment = 0;  // in which they begin
    bool at_last = false;     // with its last box
    std::vector<WeightCopy> copies;
  };

  void TakeAreas(const StreamSegment& segment) {
    lowering_.ClearPlaces();
    for (const plan::StreamArea& area : segment.areas) {
      lowering_.SetPlace(area.tensor, {area.rings, 0, area.columns});
    }
    if (stream_.input != plan::StreamInput::kExternal) return;
    for (std::size_t i = 0; i < subgraph_.inputs.size(); ++i) {
      const plan::StreamImage image = plan::ImageOf(subgraph_.tensors[subgraph_.inputs[i]]);
      lowering_.SetPlace(subgraph_.inputs[i], {{{0, image.height * image.width}},
                                               kExternal + static_cast<std::int32_t>(i)});
    }
  }

  // All tensors of the arena, sums of means, and the copy of a channel.
  std::vector<StreamRange> UsedBytes(const StreamSegment& segment) const {
    std::vector<StreamRange> used;
    for (const plan::StreamArea& area : segment.areas) {
      const plan::StreamImage image = plan::ImageOf(subgraph_.tensors[area.tensor]);
      for (const plan::StreamRing& ring : area.rings) {
        used.push_back({ring.offset, ring.offset + ring.pixels * image.pixel_bytes});
      }
      const OpId producer = producers_[area.tensor];
      if (!producer.valid() || !ops::IsMeanOfPlaces(subgraph_, subgraph_.ops[producer])) continue;
      const std::int64_t first = area.rings[0].offset;
      const std::int64_t size = ops::SumBytesOf(subgraph_, subgraph_.ops[producer]);
      used.push_back({first, first + image.bytes() * size});
    }
    if (segment.channel_plane) {
      const TensorId in = subgraph_.ops[segment.ops[0].op].inputs[0];
      const plan::StreamImage image = plan::ImageOf(subgraph_.tensors[in]);
      const std::int64_t first = *segment.channel_plane;
      used.push_back({first, first + image.height * image.width});
    }
    used.push_back(plan::WeightBytesOf(subgraph_, segment));
    const std::vector<StreamRange> early = EarlyBytes(at_);
    used.insert(used.end(), early.begin(), early.end());
    return used;
  }

  static bool Runs(const StreamSegment& segment, OpId op) {
    return op.valid() && std::any_of(segment.ops.begin(), segment.ops.end(),
                                     [&](const StreamOp& step) { return step.op == op; });
  }

  // Of weights of the segment behind number `s`, whose copies begin in that one.
  std::vector<StreamRange> EarlyBytes(std::size_t s) const {
    std::vector<StreamRange> bytes;
    if (s + 1 == stream_.segments.size()) return bytes;
    const StreamSegment& next = stream_.segments[s + 1];
    for (const plan::StreamWeights& one : next.weights) {
      if (!Runs(stream_.segments[s], one.after)) continue;
      if (one.block > 0 && Runs(next, one.after)) continue;
      bytes.push_back({one.offset, one.offset + plan::FirstCopy(subgraph_, one).bytes});
    }
    return bytes;
  }

  void Remember(const plan::StreamWeights& weights, std::vector<WeightCopy> copies) {
    const bool own = weights.block > 0 && Runs(stream_.segments[at_], weights.after);
    const std::size_t segment = own || at_ == 0 ? at_ : at_ - 1;
    begins_.push_back({weights.op, weights.after, segment, !own, std::move(copies)});
  }

  // With the last block of an operator whose driver copies blocks, else before its call.
  void AddBegin(const Begin& begin, std::vector<Call>* calls) {
    const auto is_it = [&](const Call& call) { return call.op == begin.after; };
    const auto first = std::find_if(calls->begin(), calls->end(), is_it);
    const graph::Op& op = subgraph_.ops[begin.op];
    const auto boxes = [](const Call& call) {
      const auto some = [](const std::vector<StreamRange>& ranges) {
        const auto empty = [](const StreamRange& range) { return range.empty(); };
        return ranges.empty()
                   ? 1
                   : ranges.end() - std::find_if_not(ranges.begin(), ranges.end(), empty);
      };
      return some(call.rows) * some(call.columns);
    };
    const bool by_driver = first != calls->end() && first->weights && first->weights->block > 0;
    if (first == calls->end() || (by_driver && begin.at_last && boxes(*first) != 1)) {
      refusals_.push_back({begin.op, op.type,
                           graph::Describe(begin.op, op) +
                               " has weights whose copies begin with an operator that cannot"});
      return;
    }
    if (by_driver) {
      const auto last = std::find_if(calls->rbegin(), calls->rend(), is_it);
      std::vector<WeightCopy>& next = last->weights->next;
      next.insert(next.end(), begin.copies.begin(), begin.copies.end());
      return;
    }
    std::vector<Call> copies;
    for (const WeightCopy& copy : begin.copies) {
      transfers_.LoadWeights(op, begin.op, copy, &copies);
      copies.back().rows = MarksOf(first->rows, begin.at_last);
      copies.back().columns = MarksOf(first->columns, begin.at_last);
      copies.back().used = first->used;
    }
    calls->insert(first, copies.begin(), copies.end());
  }

  // One row or column in each step that has some, or in the last one of them.
  static std::vector<StreamRange> MarksOf(const std::vector<StreamRange>& ranges, bool at_last) {
    std::vector<StreamRange> marks(ranges.size());
    for (std::size_t i = ranges.size(); i-- > 0;) {
      if (ranges[i].empty()) continue;
      marks[i] = {0, 1};
      if (at_last) break;
    }
    return marks;
  }

  // A move copies a tensor up to the last pixel that was computed, or the sums of a mean.
  std::int64_t ComputedBytes(TensorId tensor) const {
    const auto sums = sums_.find(tensor);
    if (sums != sums_.end()) return sums->second;
    const plan::StreamImage image = plan::ImageOf(subgraph_.tensors[tensor]);
    const auto computed = computed_.find(tensor);
    if (computed != computed_.end()) return computed->second * image.pixel_bytes;
    const bool resident =
        stream_.input == plan::StreamInput::kResident && Contains(subgraph_.inputs, tensor);
    return resident ? image.bytes() : 0;
  }

  // The outputs of a segment: the number behind the last pixel of each tensor, sums of means.
  void Remember(const StreamSegment& segment) {
    for (const StreamOp& step : segment.ops) {
      if (segment.whole) {
        for (const TensorId tensor : plan::OutputsOf(subgraph_, step)) {
          const plan::StreamImage image = plan::ImageOf(subgraph_.tensors[tensor]);
          computed_[tensor] = image.height * image.width;
        }
        continue;
      }
      const TensorId boxed = plan::BoxedBy(subgraph_, step);
      const plan::StreamImage image = plan::ImageOf(subgraph_.tensors[boxed]);
      std::int64_t last = 0;
      for (const StreamRange& rows : step.rows) {
        for (const StreamRange& columns : step.columns) {
          if (rows.empty() || columns.empty()) continue;
          last = std::max(last, (rows.last - 1) * image.width + columns.last);
        }
      }
      if (step.sums) {
        RememberSums(step, last, image.height * image.width);
      } else {
        computed_[boxed] = std::max(computed_[boxed], last);
      }
    }
  }

  void RememberSums(const StreamOp& step, std::int64_t last, std::int64_t pixels) {
    const graph::Op& op = subgraph_.ops[step.op];
    const TensorId out = op.outputs[0];
    if (last == pixels) {
      sums_.erase(out);
      computed_[out] = 1;
    } else if (last > 0) {
      sums_[out] = plan::ImageOf(subgraph_.tensors[out]).bytes() * ops::SumBytesOf(subgraph_, op);
    }
  }

  void AddWhole(const StreamSegment& segment, Segment* made) {
    std::vector<Call> copies;
    made->calls =
        LowerWithWeights(segment, segment.ops[0], segment.channel_plane.has_value(), &copies);
    TakeImages(&made->calls);
    made->calls.insert(made->calls.begin(), copies.begin(), copies.end());
    if (!segment.channel_plane) {
      Copy(transfers_.AroundWhole(segment.ops[0], &made->calls), segment.ops[0]);
      return;
    }
    for (Call& call : made->calls) {
      if (!call.op.valid()) continue;  // copies
      if (call.weights) call.weights->by_channel = true;
      const std::int64_t channels = call.views[0].pixel_bytes;
      call.driver = "neap_drive_planes";
      call.scratch = *segment.channel_plane;
      call.rows = {{0, channels}};
      call.columns = {{0, 1}};
    }
  }

  void AddBlocks(const StreamSegment& segment, Segment* made) {
    made->row_steps = segment.ops[0].rows.size();
    made->column_steps = segment.ops[0].columns.size();
    for (const StreamOp& step : segment.ops) {
      std::vector<Call> calls;
      if (!step.op.valid() && transfers_.IsSlow(step.fed)) {
        Copy(transfers_.Load(step, &made->calls), step);
        continue;
      }
      if (!step.op.valid()) {
        calls = FeedCalls(step);
      } else {
        std::vector<Call> copies;
        calls = LowerWithWeights(segment, step, true, &copies);
        for (Call& copy : copies) made->calls.push_back(InStepsOf(step, std::move(copy)));
        if (step.sums && !calls.empty()) TakeSums(step, &calls[0]);
      }
      for (Call& call : calls) {
        SetBoxes(step, &call);
        made->calls.push_back(std::move(call));
      }
      if (calls.size() > 1) Refuse(step, "is computed in boxes and needs several kernels");
      if (step.op.valid()) {
        Copy(transfers_.StoreOf(step, &made->calls), step);
      }
    }
  }

  // The calls of an operator, whose weights may be in slow memory. `copies`: those of its weights
  // for every box, where no driver makes them.
  std::vector<Call> LowerWithWeights(const StreamSegment& segment, const StreamOp& step, bool boxed,
                                     std::vector<Call>* copies) {
    const plan::StreamWeights* planned = nullptr;
    for (const plan::StreamWeights& one : segment.weights) {
      if (one.op == step.op) planned = &one;
    }
    if (planned == nullptr) {
      return LowerOrRefuse(&lowering_, step.op, boxed, &refusals_, step.output);
    }
    const graph::Op& op = subgraph_.ops[step.op];
    const auto parts = PartsOf(*planned);
    for (const plan::WeightPart& part : parts) {
      const plan::StreamImage image = plan::ImageOf(subgraph_.tensors[op.inputs[part.input]]);
      lowering_.SetPlace(op.inputs[part.input],
                         {{{planned->offset + part.offset, image.height * image.width}}, 0});
    }
    lowering_.SetSlowWeights(planned);
    std::vector<Call> calls = LowerOrRefuse(&lowering_, step.op, boxed, &refusals_, step.output);
    lowering_.SetSlowWeights(nullptr);
    for (const plan::WeightPart& part : parts) lowering_.ClearPlace(op.inputs[part.input]);
    const bool copied = std::any_of(calls.begin(), calls.end(),
                                    [](const Call& call) { return call.weights.has_value(); });
    if (copied && planned->block > 0 && planned->after.valid()) {
      Remember(*planned, FirstCopies(*calls[0].weights));
    }
    if (copied || planned->block == 0) return calls;
    if (parts.empty()) Refuse(step, "reads weights in blocks, for which it has no kernel");
    for (const WeightCopy& copy : CopiesOf(*planned)) {
      if (!planned->after.valid()) transfers_.LoadWeights(op, planned->op, copy, copies);
    }
    if (planned->after.valid() && !parts.empty()) {
      transfers_.WaitForWeights({"", planned->offset, parts[0].bytes}, copies);
      Remember(*planned, CopiesOf(*planned));
    }
    return calls;
  }

  // Of all weights; none where they are read in several blocks.
  std::vector<plan::WeightPart> PartsOf(const plan::StreamWeights& planned) const {
    const graph::Op& op = subgraph_.ops[planned.op];
    if (planned.block == 0) return plan::AllWeights(subgraph_, op).parts;
    const auto blocks = plan::BlocksOf(subgraph_, planned);
    if (!blocks || blocks->blocks.size() != 1) return {};
    // As whole tensors, which is how kernels read them.
    std::vector<plan::WeightPart> parts = blocks->blocks[0].parts;
    const bool whole = std::all_of(parts.begin(), parts.end(), [&](const plan::WeightPart& part) {
      return part.bytes == graph::TensorBytes(subgraph_.tensors[op.inputs[part.input]]);
    });
    if (!whole) parts.clear();
    return parts;
  }

  std::vector<WeightCopy> CopiesOf(const plan::StreamWeights& planned) {
    std::vector<WeightCopy> copies;
    const graph::Op& op = subgraph_.ops[planned.op];
    for (const plan::WeightPart& part : PartsOf(planned)) {
      auto table = lowering_.Bytes(op.inputs[part.input]);
      if (!table) {
        refusals_.push_back(
            {planned.op, op.type, graph::Describe(planned.op, op) + " " + table.error().message});
        continue;
      }
      copies.push_back({*table, planned.offset + part.offset, part.bytes});
    }
    return copies;
  }

  // In every step in which `step` has a box.
  static Call InStepsOf(const StreamOp& step, Call copy) {
    for (const auto& [ranges, marks] :
         {std::pair(&step.rows, &copy.rows), std::pair(&step.columns, &copy.columns)}) {
      for (const StreamRange& range : *ranges) {
        marks->push_back(range.empty() ? StreamRange{} : StreamRange{0, 1});
      }
    }
    return copy;
  }

  // Blocks of weights are copied once for all images.
  static void TakeImages(std::vector<Call>* calls) {
    if (calls->size() < 2 || !calls->front().weights || calls->front().weights->block == 0) return;
    std::vector<Call> others(std::next(calls->begin()), calls->end());
    calls->resize(1);
    calls->front().images = std::move(others);
  }

  static void SplitAll(Segment* made) {
    std::vector<Call> calls;
    for (const Call& call : made->calls) {
      for (Call& part : SplitBlocks(call)) calls.push_back(std::move(part));
    }
    made->calls = std::move(calls);
  }

  // Weights that stay during the segment are copied behind its moves, before its first step: by a
  // segment of their own.
  void AddStaying(const StreamSegment& segment, Segment* made, std::vector<Segment>* segments) {
    Segment before;
    std::vector<Call> waits;
    for (const plan::StreamWeights& one : segment.weights) {
      if (one.block > 0 && one.kept == 0) continue;
      const auto call = std::find_if(made->calls.begin(), made->calls.end(), [&](const Call& each) {
        return each.op == one.op && each.weights;
      });
      const std::vector<WeightCopy> copies =
          call == made->calls.end() ? CopiesOf(one) : FirstCopies(*call->weights);
      if (one.after.valid() && !copies.empty()) {
        waits.clear();
        transfers_.WaitForWeights(copies[0], &waits);
        Remember(one, copies);
        continue;
      }
      for (const WeightCopy& copy : copies) {
        transfers_.LoadWeights(subgraph_.ops[one.op], one.op, copy, &before.calls);
      }
    }
    // Behind copies there is a wait, which is for all.
    if (before.calls.empty()) before.calls = std::move(waits);
    if (before.calls.empty()) return;
    before.moves = std::move(made->moves);
    made->moves.clear();
    for (Call& call : before.calls) call.used = UsedBytes(segment);
    AddWaits(&before);
    segments->push_back(std::move(before));
  }

  // A row that wraps inside its ring is received in scratch first.
  std::vector<Call> FeedCalls(const StreamOp& step) {
    auto view = lowering_.ImageOf(step.fed);
    if (!view) {
      Refuse(step, view.error().message);
      return {};
    }
    Call call;
    call.driver = "neap_drive_rows";
    for (const plan::StreamRing& ring : view->rings) {
      if (ring.pixels % view->width != 0) call.scratch_bytes = view->width * view->pixel_bytes;
    }
    if (const auto& inputs = subgraph_.inputs; inputs.size() > 1) {
      const auto number = std::find(inputs.begin(), inputs.end(), step.fed) - inputs.begin();
      call.driver = "neap_drive_input_rows";
      call.params = Params{"neap_fed", "{" + std::to_string(number) + "}"};
    }
    call.comment = "rows of input " + graph::Describe(step.fed, subgraph_.tensors[step.fed]);
    call.views = {*std::move(view)};
    return {std::move(call)};
  }

  void TakeSums(const StreamOp& step, Call* call) {
    std::int64_t first_row = -1;
    std::int64_t end_row = 0;
    std::int64_t first_column = -1;
    std::int64_t end_column = 0;
    const auto take = [](const std::vector<StreamRange>& ranges, std::int64_t* first,
                         std::int64_t* end) {
      for (const StreamRange& range : ranges) {
        if (range.empty()) continue;
        if (*first < 0) *first = range.first;
        *end = range.last;
      }
    };
    // Sums may go on in a later segment.
    for (const StreamSegment& segment : stream_.segments) {
      for (const StreamOp& one : segment.ops) {
        if (one.op != step.op || !one.sums) continue;
        take(one.rows, &first_row, &end_row);
        take(one.columns, &first_column, &end_column);
      }
    }
    call->driver = "neap_drive_sums";
    call->window.reset();
    const std::int64_t size = ops::SumBytesOf(subgraph_, subgraph_.ops[step.op]);
    call->mean->first_row = first_row;
    call->mean->first_column = first_column;
    call->mean->end_row = end_row;
    call->mean->end_column = end_column;
    call->mean->sum_bytes = size;
  }

  // Boxes are those of the image that the driver goes through. An output that is one pixel in the
  // plan may have another form for its kernel; it is computed as a whole then.
  void SetBoxes(const StreamOp& step, Call* call) {
    const TensorId boxed = plan::BoxedBy(subgraph_, step);
    const plan::StreamImage image = plan::ImageOf(subgraph_.tensors[boxed]);
    const View& view = call->views[step.sums ? 1 : 0];
    call->rows = step.rows;
    call->columns = step.columns;
    if (view.height == image.height && view.width == image.width) return;
    const auto whole = [](std::int64_t size) {
      return [size](const StreamRange& range) { return range.first == 0 && range.last == size; };
    };
    bool fits = true;
    for (StreamRange& range : call->rows) {
      if (range.empty()) continue;
      fits = fits && whole(image.height)(range);
      range = {0, view.height};
    }
    for (StreamRange& range : call->columns) {
      if (range.empty()) continue;
      fits = fits && whole(image.width)(range);
      range = {0, view.width};
    }
    if (!fits) Refuse(step, "is computed in boxes of another image than its kernel's");
  }

  // The result of adding copies for `step`.
  void Copy(const Status& status, const StreamOp& step) {
    if (!status) Refuse(step, status.error().message);
  }

  void Refuse(const StreamOp& step, const std::string& what) {
    if (step.op.valid()) {
      const graph::Op& op = subgraph_.ops[step.op];
      refusals_.push_back({step.op, op.type, graph::Describe(step.op, op) + " " + what});
    } else {
      refusals_.push_back(
          {{},
           "",
           "tensor " + graph::Describe(step.fed, subgraph_.tensors[step.fed]) + " " + what});
    }
  }

  const plan::Stream& stream_;
  const Subgraph& subgraph_;
  Lowering& lowering_;
  Refusals& refusals_;
  const IdVector<TensorId, OpId> producers_;
  const Transfers transfers_;
  std::size_t at_ = 0;  // the segment of the plan
  std::vector<Begin> begins_;
  std::map<TensorId, std::int64_t> computed_;
  std::map<TensorId, std::int64_t> sums_;  // bytes of those that are being added
};

}  // namespace

Result<std::vector<Segment>> StreamedSegments(const plan::EntryPlan& entry, Lowering* lowering,
                                              Refusals* refusals) {
  return Streamed(entry, lowering, refusals).Segments();
}

}  // namespace neap::emit
