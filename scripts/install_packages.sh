#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs the Debian 12 packages that are missing: install_packages.sh [--build] [--test] [--train].
# --build: to build the program (the default). --test: to run all tests as well. --train: to build
# neap-train (libtorch; the CPU build of Debian, some 200 MB with what it depends on).
set -euo pipefail

build_packages=(g++ cmake ninja-build ccache pkgconf libexpected-dev libfmt-dev libcli11-dev
  nlohmann-json3-dev libflatbuffers-dev flatbuffers-compiler libprotobuf-dev protobuf-compiler
  libssl-dev zlib1g-dev)
test_packages=(git python3 python3-venv libgtest-dev libgmock-dev libbenchmark-dev
  clang-16 clang-format-16 clang-tidy-16 libclang-rt-16-dev coinor-cbc
  chromium chromium-driver)
train_packages=(libtorch-dev libopenblas0-pthread)

packages=("${build_packages[@]}")
for argument in "$@"; do
  case "$argument" in
    --build) ;;
    --test) packages+=("${test_packages[@]}") ;;
    --train) packages+=("${train_packages[@]}") ;;
    *) echo "usage: $0 [--build] [--test] [--train]" >&2; exit 2 ;;
  esac
done

missing=()
for package in "${packages[@]}"; do
  state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [[ $state == installed ]] || missing+=("$package")
done
if [[ ${#missing[@]} -eq 0 ]]; then
  echo "all ${#packages[@]} packages are there"
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
