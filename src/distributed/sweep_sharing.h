// A causal profile whose targets several processes measure, each its share.
#pragma once

#include <cstdint>
#include <functional>

#include "distributed/communicator.h"
#include "whatif/job/job.h"
#include "whatif/sweep.h"

namespace headroom {

/// While it lives, the other processes wait for its word.
class SweepSharing {
 public:
  /// Makes the job; null where it cannot be made here.
  using OpenJob = std::function<const Job*()>;

  /// `communicator` must outlive the object.
  explicit SweepSharing(Communicator& communicator) : communicator_(communicator) {}
  /// A leader that does not sweep lets the others go.
  ~SweepSharing();
  SweepSharing(const SweepSharing&) = delete;
  SweepSharing& operator=(const SweepSharing&) = delete;

  /// On the leader, at most once, before Lead(): there will be a job, so others may make theirs.
  void Begin();
  /// On the leader, at most once: SweepTargets(), with the help of the others. A process whose job
  /// is another (TargetSweep::fingerprint()) is no help. REQUIRES: Begin() was called.
  Sweep Lead(const Job& job);
  /// On the others, once. One that has no job is no help, either.
  void Follow(const OpenJob& open);

 private:
  /// What the others wait for.
  enum class Stage : std::uint8_t { kBegin, kSweep, kNothing };

  Communicator& communicator_;
  Stage stage_ = Stage::kBegin;
};

}  // namespace headroom
