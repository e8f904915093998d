#include "cli/commands/calibrate_command.h"

#include <fmt/format.h>

#include <array>
#include <ctime>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/atomic_file.h"
#include "base/local_state.h"
#include "cli/flags/value_checks.h"
#include "cli/machine/gpu_measurement.h"
#include "cli/machine/python_program.h"
#include "cli/terminal/output.h"
#include "embedded/calibration_programs.h"
#include "ingest/open_trace.h"
#include "render/escape.h"
#include "render/text_page.h"
#include "whatif/calibration/calibration_choice.h"
#include "whatif/job/fit_calibration.h"

namespace headroom::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCalibrateExamples = R"(Examples:
  headroom calibrate --host                 for all later traces of this machine
  headroom calibrate --host -o cluster.toml
  headroom whatif trace.json.gz --calibration cluster.toml
  headroom calibrate --gpu -o here.csv      operators on this GPU, for predictions for it
  headroom predict trace.json.gz --gpu L4 --gpu-calibration here.csv
  headroom calibrate --network --master 10.0.0.1:29500 --rank 0 -o ours.toml    on one machine, and
  headroom calibrate --network --master 10.0.0.1:29500 --rank 1                 on another
  headroom scale trace.json.gz --cluster ours.toml --gpus 2,8,64

Run it where the traces come from, with the Python that trains there, while the machine does nothing
else. Exit codes: 0 fine; 2 usage, or no Python with PyTorch; 4 cannot measure or write.
)";

/// Runs the training loops. Returns what their program prints, as JSON.
Result<nlohmann::json> RunLoops(const std::string& python, const std::string& folder,
                                double seconds) {
  const Result<std::string> printed =
      RunPythonProgram(python, CalibrationPrograms().front(), {folder, fmt::format("{}", seconds)},
                       folder, "run the training loops");
  if (!printed.ok()) return printed.status();
  nlohmann::json said = nlohmann::json::parse(LastLine(printed.value()), nullptr, false);
  if (!said.is_object() || !said.contains("loops"))
    return Status::Environment("the training loops printed no result");
  return said;
}

/// A profiled loop, and the trace to which `profiled.trace` points.
struct Loop {
  std::unique_ptr<TraceStore> trace;
  ProfiledLoop profiled;
};

Result<std::map<std::string, Loop>> ReadLoops(const nlohmann::json& said) {
  std::map<std::string, Loop> loops;
  for (const nlohmann::json& entry : said["loops"]) {
    Result<std::unique_ptr<TraceStore>> trace =
        OpenTrace(entry.at("trace").get<std::string>(), OpenOptions());
    if (!trace.ok()) return trace.status();
    Loop& loop = loops[entry.at("name").get<std::string>()];
    loop.trace = std::move(trace).value();
    loop.profiled = {.trace = loop.trace.get(),
                     .steps = entry.at("steps").get<int>(),
                     .plain_ms = entry.at("plain_ms").get<double>(),
                     .profiled_ms = entry.at("profiled_ms").get<double>()};
  }
  return loops;
}

std::string Today() {
  const std::time_t now = std::time(nullptr);
  std::tm date{};
  localtime_r(&now, &date);
  std::array<char, 16> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d", &date);
  return text.data();
}

std::string Render(const MeasuredCosts& costs, const Calibration& shipped, const std::string& path,
                   const PageStyle& style) {
  TextPage page(style);
  constexpr double kMicrosecond = 1e3;
  std::vector<std::vector<Span>> rows;
  const auto row = [&](std::string_view what, const std::optional<double>& ns, double usual,
                       std::string_view missing) {
    rows.push_back({{std::string(what)},
                    {ns ? fmt::format("{:.2f} us", *ns / kMicrosecond) : "-"},
                    {fmt::format("{:.2f} us", usual / kMicrosecond)},
                    {ns ? "" : std::string(missing)}});
  };
  row("a recorded operator", costs.operator_record, shipped.recording.operator_record, "");
  row("a recorded API call", costs.call_record, shipped.recording.call_record,
      "not measured: no GPU");
  row("a recorded Python frame", costs.frame_record, shipped.recording.frame_record,
      "not measured: this PyTorch records no Python frames");
  page.Table({{"cost of", TextColumn::Kind::kText},
              {"here"},
              {"shipped default"},
              {"", TextColumn::Kind::kText}},
             rows);
  page.Blank();
  page.Paragraph(
      "  ",
      fmt::format("Written to {}. Machine: {}. For traces of machines with these GPUs, whatif uses "
                  "the default file; pass any other file with --calibration FILE.",
                  Printable(path, style.charset), Printable(costs.machine, style.charset)));
  return std::move(page).Take();
}

}  // namespace

CalibrateCommand::CalibrateCommand(Command parent) {
  command_ =
      parent.AddCommand("calibrate", "Measure this machine for forecasts", kCalibrateExamples);
  command_.AddFlag("--host", host_, "Cost of recording, from short training loops in PyTorch");
  command_.AddFlag("--gpu", gpu_,
                   "Times of operators on this machine's GPU, in PyTorch; requires -o");
  command_.AddFlag(
      "--network", between_,
      "Latency and bandwidth between machines, in PyTorch; run it on all of them; requires -o");
  command_.AddOption("--master", network_.master, "With --network: address of rank 0")
      .TypeName("ADDRESS:PORT");
  command_.AddOption("--rank", network_.rank, "With --network: rank of this machine")
      .ShowDefault()
      .TypeName("R");
  command_.AddOption("--world", network_.world, "With --network: number of machines")
      .ShowDefault()
      .TypeName("N");
  command_.AddOption("--backend", network_.backend, "With --network: gloo or nccl")
      .ShowDefault()
      .TypeName("NAME")
      .Check(OneOf({"gloo", "nccl"}));
  command_
      .AddOption("-o,--output", output_path_, "Write to FILE, not to the file that later runs read")
      .TypeName("FILE")
      .Check(NotEmpty());
  command_.AddOption("--python", python_, "Python that has PyTorch").TypeName("PATH");
  command_
      .AddOption(
          "--seconds", seconds_,
          "Seconds for each of up to three loops of --host [6], for --gpu [60] or --network [20]")
      .TypeName("N")
      .Check(AboveZero());
  command_.AddFlag("-q,--quiet", quiet_, "No remarks on stderr");
}

Status CalibrateCommand::Run() {
  if (host_ + gpu_ + between_ != 1) {
    return Status::Usage(
        "choose one thing to calibrate: headroom calibrate --host, headroom calibrate --gpu -o "
        "FILE, or headroom calibrate --network --master ADDRESS:PORT");
  }
  for (const char* flag : {"--master", "--rank", "--world", "--backend"}) {
    if (!between_ && command_.is_given(flag))
      return Status::Usage(fmt::format("{} requires --network", flag));
  }
  if (between_) return CalibrateNetwork();
  return gpu_ ? CalibrateGpu() : CalibrateHost();
}

Status CalibrateCommand::CalibrateNetwork() const {
  NetworkMeasurement measurement = network_;
  const std::size_t colon = measurement.master.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == measurement.master.size() ||
      measurement.master.find_first_not_of("0123456789", colon + 1) != std::string::npos) {
    return Status::Usage(
        "--network requires --master ADDRESS:PORT, at which all machines reach rank 0, e.g. "
        "10.0.0.1:29500");
  }
  if (measurement.world < 2 || measurement.rank < 0 || measurement.rank >= measurement.world)
    return Status::Usage("--world must be at least 2, and --rank from 0 to --world minus 1");
  if (measurement.rank == 0 && (output_path_.empty() || output_path_ == "-")) {
    return Status::Usage("--network requires -o FILE on rank 0: the cluster file that it writes");
  }
  constexpr double kUsualSeconds = 20;
  measurement.seconds = seconds_.value_or(kUsualSeconds);
  measurement.python = python_;
  measurement.path = output_path_;
  if (!quiet_)
    Remark(fmt::format("measuring for about {:.0f} s, once all {} ranks have joined\n",
                       measurement.seconds, measurement.world));
  return MeasureNetwork(measurement);
}

Status CalibrateCommand::CalibrateGpu() const {
  if (output_path_.empty() || output_path_ == "-") {
    return Status::Usage("--gpu requires -o FILE: the file for the table of operator times");
  }
  constexpr double kUsualSeconds = 60;
  const double seconds = seconds_.value_or(kUsualSeconds);
  if (!quiet_)
    Remark(fmt::format("measuring for about {:.0f} s; keep the GPU otherwise idle\n", seconds));
  return MeasureGpu(python_, seconds, output_path_);
}

Status CalibrateCommand::CalibrateHost() const {
  constexpr double kUsualSeconds = 6;
  const double seconds = seconds_.value_or(kUsualSeconds);
  std::string path = output_path_;
  if (path.empty()) {
    const std::optional<std::string> local = LocalStatePath(kCalibrationFile);
    if (!local)
      return Status::Usage("neither XDG_STATE_HOME nor HOME is set; name a file with -o FILE");
    path = *local;
  }
  std::optional<LocalStateLock> alone;
  if (output_path_.empty()) {
    Result<LocalStateLock> lock = LocalStateLock::Take(
        path,
        "another `headroom calibrate` is measuring this machine: wait until it ends; two at the "
        "same time distort each other's results");
    if (!lock.ok()) return lock.status();
    alone.emplace(std::move(lock).value());
  }
  Result<Calibration> shipped = Calibration::LoadBuiltIn();
  if (!shipped.ok()) return shipped.status();
  Result<TemporaryFolder> folder = TemporaryFolder::Make();
  if (!folder.ok()) return folder.status();
  if (!quiet_)
    Remark(fmt::format("measuring for up to {:.0f} s; keep the machine otherwise idle\n",
                       4 * seconds));
  Result<nlohmann::json> said = RunLoops(python_, folder.value().path(), seconds);
  if (!said.ok()) return said.status();
  Result<std::map<std::string, Loop>> loops = ReadLoops(said.value());
  if (!loops.ok()) return loops.status();
  const auto loop = [&](const char* name) -> const ProfiledLoop* {
    const auto found = loops.value().find(name);
    return found == loops.value().end() ? nullptr : &found->second.profiled;
  };
  if (loop("operators") == nullptr)
    return Status::Environment("the training loops printed no result");
  ReferenceSpeeds names = shipped.value().loop;
  names.insert(shipped.value().autograd.begin(), shipped.value().autograd.end());
  const Result<MeasuredCosts> costs =
      FitRecordingCost(*loop("operators"), loop("calls"), loop("frames"), names);
  if (!costs.ok()) return costs.status();
  const std::string about = fmt::format("measured on this machine on {}, PyTorch {}", Today(),
                                        said.value().value("torch", "unknown"));
  const std::string text = RenderCalibration(costs.value(), about);
  Status written;
  if (output_path_.empty()) {
    written = ReplaceLocalState(path, text);
  } else {
    Result<AtomicFile> file = AtomicFile::Write(path, text);
    written = file.ok() ? file.value().Commit() : file.status();
  }
  if (!written.ok()) return written;
  return WriteResult(Render(costs.value(), shipped.value(), path, StyleOfPage("")), "");
}

}  // namespace headroom::cli
