#include "capture/activity_decoder.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace headroom::activity {
namespace activity_decoder_test {

/// Writes one line per event.
class Lines : public Sink {
 public:
  void OnGpuTask(const GpuTask& task) override {
    Add("task " + std::string(task.name) + " " + std::string(task.copy) + At(task.start, task.end));
  }
  void OnApiCall(const ApiCall& call) override {
    Add((call.driver ? "driver " : "runtime ") + std::string(call.name) + At(call.start, call.end));
  }
  void OnOverhead(const Overhead& o) override { Add("overhead" + At(o.start, o.end)); }
  void OnSync(const Sync& sync) override { Add("sync" + At(sync.start, sync.end)); }
  void OnRange(const Range& range) override {
    Add("range " + std::string(range.name) + At(range.start, range.end) +
        (range.open ? " open" : ""));
  }
  void OnNaming(const Naming& naming) override { Add("naming " + std::string(naming.name)); }
  void OnExternalId(const ExternalId& id) override { Add("external " + std::to_string(id.id)); }
  void OnMessage(const Message& message) override {
    Add("message " + std::string(message.what) + " " + std::to_string(message.value) + " " +
        std::string(message.text));
  }
  std::vector<std::string> lines;

 private:
  static std::string At(std::uint64_t start, std::uint64_t end) {
    return " " + std::to_string(start) + ".." + std::to_string(end);
  }
  void Add(std::string line) { lines.push_back(std::move(line)); }
};

std::string_view NameOf(std::uint32_t name) {
  static const std::string_view kNames[] = {"",     "_Z3addi", "cudaLaunchKernel",
                                            "conv", "Memcpy",  "cupti_untimed_records"};
  return name < std::size(kNames) ? kNames[name] : std::string_view();
}

/// Builds the records of a ring.
class Records {
 public:
  template <typename... Payloads>
  Records& Add(Kind kind, std::uint64_t ticks, std::uint32_t name, const Payloads&... payloads) {
    const std::uint32_t count = (0 + ... + kRecords<Payloads>);
    all.push_back({ticks, name, static_cast<std::uint32_t>(kind) | count << 8});
    (Append(payloads), ...);
    return *this;
  }
  std::vector<headroom_record> all;

 private:
  template <typename Payload>
  void Append(const Payload& payload) {
    const std::size_t at = all.size();
    all.resize(at + kRecords<Payload>);
    std::memcpy(all.data() + at, &payload, sizeof payload);
  }
};

GpuTaskPayload Task(std::uint64_t end, Work work, std::uint8_t copy = 0) {
  GpuTaskPayload payload{};
  payload.end = end;
  payload.work = work;
  payload.copy = copy;
  return payload;
}

Records Sample() {
  Records records;
  records.Add(Kind::kRuntimeCall, 10, 2, CallPayload{.end = 20, .tid = 1, .correlation = 5})
      .Add(Kind::kGpuTask, 30, 1, Task(40, Work::kKernel), KernelPayload{})
      .Add(Kind::kGpuTask, 41, 4, Task(42, Work::kMemcpy, 8))
      .Add(Kind::kMarker, 60, 0,
           MarkerPayload{.id = 1, .phase = Phase::kEnd, .tid = 1, .domain = 0})
      .Add(Kind::kMarker, 50, 3,
           MarkerPayload{.id = 1, .phase = Phase::kBegin, .tid = 1, .domain = 0})
      .Add(Kind::kMarker, 70, 3,
           MarkerPayload{.id = 2, .phase = Phase::kBegin, .tid = 1, .domain = 0})
      .Add(Kind::kMarker, 71, 0,
           MarkerPayload{.id = 9, .phase = Phase::kEnd, .tid = 1, .domain = 0})
      .Add(Kind::kMessage, 80, 5,
           MessagePayload{.value = 3, .text = 3, .severity = Severity::kWarning});
  return records;
}

const std::vector<std::string> kSampleLines = {"runtime cudaLaunchKernel 10..20",
                                               "task add(int)  30..40",
                                               "task Memcpy DtoD 41..42",
                                               "range conv 50..60",
                                               "message cupti_untimed_records 3 conv",
                                               "range conv 70..70 open"};

TEST(ActivityDecoder, ReadsEventsAndJoinsTheHalvesOfARangeInAnyOrder) {
  Lines lines;
  Decoder decoder(&NameOf);
  const Records records = Sample();
  decoder.Decode(records.all, lines);
  decoder.Finish(lines);
  EXPECT_EQ(lines.lines, kSampleLines);
  EXPECT_EQ(decoder.events(), 8);
  EXPECT_EQ(decoder.unknown(), 0);
}

RC_GTEST_PROP(ActivityDecoder, PiecesOfAnySizeGiveTheSame, ()) {
  const Records records = Sample();
  const std::span<const headroom_record> all = records.all;
  Lines lines;
  Decoder decoder(&NameOf);
  for (std::size_t at = 0; at < all.size();) {
    const auto count = *rc::gen::inRange<std::size_t>(1, 6);
    const auto piece = all.subspan(at, std::min(count, all.size() - at));
    decoder.Decode(piece, lines);
    at += piece.size();
  }
  decoder.Finish(lines);
  RC_ASSERT(lines.lines == kSampleLines);
}

RC_GTEST_PROP(ActivityDecoder, AnythingCanStandInTheRing, (std::vector<std::uint32_t> noise)) {
  Records records = Sample();
  for (std::size_t i = 0; i + 3 < noise.size(); i += 4) {
    const std::size_t at = noise[i] % records.all.size();
    // Half of the records look like the start of an event.
    const std::uint32_t info =
        noise[i] % 2 == 0 ? 64 + noise[i + 3] % 12 + (noise[i + 2] % 8 << 8) : noise[i + 3];
    records.all[at] = {noise[i + 1], noise[i + 2] % 8, info};
  }
  Lines lines;
  Decoder decoder(&NameOf);
  decoder.Decode(records.all, lines);
  decoder.Finish(lines);
}

// The C++ library does not demangle names of more than 1,024 characters. Names of CUTLASS kernels
// have thousands.
TEST(Demangle, NamesALongKernelByItsFront) {
  std::string arguments = "I";
  for (int i = 0; i < 300; ++i) arguments += "Li1E";
  arguments += "E";
  EXPECT_EQ(Demangle("_ZN7cutlass13device_kernel" + arguments + "Evv"),
            "cutlass::device_kernel<" + arguments + "Evv>");
  EXPECT_EQ(Demangle("_ZN12_GLOBAL__N_16kernel" + arguments + "Evv"),
            "(anonymous namespace)::kernel<" + arguments + "Evv>");
  EXPECT_EQ(Demangle("_Z3add" + std::string(1100, 'i')), "add(" + std::string(1100, 'i') + ")");
  const std::string nonsense = "_ZN99999" + std::string(1100, 'x');
  EXPECT_EQ(Demangle(nonsense), nonsense);
  EXPECT_EQ(Demangle("_Z3addi"), "add(int)");
  EXPECT_EQ(Demangle("_Zwhatever"), "_Zwhatever");
  EXPECT_EQ(Demangle("ampere_sgemm_128x64_tn"), "ampere_sgemm_128x64_tn");
}

TEST(ActivityDecoder, WhatALaterVersionWritesIsCountedAndSkipped) {
  Records records;
  records
      .Add(static_cast<Kind>(99), 1, 0, SyncPayload{})  // An unknown kind.
      .Add(Kind::kRuntimeCall, 10, 2, CallPayload{.end = 20, .tid = 1, .correlation = 5},
           CallPayload{})              // A known kind with further records.
      .Add(Kind::kRuntimeCall, 11, 2)  // An incomplete event.
      .Add(Kind::kOverhead, 12, 2, OverheadPayload{.end = 13, .tid = 0, .reserved = 0});
  Lines lines;
  Decoder decoder(&NameOf);
  decoder.Decode(records.all, lines);
  EXPECT_EQ(lines.lines,
            (std::vector<std::string>{"runtime cudaLaunchKernel 10..20", "overhead 12..13"}));
  EXPECT_EQ(decoder.unknown(), 2);
}

}  // namespace activity_decoder_test
}  // namespace headroom::activity
