#include "analysis/host_rules.h"

#include <fmt/format.h>
#include <re2/set.h>
#include <toml++/toml.h>

#include <optional>
#include <utility>

namespace headroom {
namespace {

struct RoleName {
  std::string_view name;
  HostRole role;
};

constexpr RoleName kRoles[] = {
    {"launch", HostRole::kLaunch},
    {"kernel-launch", HostRole::kKernelLaunch},
    {"sync", HostRole::kSync},
    {"async-copy", HostRole::kAsyncCopy},
    {"allocation", HostRole::kAllocation},
    {"data-wait", HostRole::kDataWait},
    {"optimizer", HostRole::kOptimizer},
    {"optimizer-step", HostRole::kOptimizerStep},
    {"backward", HostRole::kBackward},
    {"forward", HostRole::kForward},
    {"callback", HostRole::kCallback},
    {"layer-range", HostRole::kLayerRange},
    {"module-frame", HostRole::kModuleFrame},
    {"library-frame", HostRole::kLibraryFrame},
};

std::optional<HostRole> RoleFromName(std::string_view name) {
  for (const RoleName& known : kRoles) {
    if (known.name == name) return known.role;
  }
  return std::nullopt;
}

/// Names are cut before matching: what a name means stands at its start, and a hostile one may be
/// megabytes long.
constexpr std::size_t kMatchedBytes = 1024;

}  // namespace

struct HostRules::Impl {
  RE2::Set set{RE2::Quiet, RE2::UNANCHORED};
  std::vector<HostRole> role_of;  ///< By index in the set.
  std::vector<Example> examples;
};

HostRules::HostRules(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HostRules::HostRules(HostRules&&) noexcept = default;
HostRules& HostRules::operator=(HostRules&&) noexcept = default;
HostRules::~HostRules() = default;

Result<HostRules> HostRules::Parse(const NamedText& rules) {
  const auto fail = [&](std::string_view why) {
    return Status::BadInput(fmt::format("{}: {}", rules.name, why));
  };
  toml::table document;
  try {
    document = toml::parse(rules.content);
  } catch (const toml::parse_error& error) {
    return fail(fmt::format("line {}: {}", error.source().begin.line, error.description()));
  }
  const toml::array* list = document["rule"].as_array();
  if (list == nullptr) return fail("has no [[rule]]; each names a role and what it matches");
  auto impl = std::make_unique<Impl>();
  for (const toml::node& node : *list) {
    if (!node.is_table()) return fail("a [[rule]] must be a table");
    const toml::table& rule = *node.as_table();
    const std::string role_name = rule["role"].value_or(std::string());
    const std::optional<HostRole> role = RoleFromName(role_name);
    if (!role) return fail(fmt::format("unknown role '{}'", role_name));
    std::string error;
    if (impl->set.Add(rule["match"].value_or(std::string()), &error) < 0) {
      return fail(fmt::format("role '{}': {}", role_name, error));
    }
    impl->role_of.push_back(*role);
    for (const auto& [key, matches] : {std::pair("examples", true), std::pair("not", false)}) {
      if (const toml::array* examples = rule[key].as_array()) {
        for (const toml::node& example : *examples) {
          impl->examples.push_back({example.value_or(std::string()), *role, matches});
        }
      }
    }
  }
  if (!impl->set.Compile()) return fail("the rules need too much memory; simplify them");
  return HostRules(std::move(impl));
}

HostRoles HostRules::RolesOf(std::string_view name) const {
  name = name.substr(0, kMatchedBytes);
  HostRoles roles;
  std::vector<int> hits;
  impl_->set.Match(re2::StringPiece(name.data(), name.size()), &hits);
  for (const int hit : hits) roles.Add(impl_->role_of[static_cast<std::size_t>(hit)]);
  return roles;
}

const std::vector<HostRules::Example>& HostRules::examples() const { return impl_->examples; }

}  // namespace headroom
