# CMake toolchain: arm64 programs, cross-compiled on x86-64 by Debian's compiler, with the libraries
# that `scripts/install_packages.sh --arm64` unpacks. The preset `arm64` uses it.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

get_filename_component(neap_sysroot ${CMAKE_CURRENT_LIST_DIR}/../build/arm64-sysroot ABSOLUTE)
# libc and libstdc++ come with the compiler.
set(CMAKE_FIND_ROOT_PATH ${neap_sysroot} /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
# OpenSSL keeps one header for each architecture.
set(CMAKE_CXX_FLAGS_INIT "-isystem ${neap_sysroot}/usr/include/aarch64-linux-gnu")
