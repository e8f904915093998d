// What was wrong with an input, where, and which conclusions it takes away.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

/// How much an import problem weighs on the grade of a trace.
enum class Severity : std::uint8_t { kInfo, kWarning, kError };

// clang-format off
// Every problem that a reader can meet, declared once:
//   X(kName, "code", Severity,
//     "what happened and the rule that was applied",
//     "conclusions voided, comma separated",
//     "what would have avoided it, or empty")
#define HEADROOM_IMPORT_ISSUES(X) \
  X(kTruncated, "truncated", kError, \
    "the file ends in the middle of the trace; every complete event before the cut was kept", \
    "steps after the cut,totals over the whole run", "let what writes the trace finish before its process exits") \
  X(kCutCompression, "cut-compression", kError, \
    "the compressed stream ends early or is damaged; everything before that point was kept", \
    "steps after the cut,totals over the whole run", "copy the file again") \
  X(kUnclosed, "unclosed", kInfo, \
    "the event list is complete but the file ends before its closing brace", "", "") \
  X(kDamagedMetadata, "damaged-metadata", kWarning, \
    "metadata around the event list could not be read; what it says (rank, device) is unknown", "", "") \
  X(kTrailingGarbage, "trailing-garbage", kInfo, \
    "bytes after the end of the trace were ignored", "", "") \
  X(kLostEvent, "lost-event", kError, \
    "an event could not be read; reading went on at the next one. Where damage took all of an event, it is not counted", "exact counts and sums", "") \
  X(kRepairedEvent, "repaired-event", kWarning, \
    "an event with unescaped quotes or control characters was read after repair", "", "update the profiler") \
  X(kBadArgument, "bad-argument", kWarning, \
    "a value among the arguments of an event is no JSON and was left out; of NaN it is null", "arguments of those events", "") \
  X(kOversizedEvent, "oversized-event", kError, \
    "an event larger than the limit was skipped", "exact counts and sums", "raise --max-event-mb") \
  X(kNotAnEvent, "not-an-event", kWarning, \
    "an element of the event list is not an event (no phase, or not an object) and was skipped", \
    "exact counts and sums", "") \
  X(kCounterValue, "counter-value", kWarning, \
    "a value of a counter is no number (NaN included) and was left out", "values of those counters", \
    "write the values of counters as numbers") \
  X(kBadTime, "bad-time", kError, \
    "an event without a usable time stamp (missing, NaN, out of range, or far from all others) was skipped", "exact counts and sums", "") \
  X(kMissingDuration, "missing-duration", kWarning, \
    "a span has no duration; it was kept with 0", "busy time of those events", "") \
  X(kNegativeDuration, "negative-duration", kWarning, \
    "a span has a negative duration (-1 included); it was kept with 0", "busy time of those events", "") \
  X(kBadDuration, "bad-duration", kWarning, \
    "a span's duration is no number; it was kept with 0", "busy time of those events", "") \
  X(kOverflowingDuration, "overflowing-duration", kWarning, \
    "an event claims to run far past the end of the trace; it was clipped to the next start on its track, or to the last " \
    "start of the trace", \
    "busy time of those events", "") \
  X(kDuplicateEvent, "duplicate-event", kWarning, \
    "an event is recorded twice (same track, name, time and ids); the copy was dropped", "", "") \
  X(kUnfinishedSpan, "unfinished-span", kWarning, \
    "a span begins and never ends; it was closed at the end of its parent, of its sequence of " \
    "packets or of the trace", \
    "length of those events", "") \
  X(kUnmatchedEnd, "unmatched-end", kWarning, "the end of a span that never began was ignored", "", "") \
  X(kToldByCategory, "told-by-category", kInfo, \
    "the file counts as a profiler's because at least half of its spans have categories of PyTorch's profiler", "", \
    "where a program of your own wrote it, give its spans other categories") \
  X(kOtherPhase, "other-phase", kInfo, \
    "an event of a phase without a meaning here (objects, samples, memory dumps and the like) was kept as a point", "", \
    "write spans as X, B and E, or b and e") \
  X(kUnknownClock, "unknown-clock", kError, \
    "an event whose clock nothing relates to the trace's was skipped", "exact counts and sums", "") \
  X(kMissingName, "missing-name", kWarning, \
    "an event has no name, or refers to one that is not in the file (packets were lost); it was kept without it", \
    "names of those events", "") \
  X(kConflictingName, "conflicting-name", kWarning, \
    "the id of a text was given to another text; events from there on have the new one", "names of those events", "") \
  X(kUnreadData, "unread-data", kInfo, \
    "data of kinds that Headroom does not read (ftrace, heap profiles and the like) was left out", "", "") \
  X(kDamagedTable, "damaged-table", kError, \
    "a table of the database could not be read to its end; the rows before that place were kept", \
    "exact counts and sums,totals over the whole run", "export the report again, or copy the file again") \
  X(kNotCollected, "not-collected", kInfo, \
    "data of some kinds is not in the export: it was not collected", "", "") \
  X(kCollectionProblem, "collection-problem", kWarning, \
    "the profiler reported problems while it collected", "exact counts and sums", "") \
  X(kCollectionNote, "collection-note", kInfo, \
    "the profiler reported problems with samples of the CPU, which no figure here is made of", "", "") \
  X(kOpaqueGraphs, "opaque-graphs", kWarning, \
    "CUDA graphs were recorded whole: each replay is one block of GPU work, whatever runs in it", \
    "kernels inside of graphs,their part of FLOPs and MFU", "nsys profile --cuda-graph-trace=node") \
  X(kReplayedGraphs, "replayed-graphs", kInfo, \
    "GPU work of captured graphs: a replay is one launch and names no operators", \
    "operators and layers of that work,its part of FLOPs and MFU", \
    "headroom report TRACE --capture FILE, the trace that was recorded while the graphs were captured") \
  X(kUnmatchedCapture, "unmatched-capture", kInfo, \
    "graph launches that run other kernels than the captures of --capture", "operators and layers of that work", \
    "record the capture in the same process as the replays") \
  X(kOutOfOrder, "out-of-order", kInfo, "events are not in order of time within their track; they were sorted", "", "") \
  X(kOverlapping, "overlapping-spans", kInfo, \
    "spans of one host track overlap without nesting, by more than their stamps can be off; all were kept", "", "") \
  X(kOrphanTask, "orphan-gpu-task", kWarning, \
    "GPU tasks without a recorded launch; they count as GPU work, their operator is unknown", \
    "operator and layer of those tasks,their part of FLOPs and MFU", "record CPU activity too: ProfilerActivity.CPU, and start before the step") \
  X(kWorkBeforeFirstStep, "work-before-first-step", kInfo, \
    "GPU tasks that were launched before the first step (or before recording began) and ran inside the trace; they are in " \
    "gpu_time but in no step", "", "") \
  X(kLaunchWithoutTask, "launch-without-task", kWarning, \
    "kernel launches without a recorded GPU task", "GPU busy time of the steps concerned", \
    "give the profiler time to flush: synchronize before prof.stop(), or larger buffers of the profiler") \
  X(kMisplacedTask, "misplaced-task", kWarning, \
    "GPU tasks that start before their launch, or run out of the order in which their stream was given them: a time stamp is " \
    "wrong, and the steps concerned are in no median, FLOPs or MFU", "times of the steps concerned,GPU time of the whole trace", "") \
  X(kStepWithoutKernels, "step-without-kernels", kWarning, \
    "steps of which not all GPU tasks were recorded, or not when they ran; they are in no median, FLOPs or MFU", \
    "GPU time of those steps", \
    "synchronize before prof.stop()") \
  X(kNoSteps, "no-step-markers", kInfo, \
    "no step annotations", "", "call prof.step() after each iteration") \
  X(kNoGpu, "no-gpu", kInfo, "no GPU work was recorded", "all GPU figures", \
    "ProfilerActivity.CUDA, or `headroom record` where there is a GPU") \
  X(kNotUnderstood, "not-understood", kInfo, \
    "spans of categories that are not known, on tracks of no thread of the host; they may be work of a device, and count as " \
    "nothing", \
    "GPU time of those tracks", "") \
  X(kNoHost, "no-host", kInfo, "no host events were recorded", "idle causes,operators,layers,data wait", \
    "ProfilerActivity.CPU") \
  X(kNoLaunches, "no-launches", kInfo, "the profiler records no launches of this device's work", "idle causes", "") \
  X(kNoOperators, "no-operators", kInfo, "operators of the framework were not recorded", "operators,FLOPs,roofline,MFU", \
    "ProfilerActivity.CPU") \
  X(kNoDeviceProperties, "no-device-properties", kInfo, "the trace does not name its GPU", "roofline,MFU", "") \
  X(kNoShapes, "no-shapes", kInfo, "operator shapes were not recorded", "FLOPs,roofline,MFU", "record_shapes=True") \
  X(kNoStacks, "no-stacks", kInfo, "Python frames were not recorded", "time per source line", "with_stack=True") \
  X(kUnclassified, "unclassified-kernels", kInfo, "kernels that no rule classifies", "kernel class shares", "") \
  X(kEventCap, "event-cap", kError, \
    "the trace holds a million events: the exporter's cap, later events were dropped", \
    "steps after the cut,totals over the whole run", "record a shorter part of the run") \
  X(kZeroTimeEvents, "zero-time-events", kInfo, \
    "cuda_event rows and arrows with time 0 carry no time and were kept out of the timeline", "", "") \
  X(kMixedRanks, "mixed-ranks", kWarning, \
    "the file mixes several ranks; their figures are given per device", "per-rank conclusions", \
    "pass one file per rank") \
  X(kMissingRanks, "missing-ranks", kWarning, \
    "not all ranks of the job are here", "who all wait for", "pass the files of all ranks") \
  X(kUnalignedRanks, "unaligned-ranks", kWarning, \
    "clocks of ranks could not be put on one", "who these ranks wait for", \
    "record the same steps on all ranks, with at least three collectives") \
  X(kSeparateRanks, "separate-ranks", kWarning, \
    "some ranks share no collective that all leave together with the others", "who waits for whom across them", \
    "pass the files of one job; stages of a pipeline that exchange nothing else are compared alone") \
  X(kDifferentSteps, "different-steps", kInfo, \
    "ranks recorded other numbers of steps; those that several have are compared", "", \
    "record the same steps on all ranks") \
  X(kOtherJob, "other-job", kWarning, "the files are of different jobs; their ranks are not compared", \
    "who waits for whom", "pass the files of one job") \
  X(kUnreadableFile, "unreadable-file", kWarning, "files of the folder that are named like traces could not be read", \
    "what these files hold", "record or copy them again, or take them out of the folder") \
  X(kNotATrace, "not-a-trace", kInfo, "files of the folder were left out", "", \
    "leave the traces of one job in a folder of their own") \
  X(kNoCollectives, "no-collectives", kWarning, \
    "the job has several ranks but no communication kernel is known by name; communication may hide among compute kernels", \
    "communication figures", "") \
  X(kUnprovenTimeUnit, "unproven-time-unit", kInfo, \
    "time stamps are whole numbers and nothing in the trace proves that they are microseconds", "", "") \
  X(kNanosecondStamps, "nanosecond-stamps", kWarning, \
    "copy bandwidths prove that time stamps are nanoseconds; they were scaled", "", "") \
  X(kBufferOverhead, "profiler-overhead", kInfo, \
    "the profiler flushed or grew its buffers inside the trace; host gaps there are its own", "", "") \
  X(kDroppedRecords, "dropped-records", kError, \
    "the recording lacks what it had no room for", "exact counts and sums", \
    "fewer or longer regions, fewer threads or a lower --level, by what it is") \
  X(kTooManyNames, "too-many-names", kWarning, \
    "the program used more names than a recording holds: the rest is \"(too many names)\"", \
    "names of those regions", "keys without what changes each time (numbers, paths)") \
  X(kFurtherProcesses, "further-processes", kInfo, \
    "the recording has a file for each process, and this is one of them", "", \
    "`headroom report FILE FILE.PID ...` compares ranks") \
  X(kNotClosed, "not-closed", kWarning, \
    "the recording was not brought to its end: it still runs, its recorder was killed, or there was no room for the rest; " \
    "what came after its last flush is missing", "totals over the whole run", "") \
  X(kRecorderWarning, "recorder-warning", kWarning, \
    "GPU activity was not recorded as asked", "", "`headroom doctor` tells what keeps it from the GPU") \
  X(kRecorder, "recorder", kInfo, "what the recording says of itself", "", "") \
  X(kSampledRanges, "sampled-ranges", kInfo, \
    "call stacks are known only where memory was allocated or freed: a frame or operator reaches from the first such moment " \
    "to the last", \
    "time of host events", "torch.profiler.profile(profile_memory=True, with_stack=True) records both") \
  X(kNoMemoryHistory, "no-memory-history", kWarning, \
    "the snapshot says what was allocated, but not when: no history was recorded", \
    "memory over time,peak memory", "torch.cuda.memory._record_memory_history() before the run") \
  X(kNoTimes, "no-times", kInfo, \
    "the snapshot does not record times; events are in their order, a microsecond apart", "times and rates", \
    "PyTorch 2.2 or newer records times") \
  X(kForecast, "forecast", kInfo, \
    "a timeline that Headroom forecast, no recording; nothing was taken off for a profiler", "", "") \
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
  std::string_view sentence;  ///< What happened and which rule was applied.
  std::string_view voids;     ///< Conclusions taken away, comma separated; empty: none.
  std::string_view remedy;    ///< What would have avoided it; empty: nothing.
};
const ImportIssueDoc& DocOf(ImportIssue issue);

/// One located occurrence.
struct ImportLogRow {
  ImportIssue issue;
  std::int64_t offset;  ///< Byte in the (decompressed) input; -1 where it has no place.
  std::string detail;   ///< Never content of unknown metadata: a trace may hold secrets.
};

/// Counts every problem and keeps the first few of each kind with their place.
class ImportLog {
 public:
  static constexpr std::size_t kRowsKeptPerIssue = 16;

  void Add(ImportIssue issue, std::int64_t offset = -1, std::string detail = {},
           std::int64_t count = 1);
  /// Appends another log's rows and counts after this one's.
  void Merge(const ImportLog& later);

  std::int64_t Count(ImportIssue issue) const { return counts_[static_cast<std::size_t>(issue)]; }
  /// In order of occurrence.
  const std::vector<ImportLogRow>& rows() const { return rows_; }
  bool empty() const;

 private:
  std::array<std::int64_t, kImportIssueCount> counts_{};
  std::array<std::uint8_t, kImportIssueCount> kept_{};
  std::vector<ImportLogRow> rows_;
};

}  // namespace headroom
