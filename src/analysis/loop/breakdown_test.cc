#include "analysis/loop/breakdown.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "analysis/test_trace.h"

namespace headroom {
namespace breakdown_test {

StepBreakdown Split(const StoreBuilder& builder, Interval span) {
  TestTrace trace(builder);
  const HostActivity host =
      FindHostActivity(*trace.store, trace.names, trace.attribution, ProcessId(), span);
  return BreakDown(*trace.store, trace.names, trace.attribution, host, ProcessId(),
                   std::vector<Interval>{span})[0];
}

Interval UsSpan(std::int64_t from, std::int64_t to) { return {AtUs(from), AtUs(to)}; }

TEST(Breakdown, GivesKernelsToThePhaseThatLaunchedThem) {
  StoreBuilder b;
  b.Launch("aten::mm", kMain, 0, kGemm, kStream, 100, 10);
  b.Launch("autograd::engine::evaluate_function: MmBackward0", kAutograd, 10, kGemm, kStream, 110,
           20);
  b.Annotation("Optimizer.step#SGD.step", kMain, 20, 10);
  b.Launch("aten::add_", kMain, 22, kAdd, kStream, 130, 30);
  b.Kernel("orphan", kStream, 160, 40);
  const StepBreakdown split = Split(b, UsSpan(100, 200));
  EXPECT_EQ(split.step.forward, Us(10));
  EXPECT_EQ(split.step.backward, Us(20));
  EXPECT_EQ(split.step.optimizer, Us(30));
  EXPECT_EQ(split.step.other, Us(40));
  EXPECT_EQ(split.gpu.Sum(), Us(100));
}

TEST(Breakdown, PassesThatAnOptimizerCallsAreTheirOwnPhase) {
  StoreBuilder b;
  b.Annotation("Optimizer.step#LBFGS.step", kMain, 0, 100);
  b.Annotation("FORWARD", kMain, 10, 40);
  b.Launch("aten::mm", kMain, 20, kGemm, kStream, 21, 4);
  b.Annotation("BACKWARD", kMain, 55, 30);
  b.Launch("aten::add_", kMain, 90, kAdd, kStream, 92, 3);
  const StepBreakdown split = Split(b, UsSpan(0, 100));
  EXPECT_EQ(split.step.forward, Us(40));
  EXPECT_EQ(split.gpu.forward, Us(4));
  EXPECT_EQ(split.step.backward, Us(30));
  EXPECT_EQ(split.step.optimizer, Us(30));
  EXPECT_EQ(split.gpu.optimizer, Us(3));
  EXPECT_EQ(split.step.Sum(), Us(100));
}

// A loop without a loader begins its step when the previous update ends.
TEST(Breakdown, WhatLiesBetweenAnUpdateAndTheGradientsResetIsNeither) {
  StoreBuilder b;
  for (int step = 0; step < 3; ++step) {
    b.Annotation("Optimizer.zero_grad#SGD.zero_grad", kMain, 100 * step + 80, 5);
    b.Op("aten::mm", kMain, 100 * step + 85, 5);
    b.Annotation("Optimizer.step#SGD.step", kMain, 100 * step + 90, 10);
  }
  const StepBreakdown split = Split(b, UsSpan(100, 200));
  EXPECT_EQ(split.step.optimizer, Us(15));
  EXPECT_EQ(split.step.forward, Us(5));
  EXPECT_EQ(split.step.other, Us(80));
}

TEST(Breakdown, ComputeHidesCommunicationHidesCopiesFromTheHostHideOtherCopies) {
  StoreBuilder b;
  b.Copy(CopyKind::kDeviceToHost, 1, 0, 100);  // Launch unknown: other.
  b.Copy(CopyKind::kHostToDevice, 2, 10, 70);
  b.Kernel(kAllReduce, 3, 20, 40);
  b.Launch("aten::mm", kMain, 0, kGemm, 4, 30, 10);
  const StepBreakdown split = Split(b, UsSpan(0, 100));
  EXPECT_EQ(split.gpu.forward, Us(10));
  EXPECT_EQ(split.gpu.communication, Us(30));
  EXPECT_EQ(split.gpu.host_to_device, Us(30));
  EXPECT_EQ(split.gpu.other, Us(30));
}

TEST(Breakdown, OfSeveralComputeKernelsTheFirstTakesTheTime) {
  StoreBuilder b;
  b.Launch("aten::mm", kMain, 0, kGemm, kStream, 10, 50);
  b.Launch("autograd::engine::evaluate_function: MmBackward0", kAutograd, 5, kGemm, kSideStream, 20,
           60);
  const StepBreakdown split = Split(b, UsSpan(10, 80));
  EXPECT_EQ(split.step.forward, Us(50));
  EXPECT_EQ(split.step.backward, Us(20));
}

TEST(Breakdown, GivesIdleToWhatTheHostDoes) {
  StoreBuilder b;
  b.Annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", kMain, 0, 30);
  b.Op("aten::mm", kMain, 30, 10);
  b.Op("aten::mm", kMain, 50, 10);  // Between two operators of forward the host is also in forward.
  b.Op("autograd::engine::evaluate_function: MmBackward0", kAutograd, 70, 20);
  b.Annotation("Callback.on_train_batch_end", kMain, 90, 5);
  b.Annotation("Optimizer.step#SGD.step", kMain, 95, 5);
  const StepBreakdown split = Split(b, UsSpan(0, 100));
  EXPECT_EQ(split.step.data_wait, Us(30));
  EXPECT_EQ(split.step.forward, Us(30));
  EXPECT_EQ(split.step.other, Us(10)) << "between forward and backward";
  EXPECT_EQ(split.step.backward, Us(20));
  EXPECT_EQ(split.step.callback, Us(5));
  EXPECT_EQ(split.step.optimizer, Us(5));
  EXPECT_EQ(split.gpu.Sum(), Us(0));
}

TEST(Breakdown, DoesNotGiveForwardToTheBackwardOfTwoStepsAroundIt) {
  StoreBuilder b;
  for (int i = 0; i < 2; ++i) {
    b.Op("aten::mm", kMain, i * 100, 40);
    b.Op("autograd::engine::evaluate_function: MmBackward0", kAutograd, i * 100 + 50, 50);
  }
  const StepBreakdown split = Split(b, UsSpan(100, 200));
  EXPECT_EQ(split.step.forward, Us(40));
  EXPECT_EQ(split.step.backward, Us(50));
}

TEST(Breakdown, SeesOnlyWorkOfTheProcess) {
  StoreBuilder b;
  b.InProcess("1").Launch("aten::mm", kMain, 0, kGemm, kStream, 10, 10);
  b.InProcess("2").Launch("autograd::engine::evaluate_function: MmBackward0", kMain, 0, kGemm,
                          kStream, 20, 60);
  TestTrace trace(b);
  const HostActivity host =
      FindHostActivity(*trace.store, trace.names, trace.attribution, ProcessId(0u), UsSpan(0, 100));
  const StepBreakdown split = BreakDown(*trace.store, trace.names, trace.attribution, host,
                                        ProcessId(0u), std::vector<Interval>{UsSpan(0, 100)})[0];
  EXPECT_EQ(split.gpu.forward, Us(10));
  EXPECT_EQ(split.gpu.Sum(), Us(10));
  EXPECT_EQ(split.step.backward, Us(0));
}

TEST(Breakdown, AnExchangeOfAnotherThreadIsWhatNoOperatorHides) {
  StoreBuilder b;
  b.Op("aten::mm", kMain, 0, 40);
  b.Annotation("DistributedDataParallel.forward", kMain, 0, 90);
  b.Annotation("gloo:all_reduce", kOtherThread, 10, 70);
  b.Op("aten::mm", kMain, 80, 20);
  const StepBreakdown split = Split(b, UsSpan(0, 100));
  EXPECT_EQ(split.step.communication, Us(40));
  EXPECT_EQ(split.step.forward, Us(60));
}

TEST(Breakdown, OfASpanWithoutLengthIsNothing) {
  StoreBuilder b;
  b.Launch("aten::mm", kMain, 0, kGemm, kStream, 0, 10);
  EXPECT_EQ(Split(b, UsSpan(5, 5)).step.Sum(), Us(0));
}

// Slow reference implementation: evaluates the table in docs/report.md at each nanosecond.

constexpr int kUniverse = 60;

struct HostPiece {
  int thread, start, length;
  int phase;  ///< Position in kPhaseNames, which is in order of priority.
};

struct Task {
  int stream, start, length;
  int kind;    ///< 0 compute, 1 communication, 2 copy from the host, 3 other copy.
  int launch;  ///< Position in the host pieces; -1 for an orphan.
};

constexpr const char* kPhaseNames[] = {"enumerate(DataLoader)#next",
                                       "Callback.on_train_batch_end",
                                       "to_device",
                                       "COMM",
                                       "Optimizer.step#SGD.step",
                                       "autograd::engine::evaluate_function: MmBackward0",
                                       "aten::mm"};
constexpr DurationNs BreakdownParts::*kPhaseParts[] = {
    &BreakdownParts::data_wait,     &BreakdownParts::callback,  &BreakdownParts::host_to_device,
    &BreakdownParts::communication, &BreakdownParts::optimizer, &BreakdownParts::backward,
    &BreakdownParts::forward};
constexpr int kNoPhase = 7;
constexpr int kFirstOperator = 5;  ///< Phases before this are ranges.
/// Returns true if the bounds of the phase's ranges are exact.
bool IsMarked(int phase) { return phase < kFirstOperator; }

/// Generates host pieces on two threads. Pieces of one thread do not overlap.
std::vector<HostPiece> AnyHost() {
  std::vector<HostPiece> pieces;
  for (int thread = 0; thread < 2; ++thread) {
    int at = *rc::gen::inRange(0, 12);
    while (at < kUniverse + 10) {
      const int length = *rc::gen::inRange(0, 12);
      pieces.push_back({thread, at, length, *rc::gen::inRange(0, kNoPhase)});
      at += length + *rc::gen::inRange(1, 12);
    }
  }
  return pieces;
}

std::vector<Task> AnyTasks(std::size_t host_pieces) {
  const auto task = rc::gen::apply(
      [](int stream, int start, int length, int kind, int launch) {
        return Task{stream, start, length, kind, launch};
      },
      rc::gen::inRange(0, 3), rc::gen::inRange(0, kUniverse), rc::gen::inRange(0, 15),
      rc::gen::inRange(0, 4), rc::gen::inRange(-1, static_cast<int>(host_pieces)));
  return *rc::gen::container<std::vector<Task>>(task);
}

/// Returns the host's phase at each moment from 0 to beyond kUniverse.
std::vector<int> PhasesByMoment(const std::vector<HostPiece>& host) {
  std::vector<int> phase(kUniverse + 200, kNoPhase);
  for (const HostPiece& piece : host) {
    for (int t = piece.start; t < piece.start + piece.length; ++t) {
      phase[static_cast<std::size_t>(t)] =
          std::min(phase[static_cast<std::size_t>(t)], piece.phase);
    }
  }
  std::vector<int> filled = phase;
  for (std::size_t t = 0; t < phase.size(); ++t) {
    if (phase[t] != kNoPhase) continue;
    std::size_t before = t, after = t;
    while (before > 0 && phase[before] == kNoPhase) --before;
    while (after + 1 < phase.size() && phase[after] == kNoPhase) ++after;
    // Two marked ranges have exact bounds.
    bool ends = false, begins = false;
    for (const HostPiece& piece : host) {
      if (!IsMarked(piece.phase) || piece.phase != phase[before] || piece.length == 0) continue;
      ends = ends || piece.start + piece.length == static_cast<int>(before) + 1;
      begins = begins || piece.start == static_cast<int>(after);
    }
    if (phase[before] == phase[after] && !(ends && begins)) filled[t] = phase[before];
  }
  return filled;
}

RC_GTEST_PROP(BreakdownProperty, AgreesWithALookAtEachNanosecond, ()) {
  const std::vector<HostPiece> host = AnyHost();
  const std::vector<Task> tasks = AnyTasks(host.size());
  const int from = *rc::gen::inRange(0, kUniverse);
  const int to = *rc::gen::inRange(from, kUniverse);

  StoreBuilder b;
  b.InNanoseconds();
  for (const HostPiece& piece : host) {
    b.Event(piece.phase < kFirstOperator ? HostEventKind::kAnnotation : HostEventKind::kOperator,
            kPhaseNames[piece.phase], piece.thread, piece.start, piece.length);
  }
  // Each thread has a range of the loop, so neither belongs to the autograd engine.
  for (const int thread : {0, 1}) b.Annotation("Optimizer.zero_grad#", thread, 1'000'000, 1);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const Task& task = tasks[i];
    const auto correlation = static_cast<std::int64_t>(i);
    const bool orphan = task.launch < 0;
    if (!orphan) {
      const HostPiece& piece = host[static_cast<std::size_t>(task.launch)];
      b.Call("cudaLaunchKernel", piece.thread, piece.start, 0, correlation);
    }
    const auto join = orphan ? std::nullopt : std::optional(correlation);
    if (task.kind < 2) {
      b.Kernel(task.kind == 0 ? kGemm : kAllReduce, task.stream, task.start, task.length, join);
    } else {
      b.Copy(task.kind == 2 ? CopyKind::kHostToDevice : CopyKind::kDeviceToHost, task.stream,
             task.start, task.length, join);
    }
  }

  // A launch at the start of an empty piece is in no piece. Its phase comes from the program's
  // attribution, which has separate tests.
  TestTrace trace(b);
  const auto part_of = [&](std::size_t task_in_store) {
    switch (trace.attribution.Of(GpuTaskId(task_in_store)).phase) {
      case Phase::kForward:
        return &BreakdownParts::forward;
      case Phase::kBackward:
        return &BreakdownParts::backward;
      case Phase::kOptimizer:
        return &BreakdownParts::optimizer;
      default:
        return &BreakdownParts::other;
    }
  };
  const auto& rows = trace.store->gpu_tasks;
  const std::vector<int> phases = PhasesByMoment(host);
  BreakdownParts step, gpu;
  for (std::int64_t t = from; t < to; ++t) {
    int best_kind = 4;
    DurationNs BreakdownParts::*part = nullptr;
    for (std::size_t i = 0; i < rows.rows(); ++i) {  // In order of start.
      const std::int64_t start = rows.start[i].ns();
      if (t < start || t >= start + rows.duration[i].ns()) continue;
      const int kind = rows.copy[i] == CopyKind::kHostToDevice         ? 2
                       : rows.kind[i] != GpuTaskKind::kKernel          ? 3
                       : trace.store->Text(rows.name[i]) == kAllReduce ? 1
                                                                       : 0;
      if (kind >= best_kind) continue;
      best_kind = kind;
      part = kind == 1   ? &BreakdownParts::communication
             : kind == 2 ? &BreakdownParts::host_to_device
                         : part_of(i);
    }
    if (part != nullptr) {
      gpu.*part += DurationNs(1);
    } else {
      const int phase = phases[static_cast<std::size_t>(t)];
      part = phase == kNoPhase ? &BreakdownParts::other : kPhaseParts[phase];
    }
    step.*part += DurationNs(1);
  }

  const Interval span = {TimeNs(from), TimeNs(to)};
  const HostActivity activity =
      FindHostActivity(*trace.store, trace.names, trace.attribution, ProcessId(), span);
  const StepBreakdown split = BreakDown(*trace.store, trace.names, trace.attribution, activity,
                                        ProcessId(), std::vector<Interval>{span})[0];
  for (const BreakdownPart& part : kBreakdownParts) {
    RC_LOG() << part.name << "\n";
    RC_ASSERT((split.step.*part.time).ns() == (step.*part.time).ns());
    RC_ASSERT((split.gpu.*part.time).ns() == (gpu.*part.time).ns());
    RC_ASSERT((split.gpu.*part.time).ns() <= (split.step.*part.time).ns());
  }
  RC_ASSERT(split.step.Sum().ns() == split.wall.ns());
  RC_ASSERT(split.wall.ns() == span.length().ns());
}

}  // namespace breakdown_test
}  // namespace headroom
