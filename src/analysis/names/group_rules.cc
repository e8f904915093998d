#include "analysis/names/group_rules.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <string>
#include <utility>
#include <vector>

namespace headroom {
namespace {

constexpr std::pair<std::string_view, ParallelAxis> kAxes[] = {
    {"data", ParallelAxis::kData},         {"tensor", ParallelAxis::kTensor},
    {"pipeline", ParallelAxis::kPipeline}, {"expert", ParallelAxis::kExpert},
    {"context", ParallelAxis::kContext},   {"several", ParallelAxis::kSeveral},
};

std::optional<ParallelAxis> AxisNamed(std::string_view name) {
  for (const auto& [known, axis] : kAxes) {
    if (known == name) return axis;
  }
  return std::nullopt;
}

/// A hostile description may be megabytes long.
constexpr std::size_t kMaxDescriptionBytes = 1024;

}  // namespace

std::string_view Name(ParallelAxis axis) {
  for (const auto& [name, known] : kAxes) {
    if (known == axis) return name;
  }
  return "";
}

struct GroupRules::Impl {
  struct Rule {
    std::unique_ptr<RE2> match;
    ParallelAxis axis;
  };
  std::vector<Rule> rules;  ///< In the order of the file.
};

GroupRules::GroupRules(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
GroupRules::GroupRules(GroupRules&&) noexcept = default;
GroupRules& GroupRules::operator=(GroupRules&&) noexcept = default;
GroupRules::~GroupRules() = default;

Result<GroupRules> GroupRules::Parse(const NamedText& rules) {
  const auto lists = ReadRules(rules, kGroupRuleLists);
  if (!lists.ok()) return lists.status();
  auto impl = std::make_unique<Impl>();
  for (const NameRule& rule : lists.value().front()) {
    const std::optional<ParallelAxis> axis = AxisNamed(rule.value);
    if (!axis) {
      return BadRules(rules,
                      fmt::format("{}: unknown axis = '{}'; use an axis of data/rules/groups.toml",
                                  rule.where, rule.value));
    }
    auto match = std::make_unique<RE2>(rule.match, RE2::Quiet);
    if (!match->ok()) {
      return BadRules(rules,
                      fmt::format("{}: match = '{}' is not a valid RE2 expression ({}); correct it",
                                  rule.where, rule.match, match->error()));
    }
    impl->rules.push_back({std::move(match), *axis});
  }
  return GroupRules(std::move(impl));
}

std::optional<ParallelAxis> GroupRules::AxisOf(std::string_view description) const {
  description = description.substr(0, kMaxDescriptionBytes);
  for (const Impl::Rule& rule : impl_->rules) {
    if (RE2::PartialMatch(re2::StringPiece(description.data(), description.size()), *rule.match))
      return rule.axis;
  }
  return std::nullopt;
}

}  // namespace headroom
