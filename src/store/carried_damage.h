// Damage that a trace's copies go on telling of: what a file lost, no copy of its rows has again.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "store/import_log.h"

namespace headroom {

/// Whether a copy of the rows is rid of the issue: nothing of the trace is missing or invented, as
/// the rows are in order, once each and in nanoseconds, and the file around them is whole. False of
/// what whoever reads the copy finds again by itself (CarriesToCopies() is false of that, too).
bool IsMendedInCopies(ImportIssue issue);

/// Whether a copy has to say so, as its rows alone do not show it: events are missing, or times and
/// names are not the recorded ones.
bool CarriesToCopies(ImportIssue issue);

/// Calls visit(code, count) for each issue that a copy has to tell of.
void ForEachCarried(const ImportLog& log,
                    const std::function<void(std::string_view, std::int64_t)>& visit);

/// What a copy has to say of the damage, as members of a JSON object: `"truncated":1`; empty:
/// nothing.
std::string CarriedMembers(const ImportLog& log);

/// Adds what a copy says: the code of an issue, and how often. What no copy says is passed over.
void AddCarried(std::string_view code, std::int64_t count, ImportLog& log);

/// Adds what a copy has to say of `from`, with places and details.
void AddCarried(const ImportLog& from, ImportLog& to);

}  // namespace headroom
