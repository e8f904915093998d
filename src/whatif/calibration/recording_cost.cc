#include "whatif/calibration/recording_cost.h"

#include <algorithm>
#include <cmath>

namespace headroom {
namespace {

constexpr double kMaxOfWork = 0.75;
constexpr double kMaxOfCall = 0.8;

/// Limit of the remaining cost, in ns, that is carried over to later work. The excess is dropped.
constexpr double kMaxCarried = 50e3;

}  // namespace

void RemoveRecordingCost(const Graph& graph, const RecordingCost& cost, Plan& plan) {
  double carried = 0;
  for (std::size_t task = 0; task < graph.tasks.size(); ++task) {
    const Task& recorded = graph.tasks[task];
    if (recorded.kind != TaskKind::kCall) continue;
    double owed = carried;
    for (std::uint32_t p = recorded.pieces_begin; p < recorded.pieces_end; ++p) {
      owed += graph.pieces[p].operator_halves * cost.operator_record / 2 +
              graph.pieces[p].frame_halves * cost.frame_record / 2;
    }
    std::int64_t& work = plan.lag[plan.shape->edge_begin[task]];
    const double usual_work =
        static_cast<double>(work) * (recorded.slow_work ? cost.after_wait : 1);
    const double taken = std::min(owed, kMaxOfWork * usual_work);
    work = std::llround(usual_work - taken);
    carried = std::min(owed - taken, kMaxCarried);
    std::int64_t& duration = plan.duration[task];
    const double usual_call =
        static_cast<double>(duration) * (recorded.slow_call ? cost.after_wait : 1);
    duration = std::llround(usual_call - std::min(cost.call_record, kMaxOfCall * usual_call));
  }
}

}  // namespace headroom
