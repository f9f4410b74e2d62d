// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

namespace neap::python {

// neap._neap.peak and neap._neap.place.
void BindGraphs(nanobind::module_* module);
// neap._neap.Model, Plan and the functions that make them.
void BindPlans(nanobind::module_* module);
// neap._neap.explain, pareto, zoo and the command line.
void BindProgram(nanobind::module_* module);

}  // namespace neap::python
