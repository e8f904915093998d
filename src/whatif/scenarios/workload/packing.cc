// packing: sequences follow each other without padding (variable-length attention), so that each
// step does the same useful work on fewer tokens. Work on activations shrinks as with a smaller
// batch. Attention scores shrink at least as much, because they grow with the square of a length.
// A trace does not record which tokens are padding.
//
// Source: Krell et al., "Efficient Sequence Packing without Cross-contamination" (2021): half of
// the tokens of BERT's pre-training on Wikipedia are padding.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "whatif/job/operators.h"
#include "whatif/scenarios/catalogue.h"
#include "whatif/scenarios/workload/batch_size.h"

namespace headroom {

Effect ApplyPacking(const Job& job, const Arguments& arguments, Edit& edit) {
  const double fill = arguments.Number("fill");
  if (fill > 1) {
    return Effect::Abstain(
        "fill is the share of tokens that are not padding, at most 1: "
        "attention_mask.float().mean()");
  }
  const std::vector<LaunchingOperator> operators = LaunchingOperators(job);
  const bool attends = std::ranges::any_of(operators, [&](const LaunchingOperator& op) {
    return job.ClassOf(op.tasks.front()).family == WorkFamily::kAttention ||
           NameOfOperator(job, op.op).find("bmm") != std::string_view::npos;
  });
  if (!attends) return Effect::Nothing("the job has no attention, so it has no sequences to pack");
  if (fill == 1) return Effect::Already("no token is padding");
  const DoubtfulAtBatch doubtful = ScaleToBatch(job, job.device(), fill, edit);
  Effect effect;
  effect.why = fmt::format(
      "removes the {:.0f} % of tokens that are padding; attention scores may shrink more; excludes "
      "the host's time to pack",
      100 * (1 - fill));
  effect.memory_delta_bytes = 0;
  effect.memory_change.batch_ratio = fill;
  effect.gpu_error = ErrorAtBatch(doubtful, fill);
  return effect;
}

}  // namespace headroom
