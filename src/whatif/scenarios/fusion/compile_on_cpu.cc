// compile of a job on the CPU: operators that move bytes become generated loops, which read and
// write memory less often; products, convolutions and attention stay calls of libraries. Dispatch,
// autograd's nodes and the program's Python between operators vanish; checks of the compiled
// code's assumptions are new.
#include "whatif/scenarios/fusion/compile_on_cpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "analysis/names/operator_costs.h"
#include "whatif/job/gradients.h"
#include "whatif/job/host_operators.h"
#include "whatif/job/operators.h"

namespace headroom {
namespace {

/// Shares of the work of operators that move bytes which remain in generated loops, if their
/// tensors fit in caches or not: 21 small networks with PyTorch 2.15 on two cores.
constexpr double kGenerated = 0.85, kGeneratedInMemory = 0.4;
constexpr double kMemoryBytes = 16e6;

/// Share of a convolution's time with weights that the compiler reorders before it runs, which it
/// does where no gradient is recorded (torch/_inductor/fx_passes/mkldnn_fusion.py).
constexpr double kReorderedWeights = 0.7;

/// Host time of the checks before the forward, and of starting the compiled backward.
constexpr double kChecksNs = 40'000, kBackwardNs = 60'000;

/// Unknown operators up to this length do nothing but dispatch, as views do.
constexpr double kViewNs = 8'000;

/// Half-widths, as shares of the change and of the time that is left: 80 % of the same networks.
constexpr double kChangeError = 0.4, kLeftError = 0.2;

bool IsCompiled(Phase phase) { return phase == Phase::kForward || phase == Phase::kBackward; }

/// Returns true if an event accumulates a gradient, which stays outside of the compiled code.
bool Accumulates(const Job& job, HostEventId event) {
  for (; event.valid(); event = job.store().host_events.parent[event.index()]) {
    if (NameOfOperator(job, event).find(kAccumulateGrad) != std::string_view::npos) return true;
  }
  return false;
}

/// The work of the host in each event, and the share of it that compiled code keeps.
class CompiledHost {
 public:
  explicit CompiledHost(const Job& job)
      : job_(job), half_record_(job.calibration().recording.operator_record / 2) {}

  /// Returns a piece's length without the cost of recording, in ns.
  double LengthOf(const HostPiece& piece) const {
    const auto ns = static_cast<double>(piece.length().ns());
    return std::max(0.0, ns - half_record_ * piece.operator_halves);
  }

  /// Adds the work of a piece to that of its event.
  void Add(const HostPiece& piece) {
    if (self_.empty()) self_.resize(job_.store().host_events.rows());
    if (piece.owner.valid()) self_[piece.owner.index()] += LengthOf(piece);
    has_backward_ |= PhaseOf(piece) == Phase::kBackward;
  }

  Phase PhaseOf(const HostPiece& piece) const {
    if (!piece.owner.valid()) return Phase::kOther;
    const Phase phase = job_.attribution().Of(piece.owner).phase;
    const bool is_operator =
        job_.store().host_events.kind[piece.owner.index()] == HostEventKind::kOperator;
    return is_operator && Accumulates(job_, piece.owner) ? Phase::kOptimizer : phase;
  }

  bool has_backward() const { return has_backward_; }

  /// Returns the factor on the work in a compiled event.
  double FactorOf(HostEventId event) const {
    const double self = self_[event.index()];
    if (self <= 0) return 1;
    const OperatorCost* cost = CostOfSelfTime(job_, event);
    const OperatorCall* call = job_.CallOf(event);
    if (cost == nullptr && (call == nullptr || self <= kViewNs))
      return std::max(0.0, self - kViewNs) / self;
    const WorkFamily family = cost == nullptr ? WorkFamily::kElementwise : cost->family;
    const bool convolution = family == WorkFamily::kConvolution;
    if (convolution && !has_backward_) return kReorderedWeights;
    if (convolution || family == WorkFamily::kMatmul || family == WorkFamily::kAttention) return 1;
    constexpr double kUnknownBytes = 8;  // Per element, read and written.
    const double bytes = cost == nullptr ? kUnknownBytes * LargestElements(*call) : cost->bytes;
    const double left = family == WorkFamily::kRandom ? 1  // Generated random numbers take as long.
                        : bytes >= kMemoryBytes       ? kGeneratedInMemory
                                                      : kGenerated;
    return std::max(0.0, self - kDispatchNs) * left / self;
  }

 private:
  const Job& job_;
  double half_record_;
  std::vector<double> self_;  ///< In ns, by row of host events.
  bool has_backward_ = false;
};

}  // namespace

Effect CompileOnCpu(const Job& job, Edit& edit) {
  const Graph& graph = job.graph();
  CompiledHost host(job);
  for (const HostPiece& piece : graph.pieces) host.Add(piece);
  double compiled = 0, left = 0;
  std::int32_t steps_with_work = 0;
  for (TaskIndex task = 0; task < graph.tasks.size(); ++task) {
    const Task& call = graph.tasks[task];
    if (call.kind != TaskKind::kCall) continue;
    double all = 0, scaled = 0, between = 0;
    bool inside = false, any = false;
    for (std::uint32_t p = call.pieces_begin; p < call.pieces_end; ++p) {
      const HostPiece& piece = graph.pieces[p];
      const double ns = host.LengthOf(piece);
      all += ns;
      if (IsCompiled(host.PhaseOf(piece))) {
        const double stays = ns * host.FactorOf(piece.owner);
        scaled += stays;
        compiled += ns + between;
        left += stays;
        between = 0;  // The Python between two compiled operators vanishes.
        inside = any = true;
      } else if (inside && host.PhaseOf(piece) == Phase::kOther) {
        between += ns;
      } else {
        scaled += ns + between;
        between = 0;
        inside = false;
      }
    }
    scaled += between;
    if (!any) continue;
    ++steps_with_work;
    edit.ScaleWorkBefore(task, scaled / all);
    edit.AddWorkBefore(task, Nanoseconds(kChecksNs + (host.has_backward() ? kBackwardNs : 0)));
  }
  if (steps_with_work == 0) {
    return Effect::Abstain(
        "no operator of the forward was recorded; record operators and shapes "
        "(ProfilerActivity.CPU, record_shapes=True)");
  }
  Effect effect;
  effect.why = fmt::format(
      "forward and backward keep {:.0f} % of their time: libraries' products, and generated loops "
      "for the rest",
      100 * left / compiled);
  effect.AlsoBecause("without graph breaks and recompilation");
  const double change = std::max(1.0, compiled - left);
  effect.change_error = std::hypot(kChangeError, kLeftError * left / change);
  return effect;
}

}  // namespace headroom
