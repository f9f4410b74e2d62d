// SPDX-License-Identifier: Apache-2.0
//
// TFLite_Detection_PostProcess: boxes from their encodings and anchors, and the best of them that
// do not overlap each other much. Places behind the last detection are zeros; the stock kernels
// leave them as they are.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "neap/execute/families.h"
#include "neap/execute/tflite/common.h"
#include "neap/ops/custom_options.h"
#include "neap/ops/tflm_scratch.h"

namespace neap::execute::tflite {
namespace {

using enum graph::ElementType;

struct Coordinates {  // of an encoding and an anchor: the centre and the sizes
  float y = 0;
  float x = 0;
  float h = 0;
  float w = 0;
};

struct Corners {
  float top = 0;
  float left = 0;
  float bottom = 0;
  float right = 0;
};

struct DetectionPlan {
  std::int64_t boxes = 0;
  std::int64_t coordinates = 0;  // of an encoding; those behind the fourth are ignored
  std::int64_t columns = 0;      // scores of a box, a background in front of them included
  std::int64_t classes = 0;
  std::int64_t max_detections = 0;
  std::int64_t classes_per_box = 0;
  std::int64_t per_class = 0;
  std::int64_t places = 0;  // of the outputs
  bool regular = false;
  float min_score = 0;
  float max_overlap = 0;
  Coordinates scale;
};

Result<DetectionPlan> PlanDetection(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 3, 3, 4));
  const auto option = [&](const char* name, std::int64_t otherwise) {
    return ops::CustomOption(*node.op, name).value_or(otherwise);
  };
  const auto real = [&](const char* name) {
    return static_cast<float>(ops::CustomRealOption(*node.op, name).value_or(0));
  };
  const graph::Shape& boxes = node.In(0).shape;
  const graph::Shape& scores = node.In(1).shape;
  const graph::Shape& anchors = node.In(2).shape;
  DetectionPlan plan;
  plan.classes = option("num_classes", 0);
  plan.max_detections = option("max_detections", 0);
  const std::int64_t most = option("max_classes_per_detection", 0);
  plan.classes_per_box = std::min(most, plan.classes);
  plan.per_class = std::min(option("detections_per_class", 100), plan.max_detections);
  plan.regular = option("use_regular_nms", 0) != 0;
  plan.min_score = real("nms_score_threshold");
  plan.max_overlap = real("nms_iou_threshold");
  plan.scale = {real("y_scale"), real("x_scale"), real("h_scale"), real("w_scale")};
  const bool ranks = boxes.size() == 3 && scores.size() == 3 && anchors.size() == 2 &&
                     boxes[0] == 1 && scores[0] == 1;
  NEAP_CHECK_OK(Require(
      ranks && boxes[1] == scores[1] && boxes[1] == anchors[0] && boxes[2] >= 4 && anchors[1] == 4,
      "its boxes, scores and anchors do not fit together"));
  NEAP_CHECK_OK(RequireType(node.In(2), node.In(0).type));
  plan.boxes = boxes[1];
  plan.coordinates = boxes[2];
  plan.columns = scores[2];
  const std::int64_t background = plan.columns - plan.classes;
  const bool counts = plan.classes > 0 && (background == 0 || background == 1) &&
                      plan.max_detections > 0 && plan.classes_per_box > 0 && plan.per_class > 0;
  const bool scales = plan.scale.y > 0 && plan.scale.x > 0 && plan.scale.h > 0 && plan.scale.w > 0;
  NEAP_CHECK_OK(Require(counts && scales, "its options are missing or do not fit its inputs"));
  const std::int64_t found = plan.max_detections * (plan.regular ? 1 : plan.classes_per_box);
  plan.places = node.Out(1).elements;
  bool outputs = plan.places >= found && node.Out(0).elements == 4 * plan.places &&
                 node.Out(2).elements == plan.places && node.Out(3).elements == 1;
  for (const Operand& output : node.outputs) outputs = outputs && output.type == kFloat32;
  NEAP_CHECK_OK(Require(outputs, "its outputs do not have the size of its detections"));
  return plan;
}

// Values of an operand as real numbers. In single precision for boxes, in double for scores, as the
// stock kernels do.
using ReadReals = std::function<std::vector<float>(std::span<const std::byte>)>;
Result<ReadReals> RealsOf(const Node& node, std::size_t input, bool single) {
  const Operand& operand = node.In(input);
  if (operand.type == kFloat32) {
    return ReadReals([](std::span<const std::byte> bytes) {
      std::vector<float> values(bytes.size() / sizeof(float));
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = CellsOf<float>(bytes)[i].value;
      return values;
    });
  }
  const bool integers = operand.type == kUint8 || operand.type == kInt8;
  if (!integers || operand.quantization == nullptr || operand.quantization->scales.size() != 1 ||
      operand.quantization->zero_points.size() != 1) {
    return Fail(UnsupportedType(node).error());
  }
  const float scale = operand.quantization->scales[0];
  const std::int64_t zero = operand.quantization->zero_points[0];
  const bool is_signed = operand.type == kInt8;
  return ReadReals([=](std::span<const std::byte> bytes) {
    std::vector<float> values;
    for (const std::byte byte : bytes) {
      const auto raw = std::to_integer<std::int64_t>(byte);
      const std::int64_t value = is_signed && raw > 127 ? raw - 256 : raw;
      values.push_back(single ? scale * (static_cast<float>(value) - static_cast<float>(zero))
                              : static_cast<float>(static_cast<double>(scale) *
                                                   static_cast<double>(value - zero)));
    }
    return values;
  });
}

Corners Decoded(const float* box, const float* anchor, const Coordinates& scale) {
  const auto wide = [](float value) { return static_cast<double>(value); };
  const auto centre = [&](float value, float by, float size, float at) {
    return static_cast<float>(wide(value) / wide(by) * wide(size) + wide(at));
  };
  const auto half = [&](float value, float by, float size) {
    return static_cast<float>(0.5 * std::exp(wide(value) / wide(by)) * wide(size));
  };
  const float y = centre(box[0], scale.y, anchor[2], anchor[0]);
  const float x = centre(box[1], scale.x, anchor[3], anchor[1]);
  const float h = half(box[2], scale.h, anchor[2]);
  const float w = half(box[3], scale.w, anchor[3]);
  return {y - h, x - w, y + h, x + w};
}

// The common area of two boxes, as a part of the area that they cover.
float OverlapOf(const Corners& a, const Corners& b) {
  const float area_a = (a.bottom - a.top) * (a.right - a.left);
  const float area_b = (b.bottom - b.top) * (b.right - b.left);
  if (area_a <= 0 || area_b <= 0) return 0;
  const float height = std::max(std::min(a.bottom, b.bottom) - std::max(a.top, b.top), 0.0F);
  const float width = std::max(std::min(a.right, b.right) - std::max(a.left, b.left), 0.0F);
  const float common = height * width;
  return common / (area_a + area_b - common);
}

// The best boxes by these scores that do not overlap a better one of them; the first of equal ones.
std::vector<std::size_t> Suppressed(const DetectionPlan& plan, const std::vector<Corners>& boxes,
                                    const std::vector<float>& scores, std::int64_t most) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] >= plan.min_score) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  const std::size_t count = std::min(order.size(), static_cast<std::size_t>(most));
  std::vector<std::size_t> selected;
  std::vector<bool> gone(order.size(), false);
  for (std::size_t i = 0; i < order.size() && selected.size() < count; ++i) {
    if (gone[i]) continue;
    selected.push_back(order[i]);
    for (std::size_t j = i + 1; j < order.size(); ++j) {
      if (gone[j]) continue;
      gone[j] = OverlapOf(boxes[order[i]], boxes[order[j]]) > plan.max_overlap;
    }
  }
  return selected;
}

struct Detection {
  std::size_t box = 0;
  std::size_t label = 0;
  float score = 0;
};

// Of every box its best classes; boxes are compared by the best one.
std::vector<Detection> DetectFast(const DetectionPlan& plan, const std::vector<Corners>& boxes,
                                  const std::vector<float>& scores) {
  const auto columns = static_cast<std::size_t>(plan.columns);
  const auto classes = static_cast<std::size_t>(plan.classes);
  const std::size_t first = columns - classes;
  std::vector<float> best;
  for (std::size_t box = 0; box < boxes.size(); ++box) {
    const float* const row = scores.data() + box * columns + first;
    best.push_back(*std::max_element(row, row + classes));
  }
  std::vector<Detection> found;
  for (const std::size_t box : Suppressed(plan, boxes, best, plan.max_detections)) {
    const float* const row = scores.data() + box * columns + first;
    std::vector<std::size_t> order(classes);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return row[a] > row[b]; });
    for (std::int64_t k = 0; k < plan.classes_per_box; ++k) {
      const std::size_t label = order[static_cast<std::size_t>(k)];
      found.push_back({box, label, row[label]});
    }
  }
  return found;
}

// Class by class; the best of all of them.
std::vector<Detection> DetectByClass(const DetectionPlan& plan, const std::vector<Corners>& boxes,
                                     const std::vector<float>& scores) {
  const auto columns = static_cast<std::size_t>(plan.columns);
  const auto classes = static_cast<std::size_t>(plan.classes);
  std::vector<Detection> found;
  for (std::size_t label = 0; label < classes; ++label) {
    std::vector<float> own;
    for (std::size_t box = 0; box < boxes.size(); ++box) {
      own.push_back(scores[box * columns + columns - classes + label]);
    }
    for (const std::size_t box : Suppressed(plan, boxes, own, plan.per_class)) {
      found.push_back({box, label, own[box]});
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const Detection& a, const Detection& b) { return a.score > b.score; });
    const auto most = static_cast<std::size_t>(plan.max_detections);
    if (found.size() > most) found.resize(most);
  }
  return found;
}

Result<RunKernel> PrepareDetection(const Node& node) {
  NEAP_TRY(const DetectionPlan plan, PlanDetection(node));
  NEAP_TRY(const ReadReals read_boxes, RealsOf(node, 0, true));
  NEAP_TRY(const ReadReals read_scores, RealsOf(node, 1, false));
  NEAP_TRY(const ReadReals read_anchors, RealsOf(node, 2, true));
  return RunKernel([=](const Arguments& arguments) -> Status {
    const std::vector<float> encodings = read_boxes(arguments.inputs[0]);
    const std::vector<float> scores = read_scores(arguments.inputs[1]);
    const std::vector<float> anchors = read_anchors(arguments.inputs[2]);
    std::vector<Corners> boxes;
    for (std::int64_t box = 0; box < plan.boxes; ++box) {
      boxes.push_back(
          Decoded(encodings.data() + box * plan.coordinates, anchors.data() + 4 * box, plan.scale));
    }
    const std::vector<Detection> found =
        plan.regular ? DetectByClass(plan, boxes, scores) : DetectFast(plan, boxes, scores);
    for (std::int64_t i = 0; i < plan.places; ++i) {
      const bool any = i < static_cast<std::int64_t>(found.size());
      const Detection one = any ? found[static_cast<std::size_t>(i)] : Detection();
      const Corners box = any ? boxes[one.box] : Corners();
      const float corners[] = {box.top, box.left, box.bottom, box.right};
      for (std::int64_t k = 0; k < 4; ++k) Output<float>(arguments)[4 * i + k].value = corners[k];
      Output<float>(arguments, 1)[i].value = static_cast<float>(one.label);
      Output<float>(arguments, 2)[i].value = one.score;
    }
    // The fast form counts boxes, each of which has several places.
    const std::int64_t each = plan.regular ? 1 : plan.classes_per_box;
    const std::int64_t count = static_cast<std::int64_t>(found.size()) / each;
    Output<float>(arguments, 3)[0].value = static_cast<float>(count);
    return {};
  });
}

constexpr KernelEntry kKernels[] = {{"TFLite_Detection_PostProcess", PrepareDetection}};

}  // namespace

std::span<const KernelEntry> CustomKernels() { return kKernels; }

}  // namespace neap::execute::tflite
