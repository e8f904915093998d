#include "ingest/kineto/xla_tracks.h"

#include <fmt/format.h>

#include <charconv>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ingest/kineto/streams.h"
#include "ingest/names/category.h"
#include "ingest/names/rocm_kernels.h"
#include "ingest/names/xla_names.h"
#include "ingest/names/xla_operators.h"
#include "store/args_text.h"

namespace headroom::kineto {
namespace {

/// Maximum number of events that the writer keeps. It drops the latest ones.
constexpr std::size_t kMaxEvents = 1'000'000;

/// The role of a track's events.
struct Track {
  enum class Role : std::uint8_t { kOther, kHost, kStream, kDerived } role = Role::kOther;
  StreamId stream;
};

/// Returns the tracks, indexed by thread; empty if no track is XLA's.
std::vector<Track> FindTracks(TraceStore& store) {
  std::vector<Track> tracks(store.threads.rows());
  Streams streams(store);
  bool any = false;
  for (std::size_t t = 0; t < tracks.size(); ++t) {
    const std::size_t process = store.threads.process.Pending(t).index();
    const std::string_view name = store.Text(store.processes.name.Pending(process));
    const std::string_view line = store.Text(store.threads.name.Pending(t));
    if (const auto device = xla::DeviceOf(name)) {
      const bool is_tpu = device->kind == xla::Accelerator::kTpu;
      const auto stream = xla::StreamOf(line);
      const bool has_work = is_tpu ? line == "XLA Ops" : stream.has_value();
      tracks[t].role = has_work ? Track::Role::kStream : Track::Role::kDerived;
      if (has_work) tracks[t].stream = streams.Of(device->ordinal, stream.value_or(0));
      any = true;
    } else if (name.find("/host:CPU") != std::string_view::npos) {
      tracks[t].role = Track::Role::kHost;
      any = true;
    }
  }
  if (!any) tracks.clear();
  return tracks;
}

/// Returns a member of an event's arguments, which this writer always puts in quotes.
std::string_view ArgOf(const TraceStore& store, StringId args, std::string_view key) {
  std::string_view value = FindMember(store.Text(args), key);
  if (value.size() >= 2 && value.front() == '"') value = value.substr(1, value.size() - 2);
  return value;
}

std::int64_t NumberInText(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size() && !text.empty();
  return whole ? value : kUnknown;
}

void AppendTask(std::size_t row, StreamId stream, xla::LaunchedOperators& operators,
                TraceStore& store) {
  const auto& host = store.host_events;
  const StringId args = host.args.Pending(row);
  const StringId name = store.strings.Intern(WithoutDescriptor(store.Text(host.name.Pending(row))));
  const GpuTaskKind kind = xla::GpuKindOf(store.Text(name));
  const xla::KernelDetails details = xla::ParseKernelDetails(ArgOf(store, args, "kernel_details"));
  const std::int64_t correlation = NumberInText(ArgOf(store, args, "correlation_id"));
  const std::string_view of_copy = ArgOf(store, args, "memcpy_details");
  const std::string_view of_fill = ArgOf(store, args, "memset_details");
  auto& tasks = store.gpu_tasks;
  const std::size_t task = AppendUnknown(tasks);
  tasks.start.MutablePending(task) = host.start.Pending(row);
  tasks.duration.MutablePending(task) = host.duration.Pending(row);
  tasks.name.MutablePending(task) = name;
  tasks.stream.MutablePending(task) = stream;
  tasks.kind.MutablePending(task) = kind;
  if (kind == GpuTaskKind::kMemcpy) tasks.copy.MutablePending(task) = CopyKindOf(store.Text(name));
  tasks.correlation.MutablePending(task) = correlation;
  tasks.grid_x.MutablePending(task) = details.grid[0];
  tasks.grid_y.MutablePending(task) = details.grid[1];
  tasks.grid_z.MutablePending(task) = details.grid[2];
  tasks.block_x.MutablePending(task) = details.block[0];
  tasks.block_y.MutablePending(task) = details.block[1];
  tasks.block_z.MutablePending(task) = details.block[2];
  tasks.registers.MutablePending(task) = details.registers;
  tasks.shared_memory.MutablePending(task) = details.shared_memory;
  tasks.occupancy_pct.MutablePending(task) = details.occupancy_pct;
  tasks.bytes.MutablePending(task) = xla::BytesOfDetails(of_copy.empty() ? of_fill : of_copy);
  tasks.args.MutablePending(task) = args;
  std::string_view op = ArgOf(store, args, "hlo_op");
  if (op.empty()) op = ArgOf(store, args, "tf_op");
  if (correlation != kUnknown && !op.empty())
    operators.Note(correlation, store.strings.Intern(std::string(op)), name, args);
}

/// Sets the kind, name, category and correlation id of a host span.
void TellHostEvent(std::size_t row, TraceStore& store) {
  auto& host = store.host_events;
  const StringId args = host.args.Pending(row);
  const std::string_view name = store.Text(host.name.Pending(row));
  HostEventKind kind = xla::HostKindOf(name);
  if (xla::IsEndOfThunk(name,
                        store.Text(store.threads.name.Pending(host.thread.Pending(row).index()))))
    kind = HostEventKind::kOther;
  if (args.valid()) {
    const std::string_view full_name = ArgOf(store, args, "long_name");
    const bool is_tensorflow = xla::IsTensorFlowOperation(name, full_name);
    if (is_tensorflow || xla::IsThunk(kind, name, ArgOf(store, args, "hlo_op")))
      kind = HostEventKind::kOperator;
    if (is_tensorflow) host.name.MutablePending(row) = store.strings.Intern(std::string(full_name));
  }
  std::int64_t step = kUnknown;
  if (args.valid()) {
    const std::int64_t correlation = NumberInText(ArgOf(store, args, "correlation_id"));
    host.correlation.MutablePending(row) = correlation;
    step = NumberInText(ArgOf(store, args, "step_num"));
    const std::string_view call = xla::CallNamedByWork(kind, name, correlation, step);
    if (!call.empty()) {
      kind = HostEventKind::kDriverCall;
      host.name.MutablePending(row) = store.strings.Intern(call);
    }
  }
  std::string_view category = xla::CategoryOf(kind, name);
  if (kind == HostEventKind::kAnnotation && step != kUnknown) {
    host.name.MutablePending(row) = store.strings.Intern(fmt::format("step#{}", step));
    category = xla::kStepCategory;
  }
  host.kind.MutablePending(row) = kind;
  host.category.MutablePending(row) = store.strings.Intern(category);
}

}  // namespace

bool SettleXlaTracks(TraceStore& store) {
  const std::vector<Track> tracks = FindTracks(store);
  if (tracks.empty()) return false;
  auto& host = store.host_events;
  if (host.rows() == kMaxEvents) store.log.Add(ImportIssue::kEventCap);
  xla::LaunchedOperators operators;
  HostEventColumns<Column> kept;
  for (std::size_t row = 0; row < host.rows(); ++row) {
    const Track& track = tracks[host.thread.Pending(row).index()];
    const bool has_category = host.kind.Pending(row) != HostEventKind::kOther;
    if (track.role == Track::Role::kStream && !has_category) {
      AppendTask(row, track.stream, operators, store);
      continue;
    }
    if (track.role == Track::Role::kHost && !has_category) TellHostEvent(row, store);
    if (track.role == Track::Role::kDerived && !has_category) {
      host.kind.MutablePending(row) = HostEventKind::kGpuAnnotation;
      host.category.MutablePending(row) =
          store.strings.Intern(xla::CategoryOf(HostEventKind::kGpuAnnotation, {}));
    }
    const auto copy = [row](auto& to, const auto& from) {
      if (from.size() > row) to.Append(from.Pending(row));  // Computed columns have no rows yet.
    };
    kept.ForEachColumnPair(host, copy);
  }
  host = std::move(kept);
  operators.Settle(store);
  return true;
}

}  // namespace headroom::kineto
