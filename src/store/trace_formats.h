// Names of trace formats (TraceMetadata::format). They show analyses which data a file cannot
// contain.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace headroom {

/// PyTorch's profiler (Kineto), in Chrome's JSON format.
inline constexpr std::string_view kKinetoFormat = "pytorch-profiler-json";
/// Headroom's recordings, and traces that other tools write in the same format.
inline constexpr std::string_view kPerfettoFormat = "perfetto-protobuf";

/// Nsight Systems, as the database that `nsys export --type sqlite` writes.
inline constexpr std::string_view kNsightFormat = "nsight-systems-sqlite";
/// ROCm's rocprofv3, as its JSON.
inline constexpr std::string_view kRocprofFormat = "rocprofv3-json";
/// ROCm's rocprofv3, as its database.
inline constexpr std::string_view kRocpdFormat = "rocprofv3-rocpd";
/// PyTorch's caching allocator, as torch.cuda.memory._dump_snapshot() writes it.
inline constexpr std::string_view kMemorySnapshotFormat = "pytorch-memory-snapshot";
/// Chakra execution traces (MLCommons), from any writer.
inline constexpr std::string_view kChakraFormat = "chakra-execution-trace";
/// ROCm's rocprof, before rocprofv3, as its JSON.
inline constexpr std::string_view kOldRocprofFormat = "rocprof-json";
/// Timelines of TensorFlow 1 (tensorflow.python.client.timeline).
inline constexpr std::string_view kTimelineFormat = "tensorflow-timeline-json";
/// Chrome's JSON format without signs of a known profiler.
inline constexpr std::string_view kChromeFormat = "chrome-trace-json";
/// XLA's profiler, in its native files.
inline constexpr std::string_view kXPlaneFormat = "xplane-protobuf";
/// XLA's profiler, as the JSON that TensorBoard's plugin creates from these files.
inline constexpr std::string_view kXlaJsonFormat = "xla-trace-json";

/// Returns true if the format is one of these, so that a file may name it as the format of its
/// original.
inline bool IsKnownFormat(std::string_view format) {
  constexpr std::array kFormats = {kKinetoFormat,     kPerfettoFormat, kNsightFormat,
                                   kRocprofFormat,    kRocpdFormat,    kMemorySnapshotFormat,
                                   kChakraFormat,     kXPlaneFormat,   kXlaJsonFormat,
                                   kOldRocprofFormat, kTimelineFormat, kChromeFormat};
  return std::find(kFormats.begin(), kFormats.end(), format) != kFormats.end();
}

/// Returns true if JAX or TensorFlow wrote the trace. Such a trace has operations of compiled
/// programs, but no operators with shapes, sequence numbers or passes.
inline bool IsOfXla(std::string_view format) {
  return format == kXPlaneFormat || format == kXlaJsonFormat;
}

/// Returns true for the name of a TensorFlow operator in an XLA trace, which ends with a type:
/// "dense/MatMul:MatMul".
inline bool IsTensorFlowOperator(std::string_view name) {
  const std::size_t colon = name.rfind(':');
  if (colon == std::string_view::npos || colon == 0 || name[colon - 1] == ':') return false;
  const char first = colon + 1 < name.size() ? name[colon + 1] : '\0';
  return first == '_' || (first >= 'A' && first <= 'Z');
}

}  // namespace headroom
