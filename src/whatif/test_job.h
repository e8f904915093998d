// For tests: small training jobs, built operator by operator, and the result of a scenario.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/test_trace.h"
#include "whatif/job/job.h"
#include "whatif/scenarios/scenario.h"

namespace headroom {

/// Places operators one after another on the host, and their kernels one after another on a stream
/// of an H200. All tensors are float32 unless a type is given.
class JobBuilder {
 public:
  /// @param gpu  name of the GPU; empty if the trace does not record it
  explicit JobBuilder(std::string_view gpu = "NVIDIA H200") {
    if (!gpu.empty()) builder_.NameDevice(0, gpu);
  }

  /// Begins the next step.
  JobBuilder& Step() {
    EndStep();
    step_begin_ = host_;
    open_ = true;
    return *this;
  }

  /// Sets the types of the next operator's arguments, as PyTorch records them: "[\"float\"]".
  JobBuilder& Typed(std::string_view types) {
    types_ = types;
    return *this;
  }

  /// Adds an operator of the forward with one kernel.
  ///
  /// @param dims  as PyTorch records them: "[[8, 4], [4, 2]]"; "[]" inside is a scalar; empty if
  /// not recorded
  JobBuilder& Forward(std::string_view op, std::string_view dims, std::int64_t kernel_us,
                      std::int64_t sequence, std::string_view kernel = kAdd) {
    return Forward(op, dims, sequence, {{kernel, kernel_us}});
  }

  /// Adds an operator with several kernels (names and microseconds). `concrete` has the values of
  /// non-tensor arguments, as PyTorch records them.
  JobBuilder& Forward(std::string_view op, std::string_view dims, std::int64_t sequence,
                      const std::vector<std::pair<std::string_view, std::int64_t>>& kernels,
                      std::string_view concrete = {}) {
    const auto length = static_cast<std::int64_t>(4 + 6 * kernels.size());
    auto& event = builder_.Op(op, kMain, host_, length).Sequence(sequence);
    if (!dims.empty()) {
      std::string args =
          "\"Input Dims\": " + std::string(dims) + ", \"Input type\": " + TypesOf(dims);
      if (!concrete.empty()) args += ", \"Concrete Inputs\": " + std::string(concrete);
      event.Args(args);
    }
    for (std::size_t k = 0; k < kernels.size(); ++k) {
      Launch(kMain, host_ + 2 + 6 * static_cast<std::int64_t>(k), kernels[k].first,
             kernels[k].second);
    }
    host_ += length + 2;
    return *this;
  }

  /// Adds an operator of the forward around those that `inside` adds.
  JobBuilder& Around(std::string_view op, const std::function<void(JobBuilder&)>& inside) {
    const std::int64_t begin = host_++;
    inside(*this);
    builder_.Op(op, kMain, begin, host_++ - begin);
    return *this;
  }

  /// Adds a node of the backward with one operator, which has one kernel.
  JobBuilder& Backward(std::string_view node, std::string_view op, std::string_view dims,
                       std::int64_t kernel_us, std::int64_t sequence,
                       std::string_view kernel = kAdd) {
    const std::int64_t begin = host_;
    builder_.Op(node, kAutograd, begin, 14).Sequence(sequence).ForwardThread(1);
    auto& event = builder_.Op(op, kAutograd, begin + 1, 10);
    if (!dims.empty()) event.Shapes(dims, TypesOf(dims));
    Launch(kAutograd, begin + 3, kernel, kernel_us);
    host_ += 16;
    return *this;
  }

  /// Adds a node of the backward with one operator, which has several kernels.
  JobBuilder& Backward(std::string_view node, std::string_view op, std::string_view dims,
                       std::int64_t sequence,
                       const std::vector<std::pair<std::string_view, std::int64_t>>& kernels,
                       std::string_view concrete) {
    const std::int64_t begin = host_;
    const auto length = static_cast<std::int64_t>(4 + 6 * kernels.size());
    builder_.Op(node, kAutograd, begin, length + 2).Sequence(sequence).ForwardThread(1);
    builder_.Op(op, kAutograd, begin + 1, length)
        .Args("\"Input Dims\": " + std::string(dims) + ", \"Input type\": " + TypesOf(dims) +
              ", \"Concrete Inputs\": " + std::string(concrete));
    for (std::size_t k = 0; k < kernels.size(); ++k) {
      Launch(kAutograd, begin + 2 + 6 * static_cast<std::int64_t>(k), kernels[k].first,
             kernels[k].second);
    }
    host_ += length + 4;
    return *this;
  }

  /// Adds the node that adds a parameter's gradient to an older one, with one kernel.
  ///
  /// @param dims  of the parameter; empty if not recorded
  JobBuilder& Accumulate(std::string_view dims, std::int64_t kernel_us) {
    const std::int64_t begin = host_;
    auto& node = builder_.Op("torch::autograd::AccumulateGrad", kAutograd, begin, 14);
    if (!dims.empty()) node.Shapes(dims, TypesOf(dims));
    builder_.Op("aten::add_", kAutograd, begin + 1, 10);
    Launch(kAutograd, begin + 3, kAdd, kernel_us);
    host_ += 16;
    return *this;
  }

  /// Adds an operator of the forward that checkpointing runs again, inside its node of the
  /// backward.
  JobBuilder& Recomputed(std::string_view op, std::string_view dims, std::int64_t kernel_us,
                         std::int64_t sequence, std::string_view kernel = kAdd) {
    const std::int64_t begin = host_;
    builder_
        .Op("autograd::engine::evaluate_function: CheckpointFunctionBackward", kAutograd, begin, 14)
        .Sequence(sequence)
        .ForwardThread(1);
    builder_.Op(op, kAutograd, begin + 1, 10).Sequence(sequence).Shapes(dims, TypesOf(dims));
    Launch(kAutograd, begin + 3, kernel, kernel_us);
    host_ += 16;
    return *this;
  }

  /// Adds an operator of the update, inside the optimizer's range.
  ///
  /// @param range  name of the optimizer's range, such as "Optimizer.step#SGD.step"
  JobBuilder& Update(std::string_view range, std::string_view op, std::string_view dims,
                     std::int64_t kernel_us) {
    builder_.Annotation(range, kMain, host_, 16);
    builder_.Op(op, kMain, host_ + 1, 10).Shapes(dims, TypesOf(dims));
    Launch(kMain, host_ + 3, kAdd, kernel_us);
    host_ += 18;
    return *this;
  }

  const Job& Build() {
    EndStep();
    store_ = builder_.Build();
    // A machine on which recording costs nothing.
    Calibration calibration;
    calibration.host = {.cast_work = 9'000,
                        .cast_launch = 3'500,
                        .forward_attention = 60'000,
                        .backward_attention = 80'000,
                        .checkpointed_block = 120'000};
    Result<std::unique_ptr<Job>> job = Job::Make(*store_, TestReferenceData(), {}, calibration);
    EXPECT_TRUE(job.ok()) << job.status().message();
    job_ = std::move(job).value();
    return *job_;
  }

 private:
  std::string TypesOf(std::string_view dims) {
    if (!types_.empty()) return std::exchange(types_, {});
    std::string types = "[";
    int depth = 0;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] == ']') --depth;
      if (dims[i] != '[' || depth++ != 1) continue;
      types += types.size() > 1 ? ", " : "";
      types += dims[i + 1] == ']' ? "\"Scalar\"" : "\"float\"";
    }
    return types + "]";
  }

  void Launch(std::int64_t thread, std::int64_t at, std::string_view kernel, std::int64_t us) {
    builder_.Call("cudaLaunchKernel", thread, at, 4, ++correlation_);
    gpu_ = std::max(gpu_ + 1, at + 5);
    builder_.Kernel(kernel, kStream, gpu_, us, correlation_);
    gpu_ += us;
  }

  void EndStep() {
    if (!open_) return;
    builder_.Step(steps_++, kMain, step_begin_, host_ - step_begin_);
    host_ += 1;
    open_ = false;
  }

  StoreBuilder builder_;
  std::unique_ptr<TraceStore> store_;
  std::unique_ptr<Job> job_;
  std::string types_;  ///< Types of the next operator's arguments; empty for float32.
  std::int64_t host_ = 0, gpu_ = 0, step_begin_ = 0, correlation_ = 0, steps_ = 0;
  bool open_ = false;
};

/// A job with a scenario applied.
struct Applied {
  Applied(const Job& changed, std::string_view scenario)
      : job(changed), edit(changed.graph(), changed.corrected()) {
    Result<std::vector<ScenarioCall>> calls = ParseScenario(scenario);
    EXPECT_TRUE(calls.ok()) << calls.status().message();
    for (const ScenarioCall& call : calls.value()) {
      effect = call.scenario->apply(job, call.arguments, edit);
      if (!effect.applies) return;
    }
  }

  /// Returns the durations of the remaining recorded GPU tasks in us, in order.
  std::vector<double> Times() const {
    std::vector<double> times;
    for (TaskIndex task = 0; task < job.graph().tasks.size(); ++task) {
      if (job.graph().tasks[task].kind == TaskKind::kGpu && !edit.IsRemoved(task))
        times.push_back(edit.DurationOf(task).us());
    }
    return times;
  }

  const Job& job;
  Edit edit;
  Effect effect;
};

}  // namespace headroom
