// SPDX-License-Identifier: Apache-2.0
//
// Reads a model, plans it, checks the plan and writes the model in the planned order:
// plan_a_model IN OUT [BUDGET]. Exit 0, 1 for an error, 3 over the budget.
#include <cstdio>
#include <fstream>
#include <string>

#include <neap/neap.h>

namespace {

int Complain(const neap::api::Error& error) {
  std::fprintf(stderr, "plan_a_model: %s\n", error.message.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return std::fprintf(stderr, "usage: plan_a_model IN OUT [BUDGET]\n"), 2;
  const auto model = neap::api::Model::Read(argv[1]);
  if (!model) return Complain(model.error());
  neap::api::Options options;
  if (argc > 3) options.Set("budget", argv[3]);
  const auto plan = neap::api::Plan::Make(*model, options);
  if (!plan) return Complain(plan.error());
  if (const auto status = plan->Check(*model); !status) return Complain(status.error());
  std::printf("arena %lld B in place of %lld B%s\n", static_cast<long long>(plan->arena_bytes()),
              static_cast<long long>(plan->file_order_arena_bytes()),
              plan->is_optimal() ? ", optimal for this graph" : "");
  if (plan->fits() != true) return 3;
  const auto bytes = plan->WriteModel(*model);
  if (!bytes) return Complain(bytes.error());
  std::ofstream(argv[2], std::ios::binary) << *bytes;
  return 0;
}
