// Facts from the rules files about names, computed once per distinct name of a trace.
#pragma once

#include <vector>

#include "analysis/names/host_rules.h"
#include "analysis/names/reference_data.h"
#include "base/ids.h"
#include "cost/kernel_class.h"
#include "store/trace_store.h"

namespace headroom {

/// Caches the facts about each distinct name.
class NameFacts {
 public:
  NameFacts(const TraceStore& store, const ReferenceData& reference);

  /// Returns the roles of a host event's name.
  HostRoles Roles(StringId name) {
    return roles_known_[name.index()] ? roles_[name.index()] : FindRoles(name);
  }
  /// Returns the class of a kernel's name.
  const KernelClass& Kernel(StringId name);
  bool IsCommunication(StringId name) { return Kernel(name).family == WorkFamily::kCommunication; }

 private:
  HostRoles FindRoles(StringId name);

  const TraceStore& store_;
  const ReferenceData& reference_;
  std::vector<HostRoles> roles_;
  std::vector<bool> roles_known_;
  std::vector<KernelClass> kernels_;
  std::vector<bool> kernel_known_;
};

}  // namespace headroom
