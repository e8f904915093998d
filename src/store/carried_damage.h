// Damage that exported copies of a trace must record, because their rows do not show it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "store/import_log.h"

namespace headroom {

/// Returns true if writing a copy repairs the issue. The copy has all rows, sorted, once each, in
/// nanoseconds, in an undamaged file. Returns false for issues that a reader finds again in the
/// copy, for which CarriesToCopies() is false too.
bool IsMendedInCopies(ImportIssue issue);

/// Returns true if a copy must record the issue, because its rows alone do not show it. Events are
/// missing, or times and names differ from the recorded ones.
bool CarriesToCopies(ImportIssue issue);

/// Calls visit(code, count) for each issue that a copy must record.
void ForEachCarried(const ImportLog& log,
                    const std::function<void(std::string_view, std::int64_t)>& visit);

/// Returns the issues that a copy must record as members of a JSON object, e.g. `"truncated":1`;
/// empty if there are none.
std::string CarriedMembers(const ImportLog& log);

/// Adds an issue that a copy records, by its code and count. Ignores unknown codes and issues that
/// copies do not carry.
void AddCarried(std::string_view code, std::int64_t count, ImportLog& log);

/// Adds the issues of `from` that a copy must record, with places and details.
void AddCarried(const ImportLog& from, ImportLog& to);

}  // namespace headroom
