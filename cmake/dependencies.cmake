# Third-party packages, all from the distribution. Each is confined to the modules that name it.
if(NEAP_WEB)
  include(cmake/web_packages.cmake)
  return()
endif()
find_package(Threads REQUIRED)
# Of fmt, the headers alone: the extension module of Python brings its C++ libraries, and its objects are
# then those of the program.
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(ZLIB REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(CLI11 REQUIRED)
# The allocator of the program, where it is installed: plans of small networks take a fifth to a quarter
# less time than with that of the C library. Sanitizers have their own.
if(NOT NEAP_SANITIZE AND NOT CMAKE_CROSSCOMPILING)
  find_package(mimalloc QUIET)
endif()
find_path(NEAP_TL_EXPECTED_INCLUDE tl/expected.hpp REQUIRED)
find_path(NEAP_FLATBUFFERS_INCLUDE flatbuffers/flatbuffers.h REQUIRED)
find_program(NEAP_FLATC flatc REQUIRED)
# Headers alone: of `neap serve`. Without them the verb prints why it is absent.
if(NEAP_SERVE)
  find_path(NEAP_BOOST_INCLUDE boost/beast/http.hpp)
endif()
if(NEAP_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()
