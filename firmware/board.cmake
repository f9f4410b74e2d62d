# SPDX-License-Identifier: Apache-2.0
#
# Toolchain file of CMake for the boards of boards.json: -D CMAKE_TOOLCHAIN_FILE=firmware/board.cmake
# -D NEAP_BOARD=<name>. GCC for Arm with newlib, GCC for RISC-V with picolibc; the board `host` leaves the compiler to
# CMake (CC=gcc, CC=clang).
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES NEAP_BOARD)
file(READ ${CMAKE_CURRENT_LIST_DIR}/boards.json NEAP_BOARDS)
string(JSON neap_cpu ERROR_VARIABLE neap_error GET "${NEAP_BOARDS}" boards "${NEAP_BOARD}" cpu)
if(neap_error)
  message(FATAL_ERROR "NEAP_BOARD is '${NEAP_BOARD}', which firmware/boards.json does not have")
endif()
string(JSON neap_toolchain GET "${NEAP_BOARDS}" cpus ${neap_cpu} toolchain)
if(neap_toolchain)
  set(CMAKE_SYSTEM_NAME Generic)
  set(CMAKE_SYSTEM_PROCESSOR ${neap_cpu})
  set(CMAKE_C_COMPILER ${neap_toolchain}-gcc)
  # There is no program to link before the linker script and the start-up code exist.
  set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
  string(JSON CMAKE_C_FLAGS_INIT GET "${NEAP_BOARDS}" cpus ${neap_cpu} flags)
  if(neap_toolchain STREQUAL "riscv64-unknown-elf")
    string(APPEND CMAKE_C_FLAGS_INIT " -specs=picolibc.specs")
  endif()
endif()
