#include "analysis/loop/callbacks.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "analysis/test_trace.h"

namespace headroom {
namespace callbacks_test {

struct NameCase {
  const char* name;
  CallbackName read;
};

const NameCase kNames[] = {
    {"callbacks.ModelCheckpoint.on_train_epoch_end", {"ModelCheckpoint", "on_train_epoch_end"}},
    {"callbacks.my.module.Logger.on_end", {"my.module.Logger", "on_end"}},
    {"[Callback]TorchMetricsCallback.on_validation_end",
     {"TorchMetricsCallback", "on_validation_end"}},
    {"[pl][profile][Callback]TQDMProgressBar.on_train_batch_end",
     {"TQDMProgressBar", "on_train_batch_end"}},
    {"[Callback]ModelCheckpoint{'monitor': 'val.loss', 'mode': 'min'}.on_train_end",
     {"ModelCheckpoint{'monitor': 'val.loss', 'mode': 'min'}", "on_train_end"}},
    {"Callback.on_train_batch_end", {"Callback", "on_train_batch_end"}},
    {"[pl][profile]run_training_batch_callback", {"run_training_batch_callback", ""}},
    {"callbacks", {"callbacks", ""}},
    {"callbacks.", {"callbacks.", ""}},
    {"[Callback]", {"[Callback]", ""}},
    {"[callback", {"[callback", ""}},
    {".on_callback", {".on_callback", ""}},
    {"my callback. It saves", {"my callback. It saves", ""}},
};

TEST(ReadCallbackName, Forms) {
  for (const NameCase& c : kNames) EXPECT_EQ(ReadCallbackName(c.name), c.read) << c.name;
}

/// Builds steps of 1000 us on the host.
StoreBuilder Steps(int count) {
  StoreBuilder b;
  for (int i = 0; i < count; ++i) b.Step(i, kMain, i * 1000, 1000);
  return b;
}

TEST(CallbackTable, EachCallbackOnEachEvent) {
  StoreBuilder b = Steps(2);
  for (int i = 0; i < 2; ++i) {
    b.Region("callbacks.Logger.on_batch_end", kMain, i * 1000 + 500, 200);
    b.Region("callbacks.Saver.on_batch_end", kMain, i * 1000 + 800, 50);
  }
  b.Region("callbacks.Saver.on_epoch_end", kMain, 2500, 900);  // After the steps.
  const TraceReport report = AnalyzeTrace(b);
  ASSERT_EQ(report.callbacks.size(), 3u);
  const CallbackRow& saver = report.callbacks[0];
  EXPECT_EQ(saver.callback, "Saver");
  EXPECT_EQ(saver.event, "on_epoch_end");
  EXPECT_EQ(saver.total, Us(900));
  EXPECT_EQ(saver.share_pct, 0) << "outside of the steps";
  EXPECT_EQ(report.callbacks[1].callback, "Logger");
  EXPECT_EQ(report.callbacks[1].count, 2);
  EXPECT_EQ(report.callbacks[1].share_pct, 20);
  EXPECT_EQ(report.callbacks[2].share_pct, 5);
}

TEST(CallbackTable, ACallbackThatCallsOthersIsNotTheMostExpensive) {
  StoreBuilder b = Steps(1);
  b.Region("callbacks.CallbackList.on_batch_end", kMain, 100, 500);
  b.Op("aten::mean", kMain, 105, 10);
  b.Region("callbacks.Logger.on_batch_end", kMain, 120, 300);
  b.Region("callbacks.Saver.on_batch_end", kMain, 430, 150);
  b.Region("callbacks.Saver.on_batch_end", kMain, 440, 100);  // Calls itself: counts once.
  const std::vector<CallbackRow> rows = AnalyzeTrace(b).callbacks;
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].callback, "CallbackList");
  EXPECT_EQ(rows[0].self, Us(50));
  EXPECT_EQ(rows[2].callback, "Saver");
  EXPECT_EQ(rows[2].count, 2);
  EXPECT_EQ(rows[2].total, Us(150));
  ASSERT_NE(MostExpensiveCallback(rows), nullptr);
  EXPECT_EQ(MostExpensiveCallback(rows)->callback, "Logger");
  EXPECT_EQ(MostExpensiveCallback({}), nullptr);
}

TEST(CallbackTable, WithoutStepsThereIsNoShare) {
  StoreBuilder b;
  b.Region("callbacks.Logger.on_batch_end", kMain, 0, 10);
  const std::vector<CallbackRow> rows = AnalyzeTrace(b).callbacks;
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].share_pct, std::nullopt);
}

}  // namespace callbacks_test
}  // namespace headroom
