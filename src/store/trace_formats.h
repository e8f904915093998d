// Names of trace formats (TraceMetadata::format) by which analyses tell what a file cannot hold.
#pragma once

#include <string_view>

namespace headroom {

/// Nsight Systems, as the database that `nsys export --type sqlite` writes.
inline constexpr std::string_view kNsightFormat = "nsight-systems-sqlite";
/// ROCm's rocprofv3, as its JSON.
inline constexpr std::string_view kRocprofFormat = "rocprofv3-json";
/// PyTorch's caching allocator, as torch.cuda.memory._dump_snapshot() writes it.
inline constexpr std::string_view kMemorySnapshotFormat = "pytorch-memory-snapshot";
/// XLA's profiler, as its own files.
inline constexpr std::string_view kXPlaneFormat = "xplane-protobuf";
/// XLA's profiler, as the JSON that TensorBoard's plugin makes of these files.
inline constexpr std::string_view kXlaJsonFormat = "xla-trace-json";

/// Whether JAX or TensorFlow wrote it: there are no operators with shapes, sequence numbers or
/// passes, but operations of compiled programs.
inline bool IsOfXla(std::string_view format) {
  return format == kXPlaneFormat || format == kXlaJsonFormat;
}

}  // namespace headroom
