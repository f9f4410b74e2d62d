// SPDX-License-Identifier: Apache-2.0
#include "neap/emit/write.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "neap/emit/lowering.h"
#include "neap/emit/network.h"
#include "neap/emit/op_rows.h"
#include "neap/emit/slow_weights.h"
#include "neap/emit/taps.h"
#include "neap/emit/transfers.h"
#include "neap/emit/variables.h"

namespace neap::emit {

using plan::StreamRange;

bool HasMve(const Program& program) {
  const std::set<std::string> functions = FunctionsOf(program);
  return std::any_of(functions.begin(), functions.end(), [](const std::string& function) {
    return function.find("_mve_") != std::string::npos;
  });
}

bool HasCmsisNn(const Program& program) {
  const auto calls_it = [](const Segment& segment) {
    return std::any_of(segment.calls.begin(), segment.calls.end(), IsCmsisNn);
  };
  return std::any_of(program.segments.begin(), program.segments.end(), calls_it);
}

bool HasSlowWeights(const Program& program) {
  return FunctionsOf(program).contains("neap_drive_slow_weights");
}

namespace {

// The field `pixels` of an operator.
std::int64_t DriverPixels(const Call& call) {
  const bool strip = call.driver == "neap_drive_strip";
  return (strip ? call.padded_pixels : PixelsOf(call)) + (HasRowPairs(call) ? kRowPairs : 0);
}

constexpr std::size_t kColumns = 100;

constexpr std::int64_t kWordBytes = 4;

bool IsOfWords(const Constant& constant) { return constant.type == "uint32_t"; }
// Of one element.
std::int64_t ElementBytes(const Constant& constant) {
  return constant.type == "uint32_t" || constant.type == "int32_t" ? kWordBytes : 1;
}
// The first byte of a table in the file of weights, of which `at` bytes are taken.
std::int64_t StartOf(const Constant& constant, std::int64_t at) {
  const std::int64_t size = ElementBytes(constant);
  return (at + size - 1) / size * size;
}

std::string Literal(std::int64_t value, bool is_word) {
  if (is_word) return std::to_string(value) + "U";
  // The least int32 is no literal of C.
  return value == INT32_MIN ? "(-2147483647 - 1)" : std::to_string(value);
}

// Numbers separated by commas, in lines of at most kColumns. Words: of uint32_t.
std::string Numbers(const std::vector<std::int64_t>& values, bool are_words = false) {
  std::string text;
  std::string line = "   ";
  for (const std::int64_t value : values) {
    const std::string number = " " + Literal(value, are_words) + ",";
    if (line.size() + number.size() > kColumns) {
      text += line + "\n";
      line = "   ";
    }
    line += number;
  }
  return text + line + "\n";
}

// Rows of one table; equal ones are stored once.
class Rows {
 public:
  std::size_t Add(const std::string& row, const std::string& comment = "") {
    const auto [found, added] = known_.try_emplace(row, rows_.size());
    if (added) rows_.emplace_back(row, comment);
    return found->second;
  }
  bool empty() const { return rows_.empty(); }
  std::string Text(const std::string& declaration) const {
    if (rows_.empty()) return "";
    std::string text = declaration + "[] = {\n";
    for (const auto& [row, comment] : rows_) {
      text += "    " + row + ",";
      text += (comment.empty() ? "" : " /* " + CommentOf(comment) + " */") + std::string("\n");
    }
    return text + "};\n\n";
  }

 private:
  std::vector<std::pair<std::string, std::string>> rows_;
  std::map<std::string, std::size_t> known_;
};

// Sequences of numbers or rows that are found again in the text written so far.
template <typename T>
class Sequences {
 public:
  std::size_t Add(const std::vector<T>& sequence) {
    const auto [found, added] = known_.try_emplace(sequence, items_.size());
    if (added) items_.insert(items_.end(), sequence.begin(), sequence.end());
    return found->second;
  }
  const std::vector<T>& items() const { return items_; }

 private:
  std::vector<T> items_;
  std::map<std::vector<T>, std::size_t> known_;
};

struct Bounds {
  std::vector<std::int64_t> values;
  int pitch = 1;
};

// Ranges that follow each other need one bound each.
Bounds BoundsOf(std::vector<StreamRange> ranges) {
  std::int64_t last = 0;
  for (const StreamRange& range : ranges) {
    if (range.empty()) continue;
    last = range.first;
    break;
  }
  for (StreamRange& range : ranges) {
    if (range.empty()) range = {last, last};
    last = range.last;
  }
  Bounds bounds;
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].first != ranges[i - 1].last) bounds.pitch = 2;
  }
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (bounds.pitch == 2 || i == 0) bounds.values.push_back(ranges[i].first);
    bounds.values.push_back(ranges[i].last);
  }
  return bounds;
}

class Writer {
 public:
  Writer(const Program& program, const Origin& origin, const Extra& extra, const Options& options)
      : program_(program), origin_(origin), extra_(extra), options_(options), p_(options.prefix) {}

  Result<std::string> Text() {
    for (const Segment& segment : program_.segments) AddSegment(segment);
    if (overflow_ || segment_count_ > UINT16_MAX) {
      return Fail(BadInput("the program has a number that exceeds its field in neap_rt"));
    }
    return Head() + Constants() + Tables() + Segments() + Functions();
  }

  // Everything but segments and functions. Rows of operators have the numbers of the calls.
  Result<std::string> NetworkTables() {
    finds_repeated_ = false;
    for (const Segment& segment : program_.segments) AddSegment(segment);
    if (overflow_) {
      return Fail(BadInput("the network has a number that exceeds its field in neap_rt"));
    }
    return Head() + Constants() + Tables();
  }

 private:
  std::string Small(std::int64_t value) {
    overflow_ = overflow_ || value < 0 || value > UINT16_MAX;
    return Number(value);
  }
  std::string Large(std::int64_t value) {
    overflow_ = overflow_ || value < 0 || value > INT32_MAX;
    return Number(value);
  }
  std::string Signed(std::int64_t value) {
    overflow_ = overflow_ || value < INT16_MIN || value > INT16_MAX;
    return Number(value);
  }
  std::string At(const std::string& table, std::size_t index) const {
    return "&" + p_ + "_" + table + "[" + std::to_string(index) + "]";
  }

  std::string AddView(const View& view) {
    std::string rings = "NULL";
    if (view.constant.empty()) {
      std::vector<std::string> rows;
      rows.reserve(view.rings.size());
      for (const plan::StreamRing& ring : view.rings) {
        rows.push_back("{" + Large(ring.offset) + ", " + Large(ring.pixels) + "}");
      }
      rings = At("rings", rings_.Add(rows));
    }
    const std::string constant = view.constant.empty() ? "NULL" : view.constant;
    const auto ring_count = static_cast<std::int64_t>(view.rings.size());
    return At("views", views_.Add("{" + constant + ", " + rings + ", " + Large(view.pixel_bytes) +
                                      ", " + Small(view.height) + ", " + Small(view.width) + ", " +
                                      Small(ring_count) + ", " + Small(view.memory) + "}",
                                  view.name));
  }

  std::string AddParams(const Call& call) {
    if (call.mean) {
      const Mean& m = *call.mean;
      return AddParams(Params{
          "neap_mean",
          InitialiserOf({Large(m.places), Number(m.fraction), Number(m.shift), Number(m.in_zero),
                         Number(m.out_zero), Number(m.low), Number(m.high), Small(m.first_row),
                         Small(m.first_column), Small(m.end_row), Small(m.end_column),
                         Number(m.sum_bytes), m.flips ? "0x80" : "0"})});
    }
    return call.params ? AddParams(*call.params) : "NULL";
  }
  std::string AddParams(const Params& params) {
    const std::string table = params.type.substr(sizeof("neap_") - 1);
    return At(table, params_[params.type].Add(params.value));
  }

  std::string AddWindow(const Call& call) {
    if (!call.window) return "NULL";
    const Window& w = *call.window;
    return At("windows",
              windows_.Add("{" + w.padding + ", " + Small(w.height) + ", " + Small(w.width) + ", " +
                           Small(w.stride_y) + ", " + Small(w.stride_x) + ", " +
                           Small(w.dilation_y) + ", " + Small(w.dilation_x) + ", " +
                           Signed(w.pad_y) + ", " + Signed(w.pad_x) + "}"));
  }

  std::string AddBounds(const std::vector<StreamRange>& ranges, std::string* pitch) {
    const Bounds bounds = BoundsOf(ranges);
    for (const std::int64_t bound : bounds.values) (void)Small(bound);
    *pitch = Number(bounds.pitch);
    return At("bounds", bounds_.Add(bounds.values));
  }

  std::string AddCopies(const std::vector<WeightCopy>& copies) {
    if (copies.empty()) return "NULL";
    std::vector<std::string> rows;
    rows.reserve(copies.size());
    for (const WeightCopy& copy : copies) {
      rows.push_back(InitialiserOf({copy.from, Large(copy.offset), Large(copy.bytes)}));
    }
    return At("weight_copies", weight_copies_.Add(rows));
  }

  // Weights are in slow memory: the rows of the operator itself are in another table.
  OpRow RowOf(const Call& call) {
    if (!call.weights) return RowOf(call, call.driver, call.rows);
    const SlowWeights& w = *call.weights;
    std::vector<std::string> own = {RowOf(call, call.driver, call.rows).text};
    for (const Call& image : call.images)
      own.push_back(RowOf(image, image.driver, image.rows).text);
    const std::string ops = At("weighted_ops", weighted_ops_.Add(own));
    const bool two = w.second >= 0;
    const std::size_t number = slow_weights_.Add(InitialiserOf(
        {HooksOf(p_), ops, w.weights, w.bias.empty() ? "NULL" : w.bias, AddCopies(w.next),
         InitialiserOf({Large(w.buffer), Large(two ? w.second : w.buffer), Large(w.kept_buffer)}),
         InitialiserOf({Large(w.bias_buffer), Large(two ? w.bias_second : w.bias_buffer),
                        Large(w.kept_bias)}),
         Large(w.channel_bytes), Small(w.outputs), Small(w.block), Small(w.kept), Small(w.first),
         Small(w.blocks), Small(std::ssize(own)), Small(std::ssize(w.next)), w.by_tap ? "1" : "0",
         w.by_channel ? "1" : "0", two ? "1" : "0", w.is_ahead ? "1" : "0"}));
    Call outer = call;
    outer.columns =
        call.columns.empty() ? std::vector<StreamRange>{{0, call.views[0].width}} : call.columns;
    outer.kernel.clear();
    outer.window.reset();
    outer.params.reset();
    return RowOf(outer, "neap_drive_slow_weights", RowsOfBlocks(call), At("slow_weights", number));
  }

  OpRow RowOf(const Call& call, const std::string& driver, std::vector<StreamRange> rows,
              const std::string& params = "") {
    std::vector<std::string> views;
    views.reserve(call.views.size());
    for (const View& view : call.views) views.push_back(AddView(view));
    const View& out = call.views[0];
    std::vector<StreamRange> columns = call.columns;
    if (rows.empty()) {
      rows = {{0, out.height}};
      columns = {{0, out.width}};
    }
    std::string row_pitch;
    std::string column_pitch;
    const std::string row_table = AddBounds(rows, &row_pitch);
    const std::string column_table = AddBounds(columns, &column_pitch);
    const auto inputs = static_cast<std::int64_t>(call.views.size()) - 1;
    overflow_ = overflow_ || inputs > UINT8_MAX;
    const std::string kernel = call.kernel.empty() ? "NULL" : call.kernel;
    return {"{" + driver + ", " + kernel + ", " + (params.empty() ? AddParams(call) : params) +
                ",\n     " + AddWindow(call) + ", " + At("operands", operands_.Add(views)) + ", " +
                row_table + ", " + column_table + ", " + Large(call.scratch) + ", " + row_pitch +
                ", " + column_pitch + ", " + Number(inputs) + ", " + Number(DriverPixels(call)) +
                "}",
            CommentOf(call.comment)};
  }

  std::string MovesOf(const Segment& segment) {
    const std::size_t first_move = move_count_;
    for (const Move& move : segment.moves) {
      moves_ += "    {" + Large(move.from) + ", " + Large(move.to) + ", " + Large(move.bytes) +
                ", " + Small(move.from_memory) + ", " + Small(move.to_memory) + "},\n";
      ++move_count_;
    }
    return segment.moves.empty() ? "NULL" : At("moves", first_move);
  }

  void AddSegment(const Segment& segment) {
    std::vector<OpRow> rows;
    rows.reserve(segment.calls.size());
    for (const Call& call : segment.calls) rows.push_back(RowOf(call));
    // Of several steps, all operators run in each.
    const bool divisible = finds_repeated_ && segment.row_steps == 1 && segment.column_steps == 1;
    std::vector<OpStretch> stretches;
    if (divisible) {
      stretches = op_rows_.Add(rows);
    } else {
      stretches.push_back(op_rows_.Append(rows));
    }
    if (stretches.empty()) stretches.emplace_back();
    std::string moves = MovesOf(segment);
    auto move_count = static_cast<std::int64_t>(segment.moves.size());
    for (const OpStretch& stretch : stretches) {
      segments_ += "    {" + moves + ", " +
                   (stretch.count == 0 ? "NULL" : At("ops", stretch.first)) + ", " +
                   Small(move_count) + ", " + Small(static_cast<std::int64_t>(stretch.count)) +
                   ", " + Small(static_cast<std::int64_t>(segment.row_steps)) + ", " +
                   Small(static_cast<std::int64_t>(segment.column_steps)) + "},\n";
      ++segment_count_;
      moves = "NULL";
      move_count = 0;
    }
  }

  std::string Head() const {
    return "/* SPDX-License-Identifier: LicenseRef-model\n *\n"
           " * Made by Neap " +
           CommentOf(origin_.neap_version) +
           " from a model: tables for neap_rt. They belong to the owner of the model.\n"
           " * Model: " +
           CommentOf(origin_.model) +
           "\n"
           " * SHA-256 of the model: " +
           CommentOf(origin_.model_sha256) + "\n" +
           (origin_.plan_sha256.empty() ? ""
                                        : " * SHA-256 of the plan: " + origin_.plan_sha256 + "\n") +
           " */\n#include \"" + p_ +
           ".h\"\n\n#include <stddef.h>\n#include <stdint.h>\n\n"
           "#include \"neap_rt/neap_rt.h\"\n" +
           RuntimeIncludes(program_) +
           "\n"
           "#if NEAP_RT_VERSION != 6\n#error \"these tables are for version 6 of "
           "neap_rt\"\n#endif\n\n";
  }

  std::string Constants() const {
    const std::string section = UpperOf(p_) + "_WEIGHTS";
    std::string text =
        "/* Attributes of weights, such as __attribute__((section(\".weights\"))). */\n#ifndef " +
        section + "\n#define " + section + "\n#endif\n\n";
    if (program_.slow) {
      text += TransferHooks();
    } else if (program_.memory_bytes.size() > 1) {
      const std::string copy = UpperOf(p_) + "_COPY";
      text += "/* Copies between memories, such as a DMA transfer; null: memmove. */\n#ifdef " +
              copy + "\nvoid " + copy +
              "(void *to, const void *from, size_t bytes);\n#else\n#define " + copy +
              " NULL\n#endif\n\n";
    }
    if (options_.binary_weights) {
      text += "/* The bytes of " + p_ + "_weights.bin" +
              (HasWords() ? ", at an address that is a multiple of 4" : "") +
              ". */\nextern const int8_t " + p_ + "_weights[];\n\n";
    }
    std::int64_t at = 0;
    for (const Constant& constant : program_.constants) {
      const auto count = static_cast<std::int64_t>(constant.values.size());
      const bool words = IsOfWords(constant);
      if (options_.binary_weights && constant.weights) {
        at = StartOf(constant, at);
        const std::string address = p_ + "_weights + " + Number(at);
        const bool bytes = ElementBytes(constant) == 1;
        text +=
            "#define " + constant.name + " (" +
            (bytes ? address : "(const " + constant.type + " *)(const void *)(" + address + ")") +
            ")\n\n";
        at += count * ElementBytes(constant);
        continue;
      }
      text += "static const " + constant.type + " " + constant.name + "[" + Number(count) + "]" +
              (constant.weights ? " " + section : "") + " = {\n" + Numbers(constant.values, words) +
              "};\n\n";
    }
    return text;
  }
  bool HasWords() const {
    return std::any_of(program_.constants.begin(), program_.constants.end(), IsOfWords);
  }

  std::string TransferHooks() const {
    const auto hook = [](const std::string& name, const std::string& arguments) {
      return "#ifdef " + name + "\nvoid " + name + "(" + arguments + ");\n#else\n#define " + name +
             " NULL\n#endif\n";
    };
    const std::string copy = UpperOf(p_) + "_COPY";
    const std::string wait = UpperOf(p_) + "_WAIT";
    return "/* Copies between fast and slow memory, such as DMA transfers: " + copy +
           " begins one,\n * " + wait +
           " returns when all that were begun are done. null: memcpy; nothing. */\n"
           "#ifdef __cplusplus\nextern \"C\" {\n#endif\n" +
           hook(copy, "void *to, const void *from, size_t bytes") + hook(wait, "void") +
           "#ifdef __cplusplus\n}\n#endif\n\n";
  }

  template <typename T>
  static std::string Lines(const std::vector<T>& items, const std::string& declaration) {
    if (items.empty()) return "";
    std::string text = declaration + "[] = {\n";
    for (const std::string& item : items) text += "    " + item + ",\n";
    return text + "};\n\n";
  }

  std::string Tables() const {
    std::string text = Lines(rings_.items(), "static const neap_ring " + p_ + "_rings");
    text += views_.Text("static const neap_view " + p_ + "_views");
    text += Lines(operands_.items(), "static const neap_view *const " + p_ + "_operands");
    text += windows_.Text("static const neap_window " + p_ + "_windows");
    for (const auto& [type, rows] : params_) {
      text += rows.Text("static const " + type + " " + p_ + "_" + type.substr(sizeof("neap_") - 1));
    }
    if (move_count_ > 0) {
      text += "static const neap_move " + p_ + "_moves[] = {\n" + moves_ + "};\n\n";
    }
    // None where nothing needs to be done: C has no empty arrays.
    if (!op_rows_.empty()) {
      text += "/* Rows and columns of boxes. */\nstatic const uint16_t " + p_ + "_bounds[] = {\n" +
              Numbers(bounds_.items()) + "};\n\n";
      text += Lines(weighted_ops_.items(),
                    "/* Operators whose weights are in slow memory. */\n"
                    "static const neap_op " +
                        p_ + "_weighted_ops");
      text +=
          Lines(weight_copies_.items(), "static const neap_weight_copy " + p_ + "_weight_copies");
      text += slow_weights_.Text("static const neap_slow_weights " + p_ + "_slow_weights");
      text += "static const neap_op " + p_ + "_ops[] = {\n" + op_rows_.Text() + "};\n\n";
    }
    return text;
  }
  std::string Segments() const {
    std::string text;
    std::string segments = "NULL";
    if (!program_.segments.empty()) {
      segments = p_ + "_segments";
      text += "static const neap_segment " + segments + "[] = {\n" + segments_ + "};\n\n";
    }
    return text + "static const neap_program " + p_ + "_program = {" + segments + ", " +
           Large2(extra_.state) + ", " + Number(segment_count_) + ", 4};\n\n";
  }
  static std::string Large2(std::int64_t value) { return Number(value); }

  std::string Functions() const {
    std::string text;
    for (std::size_t i = 0; i < program_.inputs.size(); ++i) {
      const Port& port = program_.inputs[i];
      if (IsExternal(port) || port.rows) continue;
      const std::string memory =
          MemoryName(program_, origin_, static_cast<std::size_t>(port.memory));
      text += port.type + " *" + p_ + "_" + PortName("input", program_.inputs, i) + "(void *" +
              memory + ") { return " + PointerTo(port, memory, "") + "; }\n\n";
    }
    for (std::size_t i = 0; i < program_.outputs.size(); ++i) {
      const Port& port = program_.outputs[i];
      const std::string memory =
          MemoryName(program_, origin_, static_cast<std::size_t>(port.memory));
      text += "const " + port.type + " *" + p_ + "_" + PortName("output", program_.outputs, i) +
              "(const void *" + memory + ") {\n  return " + PointerTo(port, memory, "const ") +
              ";\n}\n\n";
    }
    const bool fed = IsFed(program_);
    const std::string all = ArgumentsOf(program_, origin_, true);
    text += fed ? Function("int", "run_rows", all + ", " + p_ + "_row_fn rows, void *user",
                           "neap_run", true)
                : Function("int", "run", all, "neap_run", true);
    text += Function("void", "begin", ArgumentsOf(program_, origin_, false), "neap_begin", false);
    text += fed ? Function("int", "step_rows", all + ", " + p_ + "_row_fn rows, void *user",
                           "neap_step", true)
                : Function("int", "step", all, "neap_step", true);
    return text + ResetFunction(program_, origin_, p_);
  }

  std::string Function(const std::string& result, const std::string& name,
                       const std::string& arguments, const std::string& callee, bool runs) const {
    std::string memories;
    for (std::size_t i = 0; i < program_.memory_bytes.size(); ++i) {
      memories += (i == 0 ? "(int8_t *)" : ", (int8_t *)") + MemoryName(program_, origin_, i);
    }
    std::string externals;
    for (std::size_t i = 0; runs && i < program_.inputs.size(); ++i) {
      const bool given = IsExternal(program_.inputs[i]);
      externals += externals.empty() ? "" : ", ";
      externals += given ? "(const int8_t *)" + PortName("input", program_.inputs, i) : "NULL";
    }
    const bool external =
        runs && std::any_of(program_.inputs.begin(), program_.inputs.end(), IsExternal);
    const bool fed = runs && IsFed(program_);
    std::string text = result + " " + p_ + "_" + name + "(" + arguments + ") {\n";
    const std::string room = runs ? Number(TapsOf(program_)) : "1";
    if (program_.slow && runs) text += "  if (slow == NULL) return NEAP_BAD_ARENA;\n";
    text += "  const int8_t *taps[" + room + "];\n";
    text += "  int8_t *const memories[] = {" + memories + "};\n";
    if (external) text += "  const int8_t *const externals[] = {" + externals + "};\n";
    text += std::string("  const neap_frame frame = {memories, ") +
            (external ? "externals" : "NULL") + ", taps, " +
            (fed ? RowsExpression() + ", user, " : "NULL, NULL, ") + CopyHook() + "};\n";
    text += std::string("  ") + (result == "void" ? "(void)" : "return ") + callee + "(&" + p_ +
            "_program, &frame);\n}\n\n";
    return text;
  }
  // Of uint8, the type of the row function differs in its last argument alone. That of several
  // inputs is converted back by neap_drive_input_rows().
  std::string RowsExpression() const {
    if (program_.inputs.size() > 1) return "(neap_row_fn)(void (*)(void))rows";
    return program_.inputs[0].type == "int8_t" ? "rows" : "(neap_row_fn)rows";
  }
  std::string CopyHook() const {
    return program_.memory_bytes.size() > 1 && !program_.slow ? UpperOf(p_) + "_COPY" : "NULL";
  }

  const Program& program_;
  const Origin& origin_;
  const Extra& extra_;
  const Options& options_;
  const std::string& p_;
  bool overflow_ = false;
  Sequences<std::string> rings_;
  Rows views_;
  Sequences<std::string> operands_;
  Rows windows_;
  std::map<std::string, Rows> params_;
  Sequences<std::string> weighted_ops_;
  Sequences<std::string> weight_copies_;
  Rows slow_weights_;
  Sequences<std::int64_t> bounds_;
  OpRows op_rows_;
  std::string moves_;
  std::string segments_;
  std::int64_t segment_count_ = 0;
  bool finds_repeated_ = true;
  std::size_t move_count_ = 0;
};

}  // namespace

Result<std::string> SourceText(const Program& program, const Origin& origin, const Extra& extra,
                               const Options& options) {
  return Writer(program, origin, extra, options).Text();
}

Result<Emitted> WriteNetwork(const Network& network, const Program& program, const Origin& origin,
                             const Options& options) {
  NEAP_TRY(const std::string tables, Writer(program, origin, {}, options).NetworkTables());
  NEAP_TRY(const std::string text, NetworkText(network, program, origin, options));
  std::set<std::string> functions = FunctionsOf(program);
  functions.insert("neap_plan_apply");
  const std::string body = NetworkHeader(network, program, options);
  return Emitted{
      FilesOf(HeaderAround(origin, options, body), tables + text, functions, program, options), 0,
      0};
}

std::string WeightsOf(const Program& program) {
  std::string bytes;
  for (const Constant& constant : program.constants) {
    if (!constant.weights) continue;
    const std::int64_t size = ElementBytes(constant);
    bytes.resize(static_cast<std::size_t>(StartOf(constant, std::ssize(bytes))));
    for (const std::int64_t value : constant.values) {
      for (std::int64_t byte = 0; byte < size; ++byte) {
        bytes += static_cast<char>(value >> 8 * byte);
      }
    }
  }
  return bytes;
}

}  // namespace neap::emit
