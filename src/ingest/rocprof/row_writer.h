// Turns the records of rocprofv3's JSON into rows: one function a kind of record.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "ingest/range_names.h"
#include "ingest/reference_budget.h"
#include "ingest/rocprof/record.h"
#include "ingest/trace_extent.h"
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
  explicit RowWriter(TraceStore& store) : store_(store) {}

  /// What follows is of another process. Names, numbers of agents and ids are a process's own.
  void BeginProcess();
  /// Gives the rows of the process the names that came behind them, and sums up its memory.
  void EndProcess();

  // What a process says of itself, before or behind its records.
  void Add(const Metadata& metadata);
  void Add(const Agent& agent);
  void Add(const KernelSymbol& symbol);
  void Add(const KindNames& names);
  void AddMarkerText(std::uint64_t correlation, std::string_view text);

  /// Appends the row of a record. `category`: the name of its list; `offset`: its place.
  void Add(const Record& record, Section section, std::string_view category, std::int64_t offset);

  /// Marks the steps, tells what was not collected. Last.
  void Finish();
  /// By all records.
  const TraceExtent& extent() const { return extent_; }

 private:
  struct Symbol {
    StringId name;
    std::int32_t registers = kUnknown32;
  };
  struct Stream {
    std::uint64_t agent = kAbsent, number = kAbsent;
    auto operator<=>(const Stream&) const = default;
  };
  /// A row whose name was not known yet.
  struct Unnamed {
    Section section;
    std::uint32_t row;
    std::uint64_t kind, operation, correlation, kernel;
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
  /// Names a row if its name is known.
  bool Name(const Unnamed& row);
  void SumUpMemory();
  void TellMissing();

  /// The name of an operation, or none.
  StringId OperationOf(std::uint64_t kind, std::uint64_t operation) const;
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
  std::vector<Allocation> allocations_;
  std::array<std::int64_t, static_cast<std::size_t>(Section::kCount)> counts_ = {};

  // Of the process at hand. Ordered: a file chooses these numbers, and could choose them to collide
  // in a hash table.
  ProcessId process_;
  std::size_t process_number_ = 0;
  std::map<std::uint64_t, Agent> agents_;
  std::map<std::uint64_t, Symbol> symbols_;
  std::vector<std::vector<StringId>> operations_;   ///< By kind and operation.
  std::map<std::uint64_t, StringId> marker_texts_;  ///< By correlation.
  std::map<std::uint64_t, ThreadId> threads_;
  std::map<std::string, ThreadId, std::less<>> tracks_;
  std::map<Stream, StreamId> streams_;
  std::vector<Unnamed> unnamed_;
  std::uint64_t last_tid_ = kAbsent;
  ThreadId last_thread_;
  Stream last_stream_key_;
  StreamId last_stream_;
  std::string args_;  ///< Scratch.
};

}  // namespace headroom::rocprof
