#include "whatif/memory/convolution_workspace.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "cost/operator_args.h"
#include "cost/operator_cost.h"

namespace headroom {
namespace {

bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// One kernel of a convolution.
struct Kernel {
  std::string_view name;
  std::int64_t x = 0, y = 0, z = 0;  ///< Number of blocks; 0 if not recorded.
  double threads = 0;                ///< Threads per block.

  double Blocks() const {
    return static_cast<double>(x) * static_cast<double>(y) * static_cast<double>(z);
  }
  bool ChangesLayout() const { return Has(name, "nchwToNhwc") || Has(name, "nhwcToNchw"); }
  /// Returns the number of rows of an FFT tile; 0 if the kernel is not an FFT.
  std::int64_t FftSize() const {
    for (const std::string_view part : {"fft2d_r2c_", "fft2d_c2r_"}) {
      const std::size_t at = name.find(part);
      if (at == std::string_view::npos) continue;
      std::int64_t size = 0;
      std::from_chars(name.data() + at + part.size(), name.data() + name.size(), size);
      return size;
    }
    return 0;
  }
  double FftTransforms() const {
    return Blocks() * threads / static_cast<double>(std::max<std::int64_t>(1, FftSize()));
  }
  /// Returns true for transforms that write to the workspace: the operands of the matrix products.
  /// The output transform writes the result.
  bool IsWinogradTransform() const {
    return Has(name, "winograd_nonfused") && !Has(name, "Output");
  }
};

Kernel ReadKernel(const Job& job, GpuTaskId task) {
  const auto& tasks = job.store().gpu_tasks;
  const std::size_t row = task.index();
  Kernel kernel;
  kernel.name = job.store().Text(tasks.name[row]);
  // A missing extent counts as 1, because most extents are 1. Without the first extent, the size is
  // unknown.
  const auto extent = [](std::int32_t value) { return std::max(value, 1); };
  kernel.x = std::max(tasks.grid_x[row], 0);
  kernel.y = extent(tasks.grid_y[row]);
  kernel.z = extent(tasks.grid_z[row]);
  kernel.threads = static_cast<double>(extent(tasks.block_x[row])) * extent(tasks.block_y[row]) *
                   extent(tasks.block_z[row]);
  return kernel;
}

double BytesOf(const Kernel& kernel) {
  constexpr double kTile = 32, kComplex = 8;
  if (kernel.ChangesLayout()) {
    // The first type among the template's arguments is that of the input.
    const std::string_view first = kernel.name.substr(0, kernel.name.find('>'));
    const double element = Has(kernel.name, "<__half") || Has(first, "bfloat") ? 2 : 4;
    return kernel.Blocks() * kTile * kTile * element;
  }
  if (const auto size = static_cast<double>(kernel.FftSize()); size > 0)
    return kernel.FftTransforms() * size * (std::floor(size / 2) + 1) * kComplex;
  if (!kernel.IsWinogradTransform()) return 0;
  // A filter of 3 x 3 widens a tile by two.
  const double side = Has(kernel.name, "6x6") || Has(kernel.name, "9x9") ? 8 : 6;
  return kernel.Blocks() * kernel.threads * side * side * (Has(kernel.name, "__half") ? 2 : 4);
}

/// Returns true if a kernel transforms the weights, which have the given extents.
bool IsOfWeights(const Kernel& kernel, const std::vector<std::int64_t>& weights) {
  if (weights.size() < 2) return false;
  if (kernel.FftSize() > 0)
    return kernel.FftTransforms() ==
           static_cast<double>(weights[0]) * static_cast<double>(weights[1]);
  if (kernel.ChangesLayout()) {
    const auto tiles = [](double elements) { return std::ceil(elements / 32); };
    return kernel.z == weights[0] &&
           static_cast<double>(kernel.x) == tiles(Elements(std::span(weights).subspan(2))) &&
           static_cast<double>(kernel.y) == tiles(static_cast<double>(weights[1]));
  }
  return Has(kernel.name, "Filter");
}

/// Returns the workspace of one cuDNN call.
GrowingBytes WorkspaceOf(std::span<const Kernel> kernels,
                         const std::vector<std::int64_t>& weights) {
  using Launch = std::tuple<std::string_view, std::int64_t, std::int64_t, std::int64_t>;
  std::map<Launch, std::pair<const Kernel*, double>> transforms;
  for (const Kernel& kernel : kernels) {
    const double bytes = BytesOf(kernel);
    const auto [it, is_new] =
        transforms.try_emplace(Launch(kernel.name, kernel.x, kernel.y, kernel.z), &kernel, bytes);
    // Two tensors may have the same shape, so layout changes add up. A repeated FFT or Winograd
    // launch is another round, which reuses the memory.
    if (!is_new && kernel.ChangesLayout()) it->second.second += bytes;
  }
  GrowingBytes sum;
  for (const auto& [launch, transform] : transforms)
    (IsOfWeights(*transform.first, weights) ? sum.fixed : sum.per_batch) += transform.second;
  return sum;
}

/// Returns the index of the first kernel of the second cuDNN call in a backward, or the number of
/// kernels if there is no second call.
std::size_t SecondCall(const std::vector<Kernel>& kernels) {
  const auto of_weights = std::find_if(kernels.begin(), kernels.end(), [](const Kernel& kernel) {
    return Has(kernel.name, "wgrad") || Has(kernel.name, "Wgrad");
  });
  if (of_weights != kernels.end()) {
    // The second call begins with the kernels that prepare this kernel's operands.
    auto begin = static_cast<std::size_t>(of_weights - kernels.begin());
    const auto prepares = [](std::string_view name) {
      return Has(name, "nchwToNhwc") || Has(name, "init_device_workspace") || Has(name, "Memset");
    };
    while (begin > 0 && prepares(kernels[begin - 1].name)) --begin;
    return begin;
  }
  // Both calls use FFT. Each ends with inverse transforms, the same number for both.
  std::vector<std::size_t> back;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (Has(kernels[i].name, "c2r")) back.push_back(i);
  }
  if (back.empty()) return kernels.size();
  return back[back.size() > 1 ? back.size() / 2 - 1 : 0] + 1;
}

bool IsBackward(const StepOperator& op) { return op.name == "aten::convolution_backward"; }

/// Returns true if neighbours in memory are channels of one pixel.
bool IsChannelsLast(const TensorArg& tensor) {
  return tensor.strides.size() > 2 && tensor.dims[1] > 1 && tensor.strides[1] == 1 &&
         tensor.strides.back() != 1;
}

}  // namespace

std::vector<GrowingBytes> ConvolutionWorkspace(const Job& job, const StepOperator& op,
                                               bool channels_last) {
  std::vector<Kernel> kernels;
  for (const GpuTaskId task : op.tasks) kernels.push_back(ReadKernel(job, task));
  if (channels_last)
    std::erase_if(kernels, [](const Kernel& kernel) { return kernel.ChangesLayout(); });
  const std::size_t at = IsBackward(op) ? 2 : 1;
  const TensorArg* weights = op.call ? TensorAt(*op.call, at) : nullptr;
  const std::vector<std::int64_t> extents =
      weights == nullptr ? std::vector<std::int64_t>() : weights->dims;
  const std::span<const Kernel> all(kernels);
  if (!IsBackward(op)) return {WorkspaceOf(all, extents)};
  const std::size_t second = SecondCall(kernels);
  return {WorkspaceOf(all.first(second), extents), WorkspaceOf(all.subspan(second), extents)};
}

std::vector<GrowingBytes> TensorCoreWorkspace(const StepOperator& op, double element_bytes) {
  const std::optional<ConvolutionShape> shape =
      op.call ? ConvolutionShapeOf(*op.call) : std::optional<ConvolutionShape>();
  const std::size_t first = IsBackward(op) ? 1 : 0;
  const TensorArg* input = op.call ? TensorAt(*op.call, first) : nullptr;
  const TensorArg* weights = op.call ? TensorAt(*op.call, first + 1) : nullptr;
  if (!shape || input == nullptr || weights == nullptr || IsChannelsLast(*input)) return {};
  const double output = static_cast<double>(shape->batch) *
                        static_cast<double>(shape->out_channels) * Elements(shape->out);
  const GrowingBytes call{.fixed = element_bytes * Elements(weights->dims),
                          .per_batch = element_bytes * (Elements(input->dims) + output)};
  return std::vector<GrowingBytes>(IsBackward(op) ? 2 : 1, call);
}

}  // namespace headroom
