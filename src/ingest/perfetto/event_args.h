// The arguments of an event: those that have a column, and the rest as JSON text.
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

/// Arguments that have a column somewhere. The texts are in event_args.cc.
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
  kContinues,  ///< Of how many ends ago a slice is the rest.
  kKind,
  kDevice,
  kAgent,        ///< What rocprofv3 calls a device.
  kSourceAgent,  ///< Of a copy.
  kBegin,        ///< Of the event itself, again.
  kEnd,
  kLength,
  kAncestor,  ///< The correlation of the call around.
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
  // Of exported traces: what Kineto tells of collectives, memory and waits.
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

/// Three counts; unknown where they are not known.
struct Extent {
  std::int32_t x = kUnknown32, y = kUnknown32, z = kUnknown32;
};

/// The arguments of one event at a time. Of two with one name, the later holds.
class EventArgs {
 public:
  /// `budget`: of what interned names and texts take where they are written out.
  EventArgs(StringPool& strings, ReferenceBudget& budget) : strings_(strings), budget_(budget) {}

  void Clear() {
    args_.clear();
    by_name_.clear();
    indexed_ = 0;
    json_.clear();
    arg_of_.fill(0);
    over_budget_ = false;
  }
  /// Whether some were left out since Clear(), for what they refer to is too long.
  bool over_budget() const { return over_budget_; }
  bool empty() const { return args_.empty(); }
  bool Has(ArgColumn column) const { return arg_of_[static_cast<std::size_t>(column)] != 0; }

  /// Adds a DebugAnnotation; its name and text may be interned. False where it is damaged or names
  /// a text that is not there; such a one is left out.
  bool AddAnnotation(std::string_view message, const InternTable& names, const InternTable& texts);
  /// Adds a name and its value, both as text.
  void AddText(std::string_view name, std::string_view value);

  // Each gives the value of a column, or "unknown" where it is absent or does not fit; what does
  // not fit stays in Rest(). Integers may be given as text.
  std::int64_t Integer(ArgColumn column);
  std::int32_t Integer32(ArgColumn column);
  /// "8,16,5" or "[8, 16, 5]".
  Extent Blocks(ArgColumn column);
  std::string_view Text(ArgColumn column);
  /// Takes what rocprofv3 tells twice: times, which the event has, and the correlation of the call
  /// around, which is its parent. All differ from event to event.
  void TakeRestated();
  /// A text that is one of `words`; any other stays in Rest().
  std::string_view Word(ArgColumn column, std::initializer_list<std::string_view> words);

  /// The arguments that no call above took, as members of a JSON object; none where there are none.
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
    std::string_view text;  ///< Into the packet, the pool, or at `json_at` where it is JSON.
    std::size_t json_at, json_size;
  };

  ArgColumn ColumnOf(StringId name);
  Arg* Find(ArgColumn column);
  Arg* Named(StringId name);
  void Add(Arg arg);
  /// What an id stands for, where that may be written out once more; else none.
  StringId Referred(const InternTable& table, std::uint64_t iid);
  bool IntegerOf(const Arg& arg, std::int64_t& value) const;
  /// Appends the value of an annotation as JSON to json_.
  bool AppendJson(std::string_view annotation, const InternTable& names, const InternTable& texts,
                  int depth);

  StringPool& strings_;
  ReferenceBudget& budget_;
  bool over_budget_ = false;
  std::vector<Arg> args_;
  std::map<StringId, std::size_t> by_name_;  ///< Positions, of events with many arguments.
  std::size_t indexed_ = 0;                  ///< How many of args_ are in by_name_.
  std::array<std::uint32_t, static_cast<std::size_t>(ArgColumn::kCount)> arg_of_ =
      {};                           ///< By column: position in args_ + 1, or 0.
  std::vector<ArgColumn> columns_;  ///< By string id; filled on demand.
  std::vector<bool> known_;
  std::vector<StringId> last_names_;  ///< By position in the event before; mostly the same again.
  std::string json_;                  ///< Texts of nested values.
  std::string rest_;
};

}  // namespace headroom::perfetto
