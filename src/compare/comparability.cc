#include "compare/comparability.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>

#include "base/text.h"
#include "render/number_format.h"

namespace headroom {
namespace {

struct FactDoc {
  std::string_view name, label;
  bool blocks;
  double tolerance;  ///< Relative tolerance of numbers; 0: the strings must be equal.
  std::string_view cost;
};

constexpr double kOperatorsInCommon = 0.5;

constexpr std::array kFacts = {
    FactDoc{"gpu", "GPU", true, 0, "headroom predict A --gpu NAME forecasts a step on another GPU"},
    FactDoc{"gpus_used", "GPUs that ran work", true, 0, ""},
    FactDoc{"world_size", "ranks of the job", true, 0, ""},
    FactDoc{"ranks", "ranks with traces", true, 0,
            "the figures cover only these ranks; pass the traces of the same ranks for A and B"},
    FactDoc{"batch", "samples per step", true, 0,
            "headroom whatif A batch-size:n=N forecasts the step of another batch size"},
    FactDoc{"math_dtype", "type of most arithmetic", true, 0,
            "headroom whatif TRACE amp forecasts the 16-bit step from the 32-bit trace"},
    FactDoc{"flops_per_step", "FLOPs per step", true, 0.01,
            "the shapes or the model differ, so the work is not the same"},
    FactDoc{"operators", "operators in common", true, 0, "the models differ"},
    FactDoc{"recorded", "recorded data", true, 0,
            "recording slows the host: about 1.6 us per operator and 1.1 us per call, more with "
            "shapes and most with stacks; compare the corrected steps"},
    FactDoc{"format", "recorded by", true, 0, "profilers slow a job down by different amounts"},
    FactDoc{"power_limit", "GPU power limit", true, 0.01,
            "with a power limit below its maximum, a GPU lowers its clock for compute-bound work"},
    FactDoc{"sm_clock", "GPU clock, mean", true, 0.05,
            "the time of compute-bound kernels is inversely proportional to the clock"},
    FactDoc{"memory_clock", "GPU memory clock, mean", true, 0.05,
            "the time of memory-bound kernels is inversely proportional to the clock"},
    FactDoc{"layers", "layer ranges", false, 0, "each range slows the recorded host by a few us"},
    FactDoc{"cuda_driver", "CUDA version of the driver", false, 0, ""},
    FactDoc{"version.pytorch", "PyTorch", false, 0, ""},
    FactDoc{"version.cuda", "CUDA that PyTorch was built for", false, 0, ""},
    FactDoc{"version.hip", "ROCm that PyTorch was built for", false, 0, ""},
    FactDoc{"version.cuda_runtime", "CUDA runtime", false, 0, ""},
    FactDoc{"version.hip_runtime", "HIP runtime", false, 0, ""},
    FactDoc{"version.hip_driver", "HIP driver", false, 0, ""},
    FactDoc{"version.nccl", "NCCL", false, 0, ""},
    FactDoc{"version.python", "Python", false, 0, ""},
    FactDoc{"here.cpu", "CPU", false, 0, "a host-bound step depends on the speed of one core"},
    FactDoc{"here.cores", "CPU cores", false, 0, ""},
    FactDoc{"here.governor", "CPU frequency governor", false, 0,
            "powersave slows a host-bound step"},
    FactDoc{"here.kernel", "operating system", false, 0, ""},
    FactDoc{"here.nvidia_driver", "NVIDIA driver", false, 0, ""},
    FactDoc{"env.CUDA_LAUNCH_BLOCKING", "CUDA_LAUNCH_BLOCKING", false, 0,
            "1 makes the host wait for each kernel, so no launch overlaps GPU work"},
    FactDoc{"env.NVIDIA_TF32_OVERRIDE", "NVIDIA_TF32_OVERRIDE", false, 0,
            "0 keeps fp32 matrix products off the tensor cores; headroom whatif A tf32 forecasts "
            "the step with them"},
    FactDoc{"env.OMP_NUM_THREADS", "OMP_NUM_THREADS", false, 0,
            "1 slows work on the CPU; high values make loader workers compete for cores"},
};

const FactDoc* DocOfFact(std::string_view name) {
  const auto* doc = std::find_if(kFacts.begin(), kFacts.end(),
                                 [&](const FactDoc& row) { return row.name == name; });
  return doc != kFacts.end() ? doc : nullptr;
}

/// Returns the numbers of "350 W, 400 W"; empty if the text is not such a list.
std::vector<double> NumbersOf(std::string_view text) {
  std::vector<double> numbers;
  while (!text.empty()) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc()) return {};
    numbers.push_back(value);
    const std::size_t comma = text.find(", ", static_cast<std::size_t>(end - text.data()));
    text = comma == std::string_view::npos ? "" : text.substr(comma + 2);
  }
  return numbers;
}

bool AreWithin(double tolerance, const std::string& a, const std::string& b) {
  const std::vector<double> in_a = NumbersOf(a), in_b = NumbersOf(b);
  if (tolerance == 0 || in_a.empty() || in_a.size() != in_b.size()) return false;
  for (std::size_t i = 0; i < in_a.size(); ++i) {
    if (std::abs(in_a[i] - in_b[i]) > tolerance * std::max(std::abs(in_a[i]), std::abs(in_b[i])))
      return false;
  }
  return true;
}

/// Returns the share of the first profile's GPU time in operators that the second also has. Counts
/// only listed rows.
double ShareInCommon(const JobProfile& first, const JobProfile& second) {
  std::set<std::string> names;
  for (const ProfileRow& row : second.operators) names.insert(NameInProfile(row.name));
  double all = 0, common = 0;
  for (const ProfileRow& row : first.operators) {
    all += row.ms.value;
    if (names.contains(NameInProfile(row.name))) common += row.ms.value;
  }
  return all > 0 ? common / all : 1;
}

ComparedFact CompareOperators(const JobProfile& a, const JobProfile& b) {
  ComparedFact fact{.name = "operators"};
  if (a.operators.empty() || b.operators.empty()) return fact;
  const double of_a = ShareInCommon(a, b), of_b = ShareInCommon(b, a);
  fact.a = fmt::format("{} of GPU time", FormatPercent(100 * of_a));
  fact.b = fmt::format("{} of GPU time", FormatPercent(100 * of_b));
  fact.state = std::min(of_a, of_b) < kOperatorsInCommon ? FactState::kDifferent : FactState::kSame;
  return fact;
}

int OrderOf(const ComparedFact& fact) {
  if (fact.state == FactState::kDifferent) return fact.blocks ? 0 : fact.cost.empty() ? 2 : 1;
  return fact.state == FactState::kUnknown ? 3 : 4;
}

}  // namespace

bool FactsAgree(std::string_view fact, const std::string& a, const std::string& b) {
  const FactDoc* doc = DocOfFact(fact);
  return a == b || AreWithin(doc != nullptr ? doc->tolerance : 0, a, b);
}

std::vector<ComparedFact> CompareFacts(const JobProfile& a, const JobProfile& b,
                                       std::span<const std::string> accepted) {
  std::vector<std::string> names;
  for (const FactDoc& doc : kFacts) {
    const bool is_rare = doc.name.starts_with("here.") || doc.name.starts_with("env.") ||
                         doc.name.starts_with("version.") || doc.name == "ranks";
    // Facts that most recordings lack appear only if one profile has them.
    if (!is_rare || !FactOf(a, doc.name).empty() || !FactOf(b, doc.name).empty())
      names.emplace_back(doc.name);
  }
  for (const JobProfile* profile : {&a, &b}) {
    for (const ProfileFact& fact : profile->facts) {
      if (std::find(names.begin(), names.end(), fact.name) == names.end())
        names.push_back(fact.name);
    }
  }
  std::vector<ComparedFact> facts;
  for (const std::string& name : names) {
    ComparedFact fact = name == "operators" ? CompareOperators(a, b) : ComparedFact{.name = name};
    const FactDoc* doc = DocOfFact(name);
    if (name != "operators") {
      fact.a = FactOf(a, name);
      fact.b = FactOf(b, name);
      if (!fact.a.empty() && !fact.b.empty()) {
        fact.state = FactsAgree(name, fact.a, fact.b) ? FactState::kSame : FactState::kDifferent;
      }
    }
    const std::size_t dot = name.find('.');
    fact.label = doc != nullptr ? std::string(doc->label)
                                : name.substr(dot == std::string::npos ? 0 : dot + 1);
    if (fact.state == FactState::kDifferent && doc != nullptr) {
      fact.blocks = doc->blocks;
      fact.cost = doc->cost;
    }
    fact.accepted = std::find(accepted.begin(), accepted.end(), name) != accepted.end();
    facts.push_back(std::move(fact));
  }
  std::stable_sort(facts.begin(), facts.end(), [](const ComparedFact& x, const ComparedFact& y) {
    return OrderOf(x) < OrderOf(y);
  });
  return facts;
}

std::vector<std::string_view> BlockingFacts() {
  std::vector<std::string_view> names;
  for (const FactDoc& doc : kFacts) {
    if (doc.blocks) names.push_back(doc.name);
  }
  return names;
}

Status CheckAccepted(std::span<const std::string> accepted) {
  const std::vector<std::string_view> names = BlockingFacts();
  for (const std::string& name : accepted) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const std::vector<std::string_view> near = NearNames(name, names);
    return Status::Usage(fmt::format("--accept {}: unknown fact; {} {}", name,
                                     near.empty() ? "facts are" : "did you mean",
                                     fmt::join(near.empty() ? names : near, ", ")));
  }
  return Status::Ok();
}

bool AreComparable(std::span<const ComparedFact> facts) {
  return std::none_of(facts.begin(), facts.end(), [](const ComparedFact& fact) {
    return fact.state == FactState::kDifferent && fact.blocks && !fact.accepted;
  });
}

}  // namespace headroom
