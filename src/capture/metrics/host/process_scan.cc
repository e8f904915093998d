#include "capture/metrics/host/process_scan.h"

#include <algorithm>

#include "capture/metrics/board/clock.h"

namespace headroom {
namespace {

constexpr double kNotablePercent = 25;
constexpr std::size_t kMaxUsers = 5;
constexpr double kShortestInterval = 0.05;  ///< Seconds; several kernel ticks.

}  // namespace

void ProcessScan::Read(SampleRun& run) {
  const double since = Seconds(run.now - last_at_);
  const bool due = last_.empty() || pace_.Due(run.now) || run.edge;
  if (due && (last_.empty() || since >= kShortestInterval)) {
    const TimeNs begin = MonotonicNow();
    const std::vector<ScannedProcess> scan = ScanProcesses(root_, run.buffer);
    if (tree_ != nullptr) tree_->Adopt(scan);
    users_.clear();
    std::map<std::int64_t, Seen> now;
    for (const ScannedProcess& process : scan) {
      now[process.pid] = {.start_ticks = process.start_ticks, .cpu_ticks = process.cpu_ticks};
      if (tree_ != nullptr && tree_->Contains(process.pid)) continue;
      const auto last = last_.find(process.pid);
      if (last == last_.end() || last->second.start_ticks != process.start_ticks ||
          process.cpu_ticks < last->second.cpu_ticks) {
        continue;
      }
      const double seconds =
          static_cast<double>(process.cpu_ticks - last->second.cpu_ticks) / ticks_per_second_;
      const double percent = 100 * seconds / since;
      if (percent >= kNotablePercent)
        users_.push_back(
            {.resource = "CPU", .pid = process.pid, .name = process.name, .value = percent});
    }
    std::stable_sort(users_.begin(), users_.end(),
                     [](const auto& a, const auto& b) { return a.value > b.value; });
    if (users_.size() > kMaxUsers) users_.resize(kMaxUsers);
    last_ = std::move(now);
    last_at_ = run.now;
    pace_.Took(begin, MonotonicNow());
  }
  std::vector<ResourceUser>& users = run.board.users();
  users.insert(users.end(), users_.begin(), users_.end());
}

}  // namespace headroom
