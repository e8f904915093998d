// Turns the events of a plane into rows in place, line by line, without building a message. Work
// that needs all planes (operators of launches, clipping) follows at the end.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "ingest/input/reference_budget.h"
#include "ingest/input/row_budget.h"
#include "ingest/names/xla_names.h"
#include "ingest/names/xla_operators.h"
#include "ingest/xplane/argument_texts.h"
#include "ingest/xplane/kernel_details_cache.h"
#include "ingest/xplane/plane_stream.h"
#include "ingest/xplane/plane_texts.h"
#include "store/trace_store.h"

namespace headroom::xplane {

class RowWriter {
 public:
  /// @param rows  row limit; reading of a plane stops once its status is not ok
  RowWriter(TraceStore& store, std::int64_t max_event_bytes, ExpansionLimit expansion,
            RowBudget& rows)
      : store_(store),
        max_event_bytes_(static_cast<std::size_t>(max_event_bytes)),
        budget_(expansion),
        row_budget_(rows) {}

  /// Appends the rows of a plane.
  ///
  /// @param file_bytes  bytes of the file on disk read so far
  void Add(const PlaneText& plane, std::int64_t file_bytes);
  /// Does the work that needs all planes. Call it once, before the store is frozen.
  void Finish();

 private:
  enum class LineRole : std::uint8_t { kHost, kStream, kDerived };

  /// A line while its events are read.
  struct Line {
    LineRole role = LineRole::kDerived;
    std::string_view name;  ///< Name of a host thread.
    std::int64_t timestamp_ns = 0;
    ThreadId thread;
    StreamId stream;
    /// For lines whose events nest: true for events that contain others, indexed by event. Empty
    /// for other lines.
    std::vector<bool> holds_others;
  };

  /// The fields of one event.
  struct Event {
    std::uint64_t metadata_id = 0;
    std::int64_t offset_ps = 0, duration_ps = 0;
    bool is_sum = false;
    bool has_stats = false;
    std::string_view text;
    std::int64_t place = 0;  ///< Offset in the decompressed file.
  };

  /// The stats of one event.
  struct Stats {
    std::int64_t correlation = kUnknown, graph_node = kUnknown, step = kUnknown;
    std::int64_t produces = kUnknown, consumes = kUnknown;
    std::int64_t produces_kind = kUnknown, consumes_kind = kUnknown;
    std::int64_t allocation_bytes = kUnknown, address = kUnknown, allocated = kUnknown,
                 reserved = kUnknown;
    double occupancy_pct = 0;
    std::string_view kernel_details, copy_details, hlo_op, tf_op, allocator;
  };

  void DescribeDevice(const PlaneText& plane, xla::DeviceName device);
  void ReadEnvironment(const PlaneText& plane);
  void AddLine(const PlaneText& plane, std::string_view text);
  static void FindNesting(std::string_view text, Line& line);
  static bool ReadEvent(std::string_view text, Event& event);
  void AddEvent(const Event& event, std::size_t number, const Line& line);
  void AddHostEvent(const Event& event, TimeNs start, DurationNs duration, const Line& line,
                    const EventText& what);
  void AddGpuTask(TimeNs start, DurationNs duration, const Line& line, const EventText& what);
  void AddMemoryEvent(TimeNs time, const Line& line, std::int64_t sign);
  void AddFlows(TimeNs time, ThreadId thread);
  /// Reads the stats of an event. Stats without a column become arguments. `of_all_alike` contains
  /// the stats that all events with the same metadata share.
  void ReadStats(const Event& event, std::string_view of_all_alike);
  void ReadStat(std::string_view message, std::int64_t place);
  ThreadId ThreadOf(StringId pid, StringId process_name, StringId label, std::int64_t tid,
                    std::string_view name);
  DeviceId DeviceOf(std::int64_t ordinal);
  StreamId StreamOf(std::int64_t device, std::int64_t number);
  std::int64_t PlaceOf(std::string_view text) const {
    return plane_offset_ + (text.data() - plane_begin_);
  }

  TraceStore& store_;
  std::size_t max_event_bytes_;
  PlaneTexts texts_;
  xla::LaunchedOperators operators_;
  Stats stats_;
  ArgumentTexts arguments_;
  ReferenceBudget budget_;
  RowBudget& row_budget_;
  bool over_budget_ = false;  ///< Some arguments of the current event were dropped.
  KernelDetailsCache kernel_details_;
  // Data of the current plane.
  std::optional<xla::DeviceName> device_;
  StringId plane_name_;  ///< Name of a device plane.
  const char* plane_begin_ = nullptr;
  std::int64_t plane_offset_ = 0;
  std::int64_t first_timestamp_ns_ = INT64_MAX, profile_start_ns_ = kUnknown;

  // Ordered maps: a file chooses these numbers and could make them collide in a hash table.
  std::map<StringId, ProcessId> processes_;
  std::map<std::pair<ProcessId, std::int64_t>, ThreadId> threads_;
  std::map<std::int64_t, DeviceId> devices_;
  std::map<std::pair<std::int64_t, std::int64_t>, StreamId> streams_;
};

}  // namespace headroom::xplane
