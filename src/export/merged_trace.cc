#include "export/merged_trace.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "export/chrome_events.h"
#include "export/trace_file.h"
#include "export/written_size.h"
#include "ingest/open_trace.h"
#include "store/carried_damage.h"
#include "store/software_version.h"

namespace headroom {
namespace {

std::string LabelOf(const RankTimeline& rank) {
  return fmt::format("rank {}{}{}", rank.rank.value_or(0), rank.host.empty() ? "" : " on ",
                     rank.host);
}

/// Collects the properties that the sources of all ranks share, because only those hold for the
/// whole file.
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

/// Returns the time by which the file's zero precedes the reference's zero, so that no timestamp is
/// negative. Viewers drop negative timestamps.
DurationNs LeadOf(const JobTraces& job) {
  DurationNs lead;
  for (std::size_t r = 0; r < job.ranks.ranks.size(); ++r) {
    const TimeNs first = job.firsts[r];
    lead = std::max(lead, TimeNs(0) - (first + ShiftAt(job, r, first)));
  }
  return lead;
}

}  // namespace

DurationNs ShiftAt(const JobTraces& job, std::size_t rank, TimeNs own) {
  const RankClock& clock = job.ranks.alignment.clocks[rank];
  const std::size_t reference = job.ranks.alignment.clocks.front().root;
  const bool joined = clock.aligned && clock.root == reference;
  const DurationNs base = job.bases[rank], zero = job.bases[reference];
  if (joined) return clock.Aligned(own + base) - own - zero;
  // Uses the machines' own clocks if both traces record Unix time, and otherwise assumes that both
  // traces have the same zero. Ranks that are aligned with each other use the clock of one of them.
  const DurationNs root = clock.aligned ? job.bases[clock.root] : base;
  const TimeNs seen = clock.aligned ? clock.Aligned(own + base) : own + base;
  return seen - own - (root > DurationNs(0) && zero > DurationNs(0) ? zero : root);
}

Result<std::int64_t> WriteMergedTrace(const JobTraces& job, const std::string& path,
                                      const OpenOptions& options) {
  const std::size_t reference = job.ranks.alignment.clocks.front().root;
  const DurationNs zero = job.bases[reference], lead = LeadOf(job);
  Result<TraceFile> file = TraceFile::Create(
      path,
      zero > DurationNs(0)
          ? fmt::format(R"("schemaVersion":1,"displayTimeUnit":"ms","baseTimeNanoseconds":{})",
                        (zero - lead).ns())
          : R"("schemaVersion":1,"displayTimeUnit":"ms")");
  if (!file.ok()) return file.status();
  UsedNumbers used;
  std::int64_t events = 0;
  std::vector<std::string> devices;
  ImportLog damage;
  CommonSource source;
  for (std::size_t r = 0; r < job.ranks.ranks.size(); ++r) {
    const RankTimeline& rank = job.ranks.ranks[r];
    const Result<std::unique_ptr<TraceStore>> store = OpenTrace(rank.path, options);
    if (!store.ok()) return store.status();
    if (Status status = CheckWrittenTexts(*store.value(), path, options.expansion); !status.ok())
      return status;
    AddCarried(store.value()->log, damage);
    source.Add(store.value()->metadata);
    const EventPlacing placing = {
        .time = [&](TimeNs own) { return own + ShiftAt(job, r, own) + lead; },
        .label = LabelOf(rank),
        // Some viewers reserve lower numbers.
        .first_process = std::max<std::int64_t>(1, used.processes),
        .first_device = used.devices,
        .first_id = used.ids};
    for (std::string& row : DevicePropertiesOf(*store.value(), placing))
      devices.push_back(std::move(row));
    used = WriteChromeEvents(*store.value(), placing,
                             [&](std::string_view event) { file.value().Add(event); });
    events += used.events;
    // Stops at the first failure, e.g. a full disk, instead of trying every rank.
    if (!file.value().status().ok()) return file.value().status();
  }
  const Status written =
      file.value().Commit(fmt::format("\"deviceProperties\":[{}]{}{}", fmt::join(devices, ",\n"),
                                      source.Members(), DamageMember(damage)));
  if (!written.ok()) return written;
  return events;
}

}  // namespace headroom
