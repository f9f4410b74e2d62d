// SPDX-License-Identifier: Apache-2.0
//
// Runs a fuzz target over every file of a folder and over seeded mutations of each, for builds
// without libFuzzer: fuzz_replay_<name> FOLDER [MUTATIONS]. The same inputs on every machine.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "neap/base/random.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Bytes = std::vector<std::uint8_t>;

// One to four small changes: a byte, a bit, an extreme 32-bit number, a cut, a doubled piece.
Bytes Mutate(Bytes bytes, neap::Random* random) {
  for (std::uint64_t change = random->Below(4) + 1; change > 0 && !bytes.empty(); --change) {
    const std::size_t at = random->Below(bytes.size());
    const std::size_t length = std::min<std::size_t>(bytes.size() - at, random->Below(64) + 1);
    const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(at);
    switch (random->Below(6)) {
      case 0:
        bytes[at] = static_cast<std::uint8_t>(random->Below(256));
        break;
      case 1:
        bytes[at] = static_cast<std::uint8_t>(bytes[at] ^ (1U << random->Below(8)));
        break;
      case 2: {
        const std::uint8_t fill = random->Chance(1, 2) ? 0xff : 0;
        std::fill_n(begin, std::min<std::size_t>(length, 4), fill);
        break;
      }
      case 3:
        bytes.resize(at);
        break;
      case 4:
        bytes.erase(begin, begin + static_cast<std::ptrdiff_t>(length));
        break;
      default: {
        const Bytes piece(begin, begin + static_cast<std::ptrdiff_t>(length));
        bytes.insert(begin, piece.begin(), piece.end());
        break;
      }
    }
  }
  return bytes;
}

Bytes Read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const int mutations = argc > 2 ? std::atoi(argv[2]) : 200;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1]))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::size_t runs = 0;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const Bytes seed = Read(files[i]);
    neap::Random random(i);
    for (int mutation = 0; mutation <= mutations; ++mutation, ++runs) {
      const Bytes input = mutation == 0 ? seed : Mutate(seed, &random);
      std::ofstream("last_fuzz_input", std::ios::binary)
          .write(reinterpret_cast<const char*>(input.data()),
                 static_cast<std::streamsize>(input.size()));
      LLVMFuzzerTestOneInput(input.data(), input.size());
    }
  }
  std::printf("%zu files, %zu inputs\n", files.size(), runs);
  return files.empty() ? 1 : 0;
}
