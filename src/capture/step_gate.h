// Selects the recorded part of a run: --steps.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace headroom {

/// Recorded steps, by number: from the begin of the first to the end of the last.
struct RecordedSteps {
  std::int64_t first = 0, last = 0;
};

/// Compares the steps of one process with the window and selects the recorded time. All threads of
/// a process are inside or outside together.
class StepGate {
 public:
  explicit StepGate(std::optional<RecordedSteps> window) : window_(window) {}

  /// Reports that a step began.
  void SawStep(std::int64_t number, std::uint64_t ticks) {
    if (!window_) return;
    latest_ = number;
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
  /// Returns true if events at that time are wanted.
  bool Open(std::uint64_t ticks) const { return !window_ || (ticks >= from_ && ticks < to_); }
  bool Before(std::uint64_t ticks) const { return window_ && ticks < from_; }
  bool Over(std::uint64_t ticks) const { return window_ && ticks >= to_; }
  /// Returns the end of the wanted steps; nullopt if they are not over.
  std::optional<std::uint64_t> end() const {
    return to_ != UINT64_MAX ? std::optional(to_) : std::nullopt;
  }
  bool limited() const { return window_.has_value(); }
  /// Returns true if no wanted step came.
  bool missed() const { return window_ && from_ == UINT64_MAX; }
  std::optional<std::int64_t> latest() const { return latest_; }
  /// Returns true if slow producers should record. Starts one step early, because they learn of it
  /// late.
  bool Near() const {
    if (!window_) return true;
    if (ended_) return false;
    if (!latest_) return window_->first <= 0;
    return *latest_ + 1 >= window_->first && *latest_ <= window_->last;
  }

 private:
  std::optional<RecordedSteps> window_;
  std::optional<std::int64_t> latest_;
  bool ended_ = false;
  std::uint64_t from_ = UINT64_MAX, to_ = UINT64_MAX;
};

}  // namespace headroom
