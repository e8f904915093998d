// A causal profile: how long a step takes were one part of the work 1.1, 1.25, 1.5, 2, 4 times or
// infinitely fast, for every part that has a name; and which part to make faster next.
//
// Source of the idea: virtual speed-ups (Curtsinger and Berger, "Coz", SOSP 2015). A step is the
// longest cycle of the graph, each a sum of times, so as a function of a part's time it is convex
// and made of straight lines: a part gains most with its first percent, and where the slope falls
// another part has become critical.
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

/// What a part of the work is chosen by.
enum class TargetKind : std::uint8_t {
  kKernels,       ///< GPU tasks of a family of kernels.
  kLayer,         ///< GPU tasks of a layer.
  kOperator,      ///< GPU tasks of an operator.
  kHostPhase,     ///< Host work and calls of a phase of the step.
  kHostOperator,  ///< Host work and calls of an operator.
  kSync,          ///< Waits for the GPU, by the call that waits: there or gone, nothing between.
};

/// "kernels", "layer", "operator", "host phase", "host operator", "sync".
std::string_view Name(TargetKind kind);

inline constexpr std::array<double, 6> kSweepFactors = {
    1.1, 1.25, 1.5, 2, 4, std::numeric_limits<double>::infinity()};

struct SweepTarget {
  TargetKind kind = TargetKind::kKernels;
  std::string name;
  std::optional<double> time_ms = {};  ///< Of a step, on its own side; of waits not known.
  /// Step by factor; none: does not apply.
  std::array<std::optional<double>, kSweepFactors.size()> step_ms{};
  double saves_ms = 0;          ///< Twice as fast; waits: gone.
  double saves_at_most_ms = 0;  ///< Infinitely fast.
  /// Beyond this factor a further gain is less than half as steep as the first: something else
  /// has become critical. None: as steep all the way, or no gain at all.
  std::optional<double> knee_factor = {};
  std::int64_t replays = 0;  ///< That it took.
};

/// One of a chain of fixes, each the best after those before it.
struct NextFix {
  TargetKind kind = TargetKind::kKernels;
  std::string name;
  double step_ms = 0;   ///< With this one and all before it twice as fast.
  double saves_ms = 0;  ///< Of that, by this one.
};

struct Sweep {
  double step_ms = 0;                ///< Of the job as it is, without its profiler.
  std::vector<SweepTarget> targets;  ///< By what they save twice as fast.
  std::vector<NextFix> next;
  std::int64_t replays = 0;
};

/// Of the corrected plan. Of layers and operators, those with most time. The targets of kernels and
/// of the host's work can be measured one by one, in any order, also elsewhere.
class TargetSweep {
 public:
  /// `job` must outlive the object.
  explicit TargetSweep(const Job& job);
  ~TargetSweep();

  /// Of all that is replayed: equal for the same job with the same calibration.
  std::uint64_t fingerprint() const;
  /// Targets to measure.
  std::size_t size() const;
  /// Replays what target `i` < size() is measured by; the same on every machine for the same job.
  SweepTarget Measure(std::size_t i);
  /// Takes what Measure(i) gave, here or elsewhere.
  void Take(std::size_t i, SweepTarget measured);
  /// Measures what was not taken, the waits, and the chain of fixes. To be called once.
  Sweep Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// All of it, here.
Sweep SweepTargets(const Job& job);

}  // namespace headroom
