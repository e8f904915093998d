#include "whatif/memory/library_workspace.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

namespace headroom {
namespace {

constexpr double kMiB = 1 << 20;

/// Returns the major compute capability of the GPU; 0 if unknown.
std::int32_t ComputeMajor(const Job& job) {
  const auto& devices = job.store().devices;
  for (std::size_t d = 0; d < devices.rows(); ++d) {
    if (devices.compute_major[d] != kUnknown32) return devices.compute_major[d];
  }
  if (job.device() == nullptr) return 0;
  return std::atoi(job.device()->compute_capability.c_str());
}

double BytesOfHandle(const Job& job) {
  if (job.device() != nullptr && job.device()->vendor == "AMD") {
    const std::string& chip = job.device()->compute_capability;
    return (chip.starts_with("gfx94") || chip.starts_with("gfx95") ? 128 : 32) * kMiB;
  }
  // Hopper and later GPUs use 32 MiB. Earlier GPUs use ":4096:2:16:8": 2 buffers of 4096 KiB and 8
  // of 16 KiB.
  constexpr std::int32_t kHopper = 9;
  return ComputeMajor(job) >= kHopper ? 32 * kMiB : (2 * 4096 + 8 * 16) * 1024.0;
}

}  // namespace

std::vector<LibraryWorkspace> ProductWorkspaces(const Job& job, const StepOperators& step) {
  constexpr std::array<std::string_view, 5> kProducts = {
      "aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::_addmm_activation"};
  std::vector<LibraryWorkspace> workspaces;
  std::set<ThreadId> threads;
  bool with_bias = false;
  for (std::size_t i = 0; i < step.list.size(); ++i) {
    const StepOperator& op = step.list[i];
    if (op.tasks.empty() ||
        std::find(kProducts.begin(), kProducts.end(), op.name) == kProducts.end())
      continue;
    if (threads.insert(op.thread).second)
      workspaces.push_back({.bytes = BytesOfHandle(job), .first_use = i});
    if (op.name != "aten::addmm" || with_bias) continue;
    with_bias = true;
    workspaces.push_back({.bytes = kMiB, .first_use = i});
  }
  return workspaces;
}

}  // namespace headroom
