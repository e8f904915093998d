// threads: operators of a job on the CPU run on another number of threads. Products, convolutions
// and attention, and other operators above PyTorch's grain size, divide their work. The rest of the
// host's work stays. A trace does not record the number of threads (torch.get_num_threads()).
//
// Sources: Amdahl's law; PyTorch, ATen/TensorIterator.h (at::internal::GRAIN_SIZE, 32,768 elements
// per thread).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "whatif/job/host_operators.h"
#include "whatif/job/operators.h"
#include "whatif/scenarios/catalogue.h"

namespace headroom {
namespace {

/// Shares of the work that threads divide: products 1.5 to 2.0 times and others 1.7 to 2.0 times as
/// fast on two threads, in small networks with PyTorch 2.15 on a machine with two cores.
constexpr double kParallelProduct = 0.95, kParallelOther = 0.85;

constexpr double kGrainElements = 32'768;

/// Half-width, as a share of the change: memory bandwidth that threads share, and cores that are
/// not independent (hyperthreads), depend on the machine.
constexpr double kThreadsError = 0.4;

/// Returns the time of an operator on `threads` threads, relative to one.
double TimeOn(double threads, double parallel, double chunks) {
  return 1 - parallel + parallel / std::clamp(threads, 1.0, std::max(1.0, chunks));
}

}  // namespace

Effect ApplyThreads(const Job& job, const Arguments& arguments, Edit& edit) {
  if (job.HasGpuWork()) {
    return Effect::Abstain(
        "the operators run on the GPU; threads applies to operators on the CPU; use host-speed");
  }
  const double from = arguments.Number("from"), to = arguments.Number("n");
  if (from == to) return Effect::Already(fmt::format("operators run on {} threads", to));
  const std::vector<double> self = SelfTimes(job);
  std::vector<double> factors(self.size(), 1.0);
  double all = 0, divided = 0;
  for (std::size_t row = 0; row < self.size(); ++row) {
    const HostEventId event(row);
    if (job.store().host_events.kind[row] != HostEventKind::kOperator) continue;
    all += self[row];
    const OperatorCost* cost = CostOfSelfTime(job, event);
    const OperatorCall* call = job.CallOf(event);
    if (cost == nullptr || call == nullptr || cost->family == WorkFamily::kRandom)
      continue;  // One thread draws random numbers, in the order of the generator.
    const bool product = MultipliesMatrices(cost->family);
    const double chunks =
        product ? std::max(from, to) : std::ceil(LargestElements(*call) / kGrainElements);
    const double parallel = product ? kParallelProduct : kParallelOther;
    const double ratio = TimeOn(to, parallel, chunks) / TimeOn(from, parallel, chunks);
    factors[row] = WithDispatch(self[row], ratio);
    if (ratio != 1) divided += self[row];
  }
  if (all == 0) return Effect::Abstain(std::string(kNoOperatorsOnCpu));
  if (divided == 0) {
    return Effect::Abstain(
        fmt::format("no operator with a known cost has more than {:.0f} elements; record shapes "
                    "(record_shapes=True)",
                    kGrainElements));
  }
  ScaleSelfTimes(job, factors, edit);
  Effect effect;
  effect.why = fmt::format(
      "operators that take {:.0f} % of operator time run on {} threads instead of {}; "
      "assumes as many free cores",
      100 * divided / all, to, from);
  effect.change_error = kThreadsError;
  return effect;
}

}  // namespace headroom
