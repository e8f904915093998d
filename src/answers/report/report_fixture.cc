#include "answers/report/report_fixture.h"

namespace headroom {
namespace {

constexpr DurationNs Us(std::int64_t us) { return DurationNs(us * 1000); }

TimeRow Row(std::string name, std::int64_t count, DurationNs total, double share_pct) {
  TimeRow row;
  row.name = std::move(name);
  row.count = count;
  row.total = total;
  row.p50 = DurationNs(total.ns() / count);
  row.min = DurationNs(total.ns() / count / 2);
  row.max = DurationNs(total.ns() / count * 2);
  row.share_pct = share_pct;
  return row;
}

}  // namespace

TraceReport DemoReport() {
  TraceReport report;
  report.input = {.path = "traces/gpt2_bs-1.json.gz",
                  .format = "pytorch-profiler-json",
                  .recorded_as = "pytorch-profiler-json",
                  .bytes = 1'015'680,
                  .events = 73'412,
                  .rank = std::nullopt,
                  .world_size = std::nullopt,
                  .devices = {{.id = 0,
                               .name = "NVIDIA H200",
                               .memory_bytes = 150'109'880'320,
                               .sms = 132,
                               .compute_capability = "9.0",
                               .model = "NVIDIA H200",
                               .vendor = "NVIDIA",
                               .architecture = ""}}};
  report.health.grade = 'B';
  report.health.issues = {
      {.issue = ImportIssue::kOrphanTask,
       .count = 12,
       .detail = "GPU tasks have no recorded launch; they count as GPU work, but their operator is "
                 "unknown. First at 0.120 ms. Record CPU activity too (ProfilerActivity.CPU), and "
                 "start before the step.",
       .voids = {"operator and layer of those tasks"}},
      {.issue = ImportIssue::kNoStacks,
       .count = 1,
       .detail = "Python frames were not recorded; with_stack=True records them.",
       .voids = {"time per source line"}}};
  report.trace_start = TimeNs(5'000'000);

  report.steps.source = StepSource::kAnnotation;
  report.steps.marker = "ProfilerStep#";
  report.steps.tasks_before_first = 37;
  for (std::int64_t i = 0; i < 3; ++i) {
    const DurationNs wall = Us(73'500 + 400 * ((i + 1) % 3));
    report.steps.list.push_back({.index = 2 + i,
                                 .tokens = std::nullopt,
                                 .since_previous = {},
                                 .start = TimeNs(5'000'000) + Us(1'000 + 74'000 * i),
                                 .wall = wall,
                                 .gpu_busy = Us(29'404),
                                 .host = wall - Us(210),
                                 .on_host = {},
                                 .loading = {},
                                 .profiler_cost = Us(21'000),
                                 .host_wait = Us(42'900),
                                 .queue_depth_mean = 1.3,
                                 .queue_depth_max = 17});
  }
  report.steps.p50 = Us(73'900);
  report.steps.step_time = Us(73'900);
  report.steps.mean = Us(73'900);
  report.steps.min = Us(73'500);
  report.steps.max = Us(74'300);

  report.gpu_time = {{.device = 0,
                      .span = Us(221'700),
                      .busy = Us(88'213),
                      .compute = Us(80'112),
                      .communication = Us(9'000),
                      .memory = Us(1'500),
                      .exposed_communication = Us(7'500),
                      .exposed_memory = Us(601),
                      .idle = Us(133'487),
                      .overlap_communication_pct = 16.7}};
  report.idle = {
      {.device = 0,
       .stream = 7,
       .host_wait = Us(128'700),
       .kernel_wait = Us(4'187),
       .other = Us(600)},
      {.device = 0, .stream = 20, .host_wait = Us(0), .kernel_wait = Us(180'000), .other = Us(0)}};
  StepBreakdown breakdown;
  breakdown.step_index = 2;
  breakdown.wall = Us(73'900);
  breakdown.step = {.data_wait = Us(310),
                    .host_to_device = Us(200),
                    .forward = Us(20'100),
                    .backward = Us(25'690),
                    .optimizer = Us(23'900),
                    .communication = Us(2'500),
                    .callback = DurationNs(0),
                    .other = Us(1'200)};
  breakdown.gpu = {.data_wait = DurationNs(0),
                   .host_to_device = Us(200),
                   .forward = Us(8'004),
                   .backward = Us(15'100),
                   .optimizer = Us(3'400),
                   .communication = Us(2'500),
                   .callback = DurationNs(0),
                   .other = Us(200)};
  report.breakdown = breakdown;
  report.ceiling = breakdown.gpu.Sum();
  report.causes = {{.name = "gpu", .time = Us(26'704), .share_pct = 36.1},
                   {.name = "host", .time = Us(41'300), .share_pct = 55.9},
                   {.name = "input", .time = Us(510), .share_pct = 0.7},
                   {.name = "communication", .time = Us(2'500), .share_pct = 3.4},
                   {.name = "callback", .time = Us(0), .share_pct = 0},
                   {.name = "synchronization", .time = Us(2'310), .share_pct = 3.1},
                   {.name = "device_to_host", .time = Us(0), .share_pct = 0},
                   {.name = "queue", .time = Us(576), .share_pct = 0.8}};
  report.bottleneck = {
      .verdict = Verdict::kHost,
      .share_pct = 58.1,
      .confidence = "high",
      .confidence_reason = "",
      .balance = "",
      .of = "the mean step",
      .evidence = {
          "The GPU is idle for 44.5 ms of the mean step, and 42.9 ms of that ends with a "
          "kernel that was launched too late.",
          "The launch queue holds 1.3 tasks on average: the host barely keeps ahead.",
          "Rival explanation: the profiler slows the host; the step without it may be shorter."}};
  report.findings = {
      {.id = "launch-bound-optimizer",
       .title =
           "The optimizer launches 1,194 small kernels per step; the GPU waits 20.5 ms for them",
       .share_pct = 27.7,
       .evidence =
           {"The optimizer takes 23.9 ms of the step, and the GPU works for 3.40 ms of that.",
            "Its kernels take 2.85 us each on average."},
       .action = "Use the fused implementation: torch.optim.AdamW(..., fused=True).",
       .check_section = "breakdown",
       .figure = "23.9 ms",
       .remedy = Remedy::kOptimizer,
       .saves_ms = MsInterval{11.5, 13.25, 15},
       .saves_note = "forecast of fused-optimizer",
       .scenario = "fused-optimizer"},
      {.id = "no-tensor-cores",
       .title =
           "Matrix products run without tensor cores: 71.2 % of GPU time could use them, 0 % does",
       .share_pct = std::nullopt,
       .evidence = {"All products are float32 and TF32 is off."},
       .action = "Allow TF32: torch.set_float32_matmul_precision('high'); or train in bf16 with "
                 "torch.autocast.",
       .check_section = "efficiency",
       .figure = "71.2 %",
       .remedy = Remedy::kTensorCores,
       .saves_ms = std::nullopt,
       .saves_note = "unknown: this finding does not occur in the replayed steps",
       .scenario = ""}};
  EngineSummary& engine = report.engine.emplace();
  engine.first_step = 2;
  engine.last_step = 3;
  engine.steps = 2;
  engine.events = 24'680;
  engine.calibration = "shipped default, measured on one H200 machine";
  engine.corrected_step_ms = MsInterval{50, 52.5, 55};
  report.steps.corrected_p50 = Us(52'500);
  report.steps.profiler_overhead_pct = 28.96;

  report.kernels = {
      Row("sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_warpsize2x2x1_ffma_"
          "aligna4_alignc4_execute_kernel__5x_cublas",
          441, Us(40'123), 45.5),
      Row("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
          "std::array<char*, 3ul> >(int, "
          "at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)",
          1'338, Us(12'004), 13.6),
      Row("void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float, "
          "false>(int, float, float const*)",
          75, Us(3'321), 3.8),
      Row("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 12,
          Us(9'000), 10.2),
      Row("Memcpy HtoD (Pinned -> Device)", 6, DurationNs(11'389), 0.0129)};
  const char* const kinds[] = {"matmul", "elementwise", "normalization", "communication", "copy"};
  const char* const cores[] = {"no", "no", "no", "unknown", "no"};
  for (std::size_t i = 0; i < report.kernels.size(); ++i) {
    report.kernels[i].kind = kinds[i];
    report.kernels[i].tensor_cores = cores[i];
  }
  report.kernels[0].flops = 1.25e12;
  report.kernels[0].bytes = 3.1e9;

  report.operators = {
      Row("aten::addmm", 219, Us(25'114), 28.5), Row("aten::mm", 438, Us(15'009), 17),
      Row("autograd::engine::evaluate_function: NativeLayerNormBackward0", 75, Us(2'512), 2.8)};
  for (TimeRow& row : report.operators) {
    row.host = Us(9'000);
    row.self_host = Us(4'100);
    row.forward = DurationNs(row.total.ns() / 3);
    row.backward = row.total - *row.forward;
  }
  report.operators[0].flops = 1.1e12;
  report.operators[0].bytes = 2.2e9;
  report.operators[0].bound = "compute";
  report.operators[0].roofline_pct = 63.4;
  report.operators[0].kind = "matmul";
  report.layers = {Row("transformer.h.0.mlp.c_fc", 3, Us(1'900), 2.2),
                   Row("transformer.h.0.attn", 3, Us(1'400), 1.6)};
  for (TimeRow& row : report.layers) {
    row.forward = DurationNs(row.total.ns() / 3);
    row.backward = row.total - *row.forward;
  }
  report.classes = {{.name = "matmul",
                     .family = WorkFamily::kMatmul,
                     .count = 441,
                     .total = Us(40'123),
                     .share_pct = 45.5},
                    {.name = "elementwise",
                     .family = WorkFamily::kElementwise,
                     .count = 4'310,
                     .total = Us(31'002),
                     .share_pct = 35.1},
                    {.name = "communication",
                     .family = WorkFamily::kCommunication,
                     .count = 12,
                     .total = Us(9'000),
                     .share_pct = 10.2},
                    {.name = "unclassified",
                     .family = WorkFamily::kUnclassified,
                     .count = 9,
                     .total = Us(1'050),
                     .share_pct = 1.2}};
  report.stacks = {{.stack = "train.py(184): <module>;site-packages/torch/optim/sgd.py: SGD.step",
                    .part = "optimizer",
                    .samples = 25,
                    .total = DurationNs(1'000'000'000),
                    .share_pct = 100}};
  report.lines = {{.location = "train.py(184): <module>",
                   .count = 3,
                   .total = Us(60'000),
                   .forward = Us(20'000),
                   .backward = Us(40'000),
                   .share_pct = 68}};
  report.syncs = {{.name = "cudaStreamSynchronize",
                   .where = "aten::item",
                   .count = 3,
                   .host = Us(12'000),
                   .gpu_idle = Us(2'310),
                   .in_median_step = Us(770),
                   .in_mean_step = Us(770)},
                  {.name = "cudaMemcpyAsync",
                   .where = "",
                   .count = 3,
                   .host = Us(200),
                   .gpu_idle = Us(0),
                   .in_median_step = Us(0),
                   .in_mean_step = Us(0)}};
  report.regions = {{.key = "BATCH",
                     .count = 3,
                     .total = Us(221'700),
                     .self = Us(20'700),
                     .min = Us(73'500),
                     .max = Us(74'300),
                     .mean = Us(73'900),
                     .stdev = Us(400),
                     .p50 = Us(73'900),
                     .p99 = Us(74'300),
                     .gpu = Us(88'213)},
                    {.key = "COMM",
                     .count = 3,
                     .total = Us(22'170),
                     .self = Us(22'170),
                     .min = Us(7'000),
                     .max = Us(8'000),
                     .mean = Us(7'390),
                     .stdev = Us(500),
                     .p50 = Us(7'170),
                     .p99 = Us(8'000),
                     .gpu = std::nullopt}};
  report.timings = {{.name = "dataloader_next",
                     .inside = "",
                     .source = "ranges",
                     .count = 3,
                     .total = Us(2'217),
                     .mean = Us(739),
                     .p50 = Us(700),
                     .p99 = Us(817),
                     .share_pct = 1,
                     .gpu = Us(0)},
                    {.name = "train_batch",
                     .inside = "",
                     .source = "its parts",
                     .count = 3,
                     .total = Us(210'615),
                     .mean = Us(70'205),
                     .p50 = Us(70'205),
                     .p99 = Us(70'300),
                     .share_pct = 95,
                     .gpu = Us(88'213)},
                    {.name = "train_batch.backward",
                     .inside = "train_batch",
                     .source = "operators",
                     .count = 3,
                     .total = Us(77'070),
                     .mean = Us(25'690),
                     .p50 = Us(25'690),
                     .p99 = Us(25'700),
                     .share_pct = 34.8,
                     .gpu = Us(45'300)},
                    {.name = "other",
                     .inside = "",
                     .source = "rest",
                     .count = 3,
                     .total = Us(8'868),
                     .mean = Us(2'956),
                     .p50 = Us(2'956),
                     .p99 = Us(3'000),
                     .share_pct = 4,
                     .gpu = Us(0)}};
  report.callbacks = {{.event = "on_train_batch_end",
                       .callback = "ModelCheckpoint",
                       .count = 3,
                       .total = Us(900),
                       .self = Us(900),
                       .in_steps = Us(600),
                       .share_pct = 0.4},
                      {.event = "",
                       .callback = "run_callback",
                       .count = 1,
                       .total = Us(20),
                       .self = Us(20),
                       .in_steps = std::nullopt,
                       .share_pct = std::nullopt}};
  report.memory = {
      {.device = 0,
       .process = {},
       .allocations = 3,
       .frees = 1,
       .turnover_bytes = 3'500'000'000,
       .peak = {.time = TimeNs(2'000'000),
                .allocated_bytes = 3'000'000'000,
                .reserved_bytes = 4'000'000'000,
                .parts = {1'000'000'000, 0, 0, 2'000'000'000, 0, 0, 0}},
       .peak_step = 2,
       .most_reserved_bytes = 4'000'000'000,
       .first_bytes = 1'000'000'000,
       .last_bytes = 1'000'000'000,
       .growth_bytes_per_step = 64'000,
       .parts = {{"activation", 2'000'000'000, 2}, {"before_recording", 1'000'000'000, 0}},
       .holders = {{.operator_name = "aten::mm",
                    .layer = "nn.Module: Linear_0",
                    .line = "model.py(12): forward",
                    .kind = "activation",
                    .bytes = 2'000'000'000,
                    .allocations = 2}},
       .steps = {{2, TimeNs(1'000'000), 3'000'000'000, 1'000'000'000}},
       .curve = {{.time = TimeNs(2'000'000),
                  .allocated_bytes = 3'000'000'000,
                  .reserved_bytes = 4'000'000'000,
                  .parts = {1'000'000'000, 0, 0, 2'000'000'000, 0, 0, 0}}}}};
  report.metrics = {{.name = "cpu_util_simple",
                     .unit = "%",
                     .host = "node7",
                     .instance = "",
                     .gpu = std::nullopt,
                     .mean = 61.5,
                     .min = 2,
                     .max = 99.25,
                     .last = 60,
                     .samples = 30},
                    {.name = "gpu_power",
                     .unit = "",
                     .host = "",
                     .instance = "GPU 0",
                     .gpu = 0,
                     .mean = 431.25,
                     .min = 80,
                     .max = 690,
                     .last = 430,
                     .samples = 29}};
  report.machine_notes = {
      {MachineNote::About::kGpu,
       "GPU 0 was slowed down: gpu_throttle_sw_power_cap was 12.0 % on average"}};
  report.loop = LoopHost{.step = Us(73'690), .data_wait = Us(739), .callback = Us(300)};
  report.input_wait = InputWait{
      .host = Us(739), .exposed = Us(310), .hidden = Us(429), .batches = 3, .source = "gpu-tasks"};
  report.throughput = Throughput{.samples_per_s = 108.25, .batch_size = 8, .source = "shapes"};
  report.efficiency = {.device_name = "NVIDIA H200",
                       .peaks = {{.dtype = "fp32", .tflops = 66.9}},
                       .memory_bandwidth_gbs = 4800,
                       .flops_per_step = 4.17e11,
                       .math_dtype = "float32",
                       .peak_tflops = 66.9,
                       .mfu_pct = 8.4,
                       .mfu_formula = "(0.417 TFLOP float32 / 66.9 TFLOP/s) / (0.0739 s mean step)",
                       .error = "",
                       .mfu_coverage_pct = 97.5,
                       .costed_pct = 93.1,
                       .impossible_pct = 0,
                       .compute_bound_pct = 61,
                       .memory_bound_pct = 32.1,
                       .tensor_core_eligible_pct = 71.2,
                       .tensor_core_used_pct = 0,
                       .tensor_core_unknown_pct = 0,
                       .unclassified_pct = 1.2,
                       .units = {}};
  return report;
}

TraceReport BareReport() {
  TraceReport report;
  report.input.path = "host only.json";
  report.input.format = report.input.recorded_as = "pytorch-profiler-json";
  report.input.bytes = 900;
  report.input.events = 2;
  report.health.grade = 'E';
  report.health.issues = {{.issue = ImportIssue::kNoGpu,
                           .count = 1,
                           .detail = "No GPU work was recorded; ProfilerActivity.CUDA records it.",
                           .voids = {"gpu_time", "idle", "kernels"}}};
  TimeRow row;
  row.name = "aten::mm";
  row.count = 2;
  row.host = DurationNs(1'500);
  row.self_host = DurationNs(1);
  report.operators = {row};
  return report;
}

JobRanks SlowRankOne() {
  JobRanks job;
  job.ranks.resize(2);
  job.ranks[0].rank = 0;
  job.ranks[1].rank = 1;
  job.ranks[0].host = "node1";
  job.ranks[1].host = "node2";
  job.alignment.clocks.resize(2);
  for (RankClock& clock : job.alignment.clocks) clock.aligned = true;
  job.alignment.clocks[1].offset_ns = 7'200'000'000'000;
  job.alignment.unmatched = 4;
  job.waits.ranks = {
      {.waited = DurationNs(30'000'000), .caused = DurationNs(0), .last = 0, .culprit = 0},
      {.waited = DurationNs(0), .caused = DurationNs(30'000'000), .last = 3, .culprit = 2}};
  job.waits.pairs = {{.waiting = 0, .last = 1, .waited = DurationNs(30'000'000), .collectives = 3}};
  job.waits.steps_of_ranks = {
      {.rank = 0, .step = 7, .waited = DurationNs(30'000'000), .caused = DurationNs(0)}};
  for (RankTimeline& rank : job.ranks)
    rank.steps = {{.number = 7, .start = {}, .wall = DurationNs(120'000'000)}};
  job.waits.classes = {{.group = "world",
                        .kind = "allreduce",
                        .bytes = 1e6,
                        .count = 3,
                        .ranks = 2,
                        .members = 8,
                        .wait = DurationNs(10'000'000),
                        .transfer = DurationNs(100'000),
                        .exposed = DurationNs(200'000),
                        .hidden = DurationNs(0),
                        .algorithm_gbs = 10,
                        .bus_gbs = 17.5}};
  job.waits.pattern = StragglerPattern::kRecurrent;
  job.waits.stragglers = {1};
  job.waits.straggler_host = "node2";
  job.waits.lost = DurationNs(30'000'000);
  job.waits.steps = 3;
  job.waits.lost_share = 0.25;
  job.waits.uncertainty = DurationNs(1'500);
  job.work.measure = WorkMeasure::kFlops;
  job.work.ranks = {{.computing = DurationNs(50'000'000), .work = 2e12},
                    {.computing = std::nullopt, .work = std::nullopt}};
  job.work.steps = 3;
  job.work.computing_imbalance = 0.1;
  job.late.cause = LateCause::kSlowGpu;
  job.late.why = "Its GPU takes longer for the same work.";
  job.axes = {{.group = "world",
               .axis = ParallelAxis::kData,
               .recorded = false,
               .why = "it reduces gradients",
               .members = 8,
               .ranks = {0, 1}}};
  return job;
}

Pipeline TwoStages(double imbalance) {
  Pipeline pipeline;
  pipeline.stages.resize(2);
  for (std::size_t i = 0; i < 2; ++i) pipeline.stages[i].ranks = {i};
  pipeline.stages[0].computing = DurationNs(60'000'000);
  pipeline.stages[1].computing = DurationNs(90'000'000);
  pipeline.imbalance = imbalance;
  pipeline.bubble_share = 0.3;
  return pipeline;
}

}  // namespace headroom
