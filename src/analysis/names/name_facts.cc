#include "analysis/names/name_facts.h"

namespace headroom {

NameFacts::NameFacts(const TraceStore& store, const ReferenceData& reference)
    : store_(store), reference_(reference) {
  const std::size_t names = store.strings.size();
  roles_.resize(names);
  roles_known_.resize(names);
  kernels_.resize(names);
  kernel_known_.resize(names);
}

HostRoles NameFacts::FindRoles(StringId name) {
  roles_[name.index()] = reference_.host().RolesOf(store_.Text(name));
  roles_known_[name.index()] = true;
  return roles_[name.index()];
}

const KernelClass& NameFacts::Kernel(StringId name) {
  const std::size_t index = name.index();
  if (!kernel_known_[index]) {
    kernels_[index] = reference_.kernels().Classify(store_.Text(name));
    kernel_known_[index] = true;
  }
  return kernels_[index];
}

}  // namespace headroom
