# SPDX-License-Identifier: Apache-2.0
"""Emitted C: compiled for this machine and run on inputs whose outputs the executor computes.

The program around a network is generated from its header. The arena is exactly its size between
pages without access, and poisoned before each run; each input is run as a whole and in steps. Slow
memory has no access but for copies, which are counted (slow_memory.h)."""

import io
import pathlib
import re
import shutil
import struct
import subprocess
import zipfile

SLOW_MEMORY = pathlib.Path(__file__).with_name("slow_memory.h")

STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]

# Names of compilers to the words before the sources.
COMPILERS = {
    "gcc": ["gcc", "-std=c99", *STRICT],
    "clang": ["clang-16", "-std=c99", *STRICT],
    "g++": ["g++", "-x", "c++", "-std=c++17", *STRICT],
    "clang++": ["clang++-16", "-x", "c++", "-std=c++17", *STRICT],
}
ARM64 = "aarch64-linux-gnu-gcc"
# The files of the runtime are the same for all networks. Paths in commands are those in the network's folder.
CACHED = ["ccache"] if shutil.which("ccache") else []
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


def vectors_of_this_processor():
    """Names of the kinds of vectors of neap_vector.h that run here to words for the compiler."""
    try:
        words = set(pathlib.Path("/proc/cpuinfo").read_text().split())
    except OSError:
        return {}
    kinds = {"AVX2": (["avx2"], ["-mavx2"]),
             "AVX-512 VNNI": (["avx512_vnni", "avx512bw"], ["-mavx2", "-mavx512f", "-mavx512bw", "-mavx512vnni"])}
    return {name: flags for name, (needs, flags) in kinds.items() if words.issuperset(needs)}

PRELUDE = """
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "%(prefix)s.h"
struct feed { const unsigned char *at[8]; size_t bytes[8]; int next[8]; };
static unsigned char *guarded(size_t bytes, size_t align) {
  const size_t page = 65536, size = (bytes + page - 1) / page * page;
  unsigned char *base = (unsigned char *)mmap(NULL, size + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED || mprotect(base + page, size, PROT_READ | PROT_WRITE) != 0) exit(3);
  return base + page + (size - bytes) / align * align;
}
static unsigned char *load(const char *path, size_t bytes) {
  unsigned char *data = guarded(bytes, 1);
  FILE *file = fopen(path, "rb");
  if (file == NULL || fread(data, 1, bytes, file) != bytes) { printf("cannot read %%s\\n", path); exit(3); }
  fclose(file);
  return data;
}
"""


def arrays(path):
    """The bytes of the arrays of an .npz, in their order."""
    with zipfile.ZipFile(path) as archive:
        found = []
        for name in archive.namelist():
            data = io.BytesIO(archive.read(name))
            data.seek(8)
            (size,) = struct.unpack("<H", data.read(2))
            data.read(size)
            found.append(data.read())
        return found


class Network:
    """A folder that `neap emit` wrote."""

    def __init__(self, folder, prefix):
        self.folder = pathlib.Path(folder)
        self.prefix = prefix
        self.header = (self.folder / f"{prefix}.h").read_text()

    def macro(self, name):
        return int(re.search(rf"#define {self.prefix.upper()}_{name} \(?(-?\d+)", self.header)[1])

    @property
    def arena_bytes(self):
        return self.macro("ARENA_BYTES")

    def ports(self, what):
        """The names of inputs or outputs: "input", or "input_0", "input_1"."""
        return [name.lower() for name in
                re.findall(rf"#define {self.prefix.upper()}_({what.upper()}(?:_\d+)?)_BYTES", self.header)]

    @property
    def counts_copies(self):
        """Words for compile() of a network that is run with `counted`."""
        return [f"-D{self.prefix.upper()}_COPY=begin_copy", f"-D{self.prefix.upper()}_WAIT=wait_for_copies"]

    @property
    def has_slow_weights(self):
        return f"{self.prefix.upper()}_SLOW_WEIGHT_BYTES" in self.header

    def program(self, seeds, counted=None):
        """A main() that runs the network on the files of each seed. `counted`: the bytes that a run reads from and
        writes to slow memory, where the network was compiled with counts_copies. Weights in slow memory are those of
        `--weights bin`."""
        p, upper = self.prefix, self.prefix.upper()
        fed = f"{p}_run_rows" in self.header
        signature = re.search(rf"int {p}_run\w*\(([^)]*)", self.header)[1]
        externals = re.findall(r"const (u?int8_t|float) \*(input(?:_\d+)?)", signature)
        memories = re.findall(r"void \*(memory_\w+|slow)", signature)
        lines = [PRELUDE % {"prefix": p}]
        if fed:
            number, of = re.search(r"void \*user, (int input, )?int row, (u?int8_t|float) \*dst", self.header).groups()
            lines.append(f"static int feed_row(void *user, {number or ''}int row, {of} *dst) {{\n"
                         f"  struct feed *feed = (struct feed *)user;\n  {'' if number else 'const int input = 0;'}\n"
                         "  if (row != feed->next[input]++) return 77;\n"
                         "  memcpy(dst, feed->at[input] + (size_t)row * feed->bytes[input], feed->bytes[input]);\n  return 0;\n}\n")
            lines += [f"static const int kShape_{name}[] = {upper}_{name.upper()}_SHAPE;\n" for name in self.ports("input")]
        # The memory of each input and output.
        of_port = dict(re.findall(rf"{p}_((?:in|out)put(?:_\d+)?)\((?:const )?void \*(\w+)\)", self.header))
        lines.append("int main(void) {\n  int failures = 0, result, steps;\n"
                     f"  unsigned char *arena = guarded({upper}_ARENA_BYTES, {upper}_ARENA_ALIGN);\n")
        if counted:
            lines.insert(1, SLOW_MEMORY.read_text() + (f"SLOW_WEIGHTS({p})\n" if self.has_slow_weights else ""))
        for memory in memories:
            if counted:
                lines.append(f"  unsigned char *{memory} = make_slow({upper}_SLOW_BYTES, arena, {upper}_ARENA_BYTES);\n")
                if self.has_slow_weights:
                    lines.append(f"  make_slow_weights({p}_weights, {p}_weights_end);\n")
                continue
            lines.append(f"  unsigned char *{memory} = guarded({upper}_{memory.upper()}_BYTES, {1 if memory == 'slow' else 4});\n")
        for seed in seeds:
            lines.append("  for (steps = 0; steps < 2; ++steps) {\n")
            lines.append(f"    memset(arena, 0xA5 - steps, {upper}_ARENA_BYTES);\n")
            arguments = ", ".join(["arena", *memories])
            if f"void {p}_reset(" in self.header:
                lines.append(f"    {p}_reset({arguments});\n")
            if fed:
                lines.append("    struct feed feed = {{0}, {0}, {0}};\n")
            for i, name in enumerate(self.ports("input")):
                lines.append(f'    unsigned char *{name} = load("{seed}.{name}", {upper}_{name.upper()}_BYTES);\n')
                if fed:
                    port = f"{upper}_{name.upper()}"
                    lines.append(f"    feed.at[{i}] = {name};\n    feed.bytes[{i}] = {port}_BYTES / "
                                 f"({port}_DIMS >= 3 ? (size_t)kShape_{name}[1] : 1U);\n")
                elif name not in [external for _, external in externals]:
                    lines.append(f"    memcpy({p}_{name}({of_port[name]}), {name}, {upper}_{name.upper()}_BYTES);\n")
            for of, name in externals:
                arguments += f", (const {of} *){name}"
            if counted:
                lines.append("    begin_run(steps == 0);\n")
            rows = "_rows" if fed else ""
            arguments += ", feed_row, &feed" if fed else ""
            lines.append(f"    if (steps == 0) {{\n      result = {p}_run{rows}({arguments});\n    }} else {{\n"
                         f"      {p}_begin({', '.join(['arena', *memories])});\n      do result = {p}_step{rows}({arguments});\n"
                         f"      while (result == {upper}_MORE);\n    }}\n")
            if counted:
                lines.append(f'    if (!end_run({counted[0]}, {counted[1]})) {{ printf("seed {seed}, steps %d: copies: %zu read, '
                             '%zu written, %u left, %d bad\\n", steps, slow_memory.read, slow_memory.written, '
                             "slow_memory.count, slow_memory.bad); ++failures; }\n")
            lines.append(f'    if (result != 0) {{ printf("seed {seed}: result %d\\n", result); ++failures; continue; }}\n')
            for name in self.ports("output"):
                lines.append(f'    if (memcmp({p}_{name}({of_port[name]}), load("{seed}.{name}.expected", {upper}_{name.upper()}_BYTES), '
                             f'{upper}_{name.upper()}_BYTES) != 0) {{ printf("seed {seed}, steps %d: {name} differs\\n", steps); ++failures; }}\n')
            lines.append("  }\n")
        lines.append("  return failures == 0 ? 0 : 1;\n}\n")
        return "".join(lines)

    def write_seed(self, seed, inputs, outputs):
        for name, data in zip(self.ports("input"), inputs, strict=True):
            (self.folder / f"{seed}.{name}").write_bytes(data)
        for name, data in zip(self.ports("output"), outputs, strict=True):
            (self.folder / f"{seed}.{name}.expected").write_bytes(data)

    def sources(self):
        return [f"{self.prefix}.c", *sorted(f"neap_rt/{path.name}" for path in (self.folder / "neap_rt").glob("*.c"))]

    def compile(self, compiler, *more):
        """Objects of the network's own files; the output of the compiler if it fails."""
        for source in self.sources():
            words = COMPILERS.get(compiler, [compiler, "-std=c99", *STRICT])
            result = subprocess.run([*CACHED, *words, "-O2", *more, "-c", source, "-o", f"{pathlib.Path(source).stem}.o"],
                                    cwd=self.folder, capture_output=True, text=True, check=False)
            if result.returncode != 0:
                return result.stderr
        return ""

    def run(self, seeds, *more, counted=None, compiler=("gcc",), emulator=()):
        """"": all outputs are equal; else a report. After compile()."""
        (self.folder / "main.c").write_text(self.program(seeds, counted))
        objects = [f"{pathlib.Path(source).stem}.o" for source in self.sources()]
        result = subprocess.run([*compiler, "-std=c99", "-O1", *more, "main.c", *objects, "-lm", "-o", "network"],
                                cwd=self.folder, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            return result.stderr
        result = subprocess.run([*emulator, "./network"], cwd=self.folder, capture_output=True, text=True, check=False, timeout=600)
        return "" if result.returncode == 0 else f"exit {result.returncode}: {result.stdout}{result.stderr}"


def installed(compiler):
    return shutil.which(COMPILERS[compiler][0]) is not None
