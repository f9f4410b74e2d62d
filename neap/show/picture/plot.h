// SPDX-License-Identifier: Apache-2.0
//
// Drawings as wide as their container: shares of the width across, pixels down, so that text has
// the same size at every width. Private to neap/picture.
#pragma once

#include <cstdint>
#include <string>

namespace neap::picture {

// A plane of `columns` (steps, blocks, groups of bars) by values, with margins in pixels for the
// labels of its axes. Marks are written relative to the plane.
struct Plot {
  std::int64_t columns = 1;
  std::int64_t numbers = 1;    // by which the labels of columns rise from one column to the next
  std::int64_t max_bytes = 1;  // at the upper edge
  double height = 190;         // of the plane
  double left = 64;
  double right = 16;
  double top = 22;
  double bottom = 40;

  double Total() const { return top + height + bottom; }
  // Across, as a share of the width: "12.5%".
  std::string X(double column) const;
  // Down from the upper edge.
  double Y(std::int64_t bytes) const;
};

// Opens the drawing and its plane; ClosePlot() closes both. `label`: the text alternative, escaped.
std::string OpenPlot(const Plot& plot, const std::string& label);
// The plane alone, with these attributes of <svg>: for a file that no page surrounds.
std::string OpenPlane(const Plot& plot, const std::string& attributes);
std::string ClosePlot();

// Paths: columns across, pixels down, stretched to the plane. Outlines need the class "thin".
std::string OpenPaths(const Plot& plot);

// Lines and labels for bytes, labels for columns, and the name of the columns.
std::string ByteAxis(const Plot& plot);
std::string ColumnAxis(const Plot& plot, const std::string& name);

}  // namespace neap::picture
