// freeze: parameters of matching layers or operators are not trained. Autograd then skips their
// gradients, and the optimizer skips their updates (PyTorch's autograd mechanics, "Setting
// requires_grad"). The backward ends at the first operator of the forward that reads a trained
// parameter.
#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "whatif/job/operators.h"
#include "whatif/scenarios/catalogue.h"
#include "whatif/scenarios/distributed/network.h"
#include "whatif/scenarios/parameters/frozen_parameters.h"

namespace headroom {
namespace {

/// Half-width of the remaining updates. Assumed: the time per byte of some updates varies more
/// than that of all.
constexpr double kFreezeError = 0.1;
/// Half-width of a task that computes both gradients of a convolution. Assumed: either takes 35 %
/// to 65 % of their time.
constexpr double kHalfError = 0.3;

std::vector<bool> MatchingParameters(const Job& job,
                                     const std::vector<TrainedParameter>& parameters,
                                     const std::string& expression) {
  const RE2 regex(expression, RE2::Quiet);
  const auto matches = [&](HostEventId event) {
    return event.valid() && RE2::PartialMatch(NameOfOperator(job, event), regex);
  };
  std::vector<bool> matching;
  matching.reserve(parameters.size());
  for (const TrainedParameter& parameter : parameters) {
    matching.push_back(
        std::any_of(parameter.users.begin(), parameter.users.end(), [&](HostEventId user) {
          return matches(user) || matches(job.attribution().Of(user).layer);
        }));
  }
  return matching;
}

std::string Why(const Frozen& frozen, double bytes, bool communicates) {
  std::string why = fmt::format("{:.3g} % of the parameters' {:.3g} MB are not trained",
                                100 * frozen.bytes, bytes / 1e6);
  if (frozen.nodes > 0) why += "; the backward ends at the first trained layer";
  if (frozen.estimated)
    why += "; a kernel for both gradients of a convolution takes half of its time for each";
  if (communicates) why += "; recorded collectives shrink in proportion to the bytes";
  if (frozen.unknown > 0)
    why += "; at least: some gradients' kernels are unknown and keep their time";
  return why;
}

}  // namespace

Effect ApplyFreeze(const Job& job, const Arguments& arguments, Edit& edit) {
  const std::vector<TrainedParameter> parameters = FindTrainedParameters(job);
  if (const std::optional<std::string> why = WhyNotFrozen(job, parameters))
    return Effect::Abstain(*why);
  const std::vector<bool> matching = MatchingParameters(job, parameters, arguments.Text("match"));
  double bytes = 0;
  std::size_t before = 0, now = 0, all = 0;
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    const bool was = edit.IsSkipped(parameters[p].accumulate);
    before += was ? 1 : 0;
    now += matching[p] && !was ? 1 : 0;
    bytes += was ? 0 : parameters[p].bytes;
    ++all;
  }
  if (std::none_of(matching.begin(), matching.end(), [](bool match) { return match; }))
    return Effect::Abstain(fmt::format(
        "no trained parameter has an operator or layer that matches {}", arguments.Text("match")));
  if (now == 0)
    return Effect::Already(
        fmt::format("parameters that match {} are frozen", arguments.Text("match")));
  if (before + now == all) return Effect::Abstain("everything matches: then nothing is trained");

  const Frozen frozen = FreezeParameters(job, parameters, matching, true, edit);
  const std::string_view unchanged = ShrinkUpdates(job, 1 - frozen.bytes, 1 - frozen.count, edit);
  ShrinkClipping(job, 1 - frozen.bytes, edit);
  Effect effect;
  effect.why =
      Why(frozen, bytes / static_cast<double>(std::max(1, job.graph().steps)), Communicates(job));
  if (!unchanged.empty()) effect.AlsoBecause(unchanged);
  effect.gpu_error = frozen.estimated ? kHalfError : kFreezeError;
  if (frozen.nodes > 0) return effect;  // The activations that are no longer kept are unknown.
  if (const std::optional<TrainingBytes> training = TrainingBytesOf(job); training && before == 0)
    effect.memory_delta_bytes =
        -std::llround(frozen.bytes * (training->gradients + training->optimizer_state));
  return effect;
}

}  // namespace headroom
