// Call stacks of allocations as the ranges that a profiler would have drawn around them.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
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

/// Turns the `frames` of a snapshot (innermost first; each a `filename`, a `line`, a `name`) into
/// ranges, outermost first. Python's frames stay, as "file.py(12): name"; an optimizer's step and a
/// loader's next batch are annotations, too, as PyTorch's profiler names them. Of C++ frames remain
/// the dispatcher's entry of an operator (`at::_ops::mm::call` is `aten::mm`) and those of
/// autograd.
class Stacks {
 public:
  Stacks(const PickleValues& values, TraceStore& store) : values_(values), store_(store) {}

  /// Empty where there is no stack, or it says nothing. The reference holds until the next call.
  const std::vector<Range>& Of(Value frames);

 private:
  struct Frame {
    Range range, annotation;  ///< A name that is none: nothing.
  };
  const Frame& FrameOf(Value frame);
  Frame MakeFrame(Value frame);

  const PickleValues& values_;
  TraceStore& store_;
  std::unordered_map<std::int64_t, Frame> frames_;               ///< By the dictionary's number.
  std::unordered_map<std::int64_t, std::vector<Range>> stacks_;  ///< By the list's number.
  std::vector<Range> none_;
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
