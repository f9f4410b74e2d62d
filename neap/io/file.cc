// SPDX-License-Identifier: Apache-2.0
#include "neap/io/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <new>
#include <system_error>
#include <utility>

#include "neap/base/bytes.h"
#include "neap/base/check.h"
#include "neap/io/sha256.h"

#if NEAP_WITH_OPENSSL
#include <openssl/evp.h>
#endif

namespace neap::io {
namespace {

namespace fs = std::filesystem;

std::string Reason(int error) { return std::generic_category().message(error); }

Diagnostic At(const std::string& path, std::string message) {
  Diagnostic error = IoError(std::move(message));
  error.file = path == "-" ? "standard input or output" : path;
  return error;
}

class Descriptor {
 public:
  explicit Descriptor(int fd, bool owned = true) : fd_(fd), owned_(owned) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (owned_ && fd_ >= 0) ::close(fd_);
  }
  int Number() const { return fd_; }
  // Some file systems report a failed write only here. 0 or errno.
  int Close() {
    const int fd = std::exchange(fd_, -1);
    return !owned_ || ::close(fd) == 0 ? 0 : errno;
  }

 private:
  int fd_;
  bool owned_;
};

// What a vector can contain where memory has 32-bit addresses.
constexpr auto kMaxReadBytes = static_cast<std::size_t>(
    std::min<std::uint64_t>(kMaxFileBytes, std::numeric_limits<std::size_t>::max() / 2));

// Reads to the end of `fd`, `expected` bytes if all is well. 0, errno, or EFBIG.
int ReadAll(int fd, std::size_t expected, std::vector<std::byte>* out) {
  constexpr std::size_t kChunkBytes = std::size_t{1} << 16U;
  std::size_t length = 0;
  // One byte more than expected, so that the end is seen without growing.
  out->resize(expected > 0 ? expected + 1 : kChunkBytes);
  for (;;) {
    if (length == out->size()) {
      if (length > kMaxReadBytes) return EFBIG;
      out->resize(std::min(length * 2, kMaxReadBytes + 1));
    }
    const ssize_t got = ::read(fd, out->data() + length, out->size() - length);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno;
    if (got == 0) break;
    length += static_cast<std::size_t>(got);
  }
  out->resize(length);
  return length > kMaxReadBytes ? EFBIG : 0;
}

int WriteAll(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return errno;
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
  return 0;
}

Diagnostic TooLarge(const std::string& path) {
  return At(path, "is too large: the most is " + FormatBytes(kMaxFileBytes));
}

// A file that is gone again unless Keep() is called.
class Temporary {
 public:
  Temporary() = default;
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  ~Temporary() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  // A new file in `folder`, with the rights of any new file. The descriptor, or -1 with errno.
  int Create(const fs::path& folder) {
    static std::atomic<unsigned> counter{0};
    constexpr int kMaxTries = 1000;
    for (int i = 0; i < kMaxTries; ++i) {
      const std::string name =
          ".neap-" + std::to_string(::getpid()) + "-" + std::to_string(counter++) + ".tmp";
      const std::string path = (folder / name).string();
      const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (fd >= 0) path_ = path;
      if (fd >= 0 || errno != EEXIST) return fd;
    }
    return -1;
  }
  // 0 or errno. Without `replace` an existing target is left alone, even one that came meanwhile.
  int MoveTo(const std::string& target, bool replace) {
    int failed = -1;
#ifdef RENAME_NOREPLACE
    if (!replace) {
      failed = ::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, target.c_str(), RENAME_NOREPLACE);
      // Not every file system can promise that; the caller has looked before.
      if (failed != 0 && errno != EINVAL && errno != ENOSYS) return errno;
    }
#else
    static_cast<void>(replace);  // the caller has looked before
#endif
    if (failed != 0) failed = ::rename(path_.c_str(), target.c_str());
    if (failed != 0) return errno;
    path_.clear();
    return 0;
  }

 private:
  std::string path_;
};

Diagnostic Exists(const std::string& path) {
  Diagnostic error = At(path, "exists already");
  error.hint = "use another name or allow overwriting";
  return error;
}

// To a place that cannot be replaced by another file: standard output, a device, a pipe.
Status WriteThrough(const std::string& path, int fd, std::span<const std::byte> bytes) {
  const int error = fd < 0 ? errno : WriteAll(fd, bytes);
  if (error != 0) return Fail(At(path, "cannot be written: " + Reason(error)));
  return {};
}

// Where a link at `path` leads, so that the file is replaced and not the link.
Result<std::string> Resolve(const std::string& path) {
  std::error_code error;
  if (!fs::is_symlink(path, error)) return path;
  const fs::path target = fs::weakly_canonical(path, error);
  if (error) return Fail(At(path, "cannot be followed: " + error.message()));
  return target.string();
}

}  // namespace

Result<std::shared_ptr<const std::vector<std::byte>>> ReadFile(const std::string& path,
                                                               const HeadCheck& accept) {
  const bool standard = path == "-";
  const Descriptor file(standard ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC),
                        !standard);
  if (file.Number() < 0) return Fail(At(path, "cannot be opened: " + Reason(errno)));
  struct stat status = {};
  if (::fstat(file.Number(), &status) != 0) {
    return Fail(At(path, "cannot be opened: " + Reason(errno)));
  }
  if (S_ISDIR(status.st_mode)) return Fail(At(path, "is a folder, expected a file"));
  if (S_ISREG(status.st_mode) && status.st_size > kMaxFileBytes) return Fail(TooLarge(path));
  if (accept && S_ISREG(status.st_mode)) {
    std::array<std::byte, 4096> head = {};
    const ssize_t got = ::pread(file.Number(), head.data(), head.size(), 0);
    if (got < 0) return Fail(At(path, "cannot be read: " + Reason(errno)));
    NEAP_CHECK_OK(accept(std::span(head).first(static_cast<std::size_t>(got)), status.st_size));
  }
  try {
    auto bytes = std::make_shared<std::vector<std::byte>>();
    const std::size_t expected =
        S_ISREG(status.st_mode) ? static_cast<std::size_t>(status.st_size) : 0;
    const int error = ReadAll(file.Number(), expected, bytes.get());
    if (error == EFBIG) return Fail(TooLarge(path));
    if (error != 0) return Fail(At(path, "cannot be read: " + Reason(error)));
    return bytes;
  } catch (const std::bad_alloc&) {
    return Fail(At(path, "does not fit into memory"));
  }
}

Status WriteFile(const std::string& path, std::span<const std::byte> bytes, bool force) {
  if (path == "-") {
    std::fflush(stdout);  // earlier output comes first
    return WriteThrough(path, STDOUT_FILENO, bytes);
  }
  NEAP_TRY(const std::string target, Resolve(path));
  struct stat status = {};
  if (::stat(target.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) return Fail(At(path, "is a folder, expected a file"));
    if (!S_ISREG(status.st_mode)) {
      const Descriptor device(::open(target.c_str(), O_WRONLY | O_CLOEXEC));
      return WriteThrough(path, device.Number(), bytes);
    }
    if (!force) return Fail(Exists(path));
  }
  fs::path folder = fs::path(target).parent_path();
  if (folder.empty()) folder = ".";
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) {
    return Fail(At(path, "cannot be written: there is no folder '" + folder.string() + "'"));
  }
  Temporary temporary;
  Descriptor file(temporary.Create(folder));
  int error = file.Number() < 0 ? errno : WriteAll(file.Number(), bytes);
  if (const int closed = file.Number() < 0 ? 0 : file.Close(); error == 0) error = closed;
  if (error == 0) error = temporary.MoveTo(target, force);
  if (error == EEXIST && !force) return Fail(Exists(path));
  if (error != 0) return Fail(At(path, "cannot be written: " + Reason(error)));
  return {};
}

Status WriteFile(const std::string& path, std::string_view text, bool force) {
  return WriteFile(path, std::as_bytes(std::span(text.data(), text.size())), force);
}

std::string Sha256(std::span<const std::byte> bytes) {
#if NEAP_WITH_OPENSSL
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest = {};
  unsigned length = 0;
  const int done =
      EVP_Digest(bytes.data(), bytes.size(), digest.data(), &length, EVP_sha256(), nullptr);
  NEAP_CHECK(done == 1, "OpenSSL has no SHA-256");
#else
  const std::array<std::uint8_t, 32> digest = Sha256Digest(bytes);
  const std::size_t length = digest.size();
#endif
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out;
  for (std::size_t i = 0; i < length; ++i) {
    out += kHex[digest.at(i) >> 4U];
    out += kHex[digest.at(i) & 15U];
  }
  return out;
}

}  // namespace neap::io
