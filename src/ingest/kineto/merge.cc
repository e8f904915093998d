#include "ingest/kineto/merge.h"

#include <algorithm>
#include <type_traits>

namespace headroom::kineto {

StringId Merger::Map(StringId local, const WorkerIds& ids, IdMap& map) {
  if (!local.valid()) return local;
  if (local.index() >= map.strings.size()) map.strings.resize(ids.strings.size());
  StringId& global = map.strings[local.index()];
  if (!global.valid()) global = store_.strings.Intern(ids.strings.Get(local));
  return global;
}

ThreadId Merger::Map(ThreadId local, const WorkerIds& ids, IdMap& map) {
  if (!local.valid()) return local;
  if (local.index() >= map.threads.size()) map.threads.resize(ids.tracks().size());
  ThreadId& global = map.threads[local.index()];
  if (!global.valid()) {
    const WorkerIds::Track track = ids.tracks()[local.index()];
    // Maps the process before the thread, because the order determines the ids of new strings.
    const StringId process = Map(track.process, ids, map);
    const StringId thread = Map(track.thread, ids, map);
    global = ThreadOf(process, thread);
  }
  return global;
}

StreamId Merger::Map(StreamId local, const WorkerIds& ids, IdMap& map) {
  if (!local.valid()) return local;
  if (local.index() >= map.streams.size()) map.streams.resize(ids.streams().size());
  StreamId& global = map.streams[local.index()];
  if (global.valid()) return global;
  const WorkerIds::Stream stream = ids.streams()[local.index()];
  const DeviceId device = DeviceOf(stream.device);
  const auto [it, is_new] =
      streams_.try_emplace({device, stream.number}, StreamId(store_.streams.rows()));
  if (is_new) {
    const std::size_t row = AppendUnknown(store_.streams);
    store_.streams.device.MutablePending(row) = device;
    store_.streams.number.MutablePending(row) = stream.number;
  }
  return global = it->second;
}

ThreadId Merger::ThreadOf(StringId process, StringId thread) {
  const auto [process_it, new_process] =
      processes_.try_emplace(process, ProcessId(store_.processes.rows()));
  if (new_process) {
    store_.processes.pid.MutablePending(AppendUnknown(store_.processes)) = process;
  }
  const auto [thread_it, new_thread] =
      threads_.try_emplace({process_it->second, thread}, ThreadId(store_.threads.rows()));
  if (new_thread) {
    const std::size_t row = AppendUnknown(store_.threads);
    store_.threads.process.MutablePending(row) = process_it->second;
    store_.threads.tid.MutablePending(row) = thread;
  }
  return thread_it->second;
}

DeviceId Merger::DeviceOf(std::int64_t ordinal) {
  const auto [it, is_new] = devices_.try_emplace(ordinal, DeviceId(store_.devices.rows()));
  if (is_new) {
    store_.devices.ordinal.MutablePending(AppendUnknown(store_.devices)) = ordinal;
  }
  return it->second;
}

template <typename StoreTable, typename BatchTable>
void Merger::AppendTable(StoreTable& to, BatchTable& from, const WorkerIds& ids, IdMap& map) {
  to.ForEachColumnPair(from, [&](auto& store_column, auto& rows) {
    using Value = typename std::remove_reference_t<decltype(rows)>::value_type;
    if constexpr (std::is_same_v<Value, StringId> || std::is_same_v<Value, ThreadId> ||
                  std::is_same_v<Value, StreamId>) {
      for (Value& value : rows) value = Map(value, ids, map);
    }
    store_column.AppendAll(rows);
  });
}

void Merger::MapHalf(HalfSpan& half, const WorkerIds& ids, IdMap& map) {
  half.name = Map(half.name, ids, map);
  half.category = Map(half.category, ids, map);
  half.args = Map(half.args, ids, map);
  half.thread = Map(half.thread, ids, map);
}

void Merger::SetTrackName(const TrackName& row, const WorkerIds& ids, IdMap& map) {
  const ThreadId thread = Map(row.thread, ids, map);
  const StringId text = Map(row.text, ids, map);
  if (row.what == TrackName::What::kThreadName) {
    store_.threads.name.MutablePending(thread.index()) = text;
    return;
  }
  const ProcessId process = store_.threads.process.Pending(thread.index());
  auto& column =
      row.what == TrackName::What::kProcessName ? store_.processes.name : store_.processes.labels;
  column.MutablePending(process.index()) = text;
}

void Merger::Append(RowBatch& batch, const WorkerIds& ids, IdMap& map) {
  const auto first_task = static_cast<std::uint32_t>(store_.gpu_tasks.rows());
  for (GpuTaskId& task : batch.collectives.task) task = GpuTaskId(task.index() + first_task);
  AppendTable(store_.host_events, batch.host_events, ids, map);
  AppendTable(store_.gpu_tasks, batch.gpu_tasks, ids, map);
  AppendTable(store_.syncs, batch.syncs, ids, map);
  AppendTable(store_.flows, batch.flows, ids, map);
  AppendTable(store_.counters, batch.counters, ids, map);
  AppendTable(store_.memory_events, batch.memory_events, ids, map);
  AppendTable(store_.instants, batch.instants, ids, map);
  AppendTable(store_.collectives, batch.collectives, ids, map);
  for (const TrackName& row : batch.track_names) SetTrackName(row, ids, map);
  for (HalfSpan half : batch.half_spans) {
    MapHalf(half, ids, map);
    late_.half_spans.push_back(half);
  }
  for (AsyncHalf half : batch.async_halves) {
    MapHalf(half, ids, map);
    AsyncId& of = half.operation;
    for (StringId* id : {&of.category, &of.scope, &of.id, &of.process, &of.name})
      *id = Map(*id, ids, map);
    late_.async_halves.push_back(half);
  }
  // Keeps the file's first samples, so that the result does not depend on pieces.
  const std::size_t room = kBandwidthSamples - std::min(late_.bandwidths.size(), kBandwidthSamples);
  late_.bandwidths.insert(late_.bandwidths.end(), batch.bandwidths.begin(),
                          batch.bandwidths.begin() +
                              static_cast<std::ptrdiff_t>(std::min(room, batch.bandwidths.size())));
  late_.stamps.Append(batch.stamps);
  late_.fractional_times = late_.fractional_times || batch.fractional_times;
  store_.metadata.events += batch.events;
  store_.log.Merge(batch.log);
}

}  // namespace headroom::kineto
