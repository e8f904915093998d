#include "predict/job_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include "whatif/scenarios/workload/batch_curve.h"

namespace headroom {
namespace {

/// 80 % intervals of the true bytes, as multiples of the modelled ones. Measured on the jobs of
/// docs/accuracy/unseen-memory.md: each network counts once, with its worst job.
constexpr double kPeakLow = 0.98, kPeakHigh = 1.06;
constexpr double kReservedLow = 0.88, kReservedHigh = 1.2;

/// PyTorch's device type number for the CPU.
constexpr std::int32_t kHost = 0;

/// Returns the maximum recorded number of allocated bytes on a GPU; nullopt without memory records
/// of a GPU.
std::optional<double> RecordedPeak(const TraceStore& store) {
  std::optional<double> most;
  const auto& events = store.memory_events;
  for (std::size_t row = 0; row < events.rows(); ++row) {
    const std::int64_t allocated = events.total_allocated_bytes[row];
    if (allocated == kUnknown || events.device_type[row] == kHost ||
        events.device_type[row] == kUnknown32)
      continue;
    most = std::max(most.value_or(0), static_cast<double>(allocated));
  }
  return most;
}

}  // namespace

double JobMemory::Scale() const {
  return recorded_bytes && peak.peak_bytes > 0 ? *recorded_bytes / peak.peak_bytes : 1;
}

std::optional<double> JobMemory::PeakAt(double batch_ratio, Workspaces workspaces) const {
  if (model) return Scale() * model->PeakAt(batch_ratio, {}, workspaces).peak_bytes;
  return batch_ratio == 1 ? recorded_bytes : std::nullopt;
}

double JobMemory::Reserve() const {
  return peak.peak_bytes > 0 ? std::max(1.0, reserved_bytes / peak.peak_bytes) : 1;
}

std::optional<double> JobMemory::TakenAt(double batch_ratio, Workspaces workspaces) const {
  const std::optional<double> allocated = PeakAt(batch_ratio, workspaces);
  if (!allocated) return std::nullopt;
  return Reserve() * *allocated;
}

std::optional<BytesInterval> JobMemory::PeakInterval() const {
  const std::optional<double> peak_bytes = PeakAt(1);
  if (!peak_bytes) return std::nullopt;
  if (recorded_bytes) return BytesInterval{*peak_bytes, *peak_bytes};
  return BytesInterval{kPeakLow * *peak_bytes, kPeakHigh * *peak_bytes};
}

std::optional<BytesInterval> JobMemory::TakenInterval() const {
  const std::optional<double> taken = TakenAt(1);
  if (!taken) return std::nullopt;
  return BytesInterval{std::max(PeakInterval()->low, kReservedLow * *taken),
                       kReservedHigh * *taken};
}

std::optional<double> JobMemory::LargestBatch(double bytes, Workspaces workspaces) const {
  return model ? model->LargestBatch(bytes / Scale() / Reserve(), workspaces) : std::nullopt;
}

std::string JobMemory::BatchDoubt() const {
  constexpr double kMore = 2;
  return WorkspaceDecides(kMore) ? fmt::format(kWorkspaceDoubt, "another") : "";
}

std::string JobMemory::Doubt() const {
  if (!model || !recorded) return {};
  constexpr double kOtherParameters = 0.1, kOtherPeak = 0.2;
  const auto far = [](double told, double modelled, double most) {
    return modelled > 0 && std::abs(told / modelled - 1) > most;
  };
  if (far(recorded->parameters, peak.parts.parameters, kOtherParameters))
    return "its parameters differ from those of the traced job";
  if (far(recorded->Total(), peak.peak_bytes, kOtherPeak))
    return "its peak is far from the estimate for this job's shapes; check that its batch size is "
           "the same";
  return {};
}

JobMemory MemoryOf(const Job& job, const std::optional<RecordedMemory>& timeline) {
  JobMemory memory{.recorded_bytes = timeline ? timeline->Total() : RecordedPeak(job.store()),
                   .recorded = timeline,
                   .samples = SamplesPerStep(job)};
  Result<StepMemoryModel> model = StepMemoryModel::Make(job, {});
  if (!model.ok()) {
    memory.no_model = model.status().message();
    return memory;
  }
  memory.model = std::move(model).value();
  memory.peak = memory.model->PeakAt(1);
  memory.reserved_bytes = memory.model->ReservedAt(1);
  const double of_model =
      memory.peak.peak_bytes > 0 ? *memory.PeakAt(1) / memory.peak.peak_bytes : 1;
  for (const double ratio : {0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0}) {
    const double samples = ratio * static_cast<double>(memory.samples.value_or(0));
    if (samples < 1 || samples != std::floor(samples)) continue;
    memory.batches.push_back(
        {static_cast<std::int64_t>(samples), *memory.PeakAt(ratio), *memory.TakenAt(ratio)});
  }
  constexpr int kRanks = 8;
  for (const int stage : {1, 2, 3}) {
    const Sharding sharding = {.stage = stage, .ranks = kRanks};
    memory.sharded.push_back({sharding, of_model * memory.model->PeakAt(1, sharding).peak_bytes});
  }
  return memory;
}

std::string_view NameOf(FitConfidence confidence) {
  switch (confidence) {
    case FitConfidence::kFits:
      return "fits";
    case FitConfidence::kLikely:
      return "likely";
    case FitConfidence::kMayNotFit:
      return "may not fit";
    case FitConfidence::kDoesNotFit:
      break;
  }
  return "does not fit";
}

std::optional<bool> Decision(const std::optional<FitConfidence>& confidence) {
  if (!confidence || *confidence == FitConfidence::kMayNotFit) return std::nullopt;
  return *confidence != FitConfidence::kDoesNotFit;
}

std::optional<FitConfidence> ConfidenceAfter(const JobMemory& memory, double peak_delta_bytes,
                                             double memory_bytes) {
  const std::optional<double> peak = memory.PeakAt(1);
  if (!peak || *peak <= 0) return std::nullopt;
  const double change = (*peak + peak_delta_bytes) / *peak;
  const double room = memory_bytes * (1 - kMemoryMargin);
  if (memory.TakenInterval()->high * change <= room) return FitConfidence::kFits;
  if (*memory.TakenAt(1) * change <= room) return FitConfidence::kLikely;
  return memory.PeakInterval()->low * change > memory_bytes ? FitConfidence::kDoesNotFit
                                                            : FitConfidence::kMayNotFit;
}

std::vector<MemoryFit> FitsOf(const JobMemory& memory, std::span<const double> memory_bytes) {
  std::vector<MemoryFit> fits(memory_bytes.size());
  if (!memory.PeakAt(1)) return fits;
  struct Largest {
    std::optional<double> ratio, at_best;
  };
  std::map<double, Largest> largest;  // Keys are bytes, because many GPUs have the same memory.
  for (std::size_t i = 0; i < fits.size(); ++i) {
    fits[i].confidence = ConfidenceAfter(memory, 0, memory_bytes[i]);
    if (!memory.samples) continue;
    const double room = memory_bytes[i] * (1 - kMemoryMargin);
    const auto [known, is_new] = largest.try_emplace(room);
    auto& [ratio, at_best] = known->second;
    if (is_new) {
      ratio = memory.LargestBatch(room);
      if (ratio && memory.WorkspaceDecides(*ratio))
        at_best = memory.LargestBatch(room, Workspaces::kStay);
      // Below the recorded batch, a workspace of constant size takes more than one that shrinks.
      if (at_best && *at_best < *ratio) std::swap(*at_best, *ratio);
    }
    const auto samples = static_cast<double>(*memory.samples);
    if (ratio) fits[i].samples = std::floor(*ratio * samples);
    if (at_best) fits[i].samples_at_best = std::floor(*at_best * samples);
  }
  return fits;
}

}  // namespace headroom
