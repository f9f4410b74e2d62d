// SPDX-License-Identifier: Apache-2.0
#include "neap/batch/line_reader.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace neap::batch {

// kLine: there is something in the chunk now.
LineReader::Event LineReader::Fill() {
  // A signal may be delivered to another thread than the one that waits here.
  constexpr int kPollMilliseconds = 100;
  for (;;) {
    if (stop_ != nullptr) {
      if (stop_->load(std::memory_order_relaxed)) return Event::kStopped;
      pollfd ready = {fd_, POLLIN, 0};
      const int count = ::poll(&ready, 1, kPollMilliseconds);
      if (count == 0 || (count < 0 && errno == EINTR)) continue;
    }
    const ssize_t got = ::read(fd_, chunk_.data(), chunk_.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) {
      error_ = errno;
      return Event::kFailed;
    }
    begin_ = 0;
    end_ = static_cast<std::size_t>(got);
    return got == 0 ? Event::kEnd : Event::kLine;
  }
}

LineReader::Event LineReader::Next(std::string* line) {
  line->clear();
  bool too_long = false;
  bool any = false;
  whole_ = false;
  for (;;) {
    if (begin_ == end_) {
      const Event event = Fill();
      if (event == Event::kEnd && any) return too_long ? Event::kTooLong : Event::kLine;
      if (event != Event::kLine) return event;
    }
    any = true;
    const char* const start = chunk_.data() + begin_;
    const std::size_t there = end_ - begin_;
    const auto* const newline = static_cast<const char*>(std::memchr(start, '\n', there));
    const std::size_t length =
        newline != nullptr ? static_cast<std::size_t>(newline - start) : there;
    if (!too_long) {
      too_long = line->size() + length > max_bytes_;
      if (too_long) {
        line->clear();
        line->shrink_to_fit();
      } else {
        line->append(start, length);
      }
    }
    const std::size_t used = length + (newline != nullptr ? 1 : 0);
    begin_ += used;
    taken_bytes_ += static_cast<std::int64_t>(used);
    if (newline != nullptr) {
      whole_ = true;
      whole_bytes_ = taken_bytes_;
      return too_long ? Event::kTooLong : Event::kLine;
    }
  }
}

}  // namespace neap::batch
