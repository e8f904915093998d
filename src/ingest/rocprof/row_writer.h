// Turns the records of rocprofv3 into rows: one function a kind of record.
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

/// What a list's name means; nothing where it is not read.
std::optional<Section> SectionOf(std::string_view name);

class RowWriter {
 public:
  RowWriter(TraceStore& store, ExpansionLimit expansion) : store_(store), budget_(expansion) {}

  /// What follows is of another process. Names, numbers of agents and ids are a process's own.
  /// Returns its number, which counts from 0.
  std::size_t BeginProcess();
  /// What follows is of a process that began before and has not ended.
  void GoOnWith(std::size_t process);
  /// Gives the rows of the process at hand the names that came behind them, and sums up its memory.
  void EndProcess();

  // What a process says of itself, before or behind its records.
  void Add(const Metadata& metadata);
  void Add(const Agent& agent);
  void Add(const KernelSymbol& symbol);
  void Add(const KindNames& names);
  void Add(const CounterName& counter);
  void AddMarkerText(std::uint64_t correlation, std::string_view text);

  /// The bytes of the file until now, if records have no place.
  void HasRead(std::int64_t bytes) { budget_.HasRead(bytes); }
  /// Appends the row of a record. `category`: the name of its list; `offset`: its place, or -1.
  void Add(const Record& record, Section section, std::string_view category, std::int64_t offset);

  /// Notes the hardware counters of a dispatch. When the process ends, each becomes a counter of
  /// its GPU from the start to the end of the dispatch, for collecting counters serializes kernels.
  void Add(DispatchCounters counters);
  /// Values without a time or a known counter. Of the processes that ended.
  std::int64_t unread_counters() const { return unread_counters_; }

  /// Marks the steps, tells what was not collected. Last.
  void Finish();
  /// By all records.
  const TraceExtent& extent() const { return extent_; }

 private:
  struct Symbol {
    StringId name;
    std::int32_t registers = kUnknown32;
  };
  /// A row whose name was not known yet.
  struct Unnamed {
    Section section;
    std::uint32_t row;
    std::uint64_t kind, operation, correlation, kernel;
    StringId name, text;
    std::int64_t offset;
  };
  struct Allocation {
    TimeNs time;
    std::int64_t address, bytes;  ///< Negative: a free.
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
  /// Names a row if its name is known; else it is named when the process ends.
  void NameNowOrLater(const Record& record, Section section, std::size_t row, std::int64_t offset);
  bool Name(const Unnamed& row);
  void SumUpMemory();
  void AppendCounters();
  void TellMissing();

  /// The name of the operation of a record or an unnamed row, or none.
  template <typename Named>
  StringId OperationOf(const Named& record) const;
  /// The text of a marker, or none.
  template <typename Named>
  StringId TextOf(const Named& record) const;
  /// The id by which calls and tasks are joined: unique over all processes.
  std::int64_t CorrelationOf(std::uint64_t correlation) const;
  ThreadId ThreadOf(std::uint64_t tid);
  /// A track of the process beside its threads.
  ThreadId TrackOf(std::string_view name);
  bool IsGpu(std::uint64_t agent) const;
  DeviceId DeviceOf(std::uint64_t agent);
  StreamId StreamOf(std::uint64_t agent, std::uint64_t number);

  TraceStore& store_;
  NamedRanges ranges_;
  ReferenceBudget budget_;  ///< Of texts of ranges.
  TraceExtent extent_;
  std::map<std::int64_t, DeviceId> devices_;  ///< By number; of all processes.
  std::array<std::int64_t, static_cast<std::size_t>(Section::kCount)> counts_ = {};
  std::int64_t unread_counters_ = 0;

  // Ordered: a file chooses these numbers, and could choose them to collide in a hash table.
  struct Process {
    std::size_t number = 0;
    ProcessId id;
    std::map<std::uint64_t, Agent> agents;
    std::map<std::uint64_t, Symbol> symbols;
    std::map<std::uint64_t, StringId> counters;  ///< Their names.
    std::vector<DispatchCounters> counted;
    std::vector<std::vector<StringId>> operations;   ///< By kind and operation.
    std::map<std::uint64_t, StringId> marker_texts;  ///< By correlation.
    std::map<std::uint64_t, ThreadId> threads;
    std::map<std::string, ThreadId, std::less<>> tracks;
    std::map<std::pair<DeviceId, std::uint64_t>, StreamId> streams;  ///< By device and number.
    std::vector<Unnamed> unnamed;
    std::vector<Allocation> allocations;
    std::uint64_t last_tid = kAbsent;
    ThreadId last_thread;
    std::uint64_t last_agent = kAbsent, last_number = kAbsent;  ///< Of last_stream.
    StreamId last_stream;
  };
  std::vector<std::unique_ptr<Process>> processes_;  ///< By number; null: ended.
  Process* at_ = nullptr;                            ///< The one at hand.
  std::string args_;                                 ///< Scratch.
};

}  // namespace headroom::rocprof
