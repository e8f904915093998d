#include "distributed/sweep_sharing.h"

#include <cassert>
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

constexpr const char* kGo = "go";

/// The targets of one process: every n-th target, for n processes.
struct Share {
  std::uint64_t job = 0;  ///< Fingerprint of the job.
  std::vector<std::pair<std::size_t, SweepTarget>> targets;

  template <typename Archive>
  void serialize(Archive& archive) {  // NOLINT(readability-identifier-naming): cereal's name.
    archive(job, targets);
  }
};

Share Measure(TargetSweep& sweep, const Communicator& communicator) {
  Share share{.job = sweep.fingerprint(), .targets = {}};
  for (auto i = static_cast<std::size_t>(communicator.process()); i < sweep.size();
       i += static_cast<std::size_t>(communicator.processes()))
    share.targets.emplace_back(i, sweep.Measure(i));
  return share;
}

}  // namespace

SweepSharing::~SweepSharing() {
  if (communicator_.leads() && stage_ != Stage::kNothing && std::uncaught_exceptions() == 0)
    communicator_.Broadcast({});
}

void SweepSharing::Begin() {
  communicator_.Broadcast(kGo);
  stage_ = Stage::kSweep;
}

Sweep SweepSharing::Lead(const Job& job) {
  assert(stage_ == Stage::kSweep && "Begin() was not called");
  TargetSweep sweep(job);
  stage_ = Stage::kNothing;
  communicator_.Broadcast(kGo);
  const std::uint64_t fingerprint = sweep.fingerprint();
  for (auto& [i, target] : Measure(sweep, communicator_).targets) sweep.Take(i, std::move(target));
  for (const std::string& bytes : communicator_.Gather({})) {
    if (bytes.empty()) continue;
    std::istringstream stream(bytes);
    Share share;
    cereal::BinaryInputArchive archive(stream);
    archive(share);
    if (share.job != fingerprint) continue;
    for (auto& [i, target] : share.targets) sweep.Take(i, std::move(target));
  }
  return sweep.Finish();
}

void SweepSharing::Follow(const OpenJob& open) {
  if (communicator_.Broadcast({}) != kGo) return;
  const Job* const job = open();
  if (communicator_.Broadcast({}) != kGo) return;
  std::ostringstream bytes;
  if (job != nullptr) {
    TargetSweep sweep(*job);
    cereal::BinaryOutputArchive archive(bytes);
    archive(Measure(sweep, communicator_));
  }
  communicator_.Gather(bytes.str());
}

}  // namespace headroom
