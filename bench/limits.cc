// limits: the maximum speed of this machine, on one core, for the basic work of any JSON trace
// reader.
//
// Headroom's time means little without these limits, measured in the same run on the same files.
// Each limit leaves out work that a reader needs, so no full report can reach one: the newline scan
// ignores JSON, the structural pass ignores values, and On-Demand keeps nothing. Every limit
// computes a value, which is compared with the numbers of replicate_trace or of a slow, simple
// method. A wrong value makes the exit code 1.
//
// Built for this machine (-march=native), because simdjson's On-Demand selects its kernel at
// compile time. A trace must have the text layout of the PyTorch profiler, because the chunked pass
// finds the ends of events by their indentation.
#include <fcntl.h>
#include <isa-l/igzip_lib.h>
#include <simdjson.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <ctime>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace headroom {
namespace {

constexpr std::size_t kReadBytes = 1 << 20;
constexpr std::size_t kInflateBytes = 256 << 10;

double Seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// A file opened for reading, closed at the end of the scope.
class File {
 public:
  explicit File(const std::string& path) : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  bool good() const { return fd_ >= 0; }
  std::size_t size() const {
    struct stat info {};
    return fstat(fd_, &info) == 0 ? static_cast<std::size_t>(info.st_size) : 0;
  }
  /// Reads up to `size` bytes. Returns the number read; 0 at the end and on an error.
  std::size_t Read(void* to, std::size_t size) {
    std::size_t done = 0;
    while (done < size) {
      const ssize_t got = read(fd_, static_cast<char*>(to) + done, size - done);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  }

 private:
  int fd_;
};

/// Results of a pass over a trace. Fields that the pass does not compute stay 0.
struct Found {
  std::int64_t bytes = 0;
  std::int64_t count = 0;  ///< Newlines, structural characters or events, by pass.
  std::int64_t dur_sum_ns = 0;
  const char* error = nullptr;  ///< Reason why the pass failed; never freed.
};

Found ReadBlocks(const std::string& path) {
  File file(path);
  std::vector<char> block(kReadBytes);
  Found found;
  while (const std::size_t got = file.Read(block.data(), block.size()))
    found.bytes += static_cast<std::int64_t>(got);
  return found;
}

Found Inflate(const std::string& path) {
  File file(path);
  std::vector<std::uint8_t> in(kInflateBytes);
  std::vector<std::uint8_t> out(kInflateBytes);
  auto state = std::make_unique<inflate_state>();
  isal_inflate_init(state.get());
  state->crc_flag = ISAL_GZIP;  // Checks the member's CRC and length.
  Found found;
  while (state->block_state != ISAL_BLOCK_FINISH) {
    if (state->avail_in == 0) {
      state->next_in = in.data();
      state->avail_in = static_cast<std::uint32_t>(file.Read(in.data(), in.size()));
      if (state->avail_in == 0) break;
    }
    state->next_out = out.data();
    state->avail_out = static_cast<std::uint32_t>(out.size());
    if (isal_inflate(state.get()) != ISAL_DECOMP_OK) break;
    found.bytes += static_cast<std::int64_t>(out.size() - state->avail_out);
  }
  if (state->block_state != ISAL_BLOCK_FINISH) found.error = "not a complete gzip file";
  return found;
}

Found ScanNewlines(std::string_view text) {
  Found found;
  const char* at = text.data();
  const char* end = at + text.size();
  while (
      (at = static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at))))) {
    ++at;
    ++found.count;
  }
  found.bytes = static_cast<std::int64_t>(text.size());
  return found;
}

Found FindStructure(std::string_view text, simdjson::internal::dom_parser_implementation& parser) {
  Found found;
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  const auto error = parser.stage1(bytes, text.size(), simdjson::stage1_mode::regular);
  if (error) found.error = simdjson::error_message(error);
  found.count = parser.n_structural_indexes;
  found.bytes = static_cast<std::int64_t>(text.size());
  return found;
}

/// Returns the same count, one character at a time: brackets, colons and commas outside strings,
/// and the first character of each string and scalar.
std::int64_t CountStructureSlowly(std::string_view text) {
  std::int64_t count = 0;
  bool in_scalar = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    switch (c) {
      case '"':
        ++count;
        for (++i; text[i] != '"'; ++i) i += text[i] == '\\';
        in_scalar = false;
        break;
      case '{':
      case '}':
      case '[':
      case ']':
      case ':':
      case ',':
        ++count;
        in_scalar = false;
        break;
      case ' ':
      case '\t':
      case '\n':
      case '\r':
        in_scalar = false;
        break;
      default:
        count += !in_scalar;
        in_scalar = true;
    }
  }
  return count;
}

/// Converts microseconds with up to three decimals to nanoseconds.
std::int64_t ParseNs(std::string_view text) {
  std::int64_t value = 0;
  std::size_t i = 0;
  for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i)
    value = value * 10 + (text[i] - '0');
  std::int64_t decimals = 3;
  if (i < text.size() && text[i] == '.') {
    for (++i; i < text.size() && text[i] >= '0' && text[i] <= '9' && decimals > 0;
         ++i, --decimals) {
      value = value * 10 + (text[i] - '0');
    }
  }
  for (; decimals > 0; --decimals) value *= 10;
  return value;
}

/// Gives each distinct string a number, like a reader's string table. Open addressing.
class NameTable {
 public:
  NameTable() : slots_(1 << 16) {}

  std::size_t Intern(std::string_view name) {
    std::size_t slot = std::hash<std::string_view>()(name) % slots_.size();
    while (!slots_[slot].empty() && slots_[slot] != name) slot = (slot + 1) % slots_.size();
    if (slots_[slot].empty() && ++size_ < slots_.size() / 2) slots_[slot] = name;
    return slot;
  }

 private:
  std::vector<std::string> slots_;
  std::size_t size_ = 0;
};

namespace od = simdjson::ondemand;

/// Returns the text of a number, without the trailing white space of raw_json_token().
std::string_view NumberText(od::value value) { return value.raw_json_token(); }

std::int64_t IntegerOrZero(od::value value) {
  std::int64_t integer = 0;
  return value.get_int64().get(integer) == simdjson::SUCCESS ? integer : 0;
}

/// Reads the fields of each event that a report needs. Adds each `dur` to `found`. Other values go
/// into a sum, so that the compiler cannot remove them.
void ReadEvents(od::array events, NameTable& names, Found& found, std::uint64_t& kept) {
  for (od::object event : events) {
    bool has_duration = false;
    std::int64_t dur_ns = 0;
    for (auto field : event) {
      const od::raw_json_string key = field.key();
      od::value value = field.value();
      if (key.unsafe_is_equal("ph")) {
        const std::string_view phase = value.raw_json_token();
        has_duration = phase.size() > 1 && phase[1] == 'X';
      } else if (key.unsafe_is_equal("dur")) {
        dur_ns = ParseNs(NumberText(value));
      } else if (key.unsafe_is_equal("ts")) {
        kept += static_cast<std::uint64_t>(ParseNs(NumberText(value)));
      } else if (key.unsafe_is_equal("name") || key.unsafe_is_equal("cat")) {
        std::string_view name = value.raw_json_token();
        name = name.substr(0, name.find_last_of('"') + 1);
        kept += static_cast<std::uint64_t>(names.Intern(name));
      } else if (key.unsafe_is_equal("pid") || key.unsafe_is_equal("tid") ||
                 key.unsafe_is_equal("id")) {
        kept += static_cast<std::uint64_t>(IntegerOrZero(value));
      } else if (key.unsafe_is_equal("args")) {
        for (auto argument : value.get_object()) {
          const od::raw_json_string arg = argument.key();
          if (arg.unsafe_is_equal("correlation") || arg.unsafe_is_equal("stream") ||
              arg.unsafe_is_equal("External id")) {
            kept += static_cast<std::uint64_t>(IntegerOrZero(argument.value()));
          }
        }
      }
    }
    if (has_duration) found.dur_sum_ns += dur_ns;
    ++found.count;
  }
}

Found OnDemandWhole(const simdjson::padded_string& text, od::parser& parser) {
  Found found;
  std::uint64_t kept = 0;
  NameTable names;
  try {
    od::document document = parser.iterate(text);
    ReadEvents(document.find_field("traceEvents").get_array(), names, found, kept);
  } catch (const simdjson::simdjson_error& error) {
    found.error = simdjson::error_message(error.error());
  }
  if (kept == 0) found.error = "no field found";
  found.bytes = static_cast<std::int64_t>(text.size());
  return found;
}

/// Reads the same fields in one pass over the file with constant memory, at the speed of a
/// streaming reader on one core with simdjson. Reads a block, cuts it after its last whole event,
/// makes an array of it, reads the fields, and carries the rest over.
Found OnDemandChunks(const std::string& path) {
  constexpr std::string_view kBetween = "\n  },\n  {";  // The profiler's indentation between
                                                        // events.
  constexpr std::string_view kEnd = "\n  }\n  ]";
  constexpr std::size_t kCut = 4;  // Offset in both strings, just after the closing brace.
  Found found;
  std::uint64_t kept = 0;
  NameTable names;
  od::parser parser;
  std::vector<char> buffer(4 * kReadBytes + simdjson::SIMDJSON_PADDING);
  File file(path);
  std::size_t begin = 1;  // Leaves one place for the '['.
  std::size_t used = begin + file.Read(buffer.data() + begin, kReadBytes);
  found.bytes = static_cast<std::int64_t>(used - begin);
  const std::string_view first(buffer.data(), used);
  const std::size_t events = first.find("\"traceEvents\"");
  const std::size_t bracket = events == first.npos ? first.npos : first.find('[', events);
  if (bracket == first.npos) return {.error = "no traceEvents in the first block"};
  begin = bracket + 1;
  try {
    for (bool last = false; !last;) {
      const std::string_view text(buffer.data() + begin, used - begin);
      std::size_t cut = text.rfind(kBetween);
      const std::size_t end = text.find(kEnd, cut == text.npos ? 0 : cut);
      last = end != text.npos;
      if (last) cut = end;
      if (cut == text.npos) return {.error = "no end of an event in a block"};
      cut += kCut;
      // Overwrites both places only during the call, as a reader would do.
      char* array = buffer.data() + begin - 1;
      const char after = array[cut + 1];
      array[0] = '[';
      array[cut + 1] = ']';
      od::document document = parser.iterate(array, cut + 2, buffer.size() - (begin - 1));
      ReadEvents(document.get_array(), names, found, kept);
      array[cut + 1] = after;
      std::size_t rest = begin + cut;
      if (!last) {
        while (buffer[rest] != '{') ++rest;
      }
      const std::size_t carried = used - rest;
      std::memmove(buffer.data() + 1, buffer.data() + rest, carried);
      begin = 1;
      used = begin + carried;
      const std::size_t got =
          file.Read(buffer.data() + used,
                    std::min(kReadBytes, buffer.size() - simdjson::SIMDJSON_PADDING - used));
      used += got;
      found.bytes += static_cast<std::int64_t>(got);
      if (got == 0 && !last) return {.error = "the array of events does not end"};
    }
    while (const std::size_t got = file.Read(buffer.data(), kReadBytes))
      found.bytes += static_cast<std::int64_t>(got);
  } catch (const simdjson::simdjson_error& error) {
    found.error = simdjson::error_message(error.error());
  }
  if (kept == 0) found.error = "no field found";
  return found;
}

Found Copy(std::string_view text, std::vector<char>& to) {
  const std::size_t size = std::min(text.size(), to.size());
  std::size_t done = 0;
  for (; done < text.size(); done += size) {
    std::memcpy(to.data(), text.data() + done, std::min(size, text.size() - done));
  }
  const std::size_t tail = text.size() - (done - size);
  Found found;
  found.bytes = static_cast<std::int64_t>(text.size());
  if (std::memcmp(to.data(), text.data() + done - size, tail) != 0)
    found.error = "the copy differs";
  return found;
}

/// Touches memory that the kernel must first provide. Every new byte of a store costs this in
/// addition to its writing.
Found TouchFreshMemory(std::size_t size, bool huge_pages) {
  constexpr std::size_t kPageBytes = 4096;
  Found found;
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return {.error = "out of memory"};
  if (huge_pages) madvise(memory, size, MADV_HUGEPAGE);
  auto* bytes = static_cast<volatile char*>(memory);
  for (std::size_t at = 0; at < size; at += kPageBytes) {
    bytes[at] = 1;
    ++found.count;
  }
  munmap(memory, size);
  found.bytes = static_cast<std::int64_t>(size);
  return found;
}

/// A limit: a pass, its expected result, and its times.
struct Limit {
  std::string name;
  std::function<Found()> pass;
  Found expected;
  std::string checked_against;
  Found found = {};
  std::vector<double> wall_s = {};
  std::vector<double> cpu_s = {};
};

/// Runs all passes in turn. An unmeasured first round allocates shared buffers and fills the page
/// cache.
void Measure(int repetitions, std::vector<Limit>& limits) {
  for (Limit& limit : limits) limit.pass();
  for (int i = 0; i < repetitions; ++i) {
    for (Limit& limit : limits) {
      const double wall = Seconds(CLOCK_MONOTONIC);
      const double cpu = Seconds(CLOCK_THREAD_CPUTIME_ID);
      limit.found = limit.pass();
      limit.cpu_s.push_back(Seconds(CLOCK_THREAD_CPUTIME_ID) - cpu);
      limit.wall_s.push_back(Seconds(CLOCK_MONOTONIC) - wall);
    }
  }
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

nlohmann::ordered_json ToJson(const Limit& limit, bool good) {
  const double megabytes = static_cast<double>(limit.found.bytes) / 1e6;
  const double best = *std::min_element(limit.wall_s.begin(), limit.wall_s.end());
  const double median = Median(limit.wall_s);
  return {{"name", limit.name},
          {"mb_per_s", megabytes / median},
          {"best_mb_per_s", megabytes / best},
          {"seconds", median},
          {"best_seconds", best},
          {"cpu_seconds", Median(limit.cpu_s)},
          {"bytes", limit.found.bytes},
          {"count", limit.found.count},
          {"dur_sum_ns", limit.found.dur_sum_ns},
          {"checked_against", limit.checked_against},
          {"good", good},
          {"error", limit.found.error == nullptr ? "" : limit.found.error}};
}

Status Run(int argc, char** argv, bool& all_good) {
  CLI::App app("Measures the speed limits of JSON trace readers on this machine, on one core.");
  std::string plain, packed;
  int repetitions = 3;
  std::int64_t events = 0;
  std::int64_t dur_sum_ns = 0;
  bool slow_check = false;
  app.add_option("FILE", plain, "PyTorch-profiler trace, not compressed")->required();
  app.add_option("FILE.gz", packed, "the same trace, gzip");
  app.add_option("--repetitions", repetitions, "passes of each kind, in turn")
      ->check(CLI::PositiveNumber);
  app.add_option("--events", events, "events that the trace holds, from replicate_trace");
  app.add_option("--dur-sum-ns", dur_sum_ns, "sum of all dur, from replicate_trace");
  app.add_flag("--slow-check", slow_check, "count the structural characters one by one, too");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (app.exit(error) == 0) std::exit(0);
    return Status::Usage("see limits --help");
  }
  if (!File(plain).good()) return Status::BadInput("cannot open " + plain);
  if (!packed.empty() && !File(packed).good()) return Status::BadInput("cannot open " + packed);

  // Before any large allocation: a virtual machine may have returned free memory to its host. These
  // passes should get the memory that the unmeasured ones have just obtained.
  std::vector<Limit> all;
  constexpr std::int64_t kFreshBytes = 256 << 20;
  for (const bool huge : {false, true}) {
    all.push_back({huge ? "fresh_memory_huge_pages" : "fresh_memory",
                   [huge] { return TouchFreshMemory(kFreshBytes, huge); },
                   {.bytes = kFreshBytes, .count = kFreshBytes / 4096},
                   "number of pages"});
  }
  Measure(repetitions, all);

  simdjson::padded_string text;
  if (const auto error = simdjson::padded_string::load(plain).get(text)) {
    return Status::BadInput("cannot read " + plain + ": " + simdjson::error_message(error));
  }
  const std::string_view view = text;
  const auto size = static_cast<std::int64_t>(view.size());
  std::unique_ptr<simdjson::internal::dom_parser_implementation> structure;
  if (simdjson::get_active_implementation()->create_dom_parser_implementation(view.size(), 64,
                                                                              structure)) {
    return Status::Environment("simdjson cannot take a document of " + std::to_string(size) +
                               " bytes (its limit is 4 GiB)");
  }
  od::parser parser;
  std::vector<char> copy_to(256 << 20);

  std::vector<Limit> limits;
  limits.push_back(
      {"read", [&] { return ReadBlocks(plain); }, {.bytes = size}, "size of the file"});
  limits.push_back({"copy", [&] { return Copy(view, copy_to); }, {.bytes = size}, "the text"});
  limits.push_back({"newlines",
                    [&] { return ScanNewlines(view); },
                    {.bytes = size, .count = std::count(view.begin(), view.end(), '\n')},
                    "std::count"});
  limits.push_back({"structure",
                    [&] { return FindStructure(view, *structure); },
                    {.bytes = size, .count = slow_check ? CountStructureSlowly(view) : 0},
                    slow_check ? "count one by one" : ""});
  const Found expected{.bytes = size, .count = events, .dur_sum_ns = dur_sum_ns};
  const std::string source = events > 0 && dur_sum_ns > 0 ? "replicate_trace" : "";
  limits.push_back(
      {"ondemand_whole", [&] { return OnDemandWhole(text, parser); }, expected, source});
  limits.push_back({"ondemand_chunks", [&] { return OnDemandChunks(plain); }, expected, source});
  if (!packed.empty()) {
    limits.push_back(
        {"inflate", [&] { return Inflate(packed); }, {.bytes = size}, "size of the file"});
  }

  Measure(repetitions, limits);
  std::move(limits.begin(), limits.end(), std::back_inserter(all));

  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Limit& limit : all) {
    const Found& e = limit.expected;
    const Found& f = limit.found;
    const bool good = f.error == nullptr && f.bytes == e.bytes &&
                      (e.count == 0 || f.count == e.count) &&
                      (e.dur_sum_ns == 0 || f.dur_sum_ns == e.dur_sum_ns);
    all_good = all_good && good;
    rows.push_back(ToJson(limit, good));
  }
  const std::string simdjson_version = std::to_string(simdjson::SIMDJSON_VERSION_MAJOR) + "." +
                                       std::to_string(simdjson::SIMDJSON_VERSION_MINOR) + "." +
                                       std::to_string(simdjson::SIMDJSON_VERSION_REVISION);
  const nlohmann::ordered_json result = {
      {"bytes", size},
      {"repetitions", repetitions},
      {"simdjson", simdjson_version},
      {"kernel", simdjson::get_active_implementation()->name()},
      {"ondemand_kernel", SIMDJSON_STRINGIFY(SIMDJSON_BUILTIN_IMPLEMENTATION)},
      {"limits", rows}};
  std::printf("%s\n", result.dump(2).c_str());
  return Status::Ok();
}

}  // namespace
}  // namespace headroom

int main(int argc, char** argv) {
  bool all_good = true;
  const headroom::Status status = headroom::Run(argc, argv, all_good);
  if (!status.ok()) {
    std::fprintf(stderr, "limits: %s\n", status.message().c_str());
    return status.code() == headroom::StatusCode::kUsage ? 2 : 3;
  }
  if (!all_good) std::fprintf(stderr, "limits: a result is wrong, see \"good\": false\n");
  return all_good ? 0 : 1;
}
