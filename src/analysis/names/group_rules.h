// Kinds of parallelism among ranks, as data/rules/groups.toml defines them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "base/named_text.h"
#include "base/status.h"
#include "cost/rule_file.h"

namespace headroom {

/// The lists in a rules file of groups.
inline constexpr RuleFormat kGroupRuleLists[] = {
    {.list = "rule", .value_key = "axis", .explained = true}};

/// How a group of ranks divides the job's work.
enum class ParallelAxis : std::uint8_t {
  kData,      ///< Each rank has different samples.
  kTensor,    ///< Each rank has part of each layer.
  kPipeline,  ///< Each rank has a stage of layers.
  kExpert,    ///< Each rank has some experts of a mixture.
  kContext,   ///< Each rank has part of each sequence.
  kSeveral,   ///< More than one of these.
};

/// Returns the axis as rules files write it, such as "data".
std::string_view Name(ParallelAxis axis);

/// The compiled rules. Thread-safe once parsed.
class GroupRules {
 public:
  /// Parses a rules file. On failure the message names the file, the rule and the remedy.
  static Result<GroupRules> Parse(const NamedText& rules);

  GroupRules(GroupRules&&) noexcept;
  GroupRules& operator=(GroupRules&&) noexcept;
  ~GroupRules();

  /// Returns the axis from a recorded description, or nullopt if it does not state one
  /// ("default_pg").
  std::optional<ParallelAxis> AxisOf(std::string_view description) const;

 private:
  struct Impl;
  explicit GroupRules(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace headroom
