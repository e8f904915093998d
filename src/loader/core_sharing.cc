#include "loader/core_sharing.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace headroom {

double SpeedBesideOthers(double busy, double cores, double smt_gain) {
  const double running = std::min(busy, cores), whole = cores / 2;
  if (running <= whole || running <= 1) return 1;
  return (whole + (running - whole) * (smt_gain - 1)) / running;
}

BusyThreads::BusyThreads(const LoaderProfile& profile) {
  std::vector<Piece> changes;
  const auto add = [&](Interval span, double threads) {
    if (span.length().ns() <= 0 || !(threads > 0)) return;
    changes.push_back({span.start, threads});
    changes.push_back({span.end, -threads});
  };
  for (const LoaderBatch& batch : profile.batches) {
    const auto length = static_cast<double>(std::max(batch.span.length().ns(), std::int64_t{1}));
    const double blocked =
        static_cast<double>(batch.Blocked().value_or(DurationNs()).ns()) / length;
    add(batch.span, 1 - blocked);
  }
  for (const LoaderFetch& fetch : profile.fetches) {
    if (!fetch.step || fetch.step->ns() <= 0) continue;
    const double threads = static_cast<double>(fetch.step_cpu.value_or(*fetch.step).ns()) /
                           static_cast<double>(fetch.step->ns());
    add({fetch.span.start - *fetch.step, fetch.span.start}, threads);
  }
  std::ranges::sort(changes, {}, &Piece::start);
  double busy = 0;
  for (const Piece& change : changes) {
    busy += change.busy;
    if (!pieces_.empty() && pieces_.back().start == change.start) {
      pieces_.back().busy = busy;
    } else {
      pieces_.push_back({change.start, busy});
    }
  }
}

template <typename Value>
double BusyThreads::Mean(Interval interval, Value value) const {
  auto piece = std::ranges::upper_bound(pieces_, interval.start, {}, &Piece::start);
  double busy = piece == pieces_.begin() ? 0 : std::prev(piece)->busy;
  double sum = 0;
  TimeNs at = interval.start;
  while (at < interval.end) {
    const TimeNs to = piece == pieces_.end() ? interval.end : std::min(piece->start, interval.end);
    sum += value(busy) * static_cast<double>((to - at).ns());
    at = to;
    if (piece == pieces_.end()) break;
    busy = piece->busy;
    ++piece;
  }
  return sum / static_cast<double>(interval.length().ns());
}

double BusyThreads::MeanIn(Interval interval) const {
  if (interval.length().ns() <= 0) return 0;
  return Mean(interval, [](double busy) { return busy; });
}

double BusyThreads::SpeedIn(Interval interval, double cores, double smt_gain) const {
  if (interval.length().ns() <= 0) return 1;
  return Mean(interval, [=](double busy) { return SpeedBesideOthers(busy, cores, smt_gain); });
}

CoreSharing MeasureCoreSharing(const LoaderProfile& profile, const BusyThreads& busy,
                               double cores) {
  // Two hardware threads on a core do 1.2 to 1.4 times the work of one. A virtual machine reports
  // each hardware thread as a core. Threads that share only caches and memory also slow each other
  // down.
  constexpr double kSmt = 1.3, kVirtual = 1.6, kNone = 2;
  const LoaderSettings& settings = profile.settings;
  CoreSharing sharing;
  if (settings.threads_per_core.value_or(1) > 1) {
    sharing.smt_gain = kSmt;
  } else {
    sharing.smt_gain = settings.virtual_machine ? kVirtual : kNone;
  }
  DurationNs queued, all;
  for (const LoaderBatch& batch : profile.batches) {
    queued += batch.queued.value_or(DurationNs());
    all += batch.span.length();
  }
  constexpr double kMuch = 0.1, kNear = 0.1;
  if (static_cast<double>(queued.ns()) > kMuch * static_cast<double>(all.ns())) return sharing;
  std::vector<double> alone, crowded;
  for (const LoaderBatch& batch : profile.batches) {
    // Neighbours do not slow down a batch that waits for files.
    if (batch.Blocked().value_or(DurationNs()).ns() * 10 > batch.span.length().ns()) continue;
    TimeNs at = batch.span.start;
    for (const DurationNs sample : batch.samples) {
      const double beside = busy.MeanIn({at, at + sample});
      at = at + sample;
      const auto ns = static_cast<double>(sample.ns());
      if (beside >= cores - kNear) {
        crowded.push_back(ns);
      } else if (beside <= std::max(1.0, cores / 2) + kNear) {
        alone.push_back(ns);
      }
    }
  }
  constexpr std::size_t kMin = 24;
  if (cores < 2 || alone.size() < kMin || crowded.size() < kMin) return sharing;
  const auto median = [](std::vector<double>& values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, middle);
    return *middle;
  };
  const double slower = median(crowded) / median(alone);
  if (!std::isfinite(slower) || slower <= 0) return sharing;
  return {.smt_gain = std::clamp(2 / slower, 1.0, 2.0), .measured = true};
}

}  // namespace headroom
