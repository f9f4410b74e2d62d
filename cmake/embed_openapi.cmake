# cmake -D OUT=file.cc -D FILE=server.openapi.json -P embed_openapi.cmake
# A source file with the description of the server's interface.
file(READ ${FILE} text)
file(WRITE ${OUT} "// Made by cmake/embed_openapi.cmake.
#include \"neap/serve/openapi.h\"

namespace neap::serve {

std::string OpenApiText() { return R\"neap(${text})neap\"; }

}  // namespace neap::serve
")
