// SPDX-License-Identifier: Apache-2.0
#include "neap/batch/batch.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <system_error>
#include <utility>

#include "neap/batch/answer.h"
#include "neap/batch/line_reader.h"
#include "neap/batch/lines.h"
#include "neap/batch/memo.h"
#include "neap/batch/ordered_run.h"
#include "neap/batch/store.h"

namespace neap::batch {
namespace {

constexpr std::size_t kMaxRemembered = std::size_t{1} << 16U;
constexpr std::size_t kLinesPerJob = 64;
constexpr std::size_t kMaxWaitingBytes = std::size_t{256} << 20U;

Diagnostic At(const std::string& name, std::string message) {
  Diagnostic error = IoError(std::move(message));
  error.file = name;
  return error;
}

std::string Reason(int error) { return std::generic_category().message(error); }

int WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t put = ::write(fd, text.data(), text.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(put));
  }
  return 0;
}

class BatchRun {
 public:
  BatchRun(const Task& task, const Options& options, const Observer& observer)
      : task_(task),
        options_(options),
        observer_(observer),
        manifest_(task.manifest, kMaxLineBytes, task.stop),
        memo_(kMaxRemembered) {}

  Result<Counts> Run() {
    if (!task_.store.empty()) {
      NEAP_TRY(store_, Store::Open(task_.store, task_.stop));
    }
    if (task_.resume) NEAP_CHECK_OK(Resume());
    OrderedRun<Outcome>::Limits limits;
    limits.threads = task_.jobs;
    limits.max_items = kLinesPerJob * static_cast<std::size_t>(task_.jobs);
    limits.max_bytes = kMaxWaitingBytes;
    limits.stop = task_.stop;
    OrderedRun<Outcome> run(
        limits, [this](const std::string& line) { return Work(line); },
        [this](const Outcome& outcome) { return Deliver(outcome); });
    run.Run([this] { return NextLine(); });
    if (write_error_ != 0) {
      return Fail(At(task_.answers_name, "cannot be written: " + Reason(write_error_)));
    }
    if (manifest_.Error() != 0) return Fail(CannotReadManifest());
    counts_.stopped = task_.stop != nullptr && task_.stop->load() && !ended_;
    return counts_;
  }

 private:
  struct Outcome {
    std::string text;
    bool error = false;
    bool bounded = false;
    bool repeated = false;
  };

  Diagnostic CannotReadManifest() const {
    return At(task_.manifest_name, "cannot be read: " + Reason(manifest_.Error()));
  }

  // The next line of this shard; nullopt: there is none, or reading failed.
  std::optional<std::string> NextLine() {
    std::string line;
    for (;;) {
      const LineReader::Event event = manifest_.Next(&line);
      if (event == LineReader::Event::kEnd) ended_ = true;
      if (event != LineReader::Event::kLine && event != LineReader::Event::kTooLong) {
        return std::nullopt;
      }
      if (line_number_++ % task_.shard_count != task_.shard_index) continue;
      // One byte beyond the limit is enough: the parser of the line refuses it.
      if (event == LineReader::Event::kTooLong) line.assign(kMaxLineBytes + 1, ' ');
      return line;
    }
  }

  Outcome Work(const std::string& line) {
    Outcome outcome;
    const Answer answer = AnswerOf(line, options_, &memo_, store_.get(), &outcome.repeated);
    outcome.error = !answer.error.empty();
    outcome.bounded = !outcome.error && !answer.IsOptimal();
    outcome.text = ToJson(answer);
    return outcome;
  }

  bool Deliver(const Outcome& outcome) {
    write_error_ = WriteAll(task_.answers, outcome.text);
    if (write_error_ != 0) return false;
    ++counts_.answered;
    counts_.errors += outcome.error ? 1 : 0;
    counts_.bounded += outcome.bounded ? 1 : 0;
    counts_.repeated += outcome.repeated ? 1 : 0;
    if (observer_) observer_(counts_);
    return true;
  }

  // Goes through the existing answers and the lines that they answer, side by side.
  Status Resume() {
    struct stat status = {};
    if (::fstat(task_.answers, &status) != 0 || !S_ISREG(status.st_mode)) {
      return Fail(At(task_.answers_name, "is not a regular file, which resuming requires"));
    }
    LineReader answers(task_.answers, kMaxLineBytes, task_.stop);
    std::string text;
    for (;;) {
      const LineReader::Event event = answers.Next(&text);
      if (event == LineReader::Event::kFailed) {
        return Fail(At(task_.answers_name, "cannot be read: " + Reason(answers.Error())));
      }
      if (event == LineReader::Event::kStopped || event == LineReader::Event::kEnd) break;
      if (!answers.IsWhole()) break;
      NEAP_CHECK_OK(KeepAnswer(text));
    }
    if (::ftruncate(task_.answers, answers.WholeBytes()) != 0 ||
        ::lseek(task_.answers, 0, SEEK_END) < 0) {
      return Fail(At(task_.answers_name, "cannot be written: " + Reason(errno)));
    }
    return {};
  }

  Status KeepAnswer(const std::string& text) {
    const std::string where = "line " + std::to_string(counts_.kept + 1) + " ";
    const auto answer = ParseAnswer(text);
    if (!answer) return Fail(At(task_.answers_name, where + "is not an answer of a batch"));
    const auto line = NextLine();
    if (!line && manifest_.Error() != 0) return Fail(CannotReadManifest());
    Diagnostic error = At(task_.answers_name, "");
    error.hint = "resume with the manifest and the shard with which the file was started";
    if (!line && ended_) {
      error.message = where + "answers nothing: the manifest has fewer lines";
      return Fail(std::move(error));
    }
    if (!line) return {};  // stopped
    Request request;
    // Errors of a line have been reported already.
    static_cast<void>(ParseRequest(*line, &request));
    if (request.id != answer->id) {
      error.message = where + "has the id " + answer->id + ", the manifest " + request.id;
      return Fail(std::move(error));
    }
    ++counts_.kept;
    counts_.errors += answer->is_error ? 1 : 0;
    return {};
  }

  const Task& task_;
  const Options& options_;
  const Observer& observer_;
  LineReader manifest_;
  std::int64_t line_number_ = 0;
  bool ended_ = false;  // the manifest has been read to its end
  Memo memo_;
  std::unique_ptr<Store> store_;  // nullptr: none
  Counts counts_;
  int write_error_ = 0;
};

}  // namespace

Result<Counts> Run(const Task& task, const Options& options, const Observer& observer) {
  return BatchRun(task, options, observer).Run();
}

}  // namespace neap::batch
