// The import log: problems of an input, their places, and the conclusions that they make
// unreliable.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

/// Effect of an import problem on the health grade of a trace.
enum class Severity : std::uint8_t { kInfo, kWarning, kError };

// clang-format off
// Every problem that a reader can find, declared once:
//   X(kName, "code", Severity, "what happened and the rule that was applied",
//     "unreliable conclusions, comma separated", "how to avoid it, or empty")
#define HEADROOM_IMPORT_ISSUES(X) \
  X(kTruncated, "truncated", kError, \
    "the file ends in the middle of the trace; all complete events before the cut were kept", \
    "steps after the cut,totals over the whole run", "let the profiler finish writing before its process exits") \
  X(kCutCompression, "cut-compression", kError, \
    "the compressed stream ends early or is damaged; everything before that point was kept", \
    "steps after the cut,totals over the whole run", "copy the file again") \
  X(kUnclosed, "unclosed", kInfo, \
    "the event list is complete, but the file ends before its closing brace", "", "") \
  X(kDamagedMetadata, "damaged-metadata", kWarning, \
    "metadata around the event list could not be read; rank and device are unknown", "", "") \
  X(kTrailingGarbage, "trailing-garbage", kInfo, \
    "bytes after the end of the trace were ignored", "", "") \
  X(kLostEvent, "lost-event", kError, \
    "an event could not be read and was skipped. Events that the damage erased entirely are not counted", "exact counts and sums", "") \
  X(kRepairedEvent, "repaired-event", kWarning, \
    "an event had unescaped quotes or control characters; it was repaired", "", "update the profiler") \
  X(kBadArgument, "bad-argument", kWarning, \
    "an argument of an event is not valid JSON and was dropped; NaN became null", "arguments of those events", "") \
  X(kOversizedEvent, "oversized-event", kError, \
    "an event larger than the limit was skipped", "exact counts and sums", "raise --max-event-mb") \
  X(kNotAnEvent, "not-an-event", kWarning, \
    "an element of the event list is not an event (no phase, or not an object) and was skipped", \
    "exact counts and sums", "") \
  X(kCounterValue, "counter-value", kWarning, \
    "a counter value is not a number, or is NaN, and was dropped", "values of those counters", \
    "write counter values as numbers") \
  X(kBadTime, "bad-time", kError, \
    "an event has no usable timestamp (missing, NaN, out of range, or far from all others) and was skipped", "exact counts and sums", "") \
  X(kMissingDuration, "missing-duration", kWarning, \
    "a span has no duration; it was set to 0", "busy time of those events", "") \
  X(kNegativeDuration, "negative-duration", kWarning, \
    "a span has a negative duration (-1 included); it was set to 0", "busy time of those events", "") \
  X(kBadDuration, "bad-duration", kWarning, \
    "a span's duration is not a number; it was set to 0", "busy time of those events", "") \
  X(kOverflowingDuration, "overflowing-duration", kWarning, \
    "an event seems to end far after the trace; it was clipped to the next start on its track, or to the start " \
    "of the last event", \
    "busy time of those events", "") \
  X(kDuplicateEvent, "duplicate-event", kWarning, \
    "an event is recorded twice (same track, name, time and ids); the copy was dropped", "", "") \
  X(kUnfinishedSpan, "unfinished-span", kWarning, \
    "a span begins but never ends; it was closed where its parent, its packet sequence or the trace ends", \
    "length of those events", "") \
  X(kUnmatchedEnd, "unmatched-end", kWarning, "a span ends without a beginning; its end was ignored", "", "") \
  X(kToldByCategory, "told-by-category", kInfo, \
    "the file is read as a PyTorch profile: at least half of its spans have that profiler's categories", "", \
    "if your own program wrote it, give its spans other categories") \
  X(kOtherPhase, "other-phase", kInfo, \
    "an event has a phase that Headroom does not interpret (objects, samples, memory dumps); it was kept as a point", "", \
    "write spans as X, B and E, or b and e") \
  X(kUnknownClock, "unknown-clock", kError, \
    "an event's clock cannot be mapped to the trace's; the event was skipped", "exact counts and sums", "") \
  X(kMissingName, "missing-name", kWarning, \
    "an event has no name, or its name is not in the file (lost packets); it was kept without a name", \
    "names of those events", "") \
  X(kConflictingName, "conflicting-name", kWarning, \
    "two strings share one id; later events use the second string", "names of those events", "") \
  X(kUnreadData, "unread-data", kInfo, \
    "the file holds data that Headroom does not read, such as ftrace or heap profiles", "", "") \
  X(kDamagedTable, "damaged-table", kError, \
    "a database table is damaged; the rows before the damage were kept", \
    "exact counts and sums,totals over the whole run", "export the report again, or copy the file again") \
  X(kNotCollected, "not-collected", kInfo, \
    "some kinds of data were not collected and are not in the export", "", "") \
  X(kCollectionProblem, "collection-problem", kWarning, \
    "the profiler reported problems during collection", "exact counts and sums", "") \
  X(kCollectionNote, "collection-note", kInfo, \
    "the profiler reported problems with CPU samples; Headroom uses no CPU samples", "", "") \
  X(kOpaqueGraphs, "opaque-graphs", kWarning, \
    "CUDA graphs were recorded as a whole: each replay is one block of GPU work", \
    "kernels inside graphs,their share of FLOPs and MFU", "nsys profile --cuda-graph-trace=node") \
  X(kReplayedGraphs, "replayed-graphs", kInfo, \
    "the trace replays captured graphs: a replay is one launch and names no operators", \
    "operators and layers of that work,its share of FLOPs and MFU", \
    "headroom report TRACE --capture FILE; FILE is a trace of the graph capture") \
  X(kUnmatchedCapture, "unmatched-capture", kInfo, \
    "some graph launches run other kernels than the graphs in --capture", "operators and layers of that work", \
    "record the capture in the same process as the replays") \
  X(kOutOfOrder, "out-of-order", kInfo, "events of a track are not in time order; they were sorted", "", "") \
  X(kOverlapping, "overlapping-spans", kInfo, \
    "spans of one host track overlap without nesting, by more than the clock error; all were kept", "", "") \
  X(kOrphanTask, "orphan-gpu-task", kWarning, \
    "GPU tasks have no recorded launch; they count as GPU work, but their operator is unknown", \
    "operator and layer of those tasks,their share of FLOPs and MFU", "record CPU activity too (ProfilerActivity.CPU), and start before the step") \
  X(kWorkBeforeFirstStep, "work-before-first-step", kInfo, \
    "GPU tasks were launched before the first step or before recording began; they count in gpu_time but in no step", "", "") \
  X(kLaunchWithoutTask, "launch-without-task", kWarning, \
    "kernel launches have no recorded GPU task", "GPU busy time of the affected steps", \
    "let the profiler flush: synchronize before prof.stop(), or enlarge its buffers") \
  X(kMisplacedTask, "misplaced-task", kWarning, \
    "GPU tasks start before their launch or out of stream order: a timestamp is wrong. The affected steps are excluded from medians, FLOPs and MFU", "times of the affected steps,GPU time of the whole trace", "") \
  X(kStepWithoutKernels, "step-without-kernels", kWarning, \
    "steps lack some of their GPU tasks, or the tasks' times; they are excluded from medians, FLOPs and MFU", \
    "GPU time of those steps", \
    "synchronize before prof.stop()") \
  X(kNoSteps, "no-step-markers", kInfo, \
    "no step annotations", "", "call prof.step() after each iteration") \
  X(kNoGpu, "no-gpu", kInfo, "no GPU work was recorded", "all GPU figures", \
    "ProfilerActivity.CUDA, or `headroom record` on a machine with a GPU") \
  X(kNotUnderstood, "not-understood", kInfo, \
    "spans have unknown categories, on tracks that are not host threads; they may be device work, but are not counted as such", \
    "GPU time of those tracks", "") \
  X(kNoHost, "no-host", kInfo, "no host events were recorded", "idle causes,operators,layers,data wait", \
    "ProfilerActivity.CPU") \
  X(kNoLaunches, "no-launches", kInfo, "the profiler does not record this device's launches", "idle causes", "") \
  X(kNoOperators, "no-operators", kInfo, "framework operators were not recorded", "operators,FLOPs,roofline,MFU", \
    "ProfilerActivity.CPU") \
  X(kNoDeviceProperties, "no-device-properties", kInfo, "the trace does not name its GPU", "roofline,MFU", "") \
  X(kNoShapes, "no-shapes", kInfo, "operator shapes were not recorded", "FLOPs,roofline,MFU", "record_shapes=True") \
  X(kNoStacks, "no-stacks", kInfo, "Python frames were not recorded", "time per source line", "with_stack=True") \
  X(kUnclassified, "unclassified-kernels", kInfo, "some kernels match no classification rule", "kernel class shares", "") \
  X(kEventCap, "event-cap", kError, \
    "the trace holds a million events, the exporter's limit; later events were dropped", \
    "steps after the cut,totals over the whole run", "record a shorter part of the run") \
  X(kZeroTimeEvents, "zero-time-events", kInfo, \
    "cuda_event rows and arrows have time 0; they were left out of the timeline", "", "") \
  X(kMixedRanks, "mixed-ranks", kWarning, \
    "the file mixes several ranks; their figures are given per device", "per-rank conclusions", \
    "pass one file per rank") \
  X(kMissingRanks, "missing-ranks", kWarning, \
    "some ranks of the job are missing", "which rank is the straggler", "pass the files of all ranks") \
  X(kUnalignedRanks, "unaligned-ranks", kWarning, \
    "the clocks of some ranks could not be aligned", "waits of these ranks", \
    "record the same steps on all ranks, with at least three collectives") \
  X(kSeparateRanks, "separate-ranks", kWarning, \
    "some ranks share no synchronizing collective with the others", "waits between these groups of ranks", \
    "pass the files of one job; Headroom compares pipeline stages separately if they share only sends and receives") \
  X(kDifferentSteps, "different-steps", kInfo, \
    "ranks recorded different numbers of steps; only steps that several ranks recorded are compared", "", \
    "record the same steps on all ranks") \
  X(kOtherJob, "other-job", kWarning, "the files are from different jobs; their ranks are not compared", \
    "waits between ranks", "pass the files of one job") \
  X(kUnreadableFile, "unreadable-file", kWarning, "files in the folder are named like traces but could not be read", \
    "everything in these files", "record or copy them again, or move them out of the folder") \
  X(kNotATrace, "not-a-trace", kInfo, "files in the folder were left out", "", \
    "keep the traces of one job in a separate folder") \
  X(kNoCollectives, "no-collectives", kWarning, \
    "the job has several ranks, but no kernel has a known communication name; communication may count as compute", \
    "communication figures", "") \
  X(kUnprovenTimeUnit, "unproven-time-unit", kInfo, \
    "timestamps are whole numbers; the trace does not prove that they are microseconds", "", "") \
  X(kNanosecondStamps, "nanosecond-stamps", kWarning, \
    "copy bandwidths prove that timestamps are nanoseconds; they were scaled", "", "") \
  X(kBufferOverhead, "profiler-overhead", kInfo, \
    "the profiler flushed or grew its buffers during the trace, which causes the host gaps there", "", "") \
  X(kDroppedRecords, "dropped-records", kError, \
    "the recorder's buffer was full, and it dropped events", "exact counts and sums", \
    "use fewer or longer regions, fewer threads or a lower --level") \
  X(kTooManyNames, "too-many-names", kWarning, \
    "the program used more names than a recording can hold; the other names became \"(too many names)\"", \
    "names of those regions", "use keys without numbers or paths that change each time") \
  X(kFurtherProcesses, "further-processes", kInfo, \
    "the recording has one file per process, and this is one of them", "", \
    "`headroom report FILE FILE.PID ...` compares ranks") \
  X(kNotClosed, "not-closed", kWarning, \
    "the recording was not finished: the program still runs, was killed, or ran out of disk space; everything after its last flush is missing", "totals over the whole run", "") \
  X(kRecorderWarning, "recorder-warning", kWarning, \
    "GPU activity was not recorded as requested", "", "run `headroom doctor` to find out why") \
  X(kRecorder, "recorder", kInfo, "the recorder reports its own statistics", "", "") \
  X(kSampledRanges, "sampled-ranges", kInfo, \
    "call stacks are recorded only where memory was allocated or freed: a frame or operator spans the first to the last such moment", \
    "time of host events", "torch.profiler.profile(profile_memory=True, with_stack=True) records memory and complete stacks") \
  X(kNoMemoryHistory, "no-memory-history", kWarning, \
    "the snapshot shows allocated memory, but no times: no history was recorded", \
    "memory over time,peak memory", "torch.cuda.memory._record_memory_history() before the run") \
  X(kNoTimes, "no-times", kInfo, \
    "the snapshot does not record times; events keep their order, a microsecond apart", "times and rates", \
    "PyTorch 2.2 or newer records times") \
  X(kForecast, "forecast", kInfo, \
    "a forecast by Headroom, not a recording; no profiler overhead is subtracted", "", "") \
  X(kExtraEventList, "extra-event-list", kWarning, "a second event list in the same file was ignored", \
    "totals over the whole run", "")
// clang-format on

enum class ImportIssue : std::uint8_t {
#define X(name, code, severity, sentence, voids, remedy) name,
  HEADROOM_IMPORT_ISSUES(X)
#undef X
};

#define X(name, code, severity, sentence, voids, remedy) +1
inline constexpr std::size_t kImportIssueCount = HEADROOM_IMPORT_ISSUES(X);
#undef X

/// The constant part of an issue.
struct ImportIssueDoc {
  std::string_view code;  ///< Stable, for scripts.
  Severity severity;
  std::string_view sentence;  ///< The event and the rule that was applied.
  /// Conclusions that the issue makes unreliable, comma separated; empty if none.
  std::string_view voids;
  std::string_view remedy;  ///< How to avoid the issue; empty if unavoidable.
};
const ImportIssueDoc& DocOf(ImportIssue issue);

/// One occurrence of an issue and its place.
struct ImportLogRow {
  ImportIssue issue;
  std::int64_t offset;  ///< Byte offset in the decompressed input; -1 if unknown.
  std::string detail;   ///< Never contains unknown metadata, because a trace may hold secrets.
};

/// Counts every problem and keeps the first few of each kind with their place.
class ImportLog {
 public:
  static constexpr std::size_t kRowsKeptPerIssue = 16;

  void Add(ImportIssue issue, std::int64_t offset = -1, std::string detail = {},
           std::int64_t count = 1);
  /// Appends another log's rows and adds its counts.
  void Merge(const ImportLog& later);

  std::int64_t Count(ImportIssue issue) const { return counts_[static_cast<std::size_t>(issue)]; }
  /// Returns the rows in order of occurrence.
  const std::vector<ImportLogRow>& rows() const { return rows_; }
  bool empty() const;

 private:
  std::array<std::int64_t, kImportIssueCount> counts_{};
  std::array<std::uint8_t, kImportIssueCount> kept_{};
  std::vector<ImportLogRow> rows_;
};

}  // namespace headroom
