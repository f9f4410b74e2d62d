// SPDX-License-Identifier: Apache-2.0
//
// The training run: supervised steps on the labels' own order first, then policy gradient with a
// greedy-rollout baseline (Kool, van Hoof, Welling 2019). Every draw is a function of the seed and
// the step, so that a checkpoint needs no generator.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lab/train/checkpoint.h"
#include "lab/train/settings.h"
#include "neap/base/result.h"

namespace neap::train {

using PointObserver = std::function<void(const Point&, double seconds)>;

// Runs to the end, from the checkpoint where there is one; writes checkpoint, curves and weights as
// set. Returns the last point.
Result<std::optional<Point>> Train(const Settings& settings, const PointObserver& observer);

std::string CurvesCsv(const std::vector<Point>& points);
std::string CurvesJson(const std::vector<Point>& points, const std::string& fingerprint);

}  // namespace neap::train
