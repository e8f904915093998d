// What `headroom record` does beside the program: takes the events of its processes, and writes.
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
  std::string path = {};  ///< Of the recording; further processes get `path.<pid>`.
  bool replace = false;   ///< Files that are there already.
  std::optional<RecordedSteps> steps = {};
  RecordingFile::Limits limits = {.file_bytes = std::int64_t{8} << 30,
                                  .pending_bytes = std::int64_t{256} << 20};
};

/// What became of one process.
struct RecordedProcess {
  std::int32_t pid = 0;
  std::string path;
  std::int64_t events = 0;      ///< That it told of: a region, mark, value or GPU task counts once.
  std::int64_t bytes = 0;       ///< Of its file, with what the recorder itself tells.
  std::int64_t lost_bytes = 0;  ///< Packets beyond a limit.
  std::uint64_t drops = 0;      ///< Events and regions that were never taken.
  std::string trouble;          ///< Why its file is not whole; empty: it is.
  bool alive = false;           ///< It ran on when the recording ended.
  bool missed_steps = false;    ///< None of the steps that were asked for came.
  std::optional<std::int64_t> latest_step;  ///< Where a window was asked for.
  std::vector<std::string> warnings;        ///< Why GPU work is missing.
};

/// Listens on a socket, drains the memory of every process that comes, and writes a file each,
/// flushed every second. The first process that has something to tell shares `path` with what the
/// recorder itself has to say (metrics, the list of further files, what was lost).
///
/// Two threads: one takes events, so that a slow disk does not cost any; one writes.
class Recorder {
 public:
  /// Creates the file and begins to listen.
  static Result<std::unique_ptr<Recorder>> Start(RecorderOptions options);
  /// Stops.
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// For HEADROOM_SOCKET.
  const std::string& socket_path() const { return socket_path_; }

  /// Calls `write` with the encoder of `path`, which no other thread uses meanwhile.
  void Write(const std::function<void(TraceEncoder&)>& write);

  /// What the user should know beside the processes: who could not be recorded, and why.
  std::vector<std::string> Remarks();

  /// Takes what there still is, writes it, closes the files. Returns the processes, `path`'s first
  /// (with pid 0 where no process had anything to tell).
  std::vector<RecordedProcess> Stop();

 private:
  /// A process that connected and has told nothing yet.
  struct Client {
    ProcessHandle process;
    SharedMemory memory;
  };
  /// What was not taken as it was told.
  struct Totals {
    std::uint64_t rings = 0;
    SharedMemory::Drops drops;
    void Add(const RingReader& reader);
    /// Not those whose name found no room: they are recorded, under another one.
    std::uint64_t Lost() const { return rings + drops.threads + drops.depth; }
  };
  struct Process {
    ProcessHandle handle;
    ThreadTracks threads;
    std::vector<std::unique_ptr<RingReader>> readers;  ///< None: all is taken.
    bool gone = false;                                 ///< When the ended were last looked for.
    bool ended = false;                                ///< And all of it is taken.
  };
  /// A file, and the processes in it: the one that it belongs to first, and then its helpers. Lives
  /// as long as the recorder: threads hold references.
  struct Recording {
    Recording(RecordingFile f, std::optional<RecordedSteps> steps)
        : file(std::move(f)), gate(steps) {}
    RecordingFile file;  ///< The writing thread's alone.
    TraceEncoder encoder;
    StepGate gate;
    TraceEncoder::Track self_track = 0;
    /// None: nobody's yet. A list, for readers point into it; helpers that have ended are gone.
    std::list<Process> processes;
    Totals past;                        ///< Of readers that are gone.
    bool ended = false;                 ///< Its processes have.
    bool closing = false;               ///< The writing thread's: its last packets are taken.
    std::vector<std::string> warnings;  ///< Of recording its GPU work.
    std::int64_t events = 0;

    Totals totals() const;
    std::atomic<std::int64_t> waiting_bytes = 0;  ///< Taken and not in the file yet.
    std::atomic<std::int64_t> lost_bytes = 0;     ///< The file's, for the other thread.
    std::uint64_t reported_drops = 0;
  };

  explicit Recorder(RecorderOptions options) : options_(std::move(options)) {}

  Status Listen();
  void TakeEvents();  ///< The thread that drains.
  void WriteFiles();  ///< The thread that writes.
  void Accept();
  void Greet(int connection);
  /// Says once that there are too few descriptors.
  void RemarkOnDescriptors();
  bool DrainAll();      ///< Whether there was anything.
  void LookForEnded();  ///< Marks processes that are gone, where it is time to.
  void ReleaseEnded();  ///< The memory of those that were just looked for.
  void FlushAll();
  /// A file and a process in it.
  struct Place {
    Recording* recording = nullptr;  ///< Null: it could not be made.
    Process* process = nullptr;
  };
  Place PlaceOf(const Client& client);
  /// That of the process that a helper works for. Null: that is not recorded.
  Recording* RecordingForHelper(const Client& helper);
  Process& BeginProcess(Recording& recording, std::int32_t pid);
  static bool Drain(Recording& recording);  ///< Whether there was anything.
  void Finish(Recording& recording, Process& process);
  TickClock& ClockOf(std::uint32_t clock);
  static void Snapshot(TraceEncoder& encoder);
  void ReportSelf(Recording& recording);
  /// A point on the track of what the recording says of itself.
  static void Mark(Recording& recording, std::string_view name);

  RecorderOptions options_;
  std::string folder_, socket_path_;
  int listener_ = -1;
  TimeNs next_snapshot_, next_census_;
  bool looked_for_ended_ = false;  ///< The taking thread's.

  std::mutex mutex_;  ///< Of all below.
  std::list<Client> clients_;
  std::deque<Recording> recordings_;  ///< The first is `path`'s.
  std::vector<std::string> remarks_;
  bool told_of_descriptors_ = false;  ///< The taking thread's.
  /// One for each source of ticks, running from the start: a process's first events are older than
  /// its connection.
  std::array<TickClock, 2> clocks_ = {TickClock(HEADROOM_CLOCK_MONOTONIC_RAW),
                                      TickClock(HEADROOM_CLOCK_COUNTER)};
  bool stopping_ = false;
  std::condition_variable wake_writer_;
  std::atomic<bool> stop_taking_ = false;
  std::thread taker_, writer_;
};

}  // namespace headroom
