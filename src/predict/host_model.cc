#include "predict/host_model.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

#include "base/units.h"

namespace headroom {
namespace {

struct HostKind {
  std::string_view name;
  double us_per_kernel;
};

/// Cloud: rented virtual machines of gpu-modern/; server: between the H200's machine of h200/ (10
/// us, PyTorch 2.11, 16 cores) and that of the L40S in gpu-modern/ (7 us); workstation: a desktop
/// processor at 5 GHz, by its ratio of single-core speed.
constexpr std::array kHostKinds = {HostKind{"cloud", 18}, HostKind{"server", 8.5},
                                   HostKind{"workstation", 6}, HostKind{"none", 0}};

/// Cost relative to an elementwise operator: least squares over the host-bound modules of
/// gpu-modern/.
double WeightOf(const KernelWork& work) {
  switch (ClassOf(work)) {
    case WorkClass::kProduct:
    case WorkClass::kTensorProduct:
      return 2;
    case WorkClass::kConvolution:
    case WorkClass::kAttention:
      return 3.5;
    case WorkClass::kRowwise:
      return std::get<RowwiseWork>(work.shape).softmax ? 1 : 2.2;
    case WorkClass::kInstruction:
      return std::get<InstructionWork>(work.shape).kind == InstructionKind::kStatistics ? 2.2 : 1;
    default:
      return 1;
  }
}

constexpr double kGenerated = 0.7, kLibraryCall = 0.8;

/// Returns true for work that a compiler generates kernels for.
bool IsGenerated(const KernelWork& work) {
  const WorkClass of = ClassOf(work);
  if (of == WorkClass::kInstruction)
    return !IsFewChannels(std::get<InstructionWork>(work.shape).kind);
  return of == WorkClass::kPointwise || of == WorkClass::kRowwise;
}

}  // namespace

Result<HostModel> HostModel::Named(std::string_view kind_or_us) {
  for (const HostKind& kind : kHostKinds) {
    if (kind.name == kind_or_us)
      return HostModel{.name = std::string(kind.name), .us_per_kernel = kind.us_per_kernel};
  }
  double us = 0;
  const char* end = kind_or_us.data() + kind_or_us.size();
  const auto [stop, error] = std::from_chars(kind_or_us.data(), end, us);
  constexpr double kMaxUs = 1e4;
  if (error != std::errc() || stop != end || !(us >= 0 && us <= kMaxUs)) {
    return Status::Usage(
        fmt::format("'{}' is neither a kind of machine (cloud, server, workstation, none) nor a "
                    "number of microseconds from 0 to {:g}",
                    kind_or_us, kMaxUs));
  }
  return HostModel{.name = fmt::format("{:g} us", us), .us_per_kernel = us};
}

double HostNsOf(const KernelWork& work, double kernels, bool backward, ListLaunch launch,
                const HostModel& host) {
  if (launch == ListLaunch::kGraph) return 0;
  if (launch == ListLaunch::kCompiled && !std::holds_alternative<RecurrentWork>(work.shape)) {
    return host.us_per_kernel * kNsPerUs * kernels *
           (IsGenerated(work) ? kGenerated : WeightOf(work) * kLibraryCall);
  }
  constexpr double kBackward = 0.6;  // Share of the forward's time.
  double calls = kernels * WeightOf(work);
  if (std::holds_alternative<RecurrentWork>(work.shape)) {
    // The library launches them itself, without PyTorch's dispatcher.
    constexpr double kOfLibrary = 0.2;
    calls = kernels * kOfLibrary;
  }
  return host.us_per_kernel * kNsPerUs * calls * (backward ? kBackward : 1);
}

double HostStartNs(ListLaunch launch, const HostModel& host) {
  // In calls of an elementwise operator: medians of the small modules of gpu-modern/.
  constexpr double kEager = 0.4, kCompiled = 4, kGraph = 7;
  const double calls = launch == ListLaunch::kEager      ? kEager
                       : launch == ListLaunch::kCompiled ? kCompiled
                                                         : kGraph;
  return host.us_per_kernel * kNsPerUs * calls;
}

}  // namespace headroom
