// SPDX-License-Identifier: Apache-2.0
//
// Requests to the server, as the bytes of a connection: the HTTP library parses them; every request
// is refused in one line, or names a plan, a file below its folder, and options of `neap plan`.
#include <string>
#include <string_view>

#include "neap/serve/request.h"
#include "tests/fuzz/require.h"

#ifdef NEAP_FUZZ_BEAST
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#endif

namespace {

using neap::fuzz::Require;
using neap::serve::Action;

void RequireOneLine(const neap::serve::Refusal& refusal) {
  Require(refusal.status >= 400 && refusal.status < 600, "a refusal has a status");
  Require(!refusal.message.empty() && refusal.message.find('\n') == std::string::npos,
          "one line of error");
}

bool IsBelow(const std::string& file) {
  return !file.empty() && file[0] != '/' && file[0] != '.' &&
         file.find("/.") == std::string::npos && file.find("//") == std::string::npos &&
         file.find('\\') == std::string::npos;
}

void Check(const neap::serve::RawRequest& raw) {
  const auto call = neap::serve::Route(raw.method, raw.target);
  if (!call) return RequireOneLine(call.error());
  if (call->action == Action::kPage || call->action == Action::kFile) {
    Require(IsBelow(call->file), "a file is below its folder");
  }
  Require(call->plan.empty() || call->plan.size() == 32, "an id has its length");
  neap::serve::Access access;
  access.hosts = {"localhost"};
  access.origins = {"https://page.example"};
  access.tokens = {neap::serve::Sha256Of("token-of-somebody")};
  const auto caller = neap::serve::Admit(raw, *call, access);
  if (!caller) RequireOneLine(caller.error());
  if (caller && !caller->owner.empty()) {
    Require(raw.authorization == std::string_view("Bearer token-of-somebody"),
            "the token is known");
  }
  const auto request = neap::serve::ParsePlanRequest(*call);
  if (!request) return RequireOneLine(request.error());
  Require(IsBelow(request->name) && request->name.find('/') == std::string::npos,
          "the model's name is no path");
  for (const std::string& option : request->options) {
    Require(option[0] != '-' && option.find('/') == std::string::npos, "options name no files");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
#ifdef NEAP_FUZZ_BEAST
  namespace http = boost::beast::http;
  http::request_parser<http::string_body> parser;
  parser.header_limit(16384);
  parser.body_limit(65536);
  parser.eager(true);
  boost::system::error_code error;
  std::size_t at = 0;
  while (at < size && !error && !parser.is_done()) {
    const std::size_t used = parser.put(boost::asio::buffer(data + at, size - at), error);
    if (used == 0) break;
    at += used;
  }
  if (parser.is_header_done()) {
    const auto& header = parser.get();
    const auto view = [](boost::beast::string_view part) {
      return std::string_view(part.data(), part.size());
    };
    const auto field = [&](http::field name) -> std::optional<std::string_view> {
      const auto found = header.find(name);
      if (found == header.end()) return std::nullopt;
      return view(found->value());
    };
    Check({view(header.method_string()), view(header.target()), field(http::field::host),
           field(http::field::origin), field(http::field::authorization),
           static_cast<std::int64_t>(header.count(http::field::host))});
  }
#endif
  // Without the library: the request line alone.
  const std::string_view line = text.substr(0, text.find('\r'));
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos) return 0;
  const std::string_view rest = line.substr(space + 1);
  Check({line.substr(0, space), rest.substr(0, rest.find(' ')), "localhost", {}, {}, 1});
  return 0;
}
