// Writes a small recording to standard output: two steps of a loop on one GPU.
//
//   write_recording [killed]    killed: as if the program had died within the second step
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "capture/trace_encoder.h"

namespace headroom {
namespace {

constexpr std::int64_t kMs = 1'000'000;

/// Returns a time `ms` milliseconds after a start that is late enough for timestamps of normal
/// length.
TimeNs At(std::int64_t ms) { return TimeNs(300'000'000 * kMs + ms * kMs); }

std::string Record(bool killed) {
  TraceEncoder encoder;
  encoder.ClockSnapshot(At(0), At(1), TimeNs(1'790'000'000'000 * kMs));
  const auto process = encoder.ProcessTrack(4242, "python train.py");
  const auto loop = encoder.ThreadTrack(4242, 4242, "main");
  const auto overlapping = encoder.ChildTrack(loop, "overlapping");
  const auto gpu = encoder.ChildTrack(0, "GPU 0");
  const auto used = encoder.CounterTrack(gpu, "gpu_utilization", "%");
  const auto on_gpu = encoder.ChildTrack(process, "GPU 0 stream 7 regions");
  const auto region = encoder.Category("region");
  const auto span = [&](TraceEncoder::Track track, std::int64_t from, std::int64_t to,
                        std::string_view name) {
    encoder.Begin(track, At(from), encoder.Intern(name), region);
    encoder.End(track, At(to));
  };
  for (std::int64_t step = 0; step < 2; ++step) {
    const std::int64_t t = 10 + 100 * step;
    const TraceArg number[] = {{"step", step}};
    encoder.Begin(loop, At(t), encoder.Intern("step"), encoder.Category("step"), number);
    span(loop, t, t + 20, "dataloader_next");
    encoder.Begin(loop, At(t + 20), encoder.Intern("FORWARD"), region);
    const TraceArg launch[] = {{"correlation", step + 1}};
    encoder.Begin(loop, At(t + 30), encoder.Intern("cudaLaunchKernel"),
                  encoder.Category("cuda_runtime"), launch);
    encoder.End(loop, At(t + 31));
    if (killed && step == 1) break;
    encoder.End(loop, At(t + 40));
    span(overlapping, t + 35, t + 60, "prefetch");
    const TraceArg task[] = {{"correlation", step + 1},
                             {"grid", std::string_view("132,1,1")},
                             {"block", std::string_view("256,1,1")}};
    encoder.GpuTask({.device = 0,
                     .stream = 7,
                     .name = "gemm",
                     .start = At(t + 40),
                     .duration = DurationNs(30 * kMs),
                     .args = task});
    encoder.Begin(on_gpu, At(t + 40), encoder.Intern("FORWARD"), encoder.Category("gpu_region"));
    encoder.End(on_gpu, At(t + 70));
    span(loop, t + 60, t + 100, "callbacks.Checkpoint.on_step_end");
    encoder.End(loop, At(t + 100));
    encoder.Counter(used, At(t + 100), 30);
  }
  const TraceArg dropped[] = {{"dropped", std::int64_t{0}}, {"cost_ns", 12.5}};
  encoder.Instant(loop, At(killed ? 150 : 210), encoder.Intern("recording"),
                  encoder.Category("headroom"), dropped);
  return encoder.Take();
}

}  // namespace
}  // namespace headroom

int main(int argc, char** argv) {
  const bool killed = argc > 1 && std::string_view(argv[1]) == "killed";
  const std::string trace = headroom::Record(killed);
  return std::fwrite(trace.data(), 1, trace.size(), stdout) == trace.size() ? 0 : 1;
}
