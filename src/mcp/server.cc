#include "mcp/server.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <list>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "base/atomic_file.h"
#include "mcp/command_run.h"
#include "mcp/fit_json.h"
#include "mcp/message.h"

namespace headroom::mcp {
namespace {

using Clock = std::chrono::steady_clock;
using json = nlohmann::ordered_json;

/// Versions with an `initialize` request, oldest first. For an unknown version, the server answers
/// with the newest.
constexpr std::array<std::string_view, 4> kVersions = {"2024-11-05", "2025-03-26", "2025-06-18",
                                                       "2025-11-25"};
/// The version without `initialize`: each request carries all data that its answer needs.
constexpr std::string_view kStateless = "2026-07-28";
constexpr std::string_view kVersionKey = "io.modelcontextprotocol/protocolVersion";
constexpr std::string_view kCapabilitiesKey = "io.modelcontextprotocol/clientCapabilities";
constexpr std::string_view kServerKey = "io.modelcontextprotocol/serverInfo";
/// The tools never change while the server runs; a client may cache them this long.
constexpr int kFreshMs = 300'000;
/// Versions up to this one have batches.
constexpr std::string_view kLastWithBatches = "2025-03-26";
constexpr std::size_t kMaxRunning = 4;
constexpr std::size_t kMaxWaiting = 256;
constexpr std::string_view kMoreText =
    "\n[The rest is omitted: request less, or see `left_out`.]\n";

/// Answers that are sent together.
struct Batch {
  json answers = json::array();
  std::size_t missing = 0;
};

/// A request, and the version of the protocol for its answer.
struct Request {
  const Message& message;
  std::shared_ptr<Batch> batch;  ///< nullptr: a single request.
  std::string_view version;

  bool is_stateless() const { return version == kStateless; }
};

struct Call {
  json id;
  bool is_stateless = false;
  const Tool* tool = nullptr;
  ToolCall commands;
  std::shared_ptr<Batch> batch = {};   ///< nullptr: a single request.
  std::optional<CommandRun> run = {};  ///< nullopt: not running.
  std::optional<json> answer = {};     ///< Output of the first command while the second runs.
};

json TextContent(std::string text) {
  return {{"content", {{{"type", "text"}, {"text", std::move(text)}}}}};
}

json Failure(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  json result = TextContent(text.empty() ? "headroom: the command failed without a message"
                                         : std::move(text));
  result["isError"] = true;
  return result;
}

std::string CompactText(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

class Server {
 public:
  Server(int in, int out, const ServerOptions& options, const std::vector<Tool>& tools)
      : in_(in), out_(out), options_(options), tools_(tools) {}

  Status Run() {
    while (failed_.ok() && !is_unheard_ && (in_ >= 0 || !calls_.empty())) {
      StartCalls();
      Await();
    }
    return failed_;
  }

 private:
  /// Waits for input, output or a timeout, and handles it.
  void Await() {
    std::vector<pollfd> polled;
    polled.push_back({.fd = out_, .events = 0, .revents = 0});
    // Stops reading from a client while too many calls wait.
    const bool is_full = calls_.size() >= kMaxWaiting;
    polled.push_back({.fd = is_full ? -1 : in_, .events = POLLIN, .revents = 0});
    std::optional<Clock::time_point> next;
    for (const Call& call : calls_) {
      if (!call.run) continue;
      polled.push_back({.fd = call.run->out(), .events = POLLIN, .revents = 0});
      polled.push_back({.fd = call.run->err(), .events = POLLIN, .revents = 0});
      const Clock::time_point end = call.run->started() + options_.time_limit;
      next = next ? std::min(*next, end) : end;
    }
    int wait = -1;
    if (next) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*next - Clock::now()).count();
      wait = static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000));
    }
    if (poll(polled.data(), polled.size(), wait) < 0) return;  // Interrupted by a signal.
    if ((polled[0].revents & (POLLERR | POLLNVAL)) != 0) is_unheard_ = true;
    if (polled[1].revents != 0) ReadInput();
    TakeOutputs();
  }

  void ReadInput() {
    std::array<char, std::size_t{64} << 10> buffer;
    const ssize_t size = read(in_, buffer.data(), buffer.size());
    if (size < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (size <= 0) {
      in_ = -1;
      if (!line_.empty()) HandleLine(std::exchange(line_, {}));  // The last line has no line break.
      return;
    }
    std::string_view bytes(buffer.data(), static_cast<std::size_t>(size));
    while (!bytes.empty()) {
      const std::size_t end = bytes.find('\n');
      const std::string_view piece = bytes.substr(0, end);
      if (!is_too_long_ && line_.size() + piece.size() > kLongestLine) {
        is_too_long_ = true;
        line_.clear();
        Send(ErrorAnswer(
            {}, kInvalidRequest,
            fmt::format("Invalid Request: the line is longer than {} bytes", kLongestLine)));
      }
      if (!is_too_long_) line_ += piece;
      if (end == std::string_view::npos) return;
      if (!std::exchange(is_too_long_, false)) HandleLine(std::exchange(line_, {}));
      bytes.remove_prefix(end + 1);
    }
  }

  void HandleLine(const std::string& line) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) return;
    Line parsed = ParseLine(line);
    if (parsed.is_batch && version_ > kLastWithBatches) {
      Send(ErrorAnswer({}, kInvalidRequest, NoBatches(version_)));
      return;
    }
    std::shared_ptr<Batch> batch;
    if (parsed.is_batch) {
      batch = std::make_shared<Batch>();
      for (const Message& message : parsed.messages)
        batch->missing += message.is_request || !message.error.empty() ? 1 : 0;
    }
    for (const Message& message : parsed.messages) Handle(message, batch);
  }

  void Handle(const Message& message, const std::shared_ptr<Batch>& batch) {
    const auto refuse = [&](int code, const std::string& why, json data = {}) {
      Reply(ErrorAnswer(message.id, code, why, std::move(data)), batch);
    };
    if (!message.error.empty()) return refuse(message.error_code, message.error);
    if (!message.is_request) return Notice(message);
    if (message.method == "initialize") {
      if (batch)
        return refuse(kInvalidRequest, "Invalid Request: initialize must not be in a batch");
      return Initialize(message);
    }
    Request request = {.message = message, .batch = batch, .version = version_};
    const bool is_stateless = Meta(message, kVersionKey) != nullptr;
    if (is_stateless) {
      const json& asked = *Meta(message, kVersionKey);
      if (!asked.is_string()) {
        return refuse(kInvalidParams,
                      fmt::format("Invalid params: {} is not a string", kVersionKey));
      }
      if (asked != kStateless) {
        return refuse(kUnsupportedVersion, "Unsupported protocol version",
                      {{"supported", Supported()}, {"requested", asked}});
      }
      const json* capabilities = Meta(message, kCapabilitiesKey);
      if (capabilities == nullptr || !capabilities->is_object()) {
        return refuse(kInvalidParams, fmt::format("Invalid params: _meta requires {}, an object",
                                                  kCapabilitiesKey));
      }
      if (batch) return refuse(kInvalidRequest, NoBatches(kStateless));
      request.version = kStateless;
    }
    if (message.method == "server/discover") {
      if (is_stateless) return Discover(request);
      return refuse(kInvalidParams, fmt::format("Invalid params: _meta has no {}", kVersionKey));
    }
    if (message.method == "ping" && !is_stateless)
      return Reply(Answer(message.id, json::object()), batch);
    if (request.version.empty()) {
      return refuse(kInvalidRequest,
                    fmt::format("Invalid Request: send initialize first, or put {} ({}) into _meta",
                                kVersionKey, kStateless));
    }
    if (message.method == "tools/list") return ListTools(request);
    if (message.method == "tools/call") return CallTool(request);
    refuse(kMethodNotFound, "Method not found: " + message.method.substr(0, 100));
  }

  /// Returns nullptr if the request's _meta has no such member.
  static const json* Meta(const Message& message, std::string_view key) {
    const auto meta = message.params.find("_meta");
    if (meta == message.params.end() || !meta->is_object()) return nullptr;
    const auto value = meta->find(key);
    return value != meta->end() ? &*value : nullptr;
  }

  static std::string NoBatches(std::string_view version) {
    return fmt::format("Invalid Request: protocol {} has no batches", version);
  }

  /// Returns the supported versions, newest first.
  static json Supported() {
    json versions = json::array();
    for (const std::string_view version : kVersions) versions.push_back(version);
    versions.push_back(kStateless);
    std::reverse(versions.begin(), versions.end());
    return versions;
  }

  json ServerInfo() const {
    return {{"name", "headroom"}, {"title", "Headroom"}, {"version", options_.version}};
  }

  /// Returns the answer to a request.
  json ResultAnswer(const json& id, bool is_stateless, json result) const {
    if (is_stateless) {
      result["resultType"] = "complete";
      result["_meta"] = {{kServerKey, ServerInfo()}};
    }
    return Answer(id, std::move(result));
  }

  void Discover(const Request& request) {
    // The instructions name folders of this machine.
    Reply(ResultAnswer(request.message.id, request.is_stateless(),
                       {{"supportedVersions", Supported()},
                        {"capabilities", {{"tools", json::object()}}},
                        {"instructions", options_.instructions},
                        {"ttlMs", kFreshMs},
                        {"cacheScope", "private"}}),
          request.batch);
  }

  void Notice(const Message& message) {
    if (message.method != "notifications/cancelled") return;
    const auto id = message.params.find("requestId");
    if (id == message.params.end()) return;
    const auto found = std::find_if(calls_.begin(), calls_.end(),
                                    [&](const Call& call) { return call.id == *id; });
    if (found == calls_.end()) return;  // Already answered.
    if (found->batch) Leave(*found->batch);
    calls_.erase(found);  // Ends its command. A cancelled request gets no answer.
  }

  void Initialize(const Message& message) {
    const auto asked = message.params.find("protocolVersion");
    if (asked == message.params.end() || !asked->is_string()) {
      return Send(ErrorAnswer(message.id, kInvalidParams,
                              "Invalid params: protocolVersion is not a string"));
    }
    const auto known = std::find(kVersions.begin(), kVersions.end(), asked->get<std::string>());
    version_ = known == kVersions.end() ? kVersions.back() : *known;
    Send(Answer(message.id, {{"protocolVersion", version_},
                             {"capabilities", {{"tools", json::object()}}},
                             {"serverInfo", ServerInfo()},
                             {"instructions", options_.instructions}}));
  }

  void ListTools(const Request& request) {
    const Message& message = request.message;
    if (message.params.contains("cursor")) {
      return Reply(
          ErrorAnswer(message.id, kInvalidParams, "Invalid params: there is only one page"),
          request.batch);
    }
    json tools = json::array();
    for (const Tool& tool : tools_) {
      json row = {{"name", tool.name},
                  {"description", tool.description},
                  {"inputSchema", tool.input_schema}};
      if (request.version > "2025-03-26") row["title"] = tool.title;
      if (request.version > "2024-11-05")
        row["annotations"] = {
            {"title", tool.title}, {"readOnlyHint", true}, {"openWorldHint", false}};
      if (request.version > "2025-03-26") row["outputSchema"] = tool.output_schema;
      tools.push_back(std::move(row));
    }
    json result = {{"tools", std::move(tools)}};
    if (request.is_stateless()) {
      result["ttlMs"] = kFreshMs;
      result["cacheScope"] = "private";
    }
    Reply(ResultAnswer(message.id, request.is_stateless(), std::move(result)), request.batch);
  }

  void CallTool(const Request& request) {
    const Message& message = request.message;
    const std::shared_ptr<Batch>& batch = request.batch;
    const auto refuse = [&](int code, const std::string& why) {
      Reply(ErrorAnswer(message.id, code, why), batch);
    };
    const auto name = message.params.find("name");
    if (name == message.params.end() || !name->is_string())
      return refuse(kInvalidParams, "Invalid params: name is not a string");
    const auto& asked = name->get_ref<const std::string&>();
    const auto tool = std::find_if(tools_.begin(), tools_.end(),
                                   [&](const Tool& one) { return one.name == asked; });
    if (tool == tools_.end()) {
      std::vector<std::string> names;
      for (const Tool& one : tools_) names.push_back(one.name);
      return refuse(kInvalidParams, fmt::format("Unknown tool: {}; the tools are {}",
                                                asked.substr(0, 100), fmt::join(names, ", ")));
    }
    if (std::any_of(calls_.begin(), calls_.end(),
                    [&](const Call& call) { return call.id == message.id; }))
      return refuse(kInvalidRequest,
                    "Invalid Request: another request with this id is still running");
    const auto arguments = message.params.find("arguments");
    const bool has_arguments = arguments != message.params.end() && !arguments->is_null();
    if (has_arguments && !arguments->is_object())
      return refuse(kInvalidParams, "Invalid params: arguments is not an object");
    Result<ToolCall> commands = tool->prepare(has_arguments ? *arguments : json::object());
    if (!commands.ok()) {
      return Reply(ResultAnswer(message.id, request.is_stateless(),
                                Failure("headroom: " + commands.status().message())),
                   batch);
    }
    calls_.push_back({.id = message.id,
                      .is_stateless = request.is_stateless(),
                      .tool = &*tool,
                      .commands = std::move(commands).value(),
                      .batch = batch});
  }

  void StartCalls() {
    auto running = static_cast<std::size_t>(std::count_if(
        calls_.begin(), calls_.end(), [](const Call& call) { return call.run.has_value(); }));
    for (auto call = calls_.begin(); call != calls_.end() && running < kMaxRunning;) {
      const auto here = call++;
      if (here->run) continue;
      if (StartCommand(*here, here->commands.json))
        ++running;
      else
        calls_.erase(here);
    }
  }

  /// Starts a command. If that fails, answers the call and returns false.
  bool StartCommand(Call& call, const std::vector<std::string>& arguments) {
    Result<CommandRun> run = CommandRun::Start(arguments);
    if (!run.ok()) {
      Finish(call, Failure("headroom: " + run.status().message()));
      return false;
    }
    call.run = std::move(run).value();
    return true;
  }

  void TakeOutputs() {
    for (auto call = calls_.begin(); call != calls_.end();) {
      const auto here = call++;
      if (here->run && !Continue(*here)) calls_.erase(here);
    }
  }

  /// Reads the command's output. Returns false once the call is answered.
  bool Continue(Call& call) {
    if (Status status = call.run->Take(); !status.ok()) {
      Finish(call, Failure("headroom: " + status.message()));
      return false;
    }
    if (const std::optional<int> code = call.run->ExitCode()) return GoOn(call, *code);
    if (Clock::now() < call.run->started() + options_.time_limit) return true;
    Finish(call, Failure(fmt::format("headroom: {}: stopped after {:g} s; use a trace with fewer "
                                     "steps, or start headroom mcp with a longer --timeout",
                                     call.tool->name,
                                     std::chrono::duration<double>(options_.time_limit).count())));
    return false;
  }

  /// Handles the end of a command. Returns false once the call is answered.
  bool GoOn(Call& call, int code) {
    std::string remarks = std::move(call.run->remarks());
    if (code != 0) {
      if (remarks.empty()) remarks = fmt::format("headroom: the command ended with code {}", code);
      Finish(call, Failure(FitText(std::move(remarks), options_.max_bytes, "\n[...]")));
      return false;
    }
    std::string printed = std::move(call.run->printed());
    if (call.answer) {
      FinishWhole(call, std::move(printed));
      return false;
    }
    json answer = json::parse(printed, nullptr, /*allow_exceptions=*/false);
    if (answer.is_discarded()) {  // Not JSON: lists, such as that of scenarios, are plain text.
      Finish(call, TextContent(FitText(std::move(printed), options_.max_bytes, "\n[...]\n")));
      return false;
    }
    if (call.commands.select || call.commands.text.empty()) {
      FinishPart(call, answer);
      return false;
    }
    call.answer = std::move(answer);
    return StartCommand(call, call.commands.text);
  }

  void FinishWhole(Call& call, std::string text) {
    // Reserves at least a third for the text. The object gets the rest, and the text may also use
    // the space that the object leaves.
    const std::size_t least = std::min(text.size(), options_.max_bytes / 3);
    json object = FitJson(*call.answer, options_.max_bytes - least);
    text = FitText(std::move(text), options_.max_bytes - CompactText(object).size(),
                   std::string(kMoreText));
    json result = TextContent(std::move(text));
    result["structuredContent"] = std::move(object);
    Finish(call, std::move(result));
  }

  void FinishPart(Call& call, const json& answer) {
    // Repeats the object as text, for clients that show the model only text.
    const std::size_t room = options_.max_bytes / 2;
    json object;
    if (call.commands.select) {
      Result<json> part = SelectJson(answer, *call.commands.select, call.commands.from, room);
      if (!part.ok()) return Finish(call, Failure("headroom: " + part.status().message()));
      object = std::move(part).value();
    } else {
      object = FitJson(answer, room);
    }
    json result = TextContent(CompactText(object));
    result["structuredContent"] = std::move(object);
    Finish(call, std::move(result));
  }

  void Finish(Call& call, json result) {
    call.run.reset();  // Ends the process before the answer is sent.
    if (!result.contains("isError")) result["isError"] = false;
    Reply(ResultAnswer(call.id, call.is_stateless, std::move(result)), call.batch);
  }

  void Reply(json answer, const std::shared_ptr<Batch>& batch) {
    if (!batch) return Send(answer);
    batch->answers.push_back(std::move(answer));
    Leave(*batch);
  }

  /// Counts one message of a batch as complete, and sends the answers after the last one.
  void Leave(Batch& batch) {
    if (--batch.missing == 0 && !batch.answers.empty()) Send(batch.answers);
  }

  void Send(const json& answer) {
    const int error = WriteAll(out_, LineOf(answer));
    if (error == EPIPE) is_unheard_ = true;
    if (error != 0 && error != EPIPE)
      failed_ =
          Status::Environment(fmt::format("cannot write to stdout: {}", std::strerror(error)));
  }

  int in_, out_;  ///< in_ is -1 at end of file.
  const ServerOptions& options_;
  const std::vector<Tool>& tools_;
  std::string line_ = {};  ///< Received part of the next line.
  bool is_too_long_ = false;
  std::string version_ = {};  ///< Protocol version; empty before initialize.
  std::list<Call> calls_ = {};
  bool is_unheard_ = false;  ///< The client no longer reads answers.
  Status failed_ = {};
};

}  // namespace

Status Serve(int in, int out, const ServerOptions& options, const std::vector<Tool>& tools) {
  return Server(in, out, options, tools).Run();
}

}  // namespace headroom::mcp
