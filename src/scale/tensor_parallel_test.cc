#include "scale/tensor_parallel.h"

#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>

#include "whatif/test_network.h"

namespace headroom {
namespace tensor_parallel_test {

/// 64 tokens of width 256 in two transformer layers; then a head of 512 words. GPU times are in
/// microseconds.
const Job& Transformer(JobBuilder& b) {
  for (int step = 0; step < 2; ++step) {
    int s = 100 * step;
    b.Step();
    b.Forward("aten::embedding", "[[512, 256], [64], []]", 5, s++);
    for (int layer = 0; layer < 2; ++layer) {
      b.Forward("aten::mul", "[[64, 256], []]", 11, s++);  // Belongs to the norm.
      b.Forward("aten::mm", "[[64, 256], [256, 768]]", 30, s++, kGemm);
      b.Forward("aten::bmm", "[[4, 64, 64], [4, 64, 64]]", 10, s++, kGemm);
      b.Forward("aten::_softmax", "[[4, 64, 64], [], []]", 6, s++);
      b.Forward("aten::bmm", "[[4, 64, 64], [4, 64, 64]]", 10, s++, kGemm);
      b.Forward("aten::mm", "[[64, 256], [256, 256]]", 20, s++, kGemm);
      b.Forward("aten::mul", "[[64, 256], []]", 11, s++);
    }
    b.Forward("aten::mm", "[[64, 256], [256, 512]]", 40, s, kGemm);
    b.Backward(Node("MmBackward0"), "aten::mm", "[[256, 64], [64, 512]]", 40, s, kGemm);
    Accumulate(b, "[[256, 512]]");
    for (int layer = 0; layer < 2; ++layer) {
      s -= 2;
      b.Backward(Node("MmBackward0"), "aten::mm", "[[256, 64], [64, 256]]", 40, s, kGemm);
      Accumulate(b, "[[256, 256]]");
      s -= 4;
      b.Backward(Node("MmBackward0"), "aten::mm", "[[256, 64], [64, 768]]", 60, s, kGemm);
      Accumulate(b, "[[256, 768]]");
      s -= 1;
    }
    b.Update("Optimizer.step#SGD.step", "aten::add_", "[[512, 256], [512, 256], []]", 11);
  }
  return b.Build();
}

/// Layers of a job, split over this many GPUs. The job must have layers.
struct Sharing {
  Sharing(const Job& job, std::int64_t ways) {
    Result<TracedLayers> found = TracedLayers::Find(job);
    EXPECT_TRUE(found.ok()) << found.status().message();
    layers.emplace(std::move(found).value());
    Result<TensorParallel> shared = TensorParallel::Share(*layers, ways);
    EXPECT_TRUE(shared.ok()) << shared.status().message();
    tensor.emplace(std::move(shared).value());
  }
  std::optional<TracedLayers> layers;
  std::optional<TensorParallel> tensor;
};

GpuGroup Pair() {
  GpuGroup pair = {.topology = {}, .placement = {.gpus = 2, .nodes = 1}};
  pair.topology.inside = {.bytes_per_ns = 10, .latency = DurationNs(0)};
  return pair;
}

TEST(TensorParallelTest, ProductsBetweenTheNormsAreHalved) {
  JobBuilder b;
  const Job& job = Transformer(b);
  const Sharing sharing(job, 2);
  Edit edit(job.graph(), job.corrected());
  const Effect effect = sharing.tensor->Apply(Pair(), 1, edit);
  ASSERT_TRUE(effect.applies);
  std::vector<double> times;
  for (TaskIndex task = 0; task < job.graph().tasks.size(); ++task) {
    if (job.graph().tasks[task].kind == TaskKind::kGpu && job.graph().tasks[task].step == 0)
      times.push_back(edit.DurationOf(task).us());
  }
  // A kernel that moves data takes half as long, except its start-up of 1.2 us. The update covers
  // all parameters, which are all shared.
  const std::vector<double> layer = {11, 15, 5, 3.6, 5, 10, 11};
  std::vector<double> expected = {5};
  for (int i = 0; i < 2; ++i) expected.insert(expected.end(), layer.begin(), layer.end());
  expected.insert(expected.end(), {20, 20, 1});
  for (int i = 0; i < 2; ++i) expected.insert(expected.end(), {20, 1, 30, 1});
  expected.push_back(6.1);
  EXPECT_EQ(times, expected);
  // Each step has one all-reduce after the word embedding, one each after the two attentions and
  // their backwards, and one after the head's backward. Each all-reduce has 64 KiB, which take
  // 6.5536 us in a ring of two.
  ASSERT_EQ(edit.channel_tasks().size(), 2 * 6u);
  for (const Edit::ChannelTask& sum : edit.channel_tasks())
    EXPECT_EQ(sum.duration, DurationNs(6'554));
}

TEST(TensorParallelTest, GradientsOfSharedParametersAreShared) {
  JobBuilder b;
  const Job& job = Transformer(b);
  const Sharing sharing(job, 2);
  int shared = 0;
  for (const double share : sharing.tensor->gradient_shares()) shared += share == 0.5;
  // The shared forward tasks are the word embedding, five tasks of each attention, and the head.
  EXPECT_EQ(shared, 2 * (1 + 2 * 5 + 1));
}

TEST(TensorParallelTest, LayersAreStages) {
  JobBuilder b;
  const Job& job = Transformer(b);
  const Sharing sharing(job, 1);
  const Result<PipelineStages> stages = sharing.tensor->Stages(2);
  ASSERT_TRUE(stages.ok()) << stages.status().message();
  // Each layer has a forward of 98 us and a backward of 100 us. The word embedding precedes the
  // layers, and the head follows them. A layer begins with its first product, so the norm before
  // the second layer belongs to the first.
  const double first = 5 + 98 + 11 + 100, second = 98 - 11 + 40 + 100 + 40;
  EXPECT_NEAR(stages.value().largest_share, second / (first + second), 1e-9);
  EXPECT_EQ(stages.value().gradients,
            (std::vector<double>{4 * 256 * 512, 4 * 256 * 256, 4 * 256 * 768}));
  const Edit edit(job.graph(), job.corrected());
  EXPECT_EQ(sharing.layers->LayerBytes(1, edit), 64 * 256 * 4);
  EXPECT_EQ(sharing.layers->LayerBytes(3, edit), 3 * 64 * 256 * 4);
  EXPECT_EQ(sharing.tensor->Stages(3).status().code(), StatusCode::kNoAnswer);
}

TEST(TensorParallelTest, OtherNetworksAreNotShared) {
  JobBuilder b = Network();
  const Job& job = b.Build();
  EXPECT_EQ(TracedLayers::Find(job).status().code(), StatusCode::kNoAnswer);
}

}  // namespace tensor_parallel_test
}  // namespace headroom
