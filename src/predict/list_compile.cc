#include "predict/list_compile.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "cost/dtype.h"
#include "kernels/vector_time.h"

namespace headroom {
namespace {

/// Role of a kernel in a fused one.
enum class Role : std::uint8_t {
  kLibrary,      ///< A kernel of a library, which fuses with nothing.
  kElementwise,  ///< Each result depends on one element of each operand.
  kRows,         ///< Softmax and layer norm: each result depends on one row.
  kStatistics,   ///< Batch and group norms, pooling: the input is read twice, or in windows.
};

Role RoleOf(const KernelWork& work) {
  if (std::holds_alternative<PointwiseWork>(work.shape)) return Role::kElementwise;
  if (std::holds_alternative<RowwiseWork>(work.shape)) return Role::kRows;
  const auto* instructions = std::get_if<InstructionWork>(&work.shape);
  if (instructions == nullptr || IsFewChannels(instructions->kind)) return Role::kLibrary;
  return instructions->kind == InstructionKind::kStatistics ? Role::kStatistics
                                                            : Role::kElementwise;
}

/// Returns the bytes of a generated kernel for the work. It splits few long rows among all
/// multiprocessors, and reads a row again that does not fit into one of them.
double BytesOf(const KernelWork& work) {
  if (const auto* rows = std::get_if<RowwiseWork>(&work.shape)) {
    constexpr double kFits = 16384;  // Elements.
    const double accesses = rows->columns <= kFits ? 2 : 3;
    return rows->rows * rows->columns * accesses * BytesPerElement(work.dtype);
  }
  if (const auto* pointwise = std::get_if<PointwiseWork>(&work.shape)) return pointwise->bytes;
  const auto* instructions = std::get_if<InstructionWork>(&work.shape);
  return instructions != nullptr ? instructions->bytes : 0;
}

/// Returns the number of generated kernels. Few long rows are split among multiprocessors: each
/// sum over a row (a softmax has two) takes a kernel for the parts and one for their sum.
double KernelsOf(const KernelWork& work) {
  const auto* rows = std::get_if<RowwiseWork>(&work.shape);
  constexpr double kMaxRows = 512, kMinColumns = 8192;
  if (rows == nullptr || rows->rows > kMaxRows || rows->columns < kMinColumns) return 1;
  return rows->softmax ? 5 : 3;
}

/// Returns true for statistics of the input. Pooling reads its input once, through a window.
bool ReadsTwice(const ListedWork& listed) {
  const auto* instructions = std::get_if<InstructionWork>(&listed.work.shape);
  if (instructions == nullptr) return false;
  const double once = (listed.largest_input + listed.result) * BytesPerElement(listed.work.dtype);
  constexpr double kMore = 1.25;
  return instructions->bytes > kMore * once;
}

/// Fuses consecutive works of one pass.
class Fusion {
 public:
  explicit Fusion(std::vector<ListedWork>& out) : out_(out) {}
  ~Fusion() { Finish(); }
  Fusion(const Fusion&) = delete;
  Fusion& operator=(const Fusion&) = delete;

  void Add(ListedWork listed) {
    const Role role = RoleOf(listed.work);
    if (role == Role::kLibrary) {
      Finish();
      out_.push_back(std::move(listed));
      return;
    }
    if (!Continues(listed)) Finish();
    const double size = BytesPerElement(listed.work.dtype);
    const double shared = head_ ? std::min(last_result_, listed.largest_input) * size : 0;
    last_result_ = listed.result;
    const bool joins = head_ && (role == Role::kElementwise || !head_reduces_);
    // Two reductions in a row: the second reads what the first writes.
    if (head_ && !joins) Finish();
    if (!head_) {
      head_reduces_ = role != Role::kElementwise;
      bytes_ = BytesOf(listed.work);
      kernels_ = KernelsOf(listed.work);
      head_ = std::move(listed);
      return;
    }
    if (role == Role::kElementwise) {
      // A reduction's last pass writes what the elementwise work computes from it.
      bytes_ += BytesOf(listed.work) - 2 * shared;
    } else {
      // Statistics and long rows are read twice; their first pass computes the elementwise work.
      const double kept = role == Role::kStatistics ? 1 : 2;
      bytes_ -= kept * shared;
      listed.op = head_->op;
      bytes_ += BytesOf(listed.work);
      head_reduces_ = true;
      kernels_ = KernelsOf(listed.work);
      head_ = std::move(listed);
    }
  }

 private:
  bool Continues(const ListedWork& listed) const {
    return head_ && last_result_ > 0 && last_result_ == listed.largest_input &&
           head_->work.dtype == listed.work.dtype && head_->repeats == listed.repeats &&
           head_->phase == listed.phase;
  }

  void Finish() {
    if (!head_) return;
    ListedWork fused = *std::exchange(head_, std::nullopt);
    const double size = BytesPerElement(fused.work.dtype);
    // At least the last result is written.
    const double bytes = std::max(bytes_, last_result_ * size);
    if (auto* pooling = std::get_if<InstructionWork>(&fused.work.shape);
        pooling != nullptr && RoleOf(fused.work) == Role::kStatistics && !ReadsTwice(fused)) {
      constexpr double kWord = 4;
      pooling->bytes = bytes;
      pooling->elements = bytes / kWord;
      out_.push_back(std::move(fused));
      return;
    }
    fused.work.shape = PointwiseWork{.bytes = bytes, .kernels = kernels_};
    out_.push_back(std::move(fused));
  }

  std::vector<ListedWork>& out_;
  std::optional<ListedWork> head_;  ///< The kernel so far.
  bool head_reduces_ = false;
  double bytes_ = 0, kernels_ = 1;
  double last_result_ = 0;  ///< Elements of its result.
};

/// Returns true for a two-dimensional convolution on matrix units or vector units, in its general
/// form or square, that is not transposed.
bool IsPlainConvolution(const KernelWork& work) {
  if (std::holds_alternative<ConvolutionWork>(work.shape)) return true;
  const auto* shape = std::get_if<ConvolutionShape>(&work.shape);
  return shape != nullptr && shape->in.size() == 2 && !shape->transposed;
}

bool IsGrouped(const KernelWork& work) {
  const auto* shape = std::get_if<ConvolutionShape>(&work.shape);
  return shape != nullptr && shape->groups > 1;
}

/// Decides whether the compiler stores the activations of convolutions in NHWC. Source: PyTorch
/// 2.11, torch/_inductor/graph.py, decide_layout_opt: in an inference, if weighted FLOPs are no
/// more than FLOPs; in training, if no convolution is grouped or halves its channels, and some have
/// more than 64 channels.
bool UsesChannelsLast(const OperatorList& list) {
  constexpr double kGrouped = 1.358, kOther = 0.8;
  constexpr double kSmall = 64;
  double flops = 0, weighted = 0;
  bool training = false, small = true, hurts = false;
  for (const ListedWork& listed : list.works) {
    training |= listed.phase != StepPhase::kForward;
    if (listed.phase != StepPhase::kForward || !IsPlainConvolution(listed.work)) continue;
    const bool grouped = IsGrouped(listed.work);
    const double own = Operations(listed.work) * listed.repeats;
    flops += own;
    weighted += own * (grouped ? kGrouped : kOther);
    double in = 0, out = 0, taps = 0;
    if (const auto* square = std::get_if<ConvolutionWork>(&listed.work.shape)) {
      in = square->in_channels;
      out = square->out_channels;
      taps = square->kernel;
    } else {
      const auto& shape = std::get<ConvolutionShape>(listed.work.shape);
      in = static_cast<double>(shape.in_channels);
      out = static_cast<double>(shape.out_channels);
      taps = static_cast<double>(shape.kernel.front());
    }
    small &= in <= kSmall && out <= kSmall;
    hurts |= grouped || (2 * out <= in && taps > 1);
  }
  if (flops == 0) return false;
  return training ? !small && !hurts : weighted <= flops;
}

/// Returns a copy of a tensor into the other memory order.
ListedWork Conversion(const ListedWork& beside, double elements) {
  ListedWork copy = beside;
  copy.work = {.shape = PointwiseWork{.bytes = 2 * elements * BytesPerElement(beside.work.dtype)},
               .dtype = beside.work.dtype};
  copy.result = copy.largest_input = elements;
  return copy;
}

/// Returns the elements of a convolution's weights, whose order each step changes; 0 for a kernel
/// of one element, which is the same in both orders.
double OrderedWeights(const KernelWork& work) {
  const auto& shape = std::get<ConvolutionShape>(work.shape);
  double taps = 1;
  for (const std::int64_t extent : shape.kernel) taps *= static_cast<double>(extent);
  if (taps == 1) return 0;
  return taps * static_cast<double>(shape.out_channels) * static_cast<double>(shape.in_channels) /
         static_cast<double>(shape.groups);
}

/// Stores the activations of convolutions in NHWC. Generated kernels read and write either order;
/// tensors from and for others are copied.
void StoreInChannelsLast(OperatorList& list) {
  std::vector<ListedWork> works;
  works.reserve(list.works.size());
  const auto converts = [](const ListedWork* other, StepPhase phase) {
    return other == nullptr || other->phase != phase ||
           (RoleOf(other->work) == Role::kLibrary && !IsPlainConvolution(other->work));
  };
  const ListedWork* before = nullptr;
  for (std::size_t i = 0; i < list.works.size(); ++i) {
    ListedWork& listed = list.works[i];
    const bool few = RoleOf(listed.work) == Role::kLibrary &&
                     std::holds_alternative<InstructionWork>(listed.work.shape);
    const ListedWork* after = i + 1 < list.works.size() ? &list.works[i + 1] : nullptr;
    if (few) {
      // PyTorch's kernel for depthwise convolutions in float32 reads and writes NCHW.
      works.push_back(Conversion(listed, listed.largest_input));
      works.push_back(listed);
      works.push_back(Conversion(listed, listed.result));
    } else if (IsPlainConvolution(listed.work)) {
      if (auto* square = std::get_if<ConvolutionWork>(&listed.work.shape))
        listed.work.shape = GeneralShape(*square, listed.work.dtype);
      std::get<ConvolutionShape>(listed.work.shape).channels_last = true;
      if (const double weights = OrderedWeights(listed.work); weights > 0)
        works.push_back(Conversion(listed, weights));
      if (converts(before, listed.phase)) works.push_back(Conversion(listed, listed.largest_input));
      works.push_back(listed);
      if (converts(after, listed.phase)) works.push_back(Conversion(listed, listed.result));
    } else {
      works.push_back(listed);
    }
    before = &listed;
  }
  list.works = std::move(works);
}

}  // namespace

void FuseAsCompiled(OperatorList& list) {
  if (UsesChannelsLast(list)) StoreInChannelsLast(list);
  std::vector<ListedWork> works;
  works.reserve(list.works.size());
  std::vector<ListedWork> backward, accumulate;
  {
    Fusion forward(works);
    for (ListedWork& listed : list.works) {
      if (listed.phase == StepPhase::kForward) {
        forward.Add(std::move(listed));
      } else {
        (listed.phase == StepPhase::kBackward ? backward : accumulate).push_back(std::move(listed));
      }
    }
  }
  {
    Fusion fusion(works);
    std::reverse(backward.begin(), backward.end());
    for (ListedWork& listed : backward) {
      std::swap(listed.result, listed.largest_input);
      fusion.Add(std::move(listed));
    }
  }
  // Autograd accumulates gradients outside the compiled code.
  works.insert(works.end(), std::make_move_iterator(accumulate.begin()),
               std::make_move_iterator(accumulate.end()));
  list.works = std::move(works);
  // A graph of the compiled code needs no calls, whichever change comes first.
  if (list.launch == ListLaunch::kEager) list.launch = ListLaunch::kCompiled;
}

}  // namespace headroom
