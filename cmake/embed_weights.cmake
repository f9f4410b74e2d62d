# cmake -D OUT=file.cc -D STAGES=file -D PEAK=file -P embed_weights.cmake
# A source file with the bytes of two files.
function(bytes_of file result)
  file(READ ${file} hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)" "\\1\n"
         bytes "${bytes}")
  set(${result} "${bytes}" PARENT_SCOPE)
endfunction()
bytes_of(${STAGES} stages)
bytes_of(${PEAK} peak)
file(WRITE ${OUT} "// Made by cmake/embed_weights.cmake.
#include \"neap/learn/builtin_weights.h\"

namespace neap::learn {
namespace {
const unsigned char kStages[] = {${stages}};
const unsigned char kPeak[] = {${peak}};
}  // namespace

std::span<const std::byte> BuiltinWeights(Task task) {
  if (task == Task::kStages) return std::as_bytes(std::span(kStages));
  return std::as_bytes(std::span(kPeak));
}

}  // namespace neap::learn
")
