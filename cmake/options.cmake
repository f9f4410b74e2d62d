# Flags that every target of the project is built with.
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

find_program(NEAP_CCACHE ccache)
if(NEAP_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # ccache caches precompiled headers only with this sloppiness about their defines.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      # Clones in other folders share what is cached.
      CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${NEAP_CCACHE})
endif()

# Sources in one batch.
if(CMAKE_UNITY_BUILD AND NOT CMAKE_UNITY_BUILD_BATCH_SIZE)
  set(CMAKE_UNITY_BUILD_BATCH_SIZE 12)
endif()

add_library(neap_flags INTERFACE)
target_compile_options(neap_flags INTERFACE
  -Wall -Wextra -Wconversion -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Werror
  # g++ 12 reports std::string operator+ (its bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  # What clang-tidy's reserved-identifier and use-override find, in less time.
  $<$<CXX_COMPILER_ID:Clang>:-Wreserved-identifier>
  $<$<CXX_COMPILER_ID:Clang>:-Wsuggest-override>
  # No float may depend on the machine that compiled it.
  -ffp-contract=off
  # __FILE__ names files below the source folder: the same program from every clone, and one cache of
  # objects for all of them.
  -ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)
target_include_directories(neap_flags INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
# Of code that takes no time worth mentioning when it runs: the command line, tables, tests.
add_library(neap_cold_flags INTERFACE)
target_compile_options(neap_cold_flags INTERFACE $<$<CONFIG:Release>:-O1>)
if(NEAP_SANITIZE)
  # Third-party static code must be built with the same flags, hence directory-wide.
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
  # Null pointers, ends of objects and freed objects are found by AddressSanitizer: what UBSan adds about
  # them takes a quarter of the compilation.
  add_compile_options(-fno-sanitize=null,object-size,vptr,pointer-overflow)
  # Programs of 100 MB and more: a quarter of the time.
  find_program(NEAP_LLD ld.lld-16)
  if(NEAP_LLD AND CMAKE_CXX_COMPILER_ID MATCHES Clang)
    add_link_options(-fuse-ld=lld)
  endif()
endif()
# Coverage for libFuzzer: of the modules that fuzz targets run, and of the targets themselves, which
# bring libFuzzer's main. It costs every test time, and every compilation.
set(NEAP_COVERED_MODULES base io graph ops formats plan check schedule arena traffic learn stream compile serve)
if(NEAP_WEB)
  set(CMAKE_POSITION_INDEPENDENT_CODE OFF)  # one file, linked at once
  add_compile_options(-fwasm-exceptions)
  # std::ptrdiff_t has 32 bits, and distances in memory are computed from bytes in 64.
  target_compile_options(neap_flags INTERFACE -Wno-shorten-64-to-32)
  add_link_options(-fwasm-exceptions)
endif()
