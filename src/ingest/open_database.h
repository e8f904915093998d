// A trace file that turned out to be an SQLite database.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/status.h"
#include "ingest/input/byte_source.h"
#include "ingest/input/database.h"
#include "store/trace_store.h"

namespace headroom::sqlite {

/// Called now and then with the bytes read so far; may be empty.
using Progress = std::function<void(std::int64_t)>;
/// Reads an open database into the store.
using Reader = std::function<Status(const Database&, const Progress&)>;

/// Opens the database at `path` and passes it to `read`. SQLite needs a file to jump about in: what
/// is compressed, or comes through a pipe, is first written to a temporary file, which is nameless
/// by the time it is read.
///
/// @param bytes           the file from its beginning, decompressed; read only where it is needed
/// @param max_text_bytes  longer values end the reading of their table
/// @param expansion       of what is compressed: of its rows
/// @param store           gets what is wrong with the file as a whole, and its size
///
/// Fails as `read` does, with kEnvironment where the temporary file cannot be written, and as
/// ExpansionLimit::CheckEvents().
Status ReadDatabase(const std::string& path, ByteSource& bytes, std::int64_t max_text_bytes,
                    ExpansionLimit expansion, const Progress& progress, const Reader& read,
                    TraceStore& store);

}  // namespace headroom::sqlite
