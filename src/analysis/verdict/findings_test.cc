#include <algorithm>
#include <functional>
#include <string>

#include "analysis/test_trace.h"

namespace headroom {
namespace findings_test {

using Fill = std::function<void(StoreBuilder&, std::int64_t)>;

/// Builds six steps of 1000 us; `fill` adds the events of the step that begins at the given time.
StoreBuilder Job(const Fill& fill, const char* device = "NVIDIA H200") {
  StoreBuilder b;
  b.NameDevice(0, device);
  for (int i = 0; i < 6; ++i) {
    b.Step(i, kMain, i * 1000, 1000);
    fill(b, i * 1000);
    b.Launch("aten::add", kMain, i * 1000 + 900, kAdd, kStream, i * 1000 + 990, 10);
  }
  return b;
}

const Finding* Found(const TraceReport& report, std::string_view id) {
  const auto it = std::find_if(report.findings.begin(), report.findings.end(),
                               [&](const Finding& f) { return f.id == id; });
  return it == report.findings.end() ? nullptr : &*it;
}

void Busy(StoreBuilder& b, std::int64_t at, const char* kernel, std::int64_t from,
          std::int64_t to) {
  b.Launch("aten::op", kMain, at + 5, kernel, kStream, at + from, to - from);
}

constexpr const char* kTensorCoreGemm = "nvjet_sm90_hsh_256x128_64x4_1x2_h_bz_coopA_TNT";
constexpr const char* kCopyKernel =
    "void at::native::elementwise_kernel<128, 4, "
    "at::native::gpu_kernel_impl_nocast<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&"
    ")";
constexpr const char* kFusedAdam =
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
    "namespace)::FusedOptimizerTensorListMetadata<4>";

/// Adds a step without problems: matrix products on tensor cores fill the step.
void Sound(StoreBuilder& b, std::int64_t at) { Busy(b, at, kTensorCoreGemm, 2, 990); }

void Optimizer(StoreBuilder& b, std::int64_t at, int kernels, const char* kernel) {
  Busy(b, at, kTensorCoreGemm, 2, 590);
  b.Annotation("Optimizer.step#SGD.step", kMain, at + 100, 480);
  for (int k = 0; k < kernels; ++k)
    b.Launch("aten::add_", kMain, at + 101 + 2 * k, kernel, kStream, at + 590 + 2 * k, 2);
}

struct RuleCase {
  const char* id;
  const char* section;
  Fill fires;
  Fill silent;
};

const RuleCase kRules[] = {
    {"late-launches", "bottleneck",
     [](StoreBuilder& b, std::int64_t at) {
       for (int k = 0; k < 10; ++k)
         b.Launch("aten::mm", kMain, at + k * 90, kTensorCoreGemm, kStream, at + k * 90 + 5, 20);
     },
     [](StoreBuilder& b,
        std::int64_t at) {  // No kernel is late; the last covers the next step's first launch.
       for (int k = 0; k < 10; ++k) {
         b.Launch("aten::mm", kMain, at + k, kTensorCoreGemm, kStream, at + k * 100 + 70,
                  k == 9 ? 150 : 20);
       }
     }},
    {"data-wait", "breakdown",
     [](StoreBuilder& b, std::int64_t at) {
       Busy(b, at, kTensorCoreGemm, 2, 590);
       b.Annotation("enumerate(DataLoader)#iter", kMain, at + 590, 300);
     },
     [](StoreBuilder& b, std::int64_t at) {  // The GPU works while the loop waits.
       Sound(b, at);
       b.Annotation("enumerate(DataLoader)#iter", kMain, at + 590, 300);
     }},
    {"exposed-communication", "breakdown",
     [](StoreBuilder& b, std::int64_t at) {
       Busy(b, at, kTensorCoreGemm, 2, 590);
       Busy(b, at, kAllReduce, 590, 990);
     },
     [](StoreBuilder& b, std::int64_t at) {
       Sound(b, at);
       b.Launch("nccl:all_reduce", kMain, at + 8, kAllReduce, kSideStream, at + 100, 400);
     }},
    {"exposed-copies", "breakdown",
     [](StoreBuilder& b, std::int64_t at) {
       Busy(b, at, kTensorCoreGemm, 2, 590);
       b.Call("cudaMemcpyAsync", kMain, at + 10, 5, at + 1);
       b.Copy(CopyKind::kHostToDevice, kStream, at + 590, 400, at + 1).Bytes(1'000'000);
     },
     [](StoreBuilder& b, std::int64_t at) {
       Sound(b, at);
       b.Call("cudaMemcpyAsync", kMain, at + 10, 5, at + 1);
       b.Copy(CopyKind::kHostToDevice, kSideStream, at + 590, 300, at + 1);
     }},
    {"exposed-copies-to-host", "bottleneck",
     [](StoreBuilder& b, std::int64_t at) {
       Busy(b, at, kTensorCoreGemm, 2, 590);
       b.Call("cudaMemcpyAsync", kMain, at + 10, 5, at + 1);
       b.Copy(CopyKind::kDeviceToHost, kStream, at + 590, 400, at + 1);
     },
     Sound},
    {"costly-syncs", "bottleneck",
     [](StoreBuilder& b, std::int64_t at) {
       Busy(b, at, kTensorCoreGemm, 2, 500);
       b.Call("cudaStreamSynchronize", kMain, at + 20, 481);
     },
     [](StoreBuilder& b, std::int64_t at) {  // The GPU has more to do.
       Sound(b, at);
       b.Call("cudaStreamSynchronize", kMain, at + 20, 200);
     }},
    {"unfused-optimizer", "breakdown",
     [](StoreBuilder& b, std::int64_t at) { Optimizer(b, at, 150, kAdd); },
     [](StoreBuilder& b, std::int64_t at) { Optimizer(b, at, 150, kFusedAdam); }},
    {"unfused-elementwise", "classes",
     [](StoreBuilder& b, std::int64_t at) {
       Busy(b, at, kTensorCoreGemm, 2, 590);
       Busy(b, at, kAdd, 590, 990);
     },
     Sound},
    {"device-copies", "classes",
     [](StoreBuilder& b, std::int64_t at) {
       Busy(b, at, kTensorCoreGemm, 2, 590);
       Busy(b, at, kCopyKernel, 590, 990);
     },
     Sound},
    {"gaps-between-kernels", "bottleneck",
     [](StoreBuilder& b, std::int64_t at) {
       for (int k = 0; k < 50; ++k)
         b.Launch("aten::mm", kMain, at + k * 2, kTensorCoreGemm, kStream, at + 110 + k * 17, 13);
     },
     Sound},
    {"idle-tensor-cores", "efficiency",
     [](StoreBuilder& b, std::int64_t at) {
       b.Op("aten::mm", kMain, at + 5, 2)
           .Shapes("[[512, 512], [512, 512]]", R"(["float", "float"])");
       b.Call("cudaLaunchKernel", kMain, at + 5, 1, at + 1);
       b.Kernel(kGemm, kStream, at + 10, 980, at + 1);
       b.Call("cudaStreamSynchronize", kMain, at + 20, 870);
     },
     [](StoreBuilder& b, std::int64_t at) {
       b.Op("aten::mm", kMain, at + 5, 2)
           .Shapes("[[512, 512], [512, 512]]", R"(["c10::Half", "c10::Half"])");
       b.Call("cudaLaunchKernel", kMain, at + 5, 1, at + 1);
       b.Kernel(kTensorCoreGemm, kStream, at + 10, 980, at + 1);
     }},
};

TEST(Findings, EachRuleFiresOnItsCauseAndStaysSilentWithoutIt) {
  for (const RuleCase& c : kRules) {
    const TraceReport fires = AnalyzeTrace(Job(c.fires));
    const Finding* finding = Found(fires, c.id);
    ASSERT_NE(finding, nullptr) << c.id;
    EXPECT_EQ(finding->check_section, c.section) << c.id;
    EXPECT_FALSE(finding->action.empty()) << c.id;
    EXPECT_FALSE(finding->evidence.empty()) << c.id;
    ASSERT_TRUE(finding->share_pct) << c.id;
    EXPECT_GT(*finding->share_pct, 2) << c.id;
    EXPECT_LE(*finding->share_pct, 100) << c.id;
    EXPECT_NE(finding->title.find(finding->figure), std::string::npos)
        << c.id << ": the title quotes its figure";
    EXPECT_EQ(Found(AnalyzeTrace(Job(c.silent)), c.id), nullptr) << c.id;
  }
}

TEST(Findings, OfASoundJobAreNone) {
  for (const Finding& finding : AnalyzeTrace(Job(Sound)).findings)
    ADD_FAILURE() << finding.id << ": " << finding.title;
}

/// Fills a step with float32 products, with `host_us` of host work.
Fill Float32Products(std::int64_t host_us) {
  return [host_us](StoreBuilder& b, std::int64_t at) {
    b.Op("aten::mm", kMain, at + 5, 2).Shapes("[[512, 512], [512, 512]]", R"(["float", "float"])");
    b.Call("cudaLaunchKernel", kMain, at + 5, 1, at + 1);
    b.Kernel(kGemm, kStream, at + 10, 980, at + 1);
    b.Call("cudaStreamSynchronize", kMain, at + 20, 1000 - host_us);
  };
}

TEST(Findings, OfTensorCoresHoldNoMoreThanTheHostLeaves) {
  const TraceReport free = AnalyzeTrace(Job(Float32Products(130)));
  const TraceReport busy = AnalyzeTrace(Job(Float32Products(800)));
  ASSERT_NE(Found(free, "idle-tensor-cores"), nullptr);
  ASSERT_NE(Found(busy, "idle-tensor-cores"), nullptr);
  EXPECT_NEAR(*Found(free, "idle-tensor-cores")->share_pct, 87, 1);
  EXPECT_NEAR(*Found(busy, "idle-tensor-cores")->share_pct, 20, 1);
  EXPECT_NE(Found(busy, "idle-tensor-cores")->evidence.back().find("host"), std::string::npos);
}

TEST(Findings, OfTensorCoresFitTheDevice) {
  const auto action = [](const char* device) -> std::string {
    const TraceReport report = AnalyzeTrace(Job(Float32Products(130), device));
    const Finding* finding = Found(report, "idle-tensor-cores");
    return finding == nullptr ? "" : finding->action;
  };
  EXPECT_NE(action("NVIDIA H200").find("TF32"), std::string::npos);
  EXPECT_EQ(action("Tesla T4").find("TF32"), std::string::npos);
  EXPECT_NE(action("Tesla T4").find("float16"), std::string::npos);
  EXPECT_EQ(action("Tesla P100-PCIE-16GB"), "");
}

TEST(Findings, OfSyncsNameTheOneInTheMedianStep) {
  StoreBuilder b = Job([](StoreBuilder& step, std::int64_t at) {
    Busy(step, at, kTensorCoreGemm, 2, 500);
    step.Op("aten::item", kMain, at + 18, 490);
    step.Call("cudaStreamSynchronize", kMain, at + 20, 481);
  });
  // A far more expensive sync before the first step must not become the finding.
  b.Launch("aten::mm", kMain, -90000, kTensorCoreGemm, kStream, -90000, 10);
  b.Call("cudaDeviceSynchronize", kMain, -80000, 79000);
  const TraceReport report = AnalyzeTrace(b);
  const Finding* finding = Found(report, "costly-syncs");
  ASSERT_NE(finding, nullptr);
  EXPECT_NE(finding->title.find("cudaStreamSynchronize"), std::string::npos) << finding->title;
  EXPECT_NE(finding->action.find(".item()"), std::string::npos) << finding->action;
  EXPECT_EQ(report.syncs.front().name, "cudaDeviceSynchronize");
}

TEST(Findings, AdviseOnCopiesByTheirMemory) {
  for (const bool pageable : {false, true}) {
    const TraceReport report = AnalyzeTrace(Job([&](StoreBuilder& b, std::int64_t at) {
      Busy(b, at, kTensorCoreGemm, 2, 590);
      b.Call("cudaMemcpyAsync", kMain, at + 10, 5, at + 1);
      b.Copy(CopyKind::kHostToDevice,
             pageable ? "Memcpy HtoD (Pageable -> Device)" : "Memcpy HtoD (Pinned -> Device)",
             kStream, at + 590, 400, at + 1);
    }));
    const Finding* finding = Found(report, "exposed-copies");
    ASSERT_NE(finding, nullptr);
    EXPECT_EQ(finding->action.find("pin_memory") != std::string::npos, pageable);
  }
}

TEST(Findings, AdviseAFusedOptimizerWhereThereIsOne) {
  for (const bool known : {false, true}) {
    const TraceReport report = AnalyzeTrace(Job([&](StoreBuilder& b, std::int64_t at) {
      Busy(b, at, kTensorCoreGemm, 2, 590);
      b.Annotation(known ? "Optimizer.step#AdamW.step" : "Optimizer.step#Muon.step", kMain,
                   at + 100, 480);
      for (int k = 0; k < 150; ++k)
        b.Launch("aten::add_", kMain, at + 101 + 2 * k, kAdd, kStream, at + 590 + 2 * k, 2);
    }));
    const Finding* finding = Found(report, "unfused-optimizer");
    ASSERT_NE(finding, nullptr);
    EXPECT_EQ(finding->action.find("fused=True") != std::string::npos, known) << finding->action;
  }
}

TEST(Findings, LeaveOutLateLaunchesThatOnlyRecordingCauses) {
  const auto late = [](int operators) {
    return AnalyzeTrace(Job([operators](StoreBuilder& b, std::int64_t at) {
      Busy(b, at, kTensorCoreGemm, 10, 890);
      for (int k = 0; k < operators; ++k) b.Op("aten::view", kMain, at + 10 + k * 7, 2);
      b.Launch("aten::mm", kMain, at + 985, kTensorCoreGemm, kStream, at + 990, 5);
    }));
  };
  EXPECT_NE(Found(late(2), "late-launches"), nullptr);
  EXPECT_EQ(Found(late(100), "late-launches"), nullptr);
}

/// Returns the text of the finding about late launches.
std::string AboutLateLaunches(const Fill& fill) {
  const TraceReport report = AnalyzeTrace(Job(fill));
  const Finding* finding = Found(report, "late-launches");
  if (finding == nullptr) return "";
  std::string text = finding->title;
  for (const std::string& evidence : finding->evidence) text += "\n" + evidence;
  return text + "\n" + finding->action;
}

TEST(Findings, OfLateLaunchesAdviseFewerOnlyWhereManyExplainTheIdle) {
  const std::string many = AboutLateLaunches([](StoreBuilder& b, std::int64_t at) {
    for (int k = 0; k < 10; ++k)
      b.Launch("aten::mm", kMain, at + k * 90, kTensorCoreGemm, kStream, at + k * 90 + 5, 20);
  });
  EXPECT_NE(many.find("launch fewer kernels"), std::string::npos) << many;
  EXPECT_NE(many.find("a launch call takes the host 1.00 us"), std::string::npos) << many;

  const std::string one_call = AboutLateLaunches([](StoreBuilder& b, std::int64_t at) {
    Busy(b, at, kTensorCoreGemm, 2, 100);
    b.Op("aten::mm", kMain, at + 100, 700);
    b.Call("cudaLaunchKernel", kMain, at + 150, 600, at + 1);
    b.Kernel(kTensorCoreGemm, kStream, at + 760, 20, at + 1);
  });
  EXPECT_EQ(one_call.find("launch fewer kernels"), std::string::npos) << one_call;
  EXPECT_NE(one_call.find("cudaLaunchKernel, 600 us (once)"), std::string::npos) << one_call;
  EXPECT_NE(one_call.find("warm-up"), std::string::npos) << one_call;

  const std::string one_operator = AboutLateLaunches([](StoreBuilder& b, std::int64_t at) {
    Busy(b, at, kTensorCoreGemm, 2, 100);
    for (int k = 0; k < 4; ++k) b.Op("aten::sort", kMain, at + 110 + k * 190, 180);
  });
  EXPECT_NE(one_operator.find("aten::sort, 720 us (4 times)"), std::string::npos) << one_operator;
  EXPECT_EQ(one_operator.find("launch fewer kernels"), std::string::npos) << one_operator;

  const std::string nothing = AboutLateLaunches(
      [](StoreBuilder& b, std::int64_t at) { Busy(b, at, kTensorCoreGemm, 2, 100); });
  EXPECT_NE(nothing.find("in unrecorded code"), std::string::npos) << nothing;
  EXPECT_NE(nothing.find("with_stack=True"), std::string::npos) << nothing;
  EXPECT_EQ(nothing.find("launch fewer kernels"), std::string::npos) << nothing;
}

TEST(Findings, OfLateLaunchesDoNotBlameARangeForWhatAnotherThreadDoes) {
  const std::string text = AboutLateLaunches([](StoreBuilder& b, std::int64_t at) {
    Busy(b, at, kTensorCoreGemm, 2, 100);
    b.Annotation("## backward ##", kMain, at + 100, 790);
    b.Op("SortBackward0", kAutograd, at + 101, 780);
    b.Call("cudaLaunchKernel", kAutograd, at + 880, 1, at + 1);
    b.Kernel(kTensorCoreGemm, kStream, at + 885, 20, at + 1);
  });
  EXPECT_NE(text.find("most expensive: SortBackward0"), std::string::npos) << text;
}

TEST(Findings, OfGapsBetweenLaunchedKernelsTellStartsFromWaits) {
  const auto gaps = [](int kernels, std::int64_t gap) {
    const TraceReport report = AnalyzeTrace(Job([=](StoreBuilder& b, std::int64_t at) {
      for (int k = 0; k < kernels; ++k) {
        b.Launch("aten::mm", kMain, at + k * 2, kTensorCoreGemm, kStream,
                 at + 110 + k * 870 / kernels, 870 / kernels - gap);
      }
    }));
    const Finding* finding = Found(report, "gaps-between-kernels");
    return finding == nullptr ? "" : finding->evidence.front() + "\n" + finding->action;
  };
  EXPECT_NE(gaps(50, 4).find("fewer, larger kernels"), std::string::npos);
  EXPECT_EQ(gaps(4, 100).find("fewer, larger kernels"), std::string::npos) << gaps(4, 100);
  EXPECT_NE(gaps(4, 100).find("1 to 2 us"), std::string::npos) << gaps(4, 100);
}

TEST(Findings, OfTensorCoresDoNotCountTheCostOfRecording) {
  // The step's 300 operators limit it, with 480 us for recording them. Without recording the host
  // would still take the whole step.
  const TraceReport report = AnalyzeTrace(Job([](StoreBuilder& b, std::int64_t at) {
    for (int k = 0; k < 10; ++k) {
      b.Op("aten::mm", kMain, at + k * 98, 90)
          .Shapes("[[512, 512], [512, 512]]", R"(["float", "float"])");
      for (int v = 0; v < 29; ++v) b.Op("aten::view", kMain, at + k * 98 + 1 + v * 3, 2);
      b.Call("cudaLaunchKernel", kMain, at + k * 98 + 88, 1, at + k + 1);
      b.Kernel(kGemm, kStream, at + k * 98 + 90, 60, at + k + 1);
    }
  }));
  EXPECT_EQ(Found(report, "idle-tensor-cores"), nullptr);
}

TEST(Findings, NameOutlierSteps) {
  StoreBuilder b;
  const auto job = [](std::int64_t slow_us) {
    StoreBuilder steps;
    std::int64_t at = 0;
    for (int i = 0; i < 6; ++i) {
      const std::int64_t wall = i == 3 ? slow_us : 1000;
      steps.Step(i, kMain, at, wall);
      steps.Launch("aten::mm", kMain, at + 1, kTensorCoreGemm, kStream, at + 2, wall - 2);
      at += wall;
    }
    return AnalyzeTrace(steps);
  };
  const TraceReport slow = job(3000);
  const Finding* finding = Found(slow, "outlier-steps");
  ASSERT_NE(finding, nullptr);
  EXPECT_NE(finding->title.find("step 3 took 3.00 ms"), std::string::npos) << finding->title;
  EXPECT_NEAR(*finding->share_pct, 100.0 * 2 / 8, 0.1) << "2 of the 8 ms that all take";
  EXPECT_NE(finding->evidence[1].find("GPU work"), std::string::npos) << finding->evidence[1];
  EXPECT_EQ(Found(job(1100), "outlier-steps"), nullptr);
}

TEST(Findings, AreRankedByTheTimeThatTheyHoldAndAtMostSeven) {
  const TraceReport report = AnalyzeTrace(Job([](StoreBuilder& b, std::int64_t at) {
    Busy(b, at, kGemm, 2, 150);
    Busy(b, at, kAdd, 150, 260);
    Busy(b, at, kCopyKernel, 260, 370);
    Busy(b, at, kAllReduce, 370, 450);
    b.Call("cudaMemcpyAsync", kMain, at + 10, 5, at + 1);
    b.Copy(CopyKind::kHostToDevice, kStream, at + 450, 50, at + 1);
    b.Annotation("enumerate(DataLoader)#iter", kMain, at + 500, 60);
    b.Call("cudaStreamSynchronize", kMain, at + 570, 50);
    b.Annotation("Optimizer.step#SGD.step", kMain, at + 620, 230);
    for (int k = 0; k < 110; ++k)
      b.Launch("aten::add_", kMain, at + 621 + 2 * k, kAdd, kStream, at + 640 + 2 * k, 1);
  }));
  EXPECT_EQ(report.findings.size(), 7u);
  for (std::size_t i = 1; i < report.findings.size(); ++i) {
    EXPECT_GE(*report.findings[i - 1].share_pct, *report.findings[i].share_pct);
  }
}

}  // namespace findings_test
}  // namespace headroom
