#include "answers/report/phrases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "analysis/loop/callbacks.h"
#include "analysis/steps/step_kind.h"
#include "base/ascii.h"
#include "render/escape.h"
#include "render/number_format.h"
#include "store/trace_formats.h"

namespace headroom {

namespace {

/// Returns the sentence about the limit of the step, with "{}" for its time.
std::string_view VerdictPattern(Verdict verdict, bool host_only) {
  switch (verdict) {
    case Verdict::kHost:
      return "Host-bound: the GPU idles {}, waiting for kernel launches.";
    case Verdict::kGpuCompute:
      return "GPU-bound: the GPU works {}, limited more by compute than by memory.";
    case Verdict::kCpuCompute:
      return "CPU-bound: the CPU computes {}.";
    case Verdict::kGpuMemory:
      return "GPU-bound: the GPU works {}, limited more by memory than by compute.";
    case Verdict::kInput:
      return host_only ? "Input-bound: the loop waits {} for its next batch."
                       : "Input-bound: the GPU waits {} for data.";
    case Verdict::kCommunication:
      return host_only ? "Communication-bound: the loop waits {} for other ranks."
                       : "Communication-bound: ranks exchange data {} while nothing computes.";
    case Verdict::kCallback:
      return host_only ? "Callback-bound: the loop waits {} for callbacks of the trainer."
                       : "Callback-bound: the GPU waits {} for callbacks of the trainer.";
    case Verdict::kSynchronization:
      return "Synchronization-bound: blocking calls leave the GPU idle {}.";
    case Verdict::kBalanced:
      return "Balanced: no single cause limits the step.";
    case Verdict::kUnknown:
      break;
  }
  return "Unknown: this trace does not show what limits the step.";
}

}  // namespace

std::string VerdictSentence(const Bottleneck& bottleneck) {
  if (bottleneck.verdict == Verdict::kBalanced && !bottleneck.balance.empty())
    return fmt::format("Balanced: no single cause limits the step ({}).", bottleneck.balance);
  const std::string time =
      bottleneck.share_pct
          ? fmt::format("{} of {}", FormatPercent(*bottleneck.share_pct), bottleneck.of)
          : "most of the time";
  return fmt::format(fmt::runtime(VerdictPattern(bottleneck.verdict, bottleneck.host_only)), time);
}

std::string VerdictText(const Bottleneck& bottleneck) {
  std::string text = VerdictSentence(bottleneck);
  if (!bottleneck.confidence.empty())
    text += fmt::format(
        " Confidence: {}{}.", bottleneck.confidence,
        bottleneck.confidence_reason.empty() ? "" : ", " + bottleneck.confidence_reason);
  return text;
}

std::string BreakdownSubject(const TraceReport& report) {
  const StepBreakdown& breakdown = *report.breakdown;
  if (breakdown.is_stretch) return "the whole recording";
  if (breakdown.steps == 1) return fmt::format("step {}", breakdown.step_index);
  const StepKind kind = CountedKind(report.steps.kinds);
  const bool differ = report.steps.kinds.size() > 1 && kind != StepKind::kUnknown;
  return fmt::format("mean of {} {}steps", FormatCount(breakdown.steps),
                     differ ? fmt::format("{} ", NameOf(kind)) : "");
}

std::string_view CauseText(std::string_view cause) {
  if (cause == "gpu") return "GPU busy";
  if (cause == "host") return "waiting for a launch";
  if (cause == "input") return "waiting for data";
  if (cause == "communication") return "exposed communication";
  if (cause == "callback") return "waiting for a callback";
  if (cause == "synchronization") return "idle after a blocking call";
  if (cause == "device_to_host") return "copying results to the host";
  if (cause == "queue") return "next kernel queued, not started";
  if (cause == "unknown") return "idle, cause not recorded";
  return "";
}

std::string_view GradeSentence(char grade, bool verdict) {
  switch (grade) {
    case 'A':
      return "Nothing is damaged. Unrecorded data is listed below.";
    case 'B':
      return "Some data is missing or was repaired. The verdict is reliable; unreliable results "
             "are listed.";
    case 'C':
      return verdict ? "Some conclusions are unreliable; the verdict has low confidence."
                     : "Some conclusions are unreliable.";
    case 'D':
      return verdict ? "The launched GPU work was not recorded: all times are host times."
                     : "Too much is missing for a verdict.";
    case 'E':
      return "Over 10 % of the events are lost: too many for a verdict or GPU times.";
    default:
      return "The trace has nothing to analyze: no step, no operator, no GPU work.";
  }
}

std::string GradeText(const JobReport& job) {
  std::string sentence(GradeSentence(job.grade(), job.HasVerdict()));
  const auto worst = std::find_if(job.files().begin(), job.files().end(), [&](const auto& file) {
    return file.health.grade == job.grade();
  });
  const bool all = std::all_of(job.files().begin(), job.files().end(),
                               [&](const auto& file) { return file.health.grade == job.grade(); });
  if (job.single() || all || worst == job.files().end()) return sentence;
  return fmt::format(
      "Worst of {1} files, {0}: {2}", RankName(*worst), job.files().size(),
      GradeSentence(worst->health.grade, worst->bottleneck.verdict != Verdict::kUnknown));
}

std::string StepSourceText(const Steps& steps) {
  const std::string marker = steps.marker.empty() ? "" : fmt::format(" ({})", steps.marker);
  switch (steps.source) {
    case StepSource::kAnnotation:
      return fmt::format("marks in the trace{}", marker);
    case StepSource::kInferred:
      return fmt::format("inferred from repetition{}; confidence {}{}", marker,
                         steps.confidence.empty() ? "unknown" : steps.confidence,
                         steps.confidence_reason.empty() ? "" : ": " + steps.confidence_reason);
    case StepSource::kGiven:
      return fmt::format("your marker{}", marker);
    case StepSource::kNone:
      break;
  }
  return "none";
}

std::string_view ActionLabel(const Finding& finding) {
  if (!finding.saves_ms || finding.saves_ms->high > 0) return "do";
  return finding.saves_ms->low < 0 ? "do not" : "";
}

std::string SavesText(const Finding& finding) {
  const std::optional<MsInterval>& saves = finding.saves_ms;
  if (!saves) return finding.saves_note;
  constexpr std::string_view kAtMost = "at most: ";
  const bool bound = finding.saves_note.starts_with(kAtMost);
  // A change that helps a GPU-bound job may slow down a host-bound job.
  if (saves->high <= 0 && saves->low < 0) {
    return fmt::format(
        "nothing: the {} gets longer by {} ({})", finding.of_stretch ? "recording" : "step",
        FormatTimeBetween(-saves->mid, -saves->high, -saves->low), finding.saves_note);
  }
  return fmt::format("{}{}{}: {}", bound ? "at most " : "",
                     FormatTimeBetween(saves->mid, saves->low, saves->high),
                     finding.of_stretch ? "" : " per step",
                     std::string_view(finding.saves_note).substr(bound ? kAtMost.size() : 0));
}

std::string ActionTitle(const Finding& finding, std::size_t width) {
  struct Title {
    std::string_view id;
    Remedy remedy;  ///< kNone: any remedy.
    std::string_view text;
  };
  static constexpr Title kTitles[] = {
      {"late-launches", Remedy::kLaunchless, "Launch fewer kernels: compile, CUDA graphs"},
      {"late-launches", Remedy::kNone, "Speed up the host between launches"},
      {"data-wait", Remedy::kNone, "Load batches faster: workers, prefetching"},
      {"callbacks", Remedy::kNone, "Run callbacks less often"},
      {"exposed-communication", Remedy::kNone, "Overlap communication with compute"},
      {"exposed-copies", Remedy::kNone, "Overlap copies to the GPU: pin_memory"},
      {"exposed-copies-to-host", Remedy::kNone, "Copy to the host less often"},
      {"costly-syncs", Remedy::kNone, "Remove blocking calls"},
      {"stalled-copy", Remedy::kNone, "Record several steps to check the stall"},
      {"unfused-optimizer", Remedy::kNone, "Fuse the optimizer: fused=True"},
      {"idle-tensor-cores", Remedy::kNone, "Use tensor cores"},
      {"unfused-elementwise", Remedy::kNone, "Fuse element-wise kernels: compile"},
      {"device-copies", Remedy::kNone, "Avoid copies, casts and layout changes"},
      {"gaps-between-kernels", Remedy::kKernelGaps, "Run fewer, larger kernels"},
      {"gaps-between-kernels", Remedy::kNone, "Find out why launched kernels wait"},
      {"unexplained-idle", Remedy::kNone, "Record the host too"},
      {"outlier-steps", Remedy::kNone, "Check what only the slow steps do"},
      {"evaluation-in-steps", Remedy::kNone, "Evaluate less often"},
      {"costly-region", Remedy::kNone, "Speed up regions"},
      {"costly-line", Remedy::kNone, "Speed up lines"},
      {"unmarked-time", Remedy::kNone, "Mark regions in the unexplained time"},
      {"straggler", Remedy::kNone, "Speed up the slowest rank"},
      {"pipeline-bubble", Remedy::kNone, "Shrink the pipeline bubble"},
  };
  for (const Title& title : kTitles) {
    if (finding.id != title.id || (title.remedy != Remedy::kNone && title.remedy != finding.remedy))
      continue;
    const std::string with_place = fmt::format("{}: {}", title.text, finding.place);
    const bool fits = !finding.place.empty() && DisplayWidth(with_place) <= width;
    return fits ? with_place : std::string(title.text);
  }
  return finding.action;
}

std::string_view RecorderName(std::string_view format) {
  static constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {kKinetoFormat, "PyTorch"},
      {kPerfettoFormat, "Perfetto"},
      {kNsightFormat, "Nsight Systems"},
      {kRocprofFormat, "rocprofv3"},
      {kRocpdFormat, "rocprofv3"},
      {kMemorySnapshotFormat, "PyTorch memory"},
      {kChakraFormat, "Chakra"},
      {kOldRocprofFormat, "rocprof"},
      {kTimelineFormat, "TensorFlow"},
      {kChromeFormat, "Chrome trace"},
      {kXPlaneFormat, "XLA"},
      {kXlaJsonFormat, "XLA"},
  };
  for (const auto& [known, name] : kNames) {
    if (format == known) return name;
  }
  return format;
}

std::string CorrectedText(const StepSummary& steps) {
  const MsInterval& step = *steps.corrected;
  return fmt::format("{} without the profiler, which takes {}",
                     FormatTimeBetween(step.mid, step.low, step.high),
                     FormatPercent(*steps.profiler_overhead_pct));
}

namespace {

std::string WithoutFirst(std::size_t left_out) {
  if (left_out == 0) return "";
  return left_out == 1 ? ", without the first" : fmt::format(", without the first {}", left_out);
}

}  // namespace

std::string CountedText(const StepSummary& steps) {
  const bool one = steps.counted == 1;
  const std::string what = steps.others > 0 && steps.kind != StepKind::kUnknown
                               ? fmt::format("{} step", NameOf(steps.kind))
                               : std::string("step");
  return fmt::format("{}{}{}", one ? "" : "mean of ",
                     Plural(static_cast<std::int64_t>(steps.counted), what),
                     WithoutFirst(steps.usual - steps.counted));
}

std::string WindowText(const EngineSummary& engine) {
  const std::string steps =
      engine.of_stretch   ? std::string("the recording")
      : engine.steps == 1 ? fmt::format("step {}", engine.first_step)
                          : fmt::format("steps {} to {}", engine.first_step, engine.last_step);
  if (!engine.error.empty()) return fmt::format("{} cannot be replayed: {}", steps, engine.error);
  return fmt::format("replays of {} ({}) without the profiler; calibration: {}", steps,
                     Plural(engine.events, "event"), engine.calibration);
}

std::string MostExpensiveCallbackText(const TraceReport& file) {
  const CallbackRow* most_expensive = MostExpensiveCallback(file.callbacks);
  if (most_expensive == nullptr) return {};
  constexpr std::size_t kNameWidth = 60;  // Limits names, which may have any length.
  const auto cut = [](const std::string& name) { return CutMiddle(Printable(name), kNameWidth); };
  std::string text = fmt::format("the most expensive is {}", cut(most_expensive->callback));
  if (!most_expensive->event.empty())
    text += fmt::format(" on the event {}", cut(most_expensive->event));
  text += fmt::format(": {} self time in {}", FormatTime(most_expensive->self),
                      Plural(most_expensive->count, "call"));
  if (most_expensive->share_pct)
    text += fmt::format(", {} of the steps' time", FormatPercent(*most_expensive->share_pct));
  return text;
}

std::string InputWaitText(const InputWait& wait) {
  return fmt::format("the host waits {} per batch; {} of that idles the GPU, GPU work hides {}",
                     FormatTime(wait.host), FormatTime(wait.exposed), FormatTime(wait.hidden));
}

std::string InputText(const InputInfo& input) {
  std::string text =
      fmt::format("{}, {}, {}", input.format, FormatBytes(static_cast<double>(input.bytes)),
                  Plural(input.events, "event"));
  if (input.recordings > 1) text += fmt::format(", {} recordings of one process", input.recordings);
  if (input.rank) text += fmt::format(", rank {}", *input.rank);
  if (input.world_size)
    text += fmt::format("{} of {}", input.rank ? "" : ", one rank", *input.world_size);
  return text;
}

std::string DeviceText(const DeviceInfo& device) {
  const bool is_amd = device.vendor == "AMD";
  std::string text = device.told_by_size ? device.model : device.name;
  if (text.empty()) text = "unnamed";
  if (device.memory_bytes)
    text += ", " + FormatDeviceMemory(static_cast<double>(*device.memory_bytes));
  if (device.sms) text += fmt::format(", {} {}", *device.sms, is_amd ? "CUs" : "SMs");
  if (!device.architecture.empty()) {
    text += fmt::format(", {}", device.architecture);
  } else if (!device.compute_capability.empty() && !is_amd) {
    text += fmt::format(", compute capability {}", device.compute_capability);
  }
  if (device.told_by_size) text += " (inferred from its size)";
  return text;
}

std::string NumberText(std::optional<std::int64_t> number) {
  return number ? fmt::format("{}", *number) : "?";
}

std::vector<DeviceRow> DeviceRows(const InputInfo& input) {
  std::vector<DeviceRow> rows;
  std::int64_t first = 0, last = 0;
  std::string before;  // The current row's numbers before its last range of consecutive numbers.
  for (const DeviceInfo& device : input.devices) {
    std::string text = DeviceText(device);
    const bool is_new = rows.empty() || rows.back().text != text;
    if (is_new) {
      rows.push_back({"", std::move(text)});
      before = "GPU ";
    } else if (device.id - 1 != last) {
      before = rows.back().numbers + ", ";
    }
    if (is_new || device.id - 1 != last) first = device.id;
    last = device.id;
    rows.back().numbers =
        before + (first == last ? fmt::format("{}", last) : fmt::format("{} to {}", first, last));
  }
  return rows;
}

std::string Sentence(std::string_view text) {
  std::string out(text);
  const std::string_view word = text.substr(0, text.find_first_of(" ,"));
  const bool plain =
      !word.empty() && word.front() != '-' &&
      std::all_of(word.begin(), word.end(), [](char c) { return IsLower(c) || c == '-'; });
  if (plain) out.front() = static_cast<char>(out.front() - 'a' + 'A');
  return out;
}

std::string FullSentence(std::string_view text) {
  std::string out = Sentence(text);
  if (!out.empty() && std::string_view(".!?").find(out.back()) == std::string_view::npos)
    out.push_back('.');
  return out;
}

std::string Join(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) {
    if (!out.empty()) out += ", ";
    out += word;
  }
  return out;
}

std::string MeanText(const TimeRow& row) {
  return row.count > 0 ? FormatUs(DurationNs((row.total.ns() + row.count / 2) / row.count)) : "-";
}

}  // namespace headroom
