#include "kernels/recurrent_time.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/units.h"
#include "kernels/kernel_model.h"

namespace headroom {
namespace {

/// Elements of the input of a layer, from 0.
double InputsOf(const RecurrentWork& work, double layer) {
  return layer == 0 ? work.inputs : work.directions * work.hidden;
}

/// Returns the nanoseconds of a product (m x k)(k x n).
std::optional<double> ProductOf(double m, double k, double n, bool weight_gradient, DType dtype,
                                const DeviceRates& rates, const KernelConstants& constants) {
  const ProductWork product = {.m = m,
                               .k = k,
                               .n = n,
                               .first_along_k = !weight_gradient,
                               .second_along_k = !weight_gradient};
  return KernelNs({.shape = product, .dtype = dtype}, rates, constants);
}

/// Clocks of a step's parts, each of which waits for the one before, and the tile of the library's
/// product on vector units.
struct StepClocks {
  double persistent;   ///< A whole step within a persistent kernel.
  double cells;        ///< The pointwise kernel, and the gaps around both kernels.
  double per_element;  ///< A full tile's time per element of the sum.
  double rows, columns;
};
constexpr StepClocks kForwardClocks = {
    .persistent = 14'700, .cells = 5'500, .per_element = 49, .rows = 64, .columns = 64};
constexpr StepClocks kBackwardClocks = {
    .persistent = 20'800, .cells = 5'500, .per_element = 22, .rows = 128, .columns = 32};

/// Returns the time of a step's product on vector units: waves of tiles that sum one element after
/// the other. A tile with few rows is faster, up to the latency of reading its operands.
double VectorStepNs(const RecurrentWork& work, const StepClocks& clocks, double clock_ghz,
                    const DeviceRates& rates) {
  constexpr double kProductClocks = 2'000, kLeastClocks = 20;
  const double gates = work.gates * work.hidden;
  const double depth = work.backward ? gates : work.hidden;
  const double results = work.directions * (work.backward ? work.hidden : gates);
  const double tiles = std::ceil(work.batch / clocks.rows) * std::ceil(results / clocks.columns);
  const double waves = std::ceil(tiles / rates.processors);
  const double per_element =
      std::max(kLeastClocks, clocks.per_element * std::min(1.0, work.batch / clocks.rows));
  constexpr double kSustained = 0.7;  // Share of the peak that large products reach.
  const double flops = 2 * work.batch * depth * results;
  return std::max((kProductClocks + waves * depth * per_element) / clock_ghz,
                  flops / (rates.flops_per_ns * rates.clock_share * kSustained));
}

}  // namespace

std::optional<RecurrentWork> RecurrentWorkOf(const OperatorCall& call) {
  const std::optional<RecurrentShape> shape = RecurrentShapeOf(call);
  if (!shape || !shape->batch) return std::nullopt;
  return RecurrentWork{.batch = *shape->batch,
                       .steps = shape->rows / *shape->batch,
                       .inputs = shape->inputs,
                       .hidden = shape->hidden,
                       .layers = shape->layers,
                       .directions = shape->directions,
                       .gates = shape->gates,
                       .backward = shape->backward};
}

bool IsPersistent(const RecurrentWork& work, DType dtype, const DeviceRates& rates) {
  constexpr double kMaxHidden = 1024, kMaxBatch = 96;
  constexpr double kGates = 4;  // Measured with an LSTM only.
  const std::string_view architecture = rates.device->architecture;
  const bool generation = architecture == "Ampere" || architecture == "Ada" ||
                          architecture == "Hopper" || architecture == "Blackwell";
  return generation && BytesPerElement(dtype) == 2 && work.directions == 1 &&
         work.gates == kGates && work.hidden <= kMaxHidden && work.batch <= kMaxBatch;
}

double RecurrentFlops(const RecurrentWork& work) {
  double weights = 0;
  for (double layer = 0; layer < work.layers; ++layer)
    weights += work.directions * work.gates * work.hidden * (InputsOf(work, layer) + work.hidden);
  return 2 * work.batch * work.steps * weights * (work.backward ? 2 : 1);
}

double RecurrentBytes(const RecurrentWork& work, DType dtype) {
  double elements = 0;
  for (double layer = 0; layer < work.layers; ++layer) {
    const double in = InputsOf(work, layer);
    elements += work.directions * (work.gates * work.hidden * (in + work.hidden) +
                                   work.batch * work.steps * work.hidden) +
                work.batch * work.steps * in;
  }
  return elements * BytesPerElement(dtype) * (work.backward ? 2 : 1);
}

double RecurrentKernels(const RecurrentWork& work, DType dtype, const DeviceRates& rates) {
  constexpr double kOfLayer = 4, kOfStep = 2;
  return work.layers * work.directions *
         (kOfLayer + (IsPersistent(work, dtype, rates) ? 0 : kOfStep * work.steps));
}

std::optional<double> RecurrentNs(const RecurrentWork& work, DType dtype, const DeviceRates& rates,
                                  const KernelConstants& constants) {
  const double width = work.gates * work.hidden;
  const double rows = work.batch * work.steps;
  const double clock_ghz =
      rates.flops_per_ns / (2 * rates.lanes * rates.processors) * rates.clock_share;
  const StepClocks& clocks = work.backward ? kBackwardClocks : kForwardClocks;
  double step = VectorStepNs(work, clocks, clock_ghz, rates);
  if (dtype != DType::kF32) {
    // The directions share the device: one product of both.
    const double wide = work.directions * width;
    const std::optional<double> product =
        work.backward ? ProductOf(work.batch, width, work.directions * work.hidden, false, dtype,
                                  rates, constants)
                      : ProductOf(work.batch, work.hidden, wide, false, dtype, rates, constants);
    if (!product) return std::nullopt;
    step = std::min(step, *product);
  }
  step = IsPersistent(work, dtype, rates) ? clocks.persistent / clock_ghz
                                          : step + clocks.cells / clock_ghz;
  double ns = 0;
  for (double layer = 0; layer < work.layers; ++layer) {
    const double in = InputsOf(work, layer);
    ns += work.steps * step;
    const std::optional<double> inputs =
        work.backward ? ProductOf(rows, width, in, false, dtype, rates, constants)
                      : ProductOf(rows, in, width, false, dtype, rates, constants);
    if (!inputs) return std::nullopt;
    ns += work.directions * *inputs;
    if (!work.backward) continue;
    for (const double k : {in, work.hidden}) {
      const std::optional<double> weights =
          ProductOf(width, rows, k, true, dtype, rates, constants);
      if (!weights) return std::nullopt;
      ns += work.directions * *weights;
    }
  }
  return ns;
}

}  // namespace headroom
