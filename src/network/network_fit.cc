#include "network/network_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/units.h"

namespace headroom {

Result<NetworkFit> FitNetwork(std::span<const MeasuredAllReduce> measured, std::int64_t members) {
  constexpr std::size_t kMin = 3;
  const auto n = static_cast<double>(members);
  // t = 2 (n - 1) alpha + 2 (n - 1) / n bytes / rate. Dividing both sides by t gives a problem that
  // is linear in alpha and 1 / rate.
  double aa = 0, ab = 0, bb = 0, a1 = 0, b1 = 0;
  std::size_t used = 0;
  for (const MeasuredAllReduce& one : measured) {
    const double ns = one.ms * kNsPerMs;
    if (!(ns > 0) || !(one.bytes > 0) || !std::isfinite(ns)) continue;
    const double a = 2 * (n - 1) / ns;
    const double b = 2 * (n - 1) / n * one.bytes / ns;
    aa += a * a;
    ab += a * b;
    bb += b * b;
    a1 += a;
    b1 += b;
    ++used;
  }
  if (members < 2 || used < kMin)
    return Status::NoAnswer("too few all-reduces were measured to determine latency and bandwidth");
  const double determinant = aa * bb - ab * ab;
  double latency = determinant != 0 ? (bb * a1 - ab * b1) / determinant : -1;
  double per_byte = determinant != 0 ? (aa * b1 - ab * a1) / determinant : -1;
  if (!(latency >= 0) && bb > 0) {
    latency = 0;
    per_byte = b1 / bb;
  }
  if (!(per_byte > 0)) {
    return Status::NoAnswer(
        "the times do not grow with the bytes; measure again while nothing else uses the network");
  }
  NetworkFit fit;
  fit.link = {.bytes_per_ns = 1 / per_byte, .latency = DurationNs(std::llround(latency))};
  for (const MeasuredAllReduce& one : measured) {
    const double ns = one.ms * kNsPerMs;
    if (!(ns > 0)) continue;
    const double modelled = 2 * (n - 1) * latency + 2 * (n - 1) / n * one.bytes * per_byte;
    const double error = std::abs(modelled / ns - 1);
    fit.mean_error += error / static_cast<double>(used);
    fit.worst_error = std::max(fit.worst_error, error);
  }
  return fit;
}

std::string RenderCluster(const std::string& name, const NetworkFit& fit,
                          const std::string& source) {
  constexpr double kBitsPerByte = 8;
  return fmt::format(
      "# Machines with one GPU (docs/clusters.md). With several GPUs, add gpus_per_node and the "
      "[inside] "
      "link between them.\n"
      "name = \"{}\"\n"
      "description = \"{:.3g} Gbit/s and {:.3g} us per message, as measured\"\n"
      "gpus_per_node = 1\n"
      "source = \"{}\"\n\n"
      "[between]\n"
      "kind = \"network\"\n"
      "gbps = {:.6g}  # Payload rate of all-reduces, not the line rate.\n"
      "latency_us = {:.6g}\n",
      name, kBitsPerByte * fit.link.bytes_per_ns,
      static_cast<double>(fit.link.latency.ns()) / kNsPerUs, source,
      kBitsPerByte * fit.link.bytes_per_ns, static_cast<double>(fit.link.latency.ns()) / kNsPerUs);
}

}  // namespace headroom
