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

/// Appends whole packets to a byte string, without I/O. Any prefix that ends at a packet boundary
/// is a valid trace. docs/recording.md lists the packets and their meaning.
///
/// All packets belong to one sequence. Timestamps are nanoseconds of CLOCK_MONOTONIC. Strings may
/// contain any bytes. Interns event names, categories, argument names and GPU task names: keeps
/// each distinct string in memory and writes it once. Not thread-safe.
class TraceEncoder {
 public:
  /// Unique across files if their encoders have different sequence ids.
  using Track = std::uint64_t;
  using Name = std::uint32_t;

  /// Begins the sequence. Its first packet declares the clock and clears the incremental state.
  explicit TraceEncoder(std::uint32_t sequence_id = 1);

  /// Writes readings of three clocks at one moment. Call it at the start and at intervals, because
  /// the realtime clock may be adjusted.
  void ClockSnapshot(TimeNs monotonic, TimeNs boottime, TimeNs realtime);

  /// Creates a track. Call each of these functions once per process, thread, instance or counter.
  Track ProcessTrack(std::int32_t pid, std::string_view name);
  Track ThreadTrack(std::int32_t pid, std::int32_t tid, std::string_view name);
  /// Creates a named track below `parent`, or at the top level if `parent` is 0.
  Track ChildTrack(Track parent, std::string_view name);
  Track CounterTrack(Track parent, std::string_view name, std::string_view unit);

  Name Intern(std::string_view name);
  Name Category(std::string_view name);

  /// Requires that the slices of a track nest. Timestamps may be out of order, within a track and
  /// between tracks. Begins and ends with equal timestamps must be written in nesting order.
  void Begin(Track track, TimeNs time, Name name, Name category,
             std::span<const TraceArg> args = {});
  void End(Track track, TimeNs time);
  void Instant(Track track, TimeNs time, Name name, Name category,
               std::span<const TraceArg> args = {});
  void Counter(Track track, TimeNs time, double value);
  void GpuTask(const GpuTaskEvent& task);

  /// Returns the packets written since the last call.
  std::string Take();
  /// Returns the size of the packets that Take() would return, in bytes.
  std::size_t size() const { return out_.size(); }

 private:
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };
  /// Ids of the interned strings of one kind, from 1.
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
