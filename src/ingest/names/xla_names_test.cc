#include "ingest/names/xla_names.h"

#include <gtest/gtest.h>

namespace headroom::xla {
namespace xla_names_test {

TEST(XlaNames, DevicesAndStreams) {
  EXPECT_EQ(DeviceOf("/device:GPU:3")->ordinal, 3);
  EXPECT_EQ(DeviceOf("worker-1 /device:GPU:0 (pid 7)")->ordinal, 0);
  EXPECT_EQ(DeviceOf("/device:TPU:1")->kind, Accelerator::kTpu);
  for (const char* other : {"/host:CPU", "/device:CUSTOM:x", "/device:GPU:", "/device:GPU:-1", ""})
    EXPECT_FALSE(DeviceOf(other)) << other;
  EXPECT_EQ(StreamOf("Stream #13(Compute)"), 13);
  EXPECT_EQ(StreamOf("Stream #7(MemcpyD2H,Kernel)"), 7);
  for (const char* other : {"XLA Ops", "Steps", "Stream #", "Stream 3"})
    EXPECT_FALSE(StreamOf(other)) << other;
  EXPECT_TRUE(IsHostPlane("/host:CPU"));
  EXPECT_FALSE(IsHostPlane("/host:metadata"));
}

TEST(XlaNames, OperationsOnTheHost) {
  constexpr HostEventKind kRange = HostEventKind::kAnnotation;
  EXPECT_TRUE(IsThunk(kRange, "dot.3", "dot.3"));
  EXPECT_FALSE(IsThunk(kRange, "dot.3", ""));
  EXPECT_FALSE(IsThunk(kRange, "Execute", "dot.3"));
  EXPECT_FALSE(IsThunk(HostEventKind::kOther, "dot.3", "dot.3"));
  EXPECT_TRUE(IsEndOfThunk("end: dot.3", "tf_XLAEigen/12"));
  EXPECT_FALSE(IsEndOfThunk("end: epoch", "python"));
  EXPECT_TRUE(IsTensorFlowOperation("MatMul", "dense/MatMul:MatMul"));
  EXPECT_TRUE(IsTensorFlowOperation("_MklMatMul", "dense/MatMul:_MklMatMul"));
  const std::pair<const char*, const char*> kOthers[] = {{"", ""},
                                                         {"", "dense:MatMul"},
                                                         {"MatMul", "MatMul"},
                                                         {"MatMul", ":MatMul"},
                                                         {"Record", "Listener::Record"},
                                                         {"train", "phase:train"},
                                                         {"Mul", "dense:MatMul"}};
  for (const auto& [shown, full] : kOthers)
    EXPECT_FALSE(IsTensorFlowOperation(shown, full)) << full;
  for (const char* own : {"CommonPjRtClient::CreateOutputs", "Handle inputs", "TFE_Py_Execute",
                          "EagerLocalExecute: MatMul", "Iterator::Root"})
    EXPECT_EQ(HostKindOf(own), HostEventKind::kOther) << own;
  EXPECT_EQ(HostKindOf("EagerLocalExecute: IteratorGetNext"), HostEventKind::kOperator);
  EXPECT_EQ(HostKindOf("Handle input files"), kRange);
}

TEST(XlaNames, WhatHostEventsAre) {
  const struct {
    const char* name;
    HostEventKind kind;
  } kCases[] = {
      {"$train.py:42 step", HostEventKind::kPythonFrame},
      {"$builtins len", HostEventKind::kPythonFrame},
      {"cuLaunchKernel", HostEventKind::kDriverCall},
      {"cudaMemcpyAsync", HostEventKind::kRuntimeCall},
      {"hipModuleLaunchKernel", HostEventKind::kRuntimeCall},
      {"custom", HostEventKind::kAnnotation},
      {"cu", HostEventKind::kAnnotation},
      {"hipster", HostEventKind::kAnnotation},
      {"PjitFunction(train_step)", HostEventKind::kAnnotation},
      {"ThenExecuteCallback", HostEventKind::kOther},
      {"", HostEventKind::kAnnotation},
  };
  for (const auto& c : kCases) EXPECT_EQ(HostKindOf(c.name), c.kind) << c.name;
  EXPECT_EQ(GpuKindOf("MemcpyD2H"), GpuTaskKind::kMemcpy);
  EXPECT_EQ(GpuKindOf("Memset"), GpuTaskKind::kMemset);
  EXPECT_EQ(GpuKindOf("__amd_rocclr_copyBuffer"), GpuTaskKind::kMemcpy);
  EXPECT_EQ(GpuKindOf("__amd_rocclr_fillBufferAligned"), GpuTaskKind::kMemset);
  EXPECT_EQ(GpuKindOf("loop_add_fusion"), GpuTaskKind::kKernel);
}

TEST(XlaNames, CallsMayBearTheNameOfTheirWork) {
  const auto call = [](std::string_view name, std::int64_t correlation, std::int64_t step) {
    return CallNamedByWork(HostKindOf(name), name, correlation, step);
  };
  EXPECT_EQ(call("loop_add_fusion", 7, kUnknown), "cuLaunchKernel");
  EXPECT_EQ(call("Memset", 7, kUnknown), "cuMemsetD8Async");
  EXPECT_EQ(call("MemcpyD2D", 7, kUnknown), "cuMemcpyAsync");
  EXPECT_EQ(call("loop_add_fusion", kUnknown, kUnknown), "") << "a range";
  EXPECT_EQ(call("train", 7, 3), "") << "a step";
  EXPECT_EQ(call("PjRtExecute", 7, kUnknown), "") << "of the runtime";
  EXPECT_EQ(call("cuGraphLaunch", 7, kUnknown), "") << "bears its own";
}

TEST(XlaNames, DetailsOfKernels) {
  const KernelDetails nvidia = ParseKernelDetails(
      "regs:32 static_shared:1024 dynamic_shared:16 grid:64,2,1 block:256,1,1 occ_pct:49.6");
  EXPECT_EQ(nvidia.registers, 32);
  EXPECT_EQ(nvidia.shared_memory, 1040);
  EXPECT_EQ(nvidia.grid[0], 64);
  EXPECT_EQ(nvidia.grid[1], 2);
  EXPECT_EQ(nvidia.block[0], 256);
  EXPECT_EQ(nvidia.occupancy_pct, 50);
  const KernelDetails amd =
      ParseKernelDetails(" grid:1280,1,1 block:256,1,1 private_mem:0 group_mem:2112 occ_pct:0");
  EXPECT_EQ(amd.registers, kUnknown32);
  EXPECT_EQ(amd.shared_memory, 2112);
  EXPECT_EQ(amd.occupancy_pct, kUnknown32) << "0 is what XLA writes where it did not compute it";
  const KernelDetails bad = ParseKernelDetails("grid:8,x block:-1,1,1 regs: occ_pct:nan :: a");
  EXPECT_EQ(bad.grid[0], kUnknown32);
  EXPECT_EQ(bad.block[0], kUnknown32);
  EXPECT_EQ(ParseKernelDetails("grid:8").grid[2], 1);
}

TEST(XlaNames, BytesOfCopies) {
  EXPECT_EQ(BytesOfDetails("kind_src:pinned kind_dst:device size:1024 dest:0 async:1"), 1024);
  EXPECT_EQ(BytesOfDetails("kind:device num_bytes:4 async:1"), 4);
  EXPECT_EQ(BytesOfDetails("kind:Unknown size:0 dest:512 async:1"), kUnknown);
  EXPECT_EQ(BytesOfDetails(""), kUnknown);
}

}  // namespace xla_names_test
}  // namespace headroom::xla
