// SPDX-License-Identifier: Apache-2.0
//
// The two drawings of a run, without their frames: live bytes over steps, and the arena map. The
// page and the SVG file share them. Private to neap/show/picture.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "neap/show/picture/picture.h"
#include "neap/show/picture/plot.h"

namespace neap::picture {

inline constexpr double kLiveHeight = 190;  // pixels
inline constexpr double kMapHeight = 250;

Plot PlotOf(const Run& run, std::int64_t max_bytes, double height);

// Of a column of the drawings in the order.
std::int32_t NumberOf(const Run& run, std::size_t column);
std::int32_t NumberOf(const Run& run, std::int32_t column);
std::int64_t AllSteps(const Run& run);
std::size_t PeakStep(const Run& run);

// Text alternatives, not escaped.
std::string LiveLabel(const Run& run);
std::string MapLabel(const Run& run);

std::string LiveMarks(const Run& run, const Plot& plot);
// *left_out: the number of smallest tensors that are not drawn.
std::string MapMarks(const Run& run, const Plot& plot, std::size_t* left_out);

// The bytes at the upper edge of all drawings of a picture.
std::int64_t MostBytes(const Picture& picture);

// Of a path.
std::string BaseName(const std::string& path);
// The sentence that the report of the plan begins with. Not escaped.
std::string Headline(const Picture& picture);

}  // namespace neap::picture
