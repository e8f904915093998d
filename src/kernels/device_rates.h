// What a GPU sustains, from its data sheet: the rates that the models of kernels divide by.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "cost/device_spec.h"
#include "kernels/kernel_constants.h"
#include "kernels/local_correction.h"

namespace headroom {

/// Of one device; all above 0.
struct DeviceRates {
  const DeviceSpec* device = nullptr;
  const GemmLibrary* library = nullptr;  ///< Not null.
  double processors = 0;                 ///< Multiprocessors or compute units.
  double lanes = 0;                      ///< Of float32, in each.
  double threads = 0;                    ///< That one can hold.
  double registers = 0;                  ///< That one has.
  double l1_bytes = 0;                   ///< Of one: the most that is not shared memory.
  double l2_bytes = 0;
  double flops_per_ns = 0;  ///< Peak in float32, at the boost clock.
  double issue_share = 1;   ///< Of it, what issuing other instructions leaves to products.
  /// Of the boost clock: what the power allows for long.
  double clock_share = 1;
  /// Of that peak: the same, of products; 1 where nothing is known of the power.
  double sustained_share = 1;
  /// Of that peak: from where on the card draws all of its power.
  double full_power_share = 1;
  double bytes_per_ns = 0;         ///< Sustained by kernels that only move data.
  double cached_bytes_per_ns = 0;  ///< The same from the L2.
  /// 0 of a card that has the power for its clock (kFullSizeW), 1 of one that surely has not
  /// (kSmallW).
  double smallness = 0;
  /// By which ranges are wider: no GPU of the architecture had a part in the models.
  double error_scale = 1;
  /// Convolutions there have the range of those whose algorithm was chosen untried.
  bool untried_convolutions = false;
  /// What operators that were measured on it say beyond the models; null: none were.
  std::shared_ptr<const LocalCorrection> correction = {};
  /// What of it rests on a guess; empty: nothing.
  std::string guessed = {};
};

/// How much of what a profile on one GPU says beyond the model is carried over to another. The more
/// was measured near by on the other itself, the less: both tell of the same errors.
double ResidualWeight(WorkClass work, const DeviceRates& from, const DeviceRates& to,
                      double evidence, const KernelConstants& constants);

/// Ranges of work on tensor cores, which were held against one H200 alone, are so many times as
/// wide.
inline constexpr double kTensorCoreDoubt = 2;

/// What is known of a work on the device by what was measured there.
Correction CorrectionOf(const KernelWork& work, const DeviceRates& rates);

/// Of a class of work on a device.
ErrorRange RangeOf(WorkClass work, const DeviceRates& rates, double evidence,
                   const KernelConstants& constants);
ErrorRange RangeOfStep(const DeviceRates& rates, double evidence, const KernelConstants& constants);

/// Cards of this power limit or less sustain what it and their cooling allow, not what their clock
/// says ...
inline constexpr double kSmallW = 75;
/// ... and from this on, nearly that.
inline constexpr double kFullSizeW = 200;

/// The rates of a device.
///
/// The power rule: an architecture's full-size cards (kFullSizeW or more) tell what an operation
/// takes, W = power / peak of their lanes; chips of the same figures count once. A full-size card
/// with less power a peak than their geometric mean sustains (power / peak / W) ^ full_power of its
/// peak. A small card (kSmallW or less) is held against the most of them, not their mean, of which
/// less is not known to hold its own clock; and for its power that one computes no more than what
/// its products reach: (power / peak / W) ^ low_power of that. Between the two, the shares are
/// weighted by the logarithm of the power. Cards of another compute capability's major number
/// (B200, RTX 5090) tell nothing of each other. It needs nothing that was measured on the card
/// itself.
///
/// A figure of the chip (lanes, threads, caches) that is missing is the least that devices of the
/// same compute capability have, else a usual one; DeviceRates::guessed names it. Without its power
/// limit, a card is taken to hold its clock; that is named, too.
///
/// Bandwidth: the share that kernels get by kind of memory, or what a stream is said to get
/// (DeviceSpec::delivered_bandwidth_share). That of the L2 goes with multiprocessors and their
/// clock, whatever memory lies behind it.
///
/// Fails (kUsage) where the device's file lacks a figure that nothing can stand in for, with its
/// name, and for architectures whose kernels are not known.
Result<DeviceRates> RatesOf(const DeviceSpec& device, const DeviceCatalog& catalog,
                            const KernelConstants& constants);

}  // namespace headroom
