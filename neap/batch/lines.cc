// SPDX-License-Identifier: Apache-2.0
#include "neap/batch/lines.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "neap/batch/batch.h"

namespace neap::batch {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxIdBytes = 4096;
constexpr std::size_t kMaxErrorBytes = 1000;

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

Diagnostic NotJson(std::string_view text, std::size_t at) {
  if (at >= text.size()) return BadInput("the line is not a JSON object: it ends too early");
  return BadInput("the line is not a JSON object: unexpected text at byte " + std::to_string(at));
}

// Goes through the members of the object that a text is, by its brackets and quotes alone: values
// are left to their parser.
class MemberScanner {
 public:
  explicit MemberScanner(std::string_view text) : text_(text) {}

  struct Member {
    std::string_view key;  // with its quotes
    std::string_view value;
  };

  // nullopt: the object has ended, and nothing but white space follows.
  Result<std::optional<Member>> Next() {
    SkipSpace();
    if (!opened_) {
      if (!Take('{')) return Fail(NotJson(text_, at_));
      opened_ = true;
      SkipSpace();
      if (Take('}')) return End();
    } else {
      if (Take('}')) return End();
      if (!Take(',')) return Fail(NotJson(text_, at_));
      SkipSpace();
    }
    Member member;
    if (Peek() != '"') return Fail(NotJson(text_, at_));
    member.key = Value();
    SkipSpace();
    if (!Take(':')) return Fail(NotJson(text_, at_));
    SkipSpace();
    member.value = Value();
    if (member.value.empty()) return Fail(NotJson(text_, at_));
    return std::optional(member);
  }

 private:
  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool Take(char c) {
    if (Peek() != c) return false;
    ++at_;
    return true;
  }
  void SkipSpace() {
    while (at_ < text_.size() && IsSpace(text_[at_])) ++at_;
  }

  Result<std::optional<Member>> End() {
    SkipSpace();
    if (at_ < text_.size()) return Fail(NotJson(text_, at_));
    return std::optional<Member>();
  }

  void SkipString() {
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '\\') {
        ++at_;
      } else if (text_[at_] == '"') {
        ++at_;
        return;
      }
    }
    at_ = text_.size();
  }

  // The extent of the value that begins here; empty where none does.
  std::string_view Value() {
    const std::size_t begin = at_;
    std::int64_t depth = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') {
        SkipString();
        if (depth == 0) break;
        continue;
      }
      if (depth == 0 && (c == ',' || c == '}' || c == ']' || c == ':' || IsSpace(c))) break;
      ++at_;
      if (c == '{' || c == '[') ++depth;
      if ((c == '}' || c == ']') && --depth == 0) break;
    }
    return text_.substr(begin, at_ - begin);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool opened_ = false;
};

Json ParseShort(std::string_view text) { return Json::parse(text, nullptr, false); }

Result<std::string> ReadId(std::string_view value) {
  if (value.size() > kMaxIdBytes) {
    return Fail(BadInput("'id' is longer than " + std::to_string(kMaxIdBytes) + " bytes"));
  }
  // A nested value of this length could be parsed, but is no id.
  const bool nested = value.front() == '{' || value.front() == '[';
  const Json id = nested ? Json() : ParseShort(value);
  if (!id.is_string() && !id.is_number_integer()) {
    return Fail(BadInput("'id' must be a string or a whole number"));
  }
  return id.dump();
}

Result<std::string> ReadPath(std::string_view value) {
  const Json path = value.front() == '"' ? ParseShort(value) : Json();
  if (!path.is_string()) return Fail(BadInput("'path' must be a string"));
  std::string text = path.get<std::string>();
  if (text.empty()) return Fail(BadInput("'path' is empty"));
  if (text.find('\0') != std::string::npos) return Fail(BadInput("'path' has a zero byte"));
  return text;
}

Status ReadMember(std::string_view key_text, std::string_view value, Request* request,
                  bool* has_id) {
  const Json parsed = ParseShort(key_text);
  if (!parsed.is_string()) return Fail(BadInput("the line has a malformed key"));
  const auto& key = parsed.get_ref<const std::string&>();
  const auto twice = [&] { return Fail(BadInput("the line has '" + key + "' twice")); };
  if (key == "id") {
    if (std::exchange(*has_id, true)) return twice();
    NEAP_TRY(request->id, ReadId(value));
  } else if (key == "path") {
    if (request->path) return twice();
    NEAP_TRY(request->path, ReadPath(value));
  } else if (key == "graph") {
    if (request->graph) return twice();
    if (value.front() != '{') return Fail(BadInput("'graph' must be an object"));
    request->graph = value;
  } else if (!key.starts_with('_')) {
    Diagnostic error = BadInput("the line has the unknown key '" + key + "'");
    error.hint = "expected one of id path graph; keys that begin with _ are ignored";
    return Fail(std::move(error));
  } else if (!Json::accept(value)) {
    return Fail(BadInput("the value of '" + key + "' is not JSON"));
  }
  return {};
}

Json OrNull(const std::optional<std::int64_t>& number) { return number ? Json(*number) : Json(); }

// At most kMaxErrorBytes, cut between two characters.
std::string Shortened(const std::string& text) {
  if (text.size() <= kMaxErrorBytes) return text;
  std::size_t end = kMaxErrorBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end) + "...";
}

}  // namespace

Status ParseRequest(std::string_view line, Request* request) {
  if (line.size() > kMaxLineBytes) {
    return Fail(BadInput("the line is longer than " + std::to_string(kMaxLineBytes) + " bytes"));
  }
  MemberScanner scanner(line);
  bool has_id = false;
  for (;;) {
    NEAP_TRY(const auto member, scanner.Next());
    if (!member) break;
    NEAP_CHECK_OK(ReadMember(member->key, member->value, request, &has_id));
  }
  if (request->path.has_value() == request->graph.has_value()) {
    return Fail(BadInput(request->path ? "the line has 'path' and 'graph', expected one of them"
                                       : "the line has neither 'path' nor 'graph'"));
  }
  return {};
}

std::string ToJson(const Answer& answer) {
  const bool failed = !answer.error.empty();
  const auto text = [](const Json& value) {
    return value.dump(-1, ' ', false, Json::error_handler_t::replace);
  };
  std::string out = "{\"id\":" + answer.id;
  out += ",\"peak_bytes\":" + text(OrNull(answer.peak_bytes));
  out += ",\"peak_lower_bound_bytes\":" + text(OrNull(answer.peak_lower_bound_bytes));
  out += ",\"arena_bytes\":" + text(OrNull(answer.arena_bytes));
  out += ",\"delivered_arena_bytes\":" + text(OrNull(answer.delivered_arena_bytes));
  out += ",\"status\":\"";
  out += failed ? "error" : answer.IsOptimal() ? "optimal" : "bounded";
  out += "\",\"error\":" + text(failed ? Json(Shortened(answer.error)) : Json());
  return out + "}\n";
}

std::optional<KnownAnswer> ParseAnswer(std::string_view line) {
  // Answers are flat and short; anything else is none, and is not worth parsing.
  if (line.size() > 8 * (kMaxIdBytes + kMaxErrorBytes)) return std::nullopt;
  const Json answer = ParseShort(line);
  if (!answer.is_object() || answer.size() != 7) return std::nullopt;
  for (const char* key : {"id", "peak_bytes", "peak_lower_bound_bytes", "arena_bytes",
                          "delivered_arena_bytes", "error"}) {
    if (!answer.contains(key)) return std::nullopt;
  }
  const auto status = answer.find("status");
  if (status == answer.end() || !status->is_string()) return std::nullopt;
  return KnownAnswer{answer["id"].dump(), *status == "error"};
}

}  // namespace neap::batch
