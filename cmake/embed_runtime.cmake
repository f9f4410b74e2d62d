# cmake -D OUT=file.cc -D FOLDER=runtime -P embed_runtime.cmake
# A source file with the text of the runtime's files.
file(GLOB files RELATIVE ${FOLDER} ${FOLDER}/neap_*.c ${FOLDER}/neap_*.h)
list(SORT files)
set(source "// Made by cmake/embed_runtime.cmake.
#include \"neap/emit/runtime_files.h\"

namespace neap::emit {
namespace {
constexpr RuntimeFile kFiles[] = {
")
foreach(file IN LISTS files)
  file(READ ${FOLDER}/${file} text)
  string(APPEND source "{\"${file}\", R\"neap(${text})neap\"},\n")
endforeach()
string(APPEND source "};
}  // namespace

std::span<const RuntimeFile> RuntimeFiles() { return kFiles; }

}  // namespace neap::emit
")
file(WRITE ${OUT} "${source}")
