#include "cli/commands/baseline_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "analysis/names/reference_data.h"
#include "answers/diff/baseline_json.h"
#include "answers/diff/render.h"
#include "base/atomic_file.h"
#include "cli/inputs/profile_run.h"
#include "cli/terminal/output.h"
#include "compare/baseline_file.h"
#include "compare/this_machine.h"
#include "render/json_writer.h"
#include "render/number_format.h"
#include "render/text_page.h"

namespace headroom::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBaselineExamples = R"(Examples:
  headroom baseline save main trace.json.gz             a file of some 20 kB: commit it
  headroom baseline save main run1.json.gz run2.json.gz run3.json.gz --force
  headroom baseline list
  headroom diff main after.json.gz --gate 'step_ms<=+3%'

Exit codes: 0 fine; 2 usage, a name that is taken included; 3 a file is unreadable, no trace, or has
no whole step; 4 cannot write, or internal error.
)";

constexpr std::size_t kRows = 24;  ///< Of each table of a baseline.

/// A file of the folder, and what is wrong with it, if anything.
struct Listed {
  std::string file;
  JobProfile profile;
  std::string problem;
};

Result<std::vector<Listed>> ReadFolder(const std::string& folder) {
  std::error_code error;
  std::vector<Listed> listed;
  if (!fs::exists(folder, error)) return listed;
  fs::directory_iterator entries(folder, error);
  if (error) return Status::BadInput(fmt::format("{}: cannot read: {}", folder, error.message()));
  for (const auto& entry : entries) {
    if (entry.path().extension() != ".json") continue;
    Listed& row = listed.emplace_back();
    row.file = entry.path().filename().string();
    Result<std::optional<JobProfile>> profile = FindBaseline(entry.path().string(), folder);
    if (!profile.ok()) {
      row.problem = "not a baseline that can be read";
    } else if (!profile.value()) {
      row.problem = "not a baseline";
    } else {
      row.profile = std::move(*profile.value());
    }
  }
  std::sort(listed.begin(), listed.end(),
            [](const Listed& x, const Listed& y) { return x.file < y.file; });
  return listed;
}

}  // namespace

BaselineCommand::BaselineCommand(Command parent) : folder_(kBaselineFolder) {
  command_ = parent.AddCommand("baseline", "Profiles of a job under a name, for headroom diff",
                               kBaselineExamples);
  command_.RequireCommand();
  save_ = command_.AddCommand("save", "Save the profile of one run or of repeated ones",
                              kBaselineExamples);
  save_.AddOption("NAME", name_, "Of the baseline: letters, digits, '.', '_' and '-'")
      .Required()
      .TypeName("");
  save_.AddOption("TRACE", traces_, "Traces of one job: repeated runs, or their folder")
      .Required()
      .TypeName("");
  save_.AddFlag("--force", force_, "Replace the baseline of that name");
  save_.AddFlag("--here", here_,
                "The runs are of this machine as it is set up now: save its settings, too");
  AddJobFlags(save_, options_);
  save_.AddFlag("-q,--quiet", options_.quiet, "No remarks and no progress on stderr");
  list_ = command_.AddCommand("list", "The baselines of the folder", kBaselineExamples);
  list_.AddFlag("--json", json_, "One JSON object, format headroom.baselines/1");
  for (const Command of : {save_, list_}) {
    of.AddOption("--dir", folder_, "Folder of baselines").ShowDefault().TypeName("DIR");
  }
}

Status BaselineCommand::Run() { return save_.is_chosen() ? Save() : List(); }

Status BaselineCommand::Save() const {
  if (Status status = CheckBaselineName(name_); !status.ok()) return status;
  const std::string path = BaselinePath(folder_, name_);
  std::error_code error;
  const auto refuse_taken = [&] {
    if (force_ || !fs::exists(fs::symlink_status(path, error))) return Status::Ok();
    return Status::Usage(
        fmt::format("{} is there already: --force replaces it, another name keeps both", path));
  };
  if (Status status = refuse_taken(); !status.ok()) return status;
  if (Status status = RefuseToOverwrite("NAME", path, traces_); !status.ok()) return status;
  const Result<std::unique_ptr<ReferenceData>> reference = ReferenceData::LoadBuiltIn();
  if (!reference.ok()) return reference.status();
  Result<JobProfile> profile = ProfileTraces(traces_, *reference.value(), options_);
  if (!profile.ok()) return profile.status();
  if (here_) {
    for (ProfileFact& fact : FactsOfThisMachine()) profile.value().facts.push_back(std::move(fact));
  }
  KeepLargest(kRows, profile.value());
  const std::string content = RenderBaseline(name_, profile.value());
  fs::create_directories(folder_, error);
  if (error)
    return Status::Environment(
        fmt::format("{}: cannot make the folder: {}", folder_, error.message()));
  Result<AtomicFile> file = AtomicFile::Write(path, content);
  if (!file.ok()) return file.status();
  if (Status status = file.value().Commit(); !status.ok()) return status;
  if (!options_.quiet) {
    Remark(fmt::format("saved {}: {}, {} in {}; {}\n", Printable(path, CharsetOfEnvironment()),
                       MsText(profile.value().median_ms) + " a step",
                       Plural(profile.value().steps, "step"),
                       Plural(static_cast<std::int64_t>(profile.value().runs.size()), "run"),
                       FormatBytes(static_cast<double>(content.size()))));
  }
  return Status::Ok();
}

Status BaselineCommand::List() const {
  const Result<std::vector<Listed>> listed = ReadFolder(folder_);
  if (!listed.ok()) return listed.status();
  if (json_) {
    JsonWriter json;
    json.BeginObject(JsonWriter::Layout::kLines);
    json.Key("schema").String("headroom.baselines/1");
    json.Key("folder").String(folder_);
    json.Key("baselines").BeginArray(JsonWriter::Layout::kLines);
    for (const Listed& row : listed.value()) {
      json.BeginObject();
      json.Key("file").String(row.file);
      json.Key("problem").StringOrNull(row.problem);
      const bool fine = row.problem.empty();
      json.Key("name").StringOrNull(row.profile.baseline);
      json.Key("step_ms").Number(fine ? std::optional(row.profile.median_ms) : std::nullopt);
      json.Key("steps").Integer(fine ? std::optional(row.profile.steps) : std::nullopt);
      json.Key("runs").Integer(
          fine ? std::optional(static_cast<std::int64_t>(row.profile.runs.size())) : std::nullopt);
      json.Key("verdict").StringOrNull(row.profile.verdict);
      json.Key("gpu").StringOrNull(FactOf(row.profile, "gpu"));
      json.EndObject();
    }
    json.EndArray();
    json.EndObject();
    return WriteResult(std::move(json).Take() + "\n", "");
  }
  TextPage page(UseColor(ColorMode::kAuto, ""), CharsetOfEnvironment());
  page.Heading("Baselines", Printable(folder_, CharsetOfEnvironment()), Style::kDim);
  std::vector<std::vector<Span>> rows;
  for (const Listed& row : listed.value()) {
    if (!row.problem.empty()) {
      rows.push_back({{row.file}, {""}, {""}, {""}, {row.problem, Style::kWarning}, {""}});
      continue;
    }
    rows.push_back({{fs::path(row.file).stem().string()},
                    {MsText(row.profile.median_ms)},
                    {fmt::format("{}", row.profile.steps)},
                    {fmt::format("{}", row.profile.runs.size())},
                    {row.profile.verdict},
                    {std::string(FactOf(row.profile, "gpu"))}});
  }
  using Kind = TextColumn::Kind;
  if (rows.empty()) {
    page.Paragraph("  ", "There is none; headroom baseline save NAME TRACE... saves one.");
  } else {
    page.Table({{"name", Kind::kName},
                {"step"},
                {"steps"},
                {"runs"},
                {"verdict", Kind::kText},
                {"GPU", Kind::kName}},
               rows);
  }
  return WriteResult(std::move(page).Take(), "");
}

}  // namespace headroom::cli
