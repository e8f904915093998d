#include "whatif/job/host_operators.h"

#include <algorithm>
#include <cmath>

namespace headroom {

std::vector<double> SelfTimes(const Job& job) {
  const auto& events = job.store().host_events;
  std::vector<double> self(events.rows());
  for (std::size_t row = 0; row < events.rows(); ++row) {
    const auto length =
        static_cast<double>((job.store().HostEnd(HostEventId(row)) - events.start[row]).ns());
    self[row] += length;
    if (const HostEventId parent = events.parent[row]; parent.valid())
      self[parent.index()] -= length;
  }
  for (double& ns : self) ns = std::max(0.0, ns);
  return self;
}

const OperatorCost* CostOfSelfTime(const Job& job, HostEventId event) {
  if (const OperatorCost* own = job.CostOf(event); own != nullptr) return own;
  const HostEventId around = job.attribution().Of(event).costed;
  return around.valid() ? job.CostOf(around) : nullptr;
}

double WithDispatch(double self_ns, double ratio) {
  if (self_ns <= 0) return 1;
  const double dispatch = std::min(self_ns, kDispatchNs);
  return (dispatch + (self_ns - dispatch) * ratio) / self_ns;
}

std::optional<double> RecordedBandwidth(const Job& job, const std::vector<double>& self_ns) {
  constexpr double kMinBytes = 4 << 20;
  std::vector<double> rates;
  for (std::size_t row = 0; row < self_ns.size(); ++row) {
    const OperatorCost* cost = job.CostOf(HostEventId(row));
    if (cost == nullptr || cost->bytes < kMinBytes || self_ns[row] <= kDispatchNs) continue;
    if (cost->family == WorkFamily::kElementwise)
      rates.push_back(cost->bytes / (self_ns[row] - kDispatchNs));
  }
  if (rates.empty()) return std::nullopt;
  const auto middle = rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 2);
  std::nth_element(rates.begin(), middle, rates.end());
  return *middle;
}

std::int64_t ScaleSelfTimes(const Job& job, const std::vector<double>& factors, Edit& edit) {
  const Graph& graph = job.graph();
  for (TaskIndex task = 0; task < graph.tasks.size(); ++task) {
    const Task& call = graph.tasks[task];
    if (call.kind != TaskKind::kCall) continue;
    edit.Scale(task, factors[call.row]);
    std::vector<double> ns, of_pieces;
    for (std::uint32_t p = call.pieces_begin; p < call.pieces_end; ++p) {
      const HostPiece& piece = graph.pieces[p];
      ns.push_back(job.WorkIn(piece));
      of_pieces.push_back(piece.owner.valid() ? factors[piece.owner.index()] : 1);
    }
    edit.ScalePieces(task, ns, of_pieces);
  }
  return std::count_if(factors.begin(), factors.end(), [](double factor) { return factor != 1; });
}

}  // namespace headroom
