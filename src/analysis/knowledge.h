// What Headroom knows before it sees a trace: devices, kernel classes and names of host events,
// from data/.
#pragma once

#include <memory>

#include "base/status.h"

namespace headroom {

class DeviceCatalog;
class HostRules;
class KernelClassifier;

/// The rules and specifications that the analyses use. Immutable; shared by all traces of a run.
class Knowledge {
 public:
  /// Loads the data files built into the program. A failure is a defect of the build.
  static Result<std::unique_ptr<Knowledge>> LoadBuiltIn();

  Knowledge(Knowledge&&) noexcept;
  ~Knowledge();

  const DeviceCatalog& devices() const;
  const KernelClassifier& kernels() const;
  const HostRules& host() const;

 private:
  struct Impl;
  explicit Knowledge(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace headroom
