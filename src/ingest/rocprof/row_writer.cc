#include "ingest/rocprof/row_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ingest/names/category.h"
#include "ingest/names/rocm_kernels.h"

namespace headroom::rocprof {
namespace {

struct SectionName {
  std::string_view name;
  Section section;
};

constexpr SectionName kSections[] = {
    {"kernel_dispatch", Section::kKernels},
    {"kernel_dispatches", Section::kKernels},  // Name before ROCm 6.2.
    {"memory_copy", Section::kCopies},
    {"memory_copies", Section::kCopies},  // Name before ROCm 6.2.
    {"hip_api", Section::kHipCalls},
    {"hsa_api", Section::kHsaCalls},
    {"marker_api", Section::kMarkers},
    {"rccl_api", Section::kCommunication},
    {"memory_allocation", Section::kAllocations},
    {"scratch_memory", Section::kScratch},
    {"rocdecode_api", Section::kOtherCalls},
    {"rocjpeg_api", Section::kOtherCalls},
    {"hipfile_api", Section::kOtherCalls},
    {"rocshmem_api", Section::kOtherCalls},
};

/// Data that a recording should have, and the flag of rocprofv3 that records it.
struct Collectable {
  Section section;
  std::string_view what;
  std::string_view flag;
};
constexpr Collectable kCollectable[] = {
    {Section::kKernels, "kernels", "--kernel-trace"},
    {Section::kHipCalls, "HIP calls", "--hip-trace"},
    {Section::kCopies, "copies", "--memory-copy-trace"},
    {Section::kMarkers, "ranges", "--marker-trace"},
};

/// Latest valid timestamp in ns. Later ones count as damage, so that start + duration cannot
/// overflow.
constexpr std::uint64_t kFurthest = std::numeric_limits<std::int64_t>::max() / 4;

/// Device type HIP in PyTorch's numbering.
constexpr std::int32_t kHip = 6;

constexpr std::uint64_t kMaxKinds = 4096;

std::int32_t Fit(std::uint64_t value) {
  return value <= std::numeric_limits<std::int32_t>::max() ? static_cast<std::int32_t>(value)
                                                           : kUnknown32;
}

std::int64_t Fit64(std::uint64_t value) {
  return value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())
             ? static_cast<std::int64_t>(value)
             : kUnknown;
}

}  // namespace

std::optional<Section> SectionOf(std::string_view name) {
  for (const SectionName& known : kSections) {
    if (known.name == name) return known.section;
  }
  return std::nullopt;
}

std::size_t RowWriter::BeginProcess() {
  auto process = std::make_unique<Process>();
  process->number = processes_.size();
  process->id = ProcessId(AppendUnknown(store_.processes));
  store_.processes.pid.MutablePending(process->id.index()) =
      store_.strings.Intern(fmt::format("process {}", process->number + 1));
  at_ = processes_.emplace_back(std::move(process)).get();
  return at_->number;
}

void RowWriter::GoOnWith(std::size_t process) { at_ = processes_[process].get(); }

void RowWriter::EndProcess() {
  for (const Unnamed& row : at_->unnamed) {
    if (Name(row)) continue;
    store_.log.Add(ImportIssue::kMissingName, row.offset);
    const bool on_gpu = row.section == Section::kKernels || row.section == Section::kCopies;
    auto& name = on_gpu ? store_.gpu_tasks.name : store_.host_events.name;
    name.MutablePending(row.row) = store_.strings.Intern(
        row.section == Section::kKernels ? fmt::format("(kernel {})", row.kernel)
        : on_gpu                         ? std::string("(copy)")
                                         : std::string("(unnamed call)"));
  }
  SumUpMemory();
  AppendCounters();
  processes_[at_->number].reset();
  at_ = nullptr;
}

void RowWriter::Add(const Metadata& metadata) {
  if (metadata.pid != kAbsent) {
    store_.processes.pid.MutablePending(at_->id.index()) =
        store_.strings.Intern(std::to_string(metadata.pid));
  }
  if (!metadata.program.empty()) {
    store_.processes.name.MutablePending(at_->id.index()) = store_.strings.Intern(metadata.program);
  }
}

void RowWriter::Add(const Agent& agent) {
  if (agent.id != kAbsent) at_->agents[agent.id] = agent;
}

void RowWriter::Add(const KernelSymbol& symbol) {
  if (symbol.id == kAbsent || symbol.name.empty()) return;
  const std::uint64_t registers =
      symbol.vector_registers == kAbsent
          ? kAbsent
          : symbol.vector_registers + (symbol.accumulators == kAbsent ? 0 : symbol.accumulators);
  at_->symbols[symbol.id] = {store_.strings.Intern(WithoutDescriptor(symbol.name)), Fit(registers)};
}

void RowWriter::Add(const KindNames& names) {
  if (at_->operations.size() >= kMaxKinds) return;
  std::vector<StringId>& ids = at_->operations.emplace_back();
  ids.reserve(names.operations.size());
  for (const std::string& name : names.operations) ids.push_back(store_.strings.Intern(name));
}

void RowWriter::Add(const CounterName& counter) {
  if (counter.id != kAbsent && !counter.name.empty())
    at_->counters[counter.id] = store_.strings.Intern(counter.name);
}

void RowWriter::AddMarkerText(std::uint64_t correlation, std::string_view text) {
  if (correlation != kAbsent) at_->marker_texts[correlation] = store_.strings.Intern(text);
}

template <typename Named>
StringId RowWriter::OperationOf(const Named& record) const {
  if (record.name.valid()) return record.name;
  const auto& operations = at_->operations;
  if (record.kind >= operations.size() || record.operation >= operations[record.kind].size())
    return {};
  return operations[record.kind][record.operation];
}

template <typename Named>
StringId RowWriter::TextOf(const Named& record) const {
  if (record.text.valid()) return record.text;
  const auto text = at_->marker_texts.find(record.correlation);
  return text == at_->marker_texts.end() ? StringId() : text->second;
}

std::int64_t RowWriter::CorrelationOf(std::uint64_t correlation) const {
  constexpr std::size_t kMaxProcesses = std::size_t{1} << 20;
  if (correlation == 0) return kUnknown;
  if (correlation > UINT32_MAX || at_->number >= kMaxProcesses) return Fit64(correlation);
  return static_cast<std::int64_t>(correlation | std::uint64_t{at_->number} << 32);
}

ThreadId RowWriter::ThreadOf(std::uint64_t tid) {
  if (at_->last_thread.valid() && tid == at_->last_tid) return at_->last_thread;
  const auto [it, is_new] = at_->threads.try_emplace(tid, ThreadId(store_.threads.rows()));
  if (is_new) {
    const std::size_t row = AppendUnknown(store_.threads);
    store_.threads.process.MutablePending(row) = at_->id;
    store_.threads.tid.MutablePending(row) =
        store_.strings.Intern(tid == kAbsent ? std::string("unknown") : std::to_string(tid));
  }
  at_->last_tid = tid;
  return at_->last_thread = it->second;
}

ThreadId RowWriter::TrackOf(std::string_view name) {
  const auto known = at_->tracks.find(name);
  if (known != at_->tracks.end()) return known->second;
  const ThreadId thread(store_.threads.rows());
  const std::size_t row = AppendUnknown(store_.threads);
  store_.threads.process.MutablePending(row) = at_->id;
  store_.threads.tid.MutablePending(row) = store_.strings.Intern(name);
  at_->tracks.emplace(name, thread);
  return thread;
}

bool RowWriter::IsGpu(std::uint64_t agent) const {
  const auto known = at_->agents.find(agent);
  return known != at_->agents.end() && known->second.type == Agent::kGpu;
}

DeviceId RowWriter::DeviceOf(std::uint64_t agent) {
  const auto known = at_->agents.find(agent);
  const bool has_number = known != at_->agents.end() && known->second.number <= kFurthest;
  const std::int64_t number = has_number ? static_cast<std::int64_t>(known->second.number) : -1;
  const auto [it, is_new] = devices_.try_emplace(number, DeviceId(store_.devices.rows()));
  if (!is_new) return it->second;
  const std::size_t row = AppendUnknown(store_.devices);
  auto& rows = store_.devices;
  rows.ordinal.MutablePending(row) = number;
  if (known == at_->agents.end()) return it->second;
  const Agent& properties = known->second;
  const std::string& name = properties.product.empty() ? properties.name : properties.product;
  if (!name.empty()) rows.name.MutablePending(row) = store_.strings.Intern(name);
  if (properties.memory_bytes > 0)
    rows.memory_bytes.MutablePending(row) = Fit64(properties.memory_bytes);
  if (properties.compute_units > 0)
    rows.sm_count.MutablePending(row) = Fit(properties.compute_units);
  // Uses 9 and 4 for gfx942, as PyTorch does. The file states it as 90402.
  constexpr std::uint64_t kLargestArchitecture = 999'999;
  if (properties.architecture > 0 && properties.architecture <= kLargestArchitecture) {
    rows.compute_major.MutablePending(row) = Fit(properties.architecture / 10'000);
    rows.compute_minor.MutablePending(row) = Fit(properties.architecture / 100 % 100);
  }
  return it->second;
}

StreamId RowWriter::StreamOf(std::uint64_t agent, std::uint64_t number) {
  if (at_->last_stream.valid() && agent == at_->last_agent && number == at_->last_number)
    return at_->last_stream;
  // Uses the device as the key, because all undescribed agents share one device.
  const DeviceId device = DeviceOf(agent);
  const auto [it, is_new] =
      at_->streams.try_emplace({device, number}, StreamId(store_.streams.rows()));
  if (is_new) {
    const std::size_t row = AppendUnknown(store_.streams);
    store_.streams.device.MutablePending(row) = device;
    store_.streams.number.MutablePending(row) =
        number <= kFurthest ? static_cast<std::int64_t>(number) : -1;
  }
  at_->last_agent = agent;
  at_->last_number = number;
  return at_->last_stream = it->second;
}

void RowWriter::Add(const Record& record, Section section, std::string_view category,
                    std::int64_t offset) {
  ++store_.metadata.events;
  ++counts_[static_cast<std::size_t>(section)];
  if (record.start == 0 || record.start > kFurthest) {
    store_.log.Add(ImportIssue::kBadTime, offset,
                   record.start == kAbsent ? "missing" : "out of range");
    return;
  }
  const TimeNs start(static_cast<std::int64_t>(record.start));
  extent_.See(start);
  DurationNs duration(0);
  if (record.end == kAbsent) {
    store_.log.Add(ImportIssue::kMissingDuration, offset);
  } else if (record.end < record.start) {
    store_.log.Add(ImportIssue::kNegativeDuration, offset);
  } else if (record.end > kFurthest) {
    store_.log.Add(ImportIssue::kBadDuration, offset);
  } else {
    duration = DurationNs(static_cast<std::int64_t>(record.end - record.start));
  }
  switch (section) {
    case Section::kKernels:
    case Section::kCopies:
      return AddTask(record, section, start, duration, offset);
    case Section::kMarkers:
      return AddMarker(record, start, duration, offset);
    case Section::kAllocations:
      return AddAllocation(record, start + duration, offset);
    case Section::kHipCalls:
    case Section::kHsaCalls:
    case Section::kCommunication:
    case Section::kScratch:
    case Section::kOtherCalls:
    case Section::kCount:
      return AddCall(record, section, category, start, duration, offset);
  }
}

void RowWriter::Add(DispatchCounters counters) {
  ++store_.metadata.events;
  at_->counted.push_back(std::move(counters));
}

void RowWriter::AppendCounters() {
  std::stable_sort(at_->counted.begin(), at_->counted.end(),
                   [](const DispatchCounters& a, const DispatchCounters& b) {
                     return a.dispatch.start < b.dispatch.start;
                   });
  for (const DispatchCounters& counted : at_->counted) {
    const Record& dispatch = counted.dispatch;
    const bool has_time =
        dispatch.start > 0 && dispatch.start < dispatch.end && dispatch.end <= kFurthest;
    std::map<StringId, double> sums;
    for (const auto& [id, value] : counted.values) {
      const auto name = at_->counters.find(id);
      if (has_time && name != at_->counters.end() && std::isfinite(value)) {
        sums[name->second] += value;
      } else {
        ++unread_counters_;
      }
    }
    if (sums.empty()) continue;
    const DeviceId device = DeviceOf(dispatch.agent);
    const StringId series = store_.strings.Intern(
        fmt::format("GPU {}", store_.devices.ordinal.Pending(device.index())));
    const ThreadId track = TrackOf("GPU counters");
    for (const auto& entry : sums) {
      const StringId name = entry.first;
      const double sum = entry.second;
      const auto append = [&](std::uint64_t time, double value) {
        auto& rows = store_.counters;
        const std::size_t row = AppendUnknown(rows);
        rows.time.MutablePending(row) = TimeNs(static_cast<std::int64_t>(time));
        rows.name.MutablePending(row) = name;
        rows.series.MutablePending(row) = series;
        rows.thread.MutablePending(row) = track;
        rows.value.MutablePending(row) = value;
      };
      if (!std::isfinite(sum)) continue;
      // Viewers interpolate between samples. Without the samples of 0, the counter would be a ramp.
      append(dispatch.start, 0);
      append(dispatch.start, sum);
      append(dispatch.end, sum);
      append(dispatch.end, 0);
    }
  }
  at_->counted = {};
}

void RowWriter::AddTask(const Record& record, Section section, TimeNs start, DurationNs duration,
                        std::int64_t offset) {
  auto& rows = store_.gpu_tasks;
  const bool is_kernel = section == Section::kKernels;
  // Assigns a copy to its GPU; a copy between two GPUs to the destination.
  const std::uint64_t agent = is_kernel                   ? record.agent
                              : IsGpu(record.destination) ? record.destination
                              : IsGpu(record.source)      ? record.source
                                                          : record.destination;
  const std::uint64_t number = record.stream != kAbsent ? record.stream
                               : is_kernel              ? record.queue
                                                        : kAbsent;
  const StreamId stream = StreamOf(agent, number);
  const std::size_t row = AppendUnknown(rows);
  rows.start.MutablePending(row) = start;
  rows.duration.MutablePending(row) = duration;
  rows.stream.MutablePending(row) = stream;
  rows.kind.MutablePending(row) = is_kernel ? GpuTaskKind::kKernel : GpuTaskKind::kMemcpy;
  rows.copy.MutablePending(row) = is_kernel ? CopyKind::kNotACopy : CopyKind::kOther;
  rows.correlation.MutablePending(row) = CorrelationOf(record.correlation);
  if (is_kernel) {
    std::int32_t* const blocks[] = {&rows.grid_x.MutablePending(row),
                                    &rows.grid_y.MutablePending(row),
                                    &rows.grid_z.MutablePending(row)};
    std::int32_t* const threads[] = {&rows.block_x.MutablePending(row),
                                     &rows.block_y.MutablePending(row),
                                     &rows.block_z.MutablePending(row)};
    for (std::size_t axis = 0; axis < record.grid.size(); ++axis) {
      const std::uint64_t all = record.grid[axis], of_block = record.workgroup[axis];
      if (all == kAbsent || of_block == kAbsent || of_block == 0) continue;
      *threads[axis] = Fit(of_block);
      *blocks[axis] = Fit(all / of_block + (all % of_block != 0 ? 1 : 0));
    }
    rows.shared_memory.MutablePending(row) = Fit(record.group_bytes);
    args_.clear();
    if (record.stream != kAbsent && record.queue != kAbsent)
      args_ = fmt::format("\"queue\": {}", record.queue);
    if (record.private_bytes != kAbsent && record.private_bytes > 0) {
      args_ += fmt::format("{}\"private_segment_size\": {}", args_.empty() ? "" : ", ",
                           record.private_bytes);
    }
    if (!args_.empty()) rows.args.MutablePending(row) = store_.strings.Intern(args_);
  } else {
    rows.bytes.MutablePending(row) = Fit64(record.bytes);
  }
  NameNowOrLater(record, section, row, offset);
}

std::size_t RowWriter::AppendHostEvent(TimeNs start, DurationNs duration, StringId category,
                                       ThreadId thread, HostEventKind kind) {
  auto& rows = store_.host_events;
  const std::size_t row = AppendUnknown(rows);
  rows.start.MutablePending(row) = start;
  rows.duration.MutablePending(row) = duration;
  rows.category.MutablePending(row) = category;
  rows.thread.MutablePending(row) = thread;
  rows.kind.MutablePending(row) = kind;
  return row;
}

void RowWriter::AddCall(const Record& record, Section section, std::string_view category,
                        TimeNs start, DurationNs duration, std::int64_t offset) {
  // The runtime allocates scratch memory during other calls, so these spans get a separate track.
  const ThreadId thread =
      section == Section::kScratch ? TrackOf("scratch memory") : ThreadOf(record.thread);
  const std::size_t row = AppendHostEvent(start, duration, store_.strings.Intern(category), thread,
                                          HostKindOf(RuleOfCategory(category)));
  if (section != Section::kScratch)
    store_.host_events.correlation.MutablePending(row) = CorrelationOf(record.correlation);
  NameNowOrLater(record, section, row, offset);
}

void RowWriter::AddMarker(const Record& record, TimeNs start, DurationNs duration,
                          std::int64_t offset) {
  const StringId category = store_.strings.Intern("marker_api");
  const std::string_view operation = store_.Text(OperationOf(record));
  if (operation.starts_with("roctxMark")) {
    const StringId text = TextOf(record);
    auto& rows = store_.instants;
    const std::size_t row = AppendUnknown(rows);
    rows.time.MutablePending(row) = start;
    rows.category.MutablePending(row) = category;
    rows.thread.MutablePending(row) = ThreadOf(record.thread);
    rows.name.MutablePending(row) = text.valid() ? text : store_.strings.Intern("(unnamed mark)");
    return;
  }
  // Ranges that begin and end on any thread do not nest, so they get a separate track.
  const ThreadId thread = operation.starts_with("roctxRangeSt") ? TrackOf("ROCTx start-stop ranges")
                                                                : ThreadOf(record.thread);
  const std::size_t row =
      AppendHostEvent(start, duration, category, thread, HostEventKind::kAnnotation);
  NameNowOrLater(record, Section::kMarkers, row, offset);
}

void RowWriter::AddAllocation(const Record& record, TimeNs time, std::int64_t offset) {
  const std::string_view operation = store_.Text(OperationOf(record));
  const bool is_free = operation.find("FREE") != std::string_view::npos;
  const std::int64_t bytes = Fit64(record.bytes);
  if (!is_free && (bytes < 0 || record.bytes > kFurthest)) {
    store_.log.Add(ImportIssue::kMissingName, offset, "an allocation without a size was dropped");
    return;
  }
  at_->allocations.push_back({time, static_cast<std::int64_t>(record.address), is_free ? 0 : bytes,
                              record.agent, ThreadOf(record.thread), is_free});
}

void RowWriter::NameNowOrLater(const Record& record, Section section, std::size_t row,
                               std::int64_t offset) {
  const Unnamed unnamed = {section,
                           static_cast<std::uint32_t>(row),
                           record.kind,
                           record.operation,
                           record.correlation,
                           record.kernel,
                           record.name,
                           record.text,
                           offset};
  if (!Name(unnamed)) at_->unnamed.push_back(unnamed);
}

bool RowWriter::Name(const Unnamed& row) {
  switch (row.section) {
    case Section::kKernels: {
      const auto symbol = at_->symbols.find(row.kernel);
      if (symbol == at_->symbols.end()) return false;
      store_.gpu_tasks.name.MutablePending(row.row) = symbol->second.name;
      store_.gpu_tasks.registers.MutablePending(row.row) = symbol->second.registers;
      const GpuTaskKind kind = KindOfRocmKernel(store_.Text(symbol->second.name));
      store_.gpu_tasks.kind.MutablePending(row.row) = kind;
      if (kind == GpuTaskKind::kMemcpy)
        store_.gpu_tasks.copy.MutablePending(row.row) = CopyKind::kOther;
      return true;
    }
    case Section::kCopies: {
      const StringId name = OperationOf(row);
      if (!name.valid()) return false;
      store_.gpu_tasks.name.MutablePending(row.row) = name;
      store_.gpu_tasks.copy.MutablePending(row.row) = CopyKindOf(store_.Text(name));
      return true;
    }
    case Section::kMarkers: {
      const StringId operation = OperationOf(row);
      const StringId text = TextOf(row);
      // ROCTx calls that mark no range have no text, or an unrelated text.
      const bool has_text =
          text.valid() && store_.Text(operation) != std::string_view("roctxGetThreadId");
      if (!has_text && !operation.valid()) return false;
      const StringId name = has_text ? text : operation;
      if (budget_.Take(store_.Text(name).size())) {
        ranges_.Describe(store_, row.row, store_.Text(name));
      } else {
        store_.host_events.name.MutablePending(row.row) = name;
      }
      return true;
    }
    default: {
      const StringId name = OperationOf(row);
      if (!name.valid()) return false;
      store_.host_events.name.MutablePending(row.row) = name;
      return true;
    }
  }
}

void RowWriter::SumUpMemory() {
  std::stable_sort(at_->allocations.begin(), at_->allocations.end(),
                   [](const Allocation& a, const Allocation& b) { return a.time < b.time; });
  std::map<std::int64_t, Allocation>
      live;  // Allocations by address, because a free records only its address.
  std::map<std::uint64_t, std::int64_t> totals;  // Allocated bytes by agent.
  for (Allocation& record : at_->allocations) {
    if (record.is_free) {
      const auto allocated = live.find(record.address);
      if (allocated == live.end()) continue;  // Allocated before the recording, or host memory.
      record.agent = allocated->second.agent;
      record.bytes = -allocated->second.bytes;
      live.erase(allocated);
    } else if (IsGpu(record.agent)) {
      live[record.address] = record;
    } else {
      continue;
    }
    std::int64_t& total = totals[record.agent];
    total = std::clamp<std::int64_t>(total + record.bytes, 0, kFurthest);
    const DeviceId device = DeviceOf(record.agent);
    auto& rows = store_.memory_events;
    const std::size_t row = AppendUnknown(rows);
    rows.time.MutablePending(row) = record.time;
    rows.thread.MutablePending(row) = record.thread;
    rows.address.MutablePending(row) = record.address;
    rows.bytes.MutablePending(row) = record.bytes;
    rows.total_reserved_bytes.MutablePending(row) = total;
    rows.device_type.MutablePending(row) = kHip;
    rows.device.MutablePending(row) =
        Fit(static_cast<std::uint64_t>(store_.devices.ordinal.Pending(device.index())));
  }
}

void RowWriter::TellMissing() {
  std::string kinds;
  for (const Collectable& kind : kCollectable) {
    if (counts_[static_cast<std::size_t>(kind.section)] > 0) continue;
    kinds += fmt::format("{}{} ({})", kinds.empty() ? "" : ", ", kind.what, kind.flag);
  }
  if (!kinds.empty())
    store_.log.Add(ImportIssue::kNotCollected, -1, "rocprofv3 flags that record them: " + kinds);
}

void RowWriter::Finish() {
  ranges_.Mark(store_);
  TellMissing();
}

}  // namespace headroom::rocprof
