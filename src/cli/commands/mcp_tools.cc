#include "cli/commands/mcp_tools.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/named_text.h"
#include "base/text.h"
#include "embedded/mcp_schema_files.h"

namespace headroom::cli {
namespace {

namespace fs = std::filesystem;
using json = nlohmann::ordered_json;

/// A command that is a tool. Add a row to offer another command.
struct Row {
  std::string_view command;
  std::string_view title;
  std::string_view description;         ///< Explains to the model when to call the tool, and what
                                        ///< it returns.
  std::vector<std::string_view> flags;  ///< Offered flags. A new flag is offered only if listed
                                        ///< here.
  /// Flags that select the text answer; empty for the command's default text.
  std::vector<std::string_view> text;
  bool fits_text = false;                     ///< True if the command has --max-bytes.
  std::vector<std::string_view> always = {};  ///< Flags of every call.
  /// Inputs that the tool requires, but the command does not.
  std::vector<std::string_view> required = {};
  /// Inputs of which each call requires at least one; empty: no such rule.
  std::vector<std::string_view> one_of = {};
};

const std::vector<Row>& Rows() {
  static const std::vector<Row> rows = {
      {.command = "report",
       .title = "Find what limits a training job",
       .description =
           "Reads a PyTorch-profiler trace or a recording: one file, several, or a folder with a "
           "file per rank. Reports where the time of a training step goes: verdict with evidence, "
           "breakdown of the step, findings with their savings, the largest kernels, operators and "
           "layers, and faults of the trace. Begin here.",
       .flags = {"--steps", "--step-marker", "--rank", "--top", "--show", "--measured-step-ms",
                 "--calibration", "--no-local-state"},
       .text = {"--md"},
       .fits_text = true},
      {.command = "whatif",
       .title = "Forecast a change",
       .description =
           "Replays a recorded training job with a change that has not been made yet, and "
           "forecasts the step with a range. Changes: mixed precision, a fused "
           "optimizer, no synchronizations, a faster GPU, ... Without a scenario, "
           "forecasts and ranks all that apply. `list` names scenarios and keys.",
       .flags = {"--list", "--explain", "--sweep", "--step-marker", "--steps", "--measured-step-ms",
                 "--calibration", "--no-local-state"},
       .text = {},
       .one_of = {"trace", "list"}},
      {.command = "predict",
       .title = "A step on another GPU",
       .description = "Predicts step time, memory, energy and cost of a recorded training job, or "
                      "of a list of "
                      "operators, on other GPUs, each with a range.",
       .flags = {"--ops",
                 "--kernels",
                 "--from",
                 "--to",
                 "--gpu",
                 "--gpu-file",
                 "--gpu-calibration",
                 "--with",
                 "--host-us-per-kernel",
                 "--host-factor",
                 "--memory-timeline",
                 "--batch-curve",
                 "--total-steps",
                 "--prices",
                 "--provider",
                 "--max-hours",
                 "--max-money",
                 "--region",
                 "--pue",
                 "--carbon",
                 "--step-marker",
                 "--steps",
                 "--measured-step-ms",
                 "--calibration",
                 "--no-local-state"},
       .text = {},
       .one_of = {"trace", "ops", "kernels"}},
      {.command = "scale",
       .title = "A step on more GPUs",
       .description =
           "Forecasts a recorded training job on other numbers of GPUs and machines: step time, "
           "throughput, efficiency, and what limits it.",
       .flags = {"--ops",
                 "--gpus",
                 "--bandwidth-gbps",
                 "--latency-us",
                 "--gpus-per-node",
                 "--cluster",
                 "--strong",
                 "--schedule",
                 "--exchange-every",
                 "--tensor-parallel",
                 "--pipeline-parallel",
                 "--micro-batches",
                 "--bucket-mb",
                 "--gradient-dtype",
                 "--no-overlap",
                 "--loader-samples-per-s",
                 "--with",
                 "--list",
                 "--gpu",
                 "--gpu-file",
                 "--gpu-calibration",
                 "--step-marker",
                 "--steps",
                 "--measured-step-ms",
                 "--calibration",
                 "--no-local-state"},
       .text = {},
       .one_of = {"trace", "ops", "list"}},
      {.command = "data",
       .title = "The input pipeline",
       .description =
           "Finds which stage of the data loader starves the loop, in a recording of headroom "
           "record. Forecasts changes of the loader (workers=8, prefetch=4, cached=50%, ...).",
       .flags = {"--loader"},
       .text = {},
       .required = {"trace"}},
      {.command = "diff",
       .title = "Compare two runs",
       .description = "Compares two runs of a training job: each a trace, a folder of repeated "
                      "runs or of ranks, or a baseline file. Reports the change of the step with "
                      "its interval and its parts. Lists kernels, operators and layers that "
                      "changed, appeared or disappeared. Also reports whether the runs are "
                      "comparable. After a change of the program, record again and call this tool.",
       .flags = {"--also-a", "--also-b", "--accept", "--step-marker", "--steps", "--top",
                 "--measured-step-ms", "--calibration", "--no-local-state"},
       .text = {"--md"},
       .fits_text = true},
      {.command = "query",
       .title = "SQL on the tables of a trace",
       .description = "Runs one SELECT of SQLite's SQL on a trace, for questions that no other "
                      "tool answers. `select name, sql from sqlite_master` lists tables, views and "
                      "columns; begin with the views kernels, operators, copies, launches. Times "
                      "are nanoseconds (start_ns, duration_ns). Returns at most 1000 rows (`cut` "
                      "says if it cut rows): aggregate, or use LIMIT and OFFSET.",
       .flags = {},
       .text = {},
       .always = {"--max-rows=1000"},
       .required = {"trace", "sql"}},
  };
  return rows;
}

/// Maximum length of a flag's value, in bytes.
constexpr std::size_t kLongestValue = 4096;

enum class Kind { kSwitch, kText, kWord, kInteger, kNumber, kPath, kNameOrPath };

/// One property of a tool's input.
struct Input {
  std::string property = {};  ///< Name of the property, such as "measured_step_ms".
  std::string flag = {};  ///< Flag, such as "--measured-step-ms"; empty for a positional argument.
  Kind kind = Kind::kText;
  bool is_list = false;
  /// A list for clients, so that `trace` has one type in every tool, but the command takes one.
  bool is_single = false;
  std::vector<std::string> words = {};
};

Kind KindOf(const FlagDescription& flag, bool by_position) {
  // A positional argument has no value name. Its own name shows that it is a trace.
  if (by_position) {
    const std::string& name = flag.names.front();
    return name == "TRACE" || name == "A" || name == "B" ? Kind::kPath : Kind::kText;
  }
  if (flag.value.empty()) return Kind::kSwitch;
  if (!flag.words.empty() && !flag.takes_others) return Kind::kWord;
  if (flag.value == "FILE" || flag.value == "DIR") return Kind::kPath;
  if (flag.value.ends_with("|FILE")) return Kind::kNameOrPath;
  if (flag.value == "N" || flag.value == "K") return Kind::kInteger;
  if (flag.value == "X" || flag.value == "F" || flag.value == "L") return Kind::kNumber;
  return Kind::kText;
}

Input InputOf(const FlagDescription& flag, bool by_position) {
  const std::string& name = flag.names.back();
  const bool is_trace = by_position && name == "TRACE";
  Input input{.kind = KindOf(flag, by_position),
              .is_list = flag.is_list || is_trace,
              .is_single = is_trace && !flag.is_list,
              .words = flag.words};
  if (!by_position) input.flag = name;
  input.property = LowerCase(by_position ? name : name.substr(2));
  std::replace(input.property.begin(), input.property.end(), '-', '_');
  return input;
}

json SchemaOf(const Input& input, const std::string& description) {
  json schema = {{"type", input.kind == Kind::kSwitch    ? "boolean"
                          : input.kind == Kind::kInteger ? "integer"
                          : input.kind == Kind::kNumber  ? "number"
                                                         : "string"}};
  if (input.kind == Kind::kWord) schema["enum"] = input.words;
  if (input.is_list) schema = {{"type", "array"}, {"items", schema}};
  if (input.is_single) schema["maxItems"] = 1;
  schema["description"] = description;
  return schema;
}

/// Returns one value as a word of the command line.
Result<std::string> WordOf(const Input& input, const json& value, const OpenFolders& folders) {
  std::string word;
  if (value.is_string()) {
    word = value.get<std::string>();
  } else if (value.is_number_integer()) {
    word = value.dump();
  } else if (value.is_number() && std::isfinite(value.get<double>())) {
    word = fmt::format("{}", value.get<double>());
  } else {
    return Status::Usage(fmt::format("{}: must be a string or a number", input.property));
  }
  if (word.size() > kLongestValue || word.find('\0') != std::string::npos)
    return Status::Usage(
        fmt::format("{}: must have at most {} bytes and no NUL", input.property, kLongestValue));
  std::error_code error;
  const bool is_path = input.kind == Kind::kPath ||
                       (input.kind == Kind::kNameOrPath &&
                        (word.find('/') != std::string::npos || folders.Resolve(word).ok()));
  return is_path ? folders.Resolve(word) : Result<std::string>(std::move(word));
}

Result<std::vector<std::string>> WordsOf(const Input& input, const json& value,
                                         const OpenFolders& folders) {
  std::vector<std::string> words;
  if (value.is_null()) return words;  // Null means not given.
  if (input.kind == Kind::kSwitch) {
    if (!value.is_boolean())
      return Status::Usage(fmt::format("{}: must be true or false", input.property));
    if (value.get<bool>()) words.push_back(input.flag);
    return words;
  }
  if (value.is_array() && (!input.is_list || (input.is_single && value.size() > 1)))
    return Status::Usage(fmt::format("{}: must be one value", input.property));
  for (const json& one : value.is_array() ? value : json::array({value})) {
    Result<std::string> word = WordOf(input, one, folders);
    if (!word.ok()) return word.status();
    words.push_back(input.flag.empty() ? std::move(word).value() : input.flag + "=" + word.value());
  }
  return words;
}

struct Prepared {
  std::vector<std::string> command;
  std::vector<std::string> quiet;
  std::vector<std::string> text;
  std::vector<Input> inputs;
  std::vector<std::string> required;
  /// Properties of which each call requires at least one; empty: no such rule.
  std::vector<std::string> one_of;
};

Result<mcp::ToolCall> Prepare(const Prepared& tool, const json& arguments,
                              const OpenFolders& folders) {
  mcp::ToolCall call;
  for (const auto& item : arguments.items()) {
    const std::string& key = item.key();
    const json& value = item.value();
    if (key == "select" && !value.is_null()) {
      if (!value.is_string()) return Status::Usage("select: must be a string");
      call.select = value.get<std::string>();
    } else if (key == "from" && !value.is_null()) {
      if (!value.is_number_unsigned()) return Status::Usage("from: must be the number of a row");
      call.from = value.get<std::size_t>();
    } else if (key != "select" && key != "from" &&
               std::none_of(tool.inputs.begin(), tool.inputs.end(),
                            [&](const Input& input) { return input.property == key; })) {
      std::vector<std::string_view> names = {"select", "from"};
      for (const Input& input : tool.inputs) names.push_back(input.property);
      return Status::Usage(fmt::format("{}: unknown argument; this tool takes {}",
                                       key.substr(0, 100), fmt::join(names, ", ")));
    }
  }
  const auto is_given = [&](const std::string& name) {
    const auto value = arguments.find(name);
    return value != arguments.end() && !value->is_null() && *value != false &&
           !(value->is_array() && value->empty());
  };
  for (const std::string& name : tool.required) {
    if (!is_given(name)) return Status::Usage(fmt::format("{}: this tool requires it", name));
  }
  if (!tool.one_of.empty() && std::none_of(tool.one_of.begin(), tool.one_of.end(), is_given))
    return Status::Usage(
        fmt::format("this tool requires one of: {}", fmt::join(tool.one_of, ", ")));
  std::vector<std::string> flags, positions;
  for (const Input& input : tool.inputs) {
    const auto value = arguments.find(input.property);
    if (value == arguments.end()) continue;
    Result<std::vector<std::string>> words = WordsOf(input, *value, folders);
    if (!words.ok()) return words.status();
    std::vector<std::string>& to = input.flag.empty() ? positions : flags;
    to.insert(to.end(), words.value().begin(), words.value().end());
  }
  // Positional words follow `--`, so that none is parsed as a flag.
  const auto line = [&](const std::vector<std::string>& form) {
    std::vector<std::string> words = tool.command;
    for (const std::vector<std::string>* part : {&tool.quiet, &form, &std::as_const(flags)})
      words.insert(words.end(), part->begin(), part->end());
    if (!positions.empty()) words.emplace_back("--");
    words.insert(words.end(), positions.begin(), positions.end());
    return words;
  };
  call.json = line({"--json"});
  call.text = line(tool.text);
  return call;
}

/// Returns a schema of the keys of a command's JSON, from docs/schema/. The server may cut any part
/// of an answer, so no key is required, and a part has the type that it has in the whole.
json OutputSchemaOf(std::string_view command) {
  json properties = {{"schema", {{"type", "string"}}}};
  for (const NamedText& file : McpSchemaFiles()) {
    if (fs::path(file.name).filename() != fmt::format("{}-1.json", command)) continue;
    const json whole = json::parse(file.content);
    for (const auto& item : whole.at("properties").items()) {
      json shown = json::object();
      for (const char* const key : {"type", "description"}) {
        if (item.value().contains(key)) shown[key] = item.value()[key];
      }
      // A selected part counts its rows under this name.
      if (item.key() == "rows") shown.erase("type");
      properties[item.key()] = std::move(shown);
    }
  }
  properties["left_out"] = {
      {"type", "array"},
      {"description", "Parts that were cut to fit: call again with `select` and `from`"}};
  return {{"type", "object"}, {"properties", std::move(properties)}};
}

mcp::Tool ToolOf(const Row& row, const CommandDescription& command, const OpenFolders& folders,
                 std::size_t max_bytes) {
  Prepared prepared;
  prepared.command = {command.name};
  prepared.text = {row.text.begin(), row.text.end()};
  prepared.one_of = {row.one_of.begin(), row.one_of.end()};
  prepared.command.insert(prepared.command.end(), row.always.begin(), row.always.end());
  // The server reserves at least a third of the answer for the text.
  if (row.fits_text) prepared.text.push_back(fmt::format("--max-bytes={}", max_bytes / 3));
  json properties = json::object(), required = json::array();
  const auto add = [&](const FlagDescription& flag, bool by_position) {
    Input input = InputOf(flag, by_position);
    properties[input.property] = SchemaOf(input, flag.description);
    const bool is_needed =
        std::find(row.required.begin(), row.required.end(), input.property) != row.required.end();
    if (flag.is_required || is_needed) {
      required.push_back(input.property);
      prepared.required.push_back(input.property);
    }
    prepared.inputs.push_back(std::move(input));
  };
  for (const FlagDescription& argument : command.arguments) add(argument, true);
  std::size_t offered = 0;
  for (const FlagDescription& flag : command.flags) {
    if (flag.names.back() == "--quiet") prepared.quiet = {"--quiet"};
    if (std::find(row.flags.begin(), row.flags.end(), flag.names.back()) == row.flags.end())
      continue;
    add(flag, false);
    ++offered;
  }
  assert(offered == row.flags.size() && "a row names a flag that its command does not have");
  properties["select"] = {{"type", "string"},
                          {"description",
                           "JSON pointer to a part of the answer, e.g. /kernels. Returns only that "
                           "part, e.g. one that `left_out` names"}};
  properties["from"] = {
      {"type", "integer"},
      {"minimum", 0},
      {"description", "With select of a list: the first row to return, counted from 0"}};
  json schema = {{"type", "object"}, {"properties", std::move(properties)}};
  if (!required.empty()) schema["required"] = std::move(required);
  schema["additionalProperties"] = false;
  return {.name = command.name,
          .title = std::string(row.title),
          .description = std::string(row.description),
          .input_schema = std::move(schema),
          .output_schema = OutputSchemaOf(row.command),
          .prepare = [prepared = std::move(prepared), folders](const json& arguments) {
            return Prepare(prepared, arguments, folders);
          }};
}

}  // namespace

Result<OpenFolders> OpenFolders::Make(const std::vector<std::string>& folders) {
  std::vector<fs::path> found;
  for (const std::string& folder : folders) {
    std::error_code error;
    fs::path canonical = fs::canonical(folder, error);
    if (!error && !fs::is_directory(canonical, error))
      error = std::make_error_code(std::errc::not_a_directory);
    if (error) return Status::Usage(fmt::format("--root {}: {}", folder, error.message()));
    found.push_back(std::move(canonical));
  }
  return OpenFolders(std::move(found));
}

bool OpenFolders::Holds(const fs::path& canonical) const {
  return std::any_of(folders_.begin(), folders_.end(), [&](const fs::path& folder) {
    return std::mismatch(folder.begin(), folder.end(), canonical.begin(), canonical.end()).first ==
           folder.end();
  });
}

Status OpenFolders::Outside(const std::string& path) const {
  return Status::Usage(
      fmt::format("{}: not below {}, the only folders whose files may be opened; headroom mcp "
                  "--root DIR adds a folder",
                  path, Names()));
}

Result<std::string> OpenFolders::Resolve(const std::string& path) const {
  std::error_code error;
  const fs::path whole = folders_.front() / path;  // An absolute path replaces the folder.
  const fs::path canonical = fs::canonical(whole, error);
  if (error) {
    // The error must not reveal whether a path outside the folders exists.
    std::error_code unknown;
    const fs::path place = fs::weakly_canonical(whole, unknown);
    return unknown || !Holds(place) ? Outside(path)
                                    : Status::Usage(fmt::format("{}: {}", path, error.message()));
  }
  if (!Holds(canonical)) return Outside(path);
  if (!fs::is_directory(canonical, error)) return canonical.string();
  for (fs::directory_iterator entry(canonical, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code unknown;
    if (!entry->is_symlink(unknown)) continue;
    const fs::path target = fs::canonical(entry->path(), unknown);
    if (!unknown && !Holds(target)) return Outside(entry->path().string());
  }
  return canonical.string();
}

std::string OpenFolders::Names() const {
  std::vector<std::string> names;
  for (const fs::path& folder : folders_) names.push_back(folder.string());
  return fmt::format("{}", fmt::join(names, ", "));
}

std::vector<mcp::Tool> ToolsOf(const std::vector<CommandDescription>& commands,
                               const OpenFolders& folders, std::size_t max_bytes) {
  std::vector<mcp::Tool> tools;
  for (const Row& row : Rows()) {
    const auto command =
        std::find_if(commands.begin(), commands.end(),
                     [&](const CommandDescription& one) { return one.name == row.command; });
    assert(command != commands.end() && "a row names a command that does not exist");
    tools.push_back(ToolOf(row, *command, folders, max_bytes));
  }
  return tools;
}

}  // namespace headroom::cli
