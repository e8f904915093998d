// Turns the events of a Perfetto trace into rows, with one function per kind of event.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "ingest/names/category.h"
#include "ingest/names/range_names.h"
#include "ingest/perfetto/event_args.h"
#include "ingest/perfetto/intern_table.h"
#include "ingest/perfetto/tracks.h"
#include "store/trace_store.h"

namespace headroom::perfetto {

/// Queues and stages of a GPU, by position, as the packets before older render stage events list
/// them.
struct Specifications {
  std::vector<StringId> queues, stages;
};

/// The state of a sequence: packets that one writer wrote in order, and their defaults for later
/// packets.
struct Sequence {
  std::uint32_t id = 0;
  std::uint32_t number = 0;  ///< Counts in order of first mention.

  InternTable categories, event_names, arg_names, arg_texts, gpu_names;
  std::uint32_t clock = 0;  ///< Clock of packets that name none; 0 means the trace clock.
  std::uint64_t track = 0;  ///< Uuid of the track for events that name none.
  std::vector<std::uint64_t> extra_tracks, extra_double_tracks;

  // These fields are for sequences with a thread descriptor instead of tracks, and with timestamps
  // in microseconds.
  std::uint32_t thread_track = Tracks::kNoTrack;
  std::int64_t stamp_us = 0;
  std::int32_t pid = 0;

  TimeNs last;        ///< The latest timestamp.
  TimeNs last_slice;  ///< The latest begin or end of a slice.

  /// Drops data that packets must not refer to after the state was cleared.
  void Clear();
};

class RowWriter {
 public:
  RowWriter(TraceStore& store, Tracks& tracks, ReferenceBudget& budget)
      : store_(store), tracks_(tracks), budget_(budget), args_(store.strings, budget) {}

  /// Appends the rows of a TrackEvent message. `offset` is the offset of its packet.
  void AddTrackEvent(Sequence& sequence, TimeNs time, std::string_view bytes, std::int64_t offset);
  /// Appends the row of a GpuRenderStageEvent message.
  void AddRenderStage(Sequence& sequence, TimeNs start, std::string_view message,
                      std::int64_t offset);
  /// Adds the lists of queues and stages that precede older render stage events.
  void AddSpecifications(std::string_view message);

  /// Marks the steps and joins open slices with ends that came too early in the file. Closes the
  /// others at the last begin or end of a slice in their sequence.
  void CloseSlices(const std::vector<Sequence>& sequences);
  /// Applies the metadata of an exported trace, which overrides data from its events.
  void SettleMetadata();

 private:
  /// The fields of a track event.
  struct Event {
    std::uint32_t type = 0;
    std::uint32_t track = 0;  ///< Number of the track.
    StringId name, category;
    TimeNs time;
    std::int64_t duration_ns = -1;  ///< Duration of a complete event; -1 for others.
    std::int64_t offset = 0;
  };
  /// The fields of a legacy event.
  struct LegacyEvent {
    char phase = 0;
    std::int64_t duration_us = -1;
    std::int32_t pid = 0, tid = 0;
    std::uint64_t name_iid = 0;
    std::int64_t id = kUnknown;  ///< Id of an arrow.
  };
  /// A message as written. Its lists are members of the writer, so that they keep their memory.
  struct Message {
    std::optional<std::uint64_t> track;  ///< Uuid; nullopt means the track of the sequence.
    std::int64_t integer = 0;            ///< Integer value of a counter.
    std::optional<double>
        number;  ///< Floating-point value of a counter; nullopt if it is an integer.
    std::optional<LegacyEvent> legacy;
  };

  static LegacyEvent ReadLegacyEvent(std::string_view message);
  /// Returns false if the message is damaged.
  bool ReadMessage(const Sequence& sequence, std::string_view bytes, Event& event,
                   Message& message);
  std::uint32_t TrackOf(const Sequence& sequence, const Message& message);
  /// Copies name, type and duration of a legacy event into `event`.
  void ApplyLegacy(const Sequence& sequence, const LegacyEvent& legacy, Event& event);
  void ReadAnnotations(const Sequence& sequence, std::int64_t offset);
  void AddCounter(const Event& event, const Message& message);
  /// Adds the counters attached to an event.
  void AddExtraCounters(const Sequence& sequence, TimeNs time);

  void Begin(const Event& event, std::uint32_t sequence);
  /// Reopens a slice that was closed only so that slices of a track nest. Returns false if there is
  /// no such slice.
  bool Reopen(const Event& event);
  /// Sets the plain name and the kind of a kernel that rocprofv3 dispatched.
  void DescribeDispatch(std::uint32_t row);
  void End(const Event& event);
  void Instant(const Event& event);
  /// Reads a recording's description of its job and machine from the current arguments.
  void ReadAbout(StringId name);
  /// Reads a name such as "headroom.version pytorch 2.7.1". Returns false for other names.
  bool ReadVersion(StringId name);
  /// Reads the data of `headroom export` about the original trace, its threads, counters and
  /// devices. Returns false for other names.
  bool ReadExported(StringId name);
  void ReadExportedDevice(const nlohmann::json& said);
  void Count(std::uint32_t track, TimeNs time, double value);
  void CountInteger(std::uint32_t track, TimeNs time, std::int64_t value);

  std::uint32_t AppendHostEvent(const Event& event, CategoryRule rule);
  std::uint32_t AppendGpuTask(TimeNs start, StringId name, GpuTaskKind kind);
  std::uint32_t AppendSync(const Event& event);
  void AppendArrow(const Event& event, char phase, std::int64_t id);
  void AppendMemoryEvent(const Event& event);
  void AppendCollective(std::uint32_t task);
  /// Fills the columns from the arguments.
  void FillHostEvent(std::uint32_t row);
  void FillGpuTask(std::uint32_t row, std::uint32_t track, std::int64_t device);
  void SetEnd(const OpenSlice& slice, TimeNs end);
  TimeNs StartOf(const OpenSlice& slice) const;

  /// Returns the text of an id. If it is missing, returns none and adds a log entry.
  StringId TextOf(const InternTable& table, std::uint64_t iid, std::int64_t offset);
  CategoryRule RuleOf(StringId category);

  TraceStore& store_;
  Tracks& tracks_;
  ReferenceBudget& budget_;
  EventArgs args_;
  NamedRanges ranges_;
  Specifications specifications_;
  std::optional<TraceMetadata> exported_;
  /// An exported trace announces an end marker (has_end_), and has the marker at its end (ended_).
  bool has_end_ = false, ended_ = false;
  std::vector<CategoryRule> rules_;  ///< Indexed by string id; filled on demand.
  std::vector<bool> rule_known_;
  std::vector<std::string_view> annotations_;
  std::vector<std::uint64_t> extra_tracks_, extra_double_tracks_;
  std::vector<std::int64_t> extra_values_;
  std::vector<double> extra_doubles_;
};

}  // namespace headroom::perfetto
