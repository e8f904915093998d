// Recurrent networks that a library runs as one operator.
//
// FLOPs per layer and direction = 2 * rows * gates * hidden * (inputs + outputs), with rows = steps
// * batch. A projection adds 2 * rows * hidden * projection. The formula follows from first
// principles: one product with the layer's input, and one with the output of the previous step. The
// backward computes each product twice, for its data and its weights. The gates' own arithmetic
// does not count.
//
// Bytes: inputs, outputs and weights of every layer once; in the backward twice.
#include <array>

#include "cost/operator_args.h"
#include "cost/operator_rules.h"

namespace headroom {
namespace {

/// Argument positions of a recurrent operator.
struct Positions {
  std::string_view name;
  std::size_t state, mode, hidden, projection, layers, batch_first, bidirectional;
  bool backward = false;
};

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

// From aten/src/ATen/native/native_functions.yaml (PyTorch 2.x).
constexpr std::array kPositions = {
    Positions{"aten::_cudnn_rnn", 4, 6, 7, 8, 9, 10, 13},
    Positions{"aten::_cudnn_rnn_backward", 4, 10, 11, 12, 13, 14, 17, true},
    Positions{"aten::miopen_rnn", 3, 5, 6, kNone, 7, 8, 11},
    Positions{"aten::miopen_rnn_backward", 4, 9, 10, kNone, 11, 12, 15, true},
};

const Positions* PositionsOf(std::string_view name) {
  for (const Positions& positions : kPositions) {
    if (positions.name == name) return &positions;
  }
  return nullptr;
}

/// Returns the number of gates of a mode of cuDNN or MIOpen: ReLU, tanh, LSTM or GRU, from 0.
/// Returns nullopt for other modes.
std::optional<double> GatesOf(std::int64_t mode) {
  constexpr std::array<double, 4> kGates = {1, 1, 4, 3};
  if (mode < 0 || mode >= static_cast<std::int64_t>(kGates.size())) return std::nullopt;
  return kGates[static_cast<std::size_t>(mode)];
}

std::optional<OperatorCost> RecurrentCost(const OperatorCall& call, const OperatorRule& rule) {
  const std::optional<RecurrentShape> shape = RecurrentShapeOf(call);
  if (!shape) return std::nullopt;
  const double out = shape->projection > 0 ? shape->projection : shape->hidden;
  double in = shape->inputs, flops = 0, elements = 0;
  for (double layer = 0; layer < shape->layers; ++layer) {
    const double weights =
        shape->gates * shape->hidden * (in + out) + shape->hidden * shape->projection;
    flops += shape->directions * 2 * shape->rows * weights;
    elements += shape->directions * (weights + shape->rows * out) + shape->rows * in;
    in = shape->directions * out;
  }
  const double passes = shape->backward ? 2 : 1;
  Traffic traffic;
  traffic.Read(passes * elements, shape->dtype);
  return FinishCost(traffic, passes * flops, shape->dtype, rule.family);
}

constexpr std::array kRecurrentRules = {
    OperatorRule{"aten::_cudnn_rnn", WorkFamily::kMatmul, RecurrentCost},
    OperatorRule{"aten::_cudnn_rnn_backward", WorkFamily::kMatmul, RecurrentCost},
    OperatorRule{"aten::miopen_rnn", WorkFamily::kMatmul, RecurrentCost},
    OperatorRule{"aten::miopen_rnn_backward", WorkFamily::kMatmul, RecurrentCost},
};

}  // namespace

bool IsRecurrent(std::string_view operator_name) { return PositionsOf(operator_name) != nullptr; }

std::optional<RecurrentShape> RecurrentShapeOf(const OperatorCall& call) {
  const Positions* positions = PositionsOf(call.name);
  const TensorArg* input = TensorAt(call, 0);
  if (positions == nullptr || input == nullptr || input->dims.size() < 2) return std::nullopt;
  const auto mode = IntAt(call, positions->mode), hidden = IntAt(call, positions->hidden),
             layers = IntAt(call, positions->layers);
  const auto projection = positions->projection == kNone ? std::optional<std::int64_t>(0)
                                                         : IntAt(call, positions->projection);
  const auto bidirectional = BoolAt(call, positions->bidirectional);
  if (!mode || !hidden || !layers || !projection || !bidirectional) return std::nullopt;
  const std::optional<double> gates = GatesOf(*mode);
  constexpr std::int64_t kMaxLayers = 1'000;
  if (!gates || *hidden <= 0 || *layers <= 0 || *layers > kMaxLayers || *projection < 0)
    return std::nullopt;
  const auto inputs = static_cast<double>(input->dims.back());
  RecurrentShape shape = {.rows = inputs > 0 ? Elements(input->dims) / inputs : 0,
                          .inputs = inputs,
                          .hidden = static_cast<double>(*hidden),
                          .projection = static_cast<double>(*projection),
                          .layers = static_cast<double>(*layers),
                          .directions = *bidirectional ? 2.0 : 1.0,
                          .gates = *gates,
                          .backward = positions->backward,
                          .dtype = input->dtype};
  // The state is [layers * directions, batch, elements], also for sequences packed into one
  // dimension.
  const TensorArg* state = TensorAt(call, positions->state);
  constexpr std::size_t kStateRank = 3;
  if (state != nullptr && state->dims.size() == kStateRank && state->dims[1] > 0)
    shape.batch = static_cast<double>(state->dims[1]);
  return shape;
}

std::optional<std::int64_t> RecurrentBatchOf(const OperatorCall& call) {
  const Positions* positions = PositionsOf(call.name);
  const TensorArg* input = TensorAt(call, 0);
  if (positions == nullptr || input == nullptr || input->dims.size() != 3) return std::nullopt;
  const std::optional<bool> batch_first = BoolAt(call, positions->batch_first);
  if (!batch_first) return std::nullopt;
  return input->dims[*batch_first ? 0 : 1];
}

std::span<const OperatorRule> RecurrentRules() { return kRecurrentRules; }

}  // namespace headroom
