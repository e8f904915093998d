#include "cli/commands/monitor_command.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/atomic_file.h"
#include "base/private_file.h"
#include "base/read_file.h"
#include "capture/metrics/board/clock.h"
#include "capture/metrics/board/fields.h"
#include "capture/metrics/board/ticker.h"
#include "capture/metrics/descriptions.h"
#include "capture/metrics/system_sampler.h"
#include "cli/flags/value_checks.h"
#include "cli/machine/metrics_server.h"
#include "cli/machine/prometheus_text.h"
#include "cli/terminal/end_signals.h"
#include "cli/terminal/metric_lines.h"
#include "cli/terminal/metric_table.h"
#include "cli/terminal/output.h"
#include "render/escape.h"
#include "serve/loopback.h"

namespace headroom::cli {
namespace {

constexpr double kShortestInterval = 0.1, kLongestInterval = 60;  ///< Seconds.
constexpr int kDefaultPort = 9464;
constexpr double kLongestDuration = 1e9;  ///< Seconds.
constexpr std::size_t kShortestToken = 16;

constexpr const char* kMonitorExamples = R"(Examples:
  headroom monitor                            live, until Ctrl-C
  headroom monitor --pid 4711                 with a process and its children
  headroom monitor --interval 0.1 -o job.jsonl --duration 60
  headroom monitor | jq '.values.cpu_util_simple'   not on a terminal: one JSON line per sample
  headroom monitor --prometheus               http://127.0.0.1:9464/metrics
  headroom monitor --prometheus --bind 0.0.0.0 --token-file token      for other machines
  headroom monitor --list                     the metrics here, with unit and scope

Exit codes: 0 fine, also after Ctrl-C; 2 usage; 4 cannot write, or internal error. docs/metrics.md
explains each metric, and why one can be missing.
)";

DurationNs FromSeconds(double seconds) {
  return DurationNs(static_cast<std::int64_t>(seconds * 1e9));
}

/// Destination of the samples.
class Output {
 public:
  virtual ~Output() = default;
  virtual Status Write(const SystemSampler& sampler, const Reading& reading) = 0;
};

std::string_view LineOf(MetricLines& lines, const SystemSampler& sampler, const Reading& reading) {
  // The line carries the wall-clock time of the sample, not of this call.
  const DurationNs since = MonotonicNow() - reading.time;
  return lines.LineOf(sampler.metrics(), reading, (ReadClock(CLOCK_REALTIME) - since).ns());
}

class FileLines : public Output {
 public:
  explicit FileLines(PrivateFile file) : file_(std::move(file)) {}
  Status Write(const SystemSampler& sampler, const Reading& reading) override {
    return file_.Append(LineOf(lines_, sampler, reading));
  }

 private:
  MetricLines lines_;
  PrivateFile file_;
};

/// Writes to stdout. If the reader closes the pipe, Write() succeeds and reader_left() becomes
/// true.
class PipeLines : public Output {
 public:
  Status Write(const SystemSampler& sampler, const Reading& reading) override {
    const int error = WriteAll(STDOUT_FILENO, LineOf(lines_, sampler, reading));
    reader_left_ = error == EPIPE;
    if (error == 0 || error == EPIPE) return Status::Ok();
    return Status::Environment(fmt::format("cannot write to stdout: {}", std::strerror(error)));
  }
  bool reader_left() const { return reader_left_; }

 private:
  MetricLines lines_;
  bool reader_left_ = false;
};

class Terminal : public Output {
 public:
  Terminal(std::string title, Charset charset) : title_(std::move(title)), charset_(charset) {
    Print("\x1b[?25l");  // Hides the cursor, which would otherwise jump around.
  }
  ~Terminal() override { Print("\x1b[?25h"); }

  Status Write(const SystemSampler& sampler, const Reading& reading) override {
    table_.Add(sampler.metrics(), reading);
    winsize size{};
    const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    const std::size_t width = known ? size.ws_col : 100, height = known ? size.ws_row : 25;
    // Leaves the last line free: a newline there would scroll.
    const std::vector<std::string>& silent = sampler.silent_gpus();
    const std::string title =
        silent.empty() ? title_
                       : fmt::format("{}; no answer from {}", title_, fmt::join(silent, ", "));
    const std::vector<std::string> lines =
        table_.Render(title, width, std::max<std::size_t>(height, 4) - 1, charset_);
    std::string page = drawn_ > 0 ? fmt::format("\r\x1b[{}A", drawn_) : "\r";
    for (const std::string& line : lines) page += line + "\x1b[K\n";
    page += "\x1b[J";
    drawn_ = lines.size();
    Print(page);
    return Status::Ok();
  }

 private:
  static void Print(std::string_view text) { (void)WriteAll(STDOUT_FILENO, text); }

  std::string title_;
  Charset charset_;
  MetricTable table_;
  std::size_t drawn_ = 0;  ///< Lines drawn on the screen.
};

class Exposition : public Output {
 public:
  explicit Exposition(std::unique_ptr<MetricsServer> server) : server_(std::move(server)) {}
  Status Write(const SystemSampler& sampler, const Reading& reading) override {
    server_->Publish(PrometheusText(sampler.metrics(), reading, sampler.gpus()));
    return Status::Ok();
  }

 private:
  std::unique_ptr<MetricsServer> server_;
};

std::string ListOf(const SystemSampler& sampler, Charset charset) {
  std::string text;
  for (const Metric& metric : sampler.metrics()) {
    text +=
        fmt::format("{:<34} {:<8} {:<8} {:<16} {}\n", metric.name, metric.unit, Name(metric.scope),
                    Printable(metric.instance, charset), DescribeMetric(metric.name));
  }
  return text;
}

}  // namespace

MonitorCommand::MonitorCommand(Command parent) {
  command_ = parent.AddCommand("monitor", "Live counters of the machine, its GPUs and a job",
                               kMonitorExamples);
  command_.AddOption("--interval", interval_s_, "Seconds between samples, 0.1 to 60")
      .ShowDefault()
      .TypeName("S")
      .Check(Between(kShortestInterval, kLongestInterval));
  command_.AddOption("--count", count_, "End after N samples")
      .TypeName("N")
      .Check(Between(1, 1e15));
  command_.AddOption("--duration", duration_s_, "End after S seconds")
      .TypeName("S")
      .Check(Between(0, kLongestDuration));
  command_.AddOption("--pid", pid_, "Watch a process and its children; stop when they exit")
      .TypeName("PID")
      .Check(Between(1, 1e9));
  command_
      .AddOption("-o,--output", output_path_,
                 "Write one JSON line per sample to FILE, readable only by its owner")
      .TypeName("FILE")
      .Check(NotEmpty());
  command_.AddFlag("-f,--force", force_, "Replace FILE if it exists");
  command_
      .AddOption(
          "--prometheus", prometheus_port_,
          fmt::format("Serve http://127.0.0.1:PORT/metrics [{}]; 0: any free port", kDefaultPort))
      .TypeName("[PORT]")
      .ValueOr(fmt::format("{}", kDefaultPort))
      .Check(Between(0, 65535));
  command_
      .AddOption(
          "--bind", bind_,
          "Address for --prometheus, such as 0.0.0.0; others than 127.0.0.1 need --token-file")
      .TypeName("ADDRESS")
      .ShowDefault()
      .Check(NotEmpty());
  command_
      .AddOption("--token-file", token_file_,
                 "File with the token that --prometheus then requires: Authorization: Bearer TOKEN")
      .TypeName("FILE")
      .Check(NotEmpty());
  command_.AddFlag("--list", list_, "List the metrics of this machine, and exit");
  command_.AddFlag("-q,--quiet", quiet_, "No remarks on stderr");
}

Result<MetricsAddress> MonitorCommand::Address() const {
  MetricsAddress address = {.address = bind_, .port = prometheus_port_, .token = {}};
  if (token_file_.empty()) {
    if (bind_ == kLoopback || bind_ == "localhost" || bind_ == "::1") return address;
    return Status::Usage(
        fmt::format("--bind {}: other machines can read this address, so --token-file is required; "
                    "`openssl rand -hex 16 > token` makes a token",
                    bind_));
  }
  std::error_code unknown;
  if (std::filesystem::exists(token_file_, unknown) &&
      !std::filesystem::is_regular_file(token_file_, unknown))
    return Status::Usage(fmt::format("--token-file {}: is not a regular file", token_file_));
  Result<std::string> text = ReadRequiredFile("--token-file", token_file_);
  if (!text.ok()) return text.status();
  address.token = text.value();
  while (!address.token.empty() && (address.token.back() == '\n' || address.token.back() == '\r'))
    address.token.pop_back();
  if (address.token.size() < kShortestToken ||
      std::any_of(address.token.begin(), address.token.end(),
                  [](char c) { return c <= ' ' || c > '~'; }))
    return Status::Usage(
        fmt::format("--token-file {}: requires one line of at least {} letters, digits and signs",
                    token_file_, kShortestToken));
  return address;
}

Status MonitorCommand::Run() {
  for (const char* const flag : {"--bind", "--token-file"}) {
    if (command_.is_given(flag) && !command_.is_given("--prometheus"))
      return Status::Usage(fmt::format("{}: requires --prometheus", flag));
  }
  prometheus_ = command_.is_given("--prometheus");
  SamplerOptions options;
  options.process = pid_;
  options.period = FromSeconds(interval_s_);
  if (pid_) {
    struct stat info {};
    if (stat(fmt::format("/proc/{}", *pid_).c_str(), &info) != 0)
      return Status::Usage(fmt::format("--pid {}: there is no such process", *pid_));
  }
  SetVisibleDevices(pid_, options);

  const EndSignals signals;
  const Charset charset = CharsetOfEnvironment();
  std::vector<std::unique_ptr<Output>> outputs;
  PipeLines* pipe = nullptr;
  bool tells_of_silence = !quiet_;
  std::set<std::string> told_silent;
  const bool to_file = !output_path_.empty() && output_path_ != "-";
  if (!list_) {
    // Before a file is created or replaced.
    const Result<MetricsAddress> address = Address();
    if (prometheus_ && !address.ok()) return address.status();
    if (to_file) {
      Result<PrivateFile> file = PrivateFile::Create(output_path_, force_);
      if (!file.ok()) return file.status();
      outputs.push_back(std::make_unique<FileLines>(std::move(file).value()));
    }
    if (prometheus_) {
      Result<std::unique_ptr<MetricsServer>> server = MetricsServer::Start(address.value());
      if (!server.ok()) return server.status();
      if (!quiet_) {
        const bool is_v6 = bind_.find(':') != std::string::npos;
        Remark(fmt::format("http://{}:{}/metrics\n", is_v6 ? fmt::format("[{}]", bind_) : bind_,
                           server.value()->port()));
      }
      outputs.push_back(std::make_unique<Exposition>(std::move(server).value()));
    }
    if (output_path_ != "-" && isatty(STDOUT_FILENO) == 1) {
      outputs.push_back(std::make_unique<Terminal>(
          fmt::format("headroom monitor, every {} s; Ctrl-C ends it", interval_s_), charset));
      tells_of_silence = false;  // The title reports it.
    } else if (outputs.empty() || output_path_ == "-") {
      auto lines = std::make_unique<PipeLines>();
      pipe = lines.get();
      outputs.push_back(std::move(lines));
    }
  }

  SystemSampler sampler(std::move(options));
  if (list_) {
    sampler.Sample();  // The first sample adds devices and network interfaces.
    return WriteResult(ListOf(sampler, charset), "");
  }
  const TimeNs begin = MonotonicNow();
  const TimeNs end = duration_s_ ? begin + FromSeconds(*duration_s_) : TimeNs(INT64_MAX);
  Ticker ticker(begin, FromSeconds(interval_s_));
  bool last = false;
  for (std::int64_t taken = 1;; ++taken) {
    const Reading& reading = last ? sampler.SampleLast() : sampler.Sample();
    for (const std::string& gpu : sampler.silent_gpus()) {
      if (!tells_of_silence || !told_silent.insert(gpu).second) continue;
      Remark(
          fmt::format("{} does not answer: its metrics are missing until it does (check with "
                      "nvidia-smi or rocm-smi)\n",
                      gpu));
    }
    for (const std::unique_ptr<Output>& output : outputs) {
      if (Status status = output->Write(sampler, reading); !status.ok()) return status;
    }
    if (last || sampler.tree_is_gone() || (count_ && taken >= *count_) ||
        (pipe != nullptr && pipe->reader_left())) {
      return Status::Ok();
    }
    ticker.Advance(MonotonicNow());
    last = signals.Wait(std::min(end, ticker.next())) || end <= ticker.next();
  }
}

}  // namespace headroom::cli
