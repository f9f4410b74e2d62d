// SPDX-License-Identifier: Apache-2.0
//
// Lines from a file, a pipe or a terminal, each as soon as it is complete. Private to neap/batch.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace neap::batch {

class LineReader {
 public:
  enum class Event : std::uint8_t {
    kLine,
    kTooLong,  // a line of more than `max_bytes` bytes was skipped
    kEnd,
    kStopped,  // *stop was set while there was nothing to read
    kFailed,   // errno is in Error()
  };

  // `fd` stays the caller's; `stop` may be null.
  LineReader(int fd, std::size_t max_bytes, const std::atomic<bool>* stop)
      : fd_(fd), max_bytes_(max_bytes), stop_(stop), chunk_(kChunkBytes) {}

  // Takes the next line, without its "\n". What follows the last "\n" is a line if it is not empty.
  Event Next(std::string* line);

  int Error() const { return error_; }
  // Bytes up to and with the "\n" of the last line that was taken; a line without one does not
  // count.
  std::int64_t WholeBytes() const { return whole_bytes_; }
  // The line that was taken last ended with "\n".
  bool IsWhole() const { return whole_; }

 private:
  static constexpr std::size_t kChunkBytes = std::size_t{1} << 16U;
  Event Fill();

  int fd_;
  std::size_t max_bytes_;
  const std::atomic<bool>* stop_;
  std::vector<char> chunk_;
  std::size_t begin_ = 0;  // read and not yet returned: chunk_[begin_, end_)
  std::size_t end_ = 0;
  std::int64_t taken_bytes_ = 0;
  std::int64_t whole_bytes_ = 0;
  bool whole_ = false;
  int error_ = 0;
};

}  // namespace neap::batch
