// Rows of one piece of a trace file, read by one thread, with string and track ids local to that
// thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/string_pool.h"
#include "base/time.h"
#include "ingest/kineto/event_scanner.h"
#include "ingest/names/category.h"
#include "store/import_log.h"
#include "store/tables.h"

namespace headroom::kineto {

template <typename T>
using BatchColumn = std::vector<T>;

/// The beginning or the end of a span, paired after loading.
struct HalfSpan {
  bool begins;
  TimeNs time;
  StringId name;
  StringId category;
  HostEventKind kind;
  ThreadId thread;
  StringId args;
  std::int64_t offset;
};

/// Identifies an asynchronous operation. Halves of spans pair and nest within one operation, on any
/// thread.
struct AsyncId {
  StringId category, scope, id;
  StringId
      process;    ///< The process that the id is local to; none if the id holds for the whole file.
  StringId name;  ///< For `S` and `F`, whose halves pair by name; none for `b` and `e`, which nest.
  auto operator<=>(const AsyncId&) const = default;
};

/// A `b` or `e` event (`S` or `F` in older files).
struct AsyncHalf : HalfSpan {
  AsyncId operation;
};

/// An `M` event that names a process or a thread.
struct TrackName {
  enum class What : std::uint8_t { kProcessName, kProcessLabels, kThreadName } what;
  ThreadId thread;
  StringId text;
};

/// One copy's bytes, duration and reported bandwidth: evidence for the time unit.
struct BandwidthSample {
  std::int64_t bytes;
  DurationNs duration;
  double gigabytes_per_second;
};

/// Returns true if the time, counted from 1970, is in 2001 or later. Clocks that start with the
/// machine or the recording never reach that.
bool IsUnixTime(TimeNs time);

/// Counts of a file's timestamps, which show whether 0 is a time on its clock.
struct StampFacts {
  std::int64_t unix_times = 0;   ///< Times for which IsUnixTime() is true.
  std::int64_t other_times = 0;  ///< All other times except 0.
  TimeNs first = TimeNs(INT64_MAX), last = TimeNs(INT64_MIN);  ///< Range of all times except 0.
  std::int64_t zero_events = 0, zero_arrows = 0;  ///< Events and arrows with timestamp 0.
  bool zero_with_length = false;                  ///< An event with timestamp 0 has a duration.
  std::vector<std::int64_t>
      zero_offsets;  ///< Offsets of events with timestamp 0, at most as many as the log keeps.

  void See(TimeNs time);
  /// Counts an event whose rows are dropped later if its timestamp is 0 and 0 is not a time.
  void SeeEvent(TimeNs time, DurationNs duration, std::int64_t offset);
  void Append(const StampFacts& later);
};

/// PyTorch without Kineto writes no categories, and uses this as the process of operators.
inline constexpr std::string_view kProcessWithoutKineto = "CPU functions";

/// Maximum number of samples kept; enough to prove the time unit.
inline constexpr std::size_t kBandwidthSamples = 64;

/// Rows of the tables that readers fill. Ids are local to one WorkerIds.
struct RowBatch {
  HostEventColumns<BatchColumn> host_events;
  GpuTaskColumns<BatchColumn> gpu_tasks;
  SyncColumns<BatchColumn> syncs;
  FlowColumns<BatchColumn> flows;
  CounterColumns<BatchColumn> counters;
  MemoryEventColumns<BatchColumn> memory_events;
  InstantColumns<BatchColumn> instants;
  CollectiveColumns<BatchColumn> collectives;  ///< `task` counts from this batch's first GPU task.
  std::vector<HalfSpan> half_spans;            ///< Halves of phases `B` and `E`.
  std::vector<AsyncHalf> async_halves;
  std::vector<TrackName> track_names;
  std::vector<BandwidthSample> bandwidths;
  StampFacts stamps;
  ImportLog log;
  std::int64_t events = 0;
  bool fractional_times = false;  ///< At least one timestamp or duration had decimals.

  void Clear();
};

/// Ids assigned by one reader thread. They live as long as its file.
class WorkerIds {
 public:
  struct Track {
    StringId process;
    StringId thread;
  };
  struct Stream {
    std::int64_t device;
    std::int64_t number;
  };

  StringPool strings;

  ThreadId ThreadOf(const Token& process, const Token& thread);
  StreamId StreamOf(std::int64_t device, std::int64_t number);
  CategoryRule RuleOf(StringId category);
  /// Interns a string token with escapes decoded.
  StringId Intern(const Token& token);
  /// Interns members of `args`, and checks each distinct text once. Drops text that is not JSON and
  /// sets `is_sound` to false.
  StringId InternMembers(std::string_view members, bool& is_sound);

  const std::vector<Track>& tracks() const { return tracks_; }
  const std::vector<Stream>& streams() const { return streams_; }

 private:
  std::vector<Track> tracks_;
  std::vector<Stream> streams_;
  // Ordered maps: a file chooses these numbers and could make them collide in a hash table.
  std::map<std::pair<std::int64_t, std::int64_t>, StreamId> stream_ids_;  ///< Key: device, number.
  StreamId last_stream_;
  std::map<std::pair<StringId, StringId>, ThreadId> track_ids_;  ///< Key: process, thread.
  std::vector<CategoryRule> rules_;  ///< Indexed by string id; filled on demand.
  std::vector<bool> rule_known_;
  std::vector<bool> members_known_;  ///< Indexed by string id; true once checked.
  std::map<StringId, StringId> mended_members_;
  std::string last_process_, last_thread_;
  ThreadId last_track_;
  std::string scratch_;
};

class ArgReader;

/// Turns events into rows, with one function per kind of event.
class RowBuilder {
 public:
  RowBuilder(WorkerIds& ids, RowBatch& batch) : ids_(ids), batch_(batch) {}

  /// Appends the rows of one event. `offset` is its place in the decompressed file.
  void Add(const RawEvent& event, std::int64_t offset);

  struct Span {
    TimeNs start;
    DurationNs duration;
  };
  /// Appends a GPU task whose beginning and end were separate events.
  void AddPairedTask(const RawEvent& event, Span span, std::int64_t offset) {
    AddGpuTask(event, span, ids_.RuleOf(CategoryOf(event)), offset);
  }
  /// Appends only to the columns of host events that are read from `args`.
  void AddArgsOfHostEvent(const RawEvent& event, std::int64_t offset);

 private:
  void AddComplete(const RawEvent& event, std::int64_t offset);
  StringId CategoryOf(const RawEvent& event);
  void AddHostEvent(const RawEvent& event, Span span, CategoryRule rule, StringId category,
                    std::int64_t offset);
  void AddGpuTask(const RawEvent& event, Span span, CategoryRule rule, std::int64_t offset);
  void AddSync(const RawEvent& event, Span span, std::int64_t offset);
  void AddCollective(ArgReader& args);
  void AddFlow(const RawEvent& event, std::int64_t offset);
  void AddHalfSpan(const RawEvent& event, std::int64_t offset);
  AsyncId AsyncIdOf(const RawEvent& event, StringId category);
  void AddCounter(const RawEvent& event, std::int64_t offset);
  void AddMemoryEvent(const RawEvent& event, TimeNs time);
  void AddInstant(const RawEvent& event, TimeNs time, std::int64_t offset);
  void AddMetadata(const RawEvent& event);

  bool ParseTime(const RawEvent& event, std::int64_t offset, TimeNs& time);
  /// Returns the maximum for a GPU task whose duration overflows; ClipOverflowingTasks() shortens
  /// it later.
  DurationNs ParseDuration(const RawEvent& event, std::int64_t offset, CategoryRule rule);
  StreamId StreamOf(const RawEvent& event, ArgReader& args);
  /// Interns the members of `args` that are not in columns. `in_columns` is a set of KinetoArg
  /// bits.
  StringId RestOfArgs(const RawEvent& event, std::uint64_t in_columns, std::int64_t offset);
  /// Returns the name of an event that must have one.
  StringId NameOf(const RawEvent& event, std::int64_t offset);

  WorkerIds& ids_;
  RowBatch& batch_;
  std::string scratch_;
};

}  // namespace headroom::kineto
