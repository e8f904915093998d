#include "ingest/names/xla_names.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>

#include "base/ascii.h"
#include "ingest/names/rocm_kernels.h"
#include "store/trace_formats.h"

namespace headroom::xla {
namespace {

/// Returns the number at the start of a text, or nullopt.
std::optional<std::int64_t> LeadingNumber(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

/// Calls visit(key, value) for each "key:value" in a text; blanks separate them.
template <typename Visit>
void ForEachDetail(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view detail = text.substr(0, end);
    if (const std::size_t colon = detail.find(':'); colon != std::string_view::npos)
      visit(detail.substr(0, colon), detail.substr(colon + 1));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

std::int32_t Small(std::string_view text) {
  const std::optional<std::int64_t> value = LeadingNumber(text);
  const bool fits = value && *value >= 0 && *value <= std::numeric_limits<std::int32_t>::max();
  return fits ? static_cast<std::int32_t>(*value) : kUnknown32;
}

void ParseExtent(std::string_view text, std::int32_t (&out)[3]) {
  std::int32_t parts[3] = {1, 1, 1};
  for (std::int32_t& part : parts) {
    if (text.empty()) break;
    part = Small(text);
    if (part == kUnknown32) return;
    text.remove_prefix(std::min(text.find(','), text.size()));
    if (!text.empty()) text.remove_prefix(1);
  }
  std::copy(std::begin(parts), std::end(parts), std::begin(out));
}

/// Returns true if the runtime of XLA or TensorFlow records this span.
bool IsOfTheRuntime(std::string_view name) {
  constexpr std::string_view kPrefixes[] = {
      "PjRt",
      "PJRT_",
      "Pjrt",
      "CommonPjRt",
      "TfrtCpu",
      "BufferSequencingEvent::",
      "GpuExecutable",
      "Thunks::",
      "ThunkExecutor",
      "ThreadpoolListener::",
      "SlinkyThreadPool::",
      "ExecutorState::",
      "ExecutorDoneCallback",
      "KernelAndDeviceFunc::",
      "EagerKernelExecute",
      "EagerExecute",
      "EagerCopyToDevice",
      "FunctionRun",
      "TFE_",
      "ValidateInputTypeAndPlacement",
      "PrefetchProduce",
      "PrefetchConsume",
      "Iterator::",
      "MakeIterator::",
      "PythonRefManager::",
      "DeviceMemAllocator::",
      "LocalExecutable::",
      "LocalDeviceState::",
      "StreamExecutor",
      "Wait for ",
      "MemoryAllocation",
      "MemoryDeallocation",
      "RecordUsage",
      "ThenExecuteCallback",
      "ComputeSemaphore",
      "MakeOutputBuffers",
      "Build buffer allocations",
      "Resolve constant globals",
      "ParseArguments",
      "AllocateOutputBuffers",
      "Handle inputs",
      "Handle input event",
      "EagerLocalExecute: ",
      "IteratorGetNextOp::",
  };
  return std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

}  // namespace

std::optional<DeviceName> DeviceOf(std::string_view plane) {
  struct Prefix {
    std::string_view text;
    Accelerator kind;
  };
  constexpr Prefix kPrefixes[] = {{"/device:GPU:", Accelerator::kGpu},
                                  {"/device:TPU:", Accelerator::kTpu}};
  for (const Prefix& prefix : kPrefixes) {
    const std::size_t at = plane.find(prefix.text);
    if (at == std::string_view::npos) continue;
    const auto ordinal = LeadingNumber(plane.substr(at + prefix.text.size()));
    if (ordinal && *ordinal >= 0) return DeviceName{prefix.kind, *ordinal};
  }
  return std::nullopt;
}

bool IsHostPlane(std::string_view plane) {
  constexpr std::array<std::string_view, 4> kPlanes = {"/host:CPU", "/host:CUPTI",
                                                       "/host:ROCTRACER", "/host:python-tracer"};
  return std::any_of(kPlanes.begin(), kPlanes.end(),
                     [&](std::string_view known) { return plane.starts_with(known); });
}

std::optional<std::int64_t> StreamOf(std::string_view line) {
  constexpr std::string_view kPrefix = "Stream #";
  if (!line.starts_with(kPrefix)) return std::nullopt;
  return LeadingNumber(line.substr(kPrefix.size()));
}

HostEventKind HostKindOf(std::string_view name) {
  if (name.starts_with('$')) return HostEventKind::kPythonFrame;
  for (const std::string_view prefix : {"cuda", "hip"}) {
    if (name.size() > prefix.size() && name.starts_with(prefix) && IsUpper(name[prefix.size()]))
      return HostEventKind::kRuntimeCall;
  }
  if (name.size() > 2 && name.starts_with("cu") && IsUpper(name[2]))
    return HostEventKind::kDriverCall;
  if (name == "EagerLocalExecute: IteratorGetNext") return HostEventKind::kOperator;
  return IsOfTheRuntime(name) ? HostEventKind::kOther : HostEventKind::kAnnotation;
}

std::string_view CallNamedByWork(HostEventKind kind, std::string_view name,
                                 std::int64_t correlation, std::int64_t step) {
  if (kind != HostEventKind::kAnnotation || correlation == kUnknown || step != kUnknown) return {};
  switch (GpuKindOf(name)) {
    case GpuTaskKind::kMemcpy:
      return "cuMemcpyAsync";
    case GpuTaskKind::kMemset:
      return "cuMemsetD8Async";
    default:
      return "cuLaunchKernel";
  }
}

bool IsEndOfThunk(std::string_view name, std::string_view thread) {
  return name.starts_with("end: ") && thread.starts_with("tf_XLA");
}

bool IsThunk(HostEventKind kind, std::string_view name, std::string_view hlo_op) {
  return kind == HostEventKind::kAnnotation && !hlo_op.empty() && name == hlo_op;
}

bool IsTensorFlowOperation(std::string_view shown, std::string_view full_name) {
  return IsTensorFlowOperator(full_name) && full_name.ends_with(shown) &&
         full_name.size() > shown.size() && full_name[full_name.size() - shown.size() - 1] == ':';
}

std::string_view CategoryOf(HostEventKind kind, std::string_view name) {
  switch (kind) {
    case HostEventKind::kPythonFrame:
      return "python_function";
    case HostEventKind::kRuntimeCall:
      return name.starts_with("hip") ? "hip_runtime" : "cuda_runtime";
    case HostEventKind::kDriverCall:
      return "cuda_driver";
    case HostEventKind::kOperator:
      return kOperatorCategory;
    case HostEventKind::kGpuAnnotation:
      return "gpu_user_annotation";
    case HostEventKind::kOther:
      return "xla_runtime";
    default:
      return "user_annotation";
  }
}

GpuTaskKind GpuKindOf(std::string_view name) {
  if (name.starts_with("Memcpy") || name.starts_with("UnifiedMemcpy")) return GpuTaskKind::kMemcpy;
  return name.starts_with("Memset") ? GpuTaskKind::kMemset : KindOfRocmKernel(name);
}

KernelDetails ParseKernelDetails(std::string_view text) {
  KernelDetails details;
  std::int64_t shared = kUnknown;
  ForEachDetail(text, [&](std::string_view key, std::string_view value) {
    if (key == "regs") {
      details.registers = Small(value);
    } else if (key == "static_shared" || key == "dynamic_shared" || key == "group_mem") {
      if (const std::int32_t bytes = Small(value); bytes != kUnknown32)
        shared = (shared == kUnknown ? 0 : shared) + bytes;
    } else if (key == "grid") {
      ParseExtent(value, details.grid);
    } else if (key == "block") {
      ParseExtent(value, details.block);
    } else if (key == "occ_pct") {
      double pct = 0;
      const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), pct);
      if (error == std::errc() && pct > 0 && pct <= 100)
        details.occupancy_pct = static_cast<std::int32_t>(std::lround(pct));
    }
  });
  if (shared >= 0 && shared <= std::numeric_limits<std::int32_t>::max())
    details.shared_memory = static_cast<std::int32_t>(shared);
  return details;
}

std::int64_t BytesOfDetails(std::string_view text) {
  std::int64_t bytes = kUnknown;
  ForEachDetail(text, [&](std::string_view key, std::string_view value) {
    if (key != "size" && key != "num_bytes") return;
    const std::optional<std::int64_t> size = LeadingNumber(value);
    if (size && *size > 0) bytes = *size;
  });
  return bytes;
}

}  // namespace headroom::xla
