#include "distributed/sweep_sharing.h"

#include <cereal/archives/binary.hpp>
#include <cereal/types/array.hpp>
#include <cereal/types/optional.hpp>
#include <cereal/types/string.hpp>
#include <cereal/types/utility.hpp>
#include <cereal/types/vector.hpp>
#include <cstddef>
#include <exception>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace headroom {

template <typename Archive>
void serialize(Archive& archive, SweepTarget& row) {  // NOLINT(readability-identifier-naming)
  auto& [kind, name, time_ms, step_ms, saves_ms, saves_at_most_ms, knee_factor, replays] = row;
  archive(kind, name, time_ms, step_ms, saves_ms, saves_at_most_ms, knee_factor, replays);
}

namespace {

constexpr const char* kSweep = "sweep";

/// Of all targets, every so many-th.
struct Share {
  double step_ns = 0;  ///< Of the job as it is: tells another job.
  std::vector<std::pair<std::size_t, SweepTarget>> targets;

  template <typename Archive>
  void serialize(Archive& archive) {  // NOLINT(readability-identifier-naming): cereal's name.
    archive(step_ns, targets);
  }
};

Share Measure(TargetSweep& sweep, const Team& team) {
  Share share{.step_ns = sweep.step_ns(), .targets = {}};
  for (auto i = static_cast<std::size_t>(team.process()); i < sweep.size();
       i += static_cast<std::size_t>(team.processes()))
    share.targets.emplace_back(i, sweep.Measure(i));
  return share;
}

}  // namespace

SweepSharing::~SweepSharing() {
  if (team_.leads() && !done_ && std::uncaught_exceptions() == 0) team_.Broadcast({});
}

Sweep SweepSharing::Lead(const Job& job) {
  done_ = true;
  team_.Broadcast(kSweep);
  TargetSweep sweep(job);
  for (auto& [i, target] : Measure(sweep, team_).targets) sweep.Take(i, std::move(target));
  for (const std::string& bytes : team_.Gather({})) {
    if (bytes.empty()) continue;
    std::istringstream stream(bytes);
    Share share;
    cereal::BinaryInputArchive archive(stream);
    archive(share);
    if (share.step_ns != sweep.step_ns()) continue;
    for (auto& [i, target] : share.targets) {
      if (i < sweep.size()) sweep.Take(i, std::move(target));
    }
  }
  return sweep.Finish();
}

void SweepSharing::Follow(const Job* job) {
  if (team_.Broadcast({}) != kSweep) return;
  std::ostringstream bytes;
  if (job != nullptr) {
    TargetSweep sweep(*job);
    cereal::BinaryOutputArchive archive(bytes);
    archive(Measure(sweep, team_));
  }
  team_.Gather(bytes.str());
}

}  // namespace headroom
