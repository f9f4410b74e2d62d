# neap_library(<module> SOURCES ... [DEPS modules] [PRIVATE_LIBS targets] [TESTS files])
# One static library per module, neap::<module>, and one test program, <module>_test.
function(neap_library module)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;PRIVATE_LIBS;TESTS" ${ARGN})
  foreach(dep IN LISTS ARG_DEPS)
    if(NOT dep IN_LIST NEAP_MAY_USE_${module})
      message(FATAL_ERROR "module ${module} may not depend on ${dep}: see cmake/layers.cmake")
    endif()
  endforeach()
  add_library(neap_${module} STATIC ${ARG_SOURCES})
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
  if(NEAP_TESTS AND ARG_TESTS)
    neap_test(${module}_test SOURCES ${ARG_TESTS} DEPS ${module})
  endif()
endfunction()

# neap_test(<name> SOURCES ... DEPS modules [LIBS targets]): a GoogleTest program, every case a ctest.
function(neap_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;LIBS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  list(TRANSFORM ARG_DEPS PREPEND neap:: OUTPUT_VARIABLE dep_targets)
  target_link_libraries(${name} PRIVATE ${dep_targets} ${ARG_LIBS} neap_flags
                        GTest::gmock GTest::gtest_main)
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST
    PROPERTIES TIMEOUT 300 LABELS fast
    ENVIRONMENT "NEAP_SOURCE_DIR=${PROJECT_SOURCE_DIR}")
endfunction()
