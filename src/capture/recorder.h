// Recorder of `headroom record`: collects the events of the program's processes and writes them.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/status.h"
#include "capture/process_handle.h"
#include "capture/recording_file.h"
#include "capture/ring_reader.h"
#include "capture/step_gate.h"
#include "capture/thread_tracks.h"
#include "capture/trace_encoder.h"

namespace headroom {

struct RecorderOptions {
  std::string path = {};  ///< Path of the recording; further processes get `path.<pid>`.
  bool replace = false;   ///< Replaces existing files.
  std::optional<RecordedSteps> steps = {};
  RecordingFile::Limits limits = {.file_bytes = std::int64_t{8} << 30,
                                  .pending_bytes = std::int64_t{256} << 20};
};

/// Result of recording one process.
struct RecordedProcess {
  std::int32_t pid = 0;
  std::string path;
  /// Number of recorded events; a region, mark, value or GPU task counts once.
  std::int64_t events = 0;
  std::int64_t bytes = 0;       ///< Size of its file, including the recorder's own events.
  std::int64_t lost_bytes = 0;  ///< Bytes of packets beyond a limit.
  std::uint64_t drops = 0;      ///< Number of events and regions dropped in the process.
  std::string trouble;          ///< Reason why its file is incomplete; empty if complete.
  bool alive = false;           ///< Still running when the recording ended.
  bool missed_steps = false;    ///< A step window was set, but none of its steps began.
  std::optional<std::int64_t> latest_step;  ///< Latest step; nullopt without a step window.
  std::vector<std::string> warnings;        ///< Reasons why GPU work is missing.
};

/// Listens on a socket and drains the memory of every process that connects. Writes one file per
/// process, flushed every second. The first process with events shares `path` with the recorder's
/// own data: metrics, the list of further files, and losses.
///
/// Uses two threads, one to collect events and one to write files, so that a slow disk does not
/// cause drops.
class Recorder {
 public:
  /// Creates the file and begins to listen.
  static Result<std::unique_ptr<Recorder>> Start(RecorderOptions options);
  /// Stops recording.
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// Value for HEADROOM_SOCKET.
  const std::string& socket_path() const { return socket_path_; }

  /// Calls `write` with the encoder of `path`. No other thread uses the encoder during the call.
  void Write(const std::function<void(TraceEncoder&)>& write);

  /// Returns the remarks for the user since the last call: processes that could not be recorded,
  /// and why.
  std::vector<std::string> Remarks();

  /// Collects and writes the remaining events and closes the files. Returns one entry per file,
  /// that of `path` first. Its pid is 0 if no process had events.
  std::vector<RecordedProcess> Stop();

 private:
  /// A connected process without events so far.
  struct Client {
    ProcessHandle process;
    SharedMemory memory;
    bool is_command = false;  ///< This process started it.
  };
  /// Numbers of events that were dropped or recorded incompletely.
  struct Totals {
    std::uint64_t rings = 0;
    SharedMemory::Drops drops;
    void Add(const RingReader& reader);
    /// Excludes `drops.names`: those events are recorded under another name.
    std::uint64_t Lost() const { return rings + drops.threads + drops.depth; }
  };
  struct Process {
    ProcessHandle handle;
    ThreadTracks threads;
    std::vector<std::unique_ptr<RingReader>> readers;  ///< Empty once all events are collected.
    bool gone = false;                                 ///< Had exited at the last census.
    bool ended = false;  ///< Has exited, and all its events are collected.
  };
  /// A file and its processes: its owner first, then the owner's helpers. Lives as long as the
  /// recorder, because threads hold references.
  struct Recording {
    Recording(RecordingFile f, std::optional<RecordedSteps> steps)
        : file(std::move(f)), gate(steps) {}
    RecordingFile file;  ///< Used by the writing thread only.
    TraceEncoder encoder;
    StepGate gate;
    TraceEncoder::Track self_track = 0;
    /// Empty until a process owns the file. A list, because readers point into it. Ended helpers
    /// are removed.
    std::list<Process> processes;
    Totals past;           ///< Totals of readers that have ended.
    bool ended = false;    ///< All its processes have ended.
    bool closing = false;  ///< Used by the writing thread only: the last packets are collected.
    std::vector<std::string> warnings;  ///< Warnings about its GPU work.
    std::int64_t events = 0;

    Totals totals() const;
    std::atomic<std::int64_t> waiting_bytes = 0;  ///< Bytes collected but not in the file yet.
    std::atomic<std::int64_t> lost_bytes = 0;     ///< Copy for the draining thread.
    std::uint64_t reported_drops = 0;
  };

  explicit Recorder(RecorderOptions options) : options_(std::move(options)) {}

  Status Listen();
  void TakeEvents();  ///< Body of the draining thread.
  void WriteFiles();  ///< Body of the writing thread.
  void Accept();
  void Greet(int connection);
  /// Adds the remark that file descriptors ran out, at most once.
  void RemarkOnDescriptors();
  bool DrainAll();      ///< Returns true if there were events.
  void LookForEnded();  ///< Marks processes that have exited, once per census period.
  void ReleaseEnded();  ///< Releases the memory of processes marked as exited.
  void FlushAll();
  /// A file and one of its processes.
  struct Place {
    Recording* recording = nullptr;  ///< Null if the file could not be created.
    Process* process = nullptr;
  };
  Place PlaceOf(const Client& client);
  /// Returns the recording of the process that a helper works for; null if that process is not
  /// recorded.
  Recording* RecordingForHelper(const Client& helper);
  Process& BeginProcess(Recording& recording, std::int32_t pid);
  static bool Drain(Recording& recording);  ///< Returns true if there were events.
  /// Takes a process that has ended, or is no longer recorded, out of the recording.
  void Finish(Recording& recording, Process& process, TimeNs now);
  TickClock& ClockOf(std::uint32_t clock);
  static void Snapshot(TraceEncoder& encoder);
  void ReportSelf(Recording& recording);
  /// Writes an instant to the track of the recorder's own events.
  static void Mark(Recording& recording, std::string_view name);
  static void Mark(Recording& recording, std::string_view name, TimeNs time);

  RecorderOptions options_;
  std::string folder_, socket_path_;
  int listener_ = -1;
  TimeNs next_snapshot_, next_census_;
  bool looked_for_ended_ = false;  ///< Used by the draining thread only.

  std::mutex mutex_;  ///< Guards all members below.
  std::list<Client> clients_;
  std::deque<Recording> recordings_;  ///< The first is the recording of `path`.
  std::vector<std::string> remarks_;
  bool told_of_descriptors_ = false;  ///< Used by the draining thread only.
  /// One clock per source of ticks, anchored since the recorder's start: a process's first events
  /// are older than its connection.
  std::array<TickClock, 2> clocks_ = {TickClock(HEADROOM_CLOCK_MONOTONIC_RAW),
                                      TickClock(HEADROOM_CLOCK_COUNTER)};
  bool stopping_ = false;
  std::condition_variable wake_writer_;
  std::atomic<bool> stop_taking_ = false;
  std::thread taker_, writer_;
};

}  // namespace headroom
