#include "capture/activity_tracks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "capture/metrics/board/clock.h"

namespace headroom {
namespace {

GpuTaskWork WorkOf(activity::Work work) {
  switch (work) {
    case activity::Work::kMemcpy:
      return GpuTaskWork::kMemcpy;
    case activity::Work::kMemset:
      return GpuTaskWork::kMemset;
    case activity::Work::kKernel:
      break;
  }
  return GpuTaskWork::kKernel;
}

/// Arguments of one event. The caller owns the strings.
class Args {
 public:
  template <typename Value>
  void Add(std::string_view name, Value value) {
    args_[count_++] = {name, value};
  }
  void Add(std::string_view name, std::uint64_t value) {
    Add(name, static_cast<std::int64_t>(value));
  }
  std::span<const TraceArg> span() const { return {args_.data(), count_}; }

 private:
  std::array<TraceArg, 12> args_;
  std::size_t count_ = 0;
};

std::string_view SeverityText(activity::Severity severity) {
  return severity == activity::Severity::kWarning ? "warning" : "info";
}

}  // namespace

void ActivityTracks::OnGpuTask(const activity::GpuTask& task) {
  constexpr std::size_t kMaxHeld = std::size_t{1} << 14;
  const std::optional<bool> wanted = launches_.SawTask(task.start, task.end, task.correlation);
  if (wanted.value_or(false)) {
    WriteTask(task);
  } else if (!wanted && held_.size() < kMaxHeld) {
    held_.emplace(task.correlation, HeldTask{task, std::string(task.name)});
  }
}

void ActivityTracks::WriteTask(const activity::GpuTask& task) {
  ++events_;
  const bool kernel = task.work == activity::Work::kKernel;
  const auto extent = [](const std::uint32_t(&n)[3]) {
    return fmt::format("{},{},{}", n[0], n[1], n[2]);
  };
  const std::string grid = kernel ? extent(task.kernel.grid) : "";
  const std::string block = kernel ? extent(task.kernel.block) : "";
  Args args;
  args.Add("correlation", std::uint64_t{task.correlation});
  args.Add("context", std::uint64_t{task.context});
  if (task.graph_node != 0) args.Add("graph_node", task.graph_node);
  if (kernel) {
    args.Add("grid", std::string_view(grid));
    args.Add("block", std::string_view(block));
    args.Add("registers", std::uint64_t{task.kernel.registers});
    args.Add("shared_memory", std::uint64_t{task.kernel.shared_memory});
  } else {
    args.Add("bytes", task.bytes);
    if (!task.copy.empty()) args.Add("copy", task.copy);
  }
  const TimeNs start = clock_->TimeOf(task.start);
  threads_->encoder().GpuTask(
      {.device = static_cast<std::int32_t>(task.device),
       .stream = task.stream,
       .kind = WorkOf(task.work),
       .name = task.name,
       .start = start,
       .duration = std::max(clock_->TimeOf(task.end) - start, DurationNs(0)),
       .args = args.span()});
}

void ActivityTracks::AddSlice(std::uint32_t tid, std::uint64_t start, std::uint64_t end,
                              std::string_view name, std::string_view category,
                              std::int64_t correlation) {
  if (!gate_->Open(start)) return;
  TraceEncoder& encoder = threads_->encoder();
  slices_.push_back(
      {tid, start, end, encoder.Intern(name), encoder.Category(category), correlation});
}

void ActivityTracks::OnApiCall(const activity::ApiCall& call) {
  launches_.SawCall(call.name, call.start, call.correlation);
  for (auto held = held_.find(call.correlation); held != held_.end();
       held = held_.find(call.correlation)) {
    HeldTask& launched = held->second;
    launched.task.name = launched.name;
    if (gate_->Open(call.start)) WriteTask(launched.task);
    held_.erase(held);
  }
  AddSlice(call.tid, call.start, call.end, call.name, call.driver ? "cuda_driver" : "cuda_runtime",
           call.correlation);
}

void ActivityTracks::OnOverhead(const activity::Overhead& overhead) {
  AddSlice(overhead.tid, overhead.start, overhead.end, overhead.name, "overhead");
}

void ActivityTracks::OnSync(const activity::Sync& sync) {
  // The waiting call is recorded separately; this event records its target.
  if (!gate_->Open(sync.start)) return;
  ++events_;
  if (waits_ == 0)
    waits_ = threads_->encoder().ChildTrack(threads_->process(), "waits for GPU work");
  Args args;
  args.Add("correlation", std::uint64_t{sync.correlation});
  if (sync.stream != activity::SyncPayload::kNone) args.Add("stream", std::uint64_t{sync.stream});
  if (sync.event != activity::SyncPayload::kNone) args.Add("event", std::uint64_t{sync.event});
  TraceEncoder& encoder = threads_->encoder();
  const TimeNs start = clock_->TimeOf(sync.start);
  encoder.Begin(waits_, start, encoder.Intern(sync.name), encoder.Category("cuda_sync"),
                args.span());
  encoder.End(waits_, std::max(clock_->TimeOf(sync.end), start));
}

void ActivityTracks::OnRange(const activity::Range& range) {
  AddSlice(range.tid, range.start, range.end, range.name, "user_annotation");
}

void ActivityTracks::OnMessage(const activity::Message& message) {
  constexpr std::size_t kMaxWarnings = 20;
  if (message.severity == activity::Severity::kWarning && warnings_.size() < kMaxWarnings) {
    warnings_.push_back(message.text.empty() ? fmt::format("{} ({})", message.what, message.value)
                                             : std::string(message.text));
  }
  TraceEncoder& encoder = threads_->encoder();
  if (self_track_ == 0) self_track_ = encoder.ChildTrack(threads_->process(), "headroom: CUPTI");
  Args args;
  args.Add("value", message.value);
  if (!message.text.empty()) args.Add("text", message.text);
  args.Add("severity", SeverityText(message.severity));
  encoder.Instant(self_track_, clock_->TimeOf(message.ticks), encoder.Intern(message.what),
                  encoder.Category("headroom"), args.span());
}

bool ActivityTracks::Settling() const {
  // The last calls come with CUPTI's records, which the library in the program requests every 200
  // ms.
  constexpr DurationNs kCallsAreTold(500'000'000), kMax(10'000'000'000);
  const std::optional<std::uint64_t> end = gate_->end();
  if (!end) return false;
  const DurationNs since = MonotonicNow() - clock_->TimeOf(*end);
  return since < kCallsAreTold || (launches_.awaited() > 0 && since < kMax);
}

std::int64_t ActivityTracks::Flush() {
  // Outer before inner: of two begins with equal timestamps, viewers treat the first as the outer
  // one.
  std::sort(slices_.begin(), slices_.end(), [](const Slice& a, const Slice& b) {
    return std::tie(a.tid, a.start, b.end) < std::tie(b.tid, b.start, a.end);
  });
  TraceEncoder& encoder = threads_->encoder();
  for (const Slice& slice : slices_) {
    if (slice.tid == 0 && no_thread_ == 0)
      no_thread_ = encoder.ChildTrack(threads_->process(), "CUPTI, on no thread");
    const TraceEncoder::Track track =
        slice.tid == 0 ? no_thread_ : threads_->Of(static_cast<std::int32_t>(slice.tid), "");
    const TimeNs start = clock_->TimeOf(slice.start);
    Args args;
    if (slice.correlation >= 0) args.Add("correlation", slice.correlation);
    encoder.Begin(track, start, slice.name, slice.category, args.span());
    // Writes the end directly after the begin, so that readers can pair them in file order.
    encoder.End(track, std::max(clock_->TimeOf(slice.end), start));
  }
  events_ += static_cast<std::int64_t>(slices_.size());
  slices_.clear();
  return std::exchange(events_, 0);
}

}  // namespace headroom
