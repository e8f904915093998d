// What the names mean that XLA's profiler (JAX, TensorFlow) gives to planes, lines and events: in
// XPlane files, and in the JSON that is made of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "store/tables.h"

namespace headroom::xla {

/// Categories that Headroom gives to host events, which carry none of their own.
inline constexpr std::string_view kStepCategory = "step";
inline constexpr std::string_view kOperatorCategory = "hlo_op";

enum class Accelerator : std::uint8_t { kGpu, kTpu };

struct DeviceName {
  Accelerator kind;
  std::int64_t ordinal;
};

/// The device of a plane or process "/device:GPU:0", with or without text around it.
std::optional<DeviceName> DeviceOf(std::string_view plane);

/// Whether a plane holds threads of the host: "/host:CPU" and what older versions write beside it.
bool IsHostPlane(std::string_view plane);

/// The number of a stream: 13 of "Stream #13(Compute)". All other lines of a GPU are drawn from
/// these ("XLA Ops", "Steps", name scopes) and hold no work of their own.
std::optional<std::int64_t> StreamOf(std::string_view line);

/// What a span of the host is, by its name: a Python frame ("$file.py:12 fn"), a call of a GPU's
/// API, what XLA's runtime says of itself (kOther), or an annotation.
HostEventKind HostKindOf(std::string_view name);
/// Returns the GPU API's call that a span of the host is, if its name is that of the work: JAX 0.11
/// and newer write the kernel's name, "Memset" or "MemcpyD2D" for it. Such a span has a correlation
/// and is no step. Returns nothing for all others.
std::string_view CallNamedByWork(HostEventKind kind, std::string_view name,
                                 std::int64_t correlation, std::int64_t step);
/// Returns whether a span of the host is the work of one operation of XLA on the CPU; `hlo_op` is
/// its argument.
bool IsThunk(HostEventKind kind, std::string_view name, std::string_view hlo_op);
/// Returns whether a span ends a thunk, whose own span already covers it. `thread`: its name.
bool IsEndOfThunk(std::string_view name, std::string_view thread);
/// Returns whether a span of the host is an operation of TensorFlow, which the profiler shows by
/// its type ("MatMul") and calls by name and type ("dense/MatMul:MatMul").
bool IsTensorFlowOperation(std::string_view shown, std::string_view full_name);
/// The category to show for it: the one by which RuleOfCategory() knows the kind again.
std::string_view CategoryOf(HostEventKind kind, std::string_view name);

/// A kernel, unless the name is that of a copy or a fill ("MemcpyD2H", "Memset"), or of a kernel by
/// which HIP does them.
GpuTaskKind GpuKindOf(std::string_view name);

/// What "regs:32 static_shared:0 dynamic_shared:0 grid:8,1,1 block:256,1,1 occ_pct:50" says of a
/// kernel, on AMD "private_mem:0 group_mem:2112 grid:8,1,1 ...".
struct KernelDetails {
  std::int32_t registers = kUnknown32;
  std::int32_t shared_memory = kUnknown32;  ///< Bytes a block, static and dynamic.
  std::int32_t grid[3] = {kUnknown32, kUnknown32, kUnknown32};
  std::int32_t block[3] = {kUnknown32, kUnknown32, kUnknown32};
  std::int32_t occupancy_pct = kUnknown32;  ///< 0, where XLA did not compute it, is unknown.
};
KernelDetails ParseKernelDetails(std::string_view text);

/// Bytes of a copy or fill, of "kind_src:pinned kind_dst:device size:1024 dest:0 async:1" or
/// "kind:device num_bytes:4 async:1"; kUnknown where it names none, or 0, which ROCm writes where
/// it does not know.
std::int64_t BytesOfDetails(std::string_view text);

}  // namespace headroom::xla
