// The meaning of names that XLA's profiler (JAX, TensorFlow) gives to planes, lines and events, in
// XPlane files and in the JSON made from them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "store/tables.h"

namespace headroom::xla {

/// Categories that Headroom gives to host events, which have none in the file.
inline constexpr std::string_view kStepCategory = "step";
inline constexpr std::string_view kOperatorCategory = "hlo_op";

enum class Accelerator : std::uint8_t { kGpu, kTpu };

struct DeviceName {
  Accelerator kind;
  std::int64_t ordinal;
};

/// Returns the device of a plane or process "/device:GPU:0", with or without text around it.
std::optional<DeviceName> DeviceOf(std::string_view plane);

/// Returns true if a plane contains host threads: "/host:CPU", or an additional plane of older
/// versions.
bool IsHostPlane(std::string_view plane);

/// Returns the number of a stream: 13 for "Stream #13(Compute)". All other lines of a GPU ("XLA
/// Ops", "Steps", name scopes) are derived from streams and contain no additional work.
std::optional<std::int64_t> StreamOf(std::string_view line);

/// Returns the kind of a host span from its name:
///
/// - a Python frame ("$file.py:12 fn")
/// - a GPU API call
/// - an internal span of XLA's runtime (kOther)
/// - an annotation
HostEventKind HostKindOf(std::string_view name);
/// Returns the GPU API call that a host span represents, if the span is named after the work it
/// launches. JAX 0.11 and newer write the kernel's name, "Memset" or "MemcpyD2D". Such a span has a
/// correlation id and is not a step. Returns an empty string for other spans.
std::string_view CallNamedByWork(HostEventKind kind, std::string_view name,
                                 std::int64_t correlation, std::int64_t step);
/// Returns true if a host span is the work of one XLA operation on the CPU; `hlo_op` is its
/// argument.
bool IsThunk(HostEventKind kind, std::string_view name, std::string_view hlo_op);
/// Returns true if a span ends a thunk, whose main span already covers it. `thread` is the thread's
/// name.
bool IsEndOfThunk(std::string_view name, std::string_view thread);
/// Returns true if a host span is an operation of TensorFlow. The profiler displays the type
/// ("MatMul"); the full name consists of name and type ("dense/MatMul:MatMul").
bool IsTensorFlowOperation(std::string_view shown, std::string_view full_name);
/// Returns the category to show for a kind; RuleOfCategory() maps it back to the kind.
std::string_view CategoryOf(HostEventKind kind, std::string_view name);

/// Returns kMemcpy or kMemset for a copy or a fill ("MemcpyD2H", "Memset"), including the kernels
/// that HIP uses for them. Returns kKernel for all other names.
GpuTaskKind GpuKindOf(std::string_view name);

/// The values in a kernel's text: "regs:32 static_shared:0 dynamic_shared:0 grid:8,1,1
/// block:256,1,1 occ_pct:50", or on AMD "private_mem:0 group_mem:2112 grid:8,1,1 ...".
struct KernelDetails {
  std::int32_t registers = kUnknown32;
  std::int32_t shared_memory = kUnknown32;  ///< Bytes per block, static and dynamic.
  std::int32_t grid[3] = {kUnknown32, kUnknown32, kUnknown32};
  std::int32_t block[3] = {kUnknown32, kUnknown32, kUnknown32};
  /// Percent; unknown if XLA wrote 0, which it does if it did not compute the value.
  std::int32_t occupancy_pct = kUnknown32;
};
KernelDetails ParseKernelDetails(std::string_view text);

/// Returns the bytes of a copy or fill from "kind_src:pinned kind_dst:device size:1024 dest:0
/// async:1" or "kind:device num_bytes:4 async:1". Returns kUnknown if the text states no size, or
/// 0, which ROCm writes for unknown sizes.
std::int64_t BytesOfDetails(std::string_view text);

}  // namespace headroom::xla
