// The tracks of a Perfetto trace, and which thread, stream or counter of the store each one is.
//
// A descriptor may come after the events of its track, so rows carry the number of their track
// while a file is read. What it stands for is settled at the end.
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

/// A slice that has begun: its row, and whether that is one of gpu_tasks or of host_events.
struct OpenSlice {
  std::uint32_t row;
  bool on_gpu;
  std::uint32_t sequence;  ///< Number of the sequence that began it.
  std::int64_t offset;
  bool is_sync = false;  ///< The row is one of syncs.
};

struct UnmatchedEnd {
  TimeNs time;
  std::int64_t offset;
};

/// A thread in the words of the trace that `headroom export` read, where numbers of 32 bits do not
/// do.
struct ExactThread {
  StringId pid, process_name, labels, tid, name;
};

struct Track {
  std::uint64_t uuid = 0;
  std::uint64_t parent = 0;
  StringId name;  ///< None where nothing names it.
  std::optional<std::int32_t> pid, tid;
  bool is_process = false, is_thread = false, is_counter = false;
  std::optional<ExactThread> exact;  ///< Also of the tracks below it.
  std::optional<StringId> series;    ///< Of an exported counter.

  StringId unit;
  std::int64_t multiplier = 1;
  bool incremental = false;
  std::int64_t value = 0;  ///< Of an incremental counter.

  std::vector<OpenSlice> open;
  std::vector<OpenSlice> just_closed;  ///< At `closed_at`, in order.
  TimeNs closed_at;
  std::vector<UnmatchedEnd> ends;
};

class Tracks {
 public:
  explicit Tracks(TraceStore& store) : store_(store) {}

  /// The number of the track with this uuid. Numbers count in order of first mention.
  std::uint32_t NumberOf(std::uint64_t uuid);
  /// The number of the track of a thread that is told by its ids alone.
  std::uint32_t NumberOfThread(std::int32_t pid, std::int32_t tid);
  Track& operator[](std::uint32_t number) { return tracks_[number]; }
  std::size_t size() const { return tracks_.size(); }

  /// Takes in a TrackDescriptor, ProcessDescriptor or ThreadDescriptor message. False where it is
  /// damaged.
  bool Describe(std::string_view track_descriptor);
  bool DescribeProcess(std::string_view process_descriptor, Track& track);
  bool DescribeThread(std::string_view thread_descriptor, Track& track);

  /// A stream as an event names it: by device and number, each -1 where its track says.
  StreamId StreamOf(std::int64_t device, std::int64_t number, std::uint32_t track);
  static constexpr std::uint32_t kNoTrack = UINT32_MAX;
  /// Device and number of a stream as it was named.
  std::pair<std::int64_t, std::int64_t> NamesOf(StreamId stream) const {
    return {streams_[stream.index()].device, streams_[stream.index()].number};
  }

  /// The product name of a device, for when it turns out to have streams.
  void NameDevice(std::int64_t ordinal, StringId name) { device_names_[ordinal] = name; }
  /// The row of a device, made if there is none yet.
  DeviceId DeviceOf(std::int64_t ordinal);

  /// Replaces the numbers of tracks and streams in the rows of the store by its threads and
  /// streams, which are added in order of the rows' first use, and names counters. Before
  /// TraceStore::Freeze().
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
  /// The track that this one hangs below, or null.
  const Track* ParentOf(const Track& track) const;

  TraceStore& store_;
  std::vector<Track> tracks_;
  // Ordered: a file chooses these numbers, and could choose them to collide in a hash table.
  std::map<std::uint64_t, std::uint32_t> by_uuid_;
  std::map<std::pair<std::int32_t, std::int32_t>, std::uint32_t> by_thread_;
  struct Cached {
    std::uint64_t uuid;
    std::uint32_t number = kNoTrack;
  };
  std::array<Cached, 64> cache_;  ///< By the low bits of the uuid.

  std::vector<Stream> streams_;
  std::map<Stream, StreamId> stream_numbers_;
  StreamId last_stream_;

  // Of the store.
  std::map<std::int32_t, StringId> process_names_;
  std::vector<ThreadId> threads_;  ///< By track.
  std::map<StringId, ProcessId> process_rows_;
  std::map<std::pair<ProcessId, StringId>, ThreadId> thread_rows_;
  std::map<std::int64_t, DeviceId> device_rows_;
  std::map<std::int64_t, StringId> device_names_;
  std::map<std::pair<DeviceId, std::int64_t>, StreamId> stream_rows_;
};

/// The number behind `word` and brackets or a blank in the name of a track ("STREAM [3]", "stream
/// 3"), in any case of letters; nothing where there is none.
std::optional<std::int64_t> NumberBehind(std::string_view word, std::string_view name);

}  // namespace headroom::perfetto
