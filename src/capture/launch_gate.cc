#include "capture/launch_gate.h"

namespace headroom {
namespace {

constexpr std::size_t kMaxLaunches = std::size_t{1} << 16;

/// Returns true if a call of the CUDA runtime or driver launches recorded GPU work.
bool GivesWork(std::string_view name) {
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  return (has("Launch") && !has("HostFunc")) || has("Memcpy") || has("Memset");
}

}  // namespace

LaunchGate::Launch& LaunchGate::Of(std::uint32_t correlation) {
  const auto [launch, is_new] = launches_.try_emplace(correlation);
  if (!is_new) return launch->second;
  order_.push_back(correlation);
  if (order_.size() > kMaxLaunches) {
    const auto oldest = launches_.find(order_.front());
    awaited_ -= oldest->second.awaited ? 1 : 0;
    launches_.erase(oldest);
    order_.pop_front();
  }
  return launch->second;
}

void LaunchGate::SawCall(std::string_view name, std::uint64_t start, std::uint32_t correlation) {
  if (!steps_->limited()) return;
  Launch& launch = Of(correlation);
  launch.called = true;
  launch.wanted |= steps_->Open(start);
  if (launch.wanted && !launch.ran && !launch.awaited && GivesWork(name)) {
    launch.awaited = true;
    ++awaited_;
  }
}

std::optional<bool> LaunchGate::SawTask(std::uint64_t start, std::uint64_t end,
                                        std::uint32_t correlation) {
  if (!steps_->limited()) return true;
  Launch& launch = Of(correlation);
  launch.ran = true;
  awaited_ -= launch.awaited ? 1 : 0;
  launch.awaited = false;
  if (steps_->Before(end)) return false;
  // A task that starts before the wanted steps end was launched in them or earlier.
  if (!steps_->Over(start)) return true;
  return launch.called ? std::optional(launch.wanted) : std::nullopt;
}

}  // namespace headroom
