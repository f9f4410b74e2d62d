# Modules whose loops take the time of the tests: under sanitizers they and their tests, which compare
# with brute force, are optimised a little. The others are compiled without, in a quarter of the time.
set(NEAP_HOT_MODULES base graph plan check schedule arena units traffic partition learn compile stream
    rewrite cascade execute)
# Instrumented code is large: with less of it inlined, clang needs a third less time, and tests as much.
set(NEAP_LITTLE_OPTIMISED -O1)
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  list(APPEND NEAP_LITTLE_OPTIMISED "SHELL:-mllvm -inline-threshold=100")
endif()
# Of them, those that read bytes through pointers of other types: only there can addresses be wrongly aligned.
set(NEAP_CASTING_MODULES execute)
# On a page, their size matters more than their speed: searches run elsewhere.
set(NEAP_SMALL_MODULES execute formats report picture emit deliver plan zoo stages)
# neap_library(<module> SOURCES ... [ALONE files] [DEPS modules] [PRIVATE_LIBS targets] [TESTS files])
# One static library per module, neap::<module>, and one test program, <module>_test. Sources are
# compiled in batches if CMAKE_UNITY_BUILD is set, which halves the time of a whole build: names in
# the anonymous namespaces of a module differ. The files in ALONE are exempt: they define the same
# names for different operators.
function(neap_library module)
  cmake_parse_arguments(ARG "" "" "SOURCES;ALONE;DEPS;PRIVATE_LIBS;TESTS" ${ARGN})
  foreach(dep IN LISTS ARG_DEPS)
    if(NOT dep IN_LIST NEAP_MAY_USE_${module})
      message(FATAL_ERROR "module ${module} may not depend on ${dep}: see cmake/layers.cmake")
    endif()
  endforeach()
  add_library(neap_${module} STATIC ${ARG_SOURCES} ${ARG_ALONE})
  if(ARG_ALONE)
    set_source_files_properties(${ARG_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
  add_library(neap::${module} ALIAS neap_${module})
  set_target_properties(neap_${module} PROPERTIES EXPORT_NAME ${module})
  list(TRANSFORM ARG_DEPS PREPEND neap:: OUTPUT_VARIABLE dep_targets)
  target_link_libraries(neap_${module} PUBLIC ${dep_targets}
                        PRIVATE $<BUILD_INTERFACE:neap_flags> ${ARG_PRIVATE_LIBS})
  target_include_directories(neap_${module} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:include>)
  target_include_directories(neap_${module} SYSTEM PUBLIC
    $<BUILD_INTERFACE:${NEAP_TL_EXPECTED_INCLUDE}>)
  target_compile_features(neap_${module} PUBLIC cxx_std_20)
  if(NEAP_SANITIZE AND module IN_LIST NEAP_HOT_MODULES)
    target_compile_options(neap_${module} PRIVATE ${NEAP_LITTLE_OPTIMISED})
    if(NOT module IN_LIST NEAP_CASTING_MODULES)
      target_compile_options(neap_${module} PRIVATE -fno-sanitize=alignment)
    endif()
  endif()
  if(NEAP_WEB AND module IN_LIST NEAP_SMALL_MODULES)
    target_compile_options(neap_${module} PRIVATE -Os)
  endif()
  if(NEAP_FUZZERS AND module IN_LIST NEAP_COVERED_MODULES)
    target_compile_options(neap_${module} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
  if(NEAP_TESTS AND ARG_TESTS)
    neap_test(${module}_test SOURCES ${ARG_TESTS} DEPS ${module})
    if(NEAP_SANITIZE AND module IN_LIST NEAP_HOT_MODULES)
      target_compile_options(${module}_test PRIVATE ${NEAP_LITTLE_OPTIMISED})
    endif()
  endif()
endfunction()

# Tests are compiled once and run once: the code under test is optimised, the tests only slightly.
add_library(neap_test_flags INTERFACE)
target_link_libraries(neap_test_flags INTERFACE neap_cold_flags)
if(NEAP_SANITIZE)
  # UBSan checks the product: the libraries, and the program that the tests of the command line run. In
  # the code of tests it takes a third of their compilation. AddressSanitizer checks both.
  target_compile_options(neap_test_flags INTERFACE -fno-sanitize=undefined)
endif()

# The headers that every test includes, parsed once. Those that clang precompiles differ with the folder
# and with every run, so that ccache finds no object compiled with them in another clone.
if(NEAP_TESTS AND CMAKE_UNITY_BUILD AND NOT (NEAP_CCACHE AND CMAKE_CXX_COMPILER_ID MATCHES Clang))
  # A program, as its users are: libraries are compiled with another kind of addresses.
  file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/test_headers.cc CONTENT "int main() {}\n")
  add_executable(neap_test_headers ${PROJECT_BINARY_DIR}/test_headers.cc)
  target_link_libraries(neap_test_headers PRIVATE neap_flags neap_test_flags GTest::gmock)
  target_precompile_headers(neap_test_headers PRIVATE
    <gmock/gmock.h> <gtest/gtest.h> <algorithm> <cstdint> <map> <optional> <set> <string> <vector>)
endif()

# Seconds after which a test counts as hung, on a slow machine, too.
set(NEAP_TEST_TIMEOUT 300)
if(NEAP_SANITIZE)
  set(NEAP_TEST_TIMEOUT 1200)
endif()

# neap_test(<name> SOURCES ... DEPS modules [LIBS targets]): a GoogleTest program, every case a ctest.
function(neap_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;LIBS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)
  if(TARGET neap_test_headers)
    target_precompile_headers(${name} REUSE_FROM neap_test_headers)
  endif()
  list(TRANSFORM ARG_DEPS PREPEND neap:: OUTPUT_VARIABLE dep_targets)
  target_link_libraries(${name} PRIVATE ${dep_targets} ${ARG_LIBS} neap_flags neap_test_flags
                        GTest::gmock GTest::gtest_main)
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST
    PROPERTIES TIMEOUT ${NEAP_TEST_TIMEOUT} LABELS fast
    ENVIRONMENT "NEAP_SOURCE_DIR=${PROJECT_SOURCE_DIR}")
endfunction()

# neap_python_tests(<prefix> [LONGEST names]): every method of test_*.py in this folder a ctest,
# <prefix>.<file>.<method>; python3 with nothing but its standard library. Those in LONGEST start first,
# so that none of them runs alone at the end.
function(neap_python_tests prefix)
  cmake_parse_arguments(ARG "" "" "LONGEST" ${ARGN})
  file(GLOB files CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} test_*.py)
  foreach(file IN LISTS files)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    get_filename_component(module ${file} NAME_WE)
    file(STRINGS ${file} lines REGEX "^(class |    def test_)")
    foreach(line IN LISTS lines)
      if(line MATCHES "^class ([A-Za-z]+)")
        set(class ${CMAKE_MATCH_1})
      elseif(line MATCHES "def (test_[a-z0-9_]+)")
        set(method ${CMAKE_MATCH_1})
        set(name ${prefix}.${module}.${method})
        add_test(NAME ${name}
                 COMMAND ${Python3_EXECUTABLE} -B -m unittest -v ${module}.${class}.${method}
                 WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
        if(method IN_LIST ARG_LONGEST)
          set_tests_properties(${name} PROPERTIES COST 100)
        endif()
        set_tests_properties(${name} PROPERTIES
          LABELS fast TIMEOUT ${NEAP_TEST_TIMEOUT} SKIP_REGULAR_EXPRESSION "OK \\(skipped=1\\)"
          ENVIRONMENT "NEAP=$<TARGET_FILE:neap>;NEAP_SOURCE_DIR=${PROJECT_SOURCE_DIR};NEAP_SANITIZE=$<BOOL:${NEAP_SANITIZE}>")
      endif()
    endforeach()
  endforeach()
endfunction()
