// The members around the event list: which of them are kept, and how.
#pragma once

#include <cstddef>
#include <string_view>

#include "ingest/kineto/event_scanner.h"
#include "ingest/kineto/merge.h"
#include "store/trace_store.h"

namespace headroom::kineto {

/// Where the text before the event list leads.
enum class Prologue {
  kListStarts,      ///< `next` is just after the '[' of the event list.
  kNeedsMore,       ///< The text ends before that.
  kNoEventList,     ///< An object without an event list; behind a damaged end, it may still come.
  kDamaged,         ///< The text ends before that and is no valid JSON; the list may still come.
  kNotJson,         ///< Neither object nor array, or an array of something else than events.
  kMemoryTimeline,  ///< PyTorch's memory timeline: an array of [time, action, bytes, category].
};

/// Reads the start of a file up to its event list. The padding of event_scanner.h is required.
/// Known members are stored; one that only a profiler writes tells the format.
Prologue ReadPrologue(std::string_view text, TraceStore& store, Merger& merger, bool& bare_array,
                      std::size_t& next);

/// Reads what follows the ']' of the event list to the end of the file: `bytes` in all, of which
/// `text` holds the first ones. `offset` is the place of text[0] in the file.
void ReadEpilogue(std::string_view text, std::int64_t bytes, bool bare_array, std::int64_t offset,
                  TraceStore& store, Merger& merger);

}  // namespace headroom::kineto
