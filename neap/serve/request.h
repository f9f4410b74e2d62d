// SPDX-License-Identifier: Apache-2.0
//
// Requests before any work: who may call, and what is called. Pure; no HTTP library. Private to
// neap/serve.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "neap/base/result.h"
#include "neap/serve/serve.h"

namespace neap::serve {

// The parts of a request that decide. Views into the request.
struct RawRequest {
  std::string_view method;
  std::string_view target;
  std::optional<std::string_view> host;
  std::optional<std::string_view> origin;
  std::optional<std::string_view> authorization;
  std::int64_t hosts = 1;  // number of Host headers
};

// An answer other than success.
struct Refusal {
  int status = 400;
  std::string message;  // one line
};
inline tl::unexpected<Refusal> Refuse(int status, std::string message) {
  return tl::unexpected<Refusal>(Refusal{status, std::move(message)});
}

enum class Action : std::uint8_t {
  kHealth,
  kMetrics,
  kDescription,  // the OpenAPI document
  kPage,         // a static file
  kPreflight,    // OPTIONS of a page of another origin
  kCreate,
  kList,
  kStatus,
  kFile,
  kEvents,
  kDelete,
};

struct Call {
  Action action = Action::kHealth;
  std::string plan;  // its id
  std::string file;  // of the plan, or of the page
  bool head = false;
  std::vector<std::pair<std::string, std::string>> query;
};

// Who may call.
struct Access {
  std::vector<std::string> hosts;    // lower case, without a port
  std::vector<std::string> origins;  // "https://neap.example.org"
  std::vector<std::string> tokens;   // SHA-256 of each; none: everybody is one owner
};

struct Caller {
  std::string owner;           // SHA-256 of the token; "" without tokens
  std::string allowed_origin;  // for the answer; "": none
};

// Checks Host, Origin and the token, in this order. /healthz and the preflight need no token.
tl::expected<Caller, Refusal> Admit(const RawRequest& request, const Call& call,
                                    const Access& access);

// Splits and decodes the target: 404 for an unknown path, 405 for another method.
tl::expected<Call, Refusal> Route(std::string_view method, std::string_view target);

// What is planned: the query of kCreate.
struct PlanRequest {
  std::string name = "model";        // of the model's file
  std::vector<std::string> options;  // "runtime=neap"
  JobKind kind = JobKind::kPlan;
  bool keep_model = false;
  std::string model;  // SHA-256 of a model that this token's plans keep; "": it is uploaded
};
// Options are those of `neap plan`, without those that the server sets and those that name files.
tl::expected<PlanRequest, Refusal> ParsePlanRequest(const Call& call);

// The lines of a file of tokens; blank lines and lines that begin with '#' do not count. Each has
// at least 16 characters. Returns the SHA-256 of each.
Result<std::vector<std::string>> ParseTokens(std::string_view text);

// Whether it is 127.0.0.0/8 or ::1.
bool IsLoopback(std::string_view address);

std::string Sha256Of(std::string_view text);

}  // namespace neap::serve
