// Selects the recorded part of a run: --steps.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/time.h"

namespace headroom {

/// Window of recorded steps, by number: from the start of `first` to the end of `last`.
struct RecordedSteps {
  std::int64_t first = 0, last = 0;
};

/// Selects the recorded time of one process from its steps and the step window. The same time
/// applies to all its threads.
class StepGate {
 public:
  explicit StepGate(std::optional<RecordedSteps> window) : window_(window) {}

  /// Reports that a step began.
  /// @param seen  time at which the recorder saw it
  void SawStep(std::int64_t number, std::uint64_t ticks, TimeNs seen = TimeNs()) {
    if (!window_) return;
    latest_ = number;
    if (!first_seen_) first_seen_ = Seen{number, seen};
    latest_seen_ = seen;
    if (number >= window_->first && number <= window_->last) {
      from_ = std::min(from_, ticks);
    } else if (number > window_->last && from_ != UINT64_MAX) {
      to_ = std::min(to_, ticks);
    }
  }
  bool IsLast(std::int64_t number) const { return window_ && number == window_->last; }
  /// Reports that the last wanted step ended.
  void SawEnd(std::uint64_t ticks) {
    to_ = std::min(to_, ticks + 1);  // Includes the end itself.
    ended_ = true;
  }
  /// Returns true if events at `ticks` are wanted.
  bool Open(std::uint64_t ticks) const { return !window_ || (ticks >= from_ && ticks < to_); }
  bool Before(std::uint64_t ticks) const { return window_ && ticks < from_; }
  bool Over(std::uint64_t ticks) const { return window_ && ticks >= to_; }
  /// Returns the end of the wanted steps in ticks; nullopt if they have not ended.
  std::optional<std::uint64_t> end() const {
    return to_ != UINT64_MAX ? std::optional(to_) : std::nullopt;
  }
  bool limited() const { return window_.has_value(); }
  /// Returns true if a window is set but none of its steps has begun.
  bool missed() const { return window_ && from_ == UINT64_MAX; }
  std::optional<std::int64_t> latest() const { return latest_; }
  /// Returns true while producers that react with a delay, such as CUPTI, should record. Starts at
  /// least one step and kLead before the window. What they record too early is left out.
  bool Near() const {
    if (!window_) return true;
    if (ended_) return false;
    if (!latest_) return window_->first <= kLeadWithoutSteps;
    return *latest_ + LeadSteps() >= window_->first && *latest_ <= window_->last;
  }

 private:
  /// Time that a producer may need to begin: the recorder's and the producer's polls, and the first
  /// switch-on of CUPTI's kinds, which takes 50 ms.
  static constexpr DurationNs kLead{250'000'000};
  /// Steps before the window at which a producer begins if no step was seen yet: a program's first
  /// steps take kLead together, or its window begins late enough.
  static constexpr std::int64_t kLeadWithoutSteps = 50;

  struct Seen {
    std::int64_t number;
    TimeNs time;
  };

  /// Returns the number of steps that take kLead, by the mean since the first; at least 1.
  std::int64_t LeadSteps() const {
    const std::int64_t steps = *latest_ - first_seen_->number;
    const std::int64_t took = (latest_seen_ - first_seen_->time).ns();
    if (steps <= 0 || took <= 0) return kLeadWithoutSteps;
    return 1 + static_cast<std::int64_t>(static_cast<double>(kLead.ns()) *
                                         static_cast<double>(steps) / static_cast<double>(took));
  }

  std::optional<RecordedSteps> window_;
  std::optional<Seen> first_seen_;
  TimeNs latest_seen_;
  std::optional<std::int64_t> latest_;
  bool ended_ = false;
  std::uint64_t from_ = UINT64_MAX, to_ = UINT64_MAX;
};

}  // namespace headroom
