#include "whatif/scenarios/scenario.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/text.h"

namespace headroom {
namespace {

/// Beyond these limits, times in nanoseconds overflow.
constexpr double kMinFactor = 1e-6, kMaxFactor = 1e9;

const Scenario* FindScenario(std::string_view name) {
  const std::span<const Scenario> all = Catalogue();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Scenario& s) { return s.name == name; });
  return found == all.end() ? nullptr : &*found;
}

const ScenarioKey* FindKey(const Scenario& scenario, std::string_view name) {
  const auto found = std::find_if(scenario.keys.begin(), scenario.keys.end(),
                                  [&](const ScenarioKey& key) { return key.name == name; });
  return found == scenario.keys.end() ? nullptr : &*found;
}

/// Returns the end of the first scenario in `text`: a plus or the end of the string. In a regular
/// expression, only a plus before another scenario's name counts.
std::size_t EndOfScenario(std::string_view text) {
  const std::size_t colon = text.find(':');
  const Scenario* scenario = FindScenario(text.substr(0, colon));
  const bool takes_regex =
      scenario != nullptr &&
      std::any_of(scenario->keys.begin(), scenario->keys.end(),
                  [](const ScenarioKey& key) { return key.kind == KeyKind::kRegex; });
  for (std::size_t plus = text.find('+'); plus != std::string_view::npos;
       plus = text.find('+', plus + 1)) {
    // Only a regular expression can contain a plus.
    if (colon == std::string_view::npos || plus < colon || !takes_regex) return plus;
    const std::string_view rest = text.substr(plus + 1);
    if (FindScenario(rest.substr(0, rest.find_first_of(":+"))) != nullptr) return plus;
  }
  return text.size();
}

/// Returns the end of the first `key=value` in `text`: a comma before another key, or the end of
/// the string.
std::size_t EndOfArgument(const Scenario& scenario, std::string_view text) {
  for (std::size_t comma = text.find(','); comma != std::string_view::npos;
       comma = text.find(',', comma + 1)) {
    const std::string_view rest = text.substr(comma + 1);
    const std::string_view key = rest.substr(0, rest.find('='));
    const std::string_view value = text.substr(text.find('=') + 1);
    const ScenarioKey* current = FindKey(scenario, text.substr(0, text.find('=')));
    // Only a regular expression can contain a comma.
    if (FindKey(scenario, key) != nullptr || current == nullptr ||
        current->kind != KeyKind::kRegex || value.empty())
      return comma;
  }
  return text.size();
}

/// Describes the allowed values of a key to the user.
std::string AllowedValues(const ScenarioKey& key) {
  switch (key.kind) {
    case KeyKind::kFactor:
      return "a number from 1e-6 to 1e9";
    case KeyKind::kCount:
      return "a whole number from 1 to 1e9";
    case KeyKind::kChoice:
      return fmt::format("one of {}", key.choices);
    case KeyKind::kRegex:
      return "a regular expression (RE2)";
  }
  return {};
}

Status CheckValue(const Scenario& scenario, const ScenarioKey& key, const std::string& value) {
  if (value.empty()) {
    return Status::Usage(fmt::format("{}: {} is empty; give {}{}", scenario.name, key.name,
                                     AllowedValues(key),
                                     key.kind == KeyKind::kRegex ? "; .* matches everything" : ""));
  }
  const auto wrong = [&](std::string_view why) {
    return Status::Usage(fmt::format("{}: {}={} is not {}{}", scenario.name, key.name, value,
                                     AllowedValues(key), why));
  };
  switch (key.kind) {
    case KeyKind::kFactor:
    case KeyKind::kCount: {
      double number = 0;
      const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
      const bool whole = error == std::errc() && end == value.data() + value.size() &&
                         std::isfinite(number) && number >= kMinFactor && number <= kMaxFactor;
      if (!whole || (key.kind == KeyKind::kCount && number != std::floor(number))) return wrong("");
      return Status::Ok();
    }
    case KeyKind::kChoice: {
      std::string_view rest = key.choices;
      while (!rest.empty()) {
        const std::string_view choice = rest.substr(0, rest.find('|'));
        if (choice == value) return Status::Ok();
        rest.remove_prefix(std::min(rest.size(), choice.size() + 1));
      }
      return wrong("");
    }
    case KeyKind::kRegex: {
      const RE2 regex(value, RE2::Quiet);
      if (!regex.ok()) return wrong(fmt::format(": {}", regex.error()));
      return Status::Ok();
    }
  }
  return Status::Ok();
}

/// Combinations that docs/accuracy/changes.md covers, in catalogue order. tools/accuracy fails if
/// one is missing.
constexpr std::array<std::string_view, 13> kMeasuredTogether = {
    "fused-optimizer+amp",
    "fused-optimizer+flash-attention+amp",
    "fused-optimizer+flash-attention+amp+batch-size",
    "fused-optimizer+amp+batch-size",
    "fused-optimizer+batch-size",
    "flash-attention+amp",
    "flash-attention+batch-size",
    "amp+channels-last",
    "amp+channels-last+batch-size",
    "amp+batch-size",
    "tf32+batch-size",
    "batch-size+checkpointing",
    "batch-size+cuda-graph"};

bool IsMeasuredTogether(const std::vector<std::string_view>& names) {
  if (names.size() < 2) return true;
  return std::find(kMeasuredTogether.begin(), kMeasuredTogether.end(),
                   fmt::format("{}", fmt::join(names, "+"))) != kMeasuredTogether.end();
}

/// Returns our scenario for a name that frameworks or users give it; empty if we know none.
std::string_view OtherNameOf(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> kOthers[] = {
      {"mixed-precision", "amp"},
      {"autocast", "amp"},
      {"bf16", "amp:dtype=bf16"},
      {"bfloat16", "amp:dtype=bf16"},
      {"fp16", "amp:dtype=fp16"},
      {"float16", "amp:dtype=fp16"},
      {"half", "amp"},
      {"tensor-cores", "tf32"},
      {"torch-compile", "compile"},
      {"torch.compile", "compile"},
      {"inductor", "compile"},
      {"cuda-graphs", "cuda-graph"},
      {"workers", "data-loading"},
      {"num_workers", "data-loading"},
      {"dataloader", "data-loading"},
      {"activation-checkpointing", "checkpointing"},
      {"sdpa", "flash-attention"},
      {"fused", "fused-optimizer"}};
  for (const auto& [other, scenario] : kOthers) {
    if (other == name) return scenario;
  }
  return "";
}

/// @param whole  the whole combination, for messages
Result<ScenarioCall> ParseOne(std::string_view text, std::string_view whole) {
  const std::string_view name = text.substr(0, text.find(':'));
  if (name.empty()) {
    return Status::Usage(
        fmt::format("a scenario requires a name{}: give NAME or NAME:key=value,...; A+B applies "
                    "both (headroom whatif --list shows all)",
                    whole.empty() ? "" : fmt::format(", which is missing in \"{}\"", whole)));
  }
  const Scenario* scenario = FindScenario(name);
  if (scenario == nullptr) {
    std::vector<std::string_view> near = NearNames(name, ScenarioNames());
    if (const std::string_view other = OtherNameOf(name); !other.empty()) near = {other};
    if (name.find(',') != std::string_view::npos)
      return Status::Usage(fmt::format("there is no scenario \"{}\"; join scenarios with +", name));
    return Status::Usage(
        fmt::format("there is no scenario \"{}\"{}{} (headroom whatif --list shows all)", name,
                    near.empty() ? "" : "; did you mean ", fmt::join(near, ", ")));
  }
  ScenarioCall call{.scenario = scenario, .arguments = {}};
  std::vector<std::string_view> given;
  std::string_view rest = text.substr(std::min(text.size(), name.size() + 1));
  while (!rest.empty()) {
    const std::size_t end = EndOfArgument(*scenario, rest);
    const std::string_view argument = rest.substr(0, end);
    rest.remove_prefix(std::min(rest.size(), end + 1));
    std::string_view key_name = argument.substr(0, argument.find('='));
    std::string value(argument.substr(std::min(argument.size(), key_name.size() + 1)));
    const ScenarioKey* key = FindKey(*scenario, key_name);
    // `callbacks:async`: a choice may omit its key.
    if (key == nullptr && argument.find('=') == std::string_view::npos) {
      for (const ScenarioKey& candidate : scenario->keys) {
        if (candidate.kind == KeyKind::kChoice &&
            CheckValue(*scenario, candidate, std::string(argument)).ok()) {
          key = &candidate;
          value = argument;
        }
      }
    }
    if (key == nullptr) {
      std::vector<std::string> keys;
      for (const ScenarioKey& known : scenario->keys)
        keys.push_back(fmt::format("{} ({})", known.name, AllowedValues(known)));
      if (keys.empty())
        return Status::Usage(fmt::format("{} takes no keys; remove \"{}\"", name, key_name));
      return Status::Usage(
          fmt::format("{} has no key \"{}\"; it takes {}", name, key_name, fmt::join(keys, ", ")));
    }
    if (std::find(given.begin(), given.end(), key->name) != given.end())
      return Status::Usage(fmt::format("{}: {} is given twice", name, key->name));
    given.push_back(key->name);
    if (Status status = CheckValue(*scenario, *key, value); !status.ok()) return status;
    call.arguments.Set(key->name, std::move(value));
  }
  for (const ScenarioKey& key : scenario->keys) {
    if (std::find(given.begin(), given.end(), key.name) != given.end()) continue;
    if (key.otherwise.empty()) {
      return Status::Usage(fmt::format("{} requires {}, {}: {}:{}=...", name, key.name,
                                       AllowedValues(key), name, key.name));
    }
    call.arguments.Set(key.name, std::string(key.otherwise));
  }
  return call;
}

}  // namespace

Validity ValidityOn(const Job& job) {
  return job.device() != nullptr && job.device()->short_name == "H200" ? Validity::kYes
                                                                       : Validity::kOutOfRange;
}

Effect ApplyAll(const Job& job, const std::vector<ScenarioCall>& calls, Edit& edit) {
  Effect all{.memory_delta_bytes = 0};
  bool all_validated = true, any_out_of_range = false;
  int apart = 0;
  std::vector<std::string_view> changing;  // Names of the parts that have something to do.
  std::vector<Effect> idle;
  std::string notes;
  for (const ScenarioCall& call : calls) {
    if (!job.HasGpuWork() && !call.scenario->on_host)
      return Effect::Abstain(std::string(kNoGpuWork));
    Effect effect = call.scenario->apply(job, call.arguments, edit);
    if (!effect.applies && effect.abstention == Abstention::kUnknown) return effect;
    if (!effect.applies) {
      notes += fmt::format("{}{} changes nothing ({})", notes.empty() ? "" : "; ",
                           call.scenario->name, effect.why);
      idle.push_back(std::move(effect));
      continue;
    }
    changing.push_back(call.scenario->name);
    all.gpu_error = std::max(all.gpu_error, effect.gpu_error);
    all.change_error = std::max(all.change_error, effect.change_error);
    all.step_error = std::max(all.step_error, effect.step_error);
    all.transfer_error = std::max(all.transfer_error, effect.transfer_error);
    all.takes_host_work |= effect.takes_host_work;
    all.is_upper_bound |= effect.is_upper_bound;
    all.work *= effect.work;
    all.sample_work *= effect.sample_work;
    if (effect.without_update) {
      all.micro_batches = effect.micro_batches;
      all.without_update = std::move(effect.without_update);
    }
    all.memory_change = all.memory_change | effect.memory_change;
    apart += effect.memory_delta_bytes.value_or(0) != 0 ? 1 : 0;
    if (!effect.memory_delta_bytes) {
      all.memory_delta_bytes.reset();
    } else if (all.memory_delta_bytes) {
      *all.memory_delta_bytes += *effect.memory_delta_bytes;
    }
    all_validated &= effect.validated == Validity::kYes;
    any_out_of_range |= effect.validated == Validity::kOutOfRange;
    if (!effect.why.empty()) all.AlsoBecause(effect.why);
  }
  if (calls.empty()) return all;
  if (changing.empty() && idle.size() == 1) return idle.front();
  if (changing.empty()) return Effect::Nothing(notes);
  // The memory that offloading or encoding saves is counted separately, but both act on the tensors
  // that autograd keeps. The memory of two such changes together is therefore unknown.
  if (apart > 1 || (apart > 0 && all.memory_change != MemoryChange()))
    all.memory_delta_bytes.reset();
  if (all_validated) {
    all.validated = IsMeasuredTogether(changing) ? Validity::kYes : Validity::kOutOfRange;
  } else if (any_out_of_range) {
    all.validated = Validity::kOutOfRange;
  }
  if (!notes.empty()) all.AlsoBecause(notes);
  return all;
}

double Arguments::Number(std::string_view key) const {
  const std::string& text = Text(key);
  double number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

Result<std::vector<ScenarioCall>> ParseScenario(std::string_view text) {
  std::vector<ScenarioCall> calls;
  const std::string_view whole = text;
  do {
    const std::size_t end = EndOfScenario(text);
    Result<ScenarioCall> call = ParseOne(text.substr(0, end), whole);
    if (!call.ok()) return call.status();
    calls.push_back(std::move(call).value());
    if (end == text.size()) break;
    text.remove_prefix(end + 1);
  } while (true);
  std::stable_sort(calls.begin(), calls.end(), [](const ScenarioCall& a, const ScenarioCall& b) {
    return a.scenario < b.scenario;
  });
  for (std::size_t i = 1; i < calls.size(); ++i) {
    const Scenario& scenario = *calls[i].scenario;
    // Several selections may be scaled or removed; any other change can be made once.
    const bool selects =
        std::any_of(scenario.keys.begin(), scenario.keys.end(), [](const ScenarioKey& key) {
          return key.kind == KeyKind::kRegex && key.otherwise.empty();
        });
    if (!selects && calls[i - 1].scenario == &scenario)
      return Status::Usage(fmt::format("{} is given twice; it applies only once", scenario.name));
  }
  return calls;
}

}  // namespace headroom
