# SPDX-License-Identifier: Apache-2.0
#
# neap_network(<target> FOLDER <folder>): the C files that `neap emit` wrote to a folder, as a library. Its property
# NEAP_PREFIX is the prefix of all names.
# neap_cmsis_nn(<target> FOLDER <folder>): the library CMSIS-NN from cmsis_nn/Source, cmsis_nn/Include and
# cmsis_core/Include of a folder.
# neap_firmware(<target> SOURCES ... [LIBRARIES ...] [STACK_BYTES n] [RAM_BYTES n]): a program for the board NEAP_BOARD of
# boards.json. RAM_BYTES: the RAM for which the program is linked and to which a protection unit
# limits it; all RAM of the board by default.
set(NEAP_FIRMWARE_FOLDER ${CMAKE_CURRENT_LIST_DIR})
if(NOT NEAP_BOARD)
  set(NEAP_BOARD host)
endif()
set(NEAP_OPTIMIZATION -O2 CACHE STRING "of networks and programs; -Os executes almost twice as many instructions")

file(READ ${NEAP_FIRMWARE_FOLDER}/boards.json NEAP_BOARDS)
function(neap_board_value result key)
  string(JSON value ERROR_VARIABLE error GET "${NEAP_BOARDS}" boards ${NEAP_BOARD} ${key})
  set(${result} ${value} PARENT_SCOPE)
endfunction()

add_library(neap_firmware_flags INTERFACE)
target_compile_options(neap_firmware_flags INTERFACE
  ${NEAP_OPTIMIZATION} -std=c99 -ffunction-sections -fdata-sections -fno-strict-aliasing
  -Wall -Wextra -Wpedantic -Wconversion -Werror)
target_include_directories(neap_firmware_flags INTERFACE ${NEAP_FIRMWARE_FOLDER}/support)

neap_board_value(neap_cpu cpu)
if(neap_cpu STREQUAL "host")
  set(neap_support board_host.c)
elseif(neap_cpu MATCHES "^rv32")
  set(neap_support start.c startup_riscv.c semihosting.c)
else()
  set(neap_support start.c startup_arm.c semihosting.c)
endif()
list(TRANSFORM neap_support PREPEND ${NEAP_FIRMWARE_FOLDER}/support/)
add_library(neap_board OBJECT ${neap_support})
target_compile_options(neap_board PRIVATE -O1 -std=gnu11 -ffunction-sections -Wall -Wextra -Werror)
if(NOT neap_cpu STREQUAL "host")
  # The start runs before memory is set up: none of its loops may become a call.
  target_compile_options(neap_board PRIVATE -fno-tree-loop-distribute-patterns)
endif()
target_include_directories(neap_board PUBLIC ${NEAP_FIRMWARE_FOLDER}/support)

function(neap_network target)
  cmake_parse_arguments(ARG "" "FOLDER" "" ${ARGN})
  file(GLOB headers ${ARG_FOLDER}/*.h)
  file(GLOB sources CONFIGURE_DEPENDS ${ARG_FOLDER}/*.c ${ARG_FOLDER}/neap_rt/*.c)
  list(LENGTH headers count)
  if(NOT count EQUAL 1 OR NOT sources)
    message(FATAL_ERROR "${ARG_FOLDER}: expected the header and the C files of one network, as neap emit writes them")
  endif()
  get_filename_component(prefix ${headers} NAME_WE)
  string(TOUPPER ${prefix} macros)
  add_library(${target} STATIC ${sources})
  set_target_properties(${target} PROPERTIES NEAP_PREFIX ${prefix})
  target_include_directories(${target} PUBLIC ${ARG_FOLDER})
  target_compile_definitions(${target} PRIVATE "${macros}_WEIGHTS=__attribute__((section(\".neap_weights\")))")
  target_link_libraries(${target} PRIVATE neap_firmware_flags)
endfunction()

function(neap_cmsis_nn target)
  cmake_parse_arguments(ARG "" "FOLDER" "" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${ARG_FOLDER}/cmsis_nn/Source/*/arm_*.c)
  if(NOT sources)
    message(FATAL_ERROR "${ARG_FOLDER}: expected cmsis_nn/Source and cmsis_core/Include")
  endif()
  add_library(${target} STATIC ${sources})
  target_include_directories(${target} SYSTEM PUBLIC ${ARG_FOLDER}/cmsis_nn/Include ${ARG_FOLDER}/cmsis_core/Include)
  target_compile_options(${target} PRIVATE ${NEAP_OPTIMIZATION} -std=gnu11 -ffunction-sections -w)
  if(neap_cpu STREQUAL "host")
    # What the library's own builds for hosts define.
    target_compile_definitions(${target} PUBLIC __GNUC_PYTHON__ __RESTRICT=__restrict__)
  endif()
endfunction()

function(neap_firmware target)
  cmake_parse_arguments(ARG "" "STACK_BYTES;RAM_BYTES" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${target} ${ARG_SOURCES})
  target_link_libraries(${target} PRIVATE neap_firmware_flags neap_board ${ARG_LIBRARIES})
  if(NEAP_BOARD STREQUAL "host")
    return()
  endif()
  if(NOT ARG_STACK_BYTES)
    set(ARG_STACK_BYTES 2048)
  endif()
  if(NOT ARG_RAM_BYTES)
    neap_board_value(ARG_RAM_BYTES ram_bytes)
  endif()
  foreach(key IN ITEMS vectors_origin flash_origin flash_bytes ram_origin slow_origin slow_bytes)
    neap_board_value(value ${key})
    if(key MATCHES "^slow" AND NOT value)
      set(value 0)
    endif()
    if(key STREQUAL "vectors_origin" AND NOT value)
      neap_board_value(value flash_origin)
    endif()
    string(TOUPPER ${key} symbol)
    target_link_options(${target} PRIVATE -Wl,--defsym=${symbol}=${value})
  endforeach()
  target_link_options(${target} PRIVATE -nostartfiles -T ${NEAP_FIRMWARE_FOLDER}/board.ld
    -Wl,--defsym=RAM_BYTES=${ARG_RAM_BYTES} -Wl,--defsym=STACK_BYTES=${ARG_STACK_BYTES}
    -Wl,--gc-sections -Wl,--no-warn-rwx-segments)
  if(NOT neap_cpu MATCHES "^rv32")
    target_link_options(${target} PRIVATE -specs=nano.specs)
  endif()
  set_target_properties(${target} PROPERTIES SUFFIX .elf LINK_DEPENDS ${NEAP_FIRMWARE_FOLDER}/board.ld)
endfunction()
