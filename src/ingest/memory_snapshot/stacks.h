// Call stacks of allocations as the ranges that a profiler would have drawn around them.
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
  StringId name;  ///< In the store.
  HostEventKind kind = HostEventKind::kPythonFrame;
  bool operator==(const Range&) const = default;
};

/// The deepest stack that is kept, in frames: of a deeper one the innermost.
inline constexpr std::size_t kDeepestStack = 256;

/// The frames of a snapshot, each once: a pickle may hold the same one with each of a million
/// stacks.
class Frames {
 public:
  struct Frame {
    StringId file, function;  ///< In the pickle.
    std::int64_t line = 0;
    auto operator<=>(const Frame&) const = default;
  };

  /// The number of a frame; nullopt: the items, keys and values in turn, are of none.
  std::optional<std::uint32_t> Take(const PickleValues& values, std::span<const Value> items);
  const Frame& operator[](std::uint32_t number) const { return *frames_[number]; }
  std::size_t size() const { return frames_.size(); }

 private:
  std::map<Frame, std::uint32_t> numbers_;
  std::vector<const Frame*> frames_;
};

/// Records of a pickle are of two kinds, told by their last bit: frames, and what a history or a
/// segment lists.
constexpr std::uint32_t FrameRecord(std::uint32_t number) { return number << 1 | 1; }
constexpr std::uint32_t EntryRecord(std::uint32_t number) { return number << 1; }
constexpr bool IsFrameRecord(std::uint32_t record) { return (record & 1) != 0; }
constexpr std::uint32_t NumberOfRecord(std::uint32_t record) { return record >> 1; }

/// Turns the `frames` of a snapshot (innermost first; each a `filename`, a `line`, a `name`) into
/// ranges, outermost first. Python's frames stay, as "file.py(12): name"; an optimizer's step and a
/// loader's next batch are annotations, too, as PyTorch's profiler names them. Of C++ frames remain
/// the dispatcher's entry of an operator (`at::_ops::mm::call` is `aten::mm`) and those of
/// autograd.
class Stacks {
 public:
  Stacks(const PickleValues& values, const Frames& frames, TraceStore& store)
      : values_(values), frames_(frames), store_(store) {}

  /// Empty where there is no stack, or it says nothing. The reference stays valid.
  ///
  /// @param stack  a list of records of frames
  const std::vector<Range>& Of(Value stack);

 private:
  struct Drawn {
    Range range, annotation;  ///< A name that is none: nothing.
  };
  Drawn Draw(const Frames::Frame& frame);
  std::vector<Range> RangesOf(std::u32string_view frames);

  const PickleValues& values_;
  const Frames& frames_;
  TraceStore& store_;
  std::vector<std::optional<Drawn>> drawn_;                        ///< By the frame's number.
  std::unordered_map<std::u32string, std::vector<Range>> stacks_;  ///< By their frames.
  std::u32string numbers_;
};

/// Draws ranges from the stacks of successive records: one reaches from the first record in a row
/// that has it to the last. A lower bound: nothing is known of the time between records.
class RangeWriter {
 public:
  RangeWriter(ThreadId thread, TraceStore& store) : thread_(thread), store_(store) {}

  /// The stack of a record, outermost first. Times ascend.
  void Add(TimeNs time, const std::vector<Range>& stack);
  /// After the last record.
  void Finish() { CloseTo(0); }
  /// Records whose stacks were not drawn: they change more than any program's do.
  std::int64_t left_out() const { return left_out_; }

 private:
  void CloseTo(std::size_t depth);

  ThreadId thread_;
  TraceStore& store_;
  std::vector<std::pair<Range, TimeNs>> open_;  ///< With their start.
  TimeNs last_;
  std::int64_t records_ = 0, ranges_ = 0, left_out_ = 0;
};

}  // namespace headroom::memory_snapshot
