#include "scale/recorded_collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/collectives.h"
#include "cluster/gradient_exchange.h"
#include "whatif/network.h"
#include "whatif/selection.h"

namespace headroom {
namespace {

/// Element types as c10::toString() prints them, which is how collectives tell theirs.
constexpr std::array<std::pair<std::string_view, int>, 12> kElementBytes = {{
    {"Float", 4},
    {"Half", 2},
    {"BFloat16", 2},
    {"Double", 8},
    {"Long", 8},
    {"Int", 4},
    {"Short", 2},
    {"Char", 1},
    {"Byte", 1},
    {"Bool", 1},
    {"Float8_e4m3fn", 1},
    {"Float8_e5m2", 1},
}};

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return lower;
}

/// By the name of the collective, or of its kernel; nullopt: of two ranks alone, or not known.
std::optional<Collective> CollectiveNamed(std::string_view name) {
  const std::string lower = LowerCase(name);
  const auto has = [&](std::string_view part) { return lower.find(part) != std::string::npos; };
  if (has("allreduce") || has("all_reduce")) return Collective::kAllReduce;
  if (has("reducescatter") || has("reduce_scatter")) return Collective::kReduceScatter;
  if (has("allgather") || has("all_gather")) return Collective::kAllGather;
  return std::nullopt;
}

struct RecordedCollective {
  std::optional<Collective> kind;
  std::optional<double> bytes;  ///< Of the whole tensor.
};

class RecordedCollectives {
 public:
  explicit RecordedCollectives(const Job& job) : job_(job) {
    const auto& rows = job.store().collectives;
    for (std::size_t row = 0; row < rows.rows(); ++row) row_of_[rows.task[row].index()] = row;
  }

  RecordedCollective Of(TaskIndex task) const {
    RecordedCollective found;
    found.kind = CollectiveNamed(job_.NameOf(task));
    const auto known = row_of_.find(job_.graph().tasks[task].row);
    if (known == row_of_.end()) return found;
    const auto& rows = job_.store().collectives;
    const std::size_t row = known->second;
    if (const auto kind = CollectiveNamed(job_.store().strings.Get(rows.name[row])))
      found.kind = kind;
    const std::string_view dtype = job_.store().strings.Get(rows.dtype[row]);
    const auto* const bytes = std::find_if(kElementBytes.begin(), kElementBytes.end(),
                                           [&](const auto& entry) { return entry.first == dtype; });
    // The larger side is the whole tensor: before a reduce-scatter, and after an all-gather.
    const std::int64_t elements = std::max(rows.in_elements[row], rows.out_elements[row]);
    if (bytes != kElementBytes.end() && elements > 0)
      found.bytes = static_cast<double>(elements) * bytes->second;
    return found;
  }

 private:
  const Job& job_;
  std::map<std::size_t, std::size_t> row_of_;  ///< By row of the GPU task.
};

std::vector<TaskIndex> CollectiveTasks(const Job& job) {
  return SelectTasks(
      job, [&](TaskIndex task) { return job.ClassOf(task).family == WorkFamily::kCommunication; });
}

}  // namespace

bool Communicates(const Job& job) { return !CollectiveTasks(job).empty(); }

std::optional<std::int64_t> RecordedGpus(const Job& job) {
  if (!Communicates(job)) return 1;
  if (const std::optional<std::int64_t> world = job.store().metadata.world_size) return world;
  const auto& rows = job.store().collectives;
  std::int64_t most = 0;
  for (std::size_t row = 0; row < rows.rows(); ++row) most = std::max(most, rows.group_size[row]);
  return most > 0 ? std::optional(most) : std::nullopt;
}

Effect RescaleCollectives(const Job& job, const GpusOfJob& recorded, const GpusOfJob& target,
                          Edit& edit) {
  const std::vector<TaskIndex> tasks = CollectiveTasks(job);
  Effect effect;
  effect.work =
      static_cast<double>(target.placement.gpus) / static_cast<double>(recorded.placement.gpus);
  effect.gpu_error = kNetworkError;
  if (target.placement.gpus == 1) {
    for (const TaskIndex task : tasks) edit.SetDuration(task, DurationNs(0));
    CloseGapsDuring(job, tasks, edit);
    effect.why = "without its recorded collectives";
    return effect;
  }
  const RecordedCollectives recording(job);
  std::size_t scaled = 0, without_bytes = 0;
  for (const TaskIndex task : tasks) {
    const RecordedCollective collective = recording.Of(task);
    if (!collective.kind) continue;
    const auto on = [&](const GpusOfJob& gpus) {
      return static_cast<double>(FastestTime(*collective.kind,
                                             collective.bytes.value_or(kBucketBytes), gpus.topology,
                                             gpus.placement)
                                     .Total()
                                     .ns());
    };
    const double before = on(recorded);
    if (before <= 0) continue;
    edit.Scale(task, on(target) / before);
    ++scaled;
    if (!collective.bytes) ++without_bytes;
  }
  if (scaled == 0) {
    return Effect::Abstain(
        "the recorded communication is between two ranks at a time, or of kinds that are not known "
        "by name: what it takes on other GPUs cannot be told");
  }
  effect.why = fmt::format(
      "{} recorded collectives scaled from {} to {} GPUs, their waits for the slowest rank with "
      "them",
      scaled, recorded.placement.gpus, target.placement.gpus);
  if (without_bytes > 0)
    effect.AlsoBecause(fmt::format("{} without recorded sizes: as 25 MiB", without_bytes));
  if (scaled < tasks.size())
    effect.AlsoBecause(fmt::format("{} of other kinds as recorded", tasks.size() - scaled));
  return effect;
}

}  // namespace headroom
