#include "cli/commands/record_command.h"

#include <fmt/format.h>
#include <pwd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "base/host_name.h"
#include "capture/launched_program.h"
#include "capture/metrics/board/clock.h"
#include "capture/metrics_recorder.h"
#include "capture/process_group.h"
#include "cli/flags/value_checks.h"
#include "cli/inputs/step_range.h"
#include "cli/machine/installed_files.h"
#include "cli/terminal/output.h"
#include "render/escape.h"
#include "render/number_format.h"

namespace headroom::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRecordExamples = R"(Examples:
  headroom record -- python3 train.py
  headroom record -o run.pftrace --steps 20:30 -- torchrun --nproc_per_node 8 train.py
  headroom report run.pftrace

FILE is a Perfetto trace; each further process with events gets FILE.<pid>. Exit code:
that of COMMAND (128 + N after signal N); 2 usage; 4 cannot write; 126, 127 COMMAND cannot be run.
)";

/// Writes the facts that the user asked for as instants "about" of the category `headroom`.
void WriteAbout(const std::vector<std::string>& wanted, const std::vector<std::string>& command,
                Recorder& recorder) {
  std::vector<std::pair<std::string, std::string>> facts;
  for (const std::string& what : wanted) {
    if (what == "argv") {
      std::string line;
      for (const std::string& word : command) line += (line.empty() ? "" : " ") + ShellQuote(word);
      facts.emplace_back("argv", std::move(line));
    } else if (what == "host") {
      if (std::string name = HostName(); !name.empty()) facts.emplace_back("host", std::move(name));
    } else if (what == "user") {
      const passwd* user = getpwuid(getuid());
      facts.emplace_back("user", user != nullptr ? user->pw_name : std::to_string(getuid()));
    } else {  // env
      for (char** entry = environ; *entry != nullptr; ++entry) facts.emplace_back("env", *entry);
    }
  }
  if (facts.empty()) return;
  recorder.Write([&](TraceEncoder& encoder) {
    const TraceEncoder::Track track = encoder.ChildTrack(0, "about");
    for (const auto& [name, value] : facts) {
      const TraceArg arg{name, std::string_view(value)};
      encoder.Instant(track, MonotonicNow(), encoder.Intern("about"), encoder.Category("headroom"),
                      std::span(&arg, 1));
    }
  });
}

std::string Summary(const RecordedProcess& process) {
  std::string text = fmt::format("{}: ", process.path);
  text += process.pid == 0
              ? std::string("no process sent any event")
              : fmt::format("process {}, {} from it", process.pid, Plural(process.events, "event"));
  text += fmt::format(", {}", FormatBytes(static_cast<double>(process.bytes)));
  if (process.alive) text += "; the process continues, but is no longer recorded";
  if (process.missed_steps && process.pid != 0) {
    text += process.latest_step
                ? fmt::format("; --steps: none of these steps ran; the last step that began is {}",
                              *process.latest_step)
                : std::string("; --steps: none of these steps ran; the program reported no step");
  }
  if (process.drops > 0) text += fmt::format("; {} events were dropped", process.drops);
  if (!process.trouble.empty())
    text += fmt::format("; the file is incomplete: {}", process.trouble);
  if (process.lost_bytes > 0 && process.trouble.empty()) {
    text += fmt::format(
        "; {} did not fit: raise --max-file-gb (file) or --max-memory-mb (buffer), or record fewer "
        "steps with --steps",
        FormatBytes(static_cast<double>(process.lost_bytes)));
  }
  return text;
}

/// Returns why no process sent timings. Names the resource limit that keeps timers from sharing
/// memory, if there is one.
std::string WhyNothingWasTimed() {
  const auto is_below = [](auto which, std::uint64_t bytes, rlim_t& limit) {
    rlimit found{};
    if (getrlimit(which, &found) != 0 || found.rlim_cur >= bytes) return false;
    limit = found.rlim_cur;
    return true;
  };
  constexpr std::uint64_t kShared = std::uint64_t{1100}
                                    << 20;  // The size in headroom/detail/collector.h.
  rlim_t limit = 0;
  for (const auto& [which, name, bytes] : {std::tuple(RLIMIT_FSIZE, "ulimit -f", kShared),
                                           std::tuple(RLIMIT_AS, "ulimit -v", 2 * kShared)}) {
    if (!is_below(which, bytes, limit)) continue;
    return fmt::format(
        "nothing was timed: the memory that timers share with the recorder takes {2} MB, but `{0}` "
        "allows only {1} MB; raise that limit",
        name, limit / 1'000'000, bytes / 1'000'000);
  }
  return "nothing was timed: the program has no Headroom timers and no PyTorch, or it started "
         "without the environment that `record` sets (env -i, sudo)";
}

}  // namespace

RecordCommand::RecordCommand(Command parent) {
  command_ = parent.AddCommand("record", "Record an unmodified program", kRecordExamples);
  command_.TakeCommandLine();
  options_.path = "headroom.pftrace";
  command_.AddOption("-o,--output", options_.path, "The recording (headroom.pftrace)")
      .TypeName("FILE");
  command_.AddFlag("-f,--force", options_.replace, "Replace files that already exist");
  command_
      .AddOption("--level", level_,
                 "metrics: the machine; events: also timers and the training loop; gpu: also GPU "
                 "work (default); full: also NVTX ranges")
      .TypeName("LEVEL")
      .Check(OneOf({"metrics", "events", "gpu", "full"}));
  command_.AddOption("--steps", steps_, "Only these training steps, A:B, A: or :B").TypeName("A:B");
  command_.AddOption("--max-file-gb", max_file_gb_, "Maximum size of a file (8)")
      .TypeName("N")
      .Check(AboveZero());
  command_
      .AddOption("--max-memory-mb", max_memory_mb_,
                 "Maximum buffer per process for a full or slow disk (256)")
      .TypeName("N")
      .Check(AboveZero());
  command_.AddOption("--interval", interval_s_, "Seconds between samples of the machine (1)")
      .TypeName("N")
      .Check(Between(0.1, 60));
  command_
      .AddOption("--stack-hz", stack_hz_,
                 "Samples per second of a Python program's stack (25); 0: none")
      .TypeName("N")
      .Check(Between(0, 1000));
  command_.AddOption("--with", with_, "Also record these: argv, env, host, user")
      .TypeName("WHAT,..")
      .Delimiter(',')
      .Check(OneOf({"argv", "env", "host", "user"}));
  command_.AddFlag("--probe-input", probe_input_,
                   "Measure the loop without its loader and the loader alone, in a run whose "
                   "result is discarded (docs/data.md)");
  // `headroom ui --run` sets it, and gives this process a separate process group.
  command_
      .AddFlag("--end-group", end_group_,
               "Stop processes that the command leaves in this process group")
      .Group("");
  command_.AddFlag("-q,--quiet", quiet_, "No remarks on stderr");
}

EnvironmentChanges RecordCommand::EnvironmentFor(
    const std::string& socket, const std::function<void(std::string_view)>& remark) const {
  // Clears inherited Headroom variables: an outer recorder has other steps and another socket.
  EnvironmentChanges environment = {
      {"HEADROOM_SOCKET", std::nullopt},    {"HEADROOM_LEVEL", std::nullopt},
      {"HEADROOM_STEPS", std::nullopt},     {"HEADROOM_STACK_HZ", std::nullopt},
      {"HEADROOM_MEMORY_MB", std::nullopt}, {"HEADROOM_PROBE_INPUT", std::nullopt}};
  const auto now = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value != nullptr ? value : "");
  };
  const InstalledFiles installed = FindInstalledFiles();
  const bool events = level_ != "metrics", gpu_work = events && level_ != "events";
  // Each variable can name only one library. Does not replace the library of another tool.
  const auto inject = [&](const char* variable, bool wanted) {
    const std::string there = now(variable);
    const bool ours = fs::path(there).filename() == kCuptiFile;
    if (ours) environment[variable] = std::nullopt;
    if (!wanted || installed.cupti.empty()) return;
    if (ours || there.empty() || there == "none") {
      environment[variable] = installed.cupti;
    } else {
      remark(fmt::format(
          "{} is {}: that tool records the GPU work; unset the variable to record it here",
          variable, there));
    }
  };
  inject("CUDA_INJECTION64_PATH", gpu_work);
  inject("NVTX_INJECTION64_PATH", level_ == "full");
  if (!events) return environment;

  environment["HEADROOM_SOCKET"] = socket;
  environment["HEADROOM_LEVEL"] = level_;
  if (now("HEADROOM") == "0")
    remark("HEADROOM=0 is set: the program's timers are off; unset it to record them");
  if (installed.inject.empty()) {
    remark(
        "the hooks that record PyTorch loops are not next to this program: build the target "
        "headroom_hooks (requires python3-dev), or install lib/headroom/python");
  } else {
    const std::string before = now("PYTHONPATH");
    environment["PYTHONPATH"] =
        before.empty() ? installed.inject : fmt::format("{}:{}", installed.inject, before);
  }
  environment["HEADROOM_STACK_HZ"] = fmt::format("{}", stack_hz_);
  if (probe_input_) environment["HEADROOM_PROBE_INPUT"] = "1";
  if (!gpu_work) return environment;
  if (!steps_.empty()) environment["HEADROOM_STEPS"] = steps_;
  environment["HEADROOM_MEMORY_MB"] = fmt::format("{:.0f}", max_memory_mb_);
  return environment;
}

Status RecordCommand::Run() {
  // Without `--`, the command begins with the first word that is not a flag of this program.
  std::vector<std::string> command = command_.remaining();
  if (!command.empty() && (!recorded_.empty() || command.front().starts_with('-'))) {
    return Status::Usage(
        fmt::format("{} is not a flag of headroom record; put the command to record after --",
                    command.front()));
  }
  command.insert(command.end(), recorded_.begin(), recorded_.end());
  if (command.empty())
    return Status::Usage("the command to record is missing: headroom record -- COMMAND");
  if (options_.path.empty())
    return Status::Usage(
        "-o \"\" is not a file name; without -o the recording is headroom.pftrace");
  if (probe_input_ && (level_ == "metrics" || !steps_.empty())) {
    return Status::Usage(
        "--probe-input measures the whole loop: leave out --level metrics and --steps");
  }
  if (!steps_.empty()) {
    const Result<StepRange> range = ParseStepRange(steps_);
    if (!range.ok()) return range.status();
    options_.steps = RecordedSteps{.first = range.value().first.value_or(0),
                                   .last = range.value().last.value_or(INT64_MAX)};
  }
  options_.limits = {.file_bytes = std::llround(max_file_gb_ * 1e9),
                     .pending_bytes = std::llround(max_memory_mb_ * 1e6)};
  const auto remark = [&](std::string_view text) {
    if (!quiet_) Remark(fmt::format("headroom: {}\n", Printable(text, CharsetOfEnvironment())));
  };

  if (const int error = LaunchedProgram::Find(command.front()); error != 0) {
    exit_code_ = LaunchedProgram::ShellCode(error);
    return Status::Usage(fmt::format("cannot run {}: {}", command.front(), std::strerror(error)));
  }
  const HeldSignals held;
  std::signal(SIGXFSZ, SIG_IGN);  // A write beyond the file-size limit then fails, like a write to
                                  // a full disk, and does not end this process.
  Result<std::unique_ptr<Recorder>> recorder = Recorder::Start(options_);
  if (!recorder.ok()) return recorder.status();

  if (probe_input_)
    remark(
        "--probe-input repeats batches and skips others: discard the model that this run trains");
  WriteAbout(with_, command, *recorder.value());
  const EnvironmentChanges environment = EnvironmentFor(recorder.value()->socket_path(), remark);
  if (end_group_) AdoptOrphans();
  const Result<LaunchedProgram> program =
      LaunchedProgram::Start(command, {.environment = environment});
  if (!program.ok()) {
    exit_code_ = LaunchedProgram::ShellCode(EACCES);  // The file exists, as checked above.
    recorder.value()->Stop();
    std::error_code ignored;
    if (fs::is_regular_file(fs::symlink_status(options_.path, ignored)))
      fs::remove(options_.path, ignored);
    return program.status();
  }
  SamplerOptions sampler;
  sampler.process = program.value().pid();
  sampler.period = DurationNs(std::llround(interval_s_ * 1e9));
  SetVisibleDevices(std::nullopt, sampler);  // The program sees the same devices as this process.
  std::optional<MetricsRecorder> metrics;
  try {
    metrics.emplace(sampler, recorder.value().get());
  } catch (const std::system_error& error) {
    remark(
        fmt::format("metrics are not recorded: cannot start the metrics thread: {}; check "
                    "`ulimit -u` and `ulimit -v`",
                    error.code().message()));
  }
  exit_code_ = program.value().Wait();
  if (end_group_) EndGroup();  // Also records their events until they end.
  if (metrics && !metrics->Stop())
    remark(
        "the operating system did not answer while metrics were read: the last metrics are "
        "missing");
  if (const std::vector<std::string> silent =
          metrics ? metrics->SilentGpus() : std::vector<std::string>();
      !silent.empty()) {
    remark(
        fmt::format("{} did not answer when asked for metrics: some are missing (check with "
                    "nvidia-smi or rocm-smi)",
                    fmt::join(silent, ", ")));
  }
  const std::vector<RecordedProcess> processes = recorder.value()->Stop();
  const std::vector<std::string> remarks = recorder.value()->Remarks();
  const char* const wish = std::getenv("HEADROOM");
  const bool is_off =
      wish != nullptr && std::string_view(wish) == "0";  // A remark has already reported that.
  if (processes.front().pid == 0 && level_ != "metrics" && !is_off && remarks.empty()) {
    const std::optional<std::int64_t> torch =
        metrics ? metrics->UntimedTorch() : std::optional<std::int64_t>();
    remark(torch ? fmt::format(
                       "process {} ran PyTorch, but its loop was not timed: Python ignores the "
                       "timing hooks under -E, -I or -S, or if PYTHONPATH is replaced. Start it "
                       "without these, or time the loop with headroom.torch.profile_loop",
                       *torch)
                 : WhyNothingWasTimed());
  }
  for (const std::string& text : remarks) remark(text);
  for (const RecordedProcess& process : processes) {
    remark(Summary(process));
    for (const std::string& warning : process.warnings)
      remark(fmt::format("process {}, GPU work: {}", process.pid, warning));
  }
  return Status::Ok();
}

}  // namespace headroom::cli
