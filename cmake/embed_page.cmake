# cmake -D OUT=page_files.cc -D FOLDER=neap/show/picture -P embed_page.cmake: page.css and memory.js as
# strings of C++, without their comments at the beginning.
file(READ ${FOLDER}/page.css style)
file(READ ${FOLDER}/memory.js script)
string(REGEX REPLACE "^(/\\*[^*]*\\*/\n)+" "" style "${style}")
string(REGEX REPLACE "^(//[^\n]*\n)+" "" script "${script}")
file(WRITE ${OUT} "// Made by cmake/embed_page.cmake.
#include \"neap/show/picture/page_files.h\"

namespace neap::picture {

const char* const kPageStyle = R\"css(\n${style})css\";
const char* const kMemoryScript = R\"js(\n${script})js\";

}  // namespace neap::picture
")
