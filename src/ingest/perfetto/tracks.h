// The tracks of a Perfetto trace, and the thread, stream or counter of the store that each
// represents.
//
// A descriptor may follow the events of its track, so rows store the number of their track while a
// file is read. Settle() resolves the numbers at the end.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "store/trace_store.h"

namespace headroom::perfetto {

/// A slice that has begun: its row, and whether that row is in gpu_tasks or in host_events.
struct OpenSlice {
  std::uint32_t row;
  bool on_gpu;
  std::uint32_t sequence;  ///< Number of the sequence that began it.
  std::int64_t offset;
  bool is_sync = false;  ///< The row is in syncs.
};

struct UnmatchedEnd {
  TimeNs time;
  std::int64_t offset;
};

/// The names and ids of a thread in the trace that `headroom export` read. Strings, because ids may
/// exceed 32 bits.
struct ExactThread {
  StringId pid, process_name, labels, tid, name;
};

struct Track {
  std::uint64_t uuid = 0;
  std::uint64_t parent = 0;
  StringId name;  ///< None if the trace does not name the track.
  std::optional<std::int32_t> pid, tid;
  bool is_process = false, is_thread = false, is_counter = false;
  std::optional<ExactThread> exact;  ///< Applies also to its child tracks.
  std::optional<StringId> series;    ///< Series of an exported counter.

  StringId unit;
  std::int64_t multiplier = 1;
  bool incremental = false;
  std::int64_t value = 0;  ///< Current value of an incremental counter.

  std::vector<OpenSlice> open;
  std::vector<OpenSlice> just_closed;  ///< Slices closed at `closed_at`, in order.
  TimeNs closed_at;
  std::vector<UnmatchedEnd> ends;
};

class Tracks {
 public:
  explicit Tracks(TraceStore& store) : store_(store) {}

  /// Returns the number of the track with this uuid. Numbers count in order of first mention.
  std::uint32_t NumberOf(std::uint64_t uuid);
  /// Returns the number of a thread's track that has no uuid, only process and thread ids.
  std::uint32_t NumberOfThread(std::int32_t pid, std::int32_t tid);
  Track& operator[](std::uint32_t number) { return tracks_[number]; }
  std::size_t size() const { return tracks_.size(); }

  /// Adds a TrackDescriptor, ProcessDescriptor or ThreadDescriptor message. Returns false if it is
  /// damaged.
  bool Describe(std::string_view track_descriptor);
  bool DescribeProcess(std::string_view process_descriptor, Track& track);
  bool DescribeThread(std::string_view thread_descriptor, Track& track);

  /// Returns the stream that an event names by device and number. Either is -1 if the track
  /// determines it.
  StreamId StreamOf(std::int64_t device, std::int64_t number, std::uint32_t track);
  static constexpr std::uint32_t kNoTrack = UINT32_MAX;
  /// Returns device and number of a stream as the trace named it.
  std::pair<std::int64_t, std::int64_t> NamesOf(StreamId stream) const {
    return {streams_[stream.index()].device, streams_[stream.index()].number};
  }

  /// Sets the product name of a device, for use if the device has streams.
  void NameDevice(std::int64_t ordinal, StringId name) { device_names_[ordinal] = name; }
  /// Returns the row of a device; adds it if missing.
  DeviceId DeviceOf(std::int64_t ordinal);

  /// Replaces the numbers of tracks and streams in the rows of the store with threads and streams
  /// of the store, and names counters. Adds threads and streams in order of the rows' first use.
  /// Call it before TraceStore::Freeze().
  void Settle();

 private:
  struct Stream {
    std::int64_t device, number;
    std::uint32_t track;
    auto operator<=>(const Stream&) const = default;
  };

  ThreadId ThreadOf(std::uint32_t number);
  ThreadId AddThread(std::string_view pid, StringId process_name, std::string_view tid,
                     StringId name);
  StreamId StoreStreamOf(const Stream& stream);
  /// Returns the parent track, or null.
  const Track* ParentOf(const Track& track) const;

  TraceStore& store_;
  std::vector<Track> tracks_;
  // Ordered maps: a file chooses these numbers and could make them collide in a hash table.
  std::map<std::uint64_t, std::uint32_t> by_uuid_;
  std::map<std::pair<std::int32_t, std::int32_t>, std::uint32_t> by_thread_;
  struct Cached {
    std::uint64_t uuid;
    std::uint32_t number = kNoTrack;
  };
  std::array<Cached, 64> cache_;  ///< Indexed by the low bits of the uuid.

  std::vector<Stream> streams_;
  std::map<Stream, StreamId> stream_numbers_;
  StreamId last_stream_;

  // Rows and names of the store.
  std::map<std::int32_t, StringId> process_names_;
  std::vector<ThreadId> threads_;  ///< Indexed by track.
  std::map<StringId, ProcessId> process_rows_;
  std::map<std::pair<ProcessId, StringId>, ThreadId> thread_rows_;
  std::map<std::int64_t, DeviceId> device_rows_;
  std::map<std::int64_t, StringId> device_names_;
  std::map<std::pair<DeviceId, std::int64_t>, StreamId> stream_rows_;
};

/// Returns the number that follows `word` and brackets or a blank in the name of a track ("STREAM
/// [3]", "stream 3"). Ignores case. Returns nullopt if no number follows.
std::optional<std::int64_t> NumberBehind(std::string_view word, std::string_view name);

}  // namespace headroom::perfetto
