#include "capture/metrics/board/metric_board.h"

#include <cassert>
#include <cmath>
#include <limits>
#include <utility>

#include "capture/metrics/board/clock.h"

namespace headroom {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

}  // namespace

MetricBoard::Id MetricBoard::Add(Metric metric, MetricKind kind, CounterRule rule) {
  metric.kind = kind;
  metrics_.push_back(std::move(metric));
  counters_.push_back({.rule = rule, .last = std::nullopt, .at = TimeNs(), .wrapped = 0});
  // A metric may join during a sample.
  reading_.values.push_back(kMissing);
  reading_.totals.push_back(kMissing);
  return metrics_.size() - 1;
}

MetricBoard::Id MetricBoard::AddGauge(Metric metric) {
  return Add(std::move(metric), MetricKind::kGauge, CounterRule());
}

MetricBoard::Id MetricBoard::AddShare(Metric metric) {
  return Add(std::move(metric), MetricKind::kShare, CounterRule());
}

MetricBoard::Id MetricBoard::AddRate(Metric metric, CounterRule rule) {
  return Add(std::move(metric), MetricKind::kRate, rule);
}

MetricBoard::Id MetricBoard::AddTotal(Metric metric, double scale) {
  return Add(std::move(metric), MetricKind::kTotal,
             {.rate_scale = 1, .total_scale = scale, .wraps_at = 0});
}

MetricBoard::Id MetricBoard::AddComputed(Metric metric) {
  const MetricKind kind = metric.kind;
  return Add(std::move(metric), kind, CounterRule());
}

void MetricBoard::Rename(Id id, std::string instance) {
  metrics_[id].instance = std::move(instance);
  counters_[id].last.reset();
  counters_[id].wrapped = 0;
}

void MetricBoard::Begin() {
  reading_.values.assign(metrics_.size(), kMissing);
  reading_.totals.assign(metrics_.size(), kMissing);
  reading_.users.clear();
}

void MetricBoard::Set(Id id, double value) {
  reading_.values[id] = std::isfinite(value) ? value : kMissing;
}

void MetricBoard::Count(Id id, TimeNs at, std::optional<std::uint64_t> counted) {
  assert(metrics_[id].kind == MetricKind::kRate || metrics_[id].kind == MetricKind::kTotal);
  Counter& counter = counters_[id];
  if (!counted) {
    counter.last.reset();
    return;
  }
  const std::uint64_t wraps_at = counter.rule.wraps_at;
  if (counter.last) {
    const std::uint64_t last = *counter.last;
    const bool wrapped = *counted < last && wraps_at > 0 && last <= wraps_at;
    const double seconds = Seconds(at - counter.at);
    if (wrapped) counter.wrapped += static_cast<double>(wraps_at);
    if (metrics_[id].kind == MetricKind::kRate && seconds > 0 && (*counted >= last || wrapped)) {
      const std::uint64_t increase = wrapped ? wraps_at - last + *counted : *counted - last;
      Set(id, static_cast<double>(increase) * counter.rule.rate_scale / seconds);
    }
  }
  counter.last = counted;
  counter.at = at;
  const double total = (counter.wrapped + static_cast<double>(*counted)) * counter.rule.total_scale;
  if (metrics_[id].kind == MetricKind::kTotal) {
    Set(id, total);
  } else {
    reading_.totals[id] = total;
  }
}

void MetricBoard::DropRates() {
  for (Id id = 0; id < metrics_.size(); ++id) {
    const MetricKind kind = metrics_[id].kind;
    if (kind == MetricKind::kRate || kind == MetricKind::kShare) reading_.values[id] = kMissing;
  }
}

void CounterSum::Add(std::optional<std::uint64_t> last, std::uint64_t now) {
  if (!last) {
    if (first_) sum_ += now;
  } else if (now >= *last) {
    sum_ += now - *last;
  } else {
    backwards_ = true;
  }
}

std::optional<std::uint64_t> CounterSum::Take() {
  first_ = false;
  return std::exchange(backwards_, false) ? std::nullopt : std::optional(sum_);
}

}  // namespace headroom
