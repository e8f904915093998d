// compile of a job on the CPU: operators that move bytes become generated loops, which read and
// write memory less often; products, convolutions and attention stay calls of libraries. Dispatch,
// autograd's nodes and short Python between operators are removed; the checks of the compiled
// code's assumptions are added.
#include "whatif/scenarios/fusion/compile_on_cpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
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

/// The longest Python between two operators that the compiled code replaces. More is other work.
constexpr double kPythonNs = 50'000;

/// Unknown operators up to this length do nothing but dispatch, as views do.
constexpr double kViewNs = 8'000;

/// Half-widths, as shares of the change and of the time that is left: 80 % of the same networks.
constexpr double kChangeError = 0.4, kLeftError = 0.2;

/// Returns true if the recording has a region of compiled code, as PyTorch names it.
bool RunsCompiled(const Job& job) {
  const auto& names = job.store().host_events.name;
  for (std::size_t row = 0; row < names.size(); ++row) {
    if (job.store().Text(names[row]).starts_with("Torch-Compiled Region")) return true;
  }
  return false;
}

/// Returns true if an event accumulates a gradient, which stays outside of the compiled code.
bool Accumulates(const Job& job, HostEventId event) {
  for (; event.valid(); event = job.store().host_events.parent[event.index()]) {
    if (NameOfOperator(job, event).find(kAccumulateGrad) != std::string_view::npos) return true;
  }
  return false;
}

/// The host's work in each operator of the forward and the backward, and the share of it that
/// compiled code keeps.
class CompiledHost {
 public:
  explicit CompiledHost(const Job& job) : job_(job), self_(job.store().host_events.rows()) {
    for (const HostPiece& piece : job.graph().pieces) {
      work_ += job.WorkIn(piece);
      if (!piece.owner.valid()) continue;
      self_[piece.owner.index()] += job.WorkIn(piece);
      has_backward_ |= PhaseOf(piece) == Phase::kBackward;
      has_costs_ |= CostOfSelfTime(job, piece.owner) != nullptr;
    }
  }

  /// Returns all work of the host, in ns.
  double work() const { return work_; }
  bool has_costs() const { return has_costs_; }
  bool has_backward() const { return has_backward_; }

  /// Returns the phase of a piece of a compiled operator; kOther for other pieces.
  Phase PhaseOf(const HostPiece& piece) const {
    if (!IsOperator(piece.owner) || Accumulates(job_, piece.owner)) return Phase::kOther;
    const Phase phase = job_.attribution().Of(piece.owner).phase;
    return phase == Phase::kForward || phase == Phase::kBackward ? phase : Phase::kOther;
  }

  /// Returns true if a piece may be the program's Python between two operators: no range of the
  /// program holds it.
  bool MayBePython(const HostPiece& piece) const {
    if (!piece.owner.valid()) return true;
    if (IsOperator(piece.owner)) return false;
    const Phase phase = job_.attribution().Of(piece.owner).phase;
    if (phase == Phase::kForward || phase == Phase::kBackward) return true;
    // A mark of the step is the framework's own range. Frames are the program's functions.
    return job_.store().host_events.kind[piece.owner.index()] == HostEventKind::kPythonFrame ||
           (phase == Phase::kOther && job_.RolesOf(piece.owner).Has(HostRole::kFrameworkRange));
  }

  /// Returns the factor on the work in a compiled operator.
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
  bool IsOperator(HostEventId event) const {
    return event.valid() &&
           job_.store().host_events.kind[event.index()] == HostEventKind::kOperator;
  }
  const Job& job_;
  std::vector<double> self_;  ///< In ns, by row of host events.
  double work_ = 0;
  bool has_backward_ = false, has_costs_ = false;
};

/// Times in ns.
struct CompiledWork {
  double recorded = 0, left = 0;
};

/// Scales the pieces of work before a call. Returns the work that is compiled.
CompiledWork CompileBefore(const CompiledHost& host, const Job& job, TaskIndex task, Edit& edit) {
  const Task& call = job.graph().tasks[task];
  const std::size_t count = call.pieces_end - call.pieces_begin;
  std::vector<double> ns(count), factors(count, 1.0);
  std::vector<std::size_t> python;  // Pieces since the last operator.
  Phase phase = Phase::kOther;      // Phase of the last operator; kOther: other work came since.
  CompiledWork work;
  const auto compile = [&](std::size_t i, double factor) {
    factors[i] = factor;
    work.recorded += ns[i];
    work.left += ns[i] * factor;
  };
  for (std::size_t i = 0; i < count; ++i) {
    const HostPiece& piece = job.graph().pieces[call.pieces_begin + i];
    ns[i] = job.WorkIn(piece);
    const Phase of_piece = host.PhaseOf(piece);
    if (of_piece == Phase::kOther) {
      if (host.MayBePython(piece)) {
        python.push_back(i);
      } else {
        phase = Phase::kOther;
      }
      continue;
    }
    if (of_piece == phase) {
      for (const std::size_t p : python)
        compile(p, ns[p] > kPythonNs ? (ns[p] - kPythonNs) / ns[p] : 0);
    }
    python.clear();
    phase = of_piece;
    compile(i, host.FactorOf(piece.owner));
  }
  if (work.recorded > 0) edit.ScalePieces(task, ns, factors);
  return work;
}

}  // namespace

Effect CompileOnCpu(const Job& job, Edit& edit) {
  if (RunsCompiled(job)) return Effect::Already("the job is compiled");
  const CompiledHost host(job);
  if (!host.has_costs()) return Effect::Abstain(std::string(kNoOperatorsOnCpu));
  CompiledWork all;
  for (TaskIndex task = 0; task < job.graph().tasks.size(); ++task) {
    if (job.graph().tasks[task].kind != TaskKind::kCall) continue;
    const CompiledWork work = CompileBefore(host, job, task, edit);
    if (work.recorded <= 0) continue;
    all.recorded += work.recorded;
    all.left += work.left;
    edit.AddWorkBefore(task, Nanoseconds(kChecksNs + (host.has_backward() ? kBackwardNs : 0)));
  }
  if (all.recorded <= 0) return Effect::Nothing("no operator of the forward was recorded");
  Effect effect;
  effect.why = fmt::format(
      "forward and backward take {:.0f} % of their eager time: library calls for products, "
      "generated loops for other operators",
      100 * all.left / all.recorded);
  effect.AlsoBecause("assumes no graph breaks and no recompilation");
  effect.change_error = kChangeError;
  effect.step_error = kLeftError * all.left / std::max(1.0, host.work() - all.recorded + all.left);
  return effect;
}

}  // namespace headroom
