#include "ingest/names/category.h"

#include <cstddef>
#include <iterator>

namespace headroom {
namespace {

struct CategoryText {
  std::string_view text;
  CategoryRule rule;
};

constexpr CategoryText kCategories[] = {
    // Kineto's categories; those with a capital are from before 2022.
    {"cpu_op", CategoryRule::kOperator},
    {"Operator", CategoryRule::kOperator},
    {"operator", CategoryRule::kOperator},
    {"user_annotation", CategoryRule::kAnnotation},
    {"python_function", CategoryRule::kPythonFrame},
    {"cuda_runtime", CategoryRule::kRuntimeCall},
    {"Runtime", CategoryRule::kRuntimeCall},
    {"cuda_driver", CategoryRule::kDriverCall},
    {"hip_runtime", CategoryRule::kRuntimeCall},
    // Kineto's categories for other vendors: Intel, MTIA, Gaudi, Glow, backends registered as
    // PrivateUse1 (Ascend, Neuron and others), and Kineto forks (Moore Threads, Enflame,
    // Cambricon).
    {"xpu_runtime", CategoryRule::kRuntimeCall},
    {"xpu_driver", CategoryRule::kDriverCall},
    {"mtia_runtime", CategoryRule::kRuntimeCall},
    {"mtia_ccp_events", CategoryRule::kKernel},
    {"hpu_op", CategoryRule::kRuntimeCall},
    {"glow_runtime", CategoryRule::kRuntimeCall},
    {"privateuse1_runtime", CategoryRule::kRuntimeCall},
    {"privateuse1_driver", CategoryRule::kDriverCall},
    {"musa_runtime", CategoryRule::kRuntimeCall},
    {"musa_driver", CategoryRule::kDriverCall},
    {"gcu_runtime", CategoryRule::kRuntimeCall},
    {"gcu_driver", CategoryRule::kDriverCall},
    {"mlu_runtime", CategoryRule::kRuntimeCall},
    {"mlu_driver", CategoryRule::kDriverCall},
    {"overhead", CategoryRule::kOverhead},
    {"gpu_user_annotation", CategoryRule::kGpuAnnotation},
    {"kernel", CategoryRule::kKernel},
    {"Kernel", CategoryRule::kKernel},
    {"gpu_memcpy", CategoryRule::kMemcpy},
    {"Memcpy", CategoryRule::kMemcpy},
    {"gpu_memset", CategoryRule::kMemset},
    {"Memset", CategoryRule::kMemset},
    {"cuda_sync", CategoryRule::kSync},
    {"cuda_event", CategoryRule::kCudaEvent},
    // Categories of Headroom's recordings (docs/recording.md).
    {"region", CategoryRule::kAnnotation},
    {"step", CategoryRule::kStep},
    {"gpu_region", CategoryRule::kGpuAnnotation},
    // Operations of XLA (ingest/names/xla_names.h).
    {"hlo_op", CategoryRule::kOperator},
    // Categories of rocprofv3.
    {"hip_api", CategoryRule::kRuntimeCall},
    {"hsa_api", CategoryRule::kDriverCall},
    {"marker_api", CategoryRule::kAnnotation},
    {"kernel_dispatch", CategoryRule::kKernel},
    {"memory_copy", CategoryRule::kMemcpy},
};

struct CopyText {
  std::string_view part;
  CopyKind kind;
};

/// Parts of names that CUDA, HIP, rocprofv3, XLA and Level Zero write.
constexpr CopyText kCopies[] = {
    {"HtoD", CopyKind::kHostToDevice},
    {"HostToDevice", CopyKind::kHostToDevice},
    {"HOST_TO_DEVICE", CopyKind::kHostToDevice},
    {"DtoH", CopyKind::kDeviceToHost},
    {"DeviceToHost", CopyKind::kDeviceToHost},
    {"DEVICE_TO_HOST", CopyKind::kDeviceToHost},
    {"DtoD", CopyKind::kDeviceToDevice},
    {"DeviceToDevice", CopyKind::kDeviceToDevice},
    {"DEVICE_TO_DEVICE", CopyKind::kDeviceToDevice},
    {"PtoP", CopyKind::kPeer},
    {"H2D", CopyKind::kHostToDevice},
    {"D2H", CopyKind::kDeviceToHost},
    {"D2D", CopyKind::kDeviceToDevice},
    {"P2P", CopyKind::kPeer},
    // Level Zero writes "M" for memory that it did not allocate.
    {"M2D", CopyKind::kHostToDevice},
    {"D2M", CopyKind::kDeviceToHost},
};

}  // namespace

CategoryRule RuleOfCategory(std::string_view category) {
  for (const CategoryText& known : kCategories) {
    if (known.text == category) return known.rule;
  }
  return CategoryRule::kOther;
}

HostEventKind HostKindOf(CategoryRule rule) {
  constexpr HostEventKind kKinds[] = {
      HostEventKind::kOperator,      HostEventKind::kAnnotation,  HostEventKind::kRuntimeCall,
      HostEventKind::kDriverCall,    HostEventKind::kPythonFrame, HostEventKind::kOverhead,
      HostEventKind::kGpuAnnotation, HostEventKind::kAnnotation,
  };
  const auto index = static_cast<std::size_t>(rule);
  return index < std::size(kKinds) ? kKinds[index] : HostEventKind::kOther;
}

GpuTaskKind GpuKindOf(CategoryRule rule) {
  return rule == CategoryRule::kMemcpy   ? GpuTaskKind::kMemcpy
         : rule == CategoryRule::kMemset ? GpuTaskKind::kMemset
                                         : GpuTaskKind::kKernel;
}

CopyKind CopyKindOf(std::string_view name) {
  constexpr std::size_t kLongest = 128;  // All events of a hostile file may have one long name.
  name = name.substr(0, kLongest);
  for (const CopyText& known : kCopies) {
    if (name.find(known.part) != std::string_view::npos) return known.kind;
  }
  return CopyKind::kOther;
}

}  // namespace headroom
