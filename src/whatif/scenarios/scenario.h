// A what-if scenario: a change to the job, as edits of its plan.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "sim/edit.h"
#include "whatif/job/job.h"
#include "whatif/memory/memory_change.h"

namespace headroom {

/// Type of a scenario key's value.
enum class KeyKind : std::uint8_t { kFactor, kCount, kChoice, kRegex };

struct ScenarioKey {
  std::string_view name;
  KeyKind kind = KeyKind::kFactor;
  std::string_view choices = {};    ///< Choices of a kChoice key: "fp16|bf16".
  std::string_view otherwise = {};  ///< Default value; empty if the key is required.
};

/// Values of a scenario's keys, checked.
class Arguments {
 public:
  void Set(std::string_view key, std::string value) {
    values_[std::string(key)] = std::move(value);
  }
  /// REQUIRES: `key` is a key of the scenario.
  const std::string& Text(std::string_view key) const { return values_.find(key)->second; }
  double Number(std::string_view key) const;

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

/// State of validation: whether forecasts of a kind were compared with measurements.
enum class Validity : std::uint8_t { kNo, kYes, kOutOfRange };

/// Returns the validity of a forecast that was compared with the ground truth of
/// docs/accuracy/changes.md: kYes on the GPU of that ground truth, otherwise kOutOfRange.
Validity ValidityOn(const Job& job);

/// Reason why a change of GPU work does not apply to a job on the CPU.
inline constexpr std::string_view kNoGpuWork =
    "the recording has no GPU work, on which this change acts";

/// Half-width of recurrent operators' times, as a share. Their model comes from one job on one GPU.
inline constexpr double kRecurrentError = 0.3;

/// Reason why a scenario has no forecast.
enum class Abstention : std::uint8_t {
  kUnknown,  ///< Data are missing, or the change is impossible.
  kNothing,  ///< The job has no work of this kind. In a combination, the scenario changes nothing.
  kAlready,  ///< The job already has the change. In a combination, as kNothing.
};

/// Effect of a scenario on the job.
struct Effect {
  bool applies = true;  ///< If false, there is no forecast, and `why` gives the reason.
  Abstention abstention = Abstention::kUnknown;  ///< Only if it does not apply.
  std::string why = {};  ///< Reason for the gain or for the missing forecast.
  Validity validated = Validity::kNo;
  /// Change of the GPU's memory in addition to the effect of `memory_change`; nullopt if unknown.
  std::optional<std::int64_t> memory_delta_bytes = {};
  MemoryChange memory_change = {};  ///< Effect on the tensors that a step keeps.
  double gpu_error = 0;             ///< Half-width of the changed kernel times, as a share.

  /// Half-width of the step's change, as a share of it. For changes of host time.
  double change_error = 0;
  /// Half-width of the changed step, as a share of it. For changes of host time.
  double step_error = 0;

  /// Half-width of the times of transfers on channels, as a share.
  double transfer_error = 0;

  /// True if the scenario removes host work that could be start-up, which no change removes. If
  /// nothing marks the steps, start-up is unknown, and the interval extends to the unchanged job.
  bool takes_host_work = false;

  /// True if a real change gains at most this: it cannot remove all that the scenario removes.
  bool is_upper_bound = false;

  double work = 1;  ///< Work per step, relative to the recorded step: more samples, more jobs.
  double sample_work = 1;  ///< The part of `work` that makes each sample larger, as longer ones do.

  /// A step has this number of micro-batches. All but the last lack what `without_update` removes
  /// from the edited plan.
  double micro_batches = 1;
  std::function<void(Edit&)> without_update = {};

  /// Appends a reason.
  void AlsoBecause(std::string_view reason) {
    why += why.empty() ? "" : "; ";
    why += reason;
  }

  /// Applies the uncertainty of recurrent operators.
  void HoldRecurrent() {
    validated = Validity::kNo;
    gpu_error = std::max(gpu_error, kRecurrentError);
  }

  static Effect Abstain(std::string why) { return {.applies = false, .why = std::move(why)}; }
  /// REQUIRES for this and Already(): the scenario left the edit unchanged.
  static Effect Nothing(std::string why) {
    return {.applies = false, .abstention = Abstention::kNothing, .why = std::move(why)};
  }
  /// @param state  as a clause: "the optimizer is fused"
  static Effect Already(std::string_view state) {
    return {.applies = false,
            .abstention = Abstention::kAlready,
            .why = "already: " + std::string(state)};
  }
};

/// The purpose of a scenario.
enum class ScenarioGroup : std::uint8_t {
  kUsual,     ///< Common changes that keep the training as it is.
  kTraining,  ///< Other data, parameters or updates per step.
  kMemory,    ///< Trades time for memory.
  kManyGpus,
  kResearch,  ///< Published, but in no framework.
  kBound,     ///< States a speedup, not how to get it.
};

/// Returns "usual", "training", "memory", "many-gpus", "research" or "bound".
std::string_view NameOf(ScenarioGroup group);

/// A row of the catalogue.
struct Scenario {
  std::string_view name;
  std::string_view title;  ///< The change in a few words, for people.
  ScenarioGroup group = ScenarioGroup::kUsual;
  std::string_view summary;
  std::span<const ScenarioKey> keys;
  Effect (*apply)(const Job& job, const Arguments& arguments, Edit& edit);
  /// If true, the ranking by savings omits the scenario, because it has another purpose, such as
  /// memory or more GPUs.
  bool by_name_only = false;
  bool on_host = false;  ///< It also applies to a job without GPU work.
};

/// Returns all scenarios, in the order in which they are listed and, in a combination, applied.
std::span<const Scenario> Catalogue();

/// Returns the names of all scenarios, in the same order.
std::vector<std::string_view> ScenarioNames();

/// A scenario with its arguments.
struct ScenarioCall {
  const Scenario* scenario = nullptr;
  Arguments arguments;
};

/// Applies the parts of a combination to an edit, and combines their effects. Parts with nothing to
/// do change neither the edit nor the other effects. If another part abstains, returns its effect;
/// the edit is then invalid.
Effect ApplyAll(const Job& job, const std::vector<ScenarioCall>& calls, Edit& edit);

/// Parses `NAME[:key=value,...][+NAME...]` into catalogue order: `A+B` and `B+A` are the same. A
/// comma or plus without a key or name after it belongs to the value, so regular expressions need
/// no escapes. Fails with kUsage; the message suggests similar names or keys.
Result<std::vector<ScenarioCall>> ParseScenario(std::string_view text);

}  // namespace headroom
