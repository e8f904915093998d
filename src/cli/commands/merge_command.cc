#include "cli/commands/merge_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/flags/value_checks.h"
#include "cli/inputs/open_with_progress.h"
#include "cli/terminal/file_ending.h"
#include "cli/terminal/output.h"
#include "export/chrome_events.h"
#include "export/trace_file.h"
#include "ingest/open_trace.h"
#include "render/escape.h"
#include "render/number_format.h"
#include "store/carried_damage.h"
#include "store/software_version.h"

namespace headroom::cli {
namespace {

constexpr const char* kMergeExamples = R"(Examples:
  headroom merge traces/ -o job.json.gz              a folder, a file per rank
  headroom merge rank*.json.gz -o job.json           uncompressed

The file opens in the Perfetto viewer (ui.perfetto.dev) and in chrome://tracing. Clocks are aligned on
the collectives that ranks ran together (docs/report.md, "job_ranks"). Exit codes: 0 fine; 2 usage;
3 a file is unreadable or no trace; 4 cannot write, or internal error.
)";

std::string LabelOf(const RankTimeline& rank) {
  return fmt::format("rank {}{}{}", rank.rank.value_or(0), rank.host.empty() ? "" : " on ",
                     rank.host);
}

/// What all ranks have in common, which alone is true of the file.
class CommonSource {
 public:
  void Add(const TraceMetadata& metadata) {
    const TraceSource one(metadata);
    if (!all_) {
      all_ = one;
      return;
    }
    if (all_->recorded_as != one.recorded_as) all_->recorded_as.clear();
    all_->is_forecast = all_->is_forecast && one.is_forecast;
    all_->names_and_times_only = all_->names_and_times_only && one.names_and_times_only;
    std::erase_if(all_->versions, [&](const SoftwareVersion& row) {
      return std::find(one.versions.begin(), one.versions.end(), row) == one.versions.end();
    });
  }
  std::string Members() const { return all_ ? SourceMembers(*all_) : ""; }

 private:
  std::optional<TraceSource> all_;
};

/// A file that is given twice would count as two ranks where it does not tell its own.
Status RefuseTwice(const std::vector<std::string>& paths) {
  std::map<std::pair<dev_t, ino_t>, std::string_view> seen;
  for (const std::string& path : paths) {
    struct stat info {};
    if (stat(path.c_str(), &info) != 0) continue;
    const auto [first, is_new] = seen.emplace(std::pair(info.st_dev, info.st_ino), path);
    if (is_new) continue;
    const std::string same = path == first->second
                                 ? std::string("it is given twice")
                                 : fmt::format("that is the same file as {}", first->second);
    return Status::Usage(fmt::format("{}: {}; give one trace a rank", path, same));
  }
  return Status::Ok();
}

}  // namespace

MergeCommand::MergeCommand(Command parent) : threads_(DefaultThreads()) {
  command_ = parent.AddCommand("merge", "The files of a job's ranks as one trace, on one clock",
                               kMergeExamples);
  command_.AddOption("TRACE", traces_, "Files of the ranks, or their folder")
      .Required()
      .TypeName("");
  command_
      .AddOption("-o,--output", output_path_,
                 "Write to FILE, whole or not at all; compressed where it ends in .gz")
      .TypeName("FILE")
      .Check(NotEmpty())
      .Required();
  command_.AddOption("--threads", threads_, "Threads that read a file [all]")
      .TypeName("N")
      .Check(WholeNumber(1, 1024));
  command_.AddFlag("-q,--quiet", quiet_, "No remarks on stderr");
}

Result<MergeCommand::Job> MergeCommand::ReadRanks(const TraceFiles& files) const {
  Result<JobTraces> traces =
      ReadJobTraces(files, {.analysis = {}, .threads = threads_, .quiet = quiet_});
  if (!traces.ok()) return traces.status();
  Job job{std::move(traces).value()};
  if (job.ranks.ranks.size() < 2) {
    // All but one at most may be of ranks that the job does not have.
    return Status::Usage(
        fmt::format("merge needs the files of two ranks or more of one job; {}",
                    job.ranks.issues.empty() ? "there is one" : job.ranks.issues.front().detail));
  }
  for (std::size_t r = 0; r < job.ranks.ranks.size(); ++r) {
    const TimeNs first = job.firsts[r];
    const TimeNs shifted = first + ShiftAt(job, r, first);
    if (shifted < TimeNs(0)) job.lead = std::max(job.lead, TimeNs(0) - shifted);
  }
  return job;
}

DurationNs MergeCommand::ShiftAt(const Job& job, std::size_t rank, TimeNs own) {
  const RankClock& clock = job.ranks.alignment.clocks[rank];
  const std::size_t reference = job.ranks.alignment.clocks.front().root;
  const bool joined = clock.aligned && clock.root == reference;
  const DurationNs base = job.bases[rank], zero = job.bases[reference];
  if (joined) return clock.Aligned(own + base) - own - zero;
  // By the machines' own clocks, where both tell theirs; else from the same zero on. Ranks that are
  // aligned with each other go by the clock of one of them.
  const DurationNs root = clock.aligned ? job.bases[clock.root] : base;
  const TimeNs seen = clock.aligned ? clock.Aligned(own + base) : own + base;
  return seen - own - (root > DurationNs(0) && zero > DurationNs(0) ? zero : root);
}

Result<std::int64_t> MergeCommand::WriteRanks(const Job& job) const {
  const std::size_t reference = job.ranks.alignment.clocks.front().root;
  const DurationNs zero = job.bases[reference];
  Result<TraceFile> file = TraceFile::Create(
      output_path_,
      zero > DurationNs(0)
          ? fmt::format(R"("schemaVersion":1,"displayTimeUnit":"ms","baseTimeNanoseconds":{})",
                        (zero - job.lead).ns())
          : R"("schemaVersion":1,"displayTimeUnit":"ms")");
  if (!file.ok()) return file.status();
  UsedNumbers used;
  std::int64_t events = 0;
  std::vector<std::string> devices;
  ImportLog damage;
  CommonSource source;
  for (std::size_t r = 0; r < job.ranks.ranks.size(); ++r) {
    const RankTimeline& rank = job.ranks.ranks[r];
    OpenOptions options;
    options.threads = threads_;
    const Result<std::unique_ptr<TraceStore>> store = OpenTrace(rank.path, options);
    if (!store.ok()) return store.status();
    AddCarried(store.value()->log, damage);
    source.Add(store.value()->metadata);
    const EventPlacing placing = {
        .time = [&](TimeNs own) { return own + ShiftAt(job, r, own) + job.lead; },
        .label = LabelOf(rank),
        // Numbers that some viewers keep for themselves are below.
        .first_process = std::max<std::int64_t>(1, used.processes),
        .first_device = used.devices,
        .first_id = used.ids};
    for (std::string& row : DevicePropertiesOf(*store.value(), placing))
      devices.push_back(std::move(row));
    used = WriteChromeEvents(*store.value(), placing,
                             [&](std::string_view event) { file.value().Add(event); });
    events += used.events;
    // A full disk is not written to a thousand times.
    if (!file.value().status().ok()) return file.value().status();
  }
  const Status written =
      file.value().Commit(fmt::format("\"deviceProperties\":[{}]{}{}", fmt::join(devices, ",\n"),
                                      source.Members(), DamageMember(damage)));
  if (!written.ok()) return written;
  return events;
}

std::string MergeCommand::Summary(const Job& job, std::int64_t events) const {
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
    text += fmt::format("; clocks aligned within {}", FormatUs(uncertainty));
  } else if (alone.size() < job.ranks.ranks.size()) {
    text += fmt::format("; clocks of {} aligned within {}", job.ranks.ranks.size() - alone.size(),
                        FormatUs(uncertainty));
  }
  text += "\n";
  if (alone.size() == job.ranks.ranks.size()) {
    text +=
        "headroom: too few collectives of the ranks could be joined; each is placed by its own "
        "clock\n";
  } else if (!alone.empty()) {
    constexpr std::size_t kMaxShown = 8;
    const std::size_t shown = std::min(kMaxShown, alone.size());
    text += fmt::format(
        "headroom: rank {}{}: too few collectives could be joined with those of rank {}; placed by "
        "their own clocks\n",
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
  const Result<TraceFiles> files = FindTraceFiles(traces_);
  if (!files.ok()) return files.status();
  if (output_path_ == "-") return Status::Usage("-o -: a trace goes to a file; name it");
  if (Status status = RefuseToOverwrite("-o", output_path_, files.value().paths); !status.ok())
    return status;
  if (Status status = RefuseTwice(files.value().paths); !status.ok()) return status;
  const Result<Job> job = ReadRanks(files.value());
  if (!job.ok()) return job.status();
  const Result<std::int64_t> events = WriteRanks(job.value());
  if (!events.ok()) return events.status();
  if (!quiet_)
    Remark(RemarkOnTraceEnding(output_path_, TraceFormat::kChrome) +
           Summary(job.value(), events.value()));
  return Status::Ok();
}

}  // namespace headroom::cli
