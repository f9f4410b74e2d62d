#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# clang-tidy over every source of the library, the tools and the programs of lab; tests are left out for
# time: tidy.sh BUILD_FOLDER [FILES...]. It reads the compile commands of a build made before. Most
# of the time goes into the headers of the standard library, so sources are read in groups with one
# batch or source of each module (their anonymous namespaces are separate). For single FILES, name a
# build that compiles them separately (preset `edit`).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=$1
shift
commands=$build
if [[ $# -eq 0 ]]; then
  commands=build/tidy
  mapfile -t sources < <(python3 - "$build" "$commands" <<'END'
import collections, json, os, pathlib, re, shlex, shutil, sys
root, folder = os.getcwd(), pathlib.Path(sys.argv[2]).absolute()
shutil.rmtree(folder, ignore_errors=True)
folder.mkdir(parents=True)
commands = json.load(open(os.path.join(sys.argv[1], 'compile_commands.json')))
names = [os.path.join(entry['directory'], entry['file']) for entry in commands]
# A source compiled into two libraries is read once: in its batch if it is in one.
batched = {source for name in names if '/Unity/' in name
           for source in re.findall(r'#include "(/.*)"', pathlib.Path(name).read_text())}
pieces, flags = [], []
for entry, source in zip(commands, names):
    if source in batched:
        continue
    path = os.path.relpath(source, root)
    ours = re.match(r'(neap|tools|lab)/', path) or '/Unity/' in path
    target = re.search(r'CMakeFiles/([^/]*)\.dir/', entry['command']).group(1)
    test = re.search(r'_(test|testing|cases)\.(cc|dir)|/test_|neap_test_headers',
                     path + ' ' + target + '.dir')
    if not ours or test or re.match(r'tests/|fuzz_', os.path.relpath(path, sys.argv[1])):
        continue
    text = pathlib.Path(source).read_text()
    texts = [text] + [pathlib.Path(name).read_text()
                      for name in re.findall(r'#include "(/.*)"', text) if '/Unity/' in path]
    # Programs have a main() each.
    module = 'main' if any(re.search(r'^int main\(', t, re.M) for t in texts) else target
    pieces.append((sum(map(len, texts)), module, source))
    words = shlex.split(entry['command'])
    flags += [word for word in words if re.match(r'-[IDWf]', word)]
    flags += ['-isystem' + after for word, after in zip(words, words[1:]) if word == '-isystem']
count = max(collections.Counter(module for _, module, _ in pieces).values())
groups = [[0, set(), []] for _ in range(count)]
for size, module, source in sorted(pieces, reverse=True):
    group = min((group for group in groups if module not in group[1]), key=lambda group: group[0])
    group[0] += size
    group[1].add(module)
    # Programs last: one with `using namespace` would change what the others mean.
    group[2].insert(0 if module != 'main' else len(group[2]), source)
options = shlex.join(dict.fromkeys(flags))
entries = []
for number, (_, _, sources) in enumerate(groups):
    file = folder / f'group{number}.cc'
    file.write_text(''.join(f'#include "{source}"\n' for source in sources))
    entries.append({'directory': root, 'file': str(file), 'command':
                    f'clang++ -std=c++20 {options} -c {file}'})
    print(os.path.relpath(file, root))
(folder / 'compile_commands.json').write_text(json.dumps(entries))
END
  )
  set -- "${sources[@]}"
fi
echo "$# sources or groups"

# What passed once is not read again: a group is known by its text with all that it includes, by the
# configuration and by the version of clang-tidy.
passed=${XDG_CACHE_HOME:-$HOME/.cache}/neap-tidy
mkdir -p "$passed"
find "$passed" -type f -mtime +30 -delete
version=$(clang-tidy-16 --version)

# The build may be g++'s, with flags that clang does not know; a batch includes sources, on purpose.
read_one() {
  local key= command
  # Of a group; a single file is always read.
  if [[ $commands == build/tidy ]]; then
    command=$(python3 -c 'import json, sys
print(next(entry["command"] for entry in json.load(open("build/tidy/compile_commands.json"))
           if entry["file"].endswith("/" + sys.argv[1])))' "$1")
    key=$({ echo "$version"; cat .clang-tidy; eval "${command/clang++/clang++-16 -E -C -w}" | sed "s#$PWD/##g"; } |
      sha256sum | cut -d ' ' -f 1)
    [[ ! -e $passed/$key ]] || return 0
  fi
  clang-tidy-16 -p "$commands" --quiet --extra-arg=-Wno-unknown-warning-option \
    --checks=-bugprone-suspicious-include "$1"
  [[ -z $key ]] || touch "$passed/$key"
}
export -f read_one
export commands passed version
printf '%s\0' "$@" | xargs -0 -P "$(nproc)" -n 1 bash -c 'set -eo pipefail; read_one "$1"' read_one
