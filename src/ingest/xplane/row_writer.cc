#include "ingest/xplane/row_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/protobuf_reader.h"
#include "ingest/names/category.h"
#include "ingest/xplane/xplane_fields.h"

namespace headroom::xplane {
namespace {

/// Ends are computed as start + duration, which must not overflow either.
constexpr std::int64_t kFurthestNs = std::numeric_limits<std::int64_t>::max() / 4;

std::int64_t FloorToNs(std::int64_t ps) {
  constexpr std::int64_t kPsPerNs = 1000;
  return ps / kPsPerNs - (ps % kPsPerNs < 0 ? 1 : 0);
}

struct Stat {
  std::uint64_t id = 0;
  StatValue value;
  bool missing_text = false;
};

/// Returns false if the stat is damaged.
bool ReadStatMessage(std::string_view text, const PlaneTexts& texts, Stat& stat) {
  ProtobufReader reader(text);
  while (reader.Next()) {
    switch (reader.as<StatField>()) {
      case StatField::kMetadataId:
        stat.id = reader.integer();
        break;
      case StatField::kDouble:
        stat.value.type = StatValue::Type::kNumber;
        stat.value.number = reader.number();
        break;
      case StatField::kUnsigned:
        stat.value.type = StatValue::Type::kUnsigned;
        stat.value.integer = reader.signed_integer();
        break;
      case StatField::kSigned:
        stat.value.type = StatValue::Type::kSigned;
        stat.value.integer = reader.signed_integer();
        break;
      case StatField::kText:
        stat.value.type = StatValue::Type::kText;
        stat.value.text = reader.bytes();
        break;
      case StatField::kBytes:
        break;  // The bytes are messages of other formats.
      case StatField::kReference: {
        const StatText* const text_of = texts.Stat(reader.integer());
        stat.value.type = StatValue::Type::kText;
        stat.missing_text = text_of == nullptr;
        if (text_of != nullptr) stat.value.text = text_of->name;
        break;
      }
    }
  }
  return !reader.damaged();
}

/// Returns N for an allocator of a GPU named "GPU_N_bfc", else kUnknown32.
std::int32_t DeviceOfAllocator(std::string_view allocator) {
  constexpr std::string_view kPrefix = "GPU_";
  std::int32_t device = kUnknown32;
  if (!allocator.starts_with(kPrefix)) return device;
  std::from_chars(allocator.data() + kPrefix.size(), allocator.data() + allocator.size(), device);
  return device;
}

std::string_view Trimmed(std::string_view name, std::int64_t id) {
  // Drop the number in "Host Threads/12" or "python/12", because it is shown next to the name
  // anyway.
  const std::string suffix = fmt::format("/{}", id);
  if (name.ends_with(suffix)) name.remove_suffix(suffix.size());
  return name;
}

}  // namespace

void RowWriter::Add(const PlaneText& plane, std::int64_t file_bytes) {
  plane_begin_ = plane.text.data();
  plane_offset_ = plane.offset;
  budget_.HasRead(file_bytes);
  arguments_.Forget();
  kernel_details_.Forget();
  device_ = xla::DeviceOf(plane.name);
  const bool is_environment = plane.name.starts_with("Task Environment");
  if (!device_ && !is_environment && !xla::IsHostPlane(plane.name)) {
    store_.log.Add(ImportIssue::kUnreadData, plane.offset, "a plane of an unsupported kind");
    return;
  }
  if (!texts_.Read(plane.text, device_.has_value(), store_.strings, row_budget_))
    store_.log.Add(ImportIssue::kLostEvent, plane.offset, "names of a plane are damaged");
  if (is_environment) return ReadEnvironment(plane);
  if (device_) {
    plane_name_ = store_.strings.Intern(plane.name);
    DescribeDevice(plane, *device_);
  }
  ProtobufReader reader(plane.text);
  while (reader.Next()) {
    if (reader.as<PlaneField>() == PlaneField::kLine) AddLine(plane, reader.bytes());
  }
  // If the file is truncated, the stream of planes has already logged it.
  if (reader.damaged() && !plane.cut)
    store_.log.Add(ImportIssue::kLostEvent, plane.offset, "a plane is damaged");
}

void RowWriter::ReadEnvironment(const PlaneText& plane) {
  ProtobufReader reader(plane.text);
  while (reader.Next()) {
    if (reader.as<PlaneField>() != PlaneField::kStat) continue;
    Stat stat;
    if (!ReadStatMessage(reader.bytes(), texts_, stat)) continue;
    const StatText* const text = texts_.Stat(stat.id);
    if (text != nullptr && text->key == StatKey::kProfileStart)
      profile_start_ns_ = stat.value.Integer();
  }
}

void RowWriter::DescribeDevice(const PlaneText& plane, xla::DeviceName device) {
  const std::size_t row = DeviceOf(device.ordinal).index();
  auto& devices = store_.devices;
  const auto small = [](std::int64_t value) {
    const bool fits = value >= 0 && value <= std::numeric_limits<std::int32_t>::max();
    return fits ? static_cast<std::int32_t>(value) : kUnknown32;
  };
  ProtobufReader reader(plane.text);
  while (reader.Next()) {
    if (reader.as<PlaneField>() != PlaneField::kStat) continue;
    Stat stat;
    if (!ReadStatMessage(reader.bytes(), texts_, stat)) continue;
    const StatText* const text = texts_.Stat(stat.id);
    if (text == nullptr) continue;
    const std::int64_t value = stat.value.Integer();
    switch (text->key) {
      case StatKey::kCoreCount:
        devices.sm_count.MutablePending(row) = small(value);
        break;
      case StatKey::kMemoryBytes:
        if (value > 0) devices.memory_bytes.MutablePending(row) = value;
        break;
      case StatKey::kComputeMajor:
        devices.compute_major.MutablePending(row) = small(value);
        break;
      case StatKey::kComputeMinor:
        devices.compute_minor.MutablePending(row) = small(value);
        break;
      case StatKey::kDeviceType:
        if (!stat.value.text.empty())
          devices.name.MutablePending(row) = store_.strings.Intern(stat.value.text);
        break;
      default:
        break;
    }
  }
}

DeviceId RowWriter::DeviceOf(std::int64_t ordinal) {
  const auto [it, is_new] = devices_.try_emplace(ordinal, DeviceId(store_.devices.rows()));
  if (is_new) store_.devices.ordinal.MutablePending(AppendUnknown(store_.devices)) = ordinal;
  return it->second;
}

StreamId RowWriter::StreamOf(std::int64_t device, std::int64_t number) {
  const auto [it, is_new] = streams_.try_emplace({device, number}, StreamId(store_.streams.rows()));
  if (is_new) {
    const std::size_t row = AppendUnknown(store_.streams);
    store_.streams.device.MutablePending(row) = DeviceOf(device);
    store_.streams.number.MutablePending(row) = number;
  }
  return it->second;
}

ThreadId RowWriter::ThreadOf(StringId pid, StringId process_name, StringId label, std::int64_t tid,
                             std::string_view name) {
  const auto [process, new_process] =
      processes_.try_emplace(pid, ProcessId(store_.processes.rows()));
  if (new_process) {
    const std::size_t row = AppendUnknown(store_.processes);
    store_.processes.pid.MutablePending(row) = pid;
    store_.processes.name.MutablePending(row) = process_name;
    store_.processes.labels.MutablePending(row) = label;
  }
  const auto [thread, new_thread] =
      threads_.try_emplace({process->second, tid}, ThreadId(store_.threads.rows()));
  if (new_thread) {
    const std::size_t row = AppendUnknown(store_.threads);
    store_.threads.process.MutablePending(row) = process->second;
    store_.threads.tid.MutablePending(row) = store_.strings.Intern(fmt::format("{}", tid));
    if (!name.empty()) store_.threads.name.MutablePending(row) = store_.strings.Intern(name);
  }
  return thread->second;
}

void RowWriter::AddLine(const PlaneText& plane, std::string_view text) {
  std::int64_t id = 0;
  std::string_view name;
  Line line;
  bool any = false;
  ProtobufReader header(text);
  while (header.Next()) {
    switch (header.as<LineField>()) {
      case LineField::kId:
        id = header.signed_integer();
        break;
      case LineField::kName:
        name = header.bytes();
        break;
      case LineField::kTimestampNs:
        line.timestamp_ns = header.signed_integer();
        break;
      case LineField::kEvent:
        any = true;
        break;
    }
  }
  if (header.damaged() && !plane.cut)
    store_.log.Add(ImportIssue::kLostEvent, PlaceOf(text), "a line is damaged");
  if (!any) return;
  if (line.timestamp_ns < -kFurthestNs || line.timestamp_ns > kFurthestNs) {
    store_.log.Add(ImportIssue::kBadTime, PlaceOf(text), "the time of a line is out of range");
    return;
  }
  first_timestamp_ns_ = std::min(first_timestamp_ns_, line.timestamp_ns);
  if (device_) {
    // As in other profilers, a stream is a thread of its device.
    const auto stream = xla::StreamOf(name);
    const bool is_tpu = device_->kind == xla::Accelerator::kTpu;
    const bool has_work = is_tpu ? name == "XLA Ops" : stream.has_value();
    line.role = has_work ? LineRole::kStream : LineRole::kDerived;
    if (has_work) {
      line.stream = StreamOf(device_->ordinal, stream.value_or(id));
      if (is_tpu) FindNesting(text, line);
    }
    const std::string ordinal = fmt::format("{}", device_->ordinal);
    line.thread = ThreadOf(store_.strings.Intern(ordinal), plane_name_,
                           store_.strings.Intern((is_tpu ? "TPU " : "GPU ") + ordinal),
                           stream.value_or(id), name);
  } else {
    line.role = LineRole::kHost;
    line.name = name;
    line.thread = ThreadOf(store_.strings.Intern("host"), store_.strings.Intern("/host:CPU"),
                           store_.strings.Intern("CPU"), id, Trimmed(name, id));
  }
  ProtobufReader events(text);
  for (std::size_t number = 0; events.Next();) {
    if (events.as<LineField>() != LineField::kEvent) continue;
    if (!row_budget_.Add(1)) return;
    ++store_.metadata.events;
    Event event;
    event.text = events.bytes();
    event.place = PlaceOf(event.text);
    if (event.text.size() > max_event_bytes_) {
      store_.log.Add(ImportIssue::kOversizedEvent, event.place,
                     fmt::format("more than {} MiB", max_event_bytes_ >> 20));
    } else if (!ReadEvent(event.text, event)) {
      store_.log.Add(ImportIssue::kLostEvent, event.place, "an event is damaged");
    } else {
      AddEvent(event, number, line);
    }
    ++number;
  }
}

/// Finds the operations that contain others. TPU operations nest: a loop contains its body. Only
/// the innermost operations count as work.
void RowWriter::FindNesting(std::string_view text, Line& line) {
  struct Span {
    std::int64_t start, end;
    std::size_t number;
  };
  std::vector<Span> spans;
  std::size_t count = 0;
  for (ProtobufReader events(text); events.Next();) {
    if (events.as<LineField>() != LineField::kEvent) continue;
    Event event;
    if (ReadEvent(events.bytes(), event) && event.duration_ps > 0) {
      std::int64_t end = 0;
      if (!__builtin_add_overflow(event.offset_ps, event.duration_ps, &end))
        spans.push_back({event.offset_ps, end, count});
    }
    ++count;
  }
  std::stable_sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
    return a.start != b.start ? a.start < b.start : a.end > b.end;
  });
  line.holds_others.assign(count, false);
  for (std::size_t i = 0; i + 1 < spans.size(); ++i) {
    line.holds_others[spans[i].number] =
        spans[i + 1].start < spans[i].end && spans[i + 1].end <= spans[i].end;
  }
}

bool RowWriter::ReadEvent(std::string_view text, Event& event) {
  ProtobufReader reader(text);
  while (reader.Next()) {
    switch (reader.as<EventField>()) {
      case EventField::kMetadataId:
        event.metadata_id = reader.integer();
        break;
      case EventField::kOffsetPs:
        event.offset_ps = reader.signed_integer();
        break;
      case EventField::kDurationPs:
        event.duration_ps = reader.signed_integer();
        break;
      case EventField::kStat:
        event.has_stats = true;
        break;
      case EventField::kOccurrences:
        event.is_sum = true;
        break;
    }
  }
  return !reader.damaged();
}

void RowWriter::AddEvent(const Event& event, std::size_t number, const Line& line) {
  if (event.is_sum) {
    store_.log.Add(ImportIssue::kUnreadData, event.place, "sums of events without times");
    return;
  }
  const std::int64_t start = line.timestamp_ns + FloorToNs(event.offset_ps);
  if (start < -kFurthestNs || start > kFurthestNs) {
    store_.log.Add(ImportIssue::kBadTime, event.place, "out of range");
    return;
  }
  std::int64_t end_ps = 0;
  if (event.duration_ps < 0) {
    store_.log.Add(ImportIssue::kNegativeDuration, event.place);
    end_ps = event.offset_ps;
  } else if (__builtin_add_overflow(event.offset_ps, event.duration_ps, &end_ps)) {
    store_.log.Add(ImportIssue::kBadDuration, event.place, "out of range");
    end_ps = event.offset_ps;
  }
  // Computes the duration from rounded ends, so that events that nest or touch in the file also do
  // so in nanoseconds.
  const DurationNs duration(FloorToNs(end_ps) - FloorToNs(event.offset_ps));

  static constexpr EventText kNameless;
  const EventText* what = texts_.Event(event.metadata_id);
  if (what == nullptr) {
    store_.log.Add(ImportIssue::kMissingName, event.place);
    what = &kNameless;
  }
  ReadStats(event, what->stats);
  const bool holds_others = number < line.holds_others.size() && line.holds_others[number];
  if (line.role == LineRole::kStream && !holds_others) {
    AddGpuTask(TimeNs(start), duration, line, *what);
  } else {
    AddHostEvent(event, TimeNs(start), duration, line, *what);
  }
}

void RowWriter::ReadStats(const Event& event, std::string_view of_all_alike) {
  stats_ = {};
  arguments_.Clear();
  over_budget_ = !budget_.Take(of_all_alike.size());
  if (!over_budget_) {
    ProtobufReader reader(of_all_alike);
    while (reader.Next()) {
      if (reader.as<EventMetadataField>() == EventMetadataField::kStat)
        ReadStat(reader.bytes(), event.place);
    }
  }
  if (event.has_stats) {
    ProtobufReader reader(event.text);
    while (reader.Next()) {
      if (reader.as<EventField>() == EventField::kStat) ReadStat(reader.bytes(), event.place);
    }
  }
  if (!over_budget_) return;
  store_.log.Add(ImportIssue::kOversizedEvent, event.place,
                 "arguments were dropped: they repeat the same long texts too often");
}

void RowWriter::ReadStat(std::string_view message, std::int64_t place) {
  Stat stat;
  if (!ReadStatMessage(message, texts_, stat)) {
    store_.log.Add(ImportIssue::kLostEvent, place, "an argument");
    return;
  }
  const StatText* const text = texts_.Stat(stat.id);
  if (text == nullptr || stat.missing_text) {
    store_.log.Add(ImportIssue::kMissingName, place, "an argument");
    return;
  }
  const StatValue& value = stat.value;
  if (!budget_.Take(value.text.size())) {
    over_budget_ = true;
    return;
  }
  switch (text->key) {
    case StatKey::kCorrelation:
      stats_.correlation = value.Integer();
      return;
    case StatKey::kGraphNode:
      stats_.graph_node = value.Integer();
      return;
    case StatKey::kProduces:
      stats_.produces = value.Integer();
      return;
    case StatKey::kProducesKind:
      stats_.produces_kind = value.Integer();
      return;
    case StatKey::kConsumes:
      stats_.consumes = value.Integer();
      return;
    case StatKey::kConsumesKind:
      stats_.consumes_kind = value.Integer();
      return;
    case StatKey::kRoot:
      return;  // Redundant: kStep already marks the event as a step.
    case StatKey::kKernelDetails:
      stats_.kernel_details = value.text;
      return;
    case StatKey::kOccupancy:
      stats_.occupancy_pct = value.number;
      return;
    case StatKey::kStep:
      stats_.step = value.Integer();
      break;
    case StatKey::kCopyDetails:
      stats_.copy_details = value.text;
      break;
    case StatKey::kHloOp:
      stats_.hlo_op = value.text;
      break;
    case StatKey::kTfOp:
      stats_.tf_op = value.text;
      break;
    case StatKey::kAllocationBytes:
      stats_.allocation_bytes = value.Integer();
      break;
    case StatKey::kAddress:
      stats_.address = value.Integer();
      break;
    case StatKey::kAllocatedBytes:
      stats_.allocated = value.Integer();
      break;
    case StatKey::kReservedBytes:
      stats_.reserved = value.Integer();
      break;
    case StatKey::kAllocator:
      stats_.allocator = value.text;
      break;
    default:
      break;
  }
  if (value.type == StatValue::Type::kNone) return;
  if (budget_.Take(text->name.size())) {
    arguments_.Add(text->name, value);
  } else {
    over_budget_ = true;
  }
}

void RowWriter::AddHostEvent(const Event& event, TimeNs start, DurationNs duration,
                             const Line& line, const EventText& what) {
  HostEventKind kind = what.host_kind;
  StringId name = what.name.valid() ? what.name : StringId(0u);
  StringId category = what.category.valid() ? what.category : StringId(0u);
  StringId args;
  if (line.role != LineRole::kHost) {
    kind = HostEventKind::kGpuAnnotation;
    category = store_.strings.Intern(xla::CategoryOf(kind, {}));
    args = arguments_.Text(store_.strings);
  } else if (kind == HostEventKind::kAnnotation && stats_.step != kUnknown) {
    // StepTraceAnnotation: its name stays in the arguments.
    arguments_.Add("name", StatValue::OfText(store_.Text(name)));
    args = arguments_.Text(store_.strings);
    name = store_.strings.Intern(fmt::format("step#{}", stats_.step));
    category = store_.strings.Intern(xla::kStepCategory);
  } else if (xla::IsEndOfThunk(store_.Text(name), line.name)) {
    kind = HostEventKind::kOther;
    category = store_.strings.Intern(xla::CategoryOf(kind, {}));
    args = arguments_.Text(store_.strings);
  } else if (xla::IsThunk(kind, store_.Text(name), stats_.hlo_op)) {
    kind = HostEventKind::kOperator;
    category = store_.strings.Intern(xla::CategoryOf(kind, {}));
    args = arguments_.Text(store_.strings);
  } else if (const std::string_view call =
                 xla::CallNamedByWork(kind, store_.Text(name), stats_.correlation, stats_.step);
             !call.empty()) {
    kind = HostEventKind::kDriverCall;
    category = store_.strings.Intern(xla::CategoryOf(kind, {}));
    name = store_.strings.Intern(call);
    args = arguments_.Text(store_.strings);
  } else if (what.allocates != 0 && stats_.allocation_bytes >= 0) {
    AddMemoryEvent(start, line, what.allocates);
  } else {
    args = arguments_.Text(store_.strings);
  }
  auto& rows = store_.host_events;
  rows.start.Append(start);
  rows.duration.Append(duration);
  rows.name.Append(name);
  rows.category.Append(category);
  rows.thread.Append(line.thread);
  rows.kind.Append(kind);
  rows.correlation.Append(stats_.correlation);
  rows.external_id.Append(kUnknown);
  rows.sequence.Append(kUnknown);
  rows.forward_thread.Append(kUnknown32);
  rows.python_id.Append(kUnknown32);
  rows.python_parent_id.Append(kUnknown32);
  rows.event_index.Append(kUnknown32);
  rows.record_function.Append(kUnknown32);
  rows.args.Append(args);
  if (event.has_stats) AddFlows(start, line.thread);
}

void RowWriter::AddFlows(TimeNs time, ThreadId thread) {
  const auto add = [&](std::int64_t id, std::int64_t kind, FlowPhase phase) {
    if (id == kUnknown) return;
    auto& rows = store_.flows;
    rows.time.Append(time);
    rows.category.Append(store_.strings.Intern(kind == kUnknown ? std::string("context")
                                                                : fmt::format("context {}", kind)));
    rows.id.Append(id);
    rows.phase.Append(phase);
    rows.thread.Append(thread);
  };
  add(stats_.produces, stats_.produces_kind, FlowPhase::kStart);
  add(stats_.consumes, stats_.consumes_kind, FlowPhase::kFinish);
}

void RowWriter::AddMemoryEvent(TimeNs time, const Line& line, std::int64_t sign) {
  constexpr std::int32_t kOnGpu = 1;
  const std::int32_t device = DeviceOfAllocator(stats_.allocator);
  if (device == kUnknown32) return;
  auto& rows = store_.memory_events;
  rows.time.Append(time);
  rows.thread.Append(line.thread);
  rows.address.Append(stats_.address);
  rows.bytes.Append(sign * stats_.allocation_bytes);
  rows.total_allocated_bytes.Append(stats_.allocated);
  rows.total_reserved_bytes.Append(stats_.reserved);
  rows.device_type.Append(kOnGpu);
  rows.device.Append(device);
  rows.event_index.Append(kUnknown32);
}

void RowWriter::AddGpuTask(TimeNs start, DurationNs duration, const Line& line,
                           const EventText& what) {
  const StringId name = what.name.valid() ? what.name : StringId(0u);
  const xla::KernelDetails& details = kernel_details_.Of(stats_.kernel_details);
  std::int32_t occupancy = details.occupancy_pct;
  if (stats_.occupancy_pct > 0 && stats_.occupancy_pct <= 100)
    occupancy = static_cast<std::int32_t>(std::lround(stats_.occupancy_pct));
  const StringId args = arguments_.Text(store_.strings);
  auto& rows = store_.gpu_tasks;
  rows.start.Append(start);
  rows.duration.Append(duration);
  rows.name.Append(name);
  rows.stream.Append(line.stream);
  rows.kind.Append(what.gpu_kind);
  rows.copy.Append(what.gpu_kind == GpuTaskKind::kMemcpy ? CopyKindOf(store_.Text(name))
                                                         : CopyKind::kNotACopy);
  rows.correlation.Append(stats_.correlation);
  rows.external_id.Append(kUnknown);
  rows.grid_x.Append(details.grid[0]);
  rows.grid_y.Append(details.grid[1]);
  rows.grid_z.Append(details.grid[2]);
  rows.block_x.Append(details.block[0]);
  rows.block_y.Append(details.block[1]);
  rows.block_z.Append(details.block[2]);
  rows.registers.Append(details.registers);
  rows.shared_memory.Append(details.shared_memory);
  rows.occupancy_pct.Append(occupancy);
  rows.graph_node.Append(stats_.graph_node);
  rows.bytes.Append(stats_.copy_details.empty() ? kUnknown
                                                : xla::BytesOfDetails(stats_.copy_details));
  rows.args.Append(args);
  const std::string_view op = !stats_.hlo_op.empty() ? stats_.hlo_op : stats_.tf_op;
  if (stats_.correlation != kUnknown && !op.empty())
    operators_.Note(stats_.correlation, store_.strings.Intern(op), name, args);
}

void RowWriter::Finish() {
  operators_.Settle(store_);
  // Timestamps count from the start of the profile, or are Unix times if no tool shifted them.
  if (profile_start_ns_ == kUnknown || first_timestamp_ns_ == INT64_MAX) return;
  store_.metadata.base_time_ns = first_timestamp_ns_ < profile_start_ns_ ? profile_start_ns_ : 0;
}

}  // namespace headroom::xplane
