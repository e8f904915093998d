// What a group of ranks shares out, by data/rules/groups.toml.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "base/named_text.h"
#include "base/status.h"
#include "cost/rule_file.h"

namespace headroom {

/// The lists of a rules file of groups.
inline constexpr RuleFormat kGroupRuleLists[] = {
    {.list = "rule", .value_key = "axis", .explained = true}};

/// How the work of a job is shared out among a group of its ranks.
enum class ParallelAxis : std::uint8_t {
  kData,      ///< Each has its own samples.
  kTensor,    ///< A part of each layer.
  kPipeline,  ///< A stage of layers.
  kExpert,    ///< Some experts of a mixture.
  kContext,   ///< A part of each sequence.
  kSeveral,   ///< More than one of these.
};

/// "data", ...
std::string_view Name(ParallelAxis axis);

/// The rules, compiled. Thread-safe once parsed.
class GroupRules {
 public:
  /// Reads a rules file. The message of a failure names the file, the rule and the remedy.
  static Result<GroupRules> Parse(const NamedText& rules);

  GroupRules(GroupRules&&) noexcept;
  GroupRules& operator=(GroupRules&&) noexcept;
  ~GroupRules();

  /// By a description as it was recorded; nullopt: it says nothing of it ("default_pg").
  std::optional<ParallelAxis> AxisOf(std::string_view description) const;

 private:
  struct Impl;
  explicit GroupRules(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace headroom
