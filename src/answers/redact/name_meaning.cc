#include "answers/redact/name_meaning.h"

#include <algorithm>
#include <iterator>

#include "analysis/names/host_rules.h"
#include "cost/device_spec.h"
#include "cost/dtype.h"
#include "cost/kernel_class.h"
#include "ingest/names/category.h"
#include "ingest/names/range_names.h"
#include "network/collectives.h"

namespace headroom {
namespace {

/// Returns the part of a name that the analyses read, if Headroom's recorders or PyTorch's profiler
/// wrote it. This is the first word, or the whole name for the input probe. Returns "" for other
/// names.
std::string_view OwnName(std::string_view name) {
  constexpr std::string_view kOwn[] = {"ProfilerStep#", "loader.", "setting.loader.", "step."};
  const bool is_own = std::any_of(std::begin(kOwn), std::end(kOwn),
                                  [&](std::string_view own) { return name.starts_with(own); });
  if (!is_own) return {};
  return name.starts_with("loader.probe ") ? name : name.substr(0, name.find(' '));
}

/// Returns true if the analyses recognize the value as a category, data type, collective or GPU.
bool IsListed(const ReferenceData& reference, std::string_view value) {
  return value == "headroom" || RuleOfCategory(value) != CategoryRule::kOther ||
         DTypeFromName(value) || DTypeFromProfiler(value) != DType::kUnknown ||
         (CollectiveNamed(value) && value.find(' ') == std::string_view::npos) ||
         reference.devices().Find(value) != nullptr;
}

}  // namespace

bool MeanTheSame(const ReferenceData& reference, std::string_view a, std::string_view b,
                 NameRole role) {
  if (role == NameRole::kKernel) {
    const KernelClass was = reference.kernels().Classify(a), is = reference.kernels().Classify(b);
    return was.family == is.family && was.tensor_cores == is.tensor_cores &&
           was.math_dtype == is.math_dtype && was.fast_algorithm == is.fast_algorithm &&
           CopyKindOf(a) == CopyKindOf(b);
  }
  if (role == NameRole::kListed && (IsListed(reference, a) || IsListed(reference, b)))
    return a == b;
  const HostRoles roles = reference.host().RolesOf(a);
  // An optimizer step's first word also contains the name of the optimizer.
  const auto first_word = [](std::string_view name) { return name.substr(0, name.find(' ')); };
  return OwnName(a) == OwnName(b) && NumberedStep(a) == NumberedStep(b) &&
         roles == reference.host().RolesOf(b) &&
         (!roles.Has(HostRole::kOptimizerStep) || first_word(a) == first_word(b));
}

}  // namespace headroom
