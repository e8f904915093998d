#include "cli/commands/merge_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/flags/value_checks.h"
#include "cli/inputs/job_traces.h"
#include "cli/inputs/open_with_progress.h"
#include "cli/terminal/file_ending.h"
#include "cli/terminal/output.h"
#include "render/escape.h"
#include "render/number_format.h"

namespace headroom::cli {
namespace {

constexpr const char* kMergeExamples = R"(Examples:
  headroom merge traces/ -o job.json.gz              a folder, a file per rank
  headroom merge rank*.json.gz -o job.json           uncompressed

The file opens in the Perfetto viewer (ui.perfetto.dev) and in chrome://tracing. Clocks are aligned on
the collectives that ranks ran together (docs/report.md, "job_ranks"). Exit codes: 0 fine; 2 usage;
3 a file is unreadable or not a trace; 4 cannot write, or internal error.
)";

/// Fails if a file is given twice: without a recorded rank it would count as two ranks.
Status RefuseTwice(const std::vector<std::string>& paths) {
  std::map<std::pair<dev_t, ino_t>, std::string_view> seen;
  for (const std::string& path : paths) {
    struct stat info {};
    if (stat(path.c_str(), &info) != 0) continue;
    const auto [first, is_new] = seen.emplace(std::pair(info.st_dev, info.st_ino), path);
    if (is_new) continue;
    const std::string same = path == first->second
                                 ? std::string("it was given twice")
                                 : fmt::format("it is the same file as {}", first->second);
    return Status::Usage(fmt::format("{}: {}; give one trace per rank", path, same));
  }
  return Status::Ok();
}

}  // namespace

MergeCommand::MergeCommand(Command parent) {
  command_ =
      parent.AddCommand("merge", "Merge the traces of all ranks, on one clock", kMergeExamples);
  command_.AddOption("TRACE", traces_, "Files of the ranks, or their folder")
      .Required()
      .TypeName("");
  command_
      .AddOption("-o,--output", output_path_,
                 "Write to FILE, whole or not at all; compressed if it ends in .gz")
      .TypeName("FILE")
      .Check(NotEmpty())
      .Required();
  AddOpenFlags(command_, open_);
  command_.AddFlag("-q,--quiet", quiet_, "No remarks on stderr");
}

Result<JobTraces> MergeCommand::ReadRanks(const TraceFiles& files) const {
  Result<JobTraces> traces = ReadJobTraces(files, {.analysis = {}, .open = open_, .quiet = quiet_});
  if (!traces.ok()) return traces.status();
  const JobRanks& job = traces.value().ranks;
  if (job.ranks.size() < 2) {
    // Files may have been dropped because their ranks are not ranks of the job; the issue says so.
    return Status::Usage(
        fmt::format("merge requires the files of at least two ranks of one job; {}",
                    job.issues.empty() ? "there is only one" : job.issues.front().detail));
  }
  return traces;
}

std::string MergeCommand::Summary(const JobTraces& job, std::int64_t events) const {
  const Alignment& alignment = job.ranks.alignment;
  std::vector<std::string> alone;
  DurationNs uncertainty;
  for (std::size_t r = 0; r < job.ranks.ranks.size(); ++r) {
    const RankClock& clock = alignment.clocks[r];
    if (clock.aligned && clock.root == alignment.clocks.front().root) {
      uncertainty = std::max(uncertainty, clock.uncertainty);
    } else {
      alone.push_back(fmt::format("{}", job.ranks.ranks[r].rank.value_or(0)));
    }
  }
  std::string text =
      fmt::format("wrote {}: {} ranks, {} events", Printable(output_path_, CharsetOfEnvironment()),
                  job.ranks.ranks.size(), FormatCount(events));
  if (alone.empty()) {
    text += fmt::format("; clocks aligned to within {}", FormatTime(uncertainty));
  } else if (alone.size() < job.ranks.ranks.size()) {
    text += fmt::format("; clocks of {} aligned to within {}",
                        job.ranks.ranks.size() - alone.size(), FormatTime(uncertainty));
  }
  text += "\n";
  if (alone.size() == job.ranks.ranks.size()) {
    text +=
        "headroom: too few collectives match between the ranks; each rank keeps its own clock\n";
  } else if (!alone.empty()) {
    constexpr std::size_t kMaxShown = 8;
    const std::size_t shown = std::min(kMaxShown, alone.size());
    text += fmt::format(
        "headroom: rank {}{}: too few collectives match those of rank {}; each of these ranks "
        "keeps its own clock\n",
        fmt::join(alone.begin(), alone.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
        alone.size() > shown ? fmt::format(" and {} more", alone.size() - shown) : "",
        job.ranks.ranks[alignment.clocks.front().root].rank.value_or(0));
  }
  for (const RankSetIssue& issue : job.ranks.issues) {
    const bool said =
        issue.issue == ImportIssue::kUnalignedRanks || issue.issue == ImportIssue::kSeparateRanks;
    if (!said)
      text += fmt::format("headroom: {}\n", Printable(issue.detail, CharsetOfEnvironment()));
  }
  return text;
}

Status MergeCommand::Run() {
  const Result<TraceFiles> files = FindJobFiles(traces_);
  if (!files.ok()) return files.status();
  if (output_path_ == "-") return Status::Usage("-o -: a trace cannot go to stdout; name a file");
  if (Status status = RefuseToOverwrite("-o", output_path_, files.value().paths); !status.ok())
    return status;
  if (Status status = RefuseTwice(files.value().paths); !status.ok()) return status;
  const Result<JobTraces> job = ReadRanks(files.value());
  if (!job.ok()) return job.status();
  const Result<std::int64_t> events = WriteMergedTrace(job.value(), output_path_, open_);
  if (!events.ok()) return events.status();
  if (!quiet_)
    Remark(RemarkOnTraceEnding(output_path_, TraceFormat::kChrome) +
           Summary(job.value(), events.value()));
  return Status::Ok();
}

}  // namespace headroom::cli
