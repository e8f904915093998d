// The arguments of an event: those with a column, and the rest as JSON text.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/protobuf_reader.h"
#include "base/string_pool.h"
#include "ingest/input/reference_budget.h"
#include "ingest/perfetto/intern_table.h"
#include "store/tables.h"

namespace headroom::perfetto {

/// Arguments with a column in some table. Their names are in event_args.cc.
enum class ArgColumn : std::uint8_t {
  kNone,
  kCorrelation,
  kExternalId,
  kSequence,
  kForwardThread,
  kPythonId,
  kPythonParentId,
  kEventIndex,
  kRecordFunction,
  kStep,
  kRank,
  kWorldSize,
  kProduct,
  /// The slice continues an earlier slice of its track. The value is 1 for the slice that ended
  /// last, 2 for the one before, and so on.
  kContinues,
  kKind,
  kDevice,
  kAgent,        ///< rocprofv3's name for a device.
  kSourceAgent,  ///< The source of a copy.
  kBegin,        ///< Repeats the start of the event.
  kEnd,
  kLength,
  kAncestor,  ///< The correlation id of the enclosing call.
  kStream,
  kCopy,
  kBytes,
  kGrid,
  kBlock,
  kGridThreads,   ///< Threads of the whole grid.
  kBlockThreads,  ///< Threads of a block.
  kRegisters,
  kSharedMemory,
  kOccupancy,
  kGraphNode,
  // In exported traces: Kineto's data about collectives, memory and waits.
  kCollectiveName,
  kInElements,
  kOutElements,
  kGroupSize,
  kDtype,
  kProcessGroup,
  kAddress,
  kMemoryBytes,
  kTotalAllocated,
  kTotalReserved,
  kDeviceType,
  kDeviceId,
  kWaitOnStream,
  kWaitOnCorrelation,
  kCount,
};

/// Three counts, each possibly unknown.
struct Extent {
  std::int32_t x = kUnknown32, y = kUnknown32, z = kUnknown32;
};

/// The arguments of one event at a time. If two have the same name, the later wins.
class EventArgs {
 public:
  /// @param budget  limit on the total written size of interned names and texts
  EventArgs(StringPool& strings, ReferenceBudget& budget) : strings_(strings), budget_(budget) {}

  void Clear() {
    args_.clear();
    by_name_.clear();
    indexed_ = 0;
    json_.clear();
    arg_of_.fill(0);
    over_budget_ = false;
  }
  /// Returns true if arguments were dropped since Clear() because they refer to too much text.
  bool over_budget() const { return over_budget_; }
  bool empty() const { return args_.empty(); }
  bool Has(ArgColumn column) const { return arg_of_[static_cast<std::size_t>(column)] != 0; }

  /// Adds a DebugAnnotation; its name and text may be interned. Returns false, and drops it, if it
  /// is damaged or refers to a missing text.
  bool AddAnnotation(std::string_view message, const InternTable& names, const InternTable& texts);
  /// Adds a name and its value, both as text.
  void AddText(std::string_view name, std::string_view value);

  // These functions return the value of a column, or "unknown" if it is absent or does not fit. A
  // value that does not fit stays in Rest(). Integers may be written as text.
  std::int64_t Integer(ArgColumn column);
  std::int32_t Integer32(ArgColumn column);
  /// Reads "8,16,5" or "[8, 16, 5]".
  Extent Blocks(ArgColumn column);
  std::string_view Text(ArgColumn column);
  /// Removes arguments in which rocprofv3 repeats data from columns: the times of the event, and
  /// the correlation id of the enclosing call, its parent. These values differ between events and
  /// would make the text of Rest() unique for each event.
  void TakeRestated();
  /// Returns the text if it is one of `words`. Otherwise returns an empty string, and the argument
  /// stays in Rest().
  std::string_view Word(ArgColumn column, std::initializer_list<std::string_view> words);

  /// Returns the arguments that no call above took, as members of a JSON object; none if all were
  /// taken.
  StringId Rest();

 private:
  enum class Type : std::uint8_t { kInteger, kUnsigned, kBool, kDouble, kText, kJson };
  struct Arg {
    StringId name;
    ArgColumn column;
    Type type;
    bool taken;
    std::int64_t integer;
    double number;
    /// View of the packet or the pool. For kJson, the value is at `json_at` in json_.
    std::string_view text;
    std::size_t json_at, json_size;
  };

  ArgColumn ColumnOf(StringId name);
  Arg* Find(ArgColumn column);
  Arg* Named(StringId name);
  void Add(Arg arg);
  /// Returns the text of an id if the budget allows writing it once more; else none.
  StringId Referred(const InternTable& table, std::uint64_t iid);
  bool IntegerOf(const Arg& arg, std::int64_t& value) const;
  /// Appends the value of an annotation as JSON to json_.
  bool AppendJson(std::string_view annotation, const InternTable& names, const InternTable& texts,
                  int depth);

  StringPool& strings_;
  ReferenceBudget& budget_;
  bool over_budget_ = false;
  std::vector<Arg> args_;
  std::map<StringId, std::size_t> by_name_;  ///< Positions by name, for events with many arguments.
  std::size_t indexed_ = 0;                  ///< Number of args_ that are in by_name_.
  std::array<std::uint32_t, static_cast<std::size_t>(ArgColumn::kCount)> arg_of_ =
      {};                           ///< Indexed by column: position in args_ + 1, or 0.
  std::vector<ArgColumn> columns_;  ///< Indexed by string id; filled on demand.
  std::vector<bool> known_;
  std::vector<StringId>
      last_names_;    ///< Names of the previous event by position; usually they repeat.
  std::string json_;  ///< Texts of nested values.
  std::string rest_;
};

}  // namespace headroom::perfetto
