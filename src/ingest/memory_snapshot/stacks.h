// Turns call stacks of allocations into the ranges that a profiler would have recorded around them.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ingest/memory_snapshot/pickle_values.h"
#include "store/trace_store.h"

namespace headroom::memory_snapshot {

/// A range around an allocation.
struct Range {
  StringId name;  ///< Id in the store.
  HostEventKind kind = HostEventKind::kPythonFrame;
  bool operator==(const Range&) const = default;
};

/// Maximum number of frames kept per stack. A deeper stack keeps its innermost frames.
inline constexpr std::size_t kDeepestStack = 256;

/// The distinct frames of a snapshot: a pickle may repeat a frame in each of a million stacks.
class Frames {
 public:
  struct Frame {
    StringId file, function;  ///< Ids in the pickle.
    std::int64_t line = 0;
    auto operator<=>(const Frame&) const = default;
  };

  /// Returns the number of a frame; nullopt if the items (alternating keys and values) are not a
  /// frame.
  std::optional<std::uint32_t> Take(const PickleValues& values, std::span<const Value> items);
  const Frame& operator[](std::uint32_t number) const { return *frames_[number]; }
  std::size_t size() const { return frames_.size(); }

 private:
  std::map<Frame, std::uint32_t> numbers_;
  std::vector<const Frame*> frames_;
};

/// The last bit distinguishes two kinds of records of a pickle: frames, and entries of a history or
/// a segment.
constexpr std::uint32_t FrameRecord(std::uint32_t number) { return number << 1 | 1; }
constexpr std::uint32_t EntryRecord(std::uint32_t number) { return number << 1; }
constexpr bool IsFrameRecord(std::uint32_t record) { return (record & 1) != 0; }
constexpr std::uint32_t NumberOfRecord(std::uint32_t record) { return record >> 1; }

/// Turns the `frames` of a snapshot (innermost first; each with `filename`, `line`, `name`) into
/// ranges, outermost first:
///
/// - Python frames become "file.py(12): name". An optimizer's step and a loader's next batch also
///   become annotations with the names of PyTorch's profiler.
/// - A frame at the dispatcher's entry point becomes its operator: `at::_ops::mm::call` becomes
///   `aten::mm`.
/// - Frames of autograd are kept. Other C++ frames are dropped.
class Stacks {
 public:
  Stacks(const PickleValues& values, const Frames& frames, TraceStore& store)
      : values_(values), frames_(frames), store_(store) {}

  /// Returns the ranges of a stack; empty if the stack is missing or contains no range. The
  /// reference stays valid.
  ///
  /// @param stack  list of frame records
  const std::vector<Range>& Of(Value stack);

 private:
  struct Drawn {
    Range range, annotation;  ///< Not added if the name is none.
  };
  Drawn Draw(const Frames::Frame& frame);
  std::vector<Range> RangesOf(std::u32string_view frames);

  const PickleValues& values_;
  const Frames& frames_;
  TraceStore& store_;
  std::vector<std::optional<Drawn>> drawn_;  ///< Indexed by the frame's number.
  std::unordered_map<std::u32string, std::vector<Range>>
      stacks_;  ///< Key: the frames of the stack.
  std::u32string numbers_;
};

/// Builds ranges from the stacks of successive records. A range spans the successive records whose
/// stacks contain it. Its length is a lower bound, because the stacks between records are unknown.
class RangeWriter {
 public:
  RangeWriter(ThreadId thread, TraceStore& store) : thread_(thread), store_(store) {}

  /// Adds the stack of a record, outermost range first. Requires ascending times.
  void Add(TimeNs time, const std::vector<Range>& stack);
  /// Call it after the last record.
  void Finish() { CloseTo(0); }
  /// Returns the number of records whose stacks were skipped, because they change more often than
  /// the stacks of any real program.
  std::int64_t left_out() const { return left_out_; }

 private:
  void CloseTo(std::size_t depth);

  ThreadId thread_;
  TraceStore& store_;
  std::vector<std::pair<Range, TimeNs>> open_;  ///< Open ranges with their starts.
  TimeNs last_;
  std::int64_t records_ = 0, ranges_ = 0, left_out_ = 0;
};

}  // namespace headroom::memory_snapshot
