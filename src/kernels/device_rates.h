// Sustained rates of a GPU, derived from its data sheet. The kernel models divide by them.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "cost/device_spec.h"
#include "kernels/kernel_constants.h"
#include "kernels/local_correction.h"

namespace headroom {

/// Rates of one device; all above 0.
struct DeviceRates {
  const DeviceSpec* device = nullptr;
  const GemmLibrary* library = nullptr;  ///< Library of its architecture; not null.
  double processors = 0;                 ///< Multiprocessors or compute units.
  double lanes = 0;                      ///< Float32 lanes per multiprocessor.
  double threads = 0;                    ///< Maximum resident threads per multiprocessor.
  double registers = 0;                  ///< Registers per multiprocessor.
  /// Bytes of L1 per multiprocessor: the maximum that is not shared memory.
  double l1_bytes = 0;
  double l2_bytes = 0;      ///< Bytes of the L2, or of the L3 if that is larger.
  double flops_per_ns = 0;  ///< Peak in float32, at the boost clock.
  /// Share of the peak that remains for products after other instructions issue.
  double issue_share = 1;
  /// Share of the boost clock that the power limit sustains.
  double clock_share = 1;
  /// Share of the peak that products sustain at the power limit; 1 if the limit is unknown.
  double sustained_share = 1;
  /// Share of the peak at which the card reaches its power limit.
  double full_power_share = 1;
  double bytes_per_ns = 0;         ///< Sustained by kernels that only move data.
  double cached_bytes_per_ns = 0;  ///< Sustained by such kernels for data in the L2.
  /// 0 for a card with enough power for its clock (kFullSizeW), 1 for one that clearly lacks it
  /// (kSmallW).
  double smallness = 0;
  /// Factor that widens error ranges if no GPU of the architecture contributed to the models.
  double error_scale = 1;
  /// True if convolutions have the error range KernelConstants::untried_convolution.
  bool untried_convolutions = false;
  /// Correction of the models from operators measured on this GPU; null if none was measured.
  std::shared_ptr<const LocalCorrection> correction = {};
  /// Names of the guessed figures, separated by ", "; empty if no figure was guessed.
  std::string guessed = {};
};

/// Returns the share of a profile's deviation from the model that carries over from one GPU to
/// another. Measurements of similar shapes on the target reduce the share, because they show the
/// same errors as the profile.
double ResidualWeight(WorkClass work, const DeviceRates& from, const DeviceRates& to,
                      double evidence, const KernelConstants& constants);

/// Factor that widens the error ranges of work on tensor cores. The models of this work were
/// validated on one H200 only.
inline constexpr double kTensorCoreDoubt = 2;

/// Returns the correction of a piece of work from measurements on the device.
Correction CorrectionOf(const KernelWork& work, const DeviceRates& rates);

/// Returns the error range of a class of work on a device.
ErrorRange RangeOf(WorkClass work, const DeviceRates& rates, double evidence,
                   const KernelConstants& constants);
ErrorRange RangeOfStep(const DeviceRates& rates, double evidence, const KernelConstants& constants);

/// Cards with at most this power limit sustain the rate that power and cooling allow, not their
/// clock ...
inline constexpr double kSmallW = 75;
/// ... and cards with at least this limit nearly sustain their clock.
inline constexpr double kFullSizeW = 200;

/// Returns the rates of a device. Fails with kUsage, and names the figure, if the device file lacks
/// a figure without a substitute. Also fails for architectures whose kernels are unknown.
///
/// The power rule starts from an architecture's full-size cards (kFullSizeW or more). The power per
/// operation of a card is W = power limit / peak of its lanes. Chips with the same figures count
/// once.
/// - A full-size card whose W is below the geometric mean of all full-size W sustains
///   (W / mean) ^ full_power of its peak.
/// - A small card (kSmallW or less) is compared with the maximum of all full-size W, because
///   full-size cards below the maximum may not hold their clock. The small card sustains at most
///   (W / maximum) ^ low_power of the rate that its products reach at the boost clock.
/// - For cards between kSmallW and kFullSizeW, the two results are weighted by the logarithm of the
///   power.
///
/// Products on a card with 128 lanes per multiprocessor in 8 or 4 nm also sustain no more than the
/// energy of an operation in that process allows.
///
/// Cards whose compute capabilities differ in the major number (B200, RTX 5090) are not compared.
/// The rule requires no measurement on the card.
///
/// A missing chip figure (lanes, threads, caches) becomes the minimum over devices of the same
/// compute capability, else a typical value. DeviceRates::guessed names it. A card whose power
/// limit is unknown is assumed to hold its clock; `guessed` then contains tdp_w.
///
/// The sustained bandwidth is the share of the peak that kernels reach with that kind of memory, or
/// the published share of a stream (DeviceSpec::delivered_bandwidth_share). The L2's bandwidth is
/// proportional to the multiprocessors and their clock, independent of the memory.
Result<DeviceRates> RatesOf(const DeviceSpec& device, const DeviceCatalog& catalog,
                            const KernelConstants& constants);

}  // namespace headroom
