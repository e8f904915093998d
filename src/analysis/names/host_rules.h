// Maps names of host events to their meanings, as data/rules/host.toml defines them.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/named_text.h"
#include "base/status.h"
#include "cost/rule_file.h"

namespace headroom {

/// The lists in a rules file of host events.
inline constexpr RuleFormat kHostRuleLists[] = {
    {.list = "rule", .value_key = "role", .explained = true}};

/// Roles of a host event; a name may have several. The rules file defines them.
enum class HostRole : std::uint8_t {
  kKernelLaunch,
  kGraphLaunch,
  kCaptureBegin,
  kCaptureEnd,
  kSync,
  kSyncCopy,
  kDeviceSync,
  kAsyncCopy,
  kDataWait,
  kOptimizer,
  kOptimizerStep,
  kIteration,
  kBackward,
  kBackwardOperator,
  kForward,
  kCallback,
  kHostToDevice,
  kCommunication,
  kFrameworkRange,
  kLayerRange,
  kModuleFrame,
  kLibraryFrame,
  kAllocation,
  kCompilation,
  kAutotuning,
  kCheckpoint,
  kGarbageCollection,
  kEvaluation,
  kMemoryCall,
  kEpochEdge,
};

/// A set of roles.
class HostRoles {
 public:
  bool Has(HostRole role) const { return (bits_ >> static_cast<unsigned>(role) & 1) != 0; }
  void Add(HostRole role) { bits_ |= 1u << static_cast<unsigned>(role); }
  bool operator==(const HostRoles&) const = default;

 private:
  std::uint32_t bits_ = 0;
};

/// The rules, compiled into one automaton. Thread-safe once parsed. A call costs about a
/// microsecond, so cache the result per name.
class HostRules {
 public:
  /// Parses a rules file. On failure the message names the file, the rule and the remedy.
  static Result<HostRules> Parse(const NamedText& rules);

  HostRules(HostRules&&) noexcept;
  HostRules& operator=(HostRules&&) noexcept;
  ~HostRules();

  HostRoles RolesOf(std::string_view name) const;

 private:
  struct Impl;
  explicit HostRules(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace headroom
