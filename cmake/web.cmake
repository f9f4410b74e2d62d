# CMake toolchain: WebAssembly, compiled by Debian's emscripten, for a worker of a web page. The preset
# `web` uses it.
set(NEAP_EMSCRIPTEN /usr/share/emscripten CACHE PATH "the folder of emscripten")
include(${NEAP_EMSCRIPTEN}/cmake/Modules/Platform/Emscripten.cmake)

# The linker's step that prunes JavaScript looks for acorn where Debian's Node.js has its modules.
set(CMAKE_CXX_LINKER_LAUNCHER ${CMAKE_COMMAND} -E env NODE_PATH=/usr/share/nodejs)
