// Encodes a recording as packets of the Perfetto trace format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>

#include "base/time.h"

namespace headroom {

/// One argument of an event.
struct TraceArg {
  std::string_view name;
  std::variant<std::int64_t, double, std::string_view> value;
};

enum class GpuTaskWork : std::uint8_t { kKernel, kMemcpy, kMemset };

/// GPU work with a known start and end.
struct GpuTaskEvent {
  std::int32_t device = 0;
  std::int64_t stream = 0;
  GpuTaskWork kind = GpuTaskWork::kKernel;
  std::string_view name = {};
  TimeNs start = {};
  DurationNs duration = {};  ///< >= 0.
  std::span<const TraceArg> args = {};
};

/// Appends whole packets to a byte string, without I/O. Any prefix that ends with a packet is a
/// trace. docs/recording.md lists the packets and their meaning.
///
/// All packets belong to one sequence, with timestamps of CLOCK_MONOTONIC in nanoseconds. Texts may
/// contain any bytes. Keeps each distinct event name, category, argument name and GPU task name,
/// and writes it once. Not thread-safe.
class TraceEncoder {
 public:
  /// Unique across files if their encoders have different sequence ids.
  using Track = std::uint64_t;
  using Name = std::uint32_t;

  /// Begins the sequence. The first packet declares its clock and that no earlier packet counts.
  explicit TraceEncoder(std::uint32_t sequence_id = 1);

  /// Writes one moment on three clocks. Write one at the start and more later: realtime may be set.
  void ClockSnapshot(TimeNs monotonic, TimeNs boottime, TimeNs realtime);

  /// Call once per process, thread, instance or counter: every call creates a track.
  Track ProcessTrack(std::int32_t pid, std::string_view name);
  Track ThreadTrack(std::int32_t pid, std::int32_t tid, std::string_view name);
  /// Creates a named track; `parent` 0 means none.
  Track ChildTrack(Track parent, std::string_view name);
  Track CounterTrack(Track parent, std::string_view name, std::string_view unit);

  Name Intern(std::string_view name);
  Name Category(std::string_view name);

  /// Slices of one track nest. Timestamps need not be in order, within a track or between tracks.
  /// Begins and ends at the same moment must be written in their order.
  void Begin(Track track, TimeNs time, Name name, Name category,
             std::span<const TraceArg> args = {});
  void End(Track track, TimeNs time);
  void Instant(Track track, TimeNs time, Name name, Name category,
               std::span<const TraceArg> args = {});
  void Counter(Track track, TimeNs time, double value);
  void GpuTask(const GpuTaskEvent& task);

  /// Returns the packets since the last call.
  std::string Take();
  /// Bytes of the packets that Take() would return.
  std::size_t size() const { return out_.size(); }

 private:
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };
  /// Interned texts of one kind. Ids count from 1.
  using Texts = std::unordered_map<std::string, std::uint32_t, TextHash, std::equal_to<>>;

  template <typename Field>
  std::uint32_t InternAs(Field kind, std::string_view text, Texts& texts);
  void SetDefaults(std::uint32_t sequence_flags);
  template <typename Fill>
  void Packet(std::uint32_t sequence_flags, Fill&& fill);
  template <typename Fill>
  Track NewTrack(Track parent, std::string_view name, Fill&& fill);
  void Event(std::uint32_t type, Track track, TimeNs time, Name name, Name category,
             std::span<const TraceArg> args);

  std::string out_;
  std::uint32_t sequence_id_;
  Track last_track_;
  std::uint64_t gpu_events_ = 0;
  Texts names_, categories_, arg_names_, gpu_names_;
};

}  // namespace headroom
