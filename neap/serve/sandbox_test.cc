// SPDX-License-Identifier: Apache-2.0
//
// What a job can do once it is confined: each attempt of a hostile one, in a child.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "neap/serve/serve.h"

// AddressSanitizer reserves more addresses than any limit.
#if defined(__SANITIZE_ADDRESS__)
#define NEAP_NO_LIMIT_OF_MEMORY
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define NEAP_NO_LIMIT_OF_MEMORY
#endif
#endif

namespace neap::serve {
namespace {

namespace fs = std::filesystem;

class Sandbox : public testing::Test {
 protected:
  Sandbox() {
    std::string name = (fs::temp_directory_path() / "neap-sandbox-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    for (const char* job : {"/mine", "/other"}) {
      fs::create_directories(folder_ + job + "/in");
      fs::create_directories(folder_ + job + "/out");
      std::ofstream(folder_ + job + "/in/model") << "model";
    }
    limits_.memory_bytes = std::int64_t{1} << 30;
    limits_.file_bytes = 1000;
    limits_.open_files = 16;
  }
  ~Sandbox() override { fs::remove_all(folder_); }

  void SetUp() override {
    const Confinement kernel = ConfinementOfKernel();
    if (!kernel.landlock || !kernel.seccomp) GTEST_SKIP() << "the kernel does not confine";
  }

  // The wait status of a confined child that exits with 0 where `attempt` returns true.
  int StatusOf(const std::function<bool()>& attempt) {
    const pid_t child = ::fork();
    if (child == 0) {
      if (::chdir((folder_ + "/mine").c_str()) != 0 || !Confine(limits_)) ::_exit(3);
      ::_exit(attempt() ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return status;
  }
  bool Succeeds(const std::function<bool()>& attempt) {
    const int status = StatusOf(attempt);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) <= 1) << status;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  bool Opens(const std::string& path, int flags) {
    return Succeeds([&] { return ::open(path.c_str(), flags, 0600) >= 0; });
  }

  std::string folder_;
  JobLimits limits_;
};

TEST_F(Sandbox, LetsAJobUseItsFolder) {
  EXPECT_TRUE(Opens("in/model", O_RDONLY));
  EXPECT_TRUE(Opens("out/plan.json", O_WRONLY | O_CREAT));
  EXPECT_TRUE(Succeeds([] {
    int sum = 0;
    std::thread([&] { sum = 1; }).join();
    return sum == 1;
  }));
  EXPECT_TRUE(Succeeds([] { return ::rename("out/plan.json", "out/renamed") == 0; }));
  EXPECT_TRUE(Succeeds([] { return ::unlink("out/renamed") == 0; }));
}

TEST_F(Sandbox, HidesAllOtherFiles) {
  EXPECT_FALSE(Opens("/etc/passwd", O_RDONLY));
  EXPECT_FALSE(Opens("../other/in/model", O_RDONLY));
  EXPECT_FALSE(Opens(folder_ + "/other/in/model", O_RDONLY));
  EXPECT_FALSE(Opens("..", O_RDONLY));
  EXPECT_FALSE(Opens("/proc/self/environ", O_RDONLY));
  EXPECT_FALSE(Opens("../other/out/plan.json", O_WRONLY | O_CREAT));
  EXPECT_FALSE(Opens("/tmp/neap-sandbox-left", O_WRONLY | O_CREAT));
  EXPECT_FALSE(Opens("in/model", O_WRONLY));
  EXPECT_FALSE(Opens("in/new", O_WRONLY | O_CREAT));
  EXPECT_FALSE(Succeeds([] { return ::unlink("in/model") == 0; }));
  EXPECT_FALSE(Succeeds([] { return ::symlink("/etc/passwd", "out/link") == 0; }));
  EXPECT_FALSE(Succeeds([] { return ::link("in/model", "out/link") == 0; }));
  EXPECT_FALSE(Succeeds([] { return ::mkdir("out/folder", 0700) == 0; }));
  EXPECT_FALSE(Succeeds([] { return ::truncate("in/model", 0) == 0; }));
  EXPECT_FALSE(Succeeds([] { return ::chmod("in/model", 0777) == 0; }));
}

TEST_F(Sandbox, HasNoNetwork) {
  for (const int family : {AF_INET, AF_INET6, AF_UNIX, AF_NETLINK, AF_PACKET}) {
    EXPECT_FALSE(Succeeds([&] { return ::socket(family, SOCK_STREAM, 0) >= 0; })) << family;
  }
  EXPECT_FALSE(Succeeds([] {
    int pair[2];
    return ::socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0;
  }));
}

TEST_F(Sandbox, HasNoOtherProcesses) {
  EXPECT_FALSE(Succeeds([] { return ::fork() >= 0; }));
  EXPECT_FALSE(Succeeds([] { return ::vfork() >= 0; }));
  EXPECT_FALSE(Succeeds([] { return ::execl("/bin/true", "true", nullptr) == 0; }));
  EXPECT_FALSE(Succeeds([] { return ::kill(::getppid(), 0) == 0; }));
  EXPECT_FALSE(Succeeds([] { return ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0; }));
  EXPECT_FALSE(Succeeds([] { return ::setuid(0) == 0; }));
}

TEST_F(Sandbox, CannotRaiseItsLimits) {
  EXPECT_FALSE(Succeeds([] {
    const rlimit more = {RLIM_INFINITY, RLIM_INFINITY};
    return ::setrlimit(RLIMIT_FSIZE, &more) == 0;
  }));
  // Limits at an address whose lower half is zero, which looks like no limits to a filter of 32
  // bits.
  EXPECT_FALSE(Succeeds([] {
    constexpr std::uintptr_t kAddress = std::uintptr_t{0x2000} << 32U;
    void* const page = ::mmap(reinterpret_cast<void*>(kAddress), 4096, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (page == MAP_FAILED) return true;  // the attempt has to be made
    auto* const less = static_cast<rlimit*>(page);
    *less = {8, 8};
    return ::prlimit(0, RLIMIT_NOFILE, less, nullptr) == 0;
  }));
  // A file of more bytes than allowed ends the job.
  const int written = StatusOf([] {
    const int file = ::open("out/plan.json", O_WRONLY | O_CREAT, 0600);
    const std::string bytes(2000, 'x');
    return ::write(file, bytes.data(), bytes.size()) == 1000 &&
           ::write(file, bytes.data(), bytes.size()) == 1000;
  });
  EXPECT_TRUE(WIFSIGNALED(written) && WTERMSIG(written) == SIGXFSZ);
  EXPECT_FALSE(Succeeds([] {
    int file = 0;
    for (int i = 0; i < 32 && file >= 0; ++i) file = ::open("in/model", O_RDONLY);
    return file >= 0;
  }));
#ifndef NEAP_NO_LIMIT_OF_MEMORY
  EXPECT_FALSE(Succeeds([] {
    return ::mmap(nullptr, std::size_t{2} << 30U, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
  }));
#endif
}

TEST_F(Sandbox, EndsAJobOfTooMuchProcessorTime) {
  limits_.cpu_seconds = 1;
  const int status = StatusOf([] {
    volatile bool goes_on = true;
    while (goes_on) {
    }
    return true;
  });
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU);
}

}  // namespace
}  // namespace neap::serve
