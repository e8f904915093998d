#include "whatif/job/fit_calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "whatif/job/host_speed.h"

namespace headroom {
namespace {

constexpr double kMillisecond = 1e6;  // ns

/// A smaller share of added time is within the noise of two medians.
constexpr double kMinAdded = 0.02;
/// Highest plausible cost per record, in ns.
constexpr double kMostLikely = 50e3;

/// Records per step.
struct Records {
  double operators = 0, calls = 0, frames = 0;
};

Records RecordsOf(const ProfiledLoop& loop) {
  Records records;
  const auto& events = loop.trace->host_events;
  for (std::size_t row = 0; row < events.rows(); ++row) {
    switch (events.kind[row]) {
      case HostEventKind::kOperator:
      case HostEventKind::kAnnotation:
        ++records.operators;
        break;
      case HostEventKind::kRuntimeCall:
      case HostEventKind::kDriverCall:
        ++records.calls;
        break;
      case HostEventKind::kPythonFrame:
        ++records.frames;
        break;
      default:
        break;
    }
  }
  const double steps = loop.steps;
  return {records.operators / steps, records.calls / steps, records.frames / steps};
}

/// Returns the time that profiling adds to a step, in nanoseconds.
double AddedBy(const ProfiledLoop& loop) {
  return (loop.profiled_ms - loop.plain_ms) * kMillisecond;
}

Status NotMeasurable(std::string_view what) {
  return Status::Environment(
      fmt::format("the cost of recording {} is within the noise; measure again on an idle machine, "
                  "or longer (--seconds)",
                  what));
}

/// Returns the added time per record. Fails with kEnvironment if the result is not plausible.
Result<double> CostOf(std::string_view what, double added, double records) {
  if (records <= 0 || added <= 0 || added / records > kMostLikely) return NotMeasurable(what);
  return added / records;
}

}  // namespace

Result<MeasuredCosts> FitRecordingCost(const ProfiledLoop& operators, const ProfiledLoop* calls,
                                       const ProfiledLoop* frames, const ReferenceSpeeds& names) {
  MeasuredCosts costs;
  if (AddedBy(operators) < kMinAdded * operators.plain_ms * kMillisecond)
    return NotMeasurable("operators");
  const Result<double> of_operator =
      CostOf("operators", AddedBy(operators), RecordsOf(operators).operators);
  if (!of_operator.ok()) return of_operator.status();
  costs.operator_record = of_operator.value();
  costs.machine = MachineOf(*operators.trace);
  if (calls != nullptr) {
    const Records records = RecordsOf(*calls);
    const Result<double> of_call = CostOf(
        "API calls", AddedBy(*calls) - *costs.operator_record * records.operators, records.calls);
    if (!of_call.ok()) return of_call.status();
    costs.call_record = of_call.value();
    costs.machine = MachineOf(*calls->trace);
    const ThreadSpeeds speeds = MedianDurations(*calls->trace, names);
    costs.loop = speeds.loop;
    costs.autograd = speeds.autograd;
  }
  if (frames != nullptr) {
    const Records records = RecordsOf(*frames);
    const Result<double> of_frame =
        CostOf("Python frames", AddedBy(*frames) - *costs.operator_record * records.operators,
               records.frames);
    if (!of_frame.ok()) return of_frame.status();
    costs.frame_record = of_frame.value();
  }
  return costs;
}

std::string RenderCalibration(const MeasuredCosts& costs, const std::string& about) {
  constexpr double kMicrosecond = 1e3;
  std::string text = fmt::format(
      "# Written by `headroom calibrate --host`. All other values are those of the shipped "
      "default.\n"
      "\n"
      "about = '{}'\n"
      "machine = '{}'\n"
      "\n"
      "[recording]\n",
      about, costs.machine);
  const auto figure = [&](std::string_view key, const std::optional<double>& ns) {
    if (ns) text += fmt::format("{} = {:.3f}\n", key, *ns / kMicrosecond);
  };
  figure("operator_us", costs.operator_record);
  figure("call_us", costs.call_record);
  figure("frame_us", costs.frame_record);
  for (const auto& [name, speeds] :
       {std::pair("loop", &costs.loop), std::pair("autograd", &costs.autograd)}) {
    text += fmt::format("\n[reference.{}]\n", name);
    for (const auto& [op, ns] : *speeds)
      text += fmt::format("'{}' = {:.3f}\n", op, ns / kMicrosecond);
  }
  return text;
}

}  // namespace headroom
