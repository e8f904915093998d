#include "answers/data/stages.h"

#include <algorithm>
#include <utility>

#include "base/statistics.h"
#include "base/units.h"

namespace headroom {
namespace {

std::int64_t SamplesOf(const LoaderProfile& loader) {
  std::int64_t samples = 0;
  for (const LoaderBatch& batch : loader.batches) samples += batch.sample_count;
  return samples;
}

}  // namespace

std::vector<StageRow> StageRows(const LoaderProfile& loader) {
  DurationNs batches, inside;
  for (const LoaderBatch& batch : loader.batches) batches += batch.span.length();
  std::vector<StageRow> rows;
  for (const LoaderStage& stage : loader.stages) {
    StageRow row{.name = stage.is_stage ? stage.name : "",
                 .kind = stage.is_stage ? "stage" : stage.name,
                 .count = stage.count,
                 .total = stage.total,
                 .own = stage.own,
                 .cpu = stage.cpu};
    if (row.kind == "batch") continue;  // Added below, as the time outside all stages.
    inside += row.own;
    rows.push_back(std::move(row));
  }
  const auto count = static_cast<std::int64_t>(loader.batches.size());
  const auto add = [&](std::string kind, DurationNs own) {
    if (own.ns() > 0)
      rows.push_back({.name = "",
                      .kind = std::move(kind),
                      .count = count,
                      .total = own,
                      .own = own,
                      .cpu = {}});
  };
  add("batch", std::max(batches - inside, DurationNs()));
  add("send", loader.sending);
  add("pin", loader.pinning);
  // Shares refer to the sum of the rows, because a failed batch adds time to its stages but not to
  // the batches.
  DurationNs all;
  for (const StageRow& row : rows) all += row.own;
  const std::int64_t samples = std::max<std::int64_t>(SamplesOf(loader), 1);
  for (StageRow& row : rows) {
    row.per_sample_us = static_cast<double>(row.own.ns()) / kNsPerUs / static_cast<double>(samples);
    row.share_pct = SharePct(row.own, all);
  }
  std::ranges::stable_sort(rows, std::greater<>(), &StageRow::own);
  return rows;
}

double SpeedupOf(const LoadingOutcome& outcome, const LoadingModel& recorded) {
  const double recorded_ms = static_cast<double>(recorded.period.ns()) / 1e6;
  if (outcome.samples_per_s > 0 && recorded.batch_size > 0) {
    constexpr double kMsPerS = 1e3;
    return outcome.samples_per_s * recorded_ms / kMsPerS / static_cast<double>(recorded.batch_size);
  }
  return recorded_ms / outcome.mid_ms;
}

}  // namespace headroom
