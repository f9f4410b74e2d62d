// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>
#include <vector>

#include "neap/serve/serve.h"

namespace neap::serve {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif
#else
constexpr bool kSanitized = false;
#endif

// Of Landlock, as the kernel documents it; headers of the system may be older than its kernel.
struct Ruleset {
  std::uint64_t files;
  std::uint64_t network;
  std::uint64_t scoped;
};
#pragma pack(push, 1)
struct PathBeneath {
  std::uint64_t allowed;
  std::int32_t folder;
};
#pragma pack(pop)
constexpr int kCreateRuleset = 444;
constexpr int kAddRule = 445;
constexpr int kRestrictSelf = 446;
constexpr int kRulePathBeneath = 1;
constexpr std::uint64_t kWriteFile = 1U << 1U;
constexpr std::uint64_t kReadFile = 1U << 2U;
constexpr std::uint64_t kReadFolder = 1U << 3U;
constexpr std::uint64_t kRemoveFile = 1U << 5U;
constexpr std::uint64_t kMakeFile = 1U << 8U;
constexpr std::uint64_t kTruncate = 1U << 14U;

long LandlockVersion() { return ::syscall(kCreateRuleset, nullptr, 0, 1U); }

// All rights that this version of the kernel can take away.
std::uint64_t FileRights(long version) {
  unsigned bits = 13;  // version 1
  if (version >= 2) bits = 14;
  if (version >= 3) bits = 15;
  if (version >= 5) bits = 16;
  return (std::uint64_t{1} << bits) - 1;
}

Diagnostic Refused(const char* what) {
  return IoError(std::string(what) + ": " + std::generic_category().message(errno));
}

Status Allow(int ruleset, const char* folder, std::uint64_t rights) {
  PathBeneath rule = {rights, ::open(folder, O_PATH | O_CLOEXEC)};
  if (rule.folder < 0) return Fail(Refused("the folder of the job cannot be opened"));
  const long added = ::syscall(kAddRule, ruleset, kRulePathBeneath, &rule, 0);
  Status status = added == 0 ? Status() : Fail(Refused("the job cannot be confined"));
  ::close(rule.folder);
  return status;
}

Status RestrictFiles() {
  const long version = LandlockVersion();
  if (version < 1) return {};
  Ruleset attributes = {FileRights(version), 0, 0};
  std::size_t size = sizeof(std::uint64_t);
  if (version >= 4) {
    attributes.network = 3;  // bind and connect of TCP
    size = 2 * sizeof(std::uint64_t);
  }
  if (version >= 6) {
    attributes.scoped = 3;  // abstract sockets and signals
    size = sizeof(Ruleset);
  }
  const auto ruleset = static_cast<int>(::syscall(kCreateRuleset, &attributes, size, 0U));
  if (ruleset < 0) return Fail(Refused("the job cannot be confined"));
  std::uint64_t write = kReadFile | kReadFolder | kWriteFile | kRemoveFile | kMakeFile;
  if (version >= 3) write |= kTruncate;
  Status status = Allow(ruleset, kJobInput, kReadFile | kReadFolder);
  if (status) status = Allow(ruleset, kJobOutput, write);
  if (status && ::syscall(kRestrictSelf, ruleset, 0U) != 0) {
    status = Fail(Refused("the job cannot be confined"));
  }
  ::close(ruleset);
  return status;
}

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
constexpr std::uint32_t kArchitecture = 0;
#endif

// Calls of a program that computes, and reads and writes files. Everything else fails with EPERM:
// sockets, other processes, new programs, mounts, keys, io_uring.
constexpr int kAllowedCalls[] = {
    SYS_read,
    SYS_readv,
    SYS_pread64,
    SYS_write,
    SYS_writev,
    SYS_pwrite64,
    SYS_lseek,
    SYS_close,
    SYS_openat,
    SYS_fstat,
    SYS_newfstatat,
    SYS_statx,
    SYS_faccessat,
    SYS_readlinkat,
    SYS_getdents64,
    SYS_getcwd,
    SYS_unlinkat,
    SYS_renameat,
    SYS_renameat2,
    SYS_ftruncate,
    SYS_fsync,
    SYS_fdatasync,
    SYS_fallocate,
    SYS_fcntl,
    SYS_dup,
    SYS_dup3,
    SYS_pipe2,  // of UBSan, which tests with one whether memory can be read
    SYS_umask,
    SYS_mmap,
    SYS_munmap,
    SYS_mprotect,
    SYS_mremap,
    SYS_madvise,
    SYS_brk,
    SYS_futex,
    SYS_set_robust_list,
    SYS_get_robust_list,
    SYS_set_tid_address,
    SYS_rseq,
    SYS_sched_yield,
    SYS_sched_getaffinity,
    SYS_nanosleep,
    SYS_clock_nanosleep,
    SYS_clock_gettime,
    SYS_clock_getres,
    SYS_gettimeofday,
    SYS_getrandom,
    SYS_getpid,
    SYS_gettid,
    SYS_getuid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getegid,
    SYS_uname,
    SYS_sysinfo,
    SYS_getrusage,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_sigaltstack,
    SYS_restart_syscall,
    SYS_exit,
    SYS_exit_group,
#if defined(__x86_64__)
    SYS_open,
    SYS_stat,
    SYS_lstat,
    SYS_access,
    SYS_readlink,
    SYS_unlink,
    SYS_rename,
    SYS_dup2,
    SYS_pipe,
    SYS_time,
    SYS_arch_prctl,
#endif
};

using Filter = std::vector<sock_filter>;

sock_filter Load(std::size_t offset) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
}
sock_filter Return(std::uint32_t value) { return BPF_STMT(BPF_RET | BPF_K, value); }

// Of a call by number: allowed where a bit of its first argument is set.
void AllowWithBit(Filter* filter, int call, std::uint32_t bit) {
  filter->push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 4));
  filter->push_back(Load(offsetof(seccomp_data, args)));
  filter->push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bit, 0, 1));
  filter->push_back(Return(SECCOMP_RET_ALLOW));
  filter->push_back(Return(SECCOMP_RET_ERRNO | EPERM));
}
// Allowed where argument `index` is `value`, in all of its 64 bits: it may be a pointer.
void AllowWithValue(Filter* filter, int call, std::size_t index, std::uint32_t value) {
  constexpr std::size_t kHalf = sizeof(std::uint32_t);  // both architectures are little-endian
  const std::size_t argument = offsetof(seccomp_data, args) + index * sizeof(std::uint64_t);
  filter->push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 6));
  filter->push_back(Load(argument));
  filter->push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 3));
  filter->push_back(Load(argument + kHalf));
  filter->push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1));
  filter->push_back(Return(SECCOMP_RET_ALLOW));
  filter->push_back(Return(SECCOMP_RET_ERRNO | EPERM));
}

Filter CallFilter() {
  constexpr std::uint32_t kCloneThread = 0x10000;
  constexpr std::uint32_t kIsTerminal = 0x5401;  // TCGETS
  Filter filter;
  filter.push_back(Load(offsetof(seccomp_data, arch)));
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0));
  filter.push_back(Return(SECCOMP_RET_KILL_PROCESS));
  filter.push_back(Load(offsetof(seccomp_data, nr)));
  for (const int call : kAllowedCalls) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 1));
    filter.push_back(Return(SECCOMP_RET_ALLOW));
  }
  AllowWithBit(&filter, SYS_clone, kCloneThread);
  AllowWithValue(&filter, SYS_ioctl, 1, kIsTerminal);
  const auto self = static_cast<std::uint32_t>(::getpid());
  AllowWithValue(&filter, SYS_tgkill, 0, self);  // of abort()
  // Limits can be read, not written: the new ones are the third argument.
  AllowWithValue(&filter, SYS_prlimit64, 2, 0);
  // Its flags are in memory, which a filter does not see; the C library then uses clone().
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1));
  filter.push_back(Return(SECCOMP_RET_ERRNO | ENOSYS));
  filter.push_back(Return(SECCOMP_RET_ERRNO | EPERM));
  return filter;
}

Status RestrictCalls() {
  if (kArchitecture == 0) return {};
  Filter filter = CallFilter();
  const sock_fprog program = {static_cast<unsigned short>(filter.size()), filter.data()};
  if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0 && errno != EINVAL) {
    return Fail(Refused("the job cannot be confined"));
  }
  return {};
}

Status Limit(int resource, std::int64_t soft, std::int64_t hard) {
  rlimit old = {};
  if (::getrlimit(static_cast<__rlimit_resource_t>(resource), &old) != 0) {
    return Fail(Refused("the limits of the job cannot be read"));
  }
  const auto at_most = [&](std::int64_t value) {
    const auto limit = static_cast<rlim_t>(value);
    return old.rlim_max == RLIM_INFINITY || limit < old.rlim_max ? limit : old.rlim_max;
  };
  const rlimit limit = {at_most(soft), at_most(hard)};
  if (::setrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0) {
    return Fail(Refused("the limits of the job cannot be set"));
  }
  return {};
}

}  // namespace

Confinement ConfinementOfKernel() {
  Confinement found;
  found.landlock = LandlockVersion() >= 1;
  found.seccomp = kArchitecture != 0 && ::prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0;
  return found;
}

Status Confine(const JobLimits& limits) {
  constexpr std::int64_t kGraceSeconds = 2;
  // AddressSanitizer reserves more addresses than any limit would allow.
  if (!kSanitized) NEAP_CHECK_OK(Limit(RLIMIT_AS, limits.memory_bytes, limits.memory_bytes));
  NEAP_CHECK_OK(Limit(RLIMIT_CPU, limits.cpu_seconds, limits.cpu_seconds + kGraceSeconds));
  NEAP_CHECK_OK(Limit(RLIMIT_FSIZE, limits.file_bytes, limits.file_bytes));
  NEAP_CHECK_OK(Limit(RLIMIT_NOFILE, limits.open_files, limits.open_files));
  NEAP_CHECK_OK(Limit(RLIMIT_CORE, 0, 0));
  // With its server, also with one that is killed.
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0) {
    return Fail(Refused("the job cannot be tied to its server"));
  }
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) {
    return Fail(Refused("the job cannot be confined"));
  }
  NEAP_CHECK_OK(RestrictFiles());
  return RestrictCalls();
}

}  // namespace neap::serve
