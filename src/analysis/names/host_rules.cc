#include "analysis/names/host_rules.h"

#include <fmt/format.h>
#include <re2/set.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace headroom {
namespace {

struct RoleName {
  std::string_view name;
  HostRole role;
};

constexpr RoleName kRoles[] = {
    {"kernel-launch", HostRole::kKernelLaunch},
    {"graph-launch", HostRole::kGraphLaunch},
    {"capture-begin", HostRole::kCaptureBegin},
    {"capture-end", HostRole::kCaptureEnd},
    {"sync", HostRole::kSync},
    {"sync-copy", HostRole::kSyncCopy},
    {"device-sync", HostRole::kDeviceSync},
    {"async-copy", HostRole::kAsyncCopy},
    {"data-wait", HostRole::kDataWait},
    {"optimizer", HostRole::kOptimizer},
    {"optimizer-step", HostRole::kOptimizerStep},
    {"iteration", HostRole::kIteration},
    {"backward", HostRole::kBackward},
    {"backward-operator", HostRole::kBackwardOperator},
    {"forward", HostRole::kForward},
    {"callback", HostRole::kCallback},
    {"host-to-device", HostRole::kHostToDevice},
    {"communication", HostRole::kCommunication},
    {"framework-range", HostRole::kFrameworkRange},
    {"layer-range", HostRole::kLayerRange},
    {"module-frame", HostRole::kModuleFrame},
    {"library-frame", HostRole::kLibraryFrame},
    {"allocation", HostRole::kAllocation},
    {"compilation", HostRole::kCompilation},
    {"autotuning", HostRole::kAutotuning},
    {"checkpoint", HostRole::kCheckpoint},
    {"garbage-collection", HostRole::kGarbageCollection},
    {"evaluation", HostRole::kEvaluation},
    {"memory-call", HostRole::kMemoryCall},
    {"epoch-edge", HostRole::kEpochEdge},
};

std::optional<HostRole> RoleFromName(std::string_view name) {
  for (const RoleName& known : kRoles) {
    if (known.name == name) return known.role;
  }
  return std::nullopt;
}

/// Names are cut before matching. The start of a name determines its meaning, and a hostile name
/// may be megabytes long.
constexpr std::size_t kMaxNameBytes = 1024;

}  // namespace

struct HostRules::Impl {
  RE2::Set set{RE2::Quiet, RE2::UNANCHORED};
  std::vector<HostRole> role_of;  ///< By index in the set.
};

HostRules::HostRules(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HostRules::HostRules(HostRules&&) noexcept = default;
HostRules& HostRules::operator=(HostRules&&) noexcept = default;
HostRules::~HostRules() = default;

Result<HostRules> HostRules::Parse(const NamedText& rules) {
  const auto lists = ReadRules(rules, kHostRuleLists);
  if (!lists.ok()) return lists.status();
  auto impl = std::make_unique<Impl>();
  for (const NameRule& rule : lists.value().front()) {
    const std::optional<HostRole> role = RoleFromName(rule.value);
    if (!role) {
      return BadRules(rules,
                      fmt::format("{}: unknown role = '{}'; use a role of data/rules/host.toml",
                                  rule.where, rule.value));
    }
    std::string error;
    if (impl->set.Add(rule.match, &error) < 0) {
      return BadRules(rules,
                      fmt::format("{}: match = '{}' is not a valid RE2 expression ({}); correct it",
                                  rule.where, rule.match, error));
    }
    impl->role_of.push_back(*role);
  }
  if (!impl->set.Compile())
    return BadRules(rules, "the rules require too much memory; simplify them");
  return HostRules(std::move(impl));
}

HostRoles HostRules::RolesOf(std::string_view name) const {
  name = name.substr(0, kMaxNameBytes);
  HostRoles roles;
  std::vector<int> hits;
  impl_->set.Match(re2::StringPiece(name.data(), name.size()), &hits);
  for (const int hit : hits) roles.Add(impl_->role_of[static_cast<std::size_t>(hit)]);
  return roles;
}

}  // namespace headroom
