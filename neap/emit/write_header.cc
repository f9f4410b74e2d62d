// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <cstdio>

#include "neap/emit/stack.h"
#include "neap/emit/variables.h"
#include "neap/emit/write.h"

namespace neap::emit {

std::string UpperOf(const std::string& text) {
  std::string upper;
  for (const char c : text) upper += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return upper;
}

std::string CommentOf(const std::string& text) {
  std::string line;
  for (const char c : text) {
    const bool plain = c >= ' ' && c <= '~' && c != '\\' && c != '?';
    line += plain ? c : '_';
  }
  for (std::size_t at = line.find("*/"); at != std::string::npos; at = line.find("*/")) {
    line.replace(at, 2, "* /");
  }
  for (std::size_t at = line.find("/*"); at != std::string::npos; at = line.find("/*")) {
    line.replace(at, 2, "/ *");
  }
  return line;
}

bool IsExternal(const Port& port) { return port.memory >= kExternal; }

bool IsFed(const Program& program) {
  return std::any_of(program.inputs.begin(), program.inputs.end(),
                     [](const Port& port) { return port.rows > 0; });
}

std::string PortName(const std::string& what, const std::vector<Port>& ports, std::size_t index) {
  return ports.size() == 1 ? what : what + "_" + std::to_string(index);
}

std::string MemoryName(const Program& program, const Origin& origin, std::size_t index) {
  if (index == 0) return "arena";
  if (program.slow) return "slow";
  std::string name;
  for (const char c : origin.memories[index]) {
    const auto byte = static_cast<unsigned char>(c);
    name += std::isalnum(byte) != 0 ? static_cast<char>(std::tolower(byte)) : '_';
  }
  return "memory_" + std::to_string(index) + "_" + name;
}

std::string ArgumentsOf(const Program& program, const Origin& origin, bool externals) {
  std::string text;
  for (std::size_t i = 0; i < program.memory_bytes.size(); ++i) {
    text += (i == 0 ? "void *" : ", void *") + MemoryName(program, origin, i);
  }
  for (std::size_t i = 0; externals && i < program.inputs.size(); ++i) {
    if (!IsExternal(program.inputs[i])) continue;
    text += ", const " + program.inputs[i].type + " *" + PortName("input", program.inputs, i);
  }
  return text;
}

namespace {

std::string Float(float value) {
  char text[64];
  (void)std::snprintf(text, sizeof(text), "%.9g", static_cast<double>(value));
  std::string number = text;
  if (number.find_first_of(".e") == std::string::npos) number += ".0";
  return number + "f";
}

bool IsFloat(const Port& port) { return port.type == "float"; }

}  // namespace

std::string PointerTo(const Port& port, const std::string& memory, const std::string& qualifier) {
  const std::string to = "(" + qualifier + port.type + " *)";
  const std::string offset = std::to_string(port.offset);
  if (!IsFloat(port)) return to + memory + " + " + offset;
  return to + "(" + qualifier + "void *)((" + qualifier + "int8_t *)" + memory + " + " + offset +
         ")";
}

std::string RuntimeIncludes(const Program& program) {
  const auto line = [](bool has, const std::string& name) {
    return has ? "#include \"neap_rt/" + name + ".h\"\n" : "";
  };
  return line(HasMve(program), "neap_mve") + line(HasCmsisNn(program), "neap_cmsis_nn") +
         line(HasFloats(program), "neap_float") + line(HasLstm(program), "neap_lstm") +
         line(program.slow.has_value(), "neap_transfers") +
         line(HasSlowWeights(program), "neap_slow_weights");
}

std::string PortMacros(const std::string& name, const Port& port) {
  std::string shape;
  for (const std::int64_t size : port.shape) {
    shape += (shape.empty() ? "" : ", ") + std::to_string(size);
  }
  const std::string sizes = "#define " + name + "_BYTES " + std::to_string(port.bytes) + "\n" +
                            "#define " + name + "_DIMS " + std::to_string(port.shape.size()) +
                            "\n" + "#define " + name + "_SHAPE {" + shape + "}\n";
  if (IsFloat(port)) return "/* " + CommentOf(port.name) + ": float32 */\n" + sizes;
  return "/* " + CommentOf(port.name) + ": real = SCALE * (integer - ZERO_POINT) */\n" +  //
         sizes +                                                                          //
         "#define " + name + "_SCALE " + Float(port.scale) + "\n" +                       //
         "#define " + name + "_ZERO_POINT (" + std::to_string(port.zero_point) + ")\n";
}

namespace {

std::string Macros(const Program& program, const Origin& origin, const Extra& extra,
                   const Options& options) {
  const std::string upper = UpperOf(options.prefix);
  std::string text = "/* Bytes that the caller provides: activations, lines, scratch, state. */\n";
  if (program.slow) {
    text =
        "/* Bytes that the caller provides. The arena is fast memory: lines, blocks, scratch, "
        "state.\n"
        " * Slow memory has inputs, outputs and other tensors; its address needs no alignment.";
    text += program.slow->weights
                ? "\n * Weights are in other slow memory, where the linker places them (" + upper +
                      "_WEIGHTS). */\n"
                : " */\n";
  }
  text += "#define " + upper + "_ARENA_BYTES " + std::to_string(extra.arena_bytes) + "\n";
  text += "#define " + upper + "_ARENA_ALIGN 4\n";
  for (std::size_t i = 1; i < program.memory_bytes.size(); ++i) {
    text += "#define " + upper + "_" + UpperOf(MemoryName(program, origin, i)) + "_BYTES " +
            std::to_string(program.memory_bytes[i]) + "\n";
  }
  if (program.slow) {
    text += "/* Bytes that a run copies from and to slow memory. */\n#define " + upper +
            "_SLOW_READ_BYTES " + std::to_string(program.slow->read) + "\n#define " + upper +
            "_SLOW_WRITTEN_BYTES " + std::to_string(program.slow->written) + "\n";
  }
  if (program.slow && program.slow->weights) {
    text += "/* Of those read, bytes of weights. */\n#define " + upper + "_SLOW_WEIGHT_BYTES " +
            std::to_string(*program.slow->weights) + "\n";
  }
  text += StackMacros(program, upper) + "\n";
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    text +=
        PortMacros(upper + "_" + UpperOf(PortName("input", program.inputs, i)), program.inputs[i]);
  }
  for (std::size_t i = 0; i < program.outputs.size(); ++i) {
    text += PortMacros(upper + "_" + UpperOf(PortName("output", program.outputs, i)),
                       program.outputs[i]);
  }
  return text;
}

std::string Budget(const Options& options) {
  const std::string upper = UpperOf(options.prefix);
  std::string text;
  if (options.budget_bytes) {
    text += "#ifndef " + upper + "_BUDGET_BYTES\n#define " + upper + "_BUDGET_BYTES " +
            std::to_string(*options.budget_bytes) + "\n#endif\n";
  }
  return text + "/* Fails to compile where the arena exceeds the budget. */\n" +  //
         "#ifdef " + upper + "_BUDGET_BYTES\n" +                                  //
         "typedef char " + options.prefix + "_arena_fits_its_budget[" + upper +
         "_ARENA_BYTES <= " + upper + "_BUDGET_BYTES ? 1 : -1];\n#endif\n";
}

// The type of the caller's function that writes rows.
std::string RowFunction(const Program& program, const std::string& p) {
  const auto rows_of = [](const Port& port) {
    return std::to_string(port.rows) + " rows of " + std::to_string(port.bytes / port.rows) +
           " bytes";
  };
  const std::string end =
      "each requested\n * once, in order. 0: done; anything else ends the run and is its result. "
      "*/\n";
  const std::string type = "typedef int (*" + p + "_row_fn)(void *user, ";
  const std::string row = "int row, " + program.inputs[0].type + " *dst);\n";
  if (program.inputs.size() == 1) {
    return "\n/* Writes row `row` of the input to `dst`: " + rows_of(program.inputs[0]) + ", " +
           end + type + row;
  }
  std::string text = "\n/* Writes row `row` of input number `input` to `dst`:\n";
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    text += " * " + std::to_string(i) + ": " + rows_of(program.inputs[i]) + ",\n";
  }
  return text + " * " + end + type + "int input, " + row;
}

std::string Functions(const Program& program, const Origin& origin, const Options& options) {
  const std::string& p = options.prefix;
  const std::string upper = UpperOf(p);
  std::string text = "/* Results of functions; 0: done. */\n";
  text += "#define " + upper + "_MORE 1         /* of a step: there are more */\n";
  text += "#define " + upper + "_BAD_ARENA (-1) /* no arena, or not aligned" +
          (program.slow ? "; no slow memory" : "") + " */\n";
  text += "#define " + upper + "_NO_ROWS (-2)   /* no row function */\n";
  text += "#define " + upper + "_NOT_BEGUN (-3) /* a step without a begin, or after the last */\n";
  if (HasCmsisNn(program)) {
    text += "#define " + upper +
            "_BAD_LIBRARY (-4) /* CMSIS-NN needs a larger buffer than the arena has, or refuses "
            "*/\n";
  }
  text += "\n";
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    const Port& port = program.inputs[i];
    if (IsExternal(port) || port.rows > 0) continue;
    text += "/* The input is written here; running may overwrite it. */\n" + port.type + " *" + p +
            "_" + PortName("input", program.inputs, i) + "(void *" +
            MemoryName(program, origin, static_cast<std::size_t>(port.memory)) + ");\n";
  }
  for (std::size_t i = 0; i < program.outputs.size(); ++i) {
    const Port& port = program.outputs[i];
    text += "/* The output is here after a run. */\nconst " + port.type + " *" + p + "_" +
            PortName("output", program.outputs, i) + "(const void *" +
            MemoryName(program, origin, static_cast<std::size_t>(port.memory)) + ");\n";
  }
  const std::string all = ArgumentsOf(program, origin, true);
  const std::string begin = ArgumentsOf(program, origin, false);
  if (IsFed(program)) {
    text += RowFunction(program, p) + "int " + p + "_run_rows(" + all + ", " + p +
            "_row_fn rows, void *user);\n";
    text += "/* The same in steps of bounded work; 0 after the last. */\nvoid " + p + "_begin(" +
            begin + ");\nint " + p + "_step_rows(" + all + ", " + p +
            "_row_fn rows, void *user);\n";
  } else {
    text += "\nint " + p + "_run(" + all + ");\n";
    text += "/* The same in steps of bounded work; 0 after the last. */\nvoid " + p + "_begin(" +
            begin + ");\nint " + p + "_step(" + all + ");\n";
  }
  return text + ResetDeclaration(program, origin, p);
}

}  // namespace

std::string HeaderAround(const Origin& origin, const Options& options, const std::string& body) {
  const std::string guard = UpperOf(options.prefix) + "_H";
  const std::string plan =
      origin.plan_sha256.empty() ? "" : " * SHA-256 of the plan: " + origin.plan_sha256 + "\n";
  return "/* SPDX-License-Identifier: LicenseRef-model\n *\n"
         " * Made by Neap " +
         CommentOf(origin.neap_version) +
         " from a model. It belongs to the owner of the model.\n"
         " * Model: " +
         CommentOf(origin.model) +
         "\n"
         " * SHA-256 of the model: " +
         CommentOf(origin.model_sha256) + "\n" + plan +
         " *\n"
         " * Several instances run with an arena each; all functions are re-entrant.\n"
         " */\n#ifndef " +
         guard + "\n#define " + guard +
         "\n\n#include <stdint.h>\n\n"
         "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n" +
         body + "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
}

std::string HeaderText(const Program& program, const Origin& origin, const Extra& extra,
                       const Options& options) {
  return HeaderAround(origin, options,
                      Macros(program, origin, extra, options) + "\n" + Budget(options) + "\n" +
                          Functions(program, origin, options));
}

}  // namespace neap::emit
