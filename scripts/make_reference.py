#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generates reference, manual page and completions of `neap`: make_reference.py PROGRAM [--check].

docs/reference/options.md, docs/reference/boards.md, the manual page share/man/neap.1 and the completions in share/completions come
from the option table of the program itself (`neap VERB --describe`). --check compares them with the files
that exist and names the first one that differs."""

import json
import pathlib
import re
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[1]
COMMAND = f"scripts/{pathlib.Path(__file__).name}"


def described(program):
    """[(verb, summary, description)]."""
    def run(*words):
        return subprocess.run([program, *words, "--describe"], capture_output=True, check=True, text=True,
                              stdin=subprocess.DEVNULL).stdout

    verbs = [line.split("\t") for line in run().splitlines()]
    return [(verb, summary, json.loads(run(verb))) for verb, summary in verbs]


def names_of(option):
    return option["names"].split(",")


def options_of(description):
    return [option for option in description["options"] if not option["positional"]]


def groups_of(description):
    groups = {}
    for option in options_of(description):
        groups.setdefault(option["group"], []).append(option)
    return groups


def positionals_of(description):
    return [option for option in description["options"] if option["positional"]]


def words_of(option):
    """The words that an option takes, where they are a list; else none."""
    value = option["value"]
    return value.split("|") if re.fullmatch(r"[a-z0-9-]+(\|[a-z0-9-]+)+", value) else []


def is_file(option):
    return bool(re.search(r"FILE|FOLDER|OUT|PLAN", option["value"]))


def first_sentence(option):
    return re.split(r"[;\n]", option["help"])[0]


def markdown(verbs):
    out = ["# Options", "", f"Made by `{COMMAND}` from the program's own tables. What verbs do, files and exit codes:",
           "[command-line.md](command-line.md). The options of `neap plan` are those of [the library](library.md#options).", ""]
    for verb, summary, description in verbs:
        given = " ".join(option["names"] for option in positionals_of(description))
        out += [f"## neap {verb}{' ' + given if given else ''}", "", summary[0].upper() + summary[1:] + ".", ""]
        for option in positionals_of(description):
            out.append(f"- `{option['names']}`: {option['help']}")
        for group, options in groups_of(description).items():
            out += ["", f"### {group}", "", "| option | meaning |", "|---|---|"]
            for option in options:
                names = ", ".join(f"`{name}`" for name in names_of(option))
                value = f" `{option['value']}`" if option["value"] else ""
                cell = (names + value).replace("|", "\\|")
                out.append(f"| {cell} | {option['help'].replace('|', chr(92) + '|').replace(chr(10), '<br>')} |")
        out.append("")
    return "\n".join(out)


def troff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join("\\&" + line if line.startswith((".", "'")) else line for line in text.splitlines())


def manual(verbs, version):
    out = [f".\\\" Made by {COMMAND}.", f'.TH NEAP 1 "" "neap {version}" "User Commands"', ".SH NAME",
           "neap \\- least\\-memory plans for neural networks, with proofs", ".SH SYNOPSIS",
           ".B neap", "IN OUT [OPTIONS]", ".br", ".B neap", "VERB ... [OPTIONS]", ".SH VERBS"]
    for verb, summary, _ in verbs:
        out += [".TP", f".B {verb}", troff(summary)]
    for verb, _, description in verbs:
        out += [f".SH NEAP {verb.upper()}", troff(description["summary"])]
        for option in positionals_of(description):
            out += [".TP", f".I {troff(option['names'])}", troff(option["help"])]
        for group, options in groups_of(description).items():
            out.append(f'.SS "{group}"')
            for option in options:
                names = ", ".join(f"\\fB{troff(name)}\\fR" for name in names_of(option))
                value = f" \\fI{troff(option['value'])}\\fR" if option["value"] else ""
                out += [".TP", names + value, troff(option["help"]).replace("\n", "\n.br\n")]
        if description["examples"]:
            out += [".PP", ".nf", troff(description["examples"].rstrip()), ".fi"]
    return "\n".join(out) + "\n"


def bash(verbs):
    names = " ".join(verb for verb, _, _ in verbs)
    out = [f"# Made by {COMMAND}.", "_neap() {", "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}",
           "  local verb=${COMP_WORDS[1]} options= words=",
           "  if [[ $COMP_CWORD -eq 1 ]]; then",
           f'    mapfile -t COMPREPLY < <(compgen -W "{names}" -- "$word"; compgen -f -- "$word")',
           "    return", "  fi", '  case "$verb" in']
    for verb, _, description in verbs:
        options = options_of(description)
        out += [f"    {verb})", f'      options="{" ".join(name for option in options for name in names_of(option))}"',
                '      case "$before" in']
        for option in options:
            if words_of(option):
                out.append(f"        {'|'.join(names_of(option))}) words=\"{' '.join(words_of(option))}\" ;;")
        out += ["      esac ;;"]
    out += ["  esac", "  if [[ -n $words ]]; then", '    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")',
            "  elif [[ $word == -* ]]; then", '    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")',
            "  else", '    mapfile -t COMPREPLY < <(compgen -f -- "$word")', "  fi", "}",
            "complete -o filenames -F _neap neap", ""]
    return "\n".join(out)


def quoted(text):
    return text.replace("'", "'\\''")


def zsh(verbs):
    out = ["#compdef neap", f"# Made by {COMMAND}.", "_neap() {", "  local -a verbs", "  verbs=("]
    out += [f"    '{verb}:{quoted(summary)}'" for verb, summary, _ in verbs]
    out += ["  )", "  if (( CURRENT == 2 )); then", "    _describe verb verbs", "    _files", "    return", "  fi",
            '  case "${words[2]}" in']
    for verb, _, description in verbs:
        out += [f"    {verb})", "      _arguments \\"]
        for option in options_of(description):
            help_text = quoted(first_sentence(option)).replace("[", "(").replace("]", ")").replace(":", " -")
            for name in names_of(option):
                if not option["value"]:
                    tail = ""
                elif words_of(option):
                    tail = f":value:({' '.join(words_of(option))})"
                else:
                    tail = ":file:_files" if is_file(option) else ":value:"
                out.append(f"        '{name}[{help_text}]{tail}' \\")
        out += ["        '*:file:_files' ;;"]
    out += ["  esac", "}", '_neap "$@"', ""]
    return "\n".join(out)


def fish(verbs):
    out = [f"# Made by {COMMAND}."]
    for verb, summary, _ in verbs:
        out.append(f"complete -c neap -n __fish_use_subcommand -a {verb} -d '{quoted(summary)}'")
    for verb, _, description in verbs:
        for option in options_of(description):
            flags = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
                             for name in names_of(option))
            takes = ""
            if words_of(option):
                takes = f" -x -a '{' '.join(words_of(option))}'"
            elif option["value"]:
                takes = " -r" if is_file(option) else " -x"
            out.append(f"complete -c neap -n '__fish_seen_subcommand_from {verb}' {flags}{takes} "
                       f"-d '{quoted(first_sentence(option))}'")
    return "\n".join(out) + "\n"


def boards(program):
    """docs/reference/boards.md: the table of neap boards."""
    report = json.loads(subprocess.run([program, "boards", "--json"], capture_output=True, check=True).stdout)
    out = ["# Boards", "", f"Made by `{COMMAND}` from the program's table.", "",
           "RAM and flash are those of the named source: files of the public repositories of "
           "[PlatformIO](https://github.com/platformio) and of the",
           "[Zephyr project](https://github.com/zephyrproject-rtos/zephyr). RAM is the memory in which a linker places data by "
           "default. A chip may have further memories, or",
           "a limit for a single array: see its data sheet.", "",
           "| board | chip | RAM, B | flash, B | target | source |", "|---|---|--:|--:|---|---|"]
    for board in report["boards"]:
        out.append(f"| `{board['name']}`: {board['title']} | {board['chip']} | {board['ram_bytes']:,} | "
                   f"{board['flash_bytes']:,} | `{board['target']}` | {board['source']} |")
    out += ["", "## Memories", "",
            "The memories of boards that have several, and of accelerators, the fastest first. Every other board has one memory, its",
            "RAM. With `--runtime neap --stream auto --board NAME`, the plan has",
            "[two memories](../algorithms/streams.md#two-memories---fast) where the row has several. The first one less `--reserve`",
            "limits the arena, which is never larger than the RAM of the table above. The largest of the others limits the slow",
            "memory. A plan that exceeds either is reported with exit code 3. `--fast` replaces the first limit. With `--budget`,",
            "`--input`, `--max-macs`, `--block-columns` or `--rewrite`, the plan has one memory.", "",
            "The Ethos-U55 cannot write to its second port (CMSIS-Ethos-U documentation, Arena cache size), so no row is one of it:",
            "its plans have one memory.", "",
            "| name | memory | B | source |", "|---|---|--:|---|"]
    for row in report["boards"] + report["systems"]:
        if len(row["memories"]) == 1 and not row["name"].startswith("pico-2"):
            continue
        for memory in row["memories"]:
            size = f"{memory['bytes']:,}" if memory["bytes"] else "any"
            out.append(f"| `{row['name']}` | {memory['name']} | {size} | {memory['source']} |")
    return "\n".join(out) + "\n"


def main():
    program = sys.argv[1]
    check = sys.argv[2:] == ["--check"]
    verbs = described(program)
    version = subprocess.run([program, "--version"], capture_output=True, check=True, text=True).stdout.split()[1]
    made = {"docs/reference/options.md": markdown(verbs), "docs/reference/boards.md": boards(program),
            "share/man/neap.1": manual(verbs, version),
            "share/completions/neap.bash": bash(verbs), "share/completions/_neap": zsh(verbs),
            "share/completions/neap.fish": fish(verbs)}
    for name, text in made.items():
        path = SOURCE / name
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            print(f"{name} is not what the program says: {COMMAND} build/release/tools/neap", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
