#include "analysis/names/attribution.h"

#include "analysis/test_trace.h"

namespace headroom {
namespace attribution_test {

constexpr const char* kBackward = "autograd::engine::evaluate_function: MmBackward0";

/// Returns the first task of that name.
GpuTaskId TaskNamed(const TraceStore& store, std::string_view name) {
  for (std::size_t i = 0; i < store.gpu_tasks.rows(); ++i) {
    if (store.Text(store.gpu_tasks.name[i]) == name) return GpuTaskId(i);
  }
  ADD_FAILURE() << "no task " << name;
  return GpuTaskId();
}

struct Answer {
  explicit Answer(const TestTrace& trace, std::string_view task)
      : store(*trace.store), context(trace.attribution.Of(TaskNamed(*trace.store, task))) {}
  std::string_view Name(HostEventId event) const {
    return event.valid() ? store.Text(store.host_events.name[event.index()]) : "none";
  }
  const TraceStore& store;
  HostContext context;
};

TEST(Attribution, OperatorsOfGradientsAreBackwardOnAThreadOfBoth) {
  StoreBuilder b;
  b.Launch("aten::mm", kMain, 10, "forward", kStream, 10, 1);
  b.Launch("aten::convolution_backward", kMain, 110, "backward", kStream, 110, 1);
  b.Launch("aten::mm", kMain, 210, "forward again", kStream, 210, 1);
  const TestTrace trace(b);
  EXPECT_EQ(Answer(trace, "forward").context.phase, Phase::kForward);
  EXPECT_EQ(Answer(trace, "backward").context.phase, Phase::kBackward);
  EXPECT_EQ(Answer(trace, "forward again").context.phase, Phase::kForward);
}

/// Returns the phase of the first kernel that a thread with only calls launches inside a backward
/// range. The thread launches `inside` of its 20 kernels there.
Phase PhaseOfBareCall(int inside, bool with_operators) {
  StoreBuilder b;
  b.Annotation("FORWARD", kMain, 0, 1000);
  b.Annotation("BACKWARD", kMain, 1000, 1000);
  if (with_operators) b.Op("aten::mm", kMain, 10, 5);
  for (int i = 0; i < 20; ++i) {
    const std::int64_t at = (i < inside ? 1000 : 0) + i * 20;
    b.Call("cudaLaunchKernel", kAutograd, at, 1, i);
    b.Kernel("kernel " + std::to_string(i), kStream, at + 5, 5, i);
  }
  const TestTrace trace(b);
  return Answer(trace, "kernel 0").context.phase;
}

TEST(Attribution, BareCallsOfAThreadThatLaunchesInBackwardAreBackward) {
  EXPECT_EQ(PhaseOfBareCall(20, false), Phase::kBackward);
  EXPECT_EQ(PhaseOfBareCall(10, false), Phase::kOther) << "copies ahead";
  EXPECT_EQ(PhaseOfBareCall(20, true), Phase::kOther) << "operators would tell";
}

TEST(Attribution, PhaseIsThatOfTheInnermostRangeThatHasOne) {
  StoreBuilder b;
  b.Step(0, kMain, 0, 1000);
  b.Launch("aten::mm", kMain, 10, "forward", kStream, 10, 1);
  b.Annotation("Optimizer.step#SGD.step", kMain, 100, 50);
  b.Launch("aten::add_", kMain, 110, "optimizer", kStream, 110, 1);
  b.Annotation("enumerate(DataLoader)#iter", kMain, 200, 50);
  b.Launch("aten::copy_", kMain, 210, "data", kStream, 210, 1);
  b.Annotation("Callback.on_train_batch_end", kMain, 300, 50);
  b.Launch("aten::mean", kMain, 310, "callback", kStream, 310, 1);
  b.Annotation("## backward ##", kMain, 400, 50);
  b.Launch("aten::mm", kMain, 410, "backward range", kStream, 410, 1);
  b.Launch(kBackward, kAutograd, 500, "backward", kStream, 500, 1);
  b.Launch("aten::mm", kAutograd, 510, "engine", kStream, 510, 1);
  b.Call("cudaLaunchKernel", kMain, 600, 1, 1);
  b.Kernel("bare", kStream, 610, 1, 1);
  b.Call("cudaLaunchKernel", kAutograd, 620, 1, 2);
  b.Kernel("bare in the engine", kStream, 620, 1, 2);
  b.Kernel("orphan", kStream, 700, 1);
  const TestTrace trace(b);
  const struct {
    const char* task;
    Phase phase;
  } kCases[] = {
      {"forward", Phase::kForward},
      {"optimizer", Phase::kOptimizer},
      {"data", Phase::kDataWait},
      {"callback", Phase::kCallback},
      {"backward range", Phase::kBackward},
      {"backward", Phase::kBackward},
      {"engine", Phase::kBackward},
      {"bare", Phase::kOther},
      {"bare in the engine", Phase::kBackward},
      {"orphan", Phase::kOther},
  };
  for (const auto& c : kCases) EXPECT_EQ(Answer(trace, c.task).context.phase, c.phase) << c.task;
}

TEST(Attribution, AnAutogradThreadRunsBackwardAndNoLoop) {
  StoreBuilder b;
  b.Op("aten::mm", 1, 0, 10);  // Forward only.
  b.Op(kBackward, 2, 20, 10);  // The engine.
  b.Op(kBackward, 3, 20,
       10);  // Backward on the thread that also runs the loop (a model on the CPU).
  b.Annotation("Optimizer.step#SGD.step", 3, 50, 10);
  b.Step(0, 4, 0, 100);
  b.Op(kBackward, 4, 20, 10);
  b.Op("aten::mm", 5, 0, 10).Sequence(1);  // No annotations, but operators that enter the graph.
  b.Op(kBackward, 5, 20, 10).Sequence(1).ForwardThread(1);
  b.Op(kBackward, 6, 0, 50)
      .Sequence(9)
      .ForwardThread(1);  // The engine, which recomputes forward inside a node.
  b.Frame("torch/utils/checkpoint.py(1): unpack_hook", 6, 5, 40);
  b.Op("aten::mm", 6, 10, 10).Sequence(1);
  const TestTrace trace(b);
  const bool expected[] = {false, true, false, false, false, true};
  for (std::size_t t = 0; t < std::size(expected); ++t) {
    EXPECT_EQ(trace.attribution.IsAutogradThread(ThreadId(t)), expected[t]) << "thread " << t + 1;
  }
}

/// With autocast, aten::mm on float32 calls itself on float16. The kernel belongs to the inner
/// call.
TEST(Attribution, CostedIsTheInnermostOperatorWithAKnownCost) {
  StoreBuilder b;
  b.Op("aten::linear", kMain, 0, 100);
  b.Op("aten::addmm", kMain, 10, 80)
      .Shapes("[[4], [8, 16], [16, 4], [], []]",
              R"(["float", "float", "float", "Scalar", "Scalar"])");
  b.Op("aten::copy_", kMain, 20, 10).Shapes("[[4], [4], []]", R"(["float", "float", "Scalar"])");
  b.Call("cudaLaunchKernel", kMain, 22, 1, 1);
  b.Kernel("copy", kStream, 30, 1, 1);
  const TestTrace trace(b);
  const Answer answer(trace, "copy");
  EXPECT_EQ(answer.Name(answer.context.op), "aten::copy_");
  EXPECT_EQ(answer.Name(answer.context.costed), "aten::copy_");
}

/// Builds the forward pass of two layers with sequence numbers 5 and 6, and their backward.
StoreBuilder TwoLayers() {
  StoreBuilder b;
  b.Step(0, kMain, 0, 1000);
  b.Frame("train.py(10): forward", kMain, 5, 95);
  b.Annotation("layer::first", kMain, 10, 30);
  b.Op("aten::linear", kMain, 12, 20).Sequence(5);
  b.Op("aten::mm", kMain, 14, 10).Sequence(5);
  b.Annotation("layer::second", kMain, 50, 30);
  b.Op("aten::mm", kMain, 52, 20).Sequence(6);
  for (const int layer : {6, 5}) {
    const int at = layer == 6 ? 200 : 300;
    b.Op(kBackward, kAutograd, at, 50).Sequence(layer).ForwardThread(1);
    b.Op("MmBackward0", kAutograd, at + 5, 40).Sequence(layer).ForwardThread(1);
    b.Op("aten::mm", kAutograd, at + 10, 30);
    b.Call("cudaLaunchKernel", kAutograd, at + 12, 1, layer);
    b.Kernel("backward " + std::to_string(layer), kStream, at + 15, 10, layer);
  }
  return b;
}

TEST(Attribution, BackwardHasTheLayerAndTheLineOfItsForward) {
  const TestTrace trace(TwoLayers());
  const Answer first(trace, "backward 5"), second(trace, "backward 6");
  EXPECT_EQ(first.Name(first.context.layer), "layer::first");
  EXPECT_EQ(second.Name(second.context.layer), "layer::second");
  EXPECT_EQ(first.Name(first.context.line), "train.py(10): forward");
  EXPECT_EQ(first.Name(first.context.forward), "aten::mm")
      << "of several that note the number, the last made the node";
  EXPECT_EQ(first.Name(first.context.op), "aten::mm");
}

TEST(Attribution, SequenceNumbersOfAnotherThreadDoNotMatch) {
  StoreBuilder b = TwoLayers();
  // Checkpointing recomputes forward inside a node of the engine, whose thread counts separately
  // from 0.
  b.Op("autograd::engine::evaluate_function: CheckpointFunctionBackward", kAutograd, 120, 50)
      .Sequence(7)
      .ForwardThread(1);
  b.Annotation("layer::recomputed", kAutograd, 125, 20);
  b.Op("aten::mm", kAutograd, 130, 10).Sequence(5);
  const TestTrace trace(b);
  const Answer first(trace, "backward 5");
  EXPECT_EQ(first.Name(first.context.layer), "layer::first");
}

TEST(Attribution, NodesInsideOfACheckpointHaveTheLayerOfTheirOwnForward) {
  StoreBuilder b;
  b.Step(0, kMain, 0, 1000);
  b.Annotation("layer::block", kMain, 0, 50);
  b.Op("CheckpointFunction", kMain, 5, 40).Sequence(3);
  b.Op("autograd::engine::evaluate_function: CheckpointFunctionBackward", kAutograd, 100, 300)
      .Sequence(3)
      .ForwardThread(1);
  b.Annotation("layer::block.mlp", kAutograd, 110, 50);
  b.Op("aten::mm", kAutograd, 120, 20).Sequence(3);
  b.Call("cudaLaunchKernel", kAutograd, 122, 1, 1);
  b.Kernel("recompute", kStream, 130, 1, 1);
  b.Op(kBackward, kAutograd, 200, 50)
      .Sequence(3)
      .ForwardThread(2);  // The engine's thread has number 2.
  b.Call("cudaLaunchKernel", kAutograd, 210, 1, 2);
  b.Kernel("inner backward", kStream, 220, 1, 2);
  b.Call("cudaLaunchKernel", kAutograd, 300, 1, 3);
  b.Kernel("outer backward", kStream, 310, 1, 3);
  const TestTrace trace(b);
  const Answer recompute(trace, "recompute"), inner(trace, "inner backward"),
      outer(trace, "outer backward");
  EXPECT_EQ(recompute.Name(recompute.context.layer), "layer::block.mlp");
  EXPECT_EQ(recompute.context.phase, Phase::kBackward);
  EXPECT_TRUE(recompute.context.recomputed);
  EXPECT_EQ(inner.Name(inner.context.layer), "layer::block.mlp");
  EXPECT_FALSE(inner.context.recomputed);
  EXPECT_EQ(outer.Name(outer.context.layer), "layer::block");
}

TEST(Attribution, SequenceNumbersOfAnotherProcessDoNotMatch) {
  StoreBuilder b;
  for (const char* process : {"1", "2"}) {
    const std::int64_t at = process[0] == '1' ? 0 : 3;
    const std::int64_t correlation = process[0] - '0';
    b.InProcess(process);
    b.Annotation(std::string("layer::of process ") + process, kMain, at, 40);
    b.Op("aten::mm", kMain, at + 5, 20).Sequence(5);
    b.Op(kBackward, kAutograd, 100 + at, 50).Sequence(5).ForwardThread(1);
    b.Call("cudaLaunchKernel", kAutograd, 110 + at, 1, correlation);
    b.Kernel(std::string("backward ") + process, kStream, 120 + at, 1, correlation)
        .Device(correlation);
  }
  const TestTrace trace(b);
  for (const char* process : {"1", "2"}) {
    const Answer answer(trace, std::string("backward ") + process);
    EXPECT_EQ(answer.Name(answer.context.layer), std::string("layer::of process ") + process);
  }
}

TEST(Attribution, ThreadsWithoutANumberAreSearchedForwardFirst) {
  StoreBuilder b;
  b.Step(0, kMain, 0, 1000);
  b.Annotation("layer::a", kMain, 0, 40);
  b.Op("aten::mm", kMain, 5, 20).Sequence(5);
  // Old profilers do not record the thread's number.
  b.Op(kBackward, kAutograd, 100, 50).Sequence(5);
  b.Op("aten::mm", kAutograd, 105, 5).Sequence(5);
  b.Call("cudaLaunchKernel", kAutograd, 120, 1, 1);
  b.Kernel("backward", kStream, 130, 1, 1);
  const TestTrace trace(b);
  const Answer answer(trace, "backward");
  EXPECT_EQ(answer.Name(answer.context.layer), "layer::a");
}

TEST(Attribution, ModuleFramesAreLayersAndUserFramesAreLines) {
  StoreBuilder b;
  b.Frame("train.py(184): <module>", kMain, 0, 100);
  b.Frame("nn.Module: Linear_0", kMain, 10, 80);
  b.Frame("torch/nn/modules/linear.py(125): forward", kMain, 20, 60);
  b.Launch("aten::mm", kMain, 30, "gemm", kStream, 40, 10);
  const TestTrace trace(b);
  const Answer answer(trace, "gemm");
  EXPECT_EQ(answer.Name(answer.context.layer), "nn.Module: Linear_0");
  EXPECT_EQ(answer.Name(answer.context.line), "train.py(184): <module>");
  EXPECT_EQ(answer.context.phase, Phase::kForward);
}

TEST(Attribution, ManyEqualSequenceNumbersTakeNoQuadraticTime) {
  StoreBuilder b;
  constexpr int kMany = 100'000;
  for (int i = 0; i < kMany; ++i) {
    b.Op("aten::mm", i % 1000, i * 2, 1).Sequence(0);
    b.Op(kBackward, 5000 + i % 1000, i * 2 + 1, 1).Sequence(0).ForwardThread(1 + i % 100);
  }
  const TestTrace trace(b);
  EXPECT_TRUE(
      trace.attribution.Of(HostEventId(trace.store->host_events.rows() - 1)).forward.valid());
}

}  // namespace attribution_test
}  // namespace headroom
