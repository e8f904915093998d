#include "graph/stream_waits.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace headroom {
namespace {

/// Timestamps of two streams are inexact: a task may seem to start this long before its dependency
/// ends.
constexpr DurationNs kStampError{500};

/// A wait that no launch matches within this many calls belongs to an unused stream.
constexpr std::size_t kOldWait = 256;

class StreamWaitFinder {
 public:
  StreamWaitFinder(const TraceStore& store, const std::vector<GpuTaskId>& tasks)
      : store_(store), by_stream_(store.streams.rows()) {
    for (const GpuTaskId task : tasks) {
      by_stream_[store.gpu_tasks.stream[task.index()].index()].push_back(task);
      first_task_.try_emplace(store.gpu_tasks.launch[task.index()], task);
    }
  }

  std::vector<StreamWait> Find(const std::vector<HostChain>& chains, std::int64_t& dropped) {
    IndexRecords(chains);
    for (const HostChain& chain : chains) Walk(chain);
    std::sort(waits_.begin(), waits_.end(), [](const StreamWait& a, const StreamWait& b) {
      return std::pair(a.after, a.before) < std::pair(b.after, b.before);
    });
    waits_.erase(std::unique(waits_.begin(), waits_.end(),
                             [](const StreamWait& a, const StreamWait& b) {
                               return a.after == b.after && a.before == b.before;
                             }),
                 waits_.end());
    dropped += dropped_;
    return std::move(waits_);
  }

 private:
  TimeNs LaunchOf(GpuTaskId task) const {
    return store_.host_events.start[store_.gpu_tasks.launch[task.index()].index()];
  }

  /// Collects the stream waits that name both sides, by the correlation of the waiting call, and
  /// the calls that they refer to.
  void IndexRecords(const std::vector<HostChain>& chains) {
    const auto& syncs = store_.syncs;
    for (std::size_t row = 0; row < syncs.rows(); ++row) {
      if (syncs.kind[row] != SyncKind::kStreamWaitEvent || !syncs.stream[row].valid()) continue;
      if (syncs.correlation[row] == kUnknown || syncs.wait_on_correlation[row] < 0 ||
          syncs.wait_on_stream[row] < 0)
        continue;
      records_.emplace(syncs.correlation[row], row);
    }
    if (records_.empty()) return;
    for (const HostChain& chain : chains) {
      for (const HostCall& call : chain.calls)
        calls_.emplace(store_.host_events.correlation[call.event.index()], call.start);
    }
  }

  /// Waits for one event, while it is unknown which streams wait.
  struct Pending {
    TimeNs recorded;
    /// Stream of the launch before the event record. This stream does not wait for itself.
    StreamId source;
    std::size_t count = 0;
    std::size_t age = 0;  ///< Number of calls since the first of these waits.
    std::vector<StreamId> served;
  };

  /// Follows the calls of a chain. A wait does not record which stream waits. If k calls wait for
  /// an event, assigns the waits to the first k streams with later launches. Excludes the event's
  /// own stream.
  void Walk(const HostChain& chain) {
    TimeNs recorded(INT64_MIN);  // Time of the chain's latest event record.
    StreamId stream, source;     // Stream of the latest launch, and of the launch before the event
                                 // record.
    std::vector<Pending> groups;
    for (const HostCall& call : chain.calls) {
      std::erase_if(groups, [](Pending& group) { return ++group.age > kOldWait; });
      if (const auto launched = first_task_.find(call.event); launched != first_task_.end()) {
        stream = store_.gpu_tasks.stream[launched->second.index()];
        for (Pending& group : groups) {
          if (stream == group.source || Contains(group.served, stream)) continue;
          group.served.push_back(stream);
          --group.count;
          Infer(launched->second, group.recorded);
        }
        std::erase_if(groups, [](const Pending& group) { return group.count == 0; });
        continue;
      }
      const std::string_view name = store_.Text(store_.host_events.name[call.event.index()]);
      if (name.find("EventRecord") != std::string_view::npos) {
        recorded = call.start;
        source = stream;
      } else if (name.find("StreamWaitEvent") != std::string_view::npos) {
        if (Resolve(call) || recorded.ns() == INT64_MIN) continue;
        if (groups.empty() || groups.back().recorded != recorded)
          groups.push_back({.recorded = recorded, .source = source, .served = {}});
        ++groups.back().count;
      }
    }
  }

  static bool Contains(const std::vector<StreamId>& streams, StreamId stream) {
    return std::find(streams.begin(), streams.end(), stream) != streams.end();
  }

  bool Resolve(const HostCall& call) {
    const auto record = records_.find(store_.host_events.correlation[call.event.index()]);
    if (record == records_.end()) return false;
    const auto& syncs = store_.syncs;
    const auto recorded = calls_.find(syncs.wait_on_correlation[record->second]);
    if (recorded == calls_.end()) return false;
    const StreamId waiting = syncs.stream[record->second];
    const DeviceId device = store_.streams.device[waiting.index()];
    for (std::size_t s = 0; s < by_stream_.size(); ++s) {
      if (store_.streams.device[s] != device ||
          store_.streams.number[s] != syncs.wait_on_stream[record->second])
        continue;
      Add(LastLaunched(by_stream_[s], recorded->second),
          FirstLaunched(by_stream_[waiting.index()], call.end), Provenance::kResolved);
    }
    return true;
  }

  void Infer(GpuTaskId after, TimeNs recorded) {
    for (std::size_t s = 0; s < by_stream_.size(); ++s) {
      if (StreamId(s) == store_.gpu_tasks.stream[after.index()]) continue;
      Add(LastLaunched(by_stream_[s], recorded), after, Provenance::kInferred);
    }
  }

  GpuTaskId LastLaunched(const std::vector<GpuTaskId>& in_order, TimeNs before) const {
    const auto at = std::partition_point(in_order.begin(), in_order.end(),
                                         [&](GpuTaskId task) { return LaunchOf(task) < before; });
    return at == in_order.begin() ? GpuTaskId() : *(at - 1);
  }

  GpuTaskId FirstLaunched(const std::vector<GpuTaskId>& in_order, TimeNs from) const {
    const auto at = std::partition_point(in_order.begin(), in_order.end(),
                                         [&](GpuTaskId task) { return LaunchOf(task) < from; });
    return at == in_order.end() ? GpuTaskId() : *at;
  }

  void Add(GpuTaskId before, GpuTaskId after, Provenance provenance) {
    if (!before.valid() || !after.valid() || before == after) return;
    if (store_.TaskEnd(before) > store_.gpu_tasks.start[after.index()] + kStampError) {
      ++dropped_;
      return;
    }
    waits_.push_back({before, after, provenance});
  }

  const TraceStore& store_;
  std::vector<std::vector<GpuTaskId>> by_stream_;
  std::unordered_map<HostEventId, GpuTaskId> first_task_;  ///< First task by launch.
  std::unordered_map<std::int64_t, std::size_t> records_;
  std::unordered_map<std::int64_t, TimeNs> calls_;
  std::vector<StreamWait> waits_;
  std::int64_t dropped_ = 0;
};

}  // namespace

std::vector<StreamWait> FindStreamWaits(const TraceStore& store,
                                        const std::vector<HostChain>& chains,
                                        const std::vector<GpuTaskId>& tasks,
                                        std::int64_t& dropped) {
  return StreamWaitFinder(store, tasks).Find(chains, dropped);
}

}  // namespace headroom
