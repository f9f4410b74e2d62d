// SPDX-License-Identifier: Apache-2.0
//
// The extension module of the Python package. python/neap wraps it; _neap.pyi has its types.
#include <nanobind/nanobind.h>

#include <string>

#include "neap/base/version.h"
#include "python/bindings.h"
#include "python/errors.h"

// NOLINTNEXTLINE(performance-unnecessary-value-param): the macro of nanobind
NB_MODULE(_neap, module) {
  module.attr("version") = std::string(neap::Version()).c_str();
  neap::python::RegisterErrors();
  neap::python::BindGraphs(&module);
  neap::python::BindPlans(&module);
  neap::python::BindProgram(&module);
}
