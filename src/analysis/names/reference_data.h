// Headroom's built-in reference data from data/: devices, kernel classes, names of host events and
// of groups of ranks.
#pragma once

#include <memory>
#include <span>

#include "base/named_text.h"
#include "base/status.h"

namespace headroom {

class DeviceCatalog;
class GroupRules;
class HostRules;
class KernelClassifier;

/// Rules and specifications that the analyses use. Immutable; shared by all traces of a run.
class ReferenceData {
 public:
  /// Loads the built-in data files, and the user's device files, which replace built-in ones of the
  /// same short name. Without user files, a failure is a defect of the build.
  static Result<std::unique_ptr<ReferenceData>> LoadBuiltIn(
      std::span<const NamedText> more_devices = {});

  ReferenceData(ReferenceData&&) noexcept;
  ~ReferenceData();

  const DeviceCatalog& devices() const;
  const KernelClassifier& kernels() const;
  const HostRules& host() const;
  const GroupRules& groups() const;

 private:
  struct Impl;
  explicit ReferenceData(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace headroom
