#include "capture/recorder.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/read_file.h"
#include "capture/metrics/board/clock.h"
#include "capture/metrics/host/process_files.h"
#include "headroom/detail/clock.h"

namespace headroom {
namespace {

constexpr std::chrono::milliseconds kFlushEvery{1000};
constexpr DurationNs kSnapshotEvery{10'000'000'000};
constexpr DurationNs kCensusEvery{1'000'000'000};
/// Size of unwritten packets of one file above which the writer flushes early, to limit memory.
constexpr std::int64_t kFlushBytes = std::int64_t{4} << 20;
/// Longest pauses between drains. At 2 million regions per second, a ring of 8 MiB fills in 131 ms.
constexpr int kBusyWaitMs = 5, kIdleWaitMs = 30;

std::string StatOf(std::int32_t pid) {
  const Result<std::optional<std::string>> read = ReadFile(fmt::format("/proc/{}/stat", pid));
  return read.ok() ? read.value().value_or("") : "";
}

/// Returns the name of a process; empty if the process does not exist.
std::string CommOf(std::int32_t pid) {
  const std::string text = StatOf(pid);
  const std::optional<ProcessStat> stat = ParseProcessStat(text);
  return std::string(stat ? stat->name : "");
}

/// Returns the parent's pid of a process; -1 if the process does not exist.
std::int32_t ParentOf(std::int32_t pid) {
  const std::string text = StatOf(pid);
  const std::optional<ProcessStat> stat = ParseProcessStat(text);
  return stat ? static_cast<std::int32_t>(stat->parent) : -1;
}

/// Returns the time at which a process started, to 10 ms; nullopt if it does not exist.
std::optional<TimeNs> StartOf(std::int32_t pid) {
  const std::string text = StatOf(pid);
  const std::optional<ProcessStat> stat = ParseProcessStat(text);
  const std::int64_t ticks_per_second = sysconf(_SC_CLK_TCK);
  if (!stat || ticks_per_second <= 0) return std::nullopt;
  const TimeNs since_boot(static_cast<std::int64_t>(stat->start_ticks) *
                          (1'000'000'000 / ticks_per_second));
  return MonotonicNow() - (ReadClock(CLOCK_BOOTTIME) - since_boot);
}

/// Rank and number of ranks from the launcher's environment variables; -1 if not stated.
struct RankOf {
  std::int64_t rank = -1, world_size = -1;
};

RankOf ReadRank(std::int32_t pid) {
  // Innermost launcher first: an mpirun inside a Slurm job assigns its own ranks.
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kVariables = {{
      {"RANK=", "WORLD_SIZE="},
      {"OMPI_COMM_WORLD_RANK=", "OMPI_COMM_WORLD_SIZE="},
      {"PMI_RANK=", "PMI_SIZE="},
      {"SLURM_PROCID=", "SLURM_NTASKS="},
  }};
  std::array<RankOf, kVariables.size()> found;
  std::ifstream file(fmt::format("/proc/{}/environ", pid), std::ios::binary);
  for (std::string entry; std::getline(file, entry, '\0');) {
    const auto read = [&](std::string_view prefix, std::int64_t& into) {
      if (entry.starts_with(prefix))
        std::from_chars(entry.data() + prefix.size(), entry.data() + entry.size(), into);
    };
    for (std::size_t i = 0; i < kVariables.size(); ++i) {
      read(kVariables[i].first, found[i].rank);
      read(kVariables[i].second, found[i].world_size);
    }
  }
  const auto told =
      std::find_if(found.begin(), found.end(), [](const RankOf& of) { return of.rank >= 0; });
  return told != found.end() ? *told : RankOf();
}

/// Returns the files FILE.PID of an earlier recording, which reports would add to the
/// new one.
std::vector<std::string> FurtherFilesOf(const std::string& path) {
  namespace fs = std::filesystem;
  const fs::path whole(path);
  const std::string prefix = whole.filename().string() + ".";
  std::vector<std::string> found;
  std::error_code error;
  const fs::path folder = whole.has_parent_path() ? whole.parent_path() : fs::path(".");
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(prefix) || name.size() == prefix.size() ||
        name.find_first_not_of("0123456789", prefix.size()) != std::string::npos ||
        !fs::is_regular_file(entry->symlink_status()))
      continue;
    constexpr std::size_t kHead = 4096;
    std::string head(kHead, '\0');
    std::ifstream file(entry->path(), std::ios::binary);
    file.read(head.data(), static_cast<std::streamsize>(head.size()));
    head.resize(static_cast<std::size_t>(file.gcount()));
    if (head.find("headroom") != std::string::npos && head.find("recording") != std::string::npos)
      found.push_back((whole.parent_path() / name).string());
  }
  return found;
}

}  // namespace

Result<std::unique_ptr<Recorder>> Recorder::Start(RecorderOptions options) {
  std::unique_ptr<Recorder> recorder(new Recorder(std::move(options)));
  for (const std::string& earlier : FurtherFilesOf(recorder->options_.path)) {
    if (!recorder->options_.replace)
      return RecordingFile::Create(earlier, false, recorder->options_.limits).status();
    std::error_code error;
    std::filesystem::remove(earlier, error);  // A file that stays is only read with the new ones.
  }
  Result<RecordingFile> file = RecordingFile::Create(
      recorder->options_.path, recorder->options_.replace, recorder->options_.limits);
  if (!file.ok()) return file.status();
  Recording& main =
      recorder->recordings_.emplace_back(std::move(file).value(), recorder->options_.steps);
  Snapshot(main.encoder);
  main.self_track = main.encoder.ChildTrack(0, "headroom");
  Mark(main, "recording");
  // Makes the file a valid trace from the start, even if the recording is interrupted.
  main.file.Append(main.encoder.Take());
  main.file.Flush();
  if (!main.file.trouble().empty()) {
    return Status::Environment(fmt::format("cannot write {}: {}; choose another file with -o",
                                           main.file.path(), main.file.trouble()));
  }
  if (Status status = recorder->Listen(); !status.ok()) return status;
  recorder->next_snapshot_ = MonotonicNow() + kSnapshotEvery;
  try {
    recorder->taker_ = std::thread([r = recorder.get()] { r->TakeEvents(); });
    recorder->writer_ = std::thread([r = recorder.get()] { r->WriteFiles(); });
  } catch (const std::system_error& error) {
    return Status::Environment(
        fmt::format("cannot start the recorder's threads: {}; check `ulimit -u` and `ulimit -v`",
                    error.code().message()));
  }
  return recorder;
}

Recorder::~Recorder() {
  Stop();
  if (listener_ >= 0) close(listener_);
  if (!socket_path_.empty()) unlink(socket_path_.c_str());
  if (!folder_.empty()) rmdir(folder_.c_str());
}

Status Recorder::Listen() {
  // A private folder: any process that can connect can write into the recording.
  const char* root = std::getenv("XDG_RUNTIME_DIR");
  folder_ = fmt::format("{}/headroom-XXXXXX", root != nullptr && root[0] == '/' ? root : "/tmp");
  if (mkdtemp(folder_.data()) == nullptr) {
    folder_ = "/tmp/headroom-XXXXXX";
    if (mkdtemp(folder_.data()) == nullptr) {
      folder_.clear();
      return Status::Environment(
          fmt::format("cannot create a folder in /tmp for a socket: {}", std::strerror(errno)));
    }
  }
  socket_path_ = folder_ + "/socket";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_path_.size() >= sizeof address.sun_path) {
    return Status::Environment(fmt::format(
        "{} is too long for a socket; set XDG_RUNTIME_DIR to a shorter folder", socket_path_));
  }
  std::memcpy(address.sun_path, socket_path_.c_str(), socket_path_.size() + 1);
  listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener_ < 0 ||
      bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(listener_, 128) != 0) {
    return Status::Environment(
        fmt::format("cannot listen on {}: {}", socket_path_, std::strerror(errno)));
  }
  return Status::Ok();
}

void Recorder::Snapshot(TraceEncoder& encoder) {
  encoder.ClockSnapshot(MonotonicNow(), ReadClock(CLOCK_BOOTTIME), ReadClock(CLOCK_REALTIME));
}

void Recorder::Accept() {
  for (;;) {
    const int connection = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) {
      // Out of descriptors: the connection stays in the queue, and polling would return
      // immediately.
      if (errno == EMFILE || errno == ENFILE) {
        RemarkOnDescriptors();
        std::this_thread::sleep_for(std::chrono::milliseconds(kIdleWaitMs));
      }
      return;
    }
    Greet(connection);
    close(connection);
  }
}

void Recorder::RemarkOnDescriptors() {
  if (std::exchange(told_of_descriptors_, true)) return;
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const std::lock_guard lock(mutex_);
  remarks_.push_back(
      fmt::format("some processes or their first events are missing: the recorder can open only {} "
                  "files; raise `ulimit -n`",
                  limit.rlim_cur));
}

void Recorder::Greet(int connection) {
  // A timer sends its message when it connects. A peer that sends nothing is not a timer, so the
  // wait is short.
  const timeval patience{.tv_sec = 0, .tv_usec = 100'000};
  setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  ucred peer{};
  socklen_t size = sizeof peer;
  std::uint64_t hello = 0;
  iovec part{.iov_base = &hello, .iov_len = sizeof hello};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(4 * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const bool heard = getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
                     recvmsg(connection, &message, MSG_CMSG_CLOEXEC) == sizeof hello &&
                     hello == HEADROOM_SHARED_MAGIC;
  std::vector<int> received;
  for (cmsghdr* rights = CMSG_FIRSTHDR(&message); rights != nullptr;
       rights = CMSG_NXTHDR(&message, rights)) {
    if (rights->cmsg_level != SOL_SOCKET || rights->cmsg_type != SCM_RIGHTS) continue;
    for (std::size_t at = CMSG_LEN(0); at + sizeof(int) <= rights->cmsg_len; at += sizeof(int)) {
      int descriptor = -1;
      std::memcpy(&descriptor, reinterpret_cast<const char*>(rights) + at, sizeof descriptor);
      received.push_back(descriptor);
    }
  }
  // The kernel omits descriptors above the limit.
  if (heard && received.empty() && (message.msg_flags & MSG_CTRUNC) != 0) RemarkOnDescriptors();
  if (!heard || received.size() != 1) {
    for (const int descriptor : received) close(descriptor);
    return;
  }
  Result<SharedMemory> mapped = SharedMemory::Map(received.front());
  const std::lock_guard lock(mutex_);
  if (peer.pid <= 0) {
    remarks_.emplace_back(
        "a process of another container is not recorded: its pid is unknown; run headroom record "
        "in "
        "that container");
  } else if (!mapped.ok()) {
    remarks_.push_back(
        fmt::format("process {} is not recorded: {}", peer.pid, mapped.status().message()));
  } else {
    clients_.push_back(Client{ProcessHandle(peer.pid), std::move(mapped).value(),
                              ParentOf(peer.pid) == static_cast<std::int32_t>(getpid())});
  }
}

TickClock& Recorder::ClockOf(std::uint32_t clock) {
  return clocks_[clock == HEADROOM_CLOCK_COUNTER ? 1 : 0];
}

Recorder::Recording* Recorder::RecordingForHelper(const Client& helper) {
  const std::int32_t own = helper.process.pid();
  // In the same PID namespace, uses the pid that the helper states, because the helper's parent may
  // have exited already.
  std::int32_t pid = helper.memory.pid() == own ? helper.memory.HelperOf() : ParentOf(own);
  constexpr int kMaxAncestors = 16;  // A fork server may be in between.
  for (int i = 0; i < kMaxAncestors && pid > 1; ++i, pid = ParentOf(pid)) {
    for (Recording& recording : recordings_) {
      if (recording.ended) continue;
      for (const Process& process : recording.processes) {
        if (process.handle.pid() == pid && !process.ended) return &recording;
      }
    }
  }
  return nullptr;
}

Recorder::Place Recorder::PlaceOf(const Client& client) {
  const std::int32_t pid = client.process.pid();
  for (Recording& recording : recordings_) {
    for (Process& process : recording.processes) {
      // An ended process may have had the same pid.
      if (process.handle.pid() == pid && !process.ended) return {&recording, &process};
    }
  }
  if (client.memory.HelperOf() != 0) {
    if (Recording* of = RecordingForHelper(client)) return {of, &BeginProcess(*of, pid)};
  }
  Recording& main = recordings_.front();
  if (main.processes.empty()) return {&main, &BeginProcess(main, pid)};
  Result<RecordingFile> file = RecordingFile::Create(fmt::format("{}.{}", options_.path, pid),
                                                     options_.replace, options_.limits);
  if (!file.ok()) {
    remarks_.push_back(fmt::format("process {} is not recorded: {}", pid, file.status().message()));
    return {};
  }
  const std::array<TraceArg, 2> args{TraceArg{"pid", std::int64_t{pid}},
                                     TraceArg{"file", std::string_view(file.value().path())}};
  main.encoder.Instant(main.self_track, MonotonicNow(), main.encoder.Intern("process"),
                       main.encoder.Category("headroom"), args);
  Recording& recording = recordings_.emplace_back(std::move(file).value(), options_.steps);
  Snapshot(recording.encoder);
  recording.self_track = recording.encoder.ChildTrack(0, "headroom");
  Mark(recording, "recording");
  return {&recording, &BeginProcess(recording, pid)};
}

Recorder::Process& Recorder::BeginProcess(Recording& recording, std::int32_t pid) {
  const TraceEncoder::Track track = recording.encoder.ProcessTrack(pid, CommOf(pid));
  Process& process = recording.processes.emplace_back(
      Process{ProcessHandle(pid), ThreadTracks(&recording.encoder, track, pid), {}});
  if (recording.processes.size() > 1) return process;  // A helper has the rank of the file's owner.
  // With a step window, most of the process's time is not recorded.
  const std::optional<TimeNs> start = options_.steps ? std::nullopt : StartOf(pid);
  if (start) Mark(recording, "process started", *start);
  const RankOf rank = ReadRank(pid);
  if (rank.rank < 0) return process;
  const std::array<TraceArg, 2> args{TraceArg{"rank", rank.rank},
                                     TraceArg{"world_size", rank.world_size}};
  recording.encoder.Instant(recording.self_track, MonotonicNow(), recording.encoder.Intern("rank"),
                            recording.encoder.Category("headroom"),
                            std::span(args.data(), rank.world_size > 0 ? 2 : 1));
  return process;
}

bool Recorder::DrainAll() {
  const std::lock_guard lock(mutex_);
  for (auto at = clients_.begin(); at != clients_.end();) {
    Client& client = *at;
    // Checked before the rings: if the process has ended, the heads read below are final.
    const bool alive = client.process.IsAlive();
    // Every program that imports a framework has stacks, also a launcher. They alone make a
    // recording only for the command itself, if it is the only process.
    const bool is_alone = client.is_command && !alive && recordings_.front().processes.empty();
    bool told = false;
    for (std::uint32_t i = 0; i < client.memory.rings() && !told; ++i) {
      const headroom_ring* ring = client.memory.ring(i);
      told = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE) > 0 &&
             (is_alone || ring->kind != HEADROOM_RING_STACKS);
    }
    if (!told && alive) {
      ++at;
      continue;
    }
    if (const Place place = told ? PlaceOf(client) : Place{}; place.recording != nullptr) {
      const TickClock& clock = ClockOf(client.memory.clock());
      place.process->readers.push_back(std::make_unique<RingReader>(
          std::move(client.memory), &clock, &place.process->threads, &place.recording->gate));
    }
    at = clients_.erase(at);
  }

  for (TickClock& clock : clocks_) clock.Anchor();
  bool any = false, much = false;
  for (Recording& recording : recordings_) {
    // Above half of the pending limit, leaves events in their rings, which count drops when full.
    // One drain must not exceed the limit: after one refusal, the file refuses all packets.
    if (recording.waiting_bytes + static_cast<std::int64_t>(recording.encoder.size()) >
        options_.limits.pending_bytes / 2)
      continue;
    any |= Drain(recording);
    much |= static_cast<std::int64_t>(recording.encoder.size()) > kFlushBytes;
  }
  ReleaseEnded();
  if (much) wake_writer_.notify_one();
  return any;
}

bool Recorder::Drain(Recording& recording) {
  for (const Process& process : recording.processes) {
    for (const auto& reader : process.readers) reader->Look();
  }
  std::int64_t events = 0;
  for (const Process& process : recording.processes) {
    for (const auto& reader : process.readers) events += reader->Drain();
  }
  recording.events += events;
  return events > 0;
}

void Recorder::LookForEnded() {
  const std::lock_guard lock(mutex_);
  const TimeNs now = MonotonicNow();
  if (now < next_census_) return;
  next_census_ = now + kCensusEvery;
  looked_for_ended_ = true;
  for (Recording& recording : recordings_) {
    if (recording.ended) continue;
    for (Process& process : recording.processes)
      process.gone = !process.ended && !process.handle.IsAlive();
  }
}

void Recorder::ReleaseEnded() {
  if (!std::exchange(looked_for_ended_, false)) return;
  for (TickClock& clock : clocks_) clock.Anchor();
  for (Recording& recording : recordings_) {
    if (recording.ended || recording.processes.empty()) continue;
    bool drained = false, alive = false;
    for (Process& process : recording.processes) {
      if (process.ended) continue;
      // A process without readers may be a fork that has no events yet: it is still a client.
      if (process.readers.empty() || !process.gone) {
        alive = true;
        continue;
      }
      if (!std::exchange(drained, true)) Drain(recording);
      Finish(recording, process, MonotonicNow());
    }
    // An epoch's workers end with it, and a job may have thousands of epochs.
    const Process* const own = &recording.processes.front();
    std::erase_if(recording.processes, [&](const Process& p) { return p.ended && &p != own; });
    if (alive) continue;
    ReportSelf(recording);
    recording.ended = true;
    // The first file still receives metrics and the names of further processes.
    if (&recording != &recordings_.front()) Mark(recording, "closed");
  }
}

void Recorder::Finish(Recording& recording, Process& process, TimeNs now) {
  const bool helper = &process != &recording.processes.front();
  for (const auto& reader : process.readers) {
    reader->Finish();
    if (helper) reader->CloseOpen();
    recording.past.Add(*reader);
    for (const std::string& warning : reader->warnings()) recording.warnings.push_back(warning);
  }
  process.readers.clear();
  process.ended = true;
  if (!helper && !options_.steps && !process.handle.IsAlive())
    Mark(recording, "process ended", now);
}

void Recorder::Mark(Recording& recording, std::string_view name) {
  Mark(recording, name, MonotonicNow());
}

void Recorder::Mark(Recording& recording, std::string_view name, TimeNs time) {
  recording.encoder.Instant(recording.self_track, time, recording.encoder.Intern(name),
                            recording.encoder.Category("headroom"), {});
}

void Recorder::TakeEvents() {
  bool busy = false;
  while (!stop_taking_) {
    // Runs before Accept(): waiting connections may come from helpers of processes that have just
    // exited. DrainAll() adds those helpers to the file before it ends the file.
    LookForEnded();
    pollfd wait{.fd = listener_, .events = POLLIN, .revents = 0};
    if (poll(&wait, 1, busy ? kBusyWaitMs : kIdleWaitMs) > 0) Accept();
    busy = DrainAll();
  }
  Accept();
  DrainAll();
}

void Recorder::FlushAll() {
  // Pointers into the deque `recordings_` stay valid while recordings are added.
  std::vector<std::pair<Recording*, std::string>> taken;
  {
    const std::lock_guard lock(mutex_);
    const TimeNs now = MonotonicNow();
    const bool snapshot = now >= next_snapshot_;
    if (snapshot) next_snapshot_ = now + kSnapshotEvery;
    for (Recording& recording : recordings_) {
      if (recording.closing && recording.waiting_bytes == 0) continue;
      recording.closing = recording.ended && &recording != &recordings_.front();
      if (snapshot && !recording.ended) Snapshot(recording.encoder);
      if (recording.totals().Lost() != recording.reported_drops) ReportSelf(recording);
      taken.emplace_back(&recording, recording.encoder.Take());
      recording.waiting_bytes =
          recording.waiting_bytes + static_cast<std::int64_t>(taken.back().second.size());
    }
  }
  for (auto& [recording, packets] : taken) {
    recording->file.Append(std::move(packets));
    recording->file.Flush();
    recording->waiting_bytes = recording->file.pending_bytes();
    recording->lost_bytes = recording->file.lost_bytes();
    // Closes files early: a job may start thousands of processes, one after the other.
    if (recording->closing && recording->file.pending_bytes() == 0) recording->file.Close();
  }
}

void Recorder::WriteFiles() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    wake_writer_.wait_for(lock, kFlushEvery);
    lock.unlock();
    FlushAll();
    lock.lock();
  }
}

void Recorder::Totals::Add(const RingReader& reader) {
  const SharedMemory::Drops d = reader.drops();
  rings += reader.ring_drops();
  drops.threads += d.threads;
  drops.depth += d.depth;
  drops.names += d.names;
  drops.unmatched += d.unmatched;
}

Recorder::Totals Recorder::Recording::totals() const {
  Totals totals = past;
  for (const Process& process : processes) {
    for (const auto& reader : process.readers) totals.Add(*reader);
  }
  return totals;
}

void Recorder::ReportSelf(Recording& recording) {
  const Totals totals = recording.totals();
  const bool counter = headroom_impl_has_counter() != 0;
  const TickClock& ticks = ClockOf(counter ? HEADROOM_CLOCK_COUNTER : HEADROOM_CLOCK_MONOTONIC_RAW);
  const SharedMemory::Drops& drops = totals.drops;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto ms = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_usec) / 1e3;
  };
  const auto count = [](std::uint64_t n) { return static_cast<std::int64_t>(n); };
  const std::array<TraceArg, 11> args{
      TraceArg{"events", recording.events},
      TraceArg{"dropped", count(totals.Lost())},
      TraceArg{"dropped_events", count(totals.rings)},
      TraceArg{"dropped_threads", count(drops.threads)},
      TraceArg{"dropped_depth", count(drops.depth)},
      TraceArg{"dropped_names", count(drops.names)},
      TraceArg{"unmatched_ends", count(drops.unmatched)},
      TraceArg{"lost_bytes", recording.lost_bytes.load()},
      TraceArg{"clock", std::string_view(counter ? "tsc" : "monotonic-raw")},
      TraceArg{"clock_residual_ns", ticks.residual().ns()},
      TraceArg{"recorder_cpu_ms", ms(usage.ru_utime) + ms(usage.ru_stime)}};
  recording.encoder.Instant(recording.self_track, MonotonicNow(), recording.encoder.Intern("self"),
                            recording.encoder.Category("headroom"), args);
  recording.reported_drops = totals.Lost();
}

void Recorder::Write(const std::function<void(TraceEncoder&)>& write) {
  const std::lock_guard lock(mutex_);
  write(recordings_.front().encoder);
}

std::vector<RecordedProcess> Recorder::Stop() {
  std::vector<RecordedProcess> processes;
  if (!taker_.joinable()) return processes;
  const TimeNs stopped = MonotonicNow();
  stop_taking_ = true;
  taker_.join();
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    wake_writer_.notify_one();
  }
  if (!writer_.joinable()) return processes;  // The writing thread could not be started.
  writer_.join();
  std::vector<bool> alive;
  for (Recording& recording : recordings_) {
    alive.push_back(!recording.processes.empty() && recording.processes.front().handle.IsAlive());
    const bool further = &recording != &recordings_.front();
    if (!recording.ended) {
      for (Process& process : recording.processes) Finish(recording, process, stopped);
      if (!recording.processes.empty()) ReportSelf(recording);
    }
    if (!recording.ended || !further) Mark(recording, "closed");
  }
  FlushAll();
  for (Recording& recording : recordings_) {
    processes.push_back(
        {.pid = recording.processes.empty() ? 0 : recording.processes.front().handle.pid(),
         .path = recording.file.path(),
         .events = recording.events,
         .bytes = recording.file.bytes(),
         .lost_bytes = recording.file.lost_bytes() + recording.file.pending_bytes(),
         .drops = recording.totals().Lost(),
         .trouble = recording.file.trouble(),
         .alive = alive[processes.size()],
         .missed_steps = recording.gate.missed(),
         .latest_step = recording.gate.latest(),
         .warnings = recording.warnings});
  }
  clients_.clear();
  return processes;
}

std::vector<std::string> Recorder::Remarks() {
  const std::lock_guard lock(mutex_);
  return std::exchange(remarks_, {});
}

}  // namespace headroom
