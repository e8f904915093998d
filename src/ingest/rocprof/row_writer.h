// Turns the records of rocprofv3 into rows, with one function per kind of record.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "ingest/input/reference_budget.h"
#include "ingest/input/trace_extent.h"
#include "ingest/names/range_names.h"
#include "ingest/rocprof/record.h"
#include "store/trace_store.h"

namespace headroom::rocprof {

/// Lists below "buffer_records" that are read.
enum class Section : std::uint8_t {
  kKernels,
  kCopies,
  kHipCalls,
  kHsaCalls,
  kMarkers,
  kCommunication,
  kAllocations,
  kScratch,
  kOtherCalls,
  kCount,
};

/// Returns the section for a list's name; nullopt if the list is not read.
std::optional<Section> SectionOf(std::string_view name);

class RowWriter {
 public:
  RowWriter(TraceStore& store, ExpansionLimit expansion) : store_(store), budget_(expansion) {}

  /// Starts a new process for the following records. Names, numbers of agents and ids are local to
  /// a process. Returns its number, which counts from 0.
  std::size_t BeginProcess();
  /// Continues a process that began before and has not ended.
  void GoOnWith(std::size_t process);
  /// Names the rows of the current process whose names came later, and appends its memory events
  /// and counters.
  void EndProcess();

  // Adds data about a process, before or after its records.
  void Add(const Metadata& metadata);
  void Add(const Agent& agent);
  void Add(const KernelSymbol& symbol);
  void Add(const KindNames& names);
  void Add(const CounterName& counter);
  void AddMarkerText(std::uint64_t correlation, std::string_view text);

  /// Sets the number of bytes of the file read so far, for records without an offset.
  void HasRead(std::int64_t bytes) { budget_.HasRead(bytes); }
  /// Appends the row of a record. `category` is the name of its list; `offset` is its offset in the
  /// decompressed file, or -1.
  void Add(const Record& record, Section section, std::string_view category, std::int64_t offset);

  /// Adds the hardware counters of a dispatch. When the process ends, each becomes a counter of its
  /// GPU from the start to the end of the dispatch, because collecting counters serializes kernels.
  void Add(DispatchCounters counters);
  /// Returns the number of counter values that were dropped because they are not finite or have no
  /// time or no known counter. Excludes processes that have not ended.
  std::int64_t unread_counters() const { return unread_counters_; }

  /// Marks the steps and logs data that was not collected. Call it last.
  void Finish();
  /// Returns the extent of all records.
  const TraceExtent& extent() const { return extent_; }

 private:
  struct Symbol {
    StringId name;
    std::int32_t registers = kUnknown32;
  };
  /// A row whose name is not yet known.
  struct Unnamed {
    Section section;
    std::uint32_t row;
    std::uint64_t kind, operation, correlation, kernel;
    StringId name, text;
    std::int64_t offset;
  };
  struct Allocation {
    TimeNs time;
    std::int64_t address, bytes;  ///< Negative bytes mean a free.
    std::uint64_t agent;
    ThreadId thread;
    bool is_free;
  };

  void AddTask(const Record& record, Section section, TimeNs start, DurationNs duration,
               std::int64_t offset);
  void AddCall(const Record& record, Section section, std::string_view category, TimeNs start,
               DurationNs duration, std::int64_t offset);
  void AddMarker(const Record& record, TimeNs start, DurationNs duration, std::int64_t offset);
  void AddAllocation(const Record& record, TimeNs time, std::int64_t offset);
  std::size_t AppendHostEvent(TimeNs start, DurationNs duration, StringId category, ThreadId thread,
                              HostEventKind kind);
  /// Names a row if its name is known; otherwise EndProcess() names it.
  void NameNowOrLater(const Record& record, Section section, std::size_t row, std::int64_t offset);
  bool Name(const Unnamed& row);
  void SumUpMemory();
  void AppendCounters();
  void TellMissing();

  /// Returns the operation name of a record or an unnamed row, or none.
  template <typename Named>
  StringId OperationOf(const Named& record) const;
  /// Returns the text of a marker, or none.
  template <typename Named>
  StringId TextOf(const Named& record) const;
  /// Returns the id that joins calls and tasks: unique over all processes.
  std::int64_t CorrelationOf(std::uint64_t correlation) const;
  ThreadId ThreadOf(std::uint64_t tid);
  /// Returns a track of the process in addition to its threads.
  ThreadId TrackOf(std::string_view name);
  bool IsGpu(std::uint64_t agent) const;
  DeviceId DeviceOf(std::uint64_t agent);
  StreamId StreamOf(std::uint64_t agent, std::uint64_t number);

  TraceStore& store_;
  NamedRanges ranges_;
  ReferenceBudget budget_;  ///< Limits the total size of range names.
  TraceExtent extent_;
  std::map<std::int64_t, DeviceId> devices_;  ///< Devices of all processes, by number.
  std::array<std::int64_t, static_cast<std::size_t>(Section::kCount)> counts_ = {};
  std::int64_t unread_counters_ = 0;

  // Ordered maps: a file chooses these numbers and could make them collide in a hash table.
  struct Process {
    std::size_t number = 0;
    ProcessId id;
    std::map<std::uint64_t, Agent> agents;
    std::map<std::uint64_t, Symbol> symbols;
    std::map<std::uint64_t, StringId> counters;  ///< Names of counters by id.
    std::vector<DispatchCounters> counted;
    std::vector<std::vector<StringId>> operations;   ///< Indexed by kind and operation.
    std::map<std::uint64_t, StringId> marker_texts;  ///< Key: correlation id.
    std::map<std::uint64_t, ThreadId> threads;
    std::map<std::string, ThreadId, std::less<>> tracks;
    std::map<std::pair<DeviceId, std::uint64_t>, StreamId> streams;  ///< Key: device, number.
    std::vector<Unnamed> unnamed;
    std::vector<Allocation> allocations;
    std::uint64_t last_tid = kAbsent;
    ThreadId last_thread;
    std::uint64_t last_agent = kAbsent, last_number = kAbsent;  ///< Key of last_stream.
    StreamId last_stream;
  };
  std::vector<std::unique_ptr<Process>> processes_;  ///< Processes by number; null after their end.
  Process* at_ = nullptr;                            ///< The current process.
  std::string args_;                                 ///< Reused buffer.
};

}  // namespace headroom::rocprof
