// Divides the targets of a causal profile among several processes.
#pragma once

#include <cstdint>
#include <functional>

#include "distributed/communicator.h"
#include "whatif/job/job.h"
#include "whatif/sweep.h"

namespace headroom {

/// Shares a sweep. The other processes wait for the leader during this object's lifetime.
class SweepSharing {
 public:
  /// Creates the job; returns null if this process cannot.
  using OpenJob = std::function<const Job*()>;

  /// `communicator` must outlive the object.
  explicit SweepSharing(Communicator& communicator) : communicator_(communicator) {}
  /// Releases the other processes if the leader does not sweep.
  ~SweepSharing();
  SweepSharing(const SweepSharing&) = delete;
  SweepSharing& operator=(const SweepSharing&) = delete;

  /// Announces a job, so that the other processes can create theirs. Call at most once, on the
  /// leader, before Lead().
  void Begin();
  /// Returns SweepTargets(), measured by all processes. Ignores processes with another job
  /// (TargetSweep::fingerprint()). Call at most once, on the leader. REQUIRES: Begin() was called.
  Sweep Lead(const Job& job);
  /// Measures the targets of this process, if it has a job. Call once, on the other processes.
  void Follow(const OpenJob& open);

 private:
  /// The call that the other processes wait for.
  enum class Stage : std::uint8_t { kBegin, kSweep, kNothing };

  Communicator& communicator_;
  Stage stage_ = Stage::kBegin;
};

}  // namespace headroom
