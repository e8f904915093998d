#include "analysis/names/reference_data.h"

#include <cassert>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/names/group_rules.h"
#include "analysis/names/host_rules.h"
#include "cost/device_spec.h"
#include "cost/kernel_class.h"
#include "embedded/device_files.h"
#include "embedded/rule_files.h"

namespace headroom {
namespace {

/// Requires that the build embeds a file of that name.
const NamedText& FileNamed(std::span<const NamedText> files, std::string_view name) {
  for (const NamedText& file : files) {
    if (file.name.ends_with(name)) return file;
  }
  assert(false && "the build embeds every rules file");
  return files.front();
}

}  // namespace

struct ReferenceData::Impl {
  DeviceCatalog devices;
  KernelClassifier kernels;
  HostRules host;
  GroupRules groups;
};

ReferenceData::ReferenceData(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ReferenceData::ReferenceData(ReferenceData&&) noexcept = default;
ReferenceData::~ReferenceData() = default;

Result<std::unique_ptr<ReferenceData>> ReferenceData::LoadBuiltIn(
    std::span<const NamedText> more_devices) {
  std::vector<NamedText> files(DeviceFiles().begin(), DeviceFiles().end());
  files.insert(files.end(), more_devices.begin(), more_devices.end());
  Result<DeviceCatalog> devices = DeviceCatalog::Load(files);
  if (!devices.ok()) return devices.status();
  Result<KernelClassifier> kernels =
      KernelClassifier::Parse(FileNamed(RuleFiles(), "kernels.toml"));
  if (!kernels.ok()) return kernels.status();
  Result<HostRules> host = HostRules::Parse(FileNamed(RuleFiles(), "host.toml"));
  if (!host.ok()) return host.status();
  Result<GroupRules> groups = GroupRules::Parse(FileNamed(RuleFiles(), "groups.toml"));
  if (!groups.ok()) return groups.status();
  auto impl = std::make_unique<Impl>(Impl{std::move(devices).value(), std::move(kernels).value(),
                                          std::move(host).value(), std::move(groups).value()});
  return std::unique_ptr<ReferenceData>(new ReferenceData(std::move(impl)));
}

const DeviceCatalog& ReferenceData::devices() const { return impl_->devices; }
const KernelClassifier& ReferenceData::kernels() const { return impl_->kernels; }
const HostRules& ReferenceData::host() const { return impl_->host; }
const GroupRules& ReferenceData::groups() const { return impl_->groups; }

}  // namespace headroom
