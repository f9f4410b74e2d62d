// SPDX-License-Identifier: Apache-2.0
#include "neap/serve/request.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "neap/base/bytes.h"
#include "neap/deliver/options.h"
#include "neap/io/file.h"

namespace neap::serve {
namespace {

constexpr std::size_t kMaxTarget = 8192;
constexpr std::size_t kMaxName = 64;
constexpr std::size_t kIdLength = 32;
constexpr std::size_t kHashLength = 64;
constexpr std::size_t kMinToken = 16;

bool IsAlnum(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

std::string Lower(std::string_view text) {
  std::string lower;
  for (const char c : text) lower += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// nullopt: a broken escape, or a control character.
std::optional<std::string> Decoded(std::string_view text, bool is_query) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = HexDigit(text[i + 1]);
      const int low = HexDigit(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      c = static_cast<char>(high * 16 + low);
      i += 2;
    } else if (c == '+' && is_query) {
      c = ' ';
    }
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') return std::nullopt;
    out += c;
  }
  return out;
}

// A file name that is no path and no option: letters, digits, '.', '_', '-'.
bool IsPlainName(std::string_view name) {
  const auto plain = [](char c) { return IsAlnum(c) || c == '.' || c == '_' || c == '-'; };
  return !name.empty() && name.size() <= kMaxName && (IsAlnum(name[0]) || name[0] == '_') &&
         std::all_of(name.begin(), name.end(), plain);
}

bool IsHex(std::string_view text, std::size_t length) {
  return text.size() == length && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// Of "localhost:8642", "[::1]:8642"; "" where it has another form.
std::string HostName(std::string_view host) {
  std::string_view name = host;
  std::string_view port;
  if (host.starts_with('[')) {
    const std::size_t end = host.find(']');
    if (end == std::string_view::npos) return "";
    name = host.substr(1, end - 1);
    port = host.substr(end + 1);
  } else if (const std::size_t colon = host.find(':'); colon != std::string_view::npos) {
    name = host.substr(0, colon);
    port = host.substr(colon);
  }
  constexpr std::size_t kMaxPort = 6;  // with its colon
  const bool is_port = port.empty() || (port[0] == ':' && port.size() <= kMaxPort &&
                                        std::all_of(port.begin() + 1, port.end(),
                                                    [](char c) { return c >= '0' && c <= '9'; }));
  return is_port ? Lower(name) : "";
}

template <typename Strings>
bool Has(const Strings& strings, std::string_view text) {
  return std::find(strings.begin(), strings.end(), text) != strings.end();
}

// Of equal length; takes the same time wherever they differ.
bool EqualsInConstantTime(std::string_view a, std::string_view b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  }
  return difference == 0;
}

tl::expected<Call, Refusal> RoutePlans(std::string_view method,
                                       const std::vector<std::string_view>& parts, Call call) {
  const bool get = method == "GET" || call.head;
  if (parts.size() == 2) {
    if (method == "POST") {
      call.action = Action::kCreate;
    } else if (get) {
      call.action = Action::kList;
    } else {
      return Refuse(405, "the method is not GET or POST");
    }
    return call;
  }
  if (!IsHex(parts[2], kIdLength)) return Refuse(404, "there is no such plan");
  call.plan = parts[2];
  if (parts.size() == 3) {
    if (method == "DELETE") {
      call.action = Action::kDelete;
    } else if (get) {
      call.action = Action::kStatus;
    } else {
      return Refuse(405, "the method is not GET or DELETE");
    }
    return call;
  }
  if (parts.size() != 4) return Refuse(404, "there is no such path");
  if (!get) return Refuse(405, "the method is not GET");
  call.action = parts[3] == "events" ? Action::kEvents : Action::kFile;
  call.file = parts[3];
  if (!IsPlainName(call.file)) return Refuse(404, "there is no such file");
  return call;
}

tl::expected<Call, Refusal> RoutePage(std::string_view method,
                                      const std::vector<std::string_view>& parts, Call call) {
  if (method != "GET" && !call.head) return Refuse(405, "the method is not GET");
  for (const std::string_view part : parts) {
    if (part.empty() && parts.size() == 1) break;
    if (!IsPlainName(part)) return Refuse(404, "there is no such path");
    call.file += (call.file.empty() ? "" : "/") + std::string(part);
  }
  if (call.file.empty()) call.file = "index.html";
  call.action = Action::kPage;
  return call;
}

// Of the server, or names of files of its machine.
// Options of `neap pipeline`, which apply with `stages`.
constexpr std::array<std::string_view, 4> kPipelineOptions = {
    "stages", "objective", "parameter-limit", "activation-limit"};
constexpr std::array<std::string_view, 3> kServerOptions = {"threads", "max-memory", "device"};

std::string OneLine(const Diagnostic& diagnostic) { return diagnostic.ToString(); }

tl::expected<void, Refusal> CheckOfPipeline(std::string_view name, std::string_view value) {
  const bool is_number =
      !value.empty() && value.size() <= 2 &&
      std::all_of(value.begin(), value.end(), [](char c) { return c >= '0' && c <= '9'; });
  const std::int64_t number = is_number ? std::stoll(std::string(value)) : 0;
  if (name == "stages" && (number < 1 || number > kMaxStages)) {
    return Refuse(400, "stages: expected a number from 1 to " + std::to_string(kMaxStages));
  }
  if (name == "objective" && value != "time" && value != "parameters") {
    return Refuse(400, "objective: expected time or parameters");
  }
  if (name.ends_with("-limit")) {
    const auto size = ParseBytes(value);
    if (!size) return Refuse(400, std::string(name) + ": " + OneLine(size.error()));
  }
  return {};
}

}  // namespace

bool IsOfPipeline(std::string_view option) {
  return Has(kPipelineOptions, option.substr(0, option.find('=')));
}

std::string Sha256Of(std::string_view text) { return io::Sha256(std::as_bytes(std::span(text))); }

tl::expected<Call, Refusal> Route(std::string_view method, std::string_view target) {
  if (target.size() > kMaxTarget) return Refuse(414, "the target is too long");
  if (!target.starts_with('/')) return Refuse(400, "the target is not a path");
  const std::size_t question = target.find('?');
  std::string_view path = target.substr(0, question);
  Call call;
  call.head = method == "HEAD";
  if (question != std::string_view::npos) {
    for (const std::string_view pair : Split(target.substr(question + 1), '&')) {
      if (pair.empty()) continue;
      const std::size_t equals = pair.find('=');
      const auto name = Decoded(pair.substr(0, equals), true);
      const auto value = equals == std::string_view::npos ? std::optional<std::string>("")
                                                          : Decoded(pair.substr(equals + 1), true);
      if (!name || !value) return Refuse(400, "the query has a broken escape");
      call.query.emplace_back(*name, *value);
    }
  }
  if (method == "OPTIONS") {
    call.action = Action::kPreflight;
    return call;
  }
  path.remove_prefix(1);
  const std::vector<std::string_view> parts = Split(path, '/');
  constexpr std::size_t kMaxParts = 8;
  if (parts.size() > kMaxParts) return Refuse(404, "there is no such path");
  if (parts.size() >= 2 && parts[0] == "v1" && parts[1] == "plans") {
    return RoutePlans(method, parts, std::move(call));
  }
  struct Fixed {
    std::string_view path;
    Action action;
  };
  constexpr std::array<Fixed, 3> kFixed = {{{"healthz", Action::kHealth},
                                            {"metrics", Action::kMetrics},
                                            {"v1/openapi.json", Action::kDescription}}};
  for (const Fixed& fixed : kFixed) {
    if (path != fixed.path) continue;
    if (method != "GET" && !call.head) return Refuse(405, "the method is not GET");
    call.action = fixed.action;
    return call;
  }
  if (parts[0] == "v1") return Refuse(404, "there is no such path");
  return RoutePage(method, parts, std::move(call));
}

tl::expected<Caller, Refusal> Admit(const RawRequest& request, const Call& call,
                                    const Access& access) {
  if (request.hosts != 1 || !request.host) return Refuse(400, "expected one Host header");
  const std::string host = HostName(*request.host);
  if (host.empty() || !Has(access.hosts, host)) {
    return Refuse(421, "the Host header names no host of this server");
  }
  Caller caller;
  if (request.origin) {
    const std::string own = "http://" + Lower(*request.host);
    const std::string own_tls = "https://" + Lower(*request.host);
    const std::string origin = Lower(*request.origin);
    if (Has(access.origins, origin)) {
      caller.allowed_origin = origin;
    } else if (origin != own && origin != own_tls) {
      return Refuse(403, "pages of other origins are refused");
    }
  }
  if (access.tokens.empty() || call.action == Action::kHealth ||
      call.action == Action::kPreflight || call.action == Action::kPage) {
    return caller;
  }
  constexpr std::string_view kScheme = "Bearer ";
  if (!request.authorization || !request.authorization->starts_with(kScheme)) {
    return Refuse(401, "expected the header 'Authorization: Bearer TOKEN'");
  }
  const std::string hash = Sha256Of(request.authorization->substr(kScheme.size()));
  for (const std::string& known : access.tokens) {
    if (EqualsInConstantTime(known, hash)) caller.owner = known;
  }
  if (caller.owner.empty()) return Refuse(401, "the token is unknown");
  return caller;
}

namespace {

// An option of planning, or a dimension.
tl::expected<void, Refusal> AddOption(const std::string& name, const std::string& value,
                                      deliver::Words* words, std::vector<std::string>* options) {
  if (name == "dim") {
    options->push_back("dim=" + value);
    return {};
  }
  const deliver::Option* const option = deliver::OptionNamed(name);
  if (option == nullptr) return Refuse(400, "there is no option of that name");
  const bool is_flag = option->value.empty();
  if (is_flag && !value.empty() && value != "true") {
    return Refuse(400, name + ": expected no value or true");
  }
  if (const Status status = deliver::Set(name, is_flag ? "" : value, words); !status) {
    return Refuse(400, OneLine(status.error()));
  }
  options->push_back(name + (is_flag ? "" : "=" + value));
  return {};
}

}  // namespace

tl::expected<PlanRequest, Refusal> ParsePlanRequest(const Call& call) {
  PlanRequest request;
  deliver::Words words;
  bool code = false;
  bool binary = false;
  bool stages = false;
  std::vector<std::string> pipeline;
  std::string kernels;
  for (const auto& [name, value] : call.query) {
    if (name == "name") {
      if (!IsPlainName(value)) {
        return Refuse(
            400,
            "name: expected at most 64 letters, digits, '.', '_' and '-', beginning with a "
            "letter, a digit or '_'");
      }
      request.name = value;
      continue;
    }
    if (name == "code" || name == "keep-model" || name == "binary") {
      if (value != "true" && value != "false") {
        return Refuse(400, name + ": expected true or false");
      }
      (name == "code" ? code : name == "binary" ? binary : request.keep_model) = value == "true";
      continue;
    }
    if (name == "model") {
      if (!IsHex(value, kHashLength)) return Refuse(400, "model: expected a SHA-256");
      request.model = value;
      continue;
    }
    if (name == "kernels") {
      if (value != "portable" && value != "dsp" && value != "mve") {
        return Refuse(400, "kernels: expected portable, dsp or mve");
      }
      kernels = value;
      continue;
    }
    if (Has(kServerOptions, name)) return Refuse(400, name + " is set by the server");
    constexpr std::size_t kMaxValue = 256;
    if (value.size() > kMaxValue || value.find('/') != std::string::npos) {
      return Refuse(400, name + ": the value is too long or contains '/'");
    }
    if (Has(kPipelineOptions, name)) {
      if (const auto checked = CheckOfPipeline(name, value); !checked) {
        return tl::unexpected<Refusal>(checked.error());
      }
      stages = stages || name == "stages";
      pipeline.push_back(name + "=" + value);
      continue;
    }
    if (const auto added = AddOption(name, value, &words, &request.options); !added) {
      return tl::unexpected<Refusal>(added.error());
    }
  }
  if (code && binary) return Refuse(400, "code and binary exclude each other");
  if (stages && (code || binary)) return Refuse(400, "stages excludes code and binary");
  if (!stages && !pipeline.empty()) return Refuse(400, pipeline[0] + " requires stages");
  if (!kernels.empty() && !binary) return Refuse(400, "kernels requires binary");
  if (!kernels.empty()) request.options.push_back("kernels=" + kernels);
  request.options.insert(request.options.end(), pipeline.begin(), pipeline.end());
  request.kind = code     ? JobKind::kCode
                 : binary ? JobKind::kDevice
                 : stages ? JobKind::kStages
                          : JobKind::kPlan;
  if ((code || binary) && !words.Has("runtime")) {
    if (const Status status = deliver::Set("runtime", "neap", &words); !status) {
      return Refuse(400, OneLine(status.error()));
    }
    request.options.emplace_back("runtime=neap");
  }
  if (const Status status = deliver::CheckWords(words); !status) {
    return Refuse(400, OneLine(status.error()));
  }
  return request;
}

Result<std::vector<std::string>> ParseTokens(std::string_view text) {
  std::vector<std::string> tokens;
  for (std::string_view line : Split(text, '\n')) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
    if (line.empty() || line[0] == '#') continue;
    if (line.size() < kMinToken) {
      return Fail(BadInput("has a token of less than 16 characters"));
    }
    if (line.find(' ') != std::string_view::npos) {
      return Fail(BadInput("has a token with a space; expected one token a line"));
    }
    tokens.push_back(Sha256Of(line));
  }
  if (tokens.empty()) return Fail(BadInput("has no token"));
  return tokens;
}

bool IsLoopback(std::string_view address) {
  return address == "::1" || address.starts_with("127.");
}

}  // namespace neap::serve
