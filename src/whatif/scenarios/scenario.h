// A what-if: a change to the job, as edits of its plan.
#pragma once

#include <algorithm>
#include <cstdint>
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

/// What the value of a scenario's key must be.
enum class KeyKind : std::uint8_t { kFactor, kCount, kChoice, kRegex };

struct ScenarioKey {
  std::string_view name;
  KeyKind kind = KeyKind::kFactor;
  std::string_view choices = {};    ///< Of kChoice: "fp16|bf16".
  std::string_view otherwise = {};  ///< Value where the key is not given; empty: it must be.
};

/// Values of a scenario's keys, checked.
class Arguments {
 public:
  void Set(std::string_view key, std::string value) {
    values_[std::string(key)] = std::move(value);
  }
  /// REQUIRES: a key of the scenario.
  const std::string& Text(std::string_view key) const { return values_.find(key)->second; }
  double Number(std::string_view key) const;

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

/// Whether forecasts of a kind have been held against what came true.
enum class Validity : std::uint8_t { kNo, kYes, kOutOfRange };

/// Of a forecast that was held against the ground truth of docs/accuracy.md: kYes on its GPU.
Validity ValidityOn(const Job& job);

/// Half-width, as a share, of the times of recurrent operators: how much of them waits for the step
/// before is told by FLOPs alone.
inline constexpr double kRecurrentError = 0.3;

/// What a scenario did to a plan.
struct Effect {
  bool applies = true;   ///< Else `why` tells what is missing, and there is no forecast.
  std::string why = {};  ///< Why it gains what it gains, or why it cannot be told.
  Validity validated = Validity::kNo;
  /// Of the GPU's memory, beside what follows from `memory_change`; none: not known.
  std::optional<std::int64_t> memory_delta_bytes = {};
  MemoryChange memory_change = {};  ///< What it does to what a step keeps.
  double gpu_error =
      0;  ///< Half-width, as a share, of the interval of the kernel times it changed.

  /// The same of what it put on channels.
  double transfer_error = 0;

  /// Takes away host work that no change takes away where it is start-up. Where nothing marks the
  /// steps, nobody knows which is: the interval then reaches to the job as it is.
  bool takes_host_work = false;

  double work = 1;  ///< What a step gets done, in what it did before: more samples, more jobs.

  /// One more reason.
  void AlsoBecause(std::string_view reason) {
    why += why.empty() ? "" : "; ";
    why += reason;
  }

  /// What a change makes of recurrent operators was never held against a measurement.
  void HoldRecurrent() {
    validated = Validity::kNo;
    gpu_error = std::max(gpu_error, kRecurrentError);
  }

  static Effect Abstain(std::string why) { return {.applies = false, .why = std::move(why)}; }
};

/// A row of the catalogue.
struct Scenario {
  std::string_view name;
  std::string_view summary;
  std::span<const ScenarioKey> keys;
  Effect (*apply)(const Job& job, const Arguments& arguments, Edit& edit);
  /// Not among the changes that are ranked by what they save: it is about something else, e.g.
  /// memory or more GPUs.
  bool by_name_only = false;
};

/// All scenarios, in the order in which they are listed and, in a combination, applied.
std::span<const Scenario> Catalogue();

/// Their names, in that order.
std::vector<std::string_view> ScenarioNames();

/// A scenario with its arguments.
struct ScenarioCall {
  const Scenario* scenario = nullptr;
  Arguments arguments;
};

/// Applies the parts of a combination to an edit, and joins what they did; the first that abstains
/// decides. The edit is then of no use.
Effect ApplyAll(const Job& job, const std::vector<ScenarioCall>& calls, Edit& edit);

/// Reads `NAME[:key=value,...][+NAME...]`, into the catalogue's order: `A+B` and `B+A` are the same
/// question. A comma or plus that no key or name follows belongs to
/// the value, so regular expressions need no escapes. Fails (kUsage) with the near names or keys.
Result<std::vector<ScenarioCall>> ParseScenario(std::string_view text);

}  // namespace headroom
