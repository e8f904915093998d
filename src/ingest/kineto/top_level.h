// Reads the members around the event list and keeps the known ones.
#pragma once

#include <cstddef>
#include <string_view>

#include "ingest/kineto/event_scanner.h"
#include "ingest/kineto/merge.h"
#include "store/trace_store.h"

namespace headroom::kineto {

/// The result of reading the text before the event list.
enum class Prologue {
  kListStarts,   ///< `next` is just after the '[' of the event list.
  kNeedsMore,    ///< The text ends before the event list.
  kNoEventList,  ///< An object without an event list. If its end is damaged, the list may still
                 ///< follow.
  kDamaged,      ///< The text ends before the event list and is not valid JSON. The list may still
                 ///< follow.
  kNotJson,      ///< Neither an object nor an array, or an array whose elements are not events.
  kMemoryTimeline,  ///< PyTorch's memory timeline: an array of [time, action, bytes, category].
};

/// Reads the start of a file up to its event list and stores known members. A member that only a
/// profiler writes determines the format. Requires the padding of event_scanner.h.
Prologue ReadPrologue(std::string_view text, TraceStore& store, Merger& merger, bool& bare_array,
                      std::size_t& next);

/// Reads the text from the ']' of the event list to the end of the file. `bytes` is its full
/// length; `text` holds its first bytes. `offset` is the offset of text[0] in the decompressed
/// file.
void ReadEpilogue(std::string_view text, std::int64_t bytes, bool bare_array, std::int64_t offset,
                  TraceStore& store, Merger& merger);

}  // namespace headroom::kineto
