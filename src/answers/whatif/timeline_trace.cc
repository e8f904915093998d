#include "answers/whatif/timeline_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <set>
#include <string_view>

#include "render/escape.h"
#include "render/json_writer.h"

namespace headroom {
namespace {

/// Process id of the tracks of transfer channels. Process ids of a job never have this value.
constexpr std::string_view kTransfersProcess = R"("pid":"headroom transfers")";

std::string Us(std::int64_t ns) { return DecimalOf(ns, 3); }

/// Returns a process or thread id as JSON: a number in most traces, a string in some.
std::string IdJson(std::string_view text) {
  const bool number = !text.empty() && text.size() < 18 && text.front() != '0' &&
                      std::all_of(text.begin(), text.end(), [](char c) {
                        return std::isdigit(static_cast<unsigned char>(c));
                      });
  return number || text == "0" ? std::string(text) : JsonString(text);
}

std::string_view CategoryOf(GpuTaskKind kind) {
  switch (kind) {
    case GpuTaskKind::kKernel:
      return "kernel";
    case GpuTaskKind::kMemcpy:
      return "gpu_memcpy";
    case GpuTaskKind::kMemset:
      return "gpu_memset";
  }
  return "kernel";
}

class TraceWriter {
 public:
  TraceWriter(const Job& job, const Timeline& timeline) : job_(job), timeline_(timeline) {}

  std::string Run(const std::string& scenario) {
    const TraceMetadata& metadata = job_.store().metadata;
    Add("{{\"schemaVersion\":1,\"displayTimeUnit\":\"ms\",\"headroom_scenario\":{},\n",
        JsonString(scenario));
    WriteDevices();
    if (metadata.cuda_driver_version)
      Add("\"cuda_driver_version\":{},\n", *metadata.cuda_driver_version);
    if (metadata.rank && metadata.world_size) {
      Add("\"distributedInfo\":{{\"rank\":{},\"world_size\":{}}},\n", *metadata.rank,
          *metadata.world_size);
    }
    Add("\"traceEvents\":[");
    WriteTracks();
    for (const TimelineStep& step : timeline_.steps) {
      Event();
      Add(R"({{"ph":"X","cat":"user_annotation","name":"ProfilerStep#{}",{},"ts":{},"dur":{}}})",
          step.index, Track(step.thread), Us(step.start_ns), Us(step.duration_ns));
    }
    for (const TimelineSpan& call : timeline_.calls) WriteCall(call);
    for (const TimelineSpan& task : timeline_.gpu_tasks) WriteGpuTask(task);
    for (const TimelineSpan& transfer : timeline_.transfers) WriteTransfer(transfer);
    Add("\n]}}\n");
    return std::move(out_);
  }

 private:
  template <typename... Args>
  void Add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }

  void Event() {
    out_ += first_ ? "\n" : ",\n";
    first_ = false;
  }

  std::string Track(ThreadId thread) const {
    if (!thread.valid()) return R"("pid":0,"tid":0)";
    const TraceStore& store = job_.store();
    const ProcessId process = store.threads.process[thread.index()];
    return fmt::format(R"("pid":{},"tid":{})",
                       IdJson(store.Text(store.processes.pid[process.index()])),
                       IdJson(store.Text(store.threads.tid[thread.index()])));
  }

  std::int64_t DeviceOf(StreamId stream) const {
    const DeviceId device = job_.store().streams.device[stream.index()];
    return std::max<std::int64_t>(0, job_.store().devices.ordinal[device.index()]);
  }

  std::int64_t NumberOf(StreamId stream) const {
    return job_.store().streams.number[stream.index()];
  }

  void WriteDevices() {
    const auto& devices = job_.store().devices;
    Add("\"deviceProperties\":[");
    for (std::size_t row = 0; row < devices.rows(); ++row) {
      Add("{}{{\"id\":{},\"name\":{}", row == 0 ? "" : ",",
          std::max<std::int64_t>(0, devices.ordinal[row]),
          JsonString(job_.store().Text(devices.name[row])));
      const auto known = [&](const char* key, std::int64_t value, std::int64_t unknown) {
        if (value != unknown) Add(",\"{}\":{}", key, value);
      };
      known("totalGlobalMem", devices.memory_bytes[row], kUnknown);
      known("computeMajor", devices.compute_major[row], kUnknown32);
      known("computeMinor", devices.compute_minor[row], kUnknown32);
      known("numSms", devices.sm_count[row], kUnknown32);
      Add("}}");
    }
    Add("],\n");
  }

  /// Names the tracks in use.
  void WriteTracks() {
    std::set<std::string> processes;
    std::set<std::int64_t> devices;
    std::set<StreamId> streams;
    for (const TimelineSpan& task : timeline_.gpu_tasks) {
      if (streams.insert(task.stream).second) devices.insert(DeviceOf(task.stream));
    }
    for (const TimelineSpan& call : timeline_.calls) {
      if (!processes.insert(Track(call.thread)).second) continue;
      Event();
      Add(R"({{"ph":"M","name":"process_labels",{},"args":{{"labels":"CPU"}}}})",
          Track(call.thread));
    }
    for (const std::int64_t device : devices) {
      Event();
      Add(R"({{"ph":"M","name":"process_labels","pid":{},"tid":0,"args":{{"labels":"GPU {}"}}}})",
          device, device);
    }
    for (const StreamId stream : streams) {
      const std::int64_t number = NumberOf(stream);
      Event();
      Add(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":"stream {}"}}}})",
          DeviceOf(stream), number, number);
    }
    WriteChannelTracks();
  }

  void WriteChannelTracks() {
    if (timeline_.channels.empty()) return;
    Event();
    Add(R"({{"ph":"M","name":"process_name",{},"tid":0,"args":{{"name":"transfers"}}}})",
        kTransfersProcess);
    for (std::size_t channel = 0; channel < timeline_.channels.size(); ++channel) {
      Event();
      Add(R"({{"ph":"M","name":"thread_name",{},"tid":{},"args":{{"name":{}}}}})",
          kTransfersProcess, channel, JsonString(timeline_.channels[channel]));
    }
  }

  /// Uses a category that readers of the trace do not treat as GPU work, because a transfer has no
  /// stream and no launch.
  void WriteTransfer(const TimelineSpan& transfer) {
    Event();
    Add(R"({{"ph":"X","cat":"headroom_transfer","name":{},{},"tid":{},"ts":{},"dur":{},)"
        R"("args":{{"headroom":"inserted"}}}})",
        JsonString(transfer.name), kTransfersProcess, transfer.channel, Us(transfer.start_ns),
        Us(transfer.duration_ns));
  }

  void WriteCommonArgs(const TimelineSpan& span) {
    if (span.correlation != 0) Add(",\"correlation\":{}", span.correlation);
    if (span.mark != SpanMark::kNone)
      Add(",\"headroom\":\"{}\"", span.mark == SpanMark::kChanged ? "changed" : "inserted");
    if (span.origin == kNoTask) return;
    const HostContext& context = job_.ContextOf(span.origin);
    if (!context.op.valid()) return;
    const TraceStore& store = job_.store();
    Add(",\"operator\":{}", JsonString(store.Text(store.host_events.name[context.op.index()])));
    // The name is not "External id" as in a recording, because this file does not contain the
    // operator.
    const std::int64_t external_id = store.host_events.external_id[context.op.index()];
    if (external_id != kUnknown) Add(",\"recorded_external_id\":{}", external_id);
  }

  void WriteCall(const TimelineSpan& call) {
    const TraceStore& store = job_.store();
    const bool driver =
        call.origin != kNoTask &&
        store.host_events.kind[job_.graph().tasks[call.origin].row] == HostEventKind::kDriverCall;
    Event();
    Add(R"({{"ph":"X","cat":"{}","name":{},{},"ts":{},"dur":{},"args":{{"cbid":0)",
        driver ? "cuda_driver" : "cuda_runtime", JsonString(call.name), Track(call.thread),
        Us(call.start_ns), Us(call.duration_ns));
    WriteCommonArgs(call);
    Add("}}}}");
  }

  void WriteGpuTask(const TimelineSpan& task) {
    const auto& tasks = job_.store().gpu_tasks;
    const bool recorded = task.origin != kNoTask;
    const std::uint32_t row = recorded ? job_.graph().tasks[task.origin].row : 0;
    const std::int64_t device = DeviceOf(task.stream);
    const std::int64_t stream = NumberOf(task.stream);
    Event();
    Add(R"({{"ph":"X","cat":"{}","name":{},"pid":{},"tid":{},"ts":{},"dur":{},)"
        R"("args":{{"device":{},"stream":{})",
        CategoryOf(recorded ? tasks.kind[row] : GpuTaskKind::kKernel), JsonString(task.name),
        device, stream, Us(task.start_ns), Us(task.duration_ns), device, stream);
    if (recorded && tasks.bytes[row] != kUnknown) Add(",\"bytes\":{}", tasks.bytes[row]);
    if (recorded && tasks.grid_x[row] != kUnknown32) {
      Add(",\"grid\":[{},{},{}],\"block\":[{},{},{}]", tasks.grid_x[row], tasks.grid_y[row],
          tasks.grid_z[row], tasks.block_x[row], tasks.block_y[row], tasks.block_z[row]);
    }
    WriteCommonArgs(task);
    Add("}}}}");
  }

  const Job& job_;
  const Timeline& timeline_;
  std::string out_;
  bool first_ = true;
};

}  // namespace

std::string RenderTimeline(const Job& job, const Timeline& timeline, const std::string& scenario) {
  return TraceWriter(job, timeline).Run(scenario);
}

}  // namespace headroom
