#include "store/store_builder.h"

#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>

#include "store/kineto_args.h"

namespace headroom {
namespace {

/// Assigns row ids to keys and adds a row at the first use of a key.
template <typename Id, typename Key>
class Rows {
 public:
  template <typename Append>
  Id Of(const Key& key, Append append) {
    const auto [it, is_new] = ids_.try_emplace(key, Id(ids_.size()));
    if (is_new) append();
    return it->second;
  }

 private:
  std::map<Key, Id> ids_;
};

std::string_view CopyName(CopyKind kind) {
  switch (kind) {
    case CopyKind::kHostToDevice:
      return "Memcpy HtoD (Pageable -> Device)";
    case CopyKind::kDeviceToHost:
      return "Memcpy DtoH (Device -> Pageable)";
    case CopyKind::kDeviceToDevice:
      return "Memcpy DtoD (Device -> Device)";
    case CopyKind::kPeer:
      return "Memcpy PtoP (Device -> Device)";
    default:
      return "Memcpy";
  }
}

}  // namespace

StoreBuilder::HostEvent& StoreBuilder::HostEvent::Shapes(std::string_view dims,
                                                         std::string_view types) {
  args_ = fmt::format("\"{}\": {}, \"{}\": {}", kInputDimsArg, dims, kInputTypesArg, types);
  return *this;
}

StoreBuilder::HostEvent& StoreBuilder::HostEvent::Args(std::string_view members) {
  args_ = members;
  return *this;
}

StoreBuilder& StoreBuilder::InProcess(std::string_view pid) {
  process_ = pid;
  return *this;
}

StoreBuilder::HostEvent& StoreBuilder::AddHost(HostEventKind kind, std::string_view category,
                                               std::string_view name, std::int64_t thread,
                                               std::int64_t start, std::int64_t duration) {
  HostEvent& event = host_.emplace_back();
  event.kind_ = kind;
  event.category_ = category;
  event.name_ = name;
  event.process_ = process_;
  event.thread_ = thread;
  event.start_ns_ = start * scale_;
  event.duration_ns_ = duration * scale_;
  return event;
}

StoreBuilder::HostEvent& StoreBuilder::Op(std::string_view name, std::int64_t thread,
                                          std::int64_t start, std::int64_t duration) {
  return AddHost(HostEventKind::kOperator, "cpu_op", name, thread, start, duration);
}

StoreBuilder::HostEvent& StoreBuilder::Annotation(std::string_view name, std::int64_t thread,
                                                  std::int64_t start, std::int64_t duration) {
  return AddHost(HostEventKind::kAnnotation, "user_annotation", name, thread, start, duration);
}

StoreBuilder::HostEvent& StoreBuilder::Step(std::int64_t number, std::int64_t thread,
                                            std::int64_t start, std::int64_t duration) {
  return Annotation("ProfilerStep#" + std::to_string(number), thread, start, duration);
}

StoreBuilder::HostEvent& StoreBuilder::Region(std::string_view name, std::int64_t thread,
                                              std::int64_t start, std::int64_t duration) {
  return AddHost(HostEventKind::kAnnotation, "region", name, thread, start, duration);
}

StoreBuilder::HostEvent& StoreBuilder::GpuRegion(std::string_view name, std::int64_t start,
                                                 std::int64_t duration) {
  constexpr std::int64_t kTrack = 1'000'000;  // Does not collide with tracks that tests choose.
  return AddHost(HostEventKind::kGpuAnnotation, "gpu_region", name, kTrack, start, duration);
}

StoreBuilder& StoreBuilder::Counter(std::string_view name, std::string_view series,
                                    std::string_view unit, std::int64_t time, double value) {
  samples_.push_back(
      {process_, std::string(name), std::string(series), std::string(unit), time * scale_, value});
  return *this;
}

StoreBuilder& StoreBuilder::Instant(std::string_view category, std::string_view name,
                                    std::int64_t time, std::string_view args) {
  points_.push_back(
      {process_, std::string(category), std::string(name), std::string(args), 0, time * scale_});
  return *this;
}

StoreBuilder& StoreBuilder::Stack(std::string_view stack, std::int64_t thread, std::int64_t time,
                                  std::int64_t samples) {
  points_.push_back({process_, "stack", std::string(stack),
                     "\"samples\":" + std::to_string(samples), thread, time * scale_});
  return *this;
}

StoreBuilder& StoreBuilder::Memory(std::int64_t thread, std::int64_t time, std::int64_t address,
                                   std::int64_t bytes, std::int64_t total, std::int64_t reserved) {
  memory_.push_back({process_, thread, time * scale_, address, bytes, total, reserved});
  return *this;
}

StoreBuilder::HostEvent& StoreBuilder::Frame(std::string_view name, std::int64_t thread,
                                             std::int64_t start, std::int64_t duration) {
  return AddHost(HostEventKind::kPythonFrame, "python_function", name, thread, start, duration);
}

StoreBuilder::HostEvent& StoreBuilder::Call(std::string_view name, std::int64_t thread,
                                            std::int64_t start, std::int64_t duration,
                                            std::optional<std::int64_t> correlation) {
  return AddHost(HostEventKind::kRuntimeCall, "cuda_runtime", name, thread, start, duration)
      .Correlation(correlation.value_or(kUnknown));
}

StoreBuilder::HostEvent& StoreBuilder::DriverCall(std::string_view name, std::int64_t thread,
                                                  std::int64_t start, std::int64_t duration,
                                                  std::optional<std::int64_t> correlation) {
  return AddHost(HostEventKind::kDriverCall, "cuda_driver", name, thread, start, duration)
      .Correlation(correlation.value_or(kUnknown));
}

StoreBuilder::HostEvent& StoreBuilder::Event(HostEventKind kind, std::string_view name,
                                             std::int64_t thread, std::int64_t start,
                                             std::int64_t duration) {
  return AddHost(kind, "", name, thread, start, duration);
}

StoreBuilder::GpuTask& StoreBuilder::AddTask(GpuTaskKind kind, std::string_view name,
                                             std::int64_t stream, std::int64_t start,
                                             std::int64_t duration,
                                             std::optional<std::int64_t> correlation) {
  GpuTask& task = tasks_.emplace_back();
  task.kind_ = kind;
  task.name_ = name;
  task.stream_ = stream;
  task.start_ns_ = start * scale_;
  task.duration_ns_ = duration * scale_;
  task.correlation_ = correlation.value_or(kUnknown);
  return task;
}

StoreBuilder::GpuTask& StoreBuilder::Kernel(std::string_view name, std::int64_t stream,
                                            std::int64_t start, std::int64_t duration,
                                            std::optional<std::int64_t> correlation) {
  return AddTask(GpuTaskKind::kKernel, name, stream, start, duration, correlation);
}

StoreBuilder::GpuTask& StoreBuilder::Copy(CopyKind kind, std::string_view name, std::int64_t stream,
                                          std::int64_t start, std::int64_t duration,
                                          std::optional<std::int64_t> correlation) {
  GpuTask& task = AddTask(GpuTaskKind::kMemcpy, name, stream, start, duration, correlation);
  task.copy_ = kind;
  return task;
}

StoreBuilder::GpuTask& StoreBuilder::Copy(CopyKind kind, std::int64_t stream, std::int64_t start,
                                          std::int64_t duration,
                                          std::optional<std::int64_t> correlation) {
  return Copy(kind, CopyName(kind), stream, start, duration, correlation);
}

StoreBuilder::GpuTask& StoreBuilder::Set(std::int64_t stream, std::int64_t start,
                                         std::int64_t duration,
                                         std::optional<std::int64_t> correlation) {
  return AddTask(GpuTaskKind::kMemset, "Memset (Device)", stream, start, duration, correlation);
}

StoreBuilder::GpuTask& StoreBuilder::Launch(std::string_view op, std::int64_t thread,
                                            std::int64_t start, std::string_view kernel,
                                            std::int64_t stream, std::int64_t kernel_start,
                                            std::int64_t kernel_duration) {
  const std::int64_t correlation = next_correlation_++;
  Op(op, thread, start, 2);
  Call("cudaLaunchKernel", thread, start, 1, correlation);
  return Kernel(kernel, stream, kernel_start, kernel_duration, correlation);
}

StoreBuilder::GpuTask& StoreBuilder::GpuTask::Collective(std::string_view name,
                                                         std::string_view dtype, std::int64_t sent,
                                                         std::int64_t received,
                                                         std::int64_t ranks) {
  collective_ = name;
  dtype_ = dtype;
  sent_ = sent;
  received_ = received;
  ranks_ = ranks;
  return *this;
}

StoreBuilder& StoreBuilder::NameDevice(std::int64_t ordinal, std::string_view name) {
  device_names_.emplace_back(ordinal, name);
  return *this;
}

StoreBuilder& StoreBuilder::SizeDevice(std::int64_t ordinal, std::int32_t sms,
                                       std::int64_t memory_bytes,
                                       std::pair<std::int32_t, std::int32_t> capability) {
  device_sizes_.push_back({ordinal, sms, memory_bytes, capability});
  return *this;
}

std::unique_ptr<TraceStore> StoreBuilder::Build() const {
  auto store = std::make_unique<TraceStore>();
  store->metadata.format = "test";
  store->metadata.events = static_cast<std::int64_t>(host_.size() + tasks_.size());
  const auto text = [&](std::string_view s) { return store->strings.Intern(s); };

  Rows<ProcessId, std::string> processes;
  Rows<ThreadId, std::pair<std::string, std::int64_t>> threads;
  Rows<DeviceId, std::int64_t> devices;
  Rows<StreamId, std::pair<std::int64_t, std::int64_t>> streams;
  const auto device_of = [&](std::int64_t ordinal, StringId name) {
    return devices.Of(ordinal, [&] {
      const std::size_t row = AppendUnknown(store->devices);
      store->devices.ordinal.MutablePending(row) = ordinal;
      store->devices.name.MutablePending(row) = name;
    });
  };
  for (const auto& [ordinal, name] : device_names_) device_of(ordinal, text(name));
  for (const DeviceSize& size : device_sizes_) {
    const std::size_t row = device_of(size.ordinal, StringId()).index();
    store->devices.sm_count.MutablePending(row) = size.sms;
    store->devices.memory_bytes.MutablePending(row) = size.memory_bytes;
    store->devices.compute_major.MutablePending(row) = size.capability.first;
    store->devices.compute_minor.MutablePending(row) = size.capability.second;
  }

  const auto thread_of = [&](const std::string& in_process, std::int64_t number) {
    const ProcessId process = processes.Of(in_process, [&] {
      store->processes.pid.MutablePending(AppendUnknown(store->processes)) = text(in_process);
    });
    return threads.Of({in_process, number}, [&] {
      const std::size_t row = AppendUnknown(store->threads);
      store->threads.process.MutablePending(row) = process;
      store->threads.tid.MutablePending(row) = text(std::to_string(number));
    });
  };
  auto& events = store->host_events;
  for (const HostEvent& event : host_) {
    const ThreadId thread = thread_of(event.process_, event.thread_);
    const std::size_t row = AppendUnknown(events);
    events.start.MutablePending(row) = TimeNs(event.start_ns_);
    events.duration.MutablePending(row) = DurationNs(event.duration_ns_);
    events.name.MutablePending(row) = text(event.name_);
    events.category.MutablePending(row) = text(event.category_);
    events.thread.MutablePending(row) = thread;
    events.kind.MutablePending(row) = event.kind_;
    events.correlation.MutablePending(row) = event.correlation_;
    events.sequence.MutablePending(row) = event.sequence_;
    events.forward_thread.MutablePending(row) = event.forward_thread_;
    events.args.MutablePending(row) = event.args_.empty() ? StringId::None() : text(event.args_);
  }

  auto& tasks = store->gpu_tasks;
  for (const GpuTask& task : tasks_) {
    const DeviceId device = device_of(task.device_, StringId::None());
    const StreamId stream = streams.Of({task.device_, task.stream_}, [&] {
      const std::size_t row = AppendUnknown(store->streams);
      store->streams.device.MutablePending(row) = device;
      store->streams.number.MutablePending(row) = task.stream_;
    });
    const std::size_t row = AppendUnknown(tasks);
    tasks.start.MutablePending(row) = TimeNs(task.start_ns_);
    tasks.duration.MutablePending(row) = DurationNs(task.duration_ns_);
    tasks.name.MutablePending(row) = text(task.name_);
    tasks.stream.MutablePending(row) = stream;
    tasks.kind.MutablePending(row) = task.kind_;
    tasks.copy.MutablePending(row) = task.copy_;
    tasks.correlation.MutablePending(row) = task.correlation_;
    tasks.bytes.MutablePending(row) = task.bytes_;
    tasks.grid_x.MutablePending(row) = task.blocks_;
    tasks.block_x.MutablePending(row) = task.threads_;
    if (task.collective_.empty()) continue;
    auto& collectives = store->collectives;
    const std::size_t collective = AppendUnknown(collectives);
    collectives.task.MutablePending(collective) = GpuTaskId(row);
    collectives.name.MutablePending(collective) = text(task.collective_);
    collectives.dtype.MutablePending(collective) = text(task.dtype_);
    collectives.in_elements.MutablePending(collective) = task.sent_;
    collectives.out_elements.MutablePending(collective) = task.received_;
    collectives.group_size.MutablePending(collective) = task.ranks_;
  }

  // Counters and points have only a process, so their thread is 0.
  const auto track = [&](const std::string& of) { return thread_of(of, 0); };
  const auto text_or_none = [&](std::string_view s) {
    return s.empty() ? StringId::None() : text(s);
  };
  auto& counters = store->counters;
  for (const Sample& sample : samples_) {
    const std::size_t row = AppendUnknown(counters);
    counters.time.MutablePending(row) = TimeNs(sample.time_ns);
    counters.name.MutablePending(row) = text(sample.name);
    counters.series.MutablePending(row) = text(sample.series);
    counters.unit.MutablePending(row) = text_or_none(sample.unit);
    counters.thread.MutablePending(row) = track(sample.process);
    counters.value.MutablePending(row) = sample.value;
  }
  auto& instants = store->instants;
  for (const Point& point : points_) {
    const std::size_t row = AppendUnknown(instants);
    instants.time.MutablePending(row) = TimeNs(point.time_ns);
    instants.name.MutablePending(row) = text(point.name);
    instants.category.MutablePending(row) = text(point.category);
    instants.thread.MutablePending(row) = thread_of(point.process, point.thread);
    instants.args.MutablePending(row) = text_or_none(point.args);
  }
  auto& memory = store->memory_events;
  for (const MemoryRecord& record : memory_) {
    const std::size_t row = AppendUnknown(memory);
    memory.time.MutablePending(row) = TimeNs(record.time_ns);
    memory.thread.MutablePending(row) = thread_of(record.process, record.thread);
    memory.address.MutablePending(row) = record.address;
    memory.bytes.MutablePending(row) = record.bytes;
    memory.total_allocated_bytes.MutablePending(row) = record.total;
    memory.total_reserved_bytes.MutablePending(row) = record.reserved;
    memory.device_type.MutablePending(row) = 1;
    memory.device.MutablePending(row) = 0;
  }
  store->Freeze(1);
  return store;
}

}  // namespace headroom
