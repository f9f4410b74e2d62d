// SPDX-License-Identifier: Apache-2.0
#include "tools/common.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "neap/base/bytes.h"
#include "neap/base/nearest.h"
#include "tools/words.h"

namespace neap::tools {
namespace {

static_assert(std::atomic<bool>::is_always_lock_free, "the signal handler needs it");
std::atomic<bool> interrupted{false};

void OnInterrupt(int /*signal*/) { interrupted.store(true, std::memory_order_relaxed); }

bool IsSet(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

// The first of these that is set decides, as in setlocale(3).
bool LocaleIsUtf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    if (!IsSet(name)) continue;
    std::string value = std::getenv(name);
    std::transform(value.begin(), value.end(), value.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return value.find("utf-8") != std::string::npos || value.find("utf8") != std::string::npos;
  }
  return false;
}

constexpr std::size_t kColumns = 100;  // of help and reports

// `text` in lines of at most `most` characters, broken at spaces.
std::string Wrapped(const std::string& text, std::size_t most) {
  std::string out;
  std::size_t line = 0;  // where the last one begins in `out`
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of(" \n", at), text.size());
    if (out.size() > line && out.size() - line + (end - at) > most) {
      out.back() = '\n';  // in place of the space
      line = out.size();
    }
    out.append(text, at, end - at);
    if (end < text.size()) out += text[end];
    if (end < text.size() && text[end] == '\n') line = out.size();
    at = end + 1;
  }
  return out;
}

// The groups that a verb's --help leaves out; --help-all has them.
std::vector<std::string> RareGroups(const CLI::App& app) {
  std::vector<std::string> rare;
  for (const std::string& group : app.get_groups()) {
    if (!group.empty() && group != "Options" && group != "Common options") rare.push_back(group);
  }
  return rare;
}

// Descriptions of options that fit a terminal, without the groups `hidden`.
class WrappedHelp : public CLI::Formatter {
 public:
  explicit WrappedHelp(std::vector<std::string> hidden) : hidden_(std::move(hidden)) {}

  std::string make_group(std::string group, bool is_positional,
                         std::vector<const CLI::Option*> opts) const override {
    if (std::find(hidden_.begin(), hidden_.end(), group) != hidden_.end()) return "";
    return CLI::Formatter::make_group(std::move(group), is_positional, std::move(opts));
  }

  std::string make_option_desc(const CLI::Option* option) const override {
    return Wrapped(CLI::Formatter::make_option_desc(option), kColumns - get_column_width());
  }

  // A long list of values continues on the next line.
  std::string make_option_opts(const CLI::Option* option) const override {
    constexpr std::size_t kMostColumns = 80;
    // Of the library's text only the value: a description states what an option requires.
    std::string text = option->get_option_text();
    if (!text.empty()) text.insert(0, " ");
    const std::size_t at =
        text.size() > kMostColumns ? text.rfind('|', kMostColumns) : std::string::npos;
    if (at != std::string::npos) text.insert(at + 1, "\n      ");
    return text;
  }

 private:
  std::vector<std::string> hidden_;
};

int PrintHelp(CLI::App* app, std::vector<std::string> hidden) {
  app->formatter(std::make_shared<WrappedHelp>(std::move(hidden)));
  std::string help = app->help();
  for (std::size_t at = help.find("\n\n\n"); at != std::string::npos; at = help.find("\n\n\n")) {
    help.erase(at, 1);  // groups are a line apart
  }
  return Print(stdout, help) ? kDone : kFailed;
}

void AddHelpFlags(CLI::App* app) {
  const std::vector<std::string> rare = RareGroups(*app);
  app->set_help_flag("-h,--help", rare.empty() ? "this help" : "the options that most users need");
  if (rare.empty()) return;
  std::string text = "all options, also those of";
  for (const std::string& group : rare) {
    text += group == rare.front() ? " " : ", ";
    text += static_cast<char>(std::tolower(static_cast<unsigned char>(group[0])));
    text += group.substr(1);
  }
  app->set_help_all_flag("--help-all", text);
}

// By any paths. Devices and pipes have no contents that could be overwritten.
bool IsSameFile(const std::string& a, const std::string& b) {
  namespace fs = std::filesystem;
  if (a.empty() || b.empty() || a == "-" || b == "-") return false;
  std::error_code error;
  const auto status = fs::status(a, error);
  if (fs::exists(status) && !fs::is_regular_file(status)) return false;
  if (fs::equivalent(a, b, error)) return true;
  return fs::weakly_canonical(fs::absolute(a, error), error) ==
         fs::weakly_canonical(fs::absolute(b, error), error);
}

// The options as JSON, in the order of the help.
std::string Description(const CLI::App& app) {
  nlohmann::ordered_json out;
  out["summary"] = app.get_description();
  out["examples"] = app.get_footer();
  out["options"] = nlohmann::ordered_json::array();
  for (const CLI::Option* const option : app.get_options()) {
    nlohmann::ordered_json one;
    one["names"] =
        option->get_positional() ? option->get_name(true) : option->get_name(false, true);
    one["positional"] = option->get_positional();
    one["value"] = option->get_items_expected_max() == 0 ? "" : option->get_option_text();
    one["group"] = option->get_group();
    one["help"] = option->get_description();
    out["options"].push_back(std::move(one));
  }
  return out.dump(1) + "\n";
}

// What the command line has and the verb does not: the first option, otherwise the first word.
Diagnostic Unexpected(const CLI::App& app, std::vector<std::string> extras,
                      const std::vector<std::string>& args) {
  const auto place = [&](const std::string& word) {
    return std::find(args.begin(), args.end(), word) - args.begin();
  };
  std::stable_sort(extras.begin(), extras.end(), [&](const auto& a, const auto& b) {
    return std::pair(a.front() != '-', place(a)) < std::pair(b.front() != '-', place(b));
  });
  const std::string& word = extras.front();
  if (word.front() != '-') {
    constexpr std::string_view kUnits[] = {"B", "KiB", "MiB", "GiB", "KB", "MB", "GB", "k", "M"};
    Diagnostic diagnostic = UsageError("the argument '" + word + "' was not expected");
    if (std::find(std::begin(kUnits), std::end(kUnits), word) != std::end(kUnits)) {
      diagnostic.hint = "a size has no space: 64KiB";
    }
    return diagnostic;
  }
  const std::string name = word.substr(0, word.find('='));
  Diagnostic diagnostic = UsageError("there is no option '" + name + "'");
  std::vector<std::string> owned;
  for (const CLI::Option* const option : app.get_options()) {
    for (const std::string& known : option->get_lnames()) owned.push_back("--" + known);
  }
  diagnostic.hint = DidYouMean(name, std::vector<std::string_view>(owned.begin(), owned.end()));
  return diagnostic;
}

// The message of a wrong command line, without the library's words for numbers of values.
std::string MessageOf(const CLI::App& app, const CLI::ParseError& error) {
  std::string message = error.what();
  const std::size_t end = message.find(':');
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) == nullptr || end == std::string::npos) {
    return message;
  }
  const std::string name = message.substr(0, end);
  const CLI::Option* const option = app.get_option_no_throw(name);
  if (option == nullptr) return message;
  if (option->results().size() <= 1) return name + " requires a value";
  return fmt::format("{} occurs {} times, expected once", name, option->results().size());
}

// The help that has the option of an error: the first that the message names, or any where the
// option is unknown.
std::string HelpFor(const CLI::App& app, const std::string& message, bool is_unknown) {
  const std::vector<std::string> rare = RareGroups(app);
  const std::size_t at = message.find("--");
  bool all = is_unknown && !rare.empty();
  if (at != std::string::npos) {
    const std::size_t end = message.find_first_of(" :='", at);
    const CLI::Option* const option = app.get_option_no_throw(message.substr(at, end - at));
    all = all || (option != nullptr &&
                  std::find(rare.begin(), rare.end(), option->get_group()) != rare.end());
  }
  return "see '" + app.get_name() + (all ? " --help-all'" : " --help'");
}

}  // namespace

std::optional<int> Parse(CLI::App* app, std::vector<std::string> args) {
  AddHelpFlags(app);
  if (args.size() == 1 && args.front() == kDescribe) {
    return Print(stdout, Description(*app)) ? kDone : kFailed;
  }
  const std::vector<std::string> given = args;
  std::reverse(args.begin(), args.end());  // CLI11 takes them off the back
  std::string_view verb = app->get_name();
  verb.remove_prefix(std::min<std::size_t>(verb.size(), std::strlen("neap ")));
  try {
    app->parse(std::move(args));
    return std::nullopt;
  } catch (const CLI::CallForHelp&) {
    return PrintHelp(app, RareGroups(*app));
  } catch (const CLI::CallForAllHelp&) {
    return PrintHelp(app, {});
  } catch (const CLI::ExtrasError&) {
    Diagnostic diagnostic = Unexpected(*app, app->remaining(), given);
    const bool is_option = diagnostic.message.starts_with("there is no option");
    diagnostic.hint +=
        (diagnostic.hint.empty() ? "" : " ") + HelpFor(*app, diagnostic.hint, is_option);
    return Report(verb, diagnostic);
  } catch (const CLI::ParseError& error) {
    Diagnostic diagnostic = UsageError(MessageOf(*app, error));
    diagnostic.hint = HelpFor(*app, diagnostic.message, false);
    return Report(verb, diagnostic);
  }
}

int Report(std::string_view verb, const Diagnostic& diagnostic) {
  fmt::print(stderr, "neap {}: {}\n", verb, diagnostic.ToString());
  if (diagnostic.code == ErrorCode::kOverBudget) return kOverBudget;
  return diagnostic.code == ErrorCode::kUsage ? kUsage : kFailed;
}

void AddInputOptions(CLI::App* app, ModelOptions* options) {
  app->add_option("INPUT", options->input, "model: .tflite, .onnx or graph JSON; - is stdin")
      ->required();
  app->add_option("--dim", options->dims, "value of a symbolic dimension; may be repeated")
      ->option_text("NAME=N")
      ->allow_extra_args(false);
}

void AddModelOptions(CLI::App* app, ModelOptions* options) {
  AddInputOptions(app, options);
  AddWords(app, &options->words, {"runtime"});
}

void AddOutputOptions(CLI::App* app, OutputOptions* options) {
  app->add_flag("--json", options->json, "print the report as JSON (see schemas/)");
  app->add_flag("--quiet", options->quiet, "print only errors");
  app->add_option("--color", options->color, "auto: colours on a terminal unless NO_COLOR is set")
      ->option_text("auto|never")
      ->check(CLI::IsMember({"auto", "never"}));
}

report::Style StyleFor(std::FILE* stream, const OutputOptions& options) {
  report::Style style;
  style.ascii = !LocaleIsUtf8();
  if (::isatty(::fileno(stream)) == 0) return style;
  const char* term = std::getenv("TERM");
  const bool dumb = term != nullptr && std::string_view(term) == "dumb";
  style.color = options.color != "never" && !IsSet("NO_COLOR") && !dumb;
  winsize size{};
  if (::ioctl(::fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    style.columns = std::clamp<int>(size.ws_col, 40, 160);
  }
  return style;
}

Status CheckOutput(const std::string& path, bool force) {
  if (path.empty() || path == "-") return {};
  const auto fail = [&](std::string message, std::string hint) {
    Diagnostic diagnostic = IoError(std::move(message));
    diagnostic.file = path;
    diagnostic.hint = std::move(hint);
    return Fail(std::move(diagnostic));
  };
  std::error_code error;
  const std::filesystem::path target(path);
  const auto status = std::filesystem::status(target, error);
  if (std::filesystem::is_directory(status)) return fail("is a folder, expected a file name", "");
  if (std::filesystem::exists(status) && !force) {
    return fail("exists already", "--force overwrites it");
  }
  const auto folder = target.has_parent_path() ? target.parent_path() : ".";
  if (!std::filesystem::is_directory(folder, error)) {
    return fail("its folder does not exist", "create the folder first");
  }
  return {};
}

Status CheckDistinct(const std::vector<NamedFile>& read, const std::vector<NamedFile>& written) {
  for (std::size_t i = 0; i < written.size(); ++i) {
    for (const NamedFile& other : read) {
      if (!IsSameFile(written[i].path, other.path)) continue;
      return Fail(UsageError(
          fmt::format("{} would overwrite the file of {}", written[i].option, other.option)));
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (!IsSameFile(written[i].path, written[j].path)) continue;
      return Fail(UsageError(
          fmt::format("{} and {} name the same file", written[j].option, written[i].option)));
    }
  }
  return {};
}

Result<std::int64_t> ParseSize(std::string_view option, const std::string& text) {
  auto bytes = ParseBytes(text);
  if (!bytes) return Fail(UsageError(fmt::format("{}: {}", option, bytes.error().message)));
  return bytes;
}

Status CheckTimeLimit(double seconds) {
  if (std::isfinite(seconds) && seconds >= 0) return {};
  return Fail(UsageError("--time-limit is not a number of seconds of at least 0"));
}

std::optional<Limits::Clock::time_point> DeadlineAfter(double seconds) {
  if (seconds <= 0) return std::nullopt;
  Limits limits;
  limits.max_seconds = seconds;
  return limits.EndOfSearch(Limits::Clock::now());
}

std::string BaseName(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

Status Print(std::FILE* stream, std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stream) == text.size() && std::fflush(stream) == 0) {
    return {};
  }
  return Fail(IoError(std::string("cannot write to standard output: ") + std::strerror(errno)));
}

std::string Hanging(const std::string& head, const std::string& text) {
  constexpr std::size_t kMinText = 20;  // columns of the text behind a wide head
  const std::string margin(head.size(), ' ');
  std::string out = head;
  for (const char c : Wrapped(text, kColumns - std::min(head.size(), kColumns - kMinText))) {
    out += c;
    if (c == '\n') out += margin;
  }
  return out + "\n";
}

const std::atomic<bool>* StopOnInterrupt() {
  struct sigaction action {};
  action.sa_handler = OnInterrupt;
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  return &interrupted;
}

namespace {
bool for_programs = false;  // set before the first search
}  // namespace

void ProgressLine::PrintForPrograms() { for_programs = true; }

void ProgressLine::Show(const Progress& progress) {
  constexpr double kFirstSeconds = 1.0;
  constexpr double kEverySeconds = 0.1;
  const double now = watch_.Seconds();
  if (for_programs) {
    constexpr double kEveryLineSeconds = 0.5;
    if (now - last_seconds_ < kEveryLineSeconds) return;
    last_seconds_ = now;
    fmt::print(stderr, "progress {} {} {}\n", progress.upper_bound_bytes,
               progress.lower_bound_bytes, progress.states);
    return;
  }
  if (!enabled_ || now < kFirstSeconds || now - last_seconds_ < kEverySeconds) return;
  last_seconds_ = now;
  shown_ = true;
  // Back to the start of the line, and clear what an older, longer text left behind.
  fmt::print(stderr, "\r{}\x1b[K", report::ProgressLine(progress, now));
  std::fflush(stderr);
}

void ProgressLine::Erase() {
  if (!shown_) return;
  shown_ = false;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
}

CLI::Option* AddSeedOption(CLI::App* app, const std::string& names, std::uint64_t* seed,
                           const std::string& description) {
  constexpr std::size_t kMaxDigits = 19;  // of 64 bits, all values
  const CLI::Validator whole(
      [](const std::string& text) {
        const bool digits = !text.empty() && text.size() <= kMaxDigits &&
                            text.find_first_not_of("0123456789") == std::string::npos;
        return digits ? std::string() : "'" + text + "' is not a whole number of at most 19 digits";
      },
      "");
  return app->add_option(names, *seed, description)->option_text("N")->check(whole);
}

}  // namespace neap::tools
