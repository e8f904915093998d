// A causal profile: the step time with each named part of the work 1.1, 1.25, 1.5, 2, 4 times or
// infinitely fast. Also finds the part to make faster next.
//
// Source of the idea: virtual speed-ups (Curtsinger and Berger, "Coz", SOSP 2015). The step time is
// the longest cycle of the graph, and each cycle is a sum of times. The step is therefore a convex,
// piecewise linear function of a part's time. The first percent of a part gains most. Another part
// becomes critical where the slope falls.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "whatif/job/job.h"

namespace headroom {

/// Kind of a part of the work.
enum class TargetKind : std::uint8_t {
  kKernels,       ///< GPU tasks of a family of kernels.
  kLayer,         ///< GPU tasks of a layer.
  kOperator,      ///< GPU tasks of an operator.
  kHostPhase,     ///< Host work and calls of a phase of the step.
  kHostOperator,  ///< Host work and calls of an operator.
  kSync,          ///< Waits for the GPU, by the call that waits: kept or removed, nothing between.
};

/// Returns "kernels", "layer", "operator", "host phase", "host operator" or "sync".
std::string_view Name(TargetKind kind);

inline constexpr std::array<double, 6> kSweepFactors = {
    1.1, 1.25, 1.5, 2, 4, std::numeric_limits<double>::infinity()};

struct SweepTarget {
  TargetKind kind = TargetKind::kKernels;
  std::string name;
  std::optional<double> time_ms = {};  ///< Time per step on the host or the GPU; nullopt for waits.
  /// Step time by factor; nullopt if the factor does not apply.
  std::array<std::optional<double>, kSweepFactors.size()> step_ms{};
  double saves_ms = 0;          ///< Savings with the part twice as fast, or the wait removed.
  double saves_at_most_ms = 0;  ///< Savings with the part infinitely fast.
  /// Beyond this factor, the gain is less than half as steep as at first, because something else
  /// becomes critical. nullopt if the slope never falls so far, or if there is no gain.
  std::optional<double> knee_factor = {};
  std::int64_t replays = 0;  ///< Number of replays used.
};

/// A fix in a chain of fixes. Each fix is the best after the fixes before it.
struct NextFix {
  TargetKind kind = TargetKind::kKernels;
  std::string name;
  double step_ms = 0;   ///< Step time with this fix and all fixes before it.
  double saves_ms = 0;  ///< Savings of this fix alone.
};

struct Sweep {
  double step_ms = 0;                ///< Step time of the unchanged job, without profiler overhead.
  std::vector<SweepTarget> targets;  ///< Sorted by savings when twice as fast.
  std::vector<NextFix> next;
  std::int64_t replays = 0;
};

/// Sweeps the targets of the corrected plan, with the longest layers and operators. Targets of
/// kernels and of host work can be measured one at a time, in any order, also in other processes.
class TargetSweep {
 public:
  /// `job` must outlive the object.
  explicit TargetSweep(const Job& job);
  ~TargetSweep();

  /// Hash of everything that is replayed. Equal for the same job with the same calibration.
  std::uint64_t fingerprint() const;
  /// Number of targets to measure.
  std::size_t size() const;
  /// Replays target `i` < size(). The result for a job is the same on every machine.
  SweepTarget Measure(std::size_t i);
  /// Takes the result of Measure(i), from this or another process.
  void Take(std::size_t i, SweepTarget measured);
  /// Measures the targets that were not taken, the waits, and the chain of fixes. REQUIRES: called
  /// once.
  Sweep Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Runs the whole sweep in this process.
Sweep SweepTargets(const Job& job);

}  // namespace headroom
