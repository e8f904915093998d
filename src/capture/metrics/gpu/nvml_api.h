// The part of NVML that Headroom uses, declared here so that Headroom builds without NVML's header.
// Names, numbers and layouts come from the NVML API reference and are stable across drivers.
#pragma once

#include <cstdint>

namespace headroom::nvml {

using Device = struct DeviceHandle*;
using GpmSample = struct GpmSampleHandle*;
using Return = int;

constexpr Return kSuccess = 0;
constexpr Return kNotSupported = 3;
constexpr Return kNoPermission = 4;
constexpr Return kInsufficientSize = 7;
constexpr Return kFunctionNotFound = 13;
constexpr Return kGpuIsLost = 15;

struct Utilization {
  unsigned gpu;     ///< % of the driver's last period (1/6 to 1 s) in which a kernel ran.
  unsigned memory;  ///< % of the same period in which memory was read or written.
};

struct Memory {
  unsigned long long total, free, used;  ///< Bytes.
};

struct FieldValue {
  unsigned field;
  unsigned scope;  ///< NVLink: number of the link; kAllLinks: the sum.
  long long timestamp, latency;
  unsigned type;
  Return result;
  unsigned long long value;  ///< A union in NVML; both fields below use this member.
};
static_assert(sizeof(FieldValue) == 40);
constexpr unsigned kNvlinkSent = 138;  ///< Field id; the values of both fields are in KiB.
constexpr unsigned kNvlinkReceived = 139;
constexpr unsigned kAllLinks = UINT32_MAX;

struct ProcessInfo {
  unsigned pid;
  unsigned long long memory;  ///< Bytes; kNotAvailable if not reported.
  unsigned gpu_instance, compute_instance;
};
static_assert(sizeof(ProcessInfo) == 24);
constexpr unsigned long long kNotAvailable = UINT64_MAX;

constexpr unsigned kClockSm = 1, kClockMemory = 2;
constexpr unsigned kTemperatureGpu = 0;

/// Reasons for clocks below the maximum (nvmlClocksEventReasons).
constexpr unsigned long long kReasonPowerCap = 0x4, kReasonHwSlowdown = 0x8,
                             kReasonSyncBoost = 0x10, kReasonSwThermal = 0x20,
                             kReasonHwThermal = 0x40, kReasonPowerBrake = 0x80;

struct GpmSupport {
  unsigned version;  ///< Must be 1.
  unsigned supported;
};

struct GpmMetric {
  unsigned id;
  Return result;
  double value;
  const char *short_name, *long_name, *unit;
};
static_assert(sizeof(GpmMetric) == 40);

/// Length of the array. Later drivers have more metrics and a longer array, but read only `count`
/// entries.
constexpr unsigned kGpmMost = 512;
struct GpmMetrics {
  unsigned version;  ///< Must be 1.
  unsigned count;
  GpmSample first, second;
  GpmMetric metrics[kGpmMost];
};

/// Entry points. Null if the library lacks the function.
struct Api {
  Return (*init)();
  Return (*shutdown)();
  Return (*count)(unsigned*);
  Return (*by_index)(unsigned, Device*);
  Return (*by_uuid)(const char*, Device*);
  Return (*mig_parent)(Device, Device*);
  Return (*index)(Device, unsigned*);
  Return (*uuid)(Device, char*, unsigned);
  Return (*name)(Device, char*, unsigned);
  Return (*utilization)(Device, Utilization*);
  Return (*memory)(Device, Memory*);
  Return (*clock)(Device, unsigned, unsigned*);
  Return (*power)(Device, unsigned*);
  Return (*power_limit)(Device, unsigned*);
  Return (*energy)(Device, unsigned long long*);
  Return (*temperature)(Device, unsigned, unsigned*);
  Return (*throttle_reasons)(Device, unsigned long long*);
  Return (*fields)(Device, int, FieldValue*);
  Return (*processes)(Device, unsigned*, ProcessInfo*);
  Return (*gpm_support)(Device, GpmSupport*);
  Return (*gpm_alloc)(GpmSample*);
  Return (*gpm_free)(GpmSample);
  Return (*gpm_sample)(Device, GpmSample);
  Return (*gpm_metrics)(GpmMetrics*);
};

}  // namespace headroom::nvml
