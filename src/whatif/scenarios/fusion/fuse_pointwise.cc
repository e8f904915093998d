// fuse-pointwise: a chain of elementwise kernels becomes one kernel, as a compiler would fuse it
// (scenarios/fusion/fusion.h).
#include <fmt/format.h>

#include "whatif/job/operators.h"
#include "whatif/scenarios/catalogue.h"
#include "whatif/scenarios/fusion/fusion.h"
#include "whatif/scenarios/why_not_found.h"

namespace headroom {
namespace {

/// This error is large, because a profile does not show which tensors a later operator still needs.
constexpr double kFusePointwiseError = 0.3;

}  // namespace

Effect ApplyFusePointwise(const Job& job, const Arguments& /*arguments*/, Edit& edit) {
  const std::int64_t chains = FuseChains(job, /*reductions=*/false, edit);
  if (chains == 0) {
    return NotFound(job, "no two consecutive elementwise kernels have equal sizes",
                    {"elementwise operators", [&](const LaunchingOperator& op) {
                       return IsOfFamily(job, op, WorkFamily::kElementwise);
                     }});
  }
  Effect effect;
  effect.why = fmt::format("{:.3g} chains per step become one kernel each",
                           static_cast<double>(chains) / job.graph().steps);
  effect.gpu_error = kFusePointwiseError;
  return effect;
}

}  // namespace headroom
