#include "graph/host_chain.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <utility>

namespace headroom {
namespace {

/// Shorter silences are too common to show which thread waits for which.
constexpr DurationNs kSilence{20'000};

/// Two threads take turns if this share of one thread's calls falls into silences of the loop.
constexpr double kTakesTurns = 0.9;

/// Each helper thread costs time proportional to the whole loop. No known job has more of them.
constexpr std::size_t kMaxHelpers = 64;

bool IsCall(HostEventKind kind) {
  return kind == HostEventKind::kRuntimeCall || kind == HostEventKind::kDriverCall;
}

/// Walks the events of one thread and splits its time at every boundary.
class ThreadCutter {
 public:
  ThreadCutter(const TraceStore& store, ThreadId thread, Interval window)
      : store_(store), thread_(thread), window_(window), cursor_(window.start) {}

  HostChain Cut() {
    const auto& events = store_.host_events;
    const TraceStore::RowRange range = store_.HostEventsOf(thread_);
    for (std::uint32_t row = range.first; row < range.last; ++row) {
      const HostEventId event(row);
      if (events.start[row] >= window_.end) break;
      if (store_.HostEnd(event) <= window_.start) continue;
      switch (events.kind[row]) {
        case HostEventKind::kRuntimeCall:
        case HostEventKind::kDriverCall:
        case HostEventKind::kOperator:
        case HostEventKind::kAnnotation:
        case HostEventKind::kPythonFrame:
          Enter(event);
          break;
        case HostEventKind::kOverhead:
        case HostEventKind::kGpuAnnotation:
        case HostEventKind::kOther:
          break;  // The profiler's overhead and annotations over streams are not the job's work.
      }
    }
    LeaveUntil(window_.end);
    EmitUntil(window_.end);
    return std::move(chain_);
  }

 private:
  struct Open {
    HostEventId event;
    TimeNs end;
  };

  void Enter(HostEventId event) {
    const TimeNs start = std::max(store_.host_events.start[event.index()], window_.start);
    LeaveUntil(start);
    // Events that begin inside a call are part of it.
    if (start < cursor_) return;
    TimeNs end = std::min(store_.HostEnd(event), window_.end);
    if (!open_.empty()) end = std::min(end, open_.back().end);
    EmitUntil(start);
    if (IsCall(store_.host_events.kind[event.index()])) {
      const auto pieces = static_cast<std::uint32_t>(chain_.pieces.size());
      const std::uint32_t begin = chain_.calls.empty() ? 0 : chain_.calls.back().pieces_end;
      chain_.calls.push_back({event, thread_, start, end, begin, pieces});
      cursor_ = std::max(cursor_, end);
      return;
    }
    Count(event);
    open_.push_back({event, end});
  }

  /// Closes the open events that end by `until`.
  void LeaveUntil(TimeNs until) {
    while (!open_.empty() && open_.back().end <= until) {
      EmitUntil(open_.back().end);
      Count(open_.back().event);
      open_.pop_back();
    }
  }

  void Count(HostEventId event) {
    auto& halves = store_.host_events.kind[event.index()] == HostEventKind::kPythonFrame
                       ? frame_halves_
                       : operator_halves_;
    if (halves < std::numeric_limits<std::uint16_t>::max()) ++halves;
  }

  void EmitUntil(TimeNs until) {
    if (until <= cursor_) return;
    HostPiece piece;
    piece.start = cursor_;
    piece.end = until;
    piece.owner = open_.empty() ? HostEventId() : open_.back().event;
    piece.thread = thread_;
    piece.operator_halves = std::exchange(operator_halves_, 0);
    piece.frame_halves = std::exchange(frame_halves_, 0);
    chain_.pieces.push_back(piece);
    cursor_ = until;
  }

  const TraceStore& store_;
  const ThreadId thread_;
  const Interval window_;
  TimeNs cursor_;
  std::uint16_t operator_halves_ = 0, frame_halves_ = 0;
  std::vector<Open> open_;
  HostChain chain_;
};

/// A continuous run of recorded events of a thread, between two of its silences.
struct Burst {
  std::uint32_t pieces_begin = 0, pieces_end = 0;
  std::uint32_t calls_begin = 0, calls_end = 0;
  TimeNs start, end;
};

/// Returns the bursts of a chain, in order.
std::vector<Burst> FindBursts(const HostChain& chain) {
  std::vector<Burst> bursts;
  std::uint32_t piece = 0, call = 0;
  bool open = false;
  const auto extend = [&](TimeNs start, TimeNs end) {
    if (!open) {
      bursts.push_back({.pieces_begin = piece,
                        .pieces_end = piece,
                        .calls_begin = call,
                        .calls_end = call,
                        .start = start,
                        .end = end});
      open = true;
    }
    bursts.back().end = end;
  };
  while (piece < chain.pieces.size() || call < chain.calls.size()) {
    if (call < chain.calls.size() && chain.calls[call].pieces_end <= piece) {
      extend(chain.calls[call].start, chain.calls[call].end);
      bursts.back().calls_end = ++call;
      continue;
    }
    if (!chain.pieces[piece].owner.valid()) {
      open = false;
      ++piece;
      continue;
    }
    extend(chain.pieces[piece].start, chain.pieces[piece].end);
    bursts.back().pieces_end = ++piece;
  }
  return bursts;
}

/// Returns the piece of the loop's chain that is silent during the whole burst; nullopt if none.
std::optional<std::size_t> SilenceAround(const HostChain& loop, const Burst& burst) {
  const auto after =
      std::upper_bound(loop.pieces.begin(), loop.pieces.end(), burst.start,
                       [](TimeNs t, const HostPiece& piece) { return t < piece.start; });
  if (after == loop.pieces.begin()) return std::nullopt;
  const HostPiece& piece = *(after - 1);
  if (piece.end < burst.end || piece.length() < kSilence) return std::nullopt;
  return static_cast<std::size_t>(after - 1 - loop.pieces.begin());
}

/// Returns the loop's chain with the bursts of another thread spliced into its silences; nullopt
/// unless the threads take turns.
std::optional<HostChain> Splice(const HostChain& loop, const HostChain& other) {
  const std::vector<Burst> bursts = FindBursts(other);
  std::vector<std::pair<std::size_t, const Burst*>> inside;
  std::size_t calls_inside = 0;
  for (const Burst& burst : bursts) {
    const std::optional<std::size_t> silence = SilenceAround(loop, burst);
    if (!silence) continue;
    inside.emplace_back(*silence, &burst);
    calls_inside += burst.calls_end - burst.calls_begin;
  }
  if (static_cast<double>(calls_inside) < kTakesTurns * static_cast<double>(other.calls.size()))
    return std::nullopt;

  HostChain out;
  out.pieces.reserve(loop.pieces.size() + other.pieces.size());
  out.calls.reserve(loop.calls.size() + other.calls.size());
  const auto add_call = [&](HostCall call) {
    call.pieces_begin = out.calls.empty() ? 0 : out.calls.back().pieces_end;
    call.pieces_end = static_cast<std::uint32_t>(out.pieces.size());
    call.handed_over = !out.calls.empty() && out.calls.back().thread != call.thread;
    out.calls.push_back(call);
  };
  auto next = inside.begin();
  std::size_t call = 0;
  for (std::size_t p = 0; p <= loop.pieces.size(); ++p) {
    while (call < loop.calls.size() && loop.calls[call].pieces_end == p)
      add_call(loop.calls[call++]);
    if (p == loop.pieces.size()) break;
    HostPiece rest = loop.pieces[p];
    for (; next != inside.end() && next->first == p; ++next) {
      const Burst& burst = *next->second;
      HostPiece before = rest;
      before.end = burst.start;
      if (before.length().ns() > 0) out.pieces.push_back(before);
      std::uint32_t theirs = burst.calls_begin;
      for (std::uint32_t i = burst.pieces_begin; i <= burst.pieces_end; ++i) {
        while (theirs < burst.calls_end && other.calls[theirs].pieces_end <= i)
          add_call(other.calls[theirs++]);
        if (i < burst.pieces_end) out.pieces.push_back(other.pieces[i]);
      }
      while (theirs < burst.calls_end) add_call(other.calls[theirs++]);
      rest.start = burst.end;
      rest.operator_halves = rest.frame_halves = 0;
    }
    if (rest.length().ns() > 0) out.pieces.push_back(rest);
  }
  return out;
}

}  // namespace

std::vector<HostChain> FindHostChains(const TraceStore& store, ProcessId process, ThreadId loop,
                                      Interval window) {
  std::vector<std::pair<ThreadId, HostChain>> threads;
  for (std::size_t t = 0; t < store.threads.rows(); ++t) {
    const ThreadId thread(t);
    if (process.valid() && store.threads.process[t] != process) continue;
    HostChain chain = ThreadCutter(store, thread, window).Cut();
    if (chain.calls.empty() && thread != loop) continue;
    threads.emplace_back(thread, std::move(chain));
  }
  if (threads.empty()) return {};
  const auto first =
      loop.valid()
          ? std::find_if(threads.begin(), threads.end(),
                         [&](const auto& entry) { return entry.first == loop; })
          : std::max_element(threads.begin(), threads.end(), [](const auto& a, const auto& b) {
              return a.second.calls.size() < b.second.calls.size();
            });
  if (first != threads.end()) std::iter_swap(threads.begin(), first);
  // Starts with the busiest thread, because each silence can take the bursts of only one thread.
  std::stable_sort(threads.begin() + 1, threads.end(), [](const auto& a, const auto& b) {
    return a.second.calls.size() > b.second.calls.size();
  });
  std::vector<HostChain> chains;
  chains.push_back(std::move(threads.front().second));
  for (std::size_t i = 1; i < threads.size(); ++i) {
    std::optional<HostChain> spliced;
    if (i <= kMaxHelpers) spliced = Splice(chains.front(), threads[i].second);
    if (spliced) {
      chains.front() = std::move(*spliced);
    } else {
      chains.push_back(std::move(threads[i].second));
    }
  }
  return chains;
}

namespace {

/// Returns the recorded work of a chain: pieces inside events.
DurationNs RecordedWork(const HostChain& chain) {
  DurationNs work;
  for (const HostPiece& piece : chain.pieces) {
    if (piece.owner.valid()) work += piece.length();
  }
  return work;
}

/// Returns the pieces that stand for calls, in order: the first recorded one, and the last one of
/// each step. Their events differ, because a graph identifies calls by their events.
std::vector<std::size_t> PiecesAsCalls(const std::vector<Interval>& steps, const HostChain& chain) {
  const std::size_t none = chain.pieces.size();
  std::vector<std::size_t> calls;
  std::set<HostEventId> used;
  const auto use = [&](std::size_t piece) {
    if (piece == none) return;
    calls.push_back(piece);
    used.insert(chain.pieces[piece].owner);
  };
  auto step = steps.begin();
  std::size_t last = none;  // Last usable piece of the current step.
  for (std::size_t i = 0; i < chain.pieces.size(); ++i) {
    const HostPiece& piece = chain.pieces[i];
    while (step != steps.end() && piece.start >= step->end) {
      use(std::exchange(last, none));
      ++step;
    }
    if (step == steps.end()) break;
    if (piece.start < step->start || !piece.owner.valid() || used.contains(piece.owner)) continue;
    if (calls.empty()) {
      use(i);
    } else {
      last = i;
    }
  }
  use(last);
  return calls;
}

/// Splits a call of at most 1 ns off each of these pieces: off the beginning of the first, off the
/// end of the others. All recorded work thus stays work, which changes can scale. A replay of one
/// step lasts from its first call to its last.
void MakeCalls(const std::vector<std::size_t>& marks, HostChain& chain) {
  constexpr DurationNs kCall(1);
  std::vector<HostPiece> pieces;
  auto mark = marks.begin();
  for (std::size_t i = 0; i < chain.pieces.size(); ++i) {
    HostPiece piece = chain.pieces[i];
    if (mark == marks.end() || *mark != i) {
      pieces.push_back(piece);
      continue;
    }
    ++mark;
    const bool first = chain.calls.empty();
    const DurationNs length = std::min(kCall, piece.length());
    HostCall call = {.event = piece.owner,
                     .thread = piece.thread,
                     .start = first ? piece.start : piece.end - length,
                     .end = first ? piece.start + length : piece.end,
                     .pieces_begin = first ? 0 : chain.calls.back().pieces_end};
    (first ? piece.start : piece.end) = first ? call.end : call.start;
    if (!first && piece.length().ns() > 0) pieces.push_back(piece);
    call.pieces_end = static_cast<std::uint32_t>(pieces.size());
    if (first && piece.length().ns() > 0) pieces.push_back(piece);
    chain.calls.push_back(call);
  }
  chain.pieces = std::move(pieces);
}

}  // namespace

HostChain FindChainWithoutCalls(const TraceStore& store, ProcessId process, ThreadId loop,
                                Interval window, const std::vector<Interval>& steps,
                                const std::vector<bool>& feeders) {
  struct Candidate {
    ThreadId thread;
    HostChain chain;
    DurationNs work;
  };
  std::vector<Candidate> threads;
  for (std::size_t t = 0; t < store.threads.rows(); ++t) {
    const ThreadId thread(t);
    if (process.valid() && store.threads.process[t] != process) continue;
    if (thread != loop && feeders[t]) continue;
    HostChain chain = ThreadCutter(store, thread, window).Cut();
    const DurationNs work = RecordedWork(chain);
    if (work.ns() > 0) threads.push_back({thread, std::move(chain), work});
  }
  if (threads.empty()) return {};
  std::stable_sort(threads.begin(), threads.end(), [&](const Candidate& a, const Candidate& b) {
    return std::pair(a.thread == loop, a.work) > std::pair(b.thread == loop, b.work);
  });
  // Other processes, such as a loader's workers, do not take turns with the loop.
  const ProcessId own = store.threads.process[threads.front().thread.index()];
  std::erase_if(threads, [&](const Candidate& candidate) {
    return store.threads.process[candidate.thread.index()] != own;
  });
  HostChain whole = std::move(threads.front().chain);
  for (std::size_t i = 1; i < std::min(threads.size(), kMaxHelpers + 1); ++i) {
    if (std::optional<HostChain> spliced = Splice(whole, threads[i].chain))
      whole = std::move(*spliced);
  }
  MakeCalls(PiecesAsCalls(steps.empty() ? std::vector{window} : steps, whole), whole);
  return whole;
}

}  // namespace headroom
