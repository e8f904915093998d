#include "cli/commands/baseline_command.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <utility>

#include "analysis/names/reference_data.h"
#include "answers/diff/baseline_json.h"
#include "answers/diff/baseline_list.h"
#include "answers/diff/render.h"
#include "base/atomic_file.h"
#include "base/local_state.h"
#include "cli/inputs/profile_run.h"
#include "cli/terminal/output.h"
#include "compare/baseline_file.h"
#include "compare/this_machine.h"
#include "render/number_format.h"

namespace headroom::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBaselineExamples = R"(Examples:
  headroom baseline save main trace.json.gz             a file of about 20 kB: commit it
  headroom baseline save main run1.json.gz run2.json.gz run3.json.gz --force
  headroom baseline list
  headroom diff main after.json.gz --gate 'step_ms<=+3%'

Exit codes: 0 fine; 2 usage, or the name exists; 3 a file is unreadable, not a trace, or has no
whole step; 4 cannot write, or internal error.
)";

constexpr std::size_t kRows = 24;  ///< Maximum rows of each table that a baseline keeps.

}  // namespace

BaselineCommand::BaselineCommand(Command parent) : folder_(kBaselineFolder) {
  command_ =
      parent.AddCommand("baseline", "Named profiles of a job to compare with", kBaselineExamples);
  command_.RequireCommand();
  save_ = command_.AddCommand("save", "Save the profile of one run or of repeated ones",
                              kBaselineExamples);
  save_.AddOption("NAME", name_, "Name of the baseline: letters, digits, '.', '_' and '-'")
      .Required()
      .TypeName("");
  save_.AddOption("TRACE", traces_, "Traces of one job: repeated runs, or their folder")
      .Required()
      .TypeName("");
  save_.AddFlag("--force", force_, "Replace the baseline of that name");
  save_.AddFlag("--here", here_,
                "The runs are from this machine in its current setup: also save its settings");
  AddJobFlags(save_, options_);
  save_.AddFlag("-q,--quiet", options_.quiet, "No remarks and no progress on stderr");
  list_ = command_.AddCommand("list", "List the baselines of the folder", kBaselineExamples);
  list_.AddFlag("--json", json_, "One JSON object, format headroom.baselines/1");
  for (const Command of : {save_, list_}) {
    of.AddOption("--dir", folder_, "Folder of baselines").ShowDefault().TypeName("DIR");
  }
}

namespace {

Status TakenName(const std::string& path) {
  return Status::Usage(
      fmt::format("{} already exists: replace it with --force, or choose another name", path));
}

}  // namespace

Status BaselineCommand::Run() { return save_.is_chosen() ? Save() : List(); }

Status BaselineCommand::Save() const {
  if (Status status = CheckBaselineName(name_); !status.ok()) return status;
  const std::string path = BaselinePath(folder_, name_);
  std::error_code error;
  if (!force_ && fs::exists(fs::symlink_status(path, error))) return TakenName(path);
  if (Status status = CheckStateFile(path); !status.ok()) return status;
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
  if (force_) {
    if (Status status = file.value().Commit(); !status.ok()) return status;
  } else {
    // Another process may have saved a baseline of that name in the meantime.
    const Result<bool> is_new = file.value().CommitNew();
    if (!is_new.ok()) return is_new.status();
    if (!is_new.value()) return TakenName(path);
  }
  if (!options_.quiet) {
    Remark(fmt::format("saved {}: {}, {} in {}; {}\n", Printable(path, CharsetOfEnvironment()),
                       MsText(profile.value().median_ms) + " per step",
                       Plural(profile.value().steps, "step"),
                       Plural(static_cast<std::int64_t>(profile.value().runs.size()), "run"),
                       FormatBytes(static_cast<double>(content.size()))));
  }
  return Status::Ok();
}

Status BaselineCommand::List() const {
  const Result<BaselineList> list = ListBaselines(folder_);
  if (!list.ok()) return list.status();
  return WriteResult(json_ ? RenderBaselinesJson(list.value())
                           : RenderBaselinesText(list.value(), StyleOfPage("")),
                     "");
}

}  // namespace headroom::cli
