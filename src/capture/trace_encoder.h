// Encodes what a recording saw as packets of the Perfetto trace format.
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

/// Work that a GPU did, known with both its ends.
struct GpuTaskEvent {
  std::int32_t device = 0;
  std::int64_t stream = 0;
  GpuTaskWork kind = GpuTaskWork::kKernel;
  std::string_view name = {};
  TimeNs start = {};
  DurationNs duration = {};  ///< >= 0.
  std::span<const TraceArg> args = {};
};

/// Appends whole packets to a byte string; no IO, so any prefix that ends with a packet is a trace.
/// docs/recording.md says which packets there are and what they mean.
///
/// All belong to one sequence, whose stamps are CLOCK_MONOTONIC in nanoseconds. Texts may hold any
/// bytes. Each distinct text of Intern(), Category(), of an argument's name and of a GPU task's
/// name is kept, and written once. Not thread-safe.
class TraceEncoder {
 public:
  using Track = std::uint64_t;  ///< Unique in files whose encoders have different sequence ids.
  using Name = std::uint32_t;

  /// Begins the sequence: the first packet says that nothing before it counts, and its clock.
  explicit TraceEncoder(std::uint32_t sequence_id = 1);

  /// One moment on three clocks. Write one at the start, others now and then: realtime may be set.
  void ClockSnapshot(TimeNs monotonic, TimeNs boottime, TimeNs realtime);

  /// Once a process, thread, instance or counter: every call makes a track.
  Track ProcessTrack(std::int32_t pid, std::string_view name);
  Track ThreadTrack(std::int32_t pid, std::int32_t tid, std::string_view name);
  /// A named track; `parent` 0: none.
  Track ChildTrack(Track parent, std::string_view name);
  Track CounterTrack(Track parent, std::string_view name, std::string_view unit);

  Name Intern(std::string_view name);
  Name Category(std::string_view name);

  /// Slices of one track nest. Stamps need not be in order between tracks, nor on one track, if
  /// what begins and ends at one moment is written in that order.
  void Begin(Track track, TimeNs time, Name name, Name category,
             std::span<const TraceArg> args = {});
  void End(Track track, TimeNs time);
  void Instant(Track track, TimeNs time, Name name, Name category,
               std::span<const TraceArg> args = {});
  void Counter(Track track, TimeNs time, double value);
  void GpuTask(const GpuTaskEvent& task);

  /// The packets since the last call.
  std::string Take();
  /// Their bytes.
  std::size_t size() const { return out_.size(); }

 private:
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };
  /// Interned texts of one kind; ids count from 1.
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
