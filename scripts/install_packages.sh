#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs the Debian 12 packages that are missing: install_packages.sh [--build] [--test] [--firmware]
# [--train] [--arm64] [--web]. --build: to build the program (the default). --test: to run all tests as well,
# --firmware and --web included. --firmware: compilers for Arm and RISC-V without an operating system, and emulated
# boards (firmware/README.md; some 200 MB to download). --train: to build neap-train (libtorch; the CPU
# build of Debian, some 200 MB with its dependencies). --arm64: to build the program for arm64 (preset
# `arm64`) and run it on x86-64; the arm64 libraries are unpacked in build/arm64-sysroot, and the machine's
# own packages stay of one architecture. --web: to build the page (preset `web`; emscripten, 114 MB to
# download, 870 MB installed).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build_packages=(g++ cmake ninja-build ccache pkgconf libexpected-dev libfmt-dev libcli11-dev
  nlohmann-json3-dev libflatbuffers-dev flatbuffers-compiler
  libssl-dev zlib1g-dev libsqlite3-dev libmimalloc-dev libboost-dev)
test_packages=(git python3 python3-venv python3-dev libgtest-dev libgmock-dev
  clang-16 lld-16 clang-format-16 clang-tidy-16 libclang-rt-16-dev doxygen coinor-cbc
  chromium chromium-driver
  nodejs gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm)
firmware_packages=(cmake ninja-build gcc python3 gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm
  gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf qemu-system-misc)
web_packages=(emscripten nodejs python3 cmake ninja-build ccache libexpected-dev libfmt-dev libcli11-dev
  nlohmann-json3-dev libflatbuffers-dev flatbuffers-compiler zopfli)
train_packages=(libtorch-dev libopenblas0-pthread)
cross_packages=(g++-aarch64-linux-gnu qemu-user)
# Those of build_packages that are linked or included, with their shared libraries.
arm64_packages=(libexpected-dev libfmt-dev libcli11-dev nlohmann-json3-dev libflatbuffers-dev
  libssl-dev libssl3 zlib1g-dev zlib1g
  libsqlite3-dev libsqlite3-0 libboost-dev libboost1.74-dev)

arm64=0
packages=("${build_packages[@]}")
for argument in "$@"; do
  case "$argument" in
    --build) ;;
    --test) packages+=("${test_packages[@]}" "${firmware_packages[@]}" "${web_packages[@]}") ;;
    --firmware) packages+=("${firmware_packages[@]}") ;;
    --web) packages+=("${web_packages[@]}") ;;
    --train) packages+=("${train_packages[@]}") ;;
    --arm64) packages+=("${cross_packages[@]}"); arm64=1 ;;
    *) echo "usage: $0 [--build] [--test] [--firmware] [--train] [--arm64] [--web]" >&2; exit 2 ;;
  esac
done

# Downloads the arm64 packages with lists and a state of apt's own, so that the machine keeps its
# architectures, and unpacks them; none of their scripts runs.
unpack_arm64() {
  local root=$PWD/build/arm64-sysroot state=$PWD/build/arm64-packages archive
  if [[ $(cat "$root/packages" 2>/dev/null) == "${arm64_packages[*]}" ]]; then return; fi
  rm -rf "$root" "$state"
  mkdir -p "$root" "$state"/{lists/partial,cache/archives/partial,archives}
  touch "$state/status"
  cat >"$state/apt.conf" <<END
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Sandbox::User "root";
Dir::State "$state";
Dir::State::status "$state/status";
Dir::Cache "$state/cache";
END
  APT_CONFIG=$state/apt.conf apt-get update -q
  (cd "$state/archives" && APT_CONFIG=$state/apt.conf apt-get download -q "${arm64_packages[@]}")
  for archive in "$state"/archives/*.deb; do dpkg -x "$archive" "$root"; done
  rm -rf "$state"
  echo "${arm64_packages[*]}" >"$root/packages"
}

missing=()
for package in "${packages[@]}"; do
  state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [[ $state == installed ]] || missing+=("$package")
done
if [[ ${#missing[@]} -eq 0 ]]; then
  echo "all ${#packages[@]} packages are there"
  [[ $arm64 -eq 0 ]] || unpack_arm64
  exit 0
fi

as_root=()
if [[ $(id -u) -ne 0 ]]; then
  command -v sudo >/dev/null || {
    echo "$0: needs root or sudo to install: ${missing[*]}" >&2
    exit 1
  }
  as_root=(sudo)
fi
echo "installing: ${missing[*]}"
apt_get() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get "$@" </dev/null; }
apt_get update -q
apt_get install -y -q --no-install-recommends "${missing[@]}"
[[ $arm64 -eq 0 ]] || unpack_arm64
