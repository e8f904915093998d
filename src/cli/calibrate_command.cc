#include "cli/calibrate_command.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>
#include <vector>

#include "base/atomic_file.h"
#include "base/local_state.h"
#include "cli/calibration_choice.h"
#include "cli/help.h"
#include "cli/output.h"
#include "embedded/calibration_programs.h"
#include "ingest/open_trace.h"
#include "report/escape.h"
#include "report/text_page.h"
#include "whatif/fit_calibration.h"

namespace headroom::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kExamples = R"(Examples:
  headroom calibrate --host                 for all later traces of this machine
  headroom calibrate --host -o cluster.toml
  headroom whatif trace.json.gz --calibration cluster.toml

Run it where the traces come from, with the Python that trains there, while the machine does nothing
else. Exit codes: 0 fine; 2 usage, or no Python with PyTorch; 4 cannot measure or write.
)";

/// A folder of our own that is gone afterwards.
class TemporaryFolder {
 public:
  static Result<TemporaryFolder> Make() {
    std::error_code error;
    const fs::path root = fs::temp_directory_path(error);
    std::string name = ((error ? fs::path("/tmp") : root) / "headroom-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr)
      return Status::Internal(
          fmt::format("cannot make a folder {}: {}", name, std::strerror(errno)));
    return TemporaryFolder(std::move(name));
  }
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }

  const std::string& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

std::string TextOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

/// The last line that is not empty.
std::string LastLine(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

/// Runs the training loops; what the program prints.
Result<nlohmann::json> RunLoops(const std::string& python, const std::string& folder,
                                double seconds) {
  const std::string program = folder + "/calibrate_host.py", errors = folder + "/stderr";
  {
    std::ofstream file(program, std::ios::binary);
    file << CalibrationPrograms().front().content;
    if (!file.flush()) return Status::Internal(fmt::format("cannot write {}", program));
  }
  const std::string command =
      fmt::format("{} {} {} {} 2>{}", ShellQuote(python), ShellQuote(program), ShellQuote(folder),
                  seconds, ShellQuote(errors));
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr)
    return Status::Internal(fmt::format("cannot run {}: {}", python, std::strerror(errno)));
  std::string printed;
  std::array<char, 4096> buffer{};
  for (std::size_t n = 0; (n = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    printed.append(buffer.data(), n);
  const int ended = pclose(pipe);
  if (ended == -1 || !WIFEXITED(ended) || WEXITSTATUS(ended) != 0) {
    return Status::Usage(
        fmt::format("{} could not run the training loops: {}; --python names a Python that has "
                    "PyTorch",
                    python, LastLine(TextOf(errors))));
  }
  nlohmann::json said = nlohmann::json::parse(LastLine(printed), nullptr, false);
  if (!said.is_object() || !said.contains("loops"))
    return Status::Internal("the training loops printed no result");
  return said;
}

/// A loop and the trace that it stands on.
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
                   bool color, Charset charset) {
  TextPage page(color, charset);
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
      "not measured: this PyTorch records none");
  page.Table({{"cost of", TableColumn::Kind::kText},
              {"here"},
              {"shipped default"},
              {"", TableColumn::Kind::kText}},
             rows);
  page.Blank();
  page.Paragraph("  ",
                 fmt::format("Written to {}. Machine: {}. whatif uses it for traces of machines "
                             "with these GPUs.",
                             Printable(path, charset), Printable(costs.machine, charset)));
  return std::move(page).Take();
}

}  // namespace

CalibrateCommand::CalibrateCommand(CLI::App& parent) {
  app_ = parent.add_subcommand("calibrate", "Measure what forecasts need to know of this machine");
  app_->footer(kExamples);
  app_->add_flag("--host", host_, "Cost of recording, from short training loops in PyTorch");
  app_->add_option("-o,--output", output_path_, "Write there, not where later runs find it")
      ->type_name("FILE");
  app_->add_option("--python", python_, "Python that has PyTorch")->type_name("PATH");
  app_->add_option("--seconds", seconds_, "Time for each of up to three loops")
      ->type_name("N")
      ->check(AboveZero, "");
  app_->add_flag("-q,--quiet", quiet_, "No remarks on stderr");
}

Status CalibrateCommand::Run() {
  if (!host_) return Status::Usage("what to calibrate is missing: headroom calibrate --host");
  std::string path = output_path_;
  if (path.empty()) {
    const std::optional<std::string> local = LocalStatePath(kCalibrationFile);
    if (!local)
      return Status::Usage("neither XDG_STATE_HOME nor HOME is set; name a file with -o FILE");
    path = *local;
  }
  Result<Calibration> shipped = Calibration::LoadBuiltIn();
  if (!shipped.ok()) return shipped.status();
  Result<TemporaryFolder> folder = TemporaryFolder::Make();
  if (!folder.ok()) return folder.status();
  if (!quiet_)
    Remark(
        fmt::format("measuring, up to {:.0f} s; let the machine do nothing else\n", 4 * seconds_));
  Result<nlohmann::json> said = RunLoops(python_, folder.value().path(), seconds_);
  if (!said.ok()) return said.status();
  Result<std::map<std::string, Loop>> loops = ReadLoops(said.value());
  if (!loops.ok()) return loops.status();
  const auto loop = [&](const char* name) -> const ProfiledLoop* {
    const auto found = loops.value().find(name);
    return found == loops.value().end() ? nullptr : &found->second.profiled;
  };
  if (loop("operators") == nullptr) return Status::Internal("the training loops printed no result");
  ReferenceSpeeds names = shipped.value().loop;
  names.insert(shipped.value().autograd.begin(), shipped.value().autograd.end());
  const Result<MeasuredCosts> costs =
      FitRecordingCost(*loop("operators"), loop("calls"), loop("frames"), names);
  if (!costs.ok()) return costs.status();
  const std::string about = fmt::format("measured on this machine on {}, PyTorch {}", Today(),
                                        said.value().value("torch", "unknown"));
  std::error_code error;
  const fs::path parent = fs::path(path).parent_path();
  if (output_path_.empty()) fs::create_directories(parent, error);
  if (error)
    return Status::Internal(fmt::format("cannot make {}: {}", parent.string(), error.message()));
  Result<AtomicFile> file = AtomicFile::Write(path, RenderCalibration(costs.value(), about));
  if (!file.ok()) return file.status();
  if (Status status = file.value().Commit(); !status.ok()) return status;
  return WriteResult(Render(costs.value(), shipped.value(), path, UseColor(ColorMode::kAuto, ""),
                            CharsetOfEnvironment()),
                     "");
}

}  // namespace headroom::cli
