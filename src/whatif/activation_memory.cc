#include "whatif/activation_memory.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis/operator_costs.h"
#include "cost/operator_args.h"
#include "whatif/attention.h"
#include "whatif/autocast.h"
#include "whatif/blocks.h"
#include "whatif/operators.h"
#include "whatif/optimizer_steps.h"

namespace headroom {
namespace {

/// What autograd keeps of an operator.
enum class Saves : std::uint8_t {
  kNothing,
  kFirstInput,
  kInputs,  ///< All that are activations.
  kOutput,
  kMask,     ///< One byte an element.
  kIndices,  ///< Of pooling: the input, and eight bytes an element of the output.
  kUnknown,
};

struct SavesRule {
  std::string_view part;  ///< Of the operator's name, without "aten::" and a final "_".
  Saves saves;
};

// The first that matches. What is not here saves nothing (sums, copies, concatenations, lookups).
constexpr std::array kRules = {
    SavesRule{"rnn", Saves::kUnknown},         SavesRule{"fused_lstm", Saves::kUnknown},
    SavesRule{"fused_gru", Saves::kUnknown},   SavesRule{"convolution", Saves::kFirstInput},
    SavesRule{"norm", Saves::kFirstInput},     SavesRule{"softmax", Saves::kOutput},
    SavesRule{"dropout", Saves::kMask},        SavesRule{"max_pool", Saves::kIndices},
    SavesRule{"avg_pool", Saves::kFirstInput}, SavesRule{"gelu", Saves::kFirstInput},
    SavesRule{"silu", Saves::kFirstInput},     SavesRule{"leaky_relu", Saves::kFirstInput},
    SavesRule{"hardtanh", Saves::kFirstInput}, SavesRule{"hardswish", Saves::kFirstInput},
    SavesRule{"softplus", Saves::kFirstInput}, SavesRule{"pow", Saves::kFirstInput},
    SavesRule{"log", Saves::kFirstInput},      SavesRule{"relu", Saves::kOutput},
    SavesRule{"clamp_min", Saves::kOutput},    SavesRule{"sigmoid", Saves::kOutput},
    SavesRule{"tanh", Saves::kOutput},         SavesRule{"exp", Saves::kOutput},
    SavesRule{"sqrt", Saves::kOutput},         SavesRule{"mul", Saves::kInputs},
    SavesRule{"div", Saves::kInputs},          SavesRule{"masked_fill", Saves::kMask},
    SavesRule{"where", Saves::kMask},
};

Saves SavesOf(std::string_view name) {
  const auto found = std::find_if(kRules.begin(), kRules.end(), [&](const SavesRule& rule) {
    return name.find(rule.part) != std::string_view::npos;
  });
  return found == kRules.end() ? Saves::kNothing : found->saves;
}

/// Memory of one tensor, as far as can be told.
struct Storage {
  double elements = 0;
  double element_bytes = 4;
  bool saved = false;
  std::int64_t block = -1;  ///< Block in which it was saved; -1: outside of all.
};

class MemoryCounter {
 public:
  MemoryCounter(const Job& job, const MemoryChange& change) : job_(job), change_(change) {}

  std::optional<double> Count() {
    const std::vector<LaunchingOperator> forward = ForwardOfOneStep();
    if (forward.empty() || !has_backward_) return std::nullopt;
    IndexBlocks();
    IndexAttention();
    for (const LaunchingOperator& op : forward) {
      if (!Visit(op)) return std::nullopt;
    }
    return Sum();
  }

 private:
  /// Of the step with the most operators, as the first may be cut.
  std::vector<LaunchingOperator> ForwardOfOneStep() {
    std::map<std::int32_t, std::vector<LaunchingOperator>> steps;
    for (LaunchingOperator& op : LaunchingOperators(job_)) {
      const TaskIndex task = op.tasks.front();
      const Phase phase = job_.ContextOf(task).phase;
      has_backward_ |= phase == Phase::kBackward;
      if (phase == Phase::kForward || phase == Phase::kOther)
        steps[job_.graph().tasks[task].step].push_back(std::move(op));
    }
    std::vector<LaunchingOperator> most;
    for (auto& [step, operators] : steps) {
      if (operators.size() > most.size()) most = std::move(operators);
    }
    return most;
  }

  void IndexBlocks() {
    if (!change_.checkpointing) return;
    const std::vector<Block> blocks = FindBlocks(job_);
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      for (const LaunchingOperator& op : blocks[b].operators)
        block_of_[op.op] = static_cast<std::int64_t>(b);
    }
  }

  void IndexAttention() {
    if (!change_.fused_attention) return;
    attentions_ = FindEagerAttention(job_);
    for (std::size_t a = 0; a < attentions_.size(); ++a) {
      for (const TaskIndex task : attentions_[a].forward) attention_of_[task] = a;
    }
  }

  std::size_t Write(double elements, double element_bytes) {
    storages_.push_back({.elements = elements, .element_bytes = element_bytes});
    written_[elements].push_back(storages_.size() - 1);
    return storages_.size() - 1;
  }

  void Save(std::size_t storage) {
    Storage& kept = storages_[storage];
    // Outside of all blocks it stays in any case.
    if (!kept.saved || block_ < 0) kept.block = block_;
    kept.saved = true;
  }

  /// Saves so many bytes that are no tensor of the forward.
  void SaveBytes(double elements, double element_bytes) {
    storages_.push_back(
        {.elements = elements, .element_bytes = element_bytes, .saved = true, .block = block_});
  }

  struct Input {
    std::size_t argument = 0;
    double elements = 0;
    DType dtype = DType::kUnknown;
    std::optional<std::size_t> storage;  ///< none: a weight, or nothing that was seen written
  };

  /// Floating-point tensors among the arguments. Two of one size are the two that were written
  /// last.
  std::vector<Input> InputsOf(const OperatorCall& call) const {
    std::vector<Input> inputs;
    for (std::size_t a = 0; a < call.args.size(); ++a) {
      for (const TensorArg& tensor : call.args[a].tensors) {
        if (tensor.dims.empty() || !IsFloating(tensor.dtype)) continue;
        inputs.push_back({.argument = a,
                          .elements = ElementsOf(tensor),
                          .dtype = tensor.dtype,
                          .storage = std::nullopt});
      }
    }
    std::map<double, std::size_t> taken;
    std::for_each(inputs.rbegin(), inputs.rend(), [&](Input& input) {
      const auto known = written_.find(input.elements);
      if (known == written_.end()) return;
      const std::size_t back = taken[input.elements]++;
      if (back < known->second.size())
        input.storage = known->second[known->second.size() - 1 - back];
    });
    return inputs;
  }

  /// Bytes an element of an operator's output.
  double OutputBytes(std::string_view name, const std::vector<Input>& inputs) const {
    double largest = 0, bytes = 4;
    bool all_half = true;
    for (const Input& input : inputs) {
      if (input.storage) all_half &= storages_[*input.storage].element_bytes <= 2;
      if (input.elements <= largest) continue;
      largest = input.elements;
      bytes = input.storage ? storages_[*input.storage].element_bytes
                            : static_cast<double>(BytesPerElement(input.dtype));
    }
    if (!change_.autocast) return bytes;
    switch (AutocastRuleOf(name)) {
      case AutocastRule::kProduct:
        return 2;
      case AutocastRule::kFloat:
        return 4;
      case AutocastRule::kPromote:
        return all_half ? bytes : std::max(bytes, 4.0);
    }
    return bytes;
  }

  /// Saves an input in the type in which the operator reads it.
  void SaveInput(const Input& input, double element_bytes, bool make_up) {
    if (!input.storage) {
      if (make_up) SaveBytes(input.elements, element_bytes);
      return;
    }
    if (storages_[*input.storage].element_bytes == element_bytes) {
      Save(*input.storage);
    } else {
      SaveBytes(input.elements, element_bytes);  // A copy in the other type.
    }
  }

  /// False: what it saves cannot be told.
  bool Visit(const LaunchingOperator& op) {
    const auto block = block_of_.find(op.op);
    const std::int64_t before = block_;
    block_ = block == block_of_.end() ? -1 : block->second;
    // A block is entered: what was written last is its input.
    if (block_ >= 0 && block_ != before && !storages_.empty()) {
      const std::int64_t inside = std::exchange(block_, -1);
      for (std::size_t s = storages_.size(); s-- > 0;) {
        if (storages_[s].element_bytes < 2) continue;  // A mask.
        Save(s);
        break;
      }
      block_ = inside;
    }
    if (const auto attention = attention_of_.find(op.tasks.front());
        attention != attention_of_.end()) {
      VisitAttention(attention->second);
      return true;
    }
    const std::string_view name = NameOfOperator(job_, op.op);
    const std::optional<OperatorCall> call = ReadOperatorCall(job_.store(), op.op);
    if (!call) return !MultipliesMatrices(job_.ClassOf(op.tasks.front()).family);
    const std::vector<Input> inputs = InputsOf(*call);
    if (inputs.empty()) return true;
    const double output_bytes = OutputBytes(name, inputs);
    if (const std::optional<GemmShape> product = GemmShapeOf(*call)) {
      VisitProduct(name, *product, inputs, output_bytes);
      return true;
    }
    if (const std::optional<ConvolutionShape> shape = ConvolutionShapeOf(*call)) {
      VisitConvolution(*shape, inputs, output_bytes);
      return true;
    }
    return VisitOther(name, *call, inputs, output_bytes);
  }

  void VisitProduct(std::string_view name, const GemmShape& shape, const std::vector<Input>& inputs,
                    double bytes) {
    const bool batched = name.find("bmm") != std::string_view::npos;
    const std::size_t first = name.find("::addmm") != std::string_view::npos ||
                                      name.find("baddbmm") != std::string_view::npos
                                  ? 1
                                  : 0;
    for (const Input& input : inputs) {
      if (input.argument == first || (batched && input.argument == first + 1)) {
        SaveInput(input, bytes, true);
      } else if (change_.autocast && input.argument == first + 1) {
        weights_ += input.elements;
      }
    }
    Write(static_cast<double>(shape.batch) * static_cast<double>(shape.m) *
              static_cast<double>(shape.n),
          bytes);
  }

  void VisitConvolution(const ConvolutionShape& shape, const std::vector<Input>& inputs,
                        double bytes) {
    SaveInput(inputs.front(), bytes, true);
    if (change_.autocast && inputs.size() > 1) weights_ += inputs[1].elements;
    double elements = static_cast<double>(shape.batch) * static_cast<double>(shape.out_channels);
    for (const std::int64_t extent : shape.out) elements *= static_cast<double>(extent);
    Write(elements, bytes);
  }

  bool VisitOther(std::string_view name, const OperatorCall& call, const std::vector<Input>& inputs,
                  double bytes) {
    const auto largest =
        std::max_element(inputs.begin(), inputs.end(),
                         [](const Input& a, const Input& b) { return a.elements < b.elements; });
    const bool in_place = name.ends_with('_') && name != "aten::copy_";
    const Saves saves = SavesOf(name);
    const auto of_log = name.find("log_softmax") != std::string_view::npos;
    // The backward of the loss begins with two gradients of that size.
    if (of_log) loss_ = std::max(loss_, 2 * largest->elements * bytes);
    double output = largest->elements;
    switch (saves) {
      case Saves::kUnknown:
        return false;
      case Saves::kFirstInput:
        SaveInput(*largest, bytes, false);
        break;
      case Saves::kInputs:
        // A product of two activations; one with a number saves nothing.
        if (inputs.size() > 1) {
          for (const Input& input : inputs) {
            if (input.storage) Save(*input.storage);
          }
        }
        break;
      case Saves::kMask:
        SaveBytes(largest->elements, 1);
        break;
      case Saves::kIndices:
        SaveInput(*largest, bytes, false);
        if (const auto stride = IntListAt(call, 2)) {
          for (const std::int64_t step : *stride)
            output /= static_cast<double>(std::max<std::int64_t>(1, step));
        }
        SaveBytes(output, 8);
        break;
      case Saves::kOutput:
      case Saves::kNothing:
        break;
    }
    const bool written_in_place = in_place && largest->storage;
    // Of a reduction, nothing that counts comes out.
    const bool reduces = name.find("sum") != std::string_view::npos ||
                         name.find("mean") != std::string_view::npos ||
                         name.find("loss") != std::string_view::npos;
    if (reduces) return true;
    const std::size_t written = written_in_place ? *largest->storage : Write(output, bytes);
    if (saves == Saves::kOutput) Save(written);
    return true;
  }

  void VisitAttention(std::size_t attention) {
    if (!visited_.insert(attention).second) return;
    const AttentionShape& shape = attentions_[attention].shape;
    const double bytes =
        change_.autocast ? 2 : static_cast<double>(BytesPerElement(attentions_[attention].dtype));
    SaveBytes(shape.sequences * shape.queries * shape.key_size, bytes);
    SaveBytes(shape.sequences * shape.keys * (shape.key_size + shape.value_size), bytes);
    SaveBytes(shape.sequences * shape.queries, 4);  // Logarithms of the sums.
    Save(Write(shape.sequences * shape.queries * shape.value_size, bytes));
  }

  double Sum() const {
    double outside = 0;
    std::map<std::int64_t, double> inside;
    for (const Storage& storage : storages_) {
      if (!storage.saved) continue;
      (storage.block < 0 ? outside : inside[storage.block]) +=
          storage.elements * storage.element_bytes;
    }
    double largest_block = 0;
    for (const auto& [block, bytes] : inside) largest_block = std::max(largest_block, bytes);
    const double ratio = change_.batch_ratio, halves = 2 * weights_;
    const double backward_begins = (outside + std::max(largest_block, loss_)) * ratio + halves;
    const ParameterSizes parameters = SizesOfParameters();
    const double backward_ends = parameters.all + largest_block * ratio + halves;
    const double update = parameters.all + (change_.fused_update ? 0 : parameters.temporaries);
    return std::max({backward_begins, backward_ends, update});
  }

  struct ParameterSizes {
    double all = 0;          ///< Bytes.
    double temporaries = 0;  ///< Bytes, of an update of one parameter after the other.
  };
  ParameterSizes SizesOfParameters() const {
    const std::vector<OptimizerStep> steps = FindOptimizerSteps(job_);
    if (steps.empty()) return {};
    ParameterSizes sizes;
    double largest = 0;
    for (const double bytes : BytesOfParameters(job_, steps.back())) {
      sizes.all += bytes;
      largest = std::max(largest, bytes);
    }
    const UpdateAlgorithm* algorithm = AlgorithmOf(job_, steps.back());
    if (algorithm != nullptr) sizes.temporaries = algorithm->temporaries * largest;
    return sizes;
  }

  const Job& job_;
  const MemoryChange change_;
  bool has_backward_ = false;
  std::vector<Storage> storages_;
  std::map<double, std::vector<std::size_t>> written_;  ///< By elements, in order.
  std::unordered_map<HostEventId, std::int64_t> block_of_;
  std::vector<EagerAttention> attentions_;
  std::unordered_map<TaskIndex, std::size_t> attention_of_;
  std::set<std::size_t> visited_;
  std::int64_t block_ = -1;  ///< In which the operator is.
  double loss_ = 0;          ///< Bytes.
  double weights_ = 0;       ///< Elements with a 16-bit copy.
};

}  // namespace

std::optional<double> PeakBytes(const Job& job, const MemoryChange& change) {
  return MemoryCounter(job, change).Count();
}

}  // namespace headroom
