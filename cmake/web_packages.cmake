# The packages of cmake/dependencies.cmake for WebAssembly: headers alone, no library. They are linked into
# a folder of their own, because other headers of the machine would replace those of emscripten.
set(web_include ${PROJECT_BINARY_DIR}/include)
file(MAKE_DIRECTORY ${web_include})
foreach(package fmt nlohmann CLI tl flatbuffers)
  if(NOT EXISTS /usr/include/${package})
    message(FATAL_ERROR "/usr/include/${package} is missing: run scripts/install_packages.sh")
  endif()
  file(CREATE_LINK /usr/include/${package} ${web_include}/${package} SYMBOLIC)
endforeach()

foreach(package fmt::fmt-header-only nlohmann_json::nlohmann_json CLI11::CLI11)
  add_library(${package} INTERFACE IMPORTED)
  set_target_properties(${package} PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES ${web_include} INTERFACE_SYSTEM_INCLUDE_DIRECTORIES ${web_include})
endforeach()
set_target_properties(fmt::fmt-header-only PROPERTIES INTERFACE_COMPILE_DEFINITIONS FMT_HEADER_ONLY=1)
set(NEAP_TL_EXPECTED_INCLUDE ${web_include})
set(NEAP_FLATBUFFERS_INCLUDE ${web_include})
find_program(NEAP_FLATC flatc REQUIRED)
