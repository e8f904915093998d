// Points in time and durations, in integer nanoseconds. A double cannot hold the 17 digits of a
// timestamp.
#pragma once

#include <compare>
#include <cstdint>

namespace headroom {

/// A duration in nanoseconds; may be negative. Sums saturate, because a damaged trace may hold
/// durations of centuries.
class DurationNs {
 public:
  constexpr DurationNs() = default;
  constexpr explicit DurationNs(std::int64_t ns) : ns_(ns) {}

  constexpr std::int64_t ns() const { return ns_; }
  /// For output only: exact below 2^53 ns (104 days).
  constexpr double us() const { return static_cast<double>(ns_) / 1e3; }
  constexpr double ms() const { return static_cast<double>(ns_) / 1e6; }

  constexpr auto operator<=>(const DurationNs&) const = default;
  constexpr DurationNs& operator+=(DurationNs o) {
    if (__builtin_add_overflow(ns_, o.ns_, &ns_)) ns_ = o.ns_ < 0 ? INT64_MIN : INT64_MAX;
    return *this;
  }
  constexpr DurationNs& operator-=(DurationNs o) {
    if (__builtin_sub_overflow(ns_, o.ns_, &ns_)) ns_ = o.ns_ < 0 ? INT64_MAX : INT64_MIN;
    return *this;
  }
  friend constexpr DurationNs operator+(DurationNs a, DurationNs b) { return a += b; }
  friend constexpr DurationNs operator-(DurationNs a, DurationNs b) { return a -= b; }
  friend constexpr DurationNs operator-(DurationNs a) { return DurationNs(0) - a; }

 private:
  std::int64_t ns_ = 0;
};

/// A point on the trace clock of one file, in nanoseconds from that clock's zero. Clocks of two
/// files are comparable only after alignment.
class TimeNs {
 public:
  constexpr TimeNs() = default;
  constexpr explicit TimeNs(std::int64_t ns) : ns_(ns) {}

  constexpr std::int64_t ns() const { return ns_; }

  constexpr auto operator<=>(const TimeNs&) const = default;
  constexpr TimeNs& operator+=(DurationNs d) { return ns_ += d.ns(), *this; }
  friend constexpr TimeNs operator+(TimeNs t, DurationNs d) { return t += d; }
  friend constexpr TimeNs operator-(TimeNs t, DurationNs d) { return TimeNs(t.ns_ - d.ns()); }
  friend constexpr DurationNs operator-(TimeNs a, TimeNs b) { return DurationNs(a.ns_ - b.ns_); }

 private:
  std::int64_t ns_ = 0;
};

}  // namespace headroom
