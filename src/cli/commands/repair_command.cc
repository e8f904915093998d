#include "cli/commands/repair_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "cli/flags/value_checks.h"
#include "cli/inputs/open_with_progress.h"
#include "cli/terminal/file_ending.h"
#include "cli/terminal/output.h"
#include "export/written_trace.h"
#include "render/json_writer.h"
#include "render/number_format.h"
#include "store/carried_damage.h"
#include "store/import_log.h"

namespace headroom::cli {
namespace {

constexpr const char* kRepairExamples = R"(Examples:
  headroom repair broken.json -o clean.json.gz        then open it with any tool
  headroom repair broken.json.gz -o clean.pftrace     in Perfetto's format
  headroom repair broken.json -o clean.json --json    what was repaired, for scripts

Lost data stays lost: the copy records the damage, and its report marks the same conclusions as
unreliable. A name that ends in .pftrace, .perfetto-trace or .pb (or those and .gz) selects
Perfetto's format; any other name selects Chrome's. Exit codes: 0 fine, also if there is nothing to
repair; 2 usage; 3 the file is unreadable or not a trace; 4 cannot write, or internal error.
)";

/// Issues of one kind that the reader found, with their number.
struct Met {
  ImportIssue issue;
  std::int64_t count;
  /// Its first occurrences; empty if the reader recorded no place and no detail.
  std::vector<const ImportLogRow*> places;
};

/// Returns the issues that `is_wanted` accepts, in the order of their declaration.
std::vector<Met> IssuesOf(const ImportLog& log, bool (*is_wanted)(ImportIssue)) {
  std::vector<Met> met;
  for (std::size_t i = 0; i < kImportIssueCount; ++i) {
    const auto issue = static_cast<ImportIssue>(i);
    if (log.Count(issue) == 0 || !is_wanted(issue)) continue;
    Met& one = met.emplace_back(Met{issue, log.Count(issue), {}});
    for (const ImportLogRow& row : log.rows()) {
      if (row.issue == issue && (row.offset >= 0 || !row.detail.empty()))
        one.places.push_back(&row);
    }
  }
  return met;
}

/// Returns true for damage that remains in the copy. Excludes notes (kInfo), which the copy also
/// keeps but the output does not list.
bool IsDamageOfCopies(ImportIssue issue) {
  return CarriesToCopies(issue) && DocOf(issue).severity != Severity::kInfo;
}

void AddLines(const std::vector<Met>& list, Charset charset, std::string& text) {
  constexpr std::size_t kShown = 3;
  for (const Met& met : list) {
    const ImportIssueDoc& doc = DocOf(met.issue);
    text += fmt::format("  {:>6} x {}: {}\n", FormatCount(met.count), doc.code, doc.sentence);
    for (std::size_t i = 0; i < std::min(met.places.size(), kShown); ++i) {
      const ImportLogRow& row = *met.places[i];
      const std::string detail = Printable(row.detail, charset);
      const std::string place =
          row.offset >= 0 ? fmt::format("at byte {}", FormatCount(row.offset)) : std::string();
      text += fmt::format("           {}{}{}\n", place, place.empty() || detail.empty() ? "" : ": ",
                          detail);
    }
    if (!doc.voids.empty()) {
      std::string voids(doc.voids);
      for (std::size_t at = voids.find(','); at != std::string::npos; at = voids.find(',', at + 2))
        voids.replace(at, 1, ", ");
      text += fmt::format("           unreliable: {}\n", voids);
    }
  }
}

void WriteList(const std::vector<Met>& list, JsonWriter& json) {
  json.BeginArray(JsonWriter::Layout::kLines);
  for (const Met& met : list) {
    const ImportIssueDoc& doc = DocOf(met.issue);
    json.BeginObject();
    json.Key("code").String(doc.code);
    json.Key("count").Integer(met.count);
    json.Key("what").String(doc.sentence);
    json.Key("voids").BeginArray();
    for (std::string_view rest = doc.voids; !rest.empty();) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      json.String(rest.substr(0, comma));
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
    json.EndArray();
    json.Key("places").BeginArray();
    for (const ImportLogRow* row : met.places) {
      json.BeginObject();
      json.Key("byte").Integer(row->offset >= 0 ? std::optional(row->offset) : std::nullopt);
      json.Key("detail").StringOrNull(row->detail);
      json.EndObject();
    }
    json.EndArray();
    json.EndObject();
  }
  json.EndArray();
}

}  // namespace

RepairCommand::RepairCommand(Command parent) {
  command_ =
      parent.AddCommand("repair", "Repair a damaged trace into a clean copy", kRepairExamples);
  command_.AddOption("TRACE", traces_, "A trace file, or a folder of them").Required().TypeName("");
  command_
      .AddOption("-o,--output", output_path_,
                 "Write to FILE, whole or not at all; compressed if it ends in .gz")
      .TypeName("FILE")
      .Check(NotEmpty())
      .Required();
  command_.AddOption("--rank", rank_, "This rank of a folder or of a merged file")
      .TypeName("R")
      .Check(WholeNumber(0, INT32_MAX));
  command_.AddFlag("--json", json_, "One JSON object, format headroom.repair/1");
  AddOpenFlags(command_, open_);
  command_.AddFlag("-q,--quiet", quiet_, "No list, and no remarks on stderr");
}

std::string RepairCommand::Text(const ChosenTrace& trace, std::int64_t events) const {
  const Charset charset = CharsetOfEnvironment();
  const ImportLog& log = trace.store->log;
  const std::vector<Met> mended = IssuesOf(log, IsMendedInCopies);
  const std::vector<Met> kept = IssuesOf(log, IsDamageOfCopies);
  std::string text;
  if (mended.empty() && kept.empty()) text += "Nothing to repair.\n";
  if (!mended.empty()) text += "Repaired\n";
  AddLines(mended, charset, text);
  if (!kept.empty()) text += "Not repairable; the copy has this damage, too\n";
  AddLines(kept, charset, text);
  text += fmt::format("Wrote {}: {}.\n", Printable(output_path_, charset), Plural(events, "event"));
  return text;
}

std::string RepairCommand::Json(const ChosenTrace& trace, std::int64_t events) const {
  const ImportLog& log = trace.store->log;
  JsonWriter json;
  json.BeginObject(JsonWriter::Layout::kLines);
  json.Key("schema").String("headroom.repair/1");
  json.Key("input").String(trace.path);
  json.Key("output").String(output_path_);
  json.Key("events").Integer(events);
  json.Key("mended");
  WriteList(IssuesOf(log, IsMendedInCopies), json);
  json.Key("remaining");
  WriteList(IssuesOf(log, IsDamageOfCopies), json);
  json.EndObject();
  return std::move(json).Take() + "\n";
}

Status RepairCommand::Run() {
  if (json_ && quiet_) return Status::Usage("choose one of --json and --quiet");
  const Result<TraceFiles> files = FindTraceFiles(traces_);
  if (!files.ok()) return files.status();
  if (output_path_ == "-") return Status::Usage("-o -: a trace cannot go to stdout; name a file");
  if (Status status = RefuseToOverwrite("-o", output_path_, files.value().paths); !status.ok())
    return status;
  const Result<ChosenTrace> trace = OpenChosenTrace(files.value(), rank_, open_, quiet_);
  if (!trace.ok()) return trace.status();
  const Result<std::int64_t> events =
      WriteTrace(*trace.value().store, FormatOfName(output_path_), output_path_, open_.expansion);
  if (!events.ok()) return events.status();
  if (quiet_) return Status::Ok();
  Remark(RemarkOnTraceEnding(output_path_, FormatOfName(output_path_)));
  return WriteResult(
      json_ ? Json(trace.value(), events.value()) : Text(trace.value(), events.value()), "");
}

}  // namespace headroom::cli
