// A causal profile whose targets all processes of a team measure, each its share.
#pragma once

#include "distributed/team.h"
#include "whatif/job.h"
#include "whatif/sweep.h"

namespace headroom {

/// While it lives, the others of the team wait for its word.
class SweepSharing {
 public:
  /// `team` must outlive the object.
  explicit SweepSharing(Team& team) : team_(team) {}
  /// A leader that did not sweep lets the others go.
  ~SweepSharing();
  SweepSharing(const SweepSharing&) = delete;
  SweepSharing& operator=(const SweepSharing&) = delete;

  /// On the leader, at most once: SweepTargets(), with the others' help. A process whose job is
  /// another (it has another calibration of the machine) is no help.
  Sweep Lead(const Job& job);
  /// On the others, once. `job`: null where there is none here, which is no help either.
  void Follow(const Job* job);

 private:
  Team& team_;
  bool done_ = false;
};

}  // namespace headroom
